"""A rule as an automaton over the tokens of a text (paper, section 2.3).

What the Logic Tracker knows after a prefix is the open tail of the text and what the predicates remember of the words
before it: how far into each phrase the text has come, counts as long as they can change something, the sentence up to
the last that the rule speaks of.  So prefixes without number share few states.  Each state is made once and remembers
where its tokens lead: a step is one look-up as soon as any hypothesis, row or batch with this rule has taken it.
"""

from __future__ import annotations

import sys
import weakref
from functools import lru_cache

from nretm.rules.formula import And, Not, Or, Rule, predicate_of
from nretm.rules.predicates import Predicate
from nretm.tracking.growing_text import Stretch, Tail, TextReader

AFTER_LAST = sys.maxsize  # the current sentence of a finished text: after all of them
MAX_STATES = 300_000  # of all rules together; then they are forgotten and made again: memory stays bounded


class Reading:
    """What has been read: where the text is, and the memory of each predicate.  There is one of a kind per automaton.

    sentence  the one being written, from 1; 0 before the first word, AFTER_LAST after the last
    ended     how many sentences have ended
    index     words in the current sentence
    open      something is written in the current sentence
    counts    (words, stop words) of every sentence, the current one included; None if no predicate looks at them
    states    (status, value) of every literal, if the text is read as it is
    tails     open tail -> configuration, for the tails that have followed
    learned   what the search for witnesses has learned of it (tracking/witness.py)

    Where all predicates have a horizon, sentence, ended and index stop there.
    """

    __slots__ = ("memories", "sentence", "ended", "index", "open", "counts", "states", "tails", "learned")

    def __init__(self, memories: tuple, sentence: int, ended: int, index: int, open: bool, counts: tuple | None):
        self.memories, self.sentence, self.ended, self.index = memories, sentence, ended, index
        self.open, self.counts, self.tails, self.learned = open, counts, {}, None

    @property
    def finished(self) -> bool:
        return self.sentence == AFTER_LAST

    @property
    def lengths(self) -> tuple[int, ...]:
        """Words of the sentences that have ended."""
        return tuple(words for words, _ in self.counts[:self.ended])

    def words_in(self, k: int | None) -> int | None:
        """Words of sentence k, or of everything; None if it has not begun."""
        return self._count(k, 0)

    def stops_in(self, k: int | None) -> int | None:
        """Stop words of sentence k, or of everything; None if it has not begun."""
        return self._count(k, 1)

    def _count(self, k: int | None, which: int) -> int | None:
        if k is None:
            return sum(count[which] for count in self.counts) if self.sentence else None
        return self.counts[k - 1][which] if k <= len(self.counts) else None


class Configuration:
    """All that matters of a prefix: the same configuration has the same future.  There is one of a kind.

    tail     the open tail of the text, which may still grow
    settled  what has been read without the tail
    now      what has been read with the tail as it stands: the flags show this
    after    token -> configuration, as far as it is known
    witness  what is known of a continuation that obeys (tracking/witness.py)
    """

    __slots__ = ("tail", "settled", "now", "after", "witness")

    def __init__(self, tail: Tail, settled: Reading, now: Reading):
        self.tail, self.settled, self.now, self.after, self.witness = tail, settled, now, {}, None


