"""Predicates about phrases that are mentioned: InSen, Order and Copy (section 2.2), and Count."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from nretm.rules.arguments import Every, Number, Phrase, Range, Sentence, bounds, enough, to_go
from nretm.rules.counts import MOST_OVER
from nretm.rules.predicates import LOST, Local, Need, number, predicate, sentences_before
from nretm.text.policy import WORD_POLICIES, Policy


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


class Everywhere(NamedTuple):
    """A phrase that is wanted in every sentence: its mention in the current one, and whether none before lacks it."""

    mention: Mention
    good: bool = True


@predicate
class InSen(Local):
    """InSen(w, k): w occurs in sentence k.  1 while sentence k is being written without w, 2 once w is in it.

    InSen(w, every): w occurs in every sentence.  1 as long as no sentence has ended without it, 2 at the end.
    """

    w: Phrase
    k: Sentence | Every

    def start(self, policy):
        mention = Mention.of((self.w,), policy)
        return Everywhere(mention) if isinstance(self.k, Every) else mention

    def read(self, memory, word, sentence, index):
        if isinstance(self.k, Every):
            return Everywhere(memory.mention.read(word), memory.good)
        return memory.read(word)

    def end(self, memory, sentence):
        if isinstance(self.k, Every):
            fresh = memory.mention._replace(begun=(), found=False)
            return Everywhere(fresh, memory.good and memory.mention.found)
        return memory.end()

    def state(self, memory, at):
        if isinstance(self.k, Every):
            return (2 if at.finished else int(at.sentence > 0)) if memory.good else 0, None
        return (2, None) if memory.found else (1, None) if at.sentence == self.k else (0, None)

    def broken(self, memory, at):
        return not memory.good if isinstance(self.k, Every) else at.sentence > self.k

    def need(self, memory, at, wanted=True):
        if not wanted:
            return Need()
        if isinstance(self.k, Every):
            need = memory.mention.need(self.w)
            return LOST if not memory.good else need if at.open else Need(0, need.texts)
        need = memory.need(self.w)
        before = sentences_before(self.k, at)
        return Need(need.words + before) if before else need

    def holds(self, text, tolerance=0):
        sentences = range(1, len(text.sentences) + 1) if isinstance(self.k, Every) else [self.k]
        return all(text.mentions(self.w, k) for k in sentences)

    def found(self, text):
        return places(text, self.w)

    def least_words(self):
        return fewest_words(self.w) if isinstance(self.k, int) else 0


@predicate
class Order(Local):
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
class Copy(Local):
    """Copy(w): w is mentioned, 0 before and 2 after; never 1.

    `forms` are further forms that count as a mention (the paper's P^_c): the input expression, and so what the
    encoder reads, is the same with and without them.  `nretm.inflected` fills them in.
    """

    w: Phrase
    forms: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "forms", tuple(str(Phrase.tidy(form)) for form in self.forms))

    def start(self, policy):
        return Mention.of((self.w, *self.forms), policy)

    def read(self, mention, word, sentence, index):
        return mention.read(word)

    def end(self, mention, sentence):
        return mention.end()

    def state(self, mention, at):
        return (2, None) if mention.found else (0, None)

    def need(self, mention, at, wanted=True):
        if not wanted:
            return LOST if mention.found else Need()
        return mention.need(self.w, *self.forms[:2])

    def holds(self, text, tolerance=0):
        return any(text.mentions(form) for form in (self.w, *self.forms))

    def found(self, text):
        return places(text, self.w, *self.forms)

    def least_words(self):
        return min(map(fewest_words, (self.w, *self.forms)))


class Mentions(NamedTuple):
    """How often a phrase has been mentioned; `rests` is what is missing of the mentions that are begun."""

    ways: frozenset[tuple[str, ...]]
    rests: frozenset[tuple[str, ...]] = frozenset()
    count: int = 0


@predicate
class Count(Local):
    """Count(w, n): w is mentioned n times.  `1 r` from the first word on, r mentions to come; 2 at the end."""

    w: Phrase
    n: Number | Range

    def start(self, policy):
        return Mentions(policy.phrase(self.w))

    def read(self, mentions, word, sentence, index):
        ways, rests, count = mentions
        rests = frozenset(rest[1:] for rest in (*rests, *ways) if rest[0] == word)
        return Mentions(ways, rests - {()}, min(count + (() in rests), enough(self.n, MOST_OVER)))

    def end(self, mentions, sentence):
        return mentions._replace(rests=frozenset())

    def state(self, mentions, at):
        if at.finished:
            return (0 if to_go(self.n, mentions.count) else 2), None
        return (1, max(to_go(self.n, mentions.count), -MOST_OVER)) if at.sentence else (0, None)

    def broken(self, mentions, at):
        return at.finished or mentions.count > bounds(self.n)[1]

    def need(self, mentions, at, wanted=True):
        missing = max(to_go(self.n, mentions.count), 0)
        if wanted and mentions.count > bounds(self.n)[1]:
            return LOST
        if not wanted or not missing:
            return Need(0, () if wanted or to_go(self.n, mentions.count) else (f" {self.w}",))
        rests = tuple(" " + " ".join(rest) for rest in mentions.rests)
        return Need(missing, (*rests, f" {self.w}"))

    def holds(self, text, tolerance=0):
        return abs(to_go(self.n, self._count(text))) <= tolerance

    def found(self, text):
        return number(self._count(text), "mention")

    def _count(self, text) -> int:
        return len({(mention.sentence, mention.end) for mention in text.mentions(self.w)})

    def least_words(self):
        return fewest_words(self.w) if bounds(self.n)[0] else 0

    def excludes(self, other):
        low, high = bounds(self.n)
        if isinstance(other, Count) and other.w == self.w:
            least, most = bounds(other.n)
            return f"{self} and {other} exclude each other" if low > most or least > high else None
        if isinstance(other, InSen | Copy) and not high and other.w == self.w:
            return f"{self} and {other} exclude each other"
        return None


def fewest_words(phrase: str) -> int:
    """How many words a mention takes at least, whatever the word policy."""
    return min(len(cut(phrase)) for cut in WORD_POLICIES.values())


def places(text, *phrases: str) -> str:
    sentences = sorted({mention.sentence for phrase in phrases for mention in text.mentions(phrase)})
    return f"in sentence {' and '.join(map(str, sentences))}" if sentences else "not mentioned"
