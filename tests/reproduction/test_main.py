"""The command line: every command and option says what it is for, and a wrong word gets a sentence."""

import argparse
import importlib
import sys

import pytest

from reproduction import bench
from reproduction.__main__ import COMMANDS, main

PARSERS = ["train", "evaluate", "pretrain", "collie", "collie-figures", "run",
           *(f"bench {name}" for name in bench.BENCHMARKS)]


@pytest.mark.parametrize("command", PARSERS)
def test_every_option_has_help(command, monkeypatch, capsys):
    made, build = [], argparse.ArgumentParser.__init__
    monkeypatch.setattr(argparse.ArgumentParser, "__init__", lambda self, *args, **options: (
        made.append(self), build(self, *args, **options))[1])
    monkeypatch.setattr(sys, "argv", ["reproduction", *command.split(), "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0 and len(made) == 1
    assert made[0].prog == ("./run_all.sh" if command == "run" else f"python -m reproduction {command}")
    assert all(action.help and len(action.help) > 5 for action in made[0]._actions)
    assert made[0].prog in capsys.readouterr().out


def test_every_command_is_listed_and_a_wrong_one_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["reproduction"])
    assert main() == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed for name in COMMANDS)
    for module, _ in COMMANDS.values():
        assert importlib.util.find_spec(module)
    monkeypatch.setattr(sys, "argv", ["reproduction", "trian"])
    assert main() == 2 and "There is no command 'trian'." in capsys.readouterr().err


@pytest.mark.parametrize("words, said", [
    ("train r1-t5 --steps many", "train: steps is 'many': it must be a whole number."),
    ("train ted15-mbart --profile mini", "train: The profile mini has no mbart"),
    ("evaluate commongen r1 outputs.txt", "evaluate: there is no file outputs.txt"),
    ("pretrain mini-t5", "pretrain: mini-t5 is made from real text: give its folder by --data DIR.")])
def test_what_is_wrong_is_one_sentence(words, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["reproduction", *words.split()])
    with pytest.raises(SystemExit, match=said):
        main()
