"""What a predicate is: a small program that runs over the words written so far (section 2.2).

A predicate is read in two independent ways.  The tracker runs it word by word:

    memory = p.start(policy)                         before the first word
    memory = p.write(memory, run, sentence)          for each run of characters: `run.text`, with the spaces before it
    memory = p.read(memory, word, sentence, index)   for each of its words: number `index` (from 0) of the sentence
    memory = p.end(memory, sentence)                 when the sentence has ended
    status, value = p.state(memory, at)              0 not satisfied, 1 in progress, 2 satisfied; a value or None

and `nretm.check` asks `p.holds(text, tolerance)` of the finished text.  `at` says where the text is: see
`tracking.automaton.Reading`; a run is a `tracking.growing_text.Stretch`.  A memory is hashable, and never changed, only
replaced.  It should hold no more than can still change something: texts that leave the same memories share one state
(section 2.3), and states are kept.  For the same reason `p.horizon()` says from which sentence and word on their
numbers no longer matter.

A predicate may also help the search for a text that obeys (`tracking/witness.py`):

    words, texts, most = p.need(memory, at, wanted)  what it lacks until it holds (or, not wanted, until it does not)

`words` is a lower bound: too high a value forbids texts that would obey, too low a value only costs time.  `texts` are
suggestions, appended to the text as they are: " dog" writes a new word, "s" continues the last one.  Ordinary words,
stop words and sentence ends are tried anyway, and a word that is begun is finished by the search itself.

The predicates themselves stand in mentions.py, counts.py, positions.py, characters.py and sentences.py.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from typing import NamedTuple

from nretm.rules.arguments import Every, Phrase, kinds_of, problem_with, read_argument, written
from nretm.rules.formula import Not, Rule
from nretm.text.policy import Policy


class Need(NamedTuple):
    """What a literal still lacks, for the search of a continuation that obeys (`Predicate.need`).

    words  at least so many more words, punctuation included, until it can hold
    texts  texts that bring it nearer if they are written next, best first; a new word begins with a space
    most   no more than so many words may still come where it counts them, in sentence k or in all
    """

    words: int = 0
    texts: tuple[str, ...] = ()
    most: int | None = None


LOST = Need(99)  # as the text reads now it cannot hold; only if its open word turns into another one
REGISTRY: dict[str, type[Predicate]] = {}  # lower-case name -> class


class Predicate(Rule):
    """Base of all predicates; see the module's docstring and `nretm.predicate`."""

    name = ""  # as the input expression prints it
    k: int | Every | None = None  # the sentence that it speaks of, if it speaks of one or of every one
    in_source = False  # its variables are the source tokens of sentence k
    local = False  # it reads the words of sentence k alone, if it speaks of one

    def start(self, policy: Policy):
        return None

    def write(self, memory, run, sentence: int):
        return memory

    def read(self, memory, word: str, sentence: int, index: int):
        return memory

    def end(self, memory, sentence: int):
        return memory

    def state(self, memory, at) -> tuple[int, int | None]:
        raise NotImplementedError

    def horizon(self) -> tuple[int, int] | None:
        """(sentence, index) from which on `read`, `end` and `at` may stop counting; None: never.

        A predicate with a horizon keeps its own counts: `at` has no lengths for it.
        """
        return None

    def broken(self, memory, at) -> bool:
        """Whether no further word can make it hold; asked only while its status is not 2."""
        return at.finished

    def lost(self, memory, at) -> bool:
        """Whether it is broken by the open word already, though that may still grow: characters stay as they are."""
        return False

    def begun(self, at) -> bool:
        """Whether its negation is in progress rather than still to come."""
        return at.sentence >= (self.k if isinstance(self.k, int) else 1)

    def need(self, memory, at, wanted: bool = True) -> Need:
        """What is needed for it to hold or, if it is not `wanted`, for it not to hold: see the module's docstring."""
        if not wanted or self.state(memory, at)[0] == 2:
            return Need()
        return Need(0, tuple(f" {argument}" for argument in self.arguments if isinstance(argument, str)))

    def holds(self, text, tolerance: int = 0) -> bool:
        raise NotImplementedError

    def found(self, text) -> str:
        """What a finished text has in its place, in a few words: it follows the predicate where that is broken."""
        return ""

    def least_words(self) -> int:
        """How many words its sentence (or the whole output, if it speaks of none) has at least where it holds."""
        return 0

    def excludes(self, other: Predicate) -> str | None:
        """Why this predicate and another one cannot both hold, if that is plain to see."""
        return None

    def excludes_together(self, others: list[Predicate]) -> str | None:
        """Why it cannot hold if all of the others do, of which no two exclude each other."""
        return None

    @classmethod
    def signatures(cls) -> tuple[tuple[str, ...], ...]:
        """The arguments that it takes, by field name; more than one tuple if some may be left out."""
        return (tuple(f.name for f in fields(cls) if kinds_of(f.type)),)

    @property
    def arguments(self) -> tuple:
        return tuple(value for f in fields(self) if kinds_of(f.type) and (value := getattr(self, f.name)) is not None)

    def __post_init__(self) -> None:
        for f in fields(self):
            kinds, value = kinds_of(f.type), getattr(self, f.name)
            if not kinds or (value is None and f.default is None):
                continue
            phrase = issubclass(kinds[0], Phrase)
            if isinstance(value, str) and not phrase and (read := read_argument(kinds, value)) is not None:
                value = read  # "10..20" and "every" may be given as text
            if problem := problem_with(kinds, value):
                raise ValueError(f"{self.name}: {f.name} {problem}")
            object.__setattr__(self, f.name, kinds[0].tidy(value) if phrase else value)

    def fragments(self, positive=True):
        yield f"{self.name}(", None
        for i, argument in enumerate(self.arguments):
            if i:
                yield ", ", None
            literal = self if positive else Not(self)
            yield written(argument), literal if isinstance(argument, str) else None
        yield ")", None


