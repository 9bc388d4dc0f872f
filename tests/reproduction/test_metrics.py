"""The measures: hand-computed cases, published systems' figures (where the shared data is), intervals."""

import gzip
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

import nretm
from nretm.text.policy import Policy
from reproduction import metrics, spice

DOCUMENTS = Policy(separator="</s>")
STORY = "Tom saw a red car. It was fast. He ran."


def rules(*texts):
    return [nretm.parse(text) for text in texts]


def test_csr_is_the_share_of_outputs_that_obey_their_whole_rule():
    given = rules("InSen(car, 1) & Len(2, 4)", "InSen(car, 2) & Len(2, 4)", "Len(1, 5)", "not Copy(snow)")
    assert metrics.csr(given, [STORY] * 4).value == 50.0


def test_tolerance_loosens_lengths_only():
    given = rules("Len(2, 5)", "Len(2, 6)", "InSen(car, 2)", "StopWordCount(3, 2)")  # sentence 2 has four words
    by_tolerance = [metrics.csr(given, [STORY] * 4, tolerance).value for tolerance in (0, 1, 2)]
    assert by_tolerance == [0.0, 50.0, 75.0]


def test_predicates_are_counted_where_the_gold_has_them():
    given = rules("(Len(1, 6) || StopWordCount(1, 9)) & InSen(car, 1) & InSen(fast, 2) & (not InSen(dog, 2))",
                  "(Len(1, 8) || StopWordCount(1, 1)) & InSen(car, 1) & InSen(fast, 2) & (not InSen(dog, 2))")
    outputs = [STORY, "A car. The dog is slow."]
    by_place = {place: score.value for place, score in metrics.predicate_csr(given, outputs, [STORY] * 2).items()}
    assert by_place == {"Len_i": 100.0, "StopWordCount_i": 100.0, "InSen_i": 100.0, "InSen_j": 50.0,
                        "not InSen_j": 50.0}
    assert metrics.predicate_csr(given, outputs, [STORY] * 2)["Len_i"].rows.tolist() == [[1, 1], [0, 0]]


def test_csa_asks_for_the_right_sentence_and_mr_for_any():
    given = rules("InSen(car, 1) & InSen(ran, 2)", "InSen(fast, 1) & InSen(snow, 2)")
    found = metrics.sentence_accuracy(given, [STORY, STORY])
    assert found["CSA"].value == 25.0
    assert found["MR"].value == 75.0


def test_concepts_count_in_any_inflection_but_not_inside_words():
    concepts = [("stand", "dog", "throw"), ("art", "dog")]
    found = metrics.constraint_coverage(concepts, ["Dogs stood there.", "They start."], seen={"stand", "art"})
    assert {name: score.rows.sum(axis=0).tolist() for name, score in found.items()} == {
        "Seen": [1, 2], "Novel": [1, 3], "ALL": [2, 5]}
    assert found["ALL"].value == pytest.approx(40.0)


def test_nothing_to_count_is_not_a_number_and_not_zero():
    novel = metrics.constraint_coverage([("dog",)], ["A dog."], seen={"dog"})["Novel"]
    assert math.isnan(novel.value)
    assert math.isnan(metrics.estimate(novel).low)


def test_sentences_are_counted_and_aligned():
    assert metrics.sentence_count([STORY, "One."], wanted=3).value == 50.0
    assert metrics.sentence_aligned(["a</s>b</s>c", "a</s>b"], ["x</s>y</s>z", "x"], DOCUMENTS).value == 50.0


def test_rouge_l_takes_the_best_reference():
    # longest common subsequence "the cat sat" of 3 words: precision 1, recall 3/4, F 6/7
    assert metrics.rouge_l([["a dog", "the cat sat down"]], ["the cat sat"]).value == pytest.approx(600 / 7)


def test_bleu_is_sacrebleus_and_by_hand():
    # 4-gram precisions 4/5, 3/4, 2/3, 1/2, no brevity penalty
    by_hand = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert metrics.bleu(["a b c d e"], ["a b c d x"], tokenize="none").value == pytest.approx(by_hand)


def test_coco_bleu_equals_the_librarys_own_figure():
    from pycocoevalcap.bleu.bleu import Bleu
    outputs = ["the dog runs in the park", "a man throws a ball to a dog"]
    references = [["a dog runs in the park", "the dog is in the park"], ["a man throws the ball to his dog"]]
    ours = metrics.coco_bleu(references, outputs)
    truth = {i: refs for i, refs in enumerate(references)}
    theirs, _ = Bleu(4).compute_score(truth, {i: [text] for i, text in enumerate(outputs)}, verbose=0)
    assert [ours["BLEU-3"].value, ours["BLEU-4"].value] == pytest.approx([100 * theirs[2], 100 * theirs[3]], abs=1e-6)


