"""The command line: verdicts, exit codes, the matrix in a terminal, and errors in one sentence."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nretm
from nretm.cli import main, terminal_lines

RULE = "InSen(car, 1) & (Len(1, 4) || StopWordCount(1, 2)) & (not Copy(snow))"


@pytest.fixture
def texts(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "texts.txt"
        path.write_bytes(text.encode(encoding))
        return str(path)

    return write


def test_every_line_is_checked_and_what_is_broken_is_named(texts, capsys):
    file = texts("A red car.\nThe snow is on a big car.\r\n\nThe car was of it.\n")
    assert main(["check", RULE, file]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "1\tobeys",
        "2\tbreaks Len(1, 4) (8 words), StopWordCount(1, 2) (4 stop words), not Copy(snow) (in sentence 1)",
        "3\tbreaks InSen(car, 1) (not mentioned), Len(1, 4) (no such sentence), StopWordCount(1, 2) (no such sentence)",
        "4\tbreaks Len(1, 4) (6 words), StopWordCount(1, 2) (4 stop words)",
        "1 of 4 texts obey the rule"]


@pytest.mark.parametrize("options, code", [([], 1), (["--tolerance", "1"], 0), (["--words", "collie"], 0)])
def test_options_reach_the_checker(options, code, texts, capsys):
    assert main(["check", "Len(1, 3)", texts("A red car.\n"), *options]) == code
    assert main(["show", "Len(1, 3)", "A red car.", *options]) == code


def test_standard_input_and_a_byte_order_mark(texts, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("A café.".encode())))
    assert main(["check", "Copy(café) & Len(3)", "-"]) == 0
    assert main(["check", "Len(1, 3)", texts("\ufeffA café.")]) == 0
    assert capsys.readouterr().out.count("1 of 1 texts obey the rule") == 2


def test_the_matrix_in_a_terminal():
    matrix = nretm.state_matrix("InSen(car, 1) & Len(1, 4)", "A red car.")
    assert terminal_lines(matrix, 80, color=False) == [
        "                       ε    A      red    car    .    </s>",
        "InSen (                N 0  N 1 3  N 1 2  N 1 1  N 2  N 2",
        "car                    0 0  1 1 3  1 1 2  2 1 1  2 2  2 2",
        ", 1 ) & Len ( 1 , 4 )  N 0  N 1 3  N 1 2  N 1 1  N 2  N 2"]


@pytest.mark.parametrize("columns", [10, 30, 47, 200])
def test_what_is_too_wide_continues_below_and_color_changes_no_letter(columns):
    matrix = nretm.state_matrix("Copy(雨) & Len(4)", "今天 下雨 了 .")
    plain, painted = (terminal_lines(matrix, columns, color) for color in (False, True))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in painted] == plain
    assert "".join(painted).count("\x1b[0m") == 3 * len(matrix.outputs)  # every cell of three rows
    assert all(len(line) <= columns for line in plain) or columns < 30
    words = [token for line in plain if line.startswith(" ") for token in line.split()]
    assert words == list(matrix.outputs)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_matrix_as_a_picture(suffix, tmp_path, capsys):
    out = tmp_path / f"x.{suffix}"
    assert main(["show", "InSen(car, 1)", "A red car.", "--out", str(out)]) == 0
    assert out.stat().st_size > 5000 and capsys.readouterr().out == f"{out}\nobeys\n"


@pytest.mark.parametrize("arguments, message", [
    (["check", "InSen(car 1)", "FILE"], "nretm: InSen takes InSen(w, k), not 1 argument (position 1)\n"
                                        "  InSen(car 1)\n  ^\n"),
    (["show", "Len(1, 4) &", "A car."], "nretm: the rule ends where a predicate is expected (position 12)\n"
                                         "  Len(1, 4) &\n             ^\n"),
    (["check", "Len(1, 4)", "nowhere.txt"], "nretm: nowhere.txt: No such file or directory\n"),
    (["check", "Len(1, 4)", "EMPTY"], "is empty: write one text per line\n"),
    (["check", "Len(1, 4)", "LATIN"], "is not text in UTF-8\n"),
    (["check", "Len(1, 4)", "FILE", "--tolerance", "-1"], "nretm: the tolerance must not be negative, got -1\n"),
    (["show", "Len(1, 4)", "A car.", "--out", "x.doc"], "nretm: Format 'doc' is not supported"),
    (["show", "translateOnce(1)", "A car."], "source sentence 1, but the source has 0 sentences")])
def test_errors_are_sentences(arguments, message, texts, capsys):
    files = {"FILE": ("A car.\n", "utf-8"), "EMPTY": ("", "utf-8"), "LATIN": ("café", "latin-1")}
    assert main([texts(*files[part]) if part in files else part for part in arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err and not out


def test_the_module_runs_without_torch():
    program = ("import sys; from nretm.cli import main; main(['show', 'Len(1, 3)', 'A car.']); "
               "print('torch' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("obeys\nFalse\n")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["show", "Len(1, 3)", "A car.", "--out", "x.svg"]) == 2
    assert capsys.readouterr().err == "nretm: this needs matplotlib, which is not installed: pip install matplotlib\n"
    assert not Path("x.svg").exists()
