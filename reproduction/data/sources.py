"""Reads the data of a task from a folder: the official files as people have them, or plain JSONL.

Files are recognized by their names, anywhere in the folder. What is missing or damaged is named in one sentence with
where it can be had; numbers that differ from the paper's are no error, they go into the provenance.
"""

from __future__ import annotations

import csv
import gzip
import html
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

Row = tuple

HOME = {
    "rocstories": "the stories ROCStories_winter2017 and ROCStories_spring2016 and the Story Cloze val and test "
                  "sets of spring 2016, all CSV, are given out on request at https://cs.rochester.edu/nlp/rocstories",
    "commongen": "commongen.train.jsonl, commongen.dev.jsonl and a commongen.test.jsonl with references, "
                 "see https://github.com/INK-USC/CommonGen",
    "ted15": "train.tags.zh-en.zh and .en, IWSLT15.TED.dev2010 and tst2010 to tst2013 .zh-en.zh.xml and .en.xml, "
             "from the IWSLT 2015 campaign at https://wit3.fbk.eu/2015-01",
}
TALK_SETS = {"dev": ("dev2010",), "test": ("tst2010", "tst2011", "tst2012", "tst2013")}


class DataError(ValueError):
    """A file is missing or damaged; the message says which, and what to do."""


def read(task: str, split: str, folder: str | Path) -> list[Row]:
    """The rows of a split, from whichever known files the folder holds."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}: make it and put the data of {task} there ({HOME[task]}), "
                        "or take source='builtin', which needs no data")
    inner = sorted(path for path in folder.glob(f"{task}*") if path.is_dir())  # a folder with one folder per task
    for where in [*inner, folder]:
        for reader in (READERS[task], _jsonl):
            if rows := reader(task, split, where):
                return rows
    raise DataError(f"no {split} data of {task} in {folder}: put {split}.jsonl, {split}.jsonl.gz or the official "
                    f"files there ({HOME[task]})")


def damaged(path: Path, why: str, task: str) -> DataError:
    return DataError(f"{path} is damaged: {why}; fetch it again ({HOME[task]})")


def _files(folder: Path, name: str) -> list[Path]:
    """The files, however deep in the folder, whose names the pattern fits."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and re.fullmatch(name, path.name))


def _lines(path: Path, task: str) -> list[str]:
    """The lines of a text file, packed or not."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig") as file:
            return file.read().removesuffix("\n").split("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:  # gzip's errors are OSError and EOFError
        raise damaged(path, str(error), task) from error


# Plain JSONL: {"sentences": [...]}, {"concepts": [...], "references": [...]}, {"doc": [[zh, en], ...]}

def _jsonl(task: str, split: str, folder: Path) -> list[Row]:
    files = [path for path in _files(folder, rf"{split}(\.raw)?\.jsonl(\.gz)?") if path.parent == folder]
    return [row for path in files[:1] for row in _json_rows(task, split, path)]


def _json_rows(task: str, split: str, path: Path) -> Iterator[Row]:
    for number, line in enumerate(_lines(path, task), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name = str(row.get("id") or row.get("talkid") or f"{split}-{number}")
            yield {"rocstories": _story, "commongen": _concepts, "ted15": _talk}[task](name, row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise damaged(path, f"line {number} is not a row of {task} ({error!r})", task) from error


def _story(name: str, row: dict) -> Row:
    return name, five(row["sentences"])


def _concepts(name: str, row: dict) -> Row:
    """CommonGen's own rows hold {"concept_set": "a#b#c", "scene": [...]}, plain ones lists."""
    concepts = row["concept_set"].split("#") if "concept_set" in row else row["concepts"]
    references = row["scene"] if "concept_set" in row else row["references"]
    if not concepts or not all(isinstance(text, str) and text.strip() for text in [*concepts, *references]):
        raise ValueError("an empty concept or reference")
    return name, tuple(concepts), tuple(references)


def _talk(name: str, row: dict) -> Row:
    return name, paired([zh for zh, _ in row["doc"]], [en for _, en in row["doc"]])


def five(sentences: Iterable[str | None]) -> tuple[str, ...]:
    """A story has five sentences, none of them empty."""
    story = tuple(" ".join((sentence or "").split()) for sentence in sentences)
    if len(story) != 5 or not all(story):
        raise ValueError(f"{sum(map(bool, story))} sentences instead of five")
    return story


def paired(chinese: list[str], english: list[str]) -> tuple[tuple[str, str], ...]:
    """Aligned sentences; a pair with an empty side is dropped, as HAN_NMT does."""
    if len(chinese) != len(english):
        raise ValueError(f"{len(chinese)} Chinese sentences but {len(english)} English ones")
    pairs = ((zh.strip(), en.strip()) for zh, en in zip(chinese, english, strict=True))
    return tuple((zh, en) for zh, en in pairs if zh and en)


