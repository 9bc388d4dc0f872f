"""report.html: what came out, for readers. One page with its pictures in it, made from results/<profile>/ alone."""

import base64
import html
from pathlib import Path

import pandas

from reproduction.report import any_table, claims, markup, pictures, tables
from reproduction.report.run_files import read_runs

MATRICES = {"matrix_running_example": "Two words and a length: the flags of a sentence that the CommonGen model wrote",
            "matrix_lengths": "Two phrases and two lengths (appendix A.3), one panel per predicate",
            "matrix_commongen": "CommonGen: all concepts share one entry of the flag",
            "matrix_translation": "Translation: while output sentence i is written, source sentence i is in progress"}
REAL = "mini"  # the profile of real text that covers most of the paper
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 1100px; margin: 2em auto; padding: 0 1.5em; }
h1 { line-height: 1.2 } h2 { margin-top: 2.5em; border-bottom: 1px solid #ccc } img { max-width: 100%; height: auto }
.result { font-size: 1.6em; font-weight: bold; margin: 0.5em 0 } nav ul { columns: 2; padding-left: 1.2em }
table { font-size: 14px } th { border-bottom: 1px solid #888 } tr + tr td { border-top: 1px solid #e5e5e5 }
.wide { overflow-x: auto } figure { margin: 1em 0 } figcaption { color: #555 }
"""


def write(results: Path) -> str:
    """The page of a profile's results."""
    judged = claims.judge(results)
    sections = [("claims", "The claims", _claims(judged))]
    frames = {name: tables.build(name, results) for name in tables.TABLES}
    for name, frame in frames.items():
        if frame["ours"].notna().any():
            sections.append((name, tables.TABLES[name].title, _table(name, frame, results)))
    sections += [("enforcement", "What a guarantee costs", _picture(
                     results, "enforcement", "Rules obeyed against quality: T5 and NRETM, free and enforced")),
                 ("any", "One model for any rule", _any_rule(results)),
                 ("matrices", "State matrices", "".join(_picture(results, *shown) for shown in MATRICES.items())),
                 ("cases", "Case study", _cases(results)), ("runs", "What was run", _runs(results))]
    sections = [section for section in sections if section[2]]
    contents = "".join(f"<li><a href='#{key}'>{html.escape(title)}</a></li>" for key, title, _ in sections)
    body = "".join(f"<section id='{key}'><h2>{html.escape(title)}</h2>{text}</section>"
                   for key, title, text in sections)
    title = "NRETM: what the paper claims and what came out"
    return (f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
            f"</head><body><h1>{title}</h1>"
            f"{_on_real_text(results)}<p class='result'>{html.escape(claims.summary(judged))}.</p>"
            f"{markup.paragraphs(_about(results, frames))}"
            f"<nav><ul>{contents}</ul></nav>{body}</body></html>\n")


def _on_real_text(results: Path) -> str:
    """Before the results of built-in text, where those of real text are."""
    if results.name == REAL or not (results.parent / REAL / "report.html").exists():
        return ""
    return (f"<p><strong><a href='../{REAL}/report.html'>The claims on real text</a></strong> have a page of their "
            f"own. This one is of the profile {results.name}.</p>")


def _about(results: Path, frames: dict[str, pandas.DataFrame]) -> list[str]:
    said = [f"These are the results of the profile {results.name}. A claim is judged on our own figures, by margins "
            "that were fixed before the figures were known and are stated with it.", tables.INTERVALS]
    if not any(frame.attrs["real"] for frame in frames.values()):
        said.append("The profile is a small model of the paper's experiments: built-in text, models of one to three "
                    "million parameters. Its claims are to be compared with the paper's, not its absolute figures.")
    return said


def _claims(judged: list[claims.Judgement]) -> str:
    frame = pandas.DataFrame([{"verdict": each.verdict, "claim": each.claim.says, "found": each.found,
                               "where": tables.TABLES[each.claim.table].title.partition(":")[0]} for each in judged])
    return f"<div class='wide'>{markup.table(frame)}</div>"


def _table(name: str, frame: pandas.DataFrame, results: Path) -> str:
    title = tables.TABLES[name].title
    return (_picture(results, name, f"{title}. Filled marks are ours, hollow ones the paper's.")
            + f"<div class='wide'>{markup.table(tables.shown(frame))}</div>{markup.paragraphs(tables.notes(frame))}")


def _any_rule(results: Path) -> str:
    frame = any_table.build(results)
    if frame["any rule"].isna().all():
        return ""
    return (_picture(results, "any", "How often a rule is obeyed, by the number of its literals")
            + f"<div class='wide'>{markup.table(any_table.wide(frame).reset_index())}</div>"
            + markup.paragraphs(any_table.findings(frame)))


def _picture(results: Path, name: str, caption: str) -> str:
    path = results / "figures" / f"{name}.png"
    if not path.exists():
        return ""
    content = path.read_bytes()
    width = int.from_bytes(content[16:20]) * 96 // pictures.DPI  # as large as it was drawn
    data = base64.b64encode(content).decode()
    return (f"<figure><img width='{width}' alt='{html.escape(caption, quote=True)}' src='data:image/png;base64,{data}'>"
            f"<figcaption>{html.escape(caption)}</figcaption></figure>")


def _cases(results: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted((results / "tables").glob("cases_*.html")))


def _runs(results: Path) -> str:
    known = read_runs(results)
    own = [name for name in tables.TABLES if name not in ("tableA", "tableB")]  # those two read the runs of Table 1
    frame = pandas.concat([tables.provenance(name, results) for name in own]) if known else pandas.DataFrame()
    if frame.empty:
        return ""
    said, rest = markup.said_once(frame)
    return markup.paragraphs([said]) + f"<div class='wide'>{markup.table(rest)}</div>"
