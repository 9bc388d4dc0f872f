"""COLLIE's structures as rules: what they say, that they can be met, and that the peer's own code agrees."""

import pytest
import torch
from kinds import tokenizer
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

import nretm
from nretm.tracking.automaton import automaton_for
from nretm.tracking.growing_text import reader_for
from nretm.tracking.witness import witnesses_for
from reproduction.collie import (
    JUDGING,
    STRUCTURES,
    WRITING,
    Instance,
    asked_of,
    builtin_instances,
    peers_verdict,
    read_instances,
    rule_of,
    write_instances,
)
from reproduction.collie_run import TEMPERATURE, TOP_K, TOP_P, Sampling

INSTANCES = builtin_instances(per_structure=2)
CASES = [  # structure, targets, a text that meets them, one that does not
    ("c01", [6], "bicycle", "bike"), ("c02", [12, ["a", "b", "c"]], "xxxaxxxbxxcx", "xxxaxxxbxxxc"),
    ("c03", [5, "z"], "waltz", "walts"), ("c04", 12, "He is there.", "He is here."),
    ("c05", [11, ["d", "h", "k"]], "A b c d e f g h i j k.", "A b c d e f g i h j k."),
    ("c06a", [4, 4], "He had a cold, too.", "He had a terrible cold."),
    ("c07", ["dog", "Cat", "had"], "A cat had a dog.", "A cat has a dog."),
    ("c08", "He", "He ran. He sat.", "He ran. She sat."),
    ("c09", [2, "the", "of", "and"], "He ran. It was fun.", "He ran. The fun of it!"),
    ("c10", [2, 2, 3], "He ran. It was fun.", "He ran. It was great fun."),
    ("c11", [2, 3], "He ran home. It was fun. All was well.", "He ran. It was fun."),
    ("c12", [2, ["ran", "fun"]], "He ran. It was fun!", "He ran. It was fine!"),
    ("c14", [["He ran", "It was fun"], 2], "So it was. He ran.\n\nOh no. It was fun.", "He ran.\n\nOh no. It was fun.")]


def test_there_are_instances_of_every_structure_and_each_can_be_written():
    assert [kind for kind in STRUCTURES for i in INSTANCES if i.kind == kind] == [i.kind for i in INSTANCES]
    assert len(INSTANCES) == 26 and len({i.id for i in INSTANCES}) == 26
    for instance in INSTANCES:
        for rule in (rule_of(instance), asked_of(instance)):
            assert nretm.parse(str(rule)) == rule and not rule.contradictions()


@pytest.mark.parametrize("kind, targets, met, missed", CASES)
def test_what_the_rules_say(kind, targets, met, missed):
    rule = rule_of(Instance("", kind, targets, ""))
    assert nretm.check(rule, met, policy=WRITING) and not nretm.check(rule, missed, policy=WRITING)


@pytest.mark.parametrize("kind, targets, met, missed", CASES)
def test_the_peers_own_code_agrees(kind, targets, met, missed):
    pytest.importorskip("collie.constraints", reason="collie-bench is not installed")
    instance = Instance("", kind, targets, "")
    try:
        JUDGING.sentences_of("A test.")
    except ValueError as missing:
        pytest.skip(str(missing))
    assert peers_verdict(instance, met) and not peers_verdict(instance, missed)
    assert nretm.check(rule_of(instance), met, policy=JUDGING)


@pytest.mark.slow
@pytest.mark.parametrize("instance", INSTANCES[::2], ids=lambda instance: instance.kind)
def test_a_text_that_obeys_is_found_for_every_structure(instance):
    tok = tokenizer("byte-bpe")
    witnesses = witnesses_for(automaton_for(asked_of(instance), reader_for(tok, WRITING)))
    here, ids = witnesses.automaton.start, []
    assert witnesses.length(here, 600) is not None
    while (token := witnesses.next_token(here)) is not None:
        ids.append(token)
        here = witnesses.automaton.step(here, token)
    text = witnesses.automaton.reader.text(ids)
    assert nretm.check(asked_of(instance), text, policy=WRITING), text


def test_prose_is_where_all_agree_on_sentences():
    def prose(text):
        return bool(nretm.check("Prose(p.m.)", text, policy=WRITING))

    assert prose("He came at 5 p.m. yesterday. It rained!") and prose("It was 1990. Then it rained.")
    for text in ("It rained", "it rained.", "He met Mr. Li.", 'He said "no."', "It cost 3.5 euros.", "Well...",
                 "It  rained.", "It\nrained.", "Acme Inc. left.", "It \ufffd rained."):
        assert not prose(text), text
    assert not nretm.check("Prose(and so)", "It was 1990. and so on.", policy=WRITING)  # one sentence, for punkt
    for text in ("It rained. and so on.", "It was 1990! and so on.", "It was 1990.\n\nand so on."):
        assert nretm.check("Prose(and so)", text, policy=WRITING), text
    assert not nretm.check("Prose(he ran--)", "So he ran--\n\n2. He ran--.", policy=WRITING)
    assert nretm.check("Prose(as I am)", "So am I! It rained.", policy=WRITING)
    assert not nretm.check("Prose(as I am)", "So am I. It rained.", policy=WRITING)  # an initial, for punkt
    asked = "Prose(5- and 6- story houses - 9)"  # hyphens at the ends of words, because the target has them
    assert nretm.check(asked, "It had 5- and 6- story houses - 9 in all.", policy=WRITING)
    assert not nretm.check(asked, "It had 7- and 8- story houses.", policy=WRITING)