# ROCStories and Story Cloze: CSV

def _roc(task: str, split: str, folder: Path) -> list[Row]:
    if split == "train":
        files = _files(folder, r".*ROCStories.*(winter2017|spring2016).*\.csv")
    else:  # such as "cloze_test_val__spring2016 - cloze_test_ALL_val.csv"
        files = _files(folder, rf".*cloze.*spring2016.*{'val' if split == 'dev' else 'ALL_test'}.*\.csv")[:1]
    return [row for path in files for row in csv_stories(path, _table(path, task), task)]


def _table(path: Path, task: str) -> list[dict]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise damaged(path, str(error), task) from error


def csv_stories(path: Path | str, table: Iterable[dict], task: str = "rocstories") -> Iterator[Row]:
    """Stories from rows of ROCStories (storyid, sentence1..5) or of Story Cloze, where one of two endings is right."""
    for number, row in enumerate(table, 2):
        try:
            if "InputStoryid" in row:
                ending = row[f"RandomFifthSentenceQuiz{int(row['AnswerRightEnding'])}"]
                yield row["InputStoryid"], five([*(row[f"InputSentence{k}"] for k in range(1, 5)), ending])
            else:
                yield row["storyid"], five(row[f"sentence{k}"] for k in range(1, 6))
        except (KeyError, ValueError, TypeError) as error:
            raise damaged(Path(path), f"row {number} is no story ({error!r})", task) from error


# CommonGen: commongen.train.jsonl and so on

def _commongen(task: str, split: str, folder: Path) -> list[Row]:
    files = _files(folder, rf"commongen\.{split}\.jsonl(\.gz)?")
    return [row for path in files[:1] for row in _json_rows(task, split, path)]


# IWSLT 2015: XML with talks, train with tags between the lines; or HAN_NMT's plain text with a .doc of first lines

def _iwslt(task: str, split: str, folder: Path) -> list[Row]:
    stems = ("corpus", r"train\.tags\.zh-en") if split == "train" else [
        rf"IWSLT\d\d\.TED\.{name}\.zh-en" for name in TALK_SETS[split]]
    rows = []
    for stem in stems:
        sides = [_files(folder, rf"{stem}\.{side}(\.xml)?") for side in ("zh", "en")]
        if all(sides):
            chinese, english = sides[0][-1], sides[1][-1]  # the .xml if there is plain text too
            rows += _talks(chinese, english, task)
            if split == "train":
                break
    return rows


def _talks(chinese: Path, english: Path, task: str) -> list[Row]:
    starts = chinese.with_name(chinese.name.removesuffix(".zh") + ".doc")
    texts = [_lines(path, task) for path in (chinese, english)]
    try:
        if starts.exists() and chinese.suffix == ".zh":
            pairs = paired(texts[0], texts[1])
            cuts = [int(line) for line in _lines(starts, task) if line.strip()] + [len(pairs)]
            talks = [pairs[a:b] for a, b in pairwise(cuts)]
            return [(f"{chinese.stem}-{number}", talk) for number, talk in enumerate(talks) if talk]
        return tagged_talks(*texts)
    except ValueError as error:
        raise damaged(english, f"it does not fit {chinese.name} ({error})", task) from error


def tagged_talks(chinese: Iterable[str], english: Iterable[str]) -> list[Row]:
    """Talks from the lines of IWSLT's tagged files, which are too careless to be read as XML."""
    sides = [_by_talk(lines) for lines in (chinese, english)]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(f"{len(sides[0])} Chinese talks but {len(sides[1])} English ones")
    return [(name, paired(zh, en)) for (name, zh), (_, en) in zip(*sides, strict=True)]


def _by_talk(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    """(talk id, sentences): a talk begins where tags follow sentences."""
    talks: list[tuple[str, list[str]]] = []
    name, among_tags = "", True
    for line in map(str.strip, lines):
        if found := re.match(r"<seg[^>]*>(.*)</seg>", line):
            sentence = found.group(1)
        elif line.startswith("<"):
            among_tags = among_tags or not re.match(r"</?(hl|p)\b", line)
            if found := re.match(r"<talkid>(.*)</talkid>", line):
                name = found.group(1).strip()
            continue
        elif line or not among_tags:  # an empty line among sentences is one: the other side may have words there
            sentence = line
        else:
            continue
        if among_tags:
            talks.append((name or str(len(talks)), []))
            among_tags = False
        talks[-1][1].append(html.unescape(sentence).strip())
    return talks


READERS = {"rocstories": _roc, "commongen": _commongen, "ted15": _iwslt}