def predicate(cls: type) -> type[Predicate]:
    """Register a class as a predicate; its annotated fields (Phrase, Sentence, Number …) are its arguments.

    From then on it can be written in rules, has flags, is checked and drawn like those of the paper.
    """
    if not (inspect.isclass(cls) and issubclass(cls, Predicate)):
        raise TypeError("@nretm.predicate is for a class derived from nretm.Predicate")
    for key, kind in cls.__dict__.get("__annotations__", {}).items():  # annotations may be classes or strings
        spelled = kind.__name__ if inspect.isclass(kind) else str(kind)
        cls.__annotations__[key] = " | ".join(part.strip().rpartition(".")[2] for part in spelled.split("|"))
    for method in ("state", "holds"):
        if getattr(cls, method) is getattr(Predicate, method):
            raise TypeError(f"{cls.__name__} has no {method}(): a predicate needs state(memory, at) for the tracker "
                            "and holds(text, tolerance) for nretm.check")
    cls = dataclass(frozen=True, repr=False, init=cls.__init__ is object.__init__)(cls)
    cls.name = cls.__dict__.get("name") or cls.__name__
    for spelling in {cls.name.lower(), cls.__name__.lower()}:
        known = REGISTRY.get(spelling)
        if spelling in ("and", "or", "not") or (known and known.__module__.startswith("nretm.rules.")):
            raise ValueError(f"{cls.__name__} is taken: choose another name for the predicate")
        REGISTRY[spelling] = cls
    return cls


class Local(Predicate):
    """A predicate that looks no further than its own sentence, if it speaks of one, and counts for itself."""

    local = True

    def horizon(self):
        return (self.k if isinstance(self.k, int) else 0) + 1, 0

    def passed(self, at) -> bool:
        """Whether its sentence has ended, or the whole text."""
        return at.finished or (isinstance(self.k, int) and at.sentence > self.k)


class Placed(Local):
    """A predicate whose first argument, the place that it speaks of, may be left out: then it is the whole output."""

    def __init__(self, *arguments):
        names = next((names for names in self.signatures() if len(names) == len(arguments)), None)
        if names is None:
            raise TypeError(f"{self.name} takes {' or '.join(map(', '.join, self.signatures()))}")
        for name in self.signatures()[0]:
            object.__setattr__(self, name, None)
        for name, argument in zip(names, arguments, strict=True):
            object.__setattr__(self, name, argument)
        self.__post_init__()

    @classmethod
    def signatures(cls):
        names, = super().signatures()
        return names, names[1:]


def sentences_before(k: int, at) -> int:
    """How many sentences have to end before sentence k begins."""
    return max(k - max(at.sentence, 1), 0)


def number(count: int | None, what: str) -> str:
    return "no such sentence" if count is None else f"{count} {what}{'s' * (count != 1)}"
