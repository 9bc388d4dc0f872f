"""Inflections, and that they leave the input expression alone."""

import gzip
import json
import os
from pathlib import Path

import pytest
from kinds import tokenizer

from nretm import Copy, Tracker, check, inflected, parse
from nretm.rules.inflection import inflections


@pytest.mark.parametrize("word, forms", [
    ("stand", {"stand", "stands", "standing", "stood"}), ("knife", {"knife", "knives"}),
    ("go", {"goes", "went", "gone"}),
    ("child", {"children"}), ("fast", {"faster", "fastest"}), ("zorble", {"zorbles", "zorbled", "zorbling"}),
    ("ice cream", {"ice cream", "ice creams"}), ("pick up", {"picked up", "picking up"})])
def test_plurals_and_tenses_of_known_and_unknown_words(word, forms):
    assert inflections(word)[0] == word and forms <= set(inflections(word))


def test_the_expression_stays_and_the_flag_sits_on_the_concept():
    plain = parse("Copy(tree) & not (Copy(car) & Len(3))")
    rule = inflected(plain)
    assert str(rule) == str(plain) and rule != plain
    assert check(rule & Copy("trees"), "trees").satisfied and not check(plain, "trees").satisfied
    tok = tokenizer("wordlevel")
    tracker = Tracker(inflected("Copy(tree) & Copy(stone)"), tok)
    state = tracker.states(tok("the trees")["input_ids"])[-1]
    flags = dict(zip(tok.convert_ids_to_tokens(tracker.input_ids), state.flags, strict=True))
    assert (flags["tree"], flags["stone"], flags["&"]) == ("2", "0", "N")
    assert inflected(Copy("tree")).forms == ("treed", "treeing", "trees")


def test_recall_against_the_forms_that_a_peer_uses():
    folder = Path(os.environ.get("NRETM_DATA", "") or "/nonexistent", "commongen")
    if not folder.exists():
        pytest.skip("NRETM_DATA does not name a folder with commongen/")
    def read(name):
        with gzip.open(folder / name, "rt") as lines:
            return [json.loads(line) for line in lines]
    peers: dict[str, set[str]] = {}
    for row, forms in zip(read("dev.jsonl.gz"), read("neurologic_inflections.dev.jsonl.gz"), strict=True):
        for group in ({form.lower() for form in group} for group in forms):
            concept = max(row["concepts"], key=lambda c, g=group: (c in g, len(g & set(inflections(c)))))
            peers.setdefault(concept, set()).update(group)
    found = sum(len(forms & set(inflections(concept))) for concept, forms in peers.items())
    assert found / sum(map(len, peers.values())) > 0.99
