"""The case study (appendix A.1): what two models wrote for the same rule, and how each predicate fared."""

import html
from pathlib import Path

import nretm
from nretm.tracking import BROKEN, COLORS, EDGE, INK
from reproduction import data
from reproduction.experiments import EXPERIMENTS
from reproduction.report.run_files import generations, run_path

HEAD = "text-align:left;padding:10px 8px 2px 8px;font-weight:normal"
CELL = "text-align:left;vertical-align:top;padding:3px 8px"
CHIP = "padding:1px 5px;margin:1px;display:inline-block"
TABLE = ("<table style='width:100%;border-collapse:collapse;table-layout:fixed'><colgroup><col style='width:8em'>"
         "<col style='width:7em'><col></colgroup>")


def compare(results: Path, plain: str, tracked: str, title: str, shown: int = 3) -> str:
    """A table of test examples: the first that only NRETM gets right, then one that it gets wrong; "" without any."""
    task, rule_kind = EXPERIMENTS[tracked].task, EXPERIMENTS[tracked].rule
    policy = data.policy(task)
    ours, theirs = ({row["id"]: row for row in generations(run_path(results, name, 0))} for name in (tracked, plain))
    read = nretm.inflected if rule_kind == "inflected" else nretm.parse  # for P̂_c any inflection counts
    judged = {}
    for key, row in ours.items():
        if key in theirs:
            rule = read(row["rule"])
            judged[key] = rule, *(nretm.check(rule, rows[key]["output"], policy=policy) for rows in (theirs, ours))
    better = [key for key, (_, before, after) in judged.items() if after and not before][:shown]
    worse = [key for key, (_, _, after) in judged.items() if not after][:1]
    if not better + worse:
        return ""
    lines = []
    for key in better + worse:
        rule, before, after = judged[key]
        label = "Only NRETM obeys" if key in better else "Counter-example: NRETM breaks the rule"
        expression = _text(ours[key]["source"] + ours[key]["rule"])
        lines.append(f"<tr><th colspan='3' style='{HEAD}'><b>{label}.</b> {expression}</th></tr>")
        for name, row, verdict in ((plain, theirs[key], before), (tracked, ours[key], after)):
            whole = "✓ obeys" if verdict else "✗ breaks it"
            lines.append(f"<tr><td style='{CELL}'>{html.escape(EXPERIMENTS[name].row)}</td>"
                         f"<td style='{CELL}'>{whole}</td>"
                         f"<td style='{CELL}'>{_text(row['output'])}<br>{_chips(rule, verdict)}</td></tr>")
    return f"<h3>{html.escape(title)}</h3>{TABLE}{''.join(lines)}</table>"


def _text(text: str) -> str:
    return html.escape(text.replace("</s>", " ¶ "))


def _chips(rule: nretm.Rule, verdict: nretm.Verdict) -> str:
    """One mark per clause; alternatives stand together, and one that holds speaks for the others."""
    marks = []
    for clause in rule.cnf():
        held = any(verdict.by_predicate[literal] for literal in clause)
        chips = " or ".join(_chip(literal, verdict, held) for literal in clause)
        marks.append(chips if len(clause) == 1 else f"<span style='border:1px solid {EDGE};{CHIP}'>{chips}</span>")
    return " ".join(marks)


def _chip(literal: nretm.Rule, verdict: nretm.Verdict, clause_held: bool) -> str:
    holds, found = verdict.by_predicate[literal], verdict.found[literal]
    counted = isinstance(literal, (nretm.Len, nretm.StopWordCount))
    shade, sign = ("2", "✓ ") if holds else ("0", "") if clause_held else (BROKEN, "✗ ")
    text = f"{sign}{literal}" + (f": {found}" if found and (counted or not holds) else "")
    return f"<span style='background:{COLORS[shade]};color:{INK[shade]};{CHIP}'>{html.escape(text)}</span>"
