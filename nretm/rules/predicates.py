"""The six predicates of the paper, each a small program that runs over the words written so far (section 2.2).

A predicate is read in two independent ways.  The tracker runs it word by word:

    memory = p.start(policy)                         before the first word
    memory = p.read(memory, word, sentence, index)   for each word: number `index` (from 0) of sentence `sentence`
    memory = p.end(memory, sentence)                 when the sentence has ended
    status, value = p.state(memory, at)              0 not satisfied, 1 in progress, 2 satisfied; a value or None

and `nretm.check` asks `p.holds(text, tolerance)` of the finished text.  `at` says where the text is: see
`tracking.automaton.Reading`.  A memory is hashable, and never changed, only replaced.  It should hold no more than can
still change something: texts that leave the same memories share one state (section 2.3), and states are kept.  For the
same reason `p.horizon()` says from which sentence and word on their numbers no longer matter.

A predicate may also help the search for a text that obeys (`tracking/witness.py`):

    words, texts = p.need(memory, at, wanted)        what it lacks until it holds (or, not wanted, until it does not)

`words` is a lower bound: too high a value forbids texts that would obey, too low a value only costs time.  `texts` are
suggestions, appended to the text as they are: " dog" writes a new word, "s" goes on with the last one.  Ordinary words,
stop words and sentence ends are tried anyway, and a word that is begun is finished by the search itself.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from nretm.rules.arguments import KINDS, Count, Phrase, Sentence, tidy, written
from nretm.rules.formula import Not, Rule
from nretm.text.policy import WORD_POLICIES, Policy

MOST_OVER = 9  # the value of Len and StopWordCount counts down to zero and, where a sentence runs over, to -MOST_OVER


class Need(NamedTuple):
    """What a literal still lacks, for the search of a continuation that obeys (`Predicate.need`).

    words  at least so many more words, punctuation included, until it can hold
    texts  texts that bring it nearer if they are written next, best first; a new word begins with a space
    """

    words: int = 0
    texts: tuple[str, ...] = ()


REGISTRY: dict[str, type[Predicate]] = {}  # lower-case name -> class


class Predicate(Rule):
    """Base of all predicates; see the module's docstring and `nretm.predicate`."""

    name = ""  # as the input expression prints it
    k: int | None = None  # the sentence that it speaks of, if it speaks of one
    in_source = False  # its variables are the source tokens of sentence k
    local = False  # it reads the words of sentence k alone, if it speaks of one

    def start(self, policy: Policy):
        return None

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

    def begun(self, at) -> bool:
        """Whether its negation is in progress rather than still to come."""
        return at.sentence >= (self.k or 1)

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
        return (tuple(f.name for f in fields(cls) if f.type in KINDS),)

    @property
    def arguments(self) -> tuple[str | int, ...]:
        return tuple(value for f in fields(self) if f.type in KINDS and (value := getattr(self, f.name)) is not None)

    def __post_init__(self) -> None:
        for f in fields(self):
            kind, value = KINDS.get(f.type), getattr(self, f.name)
            if kind is None or (value is None and f.default is None):
                continue
            if problem := kind.problem(value):
                raise ValueError(f"{self.name}: {f.name} {problem}")
            if kind is Phrase:
                object.__setattr__(self, f.name, Phrase(tidy(value)))

    def fragments(self, positive=True):
        yield f"{self.name}(", None
        for i, argument in enumerate(self.arguments):
            if i:
                yield ", ", None
            literal = self if positive else Not(self)
            yield written(argument), literal if isinstance(argument, str) else None
        yield ")", None


