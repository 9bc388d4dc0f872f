"""Measure anybody's outputs on a task's split, as the paper's tables do.

    python -m reproduction evaluate commongen copy outputs.txt --data DIR

The file has one output per line, in the order of the split. Where it has a line for every reference instead, as
CommonGen's published files have, the first of each example counts. Case is kept, as in the field's published figures.
"""

import argparse
from itertools import accumulate
from pathlib import Path

from reproduction.data import SPLITS
from reproduction.metrics import Missing, estimate
from reproduction.tasks import TASKS


def _per_example(lines: list[str], repeats: list[int]) -> list[str]:
    """The first line of each example, where the file has a line for every reference."""
    return [lines[at] for at in accumulate(repeats[:-1], initial=0)] if len(lines) == sum(repeats) else lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction evaluate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(TASKS), help="which data the outputs were written for")
    parser.add_argument("rule", help="; ".join(f"{name}: {', '.join(task.rules)}" for name, task in TASKS.items()))
    parser.add_argument("outputs", type=Path, help="a text file with one output per line, in the order of the split")
    parser.add_argument("--split", default="test", choices=SPLITS, help="which split (default: test)")
    parser.add_argument("--data", default="builtin", metavar="X",
                        help='where the split comes from: "builtin" (the default), "hub" or a folder')
    arguments = parser.parse_args()
    task = TASKS[arguments.task]
    if not arguments.outputs.is_file():
        raise SystemExit(f"evaluate: there is no file {arguments.outputs}: name a text file with one output per line.")
    try:
        examples = task.load(arguments.split, arguments.rule, arguments.data)
        lines = arguments.outputs.read_text(encoding="utf-8").splitlines()
        outputs = _per_example(lines, [len(example.references) for example in examples])
        scores = task.scores(arguments.rule, examples, outputs, arguments.data)
    except (ValueError, OSError) as error:
        raise SystemExit(f"evaluate: {error}") from error
    print(examples.provenance)
    for name, score in scores.items():
        if isinstance(score, Missing):
            print(f"{name:16} -  {score.reason}")
        else:
            figure = estimate(score)
            print(f"{name:16} {figure.value:6.2f}  [{figure.low:.2f}, {figure.high:.2f}]")


if __name__ == "__main__":
    main()
