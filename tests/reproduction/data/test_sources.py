"""Reading folders: official formats, plain JSONL, and what is missing or damaged."""

import csv
import gzip
import json

import pytest

from reproduction.data.sources import DataError, read

FIVE = [f"This is sentence {n}." for n in range(1, 6)]


def write_csv(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def roc(folder, name="ROCStories_winter2017 - ROCStories_winter2017.csv", rows=2):
    header = ["storyid", "storytitle", *(f"sentence{k}" for k in range(1, 6))]
    write_csv(folder / name, header, [[f"{name[:12]}{n}", "A title", *FIVE] for n in range(rows)])


def cloze(folder, kind, rows):
    header = ["InputStoryid", *(f"InputSentence{k}" for k in range(1, 5)), "RandomFifthSentenceQuiz1",
              "RandomFifthSentenceQuiz2", "AnswerRightEnding"]
    name = {"val": "cloze_test_val__spring2016 - cloze_test_ALL_val.csv",
            "test": "cloze_test_test__spring2016 - cloze_test_ALL_test.csv"}[kind]
    write_csv(folder / name, header, [[f"{kind}{n}", *FIVE[:4], "One, end.", "Two ends.", right]
                                      for n, right in enumerate(rows)])


def test_rocstories_csv(tmp_path):
    roc(tmp_path)
    roc(tmp_path / "deeper", "ROCStories__spring2016 - ROCStories_spring2016.csv", 3)
    rows = read("rocstories", "train", tmp_path)
    assert len(rows) == 5 and rows[0][1] == tuple(FIVE)


def test_story_cloze_csv_with_the_right_ending(tmp_path):
    cloze(tmp_path, "val", [1, 2])
    cloze(tmp_path, "test", [2])
    assert [story[-1] for _, story in read("rocstories", "dev", tmp_path)] == ["One, end.", "Two ends."]
    assert read("rocstories", "test", tmp_path) == [("test0", (*FIVE[:4], "Two ends."))]


def test_commongen_jsonl_as_published(tmp_path):
    row = {"concept_set": "ski#mountain#skier", "scene": ["A skier skis.", "Skiers ski."], "reason": []}
    for split in ("train", "dev"):
        (tmp_path / f"commongen.{split}.jsonl").write_text(json.dumps(row) + "\n")
    assert read("commongen", "train", tmp_path) == [
        ("train-1", ("ski", "mountain", "skier"), ("A skier skis.", "Skiers ski."))]


TALK = """<doc docid="{n}" genre="lectures">
<url>http://talks/{n}</url>
<talkid>{n}</talkid>
<title>A title</title>
<seg id="1"> {first} </seg>
<seg id="2"> {two} </seg>
</doc>
"""


def iwslt(folder):
    sides = {"zh": ("甲 &amp; 乙", "丙"), "en": ("A &amp; B.", "C.")}
    for name in ("dev2010", "tst2010", "tst2011"):
        for side, (first, two) in sides.items():
            talks = "".join(TALK.format(n=n, first=first, two=two) for n in (1, 2))
            text = f'<?xml version="1.0"?>\n<mteval>\n<srcset>\n{talks}</srcset>\n</mteval>\n'
            (folder / f"IWSLT15.TED.{name}.zh-en.{side}.xml").write_text(text, encoding="utf-8")
    for side, (first, two) in sides.items():
        talk = "<url>u</url>\n<keywords>k</keywords>\n\n<talkid>{n}</talkid>\n{first}\n{gap}\n{two}\n{two}\n"
        gap = "Untranslated." if side == "en" else ""
        text = "".join(talk.format(n=n, first=first, two=two, gap=gap) for n in (7, 8, 9))
        (folder / f"train.tags.zh-en.{side}").write_text(text, encoding="utf-8")


def test_iwslt_xml_and_tags(tmp_path):
    iwslt(tmp_path)
    assert read("ted15", "dev", tmp_path) == [(n, (("甲 & 乙", "A & B."), ("丙", "C."))) for n in ("1", "2")]
    assert len(read("ted15", "test", tmp_path)) == 4
    train = read("ted15", "train", tmp_path)
    assert train == [(n, (("甲 & 乙", "A & B."), ("丙", "C."), ("丙", "C."))) for n in ("7", "8", "9")]


def test_han_nmt_boundaries(tmp_path):
    (tmp_path / "corpus.zh").write_text("一\n二\n三\n四\n", encoding="utf-8")
    (tmp_path / "corpus.en").write_text("1\n2\n3\n4\n")
    (tmp_path / "corpus.doc").write_text("0\n3\n")
    assert [len(pairs) for _, pairs in read("ted15", "train", tmp_path)] == [3, 1]


def test_iwslt_sides_that_do_not_fit(tmp_path):
    iwslt(tmp_path)
    path = tmp_path / "IWSLT15.TED.dev2010.zh-en.en.xml"
    path.write_text(path.read_text().replace('<seg id="2"> C. </seg>\n', "", 1))
    with pytest.raises(DataError, match="2 Chinese sentences but 1 English ones.*fetch it again"):
        read("ted15", "dev", tmp_path)


PLAIN = {"rocstories": {"sentences": FIVE, "id": "s"}, "commongen": {"concepts": ["a", "b"], "references": ["A b."]},
         "ted15": {"doc": [["一", "One."], ["", "Empty."], ["二", "Two."]], "talkid": 5}}
READ = {"rocstories": ("s", tuple(FIVE)), "commongen": ("dev-1", ("a", "b"), ("A b.",)),
        "ted15": ("5", (("一", "One."), ("二", "Two.")))}


@pytest.mark.parametrize("task", PLAIN)
@pytest.mark.parametrize("name", ["dev.jsonl", "dev.jsonl.gz", "dev.raw.jsonl.gz"])
def test_plain_jsonl(tmp_path, task, name):
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "wt", encoding="utf-8") as file:
        file.write(json.dumps(PLAIN[task]) + "\n\n")
    assert read(task, "dev", tmp_path) == [READ[task]]


