"""COLLIE-v1 (Yao et al., ICLR 2024): its thirteen constraint structures as rules, and its own judgment of a text.

An instance is {"id", "kind" (c01 to c14), "targets", "prompt"}.  `rule_of` is what COLLIE checks, no more and no less;
`asked_of` adds what its prompt asks for without checking it: one word, one sentence, prose.  The default needs nobody's
data: `builtin_instances` makes instances of all thirteen structures from the built-in stories.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import nretm
from nretm import (
    CharAt,
    Chars,
    Copy,
    LastSentence,
    Len,
    Not,
    Paragraphs,
    Policy,
    Range,
    Rule,
    Sentences,
    WordAt,
    WordChars,
    every,
)
from nretm.rules import And
from reproduction.data.builtin_stories import stories

STRUCTURES = {  # kind -> the paper's name
    "c01": "word01", "c02": "word02", "c03": "word03", "c04": "sent01", "c05": "sent02", "c06a": "sent03",
    "c07": "sent04", "c08": "para01", "c09": "para02", "c10": "para03", "c11": "para04", "c12": "para05",
    "c14": "pass01"}
# Percent satisfied in the zero-shot setting, all 2,080 instances: the peer's repository, scripts/analysis.ipynb.
PUBLISHED = {
    "GPT-4": (97.2, 0.9, 62.1, 9.5, 0.4, 48.5, 95.1, 96.7, 93.3, 38.5, 49.6, 49.9, 41.6),
    "GPT-3.5": (90.3, 0.1, 0.0, 0.8, 0.0, 18.1, 89.0, 87.1, 58.4, 12.4, 4.6, 0.0, 1.0),
    "PaLM-2": (98.5, 0.3, 5.0, 0.5, 0.0, 15.1, 72.3, 61.2, 42.0, 0.0, 1.6, 0.0, 0.0),
    "Vicuna-7B": (24.0, 0.0, 0.0, 0.0, 0.0, 1.9, 67.8, 72.2, 29.9, 7.0, 10.9, 0.0, 0.0),
    "Alpaca-7B": (80.0, 0.0, 0.0, 0.0, 0.0, 2.8, 57.7, 36.1, 25.9, 4.2, 10.9, 0.0, 0.0)}
POSITIONS = (4, 8, 11)  # of the characters of c02 and the words of c05
AROUND = ",;:\"'“”‘’()"
LOST = nretm.Need(99)  # as the text reads now
WRITING = Policy(words="collie")  # while the text grows
JUDGING = Policy(words="collie", sentences="punkt")  # as COLLIE itself cuts a finished text
# Words after which a period need not end a sentence: with them our sentences and punkt's could differ.
SHORTENED = frozenset("""
    adm al ala apr ariz assn assoc aug ave bldg blvd bros calif capt chg cie cmdr co col colo conn corp cos ct dec
    del dept dist dr esq est etc ext feb fig fla fri ft ga gen gov hon hr ill inc ind jan jr jul jun kan kg km ky
    la lb lt ltd maj mar mass md messrs mfg mich minn miss mo mon mont mr mrs ms mt mg nev no nov oct ok okla op
    ore oz pa penn ph prof prop pt rd ref rep reps rev rs sat sec sen sep sept sgt sr st ste sun supt sw tel tenn
    tex thu tue tues va vol vs vt wed wis wash yr""".split())


@dataclass(frozen=True)
class Instance:
    """One task of the benchmark."""

    id: str
    kind: str
    targets: object
    prompt: str


def read_instances(path: str | Path, strict: bool = True) -> list[Instance]:
    """Instances from JSON lines, gzipped or not; a line that is no instance is refused with its number.

    Unless it is `strict`, such a line is reported and passed over, as is one whose id has come before.
    """
    lines = gzip.decompress(data) if (data := Path(path).read_bytes())[:2] == b"\x1f\x8b" else data
    instances = {}
    for number, line in enumerate(lines.decode().split("\n"), 1):
        if not line.strip():
            continue
        try:
            instance = _instance(json.loads(line))
            if instance.id in instances:
                raise ValueError(f"{instance.id} has come before")
            instances[instance.id] = instance
        except (ValueError, KeyError, TypeError) as error:
            said = f"{path}, line {number} is not an instance with id, kind, targets and prompt: {error!r}"
            if strict:
                raise ValueError(said) from None
            print(said, file=sys.stderr)
    return list(instances.values())


def _instance(row: dict) -> Instance:
    if row["kind"] not in STRUCTURES:
        raise ValueError(f"there is no structure {row['kind']!r}")
    return Instance(*(row[name] for name in ("id", "kind", "targets", "prompt")))


def write_instances(instances: list[Instance], path: str | Path) -> None:
    Path(path).write_text("".join(json.dumps(asdict(instance)) + "\n" for instance in instances))


def rule_of(instance: Instance) -> Rule:
    """What COLLIE checks of a text."""
    return _joined(_RULES[instance.kind](instance.targets))


def asked_of(instance: Instance) -> Rule:
    """What the prompt asks for: the rule, and that the text is one word, one sentence, one paragraph of prose.

    Where the rule says nothing about it, sentences have an ordinary length, so that a model comes to an end of them.
    """
    kind, rule = instance.kind, rule_of(instance)
    if kind in ("c01", "c02", "c03"):
        return _joined([rule, Letters()] + [Chars(Range(1, 20))] * (kind == "c01"))
    prose = Prose(" ".join(_runs(instance.targets, whole=kind == "c14")) or "Yes")
    if kind in ("c04", "c05", "c06a", "c07"):
        more = {"c05": lambda: [NoMore(instance.targets[0]), *_at(AtOnce, instance.targets[1])],
                "c07": lambda: [Len(Range(10, 20))]}.get(kind, list)()
        return _joined([rule, Sentences(1), prose, *more])
    if kind == "c14":
        return _joined([rule, prose])
    more = {"c08": [Sentences(Range(2, 5)), Len(every, Range(0, 25))], "c09": [Len(every, Range(0, 25))],
            "c12": [Len(every, Range(0, 25))]}.get(kind, [])
    if kind == "c09":
        more += [Unwritten(word) for word in instance.targets[1:]]
    return _joined([rule, prose, Paragraphs(1), *more])


def _joined(parts: list[Rule]) -> Rule:
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


def _at(predicate, targets: list) -> list[Rule]:
    """What stands at the three positions; a position after the end is empty by the count alone."""
    return [predicate(i, target) for i, target in zip(POSITIONS, targets, strict=True) if target is not None]


def _passage(targets: list) -> list[Rule]:
    endings, least = targets
    rules = [Paragraphs(len(endings)), *(LastSentence(p, ending) for p, ending in enumerate(endings, 1))]
    # Our sentences may cut an ending in several: none of them counts as another sentence before it.
    return rules + [Sentences(p, Range(least - 1 + max(len(WRITING.sentences_of(ending)), 1)))
                    for p, ending in enumerate(endings, 1)]


_RULES = {
    "c01": lambda t: [Chars(Range(t[0] if isinstance(t, list) else t))],
    "c02": lambda t: [Chars(t[0]), *_at(CharAt, t[1])],
    "c03": lambda t: [Chars(t[0]), CharAt(-1, t[1])],
    "c04": lambda t: [Chars(t[0] if isinstance(t, list) else t)],
    "c05": lambda t: [Len(t[0]), *_at(WordAt, t[1])],
    "c06a": lambda t: [Len(Range(t[0])), WordChars(Range(0, t[1]))],
    "c07": lambda t: [Copy(word) for word in t],
    "c08": lambda t: [WordAt(every, 1, t if isinstance(t, str) else t[0])],
    "c09": lambda t: [Sentences(t[0]), *(Not(Copy(word)) for word in t[1:])],
    "c10": lambda t: [Sentences(t[0]), Len(every, Range(t[1], t[2]) if t[1] != t[2] else t[1])],
    "c11": lambda t: [Sentences(Range(t[0])), Len(every, Range(t[1]))],
    "c12": lambda t: [Sentences(t[0]), *(WordAt(k, -1, word) for k, word in enumerate(t[1], 1))],
    "c14": _passage,
}


def _runs(targets: object, whole: bool) -> list[str]:
    """The words of the targets that plain prose would not have, or all of them."""
    if isinstance(targets, str):
        return [run for run in targets.split() if whole or not _plain(run)]
    return [run for target in targets for run in _runs(target, whole)] if isinstance(targets, list) else []


class Written(NamedTuple):
    """Whether all is well so far, whether a sentence has just ended, and what may stand there all the same."""

    good: bool = True
    ended: bool = True
    allowed: frozenset[str] = frozenset()


@nretm.predicate
class Prose(nretm.Predicate):
    """Prose(w): sentences begin with a capital and end with a letter or figure and `.`, `!` or `?`, which stand nowhere
    else but in the words of w.  There all agree where sentences end.  1 while it is so, 2 at the end."""

    w: nretm.Phrase

    def start(self, policy):
        return Written(allowed=frozenset(run.strip(AROUND) for run in self.w.split()))

    def horizon(self):
        return 1, 0

    def write(self, written, run, sentence):
        good, ended, allowed = written
        text = run.text.lstrip()
        gap = run.text[:len(run.text) - len(text)]
        good = good and (gap in ("", " ", "\n\n") or (gap == "  " and _begins(text.strip(AROUND), allowed)))
        for word in text.split():
            bare = word.strip(AROUND)
            known = _begins(bare, allowed)
            good = good and (known or ((not ended or _capital(word)) and _plain(word, allowed)))
            ended = word[-1] in ".!?" and (not known or _plain(bare))
        return Written(good, ended, allowed)

    def state(self, written, at):
        if not written.good or not at.sentence:
            return 0, None
        return (2 if written.ended else 0) if at.finished else 1, None

    def broken(self, written, at):
        return not written.good

    lost = broken

    def need(self, written, at, wanted=True):
        if not written.good:
            return LOST
        return nretm.Need(0, (" The", " It", " He") if written.ended else (".",))

    def holds(self, text, tolerance=0):
        written = self.start(text.policy)
        for run in re.findall(r"\s*\S+", text.text.strip()):
            written = self.write(written, _Run(run), 0)
        return written.good and written.ended


class _Run(NamedTuple):
    text: str


def _begins(word: str, allowed: frozenset[str]) -> bool:
    return bool(word) and any(run.startswith(word) for run in allowed)


def _capital(word: str) -> bool:
    return word.lstrip("\"'“‘(")[:1].isupper() or word[:1] == "\ufffd"


def _plain(word: str, allowed: frozenset[str] = frozenset()) -> bool:
    """Whether a run of characters can end a sentence in one way only, if it ends one."""
    body = word.rstrip(".!?")
    if body.strip(AROUND) in allowed:
        return len(word) - len(body) == 1
    if any(mark in body for mark in ".!?…*#_|:()[]<>/=+~") or body.count("-") > 1 or len(word) - len(body) > 1:
        return False
    if not re.search(r"\w|—|–|&|\ufffd", body):  # a sign by itself
        return False
    if body == word:
        return True
    last = re.split(r"\W", body)[-1]
    return last.isdigit() or (len(last) > 1 and last.isalpha() and last.lower() not in SHORTENED)


@nretm.predicate
class Letters(nretm.Predicate):
    """Letters(): the output is one word of small letters.  1 while it is, 2 at the end."""

    def start(self, policy):
        return 0  # words so far; 2 if something else has been written

    def horizon(self):
        return 1, 0

    def write(self, words, run, sentence):
        return words + 1 if not words and re.fullmatch(r"\s*[a-z]+", run.text) else 2

    def state(self, words, at):
        return (2 if at.finished else 1) if words == 1 else 0, None

    def broken(self, words, at):
        return words > 1

    lost = broken

    def need(self, words, at, wanted=True):
        return LOST if words > 1 else nretm.Need(0, ("e",))

    def holds(self, text, tolerance=0):
        return bool(re.fullmatch(r"[a-z]+", text.text.strip()))


class Strict(nretm.Predicate):
    """A predicate that holds of a word that is still open too, though that might turn into another one.

    Where "Emily's" would be a word too many, the rule itself lets it stand as long as it may become "Emily'sidebody".
    Subclasses keep a tuple whose last item says whether all is well.  1 while it is so, 2 at the end.
    """

    def horizon(self):
        return 1, 0

    def state(self, memory, at):
        return (2 if at.finished else 1) if memory[-1] else 0, None

    def broken(self, memory, at):
        return not memory[-1]

    lost = broken

    def need(self, memory, at, wanted=True):
        return nretm.Need() if memory[-1] else LOST


@nretm.predicate
class NoMore(Strict):
    """NoMore(n): the output has at most n words, an open one included."""

    n: nretm.Number

    def start(self, policy):
        return 0, True

    def read(self, memory, word, sentence, index):
        return min(memory[0] + 1, self.n + 1), memory[0] < self.n

    def holds(self, text, tolerance=0):
        return text.length(None) <= self.n


@nretm.predicate
class AtOnce(Strict):
    """AtOnce(i, w): word i of the output is w, and while it is written a beginning of w."""

    i: nretm.Position
    w: nretm.Phrase

    def start(self, policy):
        return frozenset("".join(way) for way in policy.phrase(self.w)), 0, True

    def read(self, memory, word, sentence, index):
        ways, count, good = memory
        good = good and (count != self.i - 1 or any(way.startswith(word) for way in ways))
        return ways, min(count + 1, self.i), good

    def holds(self, text, tolerance=0):
        return WordAt(self.i, self.w).holds(text)


@nretm.predicate
class Unwritten(Strict):
    """Unwritten(w): w is no word of the output and, while that grows, not even what a longer word begins with: no
    "andsustainable" where "and" must not be said."""

    w: nretm.Phrase

    def start(self, policy):
        return policy.phrase(self.w), True

    def read(self, memory, word, sentence, index):
        ways, good = memory
        return ways, good and (word,) not in ways

    def holds(self, text, tolerance=0):
        return not text.mentions(self.w)


def prompt_of(instance: Instance) -> str:
    """A prompt for a model whose rule is enforced: it asks for a text and leaves the rule to the enforcer.

    Sentences to come to are named.  Words are not: a small model that reads them writes lists and talks about them.
    """
    kind, targets = instance.kind, instance.targets
    if kind == "c14":
        return f"Write a passage with the sentences {', '.join(repr(ending) for ending in targets[0])}."
    return {"w": "Write a long English word in lowercase letters.", "s": "Write a sentence.",
            "p": "Write a short paragraph."}[STRUCTURES[kind][0]]


def peers_verdict(instance: Instance, text: str) -> bool:
    """Whether COLLIE's own code passes the text: `pip install collie-bench` and NLTK's punkt_tab data are needed."""
    from collie.constraints import (
        All,
        Constraint,
        Count,
        ForEach,
        InputLevel,
        Position,
        Reduction,
        Relation,
        TargetLevel,
    )

    def each(unit, part, transformation, relation):
        return Constraint(InputLevel(unit), TargetLevel(part), ForEach(transformation), Relation(relation),
                          Reduction("all"))

    def whole(unit, transformation, relation):
        return Constraint(None, TargetLevel(unit), transformation, Relation(relation))

    zero_based = [position - 1 for position in POSITIONS]
    constraints = {
        "c01": [whole("character", Count(), ">=")],
        "c02": [whole("character", Count(), "=="), whole("character", Position(zero_based), "==")],
        "c03": [whole("character", Count(), "=="), whole("character", Position(-1), "==")],
        "c04": [whole("character", Count(), "==")],
        "c05": [whole("word", Count(), "=="), whole("word", Position(zero_based), "==")],
        "c06a": [whole("word", Count(), ">="), each("word", "character", Count(), "<=")],
        "c07": [whole("word", ForEach(...), "in")],
        "c08": [each("sentence", "word", Position(0), "==")],
        "c09": [whole("sentence", Count(), "=="), *[whole("word", ForEach(...), "not in")] * 3],
        "c10": [whole("sentence", Count(), "=="), each("sentence", "word", Count(), ">="),
                each("sentence", "word", Count(), "<=")],
        "c11": [whole("sentence", Count(), ">="), each("sentence", "word", Count(), ">=")],
        "c12": [whole("sentence", Count(), "=="), each("sentence", "word", Position(-1), "==")],
        "c14": [each("paragraph", "sentence", Position(-1), "=="), each("paragraph", "sentence", Count(), ">=")],
    }[instance.kind]
    if len(constraints) == 1:
        return bool(constraints[0].check(text, instance.targets))
    return bool(All(*constraints).check(text, instance.targets))


def builtin_instances(per_structure: int = 10, seed: int = 0) -> list[Instance]:
    """Instances of the thirteen structures whose targets come from built-in stories, so that each can be met."""
    rng, drawn = random.Random(seed), stories("test", 40 * per_structure, seed)
    instances = []
    for kind in STRUCTURES:
        made = 0
        for story in rng.sample(drawn, len(drawn)):
            targets = _drawn_targets(kind, story, rng)
            if targets is not None and made < per_structure:
                instances.append(Instance(f"builtin_{kind}-{made}", kind, targets, _prompt(kind, targets)))
                made += 1
    return instances


def _drawn_targets(kind: str, story: list[str], rng: random.Random) -> object | None:
    """Targets that the story, one of its sentences or of its words meets; None if it meets none of this kind."""
    sentence, count = rng.choice(story), rng.randint(3, 5)
    words, counts = WRITING.words_of(sentence), [len(WRITING.words_of(s)) for s in story[:count]]
    longest = max((word for s in story for word in WRITING.words_of(s)), key=len).lower()
    absent = sorted({"the", "of", "and", "be", "in", "is", "there", "to", "this"}
                    - {WRITING.key(word) for s in story for word in WRITING.words_of(s)})
    match kind:
        case "c01":
            return [len(longest)]
        case "c02":
            return [len(longest) + 6, [longest[0], longest[-1], longest[1]]]
        case "c03":
            return [len(longest), longest[-1]]
        case "c04":
            return len(sentence)
        case "c05":
            at = [words[i - 1] if i <= len(words) else None for i in POSITIONS]
            return [len(words), at] if at[1] else None
        case "c06a":
            return [len(words), max(map(len, words))]
        case "c07":
            return rng.sample(words, 3)
        case "c08":
            return words[0]
        case "c09":
            return [count, *rng.sample(absent, 3)] if len(absent) > 2 else None
        case "c10":
            return [count, min(counts), max(counts)]
        case "c11":
            return [count, min(counts)]
        case "c12":
            return [count, [WRITING.words_of(s)[-1] for s in story[:count]]]
        case "c14":
            return [[s.strip(".!?") for s in rng.sample(story, 2)], 2]
    raise ValueError(f"unknown structure {kind!r}")


def _prompt(kind: str, targets: object) -> str:
    """The task in words, for a model that reads prompts."""
    listed = targets if isinstance(targets, list) else [targets]
    flat = [str(x) for target in listed for x in (target if isinstance(target, list) else [target]) if x is not None]
    return f"Write a {STRUCTURES[kind][:4].replace('sent', 'sentence').replace('para', 'paragraph')} " \
           f"that obeys {_joined(_RULES[kind](targets))}. ({', '.join(flat)})"
