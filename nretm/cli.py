"""The command `nretm`: check texts against a rule, and look at the states of one text. No model is needed."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import unicodedata
from pathlib import Path

import nretm
from nretm.text import WORD_POLICIES
from nretm.tracking import COLORS, INK, Cell, StateMatrix

LABEL, GAP = 24, "  "  # the widest label of a row; between columns


def main(argv: list[str] | None = None) -> int:
    """0: every text obeys the rule; 1: some do not; 2: the command could not be carried out."""
    options = _parser().parse_args(argv)
    try:
        return options.run(options)
    except BrokenPipeError:  # as in `nretm check ... | head`: nobody reads on
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UnicodeDecodeError:
        return _fail(f"{options.file} is not text in UTF-8")
    except OSError as problem:
        return _fail(f"{problem.filename}: {problem.strerror}")
    except (ValueError, ImportError) as problem:  # a rule that cannot be read has a caret under the place
        return _fail(str(problem))


def _fail(problem: str) -> int:
    print(f"nretm: {problem}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("nretm", description="Check texts against a rule in predicate logic.",
                                     epilog="A rule: InSen(apple, 2) & Len(2, 15) & (not Copy(snow))")
    parser.add_argument("--version", action="version", version=f"nretm {nretm.__version__}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("rule", metavar="RULE", help="the rule, in quotes")
    common.add_argument("--words", default="treebank", choices=list(WORD_POLICIES),
                        help="how words are counted: Penn Treebank words with punctuation (the default, and the "
                             "paper's), as COLLIE does, or as IFEval does")
    common.add_argument("--tolerance", type=int, default=0, metavar="N",
                        help="Len and StopWordCount may be off by N in the verdict (default 0)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", parents=[common], help="check every line of a file",
                                description="Check every line of a file: each line is a text. Exits with 0 if all "
                                            "obey the rule, with 1 if some do not, with 2 on an error.")
    check.add_argument("file", metavar="FILE", help="texts in UTF-8, one per line; - reads standard input")
    check.set_defaults(run=_check)
    show = commands.add_parser("show", parents=[common], help="show the state matrix of a text",
                               description="Show the state matrix of a text, word by word: N not its variable, 0 not "
                                           "yet, 1 in progress (with what is left), 2 satisfied, ✗ broken for good. "
                                           "Exits with 0 if the text obeys the rule, with 1 if not, with 2 on an "
                                           "error.")
    show.add_argument("text", metavar="TEXT", help="the text, in quotes")
    show.add_argument("--out", metavar="FILE", help="draw a heatmap into FILE instead (.svg, .png or .pdf)")
    show.set_defaults(run=_show)
    return parser


def _check(options: argparse.Namespace) -> int:
    rule = nretm.parse(options.rule)
    data = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    if not data:
        raise ValueError(f"{options.file} is empty: write one text per line")
    lines = data.decode("utf-8-sig").removesuffix("\n").split("\n")
    obeyed = 0
    for number, line in enumerate(lines, 1):
        verdict = _verdict(rule, line.removesuffix("\r"), options)
        obeyed += verdict.satisfied
        print(f"{number}\t{_said(verdict)}")
    print(f"{obeyed} of {len(lines)} texts obey the rule")
    return 0 if obeyed == len(lines) else 1


def _show(options: argparse.Namespace) -> int:
    matrix = nretm.state_matrix(options.rule, options.text, policy=nretm.Policy(words=options.words))
    verdict = _verdict(matrix.rule, options.text, options)
    if options.out:
        matrix.plot().savefig(options.out)
        print(options.out)
    else:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        for line in terminal_lines(matrix, shutil.get_terminal_size().columns, color):
            print(line)
    print(_said(verdict))
    return 0 if verdict else 1


def _verdict(rule: nretm.Rule, text: str, options: argparse.Namespace) -> nretm.Verdict:
    return nretm.check(rule, text, options.tolerance, nretm.Policy(words=options.words))


def _said(verdict: nretm.Verdict) -> str:
    return "obeys" if verdict else f"breaks {verdict.why()}"


def terminal_lines(matrix: StateMatrix, columns: int, color: bool) -> list[str]:
    """The matrix as lines of text; what is too wide for the terminal continues below.

    Neighboring input tokens that carry the same flags at every step share a line.
    """
    grouped = itertools.groupby(matrix.rows(), key=lambda row: row[1])
    rows = [(_shortened(" ".join(label for label, _ in run)), cells) for cells, run in grouped]
    margin = max(_width(label) for label, _ in rows)
    widths = [max(_width(token), *(_width(_flag(cells[t])) for _, cells in rows))
              for t, token in enumerate(matrix.outputs)]
    lines, begin = [], 0
    while begin < len(widths):
        end = begin + 1
        while end < len(widths) and margin + sum(len(GAP) + width for width in widths[begin:end + 1]) <= columns:
            end += 1
        band = range(begin, end)
        lines += [""] * bool(begin)
        lines.append(GAP.join([" " * margin, *(_padded(matrix.outputs[t], widths[t]) for t in band)]).rstrip())
        for label, cells in rows:
            flags = (_painted(cells[t], widths[t], color) for t in band)
            lines.append(GAP.join([_padded(label, margin), *flags]).rstrip())
        begin = end
    return lines


def _flag(cell: Cell) -> str:
    return " ".join(cell.lines).replace("\u2002", " ")


def _painted(cell: Cell, width: int, color: bool) -> str:
    text = _padded(_flag(cell), width)
    if not color:
        return text
    paper, ink = (";".join(map(str, bytes.fromhex(color[1:]))) for color in (COLORS[cell.shade], INK[cell.shade]))
    return f"\x1b[{'1;' * cell.changed}38;2;{ink};48;2;{paper}m{text}\x1b[0m"


def _shortened(label: str) -> str:
    return label if len(label) <= LABEL else f"{label[:LABEL // 2 - 1]}…{label[-(LABEL // 2):]}"


def _width(text: str) -> int:
    """Columns on a terminal: Chinese characters take two."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


if __name__ == "__main__":
    sys.exit(main())
