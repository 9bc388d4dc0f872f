"""Judge what `python -m reproduction collie` has written, by our checker and by COLLIE's own code; keep the figures.

    python -m reproduction collie-figures --instances FILE.jsonl.gz --out FOLDER --figures results/collie/NAME.json

The figures carry what they depend on and no text, so that they may be kept where the texts may not.  Each text that the
two judges differ about is printed with its id.  COLLIE's own code needs `pip install --no-deps collie-bench` and NLTK's
punkt_tab data; without them its figures stay empty.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import nretm
from reproduction.collie import WRITING, Instance, builtin_instances, peers_verdict, read_instances, rule_of
from reproduction.collie_run import MODES, geometric_mean, read_rows
from reproduction.files import write_whole
from reproduction.report.run_files import surroundings


def judged(rows: list[dict], instances: dict[str, Instance], peer: bool) -> dict[str, dict]:
    """Structure -> how many texts, percent satisfied by either judge, perplexity; differences are printed."""
    kinds: dict[str, list[tuple[bool, bool | None, float | None]]] = {}
    for row in rows:
        instance, trials = instances[row["id"]], row.get("trials", [row["text"]])
        ours = [bool(nretm.check(rule_of(instance), text, policy=WRITING)) for text in trials]
        theirs = [peers_verdict(instance, text) for text in trials] if peer else [None]
        kinds.setdefault(instance.kind, []).append((any(ours), any(theirs) if peer else None, row["perplexity"]))
        if peer and any(ours) != any(theirs):
            print(f"{row['id']}: ours {any(ours)}, COLLIE's own code {any(theirs)}")
    figures = {}
    for kind, found in kinds.items():
        ours, theirs, perplexities = zip(*found, strict=True)
        figures[kind] = {"texts": len(found), "ours": _percent(ours), "peer": _percent(theirs) if peer else None,
                         "perplexity": geometric_mean(perplexities)}
    return figures


def _percent(verdicts: tuple[bool, ...]) -> float:
    return 100 * sum(verdicts) / len(verdicts)


def has_peer() -> bool:
    try:
        return peers_verdict(Instance("", "c12", [1, ["ran"]], ""), "He ran.")
    except (ImportError, LookupError) as missing:
        print(f"COLLIE's own code does not judge: {str(missing).strip().splitlines()[0]}", file=sys.stderr)
        return False


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction collie-figures", description=__doc__.split("\n\n")[0])
    parser.add_argument("--instances", help="JSON lines with id, kind, targets and prompt; built-in ones if left out")
    parser.add_argument("--out", required=True, help="the folder that the collie command has written to")
    parser.add_argument("--figures", required=True, help="the JSON file for the figures")
    parser.add_argument("--split", default="built-in", help="what the instances are, in words")
    parser.add_argument("--model", required=True, help="the name of the model that wrote")
    arguments = parser.parse_args()
    found = read_instances(arguments.instances, strict=False) if arguments.instances else builtin_instances()
    instances, peer = {instance.id: instance for instance in found}, has_peer()
    modes = {mode: rows for mode in MODES if (rows := read_rows(Path(arguments.out, f"{mode}.jsonl")))}
    plain = {row["id"]: row["perplexity"] for row in modes.get("plain", ())}
    judgments = {mode: judged(rows, instances, peer) for mode, rows in modes.items()}
    for kind, cells in judgments.get("enforced", {}).items():
        both = geometric_mean(row["perplexity"] / plain[row["id"]] for row in modes["enforced"]
                              if row["kind"] == kind and plain.get(row["id"]))  # the same instances, or else samples
        other = judgments.get("plain", {}).get(kind, {}).get("perplexity")
        cells["over plain"] = both or (cells["perplexity"] / other if other and cells["perplexity"] else None)
    figures = {"model": arguments.model, "split": arguments.split, "instances": len(instances),
               "structures": Counter(instance.kind for instance in found),
               "seed": "from the ids of the instances", "modes": judgments} | surroundings()
    write_whole(Path(arguments.figures), json.dumps(figures, indent=1) + "\n")
    for mode, kinds in figures["modes"].items():
        for kind, cells in kinds.items():
            print(mode, kind, *(f"{name} {value:.2f}" for name, value in cells.items() if value is not None))


if __name__ == "__main__":
    main()