class Automaton:
    """The automaton of one rule, for one tokenizer and one policy; it grows as it is used."""

    states = 0  # of all automata

    def __init__(self, rule: Rule, reader: TextReader):
        self._readings: dict[tuple, Reading] = {}
        self.reader, self.nnf, self.literals = reader, rule.nnf(), rule.literals
        self.predicates = [predicate_of(literal) for literal in self.literals]
        self.negated = [isinstance(literal, Not) for literal in self.literals]
        self._hooks_of: dict[int, tuple[list, list, list]] = {}  # by sentence
        horizons = [p.horizon() for p in self.predicates]
        self._exact = None in horizons
        self._last, self._reach = (AFTER_LAST - 1,) * 2 if self._exact else map(max, zip(*horizons, strict=True))
        tokenizer = reader.token_bytes.tokenizer
        eos, separator = tokenizer.eos_token_id, reader.separator_id
        self._eos = eos if eos != separator else None
        # A document whose sentences are separated by eos itself ends with another special token, as mBART's
        # documents end with the language code; before the first word such a token is a prefix.
        others = reader.token_bytes.special - {separator, tokenizer.unk_token_id}
        self._closing = others if self._eos is None else frozenset()
        self.forget()
        _automata.add(self)

    def _hooks(self, sentence: int) -> tuple[list, list, list]:
        """(number, method) of the predicates that write, read and end in this sentence."""
        hooks = self._hooks_of.get(sentence)
        if hooks is None:
            here = [(i, p) for i, p in enumerate(self.predicates)
                    if not (p.local and isinstance(p.k, int)) or p.k == sentence]
            hooks = self._hooks_of[sentence] = tuple(
                [(i, getattr(p, name)) for i, p in here if getattr(type(p), name) is not getattr(Predicate, name)]
                for name in ("write", "read", "end"))
        return hooks

    def forget(self) -> None:
        """Drop all states; those that are in use keep their witnesses and where these lead."""
        for reading in self._readings.values():
            reading.tails.clear()
            reading.learned = None
        self._readings = {}
        self._verdicts: dict[tuple[Reading, Reading], str] = {}  # by what has been read without and with the tail
        self.flags: dict[tuple, dict[tuple, list[str]]] = {}  # layout -> states -> the flag of each group
        memories = tuple(p.start(self.reader.policy) for p in self.predicates)
        nothing = self._reading(memories, 0, 0, 0, False, () if self._exact else None)
        self.start = self._configuration(self.reader.root, nothing)

    def __del__(self):
        """States refer to each other; left whole, they would have to wait for the garbage collector."""
        for reading in self._readings.values():
            for here in reading.tails.values():
                here.after.clear()
            reading.tails.clear()
            reading.learned = None

    def step(self, here: Configuration, token_id: int) -> Configuration:
        """Where one more token leads."""
        after = here.after.get(token_id)
        if after is None:
            after = here.after[token_id] = self._step(here, token_id)
        return after

    def _step(self, here: Configuration, token_id: int) -> Configuration:
        now = here.now
        if now.sentence == AFTER_LAST:
            return here
        if token_id == self._eos or (token_id in self._closing and now.sentence):
            return self.end(here)
        edge = here.tail.edges.get(token_id) or self.reader.edge(here.tail, token_id)
        if edge.silent:
            return here
        return self._configuration(edge.node, now if edge.as_read else self._advance(here.settled, edge.settled))

    def end(self, here: Configuration) -> Configuration:
        """Where the end of the text leads; a sentence left without a terminator ends with it."""
        at = here.now
        memories, ended, counts = at.memories, at.ended, at.counts
        if at.open:
            memories, ended = tuple(self._ended(memories, at.sentence)), min(ended + 1, self._last)
        if self._exact:
            counts = counts[:ended]
        return self._configuration(self.reader.root, self._reading(memories, AFTER_LAST, ended, 0, False, counts))

    def _configuration(self, tail: Tail, settled: Reading) -> Configuration:
        here = settled.tails.get(tail)
        if here is None:
            now = self._advance(settled, tail.open) if tail.open else settled
            here = settled.tails[tail] = Configuration(tail, settled, now)
            Automaton.states += 1
            if Automaton.states > MAX_STATES:
                Automaton.states = -len(_automata)  # where each begins again does not count
                for automaton in list(_automata):
                    automaton.forget()
        return here

    def _advance(self, at: Reading, runs: tuple[Stretch, ...]) -> Reading:
        memories, sentence, index, opened, counts = at.memories, at.sentence or 1, at.index, at.open, at.counts
        for run in runs:
            writes, reads, _ = self._hooks(sentence)
            if reads or writes:
                memories = list(memories)
                for i, write in writes if run.text else ():
                    memories[i] = write(memories[i], run, sentence)
                for i, read in reads:
                    for number, word in enumerate(run.words, index):
                        memories[i] = read(memories[i], word, sentence, number)
            index, opened = index + len(run.words), True
            if counts is not None:
                words, stops = counts[-1] if counts else (0, 0)
                counts = (*counts[:-1], (words + len(run.words), stops + run.stops))
            if run.ends:
                memories = self._ended(memories, sentence)
                sentence, index, opened = min(sentence + 1, self._last), 0, False
                counts = counts and (*counts, (0, 0))
        index = min(index, self._reach)
        if memories is at.memories and (sentence, index, opened, counts) == (at.sentence, at.index, at.open, at.counts):
            return at  # no predicate looks at this sentence
        return self._reading(tuple(memories), sentence, sentence - 1, index, opened, counts)

    def _ended(self, memories, sentence: int) -> list:
        memories = list(memories)
        for i, end in self._hooks(sentence)[2]:
            memories[i] = end(memories[i], sentence)
        return memories

    def _reading(self, *key) -> Reading:
        try:
            reading = self._readings.get(key)
        except TypeError as error:
            raise TypeError(f"a predicate of {self.literals} has a memory that cannot be hashed: remember numbers, "
                            "strings and tuples, not lists, sets or dictionaries") from error
        if reading is None:
            reading = self._readings[key] = Reading(*key)
            reading.states = tuple([_negated(p, memory, reading) if negated else p.state(memory, reading)
                                    for p, negated, memory in zip(self.predicates, self.negated, key[0], strict=True)])
        return reading

    def broken(self, here: Configuration) -> tuple[bool, ...]:
        """Of each literal, whether it does not hold and never will, whatever is written next.

        The tail counts for satisfaction, as flags do; against it only what no further character can undo.
        """
        return tuple(status != 2 and (self._dead(i, here.settled) or self._lost(i, here))
                     for i, (status, _) in enumerate(here.now.states))

    def verdict(self, here: Configuration) -> str:
        """Of the whole rule: "satisfied", still "possible", or "broken" for good, whatever is written next."""
        verdict = self._verdicts.get((here.settled, here.now))
        if verdict is None:
            truth = {literal: True if status == 2 else False if broken else None for literal, (status, _), broken
                     in zip(self.literals, here.now.states, self.broken(here), strict=True)}
            verdict = {True: "satisfied", None: "possible", False: "broken"}[_kleene(self.nnf, truth)]
            self._verdicts[here.settled, here.now] = verdict
        return verdict

    def _dead(self, i: int, at: Reading) -> bool:
        predicate, memory = self.predicates[i], at.memories[i]
        holds = predicate.state(memory, at)[0] == 2
        return at.finished or (holds if self.negated[i] else not holds and predicate.broken(memory, at))

    def _lost(self, i: int, here: Configuration) -> bool:
        """Whether the open word itself breaks it, whatever becomes of that word."""
        return not self.negated[i] and self.predicates[i].lost(here.now.memories[i], here.now)


_automata: weakref.WeakSet[Automaton] = weakref.WeakSet()


def automaton_for(rule: Rule, reader: TextReader) -> Automaton:
    """The one automaton of a rule as it is written, a tokenizer and a policy."""
    return _automaton_for(rule, str(rule), reader)


@lru_cache(maxsize=256)
def _automaton_for(rule: Rule, expression: str, reader: TextReader) -> Automaton:
    return Automaton(rule, reader)


def _negated(predicate: Predicate, memory, at: Reading) -> tuple[int, int | None]:
    """The state of `not p`: 0 before, 1 while p could still come true, 2 once it cannot, 0 for good when it has."""
    status, value = predicate.state(memory, at)
    if status == 2:
        return 0, None
    if predicate.broken(memory, at):
        return 2, None
    return (1, value) if predicate.begun(at) else (0, None)


def _kleene(nnf: Rule, truth: dict[Rule, bool | None]) -> bool | None:
    """Three-valued logic: None is unknown."""
    match nnf:
        case And():
            values = [_kleene(part, truth) for part in nnf.parts]
            return False if False in values else None if None in values else True
        case Or():
            values = [_kleene(part, truth) for part in nnf.parts]
            return True if True in values else None if None in values else False
        case _:
            return truth[nnf]
