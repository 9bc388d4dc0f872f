"""The playground as one page that needs no kernel and no server: rules, stories, heatmaps and sliders.

    python -m reproduction playground        writes results/demo/playground.html
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import reproduction.data
from nretm import Rule, parse
from nretm.tracking import COLORS
from reproduction import shipped
from reproduction.data import any_rules
from reproduction.files import ROOT, results_folder, write_whole
from reproduction.playground import drawing
from reproduction.playground.story import Story, tell

EACH = 6  # rules of each kind on the page
EXAMPLES = (
    "InSen(planted seeds, 2) & Len(2, 8) & InSen(picked apples, 4) & Len(4, 6)",
    "InSen(baked cookies, 1) & (Len(1, 9) || StopWordCount(1, 2)) & (not InSen(oven, 1)) & InSen(boiled eggs, 3)",
    "Order(built castles, caught crabs) & Order(caught crabs, watched waves)",
    "Len(1, 5) & Len(2, 6) & Len(3, 7) & Len(4, 8) & Len(5, 9)",
    "InSen(tom, 1) & Copy(tents) & Copy(foxes) & StopWordCount(2, 0)",
    "Order(milked cows, drove tractors) & Len(3, 10)",
    "InSen(anna, 3) & ((Len(3, 6) & Copy(poems)) || InSen(puzzles, 5))",
    "Len(every, 4..6) & Sentences(5) & Count(lemons, 1)",
)
KINDS = {"any": "rules as in training"} | any_rules.UNSEEN | {any_rules.LONG: "seven to ten literals"}

TEMPLATE = Path(__file__).with_name("page.html")


def rules(each: int = EACH) -> dict[str, list[Rule]]:
    """The rules of the page by what they show: the playground's examples, then test rules of every kind."""
    found = {"examples": [parse(text) for text in EXAMPLES]}
    for kind, title in KINDS.items():
        found[title] = [example.rule for example in reproduction.data.load("rocstories", "test", kind, size=each)]
    return found


def entry(story: Story, other: Story) -> dict:
    """What the page has to know of a rule."""
    def card(title: str, written: Story) -> str:
        return f"<h4>{title} {drawing.verdict_html(written)}</h4>{drawing.story_html(written)}"

    literals = story.rule.literals
    return {"literals": list(map(str, literals)), "nretm": card("NRETM", story), "t5": card("T5, the same rule", other),
            "matrix": drawing.matrix_svg(story), "track": drawing.track_svg(story), "start": story.telling_step,
            "tokens": story.tokens,
            "states": [[(cell.text, cell.shade) for cell in story.matrix.panels[literal][1]] for literal in literals],
            "candidates": [[(w.token, round(w.tracked, 3), round(w.plain, 3), int(w.written)) for w in step]
                           for step in story.candidates]}


def page(nretm: tuple, plain: tuple, groups: dict[str, Sequence[Rule]]) -> str:
    """The page for the rules, with what the two models (each with its tokenizer) write for them."""
    stories, options = [], []
    for title, members in groups.items():
        numbered = [f'<option value="{len(stories) + n}">{escape(str(rule))}</option>'
                    for n, rule in enumerate(members)]
        options.append(f'<optgroup label="{escape(title)}">{"".join(numbered)}</optgroup>')
        stories += [entry(tell(*nretm, rule), tell(*plain, rule)) for rule in members]
    data = {"stories": stories, "shades": COLORS, "cell": drawing.CELL}
    parts = {"style": drawing.STYLE, "legend": drawing.legend_html(), "options": "".join(options),
             "parameters": f"{nretm[0].num_parameters():,}",
             "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")}
    return re.sub(r"\[\[(\w+)\]\]", lambda found: parts[found[1]], TEMPLATE.read_text(encoding="utf-8"))


def write(folder: Path, each: int = EACH) -> Path:
    """Write the page of the shipped models into a results folder."""
    made = page(shipped.load("any-nretm"), shipped.load("any-t5"), rules(each))
    write_whole(folder / "playground.html", made)
    return folder / "playground.html"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction playground", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=results_folder(ROOT, "demo"), help="the folder of playground.html")
    print(f"written: {write(parser.parse_args().out)}")


if __name__ == "__main__":
    main()