def predicate(cls: type) -> type[Predicate]:
    """Register a class as a predicate; its annotated fields (Phrase, Sentence, Count) are its arguments.

    From then on it can be written in rules, has flags, is checked and drawn like the six of the paper.
    """
    if not (inspect.isclass(cls) and issubclass(cls, Predicate)):
        raise TypeError("@nretm.predicate goes on a class derived from nretm.Predicate")
    for key, kind in cls.__dict__.get("__annotations__", {}).items():  # annotations may be classes or strings
        spelled = kind if isinstance(kind, str) else kind.__name__
        cls.__annotations__[key] = spelled.rpartition(".")[2]
    for method in ("state", "holds"):
        if getattr(cls, method) is getattr(Predicate, method):
            raise TypeError(f"{cls.__name__} has no {method}(): a predicate needs state(memory, at) for the tracker "
                            "and holds(text, tolerance) for nretm.check")
    cls = dataclass(frozen=True, repr=False, init=cls.__init__ is object.__init__)(cls)
    cls.name = cls.__dict__.get("name") or cls.__name__
    for spelling in {cls.name.lower(), cls.__name__.lower()}:
        known = REGISTRY.get(spelling)
        if spelling in ("and", "or", "not") or (known and known.__module__ == __name__):
            raise ValueError(f"{cls.__name__} is taken: choose another name for the predicate")
        REGISTRY[spelling] = cls
    return cls


class Mention(NamedTuple):
    """Whether a phrase has been mentioned: whole words, contiguous, within one sentence.

    All that matters of the words before is how far into the phrase they have come, as in Knuth, Morris and Pratt's
    (for several phrases Aho and Corasick's) search: the longest end of the text that begins one.
    """

    ways: frozenset[tuple[str, ...]]
    beginnings: frozenset[tuple[str, ...]]  # of more than no words
    begun: tuple[str, ...] = ()
    found: bool = False

    @classmethod
    def of(cls, phrases: tuple[str, ...], policy: Policy) -> Mention:
        ways = frozenset().union(*map(policy.phrase, phrases))
        return cls(ways, frozenset(way[:n] for way in ways for n in range(1, len(way) + 1)))

    def read(self, word: str) -> Mention:
        if self.found:
            return self
        begun = (*self.begun, word)
        while begun and begun not in self.beginnings:
            begun = begun[1:]
        if any(begun[i:] in self.ways for i in range(len(begun))):
            return Mention(self.ways, self.beginnings, (), True)
        return self if begun == self.begun else Mention(self.ways, self.beginnings, begun)

    def end(self) -> Mention:
        return self._replace(begun=()) if self.begun else self

    def need(self, *phrases: str) -> Need:
        """What is left of the nearest mention: the rest of one that is begun, or one of the phrases."""
        if self.found:
            return Need()
        rests = [way[n:] for way in self.ways for n in range(len(way)) if self.begun[len(self.begun) - n:] == way[:n]]
        begun = {" " + " ".join(rest): None for rest in sorted(rests, key=len) if rest not in self.ways}
        return Need(min(map(len, rests)), (*begun, *(f" {phrase}" for phrase in phrases)))


class _Local(Predicate):
    """A predicate that looks no further than its own sentence, if it speaks of one, and counts for itself."""

    local = True

    def horizon(self):
        return (self.k or 0) + 1, 0


@predicate
class InSen(_Local):
    """InSen(w, k): w occurs in sentence k.  1 while sentence k is being written without w, 2 once w is in it."""

    w: Phrase
    k: Sentence

    def start(self, policy):
        return Mention.of((self.w,), policy)

    def read(self, mention, word, sentence, index):
        return mention.read(word)

    def end(self, mention, sentence):
        return mention.end()

    def state(self, mention, at):
        return (2, None) if mention.found else (1, None) if at.sentence == self.k else (0, None)

    def broken(self, mention, at):
        return at.sentence > self.k

    def need(self, mention, at, wanted=True):
        if not wanted:
            return Need()
        need = mention.need(self.w)
        return need if at.sentence >= self.k else Need(need.words + _sentences_before(self.k, at))

    def holds(self, text, tolerance=0):
        return bool(text.mentions(self.w, self.k))

    def found(self, text):
        return _places(text, self.w)

    def least_words(self):
        return _fewest_words(self.w)


