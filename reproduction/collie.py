"""COLLIE-v1 (Yao et al., ICLR 2024): its thirteen constraint structures as rules, and its own judgment of a text.

An instance is {"id", "kind" (c01 to c14), "targets", "prompt"}.  `rule_of` is what COLLIE checks, no more and no less;
`asked_of` adds what its prompt asks for without checking it: one word, one sentence, prose.  The default needs nobody's
data: `builtin_instances` makes instances of all thirteen structures from the built-in stories.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

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
from reproduction.collie_prose import AtOnce, Letters, NoMore, Prose, Unwritten, plain
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
GPT_4 = 50.9  # percent satisfied of all instances, one trial (COLLIE's paper)
POSITIONS = (4, 8, 11)  # of the characters of c02 and the words of c05
LONGEST_WORD = 12  # characters, where beams search: else they fill the room with long non-words
WRITING = Policy(words="collie")  # while the text grows
JUDGING = Policy(words="collie", sentences="punkt")  # as COLLIE itself cuts a finished text


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
    for number, line in enumerate(lines.split(b"\n"), 1):
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
        more = {"c05": lambda: [NoMore(instance.targets[0]), *_at(AtOnce, instance.targets[1]),
                                WordChars(Range(0, max([LONGEST_WORD, *(len(w) for w in instance.targets[1] if w)])))],
                "c07": lambda: [Len(Range(10, 20))]}.get(kind, list)()
        return _joined([rule, Sentences(1), prose, *more])
    if kind == "c14":
        return _joined([rule, prose, *(Sentences(p, Range(0, least + 1))
                                       for p, least in enumerate(_least(instance.targets), 1))])
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
    endings, _ = targets
    rules = [Paragraphs(len(endings)), *(LastSentence(p, ending) for p, ending in enumerate(endings, 1))]
    return rules + [Sentences(p, Range(count)) for p, count in enumerate(_least(targets), 1)]


def _least(targets: list) -> list[int]:
    """How many sentences each paragraph has at least, as we cut them: of an ending that we cut in several, none counts
    as another sentence before it."""
    endings, least = targets
    return [least - 1 + max(len(WRITING.sentences_of(ending)), 1) for ending in endings]


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
        return [run for run in targets.split() if whole or not plain(run)]
    return [run for target in targets for run in _runs(target, whole)] if isinstance(targets, list) else []


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