def test_instances_in_files(tmp_path):
    write_instances(INSTANCES, tmp_path / "x.jsonl")
    assert read_instances(tmp_path / "x.jsonl") == INSTANCES
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(ValueError, match="line 1 is not an instance with id, kind, targets and prompt"):
        read_instances(tmp_path / "bad.jsonl")
    (tmp_path / "odd.jsonl").write_bytes((tmp_path / "x.jsonl").read_bytes() + b'{"id": "\xff"}\n[]\n7\n')
    assert read_instances(tmp_path / "odd.jsonl", strict=False) == INSTANCES


@pytest.mark.slow
def test_the_command_obeys_and_continues_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    import sys
    from pathlib import Path

    from reproduction.collie_run import by_structure, main

    base = Path(__file__).parents[2] / "reproduction/bases/t5-base"
    write_instances([i for i in INSTANCES if i.kind in ("c05", "c08", "c10", "c14")], tmp_path / "x.jsonl")
    command = ["collie", "--model", str(base), "--instances", str(tmp_path / "x.jsonl"), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--per-structure", "1"])
    main()
    assert "builtin_c14-1 is left out" in capsys.readouterr().err  # its tokens have no line break
    first = (tmp_path / "enforced.jsonl").read_text()
    monkeypatch.setattr(sys, "argv", [*command, "--kinds", "c05,c08,c10"])
    main()
    assert (tmp_path / "enforced.jsonl").read_text().startswith(first)
    percents = {kind: percent for kind, (percent, _) in by_structure(tmp_path)["enforced"].items()}
    assert percents == {"c05": 100, "c08": 100, "c10": 100}


@pytest.mark.slow
def test_an_odd_instance_is_reported_and_the_others_are_written(tmp_path, monkeypatch, capsys):
    import json
    import sys
    from pathlib import Path

    from reproduction.collie_run import main, read_rows

    good = [Instance("good 1", "c08", "He", "Write."), Instance("good 2", "c06a", [3, 6], "")]
    odd = [Instance("short", "c04", 0, ""), Instance("too few", "c05", [9, ["he"]], ""),
           Instance("no number", "c10", [3, "few", 9], ""), Instance("nothing", "c07", [], ""),
           Instance("after the end", "c02", [5, ["a", "b", "c"]], ""), Instance("none", "c12", None, "")]
    write_instances([*good, *odd, good[0]], tmp_path / "x.jsonl")
    with open(tmp_path / "x.jsonl", "a") as file:
        file.write('{"id"\n' + json.dumps({"id": "c99", "kind": "c99", "targets": [], "prompt": ""}) + "\n")
    base = Path(__file__).parents[2] / "reproduction/bases/t5-base"
    monkeypatch.setattr(sys, "argv", ["collie", "--model", str(base), "--instances", str(tmp_path / "x.jsonl"), "--out",
                                      str(tmp_path)])
    main()
    assert {row["id"] for row in read_rows(tmp_path / "enforced.jsonl")} == {"good 1", "good 2"}
    said = capsys.readouterr().err
    assert all(f"{instance.id} is left out: " in said for instance in odd)
    assert all(f"x.jsonl, line {number} is not an instance" in said for number in (9, 10, 11))
    assert "there is no structure 'c99'" in said and "good 1 has come before" in said


def test_a_line_that_was_not_finished_is_written_again(tmp_path):
    from reproduction.collie_run import read_rows

    path = tmp_path / "enforced.jsonl"
    path.write_text('{"id": "a", "text": "x\u2028y"}\n{"id": "b", "te', encoding="utf-8")
    assert [row["id"] for row in read_rows(path)] == ["a"]
    assert path.read_text(encoding="utf-8").endswith("}\n")


def test_a_forbidden_word_does_not_begin_a_longer_one():
    tok = tokenizer("byte-bpe")
    for word, expected in (("Unwritten(snow)", "broken"), ("not Copy(snow)", "possible")):
        automaton = automaton_for(nretm.parse(word), reader_for(tok, WRITING))
        here = automaton.start
        for token in tok(" The snow", add_special_tokens=False)["input_ids"]:
            here = automaton.step(here, token)
        assert automaton.verdict(here) == expected
    assert not nretm.check("Unwritten(snow)", "The snow.") and nretm.check("Unwritten(snow)", "It snows.")


def test_sampling_is_by_what_generate_would_leave():
    scores = torch.randn(8, 300, generator=torch.Generator().manual_seed(0)) * torch.arange(1.0, 9.0)[:, None]
    warped = scores
    for warper in (TemperatureLogitsWarper(TEMPERATURE), TopKLogitsWarper(TOP_K), TopPLogitsWarper(TOP_P)):
        warped = warper(None, warped)
    assert len(set(warped.isfinite().sum(dim=1).tolist())) > 1  # top_p cuts rows differently
    values, tokens = Sampling().nucleus(scores)
    torch.testing.assert_close(torch.full_like(scores, -torch.inf).scatter(1, tokens, values), warped)
    torch.manual_seed(0)
    drawn = sum(Sampling()(None, scores).isfinite().int() for _ in range(4000))
    assert (drawn.sum(dim=1) == 4000).all() and (drawn / 4000 - warped.softmax(dim=1)).abs().max() < 0.04