@predicate
class Order(_Local):
    """Order(a, b): b is mentioned after a.  0 before a, 1 from a on, 2 once b begins after the first a has ended."""

    a: Phrase
    b: Phrase

    def start(self, policy):
        return Mention.of((self.a,), policy), Mention.of((self.b,), policy)

    def read(self, mentions, word, sentence, index):
        a, b = mentions
        return (a, b.read(word)) if a.found else (a.read(word), b)

    def end(self, mentions, sentence):
        return tuple(mention.end() for mention in mentions)

    def state(self, mentions, at):
        a, b = mentions
        return (2, None) if b.found else (1, None) if a.found and not at.finished else (0, None)

    def need(self, mentions, at, wanted=True):
        a, b = mentions
        if not wanted:
            return Need()
        return b.need(self.b) if a.found else Need(a.need().words + b.need().words, a.need(self.a).texts)

    def holds(self, text, tolerance=0):
        first = min(text.mentions(self.a), key=lambda m: (m.sentence, m.end), default=None)
        return first is not None and any(
            m.sentence > first.sentence or (m.sentence == first.sentence and m.begin >= first.end)
            for m in text.mentions(self.b))

    def found(self, text):
        missing = [phrase for phrase in (self.a, self.b) if not text.mentions(phrase)]
        return f"{' and '.join(missing)} not mentioned" if missing else f"{self.b} not mentioned after {self.a}"


@predicate
class Copy(_Local):
    """Copy(w): w is mentioned, 0 before and 2 after; never 1.

    `forms` are further forms that count as a mention (the paper's P^_c): the input expression, and so what the
    encoder reads, is the same with and without them.  `nretm.inflected` fills them in.
    """

    w: Phrase
    forms: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "forms", tuple(tidy(form) for form in self.forms))

    def start(self, policy):
        return Mention.of((self.w, *self.forms), policy)

    def read(self, mention, word, sentence, index):
        return mention.read(word)

    def end(self, mention, sentence):
        return mention.end()

    def state(self, mention, at):
        return (2, None) if mention.found else (0, None)

    def need(self, mention, at, wanted=True):
        return mention.need(self.w, *self.forms[:2]) if wanted else Need()

    def holds(self, text, tolerance=0):
        return any(text.mentions(form) for form in (self.w, *self.forms))

    def found(self, text):
        return _places(text, self.w, *self.forms)

    def least_words(self):
        return min(map(_fewest_words, (self.w, *self.forms)))


@predicate
class TranslatedOnce(_Local):
    """translateOnce(i): source sentence i is translated once.  1 while output sentence i is written, 2 afterwards.

    Its variables are the source tokens of sentence i.
    """

    k: Sentence
    name = "translateOnce"
    in_source = True

    def state(self, memory, at):
        return (2, None) if self.k <= at.ended else (1, None) if at.sentence == self.k else (0, None)

    def need(self, memory, at, wanted=True):
        return Need(_sentences_before(self.k, at)) if wanted else Need()

    def holds(self, text, tolerance=0):
        return len(text.sentences) >= self.k

    def found(self, text):
        return _number(len(text.sentences), "sentence")


class Tally(NamedTuple):
    """A count of words, or of those among `these`."""

    these: frozenset[str] | None
    count: int = 0


