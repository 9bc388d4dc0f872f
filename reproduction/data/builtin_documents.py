"""Talks in Chinese characters and in English made by us: the small model of TED15 zh-en.

The English is a translation in earnest: measure words go, articles, plurals and tenses come, place moves after
the verb, and a subject that Chinese leaves out is recovered from the sentence before. As in transcribed talks
Chinese often has no punctuation, and "但是" may join two clauses or open a sentence of its own: only the
separator says where a sentence ends, which is why a model without a tracker merges sentences or drops them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from reproduction.data.builtin import draw

SIZES = {"train": 4_000, "dev": 40, "test": 60}  # talks
LONGEST = 12  # sentences of a document, of which a talk gives two to four
TALKS = {(6, 12): 0.75, (13, 24): 0.2, (25, 40): 0.05}  # sentences of a talk: of two documents, or of three or four

SUBJECTS = {  # Chinese: English, pronoun, third person singular
    "我": ("I", "I", False), "我们": ("we", "we", False), "他": ("he", "he", True), "她": ("she", "she", True),
    "他们": ("they", "they", False), "老师": ("the teacher", "she", True), "医生": ("the doctor", "he", True),
    "孩子们": ("the children", "they", False), "我的朋友": ("my friend", "he", True)}
VERBS = {  # base, third person, past, participle, and what one does it to
    "买": ("buy", "buys", "bought", "buying", "书 地图 机器 树 苹果"),
    "写": ("write", "writes", "wrote", "writing", "书 歌 故事 信"),
    "读": ("read", "reads", "read", "reading", "书 地图 故事 信"),
    "画": ("draw", "draws", "drew", "drawing", "地图 桥 树 苹果"),
    "找": ("find", "finds", "found", "finding", "书 桥 机器 信"),
    "卖": ("sell", "sells", "sold", "selling", "书 机器 苹果 电影"),
    "研究": ("study", "studies", "studied", "studying", "地图 歌 桥 故事"),
    "修": ("repair", "repairs", "repaired", "repairing", "桥 机器 书"),
    "看": ("watch", "watches", "watched", "watching", "电影 桥 树"),
    "带来": ("bring", "brings", "brought", "bringing", "书 苹果 信 电影")}
THINGS = {  # measure word, singular, plural
    "书": ("本", "book", "books"), "地图": ("张", "map", "maps"), "歌": ("首", "song", "songs"),
    "桥": ("座", "bridge", "bridges"), "机器": ("台", "machine", "machines"), "故事": ("个", "story", "stories"),
    "树": ("棵", "tree", "trees"), "苹果": ("个", "apple", "apples"), "信": ("封", "letter", "letters"),
    "电影": ("部", "film", "films")}
NUMBERS = {"两": "two", "三": "three", "五": "five"}
ADJECTIVES = {"新": "new", "旧": "old", "大": "big", "小": "small", "好": "good"}
TIMES = {"昨天": ("yesterday", "past"), "去年": ("last year", "past"), "今天": ("today", "present"),
         "现在": ("now", "progressive"), "每天": ("every day", "present"), "明天": ("tomorrow", "future"),
         "明年": ("next year", "future")}
PLACES = {"学校": "at school", "家里": "at home", "海边": "by the sea", "公园里": "in the park", "城里": "in the city"}
LINKS = {"但是": "but", "然后": "then", "所以": "so"}


@dataclass(frozen=True)
class Clause:
    """A clause in both languages and its subject, which the next clause may leave out in Chinese."""

    zh: str
    en: str
    subject: str


def _thing(nouns: list[str], rng: random.Random) -> tuple[str, str, bool]:
    """A noun phrase in both languages, and whether it is plural."""
    noun = rng.choice(nouns)
    measure, single, many = THINGS[noun]
    zh_adjective = rng.choice(list(ADJECTIVES)) if rng.random() < 0.4 else ""
    adjective = ADJECTIVES[zh_adjective] + " " if zh_adjective else ""
    match rng.choice(["number", "one", "this", "that", "bare"]):
        case "number":
            number = rng.choice(list(NUMBERS))
            return f"{number}{measure}{zh_adjective}{noun}", f"{NUMBERS[number]} {adjective}{many}", True
        case "one":
            article = "an" if (adjective or single)[0] in "aeiou" else "a"
            return f"一{measure}{zh_adjective}{noun}", f"{article} {adjective}{single}", False
        case "this":
            return f"这{measure}{zh_adjective}{noun}", f"this {adjective}{single}", False
        case "that":
            return f"那{measure}{zh_adjective}{noun}", f"that {adjective}{single}", False
        case _:
            return f"{zh_adjective}{noun}", f"{adjective}{many}", True


def _verb(verb: str, tense: str, negated: bool, third: bool, subject: str) -> tuple[str, str]:
    """A verb in both languages; auxiliaries and endings say what Chinese says by 了, 没, 不, 会 and 正在."""
    base, present, past, participle, _ = VERBS[verb]
    be = {"I": "am"}.get(subject, "is" if third else "are")
    match tense, negated:
        case "past", False:
            return f"{verb}了", past
        case "past", True:
            return f"没{verb}", f"did not {base}"
        case "future", False:
            return f"会{verb}", f"will {base}"
        case "future", True:
            return f"不会{verb}", f"will not {base}"
        case "progressive", False:
            return f"正在{verb}", f"{be} {participle}"
        case "progressive", True:
            return f"没在{verb}", f"{be} not {participle}"
        case _, False:
            return verb, present if third else base
        case _:
            return f"不{verb}", f"{'does' if third else 'do'} not {base}"


def clause(before: str, rng: random.Random) -> Clause:
    """A clause; `before` is the subject of the clause before, "" if it has none."""
    if rng.random() < 0.15:
        zh, en, many = _thing(list(THINGS), rng)
        quality = rng.choice(list(ADJECTIVES))
        return Clause(f"{zh}很{quality}", f"{en} {'are' if many else 'is'} very {ADJECTIVES[quality]}", "")
    subject = before if before and rng.random() < 0.5 else rng.choice(list(SUBJECTS))
    en_subject, pronoun, third = SUBJECTS[subject]
    left_out = subject == before and rng.random() < 0.5  # whose deed it is stands in the clause before
    if left_out:
        en_subject = pronoun
    time, place, verb = rng.choice(["", *TIMES]), rng.choice(["", "", *PLACES]), rng.choice(list(VERBS))
    en_time, tense = TIMES.get(time, ("", "present"))
    zh_verb, en_verb = _verb(verb, tense, rng.random() < 0.2, third, en_subject)
    zh_thing, en_thing, _ = _thing(VERBS[verb][-1].split(), rng)
    ahead = left_out or rng.random() < 0.5
    zh_subject = "" if left_out else subject
    zh = [time, zh_subject] if ahead else [zh_subject, time]
    en = [en_time if ahead else "", en_subject, en_verb, en_thing, PLACES.get(place, ""), "" if ahead else en_time]
    return Clause("".join([*zh, f"在{place}" if place else "", zh_verb, zh_thing]),
                  " ".join(part for part in en if part), subject)


def talk(rng: random.Random) -> list[tuple[str, str]]:
    """One talk: aligned sentences, Chinese and English, no sentence twice."""
    length = rng.randint(*rng.choices(list(TALKS), list(TALKS.values()))[0])
    stop, comma = rng.choice([("。", "，"), ("", "")])  # half of the talks have no punctuation
    pairs: dict[str, str] = {}
    subject = ""
    while len(pairs) < length:
        first = clause(subject, rng)
        zh, en, last = first.zh, first.en, first.subject
        opening, joining = rng.sample(list(LINKS), 2)
        if pairs and rng.random() < 0.3:
            zh, en = opening + zh, f"{LINKS[opening]} {en}"
        if rng.random() < 0.25:
            other = clause(last, rng)
            zh, en, last = zh + comma + joining + other.zh, f"{en}, {LINKS[joining]} {other.en}", other.subject
        if zh + stop not in pairs:
            pairs[zh + stop] = en[0].upper() + en[1:] + "."
            subject = last
    return list(pairs.items())


def talks(split: str, size: int | None = None, seed: int = 0) -> list[list[tuple[str, str]]]:
    """The talks of a split; no talk is in two splits or twice in one."""
    rng = random.Random(f"documents {seed}")
    seen: set[tuple[tuple[str, str], ...]] = set()

    def new(_: str) -> list[tuple[str, str]] | None:
        drawn = talk(rng)
        if tuple(drawn) in seen:
            return None
        seen.add(tuple(drawn))
        return drawn

    return draw(split, SIZES, size, new)


def vocabulary() -> tuple[list[str], list[str]]:
    """Every Chinese character and every English word that a talk can hold, sorted."""
    zh = [*SUBJECTS, *VERBS, *THINGS, *NUMBERS, *ADJECTIVES, *TIMES, *PLACES, *LINKS, "一这那很在了没不会正。，"]
    en = [*NUMBERS.values(), *ADJECTIVES.values(), *PLACES.values(), *LINKS.values()]
    en += ["a", "an", "this", "that", "is", "are", "am", "very", "did", "will", "do", "does", "not"]
    en += [time for time, _ in TIMES.values()] + [word for verb in VERBS.values() for word in verb[:4]]
    for subject, pronoun, _ in SUBJECTS.values():
        en += [subject, pronoun]
    for measure, single, many in THINGS.values():
        zh.append(measure)
        en += [single, many]
    words = {word for text in en for word in text.split()}
    return sorted(set("".join(zh))), sorted(words | {word.capitalize() for word in words})