def test_document_bleu_scores_missing_sentences_as_empty():
    reference = "the first one is here</s>the second one is there"
    perfect = metrics.document_bleu([reference], [reference], DOCUMENTS)
    assert [round(score.value, 6) for score in perfect.values()] == [100.0, 100.0]
    moved = metrics.document_bleu([reference], ["the first one is here the second one is there"], DOCUMENTS)
    assert moved["d-BLEU"].value == pytest.approx(100.0)
    assert moved["s-BLEU"].value < 60.0


def test_numbers_of_outputs_must_fit():
    with pytest.raises(ValueError, match="There are 1 outputs for 2 examples"):
        metrics.csr(rules("Len(1)", "Len(2)"), ["a"])


def test_interval_of_a_share_is_about_the_binomial_one():
    score = metrics.Score(np.array([[1, 1]] * 80 + [[0, 1]] * 20, dtype=float))
    found = metrics.estimate(score)
    assert found.value == 80.0
    assert 70 < found.low < 74 and 86 < found.high < 90  # 80 ± 1.96 · 4
    assert found == metrics.estimate(score), "the same seed gives the same interval"


def test_seeds_are_pooled_and_widen_the_interval():
    runs = [metrics.Score(np.array([[share, 1]] * 50, dtype=float)) for share in (0.2, 0.6)]
    found = metrics.estimate(runs)
    assert (found.value, found.seeds, found.n) == (pytest.approx(40.0), 2, 50)
    assert (found.low, found.high) == (pytest.approx(20.0), pytest.approx(60.0))


def test_spice_says_what_is_missing(tmp_path, monkeypatch):
    java(tmp_path, monkeypatch, 'openjdk version "17.0.15" 2025-04-15')
    said = spice.missing(tmp_path)
    assert "Java 8 or 11 (java on the PATH is version 17)" in said and spice.JARS[1] in said and spice.ARCHIVE in said
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "no java on the PATH" in spice.missing(tmp_path)
    monkeypatch.setattr(spice, "missing", lambda: "SPICE needs Java.")
    assert metrics.spice([["a dog"]], ["a dog"]) == metrics.Missing("SPICE needs Java.")


@pytest.mark.parametrize("version", ['java version "1.8.0_402"', 'openjdk version "11.0.22" 2024-01-16'])
def test_spice_runs_where_java_and_jars_allow(tmp_path, monkeypatch, version):
    java(tmp_path, monkeypatch, version)
    for jar in spice.JARS:
        (tmp_path / jar).touch()
    assert spice.missing(tmp_path) is None
    scored = [{"All": {"f": 0.25}}, {"All": {"f": 0.75}}]
    monkeypatch.setattr(spice.library.Spice, "__init__", lambda self: None)
    monkeypatch.setattr(spice.library.Spice, "compute_score", lambda self, truth, outputs: (0.5, scored))
    monkeypatch.setattr(spice, "missing", lambda: None)
    assert metrics.spice([["a dog"], ["a cat"]], ["a dog", "a cat"]).value == 50.0


def java(folder, monkeypatch, says):
    """Put a `java` on the PATH that reports a version, as the real one does, on stderr."""
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


# ---- published systems -------------------------------------------------------------------------------------------

@pytest.fixture
def shared():
    folder = os.environ.get("NRETM_DATA")
    if not folder:
        pytest.skip("NRETM_DATA is not set: the published systems' outputs are not here")
    return Path(folder)


def lines(path):
    return gzip.open(path, "rt", encoding="utf-8").read().splitlines()


def test_leventrans_has_its_published_figures(shared):
    rows = [json.loads(line) for line in lines(shared / "commongen/test.jsonl.gz")]
    written = iter(lines(shared / "oracles/commongen/LevenTrans.test.txt.gz"))
    references = [row["references"] for row in rows]
    outputs = [[next(written) for _ in refs][0] for refs in references]  # one line a reference, all alike
    assert f"{metrics.cider(references, outputs).value / 10:.2f}" == "7.54"
    found = metrics.coco_bleu(references, outputs)
    assert [f"{found[name].value:.1f}" for name in ("BLEU-3", "BLEU-4")] == ["19.7", "11.6"]
    coverage = metrics.constraint_coverage([row["concepts"] for row in rows], outputs, seen=set())["ALL"]
    assert coverage.value == pytest.approx(63.8, abs=0.5)  # published with spaCy's lemmas, here by inflection


def test_han_baseline_has_its_published_bleu(shared):
    folder = shared / "oracles/ted15_zhen"
    outputs, references = lines(folder / "TED_zh-en_baseline.en.gz"), lines(folder / "IWSLT15.TED.tst.tc.en.gz")
    assert f"{metrics.bleu(references, outputs, tokenize='none').value:.2f}" == "16.77"
