"""The case study: a verdict for the whole rule, alternatives together, and what was counted."""

import json

from reproduction.report import cases
from reproduction.report.run_files import run_path

RULE = "(Len(1, 3) || StopWordCount(1, 2)) & InSen(car, 2)"


def store(results, name, outputs):
    path = run_path(results, name, 0).with_suffix(".jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"id": str(i), "rule": RULE, "source": "", "output": text} for i, text in enumerate(outputs)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_what_only_nretm_gets_right_and_a_counter_example(tmp_path):
    store(tmp_path, "r1-t5", ["We ran. A dog.", "We ran. A car.", "A <b> dog sat in it. No."])
    store(tmp_path, "r1-nretm", ["We ran. A car.", "We ran. A car.", "Big dogs ate seven red apples. A car."])
    page = cases.compare(tmp_path, "r1-t5", "r1-nretm", "Title")
    assert page.count("Only NRETM obeys.") == 1 and page.count("Counter-example: NRETM breaks the rule.") == 1
    assert page.count("✓ obeys") == 1 and page.count("✗ breaks it") == 3
    first, second = page.split("Counter-example")
    # an alternative that does not hold is no failure where the other one does
    assert "✓ Len(1, 3): 3 words" in first and ">StopWordCount(1, 2): 1 stop word<" in first
    assert "✗ InSen(car, 2): not mentioned" in first and "✓ InSen(car, 2)<" in first
    assert "✗ Len(1, 3): 7 words" in second and "✗ StopWordCount(1, 2): 0 stop words<" in second
    assert "&lt;b&gt;" in second


def test_nothing_stored_nothing_shown(tmp_path):
    assert cases.compare(tmp_path, "r1-t5", "r1-nretm", "Title") == ""
