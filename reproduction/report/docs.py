"""Figures in README.md and docs/, built from run files: nobody types one.

A block stands between `<!-- figures: NAME -->` and `<!-- end -->`; `update` writes all of them again, and notebook 15
calls it. So what the text says is what the run files beside it say, on whatever machine they were made.
"""

import csv
import json
import re
from functools import partial
from pathlib import Path

from reproduction.experiments import enforced_name
from reproduction.files import ROOT, write_whole
from reproduction.metrics import Missing
from reproduction.report import claims, collie_table, paper_figures, real_text
from reproduction.report.any_table import csr_of
from reproduction.report.run_files import mean, read_runs

PAGES = ("README.md", "docs/reproduction.md", "docs/language.md")
# what it is, measure, plain model, with NRETM, the paper's figures, notebook
ROWS = (
    ("R1: two phrases, two lengths", "CSR", "r1-t5", "r1-nretm", paper_figures.TABLE1, "05_table1_five_rules"),
    ("zero-shot sentence index", "CSA", "zeroshot-t5", "zeroshot-nretm", paper_figures.TABLE4,
     "08_table4_zero_shot"),
    ("concepts mentioned (P_c)", "ALL", "commongen-t5-base", "commongen-t5-base-pc", paper_figures.TABLE2,
     "09_table2_commongen"),
    ("documents fully translated", "SAR", "ted15-mbart", "ted15-mbart-pc", paper_figures.TABLE3,
     "10_table3_translation"),
)


def result(results: Path) -> str:
    """The result on real stories in a sentence."""
    runs = read_runs(results.parent / "mini")
    plain, ours, enforced = (_shown(mean(runs.get(name, []), "CSR"))
                             for name in ("r1-t5", "r1-nretm", enforced_name("r1-nretm")))
    paper = paper_figures.TABLE1
    return (f"**Asked for two phrases and two sentence lengths, NRETM obeys in {ours} % of real stories, the same "
            f"model without it in {plain} %** (in the paper: {paper['r1-nretm']['CSR']} and {paper['r1-t5']['CSR']})."
            + (f" With the rule [enforced](docs/enforcement.md) it is {enforced} %." if enforced else ""))


def table(results: Path) -> str:
    """The plain model against NRETM, free and enforced, one measure per experiment."""
    runs = read_runs(results)
    lines = ["| | measure | plain | NRETM | enforced | paper: plain | paper: NRETM |", "|---|---|---|---|---|---|---|"]
    for what, measure, plain, ours, paper, notebook in ROWS:
        figures = [_shown(mean(runs.get(name, []), measure)) for name in (plain, ours, enforced_name(ours))]
        lines.append(f"| [{what}](notebooks/{notebook}.ipynb) | {measure} | {figures[0]} | **{figures[1]}** | "
                     f"{figures[2]} | {paper[plain][measure]} | {paper[ours][measure]} |")
    plain, ours, enforced = (_shown(mean(runs.get(f"any-{model}", []), csr_of("any", enforced)))
                             for model, enforced in (("t5", False), ("nretm", False), ("nretm", True)))
    lines.append(f"| [any rule, one model for all](notebooks/16_any_rule.ipynb) | CSR | {plain} | **{ours}** | "
                 f"{enforced} | | |")
    return "\n".join([*lines, "", f"{claims.summary(claims.judge_runs(runs))}: see "
                      "[why the others did not](docs/reproduction.md) and the [report](results/demo/report.html)."])


def verdicts(results: Path) -> str:
    """Every claim with its verdict and what was found."""
    judged = claims.judge(results)
    return f"{claims.summary(judged)}.\n\n{claims.markdown(judged)}".strip()


def seeds(results: Path) -> str:
    """Three seeds, from a table that was kept when they were run."""
    with open(results / "three_seeds.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def cost(results: Path) -> str:
    """What NRETM costs on a model of T5-Base's shape, from the kept measurement."""
    kept = json.loads((results / "tables" / "cost_t5_base.json").read_text(encoding="utf-8"))
    hardware = kept["hardware"]
    lines = ["| | plain | NRETM | target |", "|---|---|---|---|"]
    lines += [f"| {row['what']} | {row['plain']} | {row['NRETM']} | {row['target']} |" for row in kept["rows"]]
    return "\n".join([*lines, "", f"Measured {kept['finished'][:10]} on {hardware['gpu'] or hardware['cpu']} with "
                      f"{hardware['threads']} threads, torch {kept['versions']['torch']}."])


BLOCKS = {"result": result, "table": table, "verdicts": verdicts, "seeds": seeds, "cost": cost,
          "real_concepts": partial(real_text.concepts, profile="small"),
          "real_curves": partial(real_text.curves, profile="small"),
          "mini_concepts": partial(real_text.concepts, profile="mini"),
          "mini_concept_curves": partial(real_text.curves, profile="mini"), "mini_any": real_text.any_rule,
          "mini_any_curves": real_text.any_curves,
          "real_stories": partial(real_text.stories, profile="mini"),
          "small_stories": partial(real_text.stories, profile="small"), "small_talks": real_text.talks,
          "real_result": real_text.result, "real_story_curves": real_text.story_curves,
          "real_verdicts": real_text.verdicts,
          "collie_result": partial(collie_table.result, model="smollm2-135m"),
          "collie_smollm2": partial(collie_table.table, model="smollm2-135m"),
          "collie_fluency": partial(collie_table.fluency, model="smollm2-135m"),
          "collie_flan_t5": partial(collie_table.table, model="flan-t5-small")}
_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, results: Path) -> str:
    """A page with its blocks as the run files have them."""
    return _BLOCK.sub(lambda block: f"{block.group(1)}{BLOCKS[block.group(2)](results)}\n{block.group(3)}", text)


def update(results: Path, root: Path = ROOT) -> None:
    """Write the blocks of all pages again."""
    for page in PAGES:
        path = root / page
        if path.exists():
            text = path.read_text(encoding="utf-8")
            if filled(text, results) != text:
                write_whole(path, filled(text, results))


def _shown(figure: float | Missing) -> str:
    return "" if isinstance(figure, Missing) else f"{figure:.1f}"