def test_folder_with_a_folder_for_each_task(tmp_path):
    for task in PLAIN:
        (tmp_path / f"{task}_x").mkdir()
        (tmp_path / f"{task}_x" / "dev.jsonl").write_text(json.dumps(PLAIN[task]))
    assert [read(task, "dev", tmp_path) for task in PLAIN] == [[READ[task]] for task in PLAIN]


def test_missing_folder_and_missing_files_say_where_to_get_them(tmp_path):
    with pytest.raises(DataError, match="there is no folder .*nowhere.*cs.rochester.edu.*builtin"):
        read("rocstories", "train", tmp_path / "nowhere")
    for task, home in (("rocstories", "rochester"), ("commongen", "INK-USC"), ("ted15", "wit3")):
        with pytest.raises(DataError, match=f"no test data of {task} in .*{home}"):
            read(task, "test", tmp_path)


@pytest.mark.parametrize("line", ['{"sentences": ["One."]}', '{"sentences": ["a", "b", "c", "d", " "]}', "{", "[]"])
def test_damaged_line_is_named(tmp_path, line):
    (tmp_path / "train.jsonl").write_text(json.dumps(PLAIN["rocstories"]) + "\n" + line)
    with pytest.raises(DataError, match="train.jsonl is damaged: line 2 .*fetch it again"):
        read("rocstories", "train", tmp_path)


def test_cut_off_archive_is_damaged(tmp_path):
    whole = gzip.compress(b"\n".join(json.dumps(PLAIN["rocstories"] | {"n": n}).encode() for n in range(500)))
    (tmp_path / "train.jsonl.gz").write_bytes(whole[:-20])
    with pytest.raises(DataError, match="train.jsonl.gz is damaged"):
        read("rocstories", "train", tmp_path)


def test_cut_off_csv_is_damaged(tmp_path):
    roc(tmp_path)
    path = next(tmp_path.iterdir())
    path.write_text(path.read_text()[:-60])
    with pytest.raises(DataError, match="row 3 is no story"):
        read("rocstories", "train", tmp_path)
