"""COLLIE's structures for docs/language.md: what each model wrote, by mode, as two judges see it."""

import json
from pathlib import Path

from reproduction.collie import GPT_4, STRUCTURES

# mode -> how the page calls it, and its columns after the number of texts
MODES = {"plain": ("plain", ("ours", "peer", "perplexity")), "best-of-20": ("best of 20", ("ours", "peer")),
         "enforced": ("enforced", ("ours", "peer", "perplexity", "over plain"))}
HEADINGS = {"peer": "COLLIE's"}
DIGITS = {"over plain": 2}
FLUENT = 1.5  # over plain, at most
SHORT = [kind for kind in STRUCTURES if "c04" <= kind <= "c12"]  # sentences and paragraphs


def table(results: Path, model: str) -> str:
    """How the texts were made, then a row for each structure and one for all."""
    figures = _figures(results, model)
    modes = {mode: figures["modes"][mode] for mode in MODES if mode in figures["modes"]}
    head = ["", "instances"]
    for mode in modes:
        title, columns = MODES[mode]
        head += [f"{title}: texts", *(HEADINGS.get(column, column) for column in columns)]
    rows = [head, ["---"] * len(head)]
    for kind in STRUCTURES:
        rows.append([kind, f"{figures['structures'].get(kind, 0):,}"])
        for mode, kinds in modes.items():
            rows[-1] += _cells(kinds.get(kind, {}), MODES[mode][1])
    rows.append(["all", f"{figures['instances']:,}"])
    for mode, kinds in modes.items():
        rows[-1] += _cells(_overall(kinds), MODES[mode][1])
    return "\n".join([_made_with(figures), "", *(f"| {' | '.join(cells)} |" for cells in rows)])


def _figures(results: Path, model: str) -> dict:
    """What `python -m reproduction collie-figures` has kept."""
    return json.loads((results.parent / "collie" / f"{model}.json").read_text(encoding="utf-8"))


def _made_with(figures: dict) -> str:
    hardware, versions = figures["hardware"], figures["versions"]
    threads = "one thread" if hardware["threads"] == 1 else f"{hardware['threads']} threads"
    return (f"{figures['model']}: {figures['split']}; {threads} of an {hardware['cpu']}, torch {versions['torch']}, "
            f"transformers {versions['transformers']}, seeds {figures['seed']}.")


def result(results: Path, model: str) -> str:
    """The result in a sentence, beside the best that COLLIE's authors published."""
    figures = _figures(results, model)
    plain, enforced = (_overall(figures["modes"][mode]) for mode in ("plain", "enforced"))
    name = figures["model"].split(",")[0]
    return (f"On half of [COLLIE](notebooks/17_collie.ipynb) {name} obeys in {plain['ours']:.1f} % of "
            f"{enforced['texts']:,} instances, enforced in {enforced['ours']:.1f} % (by COLLIE's own code "
            f"{enforced['peer']:.1f} %; GPT-4, as published, {GPT_4} %).")


def fluency(results: Path, model: str) -> str:
    """Where enforced texts are as likely as they should be, in a sentence."""
    ratios = {kind: _figures(results, model)["modes"]["enforced"][kind]["over plain"] for kind in SHORT}
    met = [kind for kind, ratio in ratios.items() if ratio <= FLUENT]
    missed = [f"{kind} ({ratio:.2f})" for kind, ratio in ratios.items() if ratio > FLUENT]
    return (f"Over plain, the target was at most {FLUENT} for sentences and paragraphs ({SHORT[0]} to {SHORT[-1]}). It "
            f"is met in {', '.join(met)}" + (f", and missed in {', '.join(missed)}." if missed else "."))


def _cells(figures: dict, columns: tuple[str, ...]) -> list[str]:
    texts = f"{figures['texts']:,}" if figures else ""
    return [texts, *("" if figures.get(name) is None else f"{figures[name]:.{DIGITS.get(name, 1)}f}"
                     for name in columns)]


def _overall(kinds: dict[str, dict]) -> dict:
    """Percents over all texts; a mean perplexity of words, sentences and passages would say nothing."""
    texts = sum(figures["texts"] for figures in kinds.values())
    return {"texts": texts} | {
        judge: sum(figures["texts"] * figures[judge] for figures in kinds.values()) / texts
        for judge in ("ours", "peer") if all(figures[judge] is not None for figures in kinds.values())}
