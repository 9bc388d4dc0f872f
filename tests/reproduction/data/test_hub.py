"""Reading from the hub, with the hub away or played by a few rows."""

import datasets
import pytest

from reproduction.data import TASKS, hub
from reproduction.data.sources import DataError

FIVE = [f"This is sentence {n}." for n in range(1, 6)]


def test_every_dataset_is_pinned_to_a_commit():
    assert all(len(commit) == 40 and set(commit) <= set("0123456789abcdef") for _, commit in hub.REVISIONS.values())


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("task", TASKS)
def test_no_connection_is_one_sentence(task, split, monkeypatch):
    def away(*_, **__):
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", away)
    with pytest.raises(DataError, match="could not be had from the Hugging Face hub.*source='builtin'") as caught:
        hub.read(task, split)
    assert "\n" not in str(caught.value)


@pytest.fixture
def loaded(monkeypatch):
    """What load_dataset is asked for; it answers with the rows of the test."""
    calls, answers = [], {}

    def load_dataset(kind, data_files, split):
        calls.append((kind, data_files))
        return next(rows for part, rows in answers.items() if part in data_files)

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls, answers


def test_stories(loaded):
    calls, answers = loaded
    row = {"storyid": "s", "storytitle": "t"} | {f"sentence{k}": text for k, text in enumerate(FIVE, 1)}
    answers |= {"winter2017": [row], "spring2016": [row, row]}
    assert hub.read("rocstories", "train") == [("s", tuple(FIVE))] * 3
    assert all(hub.REVISIONS["rocstories"][1] in address for _, address in calls)


def test_concepts_are_grouped(loaded):
    loaded[1]["validation"] = [{"concept_set_idx": n, "concepts": ["a", "b"], "target": text}
                              for n, text in ((0, "A b."), (0, "B a."), (1, ""))]
    assert hub.read("commongen", "dev") == [("dev-0", ("a", "b"), ("A b.", "B a.")), ("dev-1", ("a", "b"), ())]


def test_talks_come_out_of_the_archive(loaded):
    calls, answers = loaded
    for side, text in (("zh", "一"), ("en", "One.")):
        answers[f".{side}.xml"] = {"text": ["<doc>", "<talkid>3</talkid>", f"<seg id=1>{text}</seg>", "</doc>"]}
    assert hub.read("ted15", "dev") == [("3", (("一", "One."),))]
    assert calls[0][1].startswith("zip://zh-en/IWSLT17.TED.dev2010.zh-en.zh.xml::hf://datasets/IWSLT/iwslt2017@")