class _Counted(_Local):
    """Len and StopWordCount: `1 r` while the sentence is written, r what is still to come; 2 if it comes out even."""

    def __init__(self, *arguments):
        if len(arguments) not in map(len, self.signatures()):
            raise TypeError(f"{self.name} takes {' or '.join(map(', '.join, self.signatures()))}")
        object.__setattr__(self, "k", arguments[0] if len(arguments) == 2 else None)
        object.__setattr__(self, "n", arguments[-1])
        self.__post_init__()

    @classmethod
    def signatures(cls):
        return ("k", "n"), ("n",)

    def start(self, policy):
        return Tally(None)

    def read(self, tally, word, sentence, index):
        if tally.these is not None and word not in tally.these:
            return tally
        return Tally(tally.these, min(tally.count + 1, self.n + MOST_OVER))  # beyond, nothing changes any more

    def end(self, tally, sentence):
        missed = sentence == self.k and tally.count != self.n  # by how much no longer matters
        return Tally(tally.these, self.n + MOST_OVER) if missed else tally

    def _begun(self, at) -> bool:
        return at.sentence > 0 if self.k is None else self.k == at.sentence or self.k <= at.ended

    def state(self, tally, at):
        if not self._begun(at):
            return 0, None
        if at.sentence == self.k or (self.k is None and not at.finished):
            return 1, max(self.n - tally.count, -MOST_OVER)
        return (2, None) if tally.count == self.n else (0, None)

    def broken(self, tally, at):
        ended = at.finished or (self.k is not None and at.sentence > self.k)
        return ended or tally.count > self.n

    def need(self, tally, at, wanted=True):
        if not wanted:
            return Need(int(self._begun(at) and tally.count == self.n))
        return Need(max(self.n - tally.count, 0) + (_sentences_before(self.k, at) if self.k else 0))

    def least_words(self):
        return self.n

    def excludes(self, other):
        if type(other) is type(self) and other.k == self.k and other.n != self.n:
            return f"{self} and {other} exclude each other"
        return None

    def excludes_together(self, others):
        """A count over the whole output against what is asked of its sentences."""
        if self.k is not None:
            return None
        largest: dict[int, Predicate] = {}  # for each sentence the predicate that asks for most words
        for other in others:
            if other.k is not None and self._counts_words_of(other):
                largest[other.k] = max(largest.get(other.k, other), other, key=lambda p: p.least_words())
        total = sum(p.least_words() for p in largest.values())
        if total > self.n:
            return f"{' and '.join(map(str, largest.values()))} need {total} {self.what}s together, more than {self}"
        return None

    def _counts_words_of(self, other: Predicate) -> bool:
        """Whether the least words of the other predicate are among those that this one counts."""
        return type(other) is type(self)


@predicate
class Len(_Counted):
    """Len(k, n): sentence k has n words; Len(n): the whole output has n words."""

    k: Sentence = None
    n: Count = None
    what = "word"

    def holds(self, text, tolerance=0):
        count = text.length(self.k)
        return count is not None and abs(count - self.n) <= tolerance

    def found(self, text):
        return _number(text.length(self.k), self.what)

    def excludes(self, other):
        words = other.least_words()
        if words > self.n and type(other) is not Len and self.k in (None, other.k):
            return f"{other} needs {_number(words, 'word')}, more than the {self.n} of {self}"
        if isinstance(other, Len) and self.k is None and other.k is not None and other.n > self.n:
            return f"{other} asks for a sentence longer than the whole output of {self}"
        return super().excludes(other)

    def _counts_words_of(self, other):
        return True


@predicate
class StopWordCount(_Counted):
    """StopWordCount(k, s): sentence k has s stop words; StopWordCount(s): the whole output has s stop words."""

    k: Sentence = None
    n: Count = None
    what = "stop word"

    def start(self, policy):
        return Tally(policy.stop_words)

    def holds(self, text, tolerance=0):
        count = text.stop_count(self.k)
        return count is not None and abs(count - self.n) <= tolerance

    def found(self, text):
        return _number(text.stop_count(self.k), self.what)


def _sentences_before(k: int, at) -> int:
    """How many sentences have to end before sentence k begins."""
    return max(k - max(at.sentence, 1), 0)


def _fewest_words(phrase: str) -> int:
    """How many words a mention takes at least, whatever the word policy."""
    return min(len(cut(phrase)) for cut in WORD_POLICIES.values())


def _number(count: int | None, what: str) -> str:
    return "no such sentence" if count is None else f"{count} {what}{'s' * (count != 1)}"


def _places(text, *phrases: str) -> str:
    sentences = sorted({mention.sentence for phrase in phrases for mention in text.mentions(phrase)})
    return f"in sentence {' and '.join(map(str, sentences))}" if sentences else "not mentioned"
