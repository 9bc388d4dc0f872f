"""Reads the data of a task from the Hugging Face hub, each dataset at one commit.

What the hub holds is not always what the paper used (CommonGen's test has no references there, the talks are those of
2017): the provenance counts the differences.
"""

from __future__ import annotations

from reproduction.data.sources import HOME, TALK_SETS, DataError, Row, csv_stories, five, tagged_talks

REVISIONS = {  # repository and commit; the hub's public pages show the files below in these commits
    "rocstories": ("wza/roc_stories", "008ebe81e2c2237b5990a6efdd3c958ca6b8c00e"),
    "storycloze": ("r-three/Phatgoose_storycloze_offline", "854c39cbba96b1a2014b785d67031b20aa7e8018"),
    "commongen": ("allenai/common_gen", "792db818e8199aff8f77e183caf7d03de451b426"),
    "ted15": ("IWSLT/iwslt2017", "b33c264e52bf7b8dcdab42cbdd42e91706a9c599"),
}
NAMES = {"train": "train", "dev": "validation", "test": "test"}  # of the splits there


def read(task: str, split: str) -> list[Row]:
    """The rows of a split."""
    return {"rocstories": _stories, "commongen": _concepts, "ted15": _talks}[task](split)


def _load(dataset: str, kind: str, path: str, inside: str = ""):
    """A file of a repository at its commit, or one inside an archive there, as a table."""
    import datasets

    repository, commit = REVISIONS[dataset]
    address = f"hf://datasets/{repository}@{commit}/{path}"
    if inside:
        address = f"zip://{inside}::{address}"
    try:
        return datasets.load_dataset(kind, data_files=address, split="train")
    except Exception as error:  # no connection shows as one of a dozen exceptions of four libraries
        home = HOME["rocstories" if dataset == "storycloze" else dataset]
        raise DataError(f"{repository} at commit {commit[:9]} could not be had from the Hugging Face hub "
                        f"({type(error).__name__}): connect this machine, or give a folder as the source "
                        f"({home}), or take source='builtin'") from error


def _stories(split: str) -> list[Row]:
    """ROCStories to train on; dev and test are Story Cloze of spring 2016 with the right of its two endings."""
    if split == "train":
        names = ("ROCStories_winter2017.csv", "ROCStories__spring2016.csv")
        return [row for name in names for row in csv_stories(name, _load("rocstories", "csv", name))]
    table = _load("storycloze", "arrow", f"story_cloze/2016/{NAMES[split]}/dataset.arrow")
    return [(row["story_id"], five([*(row[f"input_sentence_{k}"] for k in range(1, 5)),
                                    row[f"sentence_quiz{row['answer_right_ending']}"]])) for row in table]


def _concepts(split: str) -> list[Row]:
    """One row a reference there; here one a set. Test has no references on the hub."""
    sets: dict[int, tuple[tuple[str, ...], list[str]]] = {}
    for row in _load("commongen", "parquet", f"data/{NAMES[split]}-00000-of-00001.parquet"):
        _, references = sets.setdefault(row["concept_set_idx"], (tuple(row["concepts"]), []))
        if row["target"].strip():
            references.append(row["target"])
    return [(f"{split}-{number}", concepts, tuple(references)) for number, (concepts, references) in sets.items()]


def _talks(split: str) -> list[Row]:
    """IWSLT 2017: the dev and test talks of 2015, and a larger train set."""
    stems = ["train.tags.zh-en"] if split == "train" else [f"IWSLT17.TED.{name}.zh-en" for name in TALK_SETS[split]]
    ending = "" if split == "train" else ".xml"
    archive = "data/2017-01-trnted/texts/zh/en/zh-en.zip"
    return [row for stem in stems for row in tagged_talks(
        *(_load("ted15", "text", archive, f"zh-en/{stem}.{side}{ending}")["text"] for side in ("zh", "en")))]
