"""COLLIE's structures as rules: what they say, that they can be met, and that the peer's own code agrees."""

import pytest
from kinds import tokenizer

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
                 "It  rained.", "It\nrained.", "Acme Inc. left."):
        assert not prose(text), text


def test_instances_in_files(tmp_path):
    write_instances(INSTANCES, tmp_path / "x.jsonl")
    assert read_instances(tmp_path / "x.jsonl") == INSTANCES
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(ValueError, match="line 1 is not an instance with id, kind, targets and prompt"):
        read_instances(tmp_path / "bad.jsonl")


@pytest.mark.slow
def test_the_command_obeys_and_continues_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    import sys
    from pathlib import Path

    from reproduction.collie_run import by_structure, main

    base = Path(__file__).parents[2] / "reproduction/bases/t5-base"
    write_instances([i for i in INSTANCES if i.kind in ("c08", "c10", "c14")], tmp_path / "x.jsonl")
    command = ["collie", "--model", str(base), "--instances", str(tmp_path / "x.jsonl"), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--per-structure", "1"])
    main()
    assert "builtin_c14-0 is left out" in capsys.readouterr().err  # its tokens have no line break
    first = (tmp_path / "enforced.jsonl").read_text()
    monkeypatch.setattr(sys, "argv", [*command, "--kinds", "c08,c10"])
    main()
    assert (tmp_path / "enforced.jsonl").read_text().startswith(first)
    percents = {kind: percent for kind, (percent, _) in by_structure(tmp_path)["enforced"].items()}
    assert percents == {"c08": 100, "c10": 100}
