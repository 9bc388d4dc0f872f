"""The Logic Tracker: runs the predicates of a rule over the tokens written so far (paper, section 2.3).

A `State` is what is known after a prefix.  It is never changed: `step` makes a new one, so beams may branch at will,
and it depends on the prefix alone.  The cost of a step does not depend on how long the prefix is.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from nretm.rules.formula import And, Not, Or, Rule, predicate_of
from nretm.rules.parser import as_rule
from nretm.rules.predicates import Predicate
from nretm.text.policy import Policy
from nretm.tracking.flags import FlagTable, entry, joined, layout
from nretm.tracking.growing_text import Stretch, Tail, reader_for

AFTER_LAST = sys.maxsize  # the current sentence of a finished text: behind all of them


class Reading(NamedTuple):
    """What has been read: where the text is, and the memory of each predicate.

    sentence                the one being written, from 1; 0 before the first word, AFTER_LAST after the last
    words, stops            words and stop words of the current sentence
    lengths, stop_counts    the same of the sentences that have ended
    """

    memories: tuple
    sentence: int = 0
    words: int = 0
    stops: int = 0
    lengths: tuple[int, ...] = ()
    stop_counts: tuple[int, ...] = ()
    all_words: int = 0
    all_stops: int = 0
    open: bool = False  # something is written in the current sentence

    @property
    def finished(self) -> bool:
        return self.sentence == AFTER_LAST

    def words_in(self, k: int | None) -> int | None:
        """Words of sentence k, or of everything; None if it has not begun."""
        if k is None:
            return self.all_words if self.sentence else None
        if k == self.sentence:
            return self.words
        return self.lengths[k - 1] if k <= len(self.lengths) else None

    def stops_in(self, k: int | None) -> int | None:
        """Stop words of sentence k, or of everything; None if it has not begun."""
        if k is None:
            return self.all_stops if self.sentence else None
        if k == self.sentence:
            return self.stops
        return self.stop_counts[k - 1] if k <= len(self.stop_counts) else None


class State:
    """The state of a rule after a prefix.  `settled` leaves out the tail that may still grow, `now` has it."""

    __slots__ = ("tracker", "parent", "token_id", "node", "settled", "now", "states", "flag_ids")

    def __init__(self, tracker: Tracker, parent: State | None, token_id: int | None, node: Tail,
                 settled: Reading, now: Reading, states: tuple, flag_ids: tuple[int, ...]):
        self.tracker, self.parent, self.token_id, self.node = tracker, parent, token_id, node
        self.settled, self.now, self.states, self.flag_ids = settled, now, states, flag_ids

    @property
    def finished(self) -> bool:
        """Whether the text has ended."""
        return self.now.sentence == AFTER_LAST

    @property
    def flags(self) -> list[str]:
        """The flag of every input token."""
        strings = self.tracker.table.strings
        return [strings[self.flag_ids[group]] for group in self.tracker.groups]

    @property
    def statuses(self) -> dict[Rule, tuple[int, int | None]]:
        """Literal -> (status, value): 0 not satisfied, 1 in progress, 2 satisfied."""
        return dict(zip(self.tracker.literals, self.states, strict=True))

    @property
    def verdict(self) -> str:
        """Of the whole rule: "satisfied", still "possible", or "broken" for good, whatever is written next."""
        truth = {literal: self.tracker.truth(i, self) for i, literal in enumerate(self.tracker.literals)}
        return {True: "satisfied", None: "possible", False: "broken"}[_kleene(self.tracker.nnf, truth)]

    @property
    def broken(self) -> tuple[bool, ...]:
        """For each literal whether no further word can make it hold."""
        return tuple(self.tracker.truth(i, self) is False for i in range(len(self.tracker.literals)))

    @property
    def token_ids(self) -> list[int]:
        """The prefix."""
        ids, state = [], self
        while state.parent is not None:
            ids.append(state.token_id)
            state = state.parent
        return ids[::-1]

    @property
    def text(self) -> str:
        """The text written so far."""
        return self.tracker.reader.text(self.token_ids)


class Tracker:
    """Tracks one rule over one output.

    tokenizer   the model's
    source      the text before the rule's expression in the encoder's input, if there is one
    policy      how words and sentences are counted
    table       numbers flags; trackers that share a table share the numbers
    compress    let predicates share entries of the flag as the paper says; otherwise one entry a literal
    """

    def __init__(self, rule: Rule | str, tokenizer, *, source: str = "", policy: Policy | None = None,
                 table: FlagTable | None = None, compress: bool = True):
        rule = as_rule(rule)
        self._set(rule, tokenizer((source or "") + str(rule))["input_ids"], tokenizer, policy, table, compress)

    @classmethod
    def for_input(cls, rule: Rule | str, input_ids, tokenizer, policy: Policy | None = None,
                  table: FlagTable | None = None, compress: bool = True) -> Tracker:
        """The tracker for an encoder input that is tokenised already; padding may be left in."""
        tracker = cls.__new__(cls)
        tracker._set(as_rule(rule), [int(i) for i in input_ids], tokenizer, policy, table, compress)
        return tracker

    def _set(self, rule, input_ids, tokenizer, policy, table, compress) -> None:
        self.rule, self.nnf, self.literals = rule, rule.nnf(), rule.literals
        self.input_ids = input_ids
        self.reader = reader_for(tokenizer, policy or Policy())
        self.table = table if table is not None else FlagTable()
        self.layout = layout(rule, input_ids, self.reader, compress)
        self.groups = self.layout.groups  # (S,)
        self._predicates = [predicate_of(literal) for literal in self.literals]
        self._negated = [isinstance(literal, Not) for literal in self.literals]
        self._readers = [(i, p.read) for i, p in enumerate(self._predicates) if type(p).read is not Predicate.read]
        self._seen: dict[tuple, tuple[int, ...]] = {}  # states of all literals -> flag ids of all groups
        eos, separator = tokenizer.eos_token_id, self.reader.separator_id
        self._eos = eos if eos != separator else None
        # A document whose sentences are separated by eos itself ends with another special token, as mBART's
        # documents end with the language code; before the first word such a token is a prefix.
        others = self.reader.token_bytes.special - {separator, tokenizer.unk_token_id}
        self._closing = others if self._eos is None else frozenset()

    def start(self) -> State:
        """The state before the first token."""
        nothing = Reading(tuple(p.start(self.reader.policy) for p in self._predicates))
        return self._state(None, None, self.reader.root, nothing, nothing)

    def step(self, state: State, token_id: int) -> State:
        """The state after one more token."""
        if state.now.sentence == AFTER_LAST:
            return state
        if token_id == self._eos or (token_id in self._closing and state.now.sentence):
            return self._finished(state, token_id)
        edge = state.node.edges.get(token_id) or self.reader.edge(state.node, token_id)
        if edge.silent:
            return State(self, state, token_id, edge.node, state.settled, state.now, state.states, state.flag_ids)
        settled = state.now if edge.as_read else self._advance(state.settled, edge.settled)
        return self._state(state, token_id, edge.node, settled, self._advance(settled, edge.node.open))

    def states(self, token_ids) -> list[State]:
        """The state after every prefix of the tokens, the empty one first."""
        states, step = [self.start()], self.step
        for token_id in token_ids:
            states.append(step(states[-1], int(token_id)))
        return states

    def run(self, token_ids, gold: bool = False) -> np.ndarray:
        """The flag ids of every group after every prefix of the tokens: (T + 1, G)."""
        return self.columns(self.states(token_ids), gold)

    def columns(self, states: list[State], gold: bool = False) -> np.ndarray:
        """The flag ids of every group in each of the states: (T + 1, G).

        `gold`: the states are those of a training target.  What it does not obey has no alignment with it and gets N
        (section 2.4): the literals of every clause of the rule that the target leaves unsatisfied.
        """
        unaligned = self.unaligned(states[-1]) if gold else frozenset()
        columns = ([self._flags(state.states, unaligned) for state in states] if unaligned
                   else [state.flag_ids for state in states])
        return np.array(columns, dtype=np.int32).reshape(len(columns), -1)

    def unaligned(self, last: State) -> frozenset[int]:
        """The literals, by number, that a training target which ends in this state has no alignment with."""
        end = last if last.finished else self._finished(last, None)
        if end.verdict == "satisfied":
            return frozenset()
        obeyed = {literal for literal, (status, _) in end.statuses.items() if status == 2}
        aligned = {literal for clause in self.rule.cnf() if obeyed.intersection(clause) for literal in clause}
        return frozenset(i for i, literal in enumerate(self.literals) if literal not in aligned)

    def truth(self, i: int, state: State) -> bool | None:
        """Whether literal i is satisfied, broken for good, or open.

        The tail counts for satisfaction, as flags do; against it only what no further character can undo.
        """
        if state.states[i][0] == 2:
            return True
        predicate, memory, at = self._predicates[i], state.settled.memories[i], state.settled
        status = predicate.state(memory, at)[0]
        dead = status == 2 if self._negated[i] else status != 2 and predicate.broken(memory, at)
        return False if dead or at.finished else None

    def _advance(self, at: Reading, runs: tuple[Stretch, ...]) -> Reading:
        for run in runs:
            sentence, index, memories = at.sentence or 1, at.words, at.memories
            if self._readers and run.words:
                memories = list(memories)
                for i, read in self._readers:
                    memory = memories[i]
                    for offset, word in enumerate(run.words):
                        memory = read(memory, word, sentence, index + offset)
                    memories[i] = memory
                memories = tuple(memories)
            count = len(run.words)
            words, stops = index + count, at.stops + run.stops
            all_words, all_stops = at.all_words + count, at.all_stops + run.stops
            if run.ends:
                at = Reading(memories, sentence + 1, 0, 0, (*at.lengths, words), (*at.stop_counts, stops),
                             all_words, all_stops)
            else:
                at = Reading(memories, sentence, words, stops, at.lengths, at.stop_counts, all_words, all_stops, True)
        return at

    def _state(self, parent, token_id, node, settled: Reading, now: Reading) -> State:
        states = tuple([_negated(p, memory, now) if negated else p.state(memory, now)
                        for p, negated, memory in zip(self._predicates, self._negated, now.memories, strict=True)])
        flag_ids = self._seen.get(states)
        if flag_ids is None:
            flag_ids = self._seen[states] = self._flags(states)
        return State(self, parent, token_id, node, settled, now, states, flag_ids)

    def _finished(self, state: State, token_id: int | None) -> State:
        end = _finish(state.now)
        return self._state(state, token_id, state.node, end, end)

    def _flags(self, states: tuple, unaligned: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """The flag of each group, by number."""
        return tuple(self.table.intern(" ".join(map(entry, entries))) for entries in self.entries(states, unaligned))

    def entries(self, states: tuple, unaligned: frozenset[int] = frozenset()
                ) -> list[list[tuple[int, int | None] | None]]:
        """The entries of each group's flag, before they are written out; None is N."""
        return [[joined([states[i] for i in literals if i not in unaligned]) for literals in group]
                for group in self.layout.entries]


def _negated(predicate: Predicate, memory, at: Reading) -> tuple[int, int | None]:
    """The state of `not p`: 0 before, 1 while p could still come true, 2 once it cannot, 0 for good when it has."""
    status, value = predicate.state(memory, at)
    if status == 2:
        return 0, None
    if predicate.broken(memory, at):
        return 2, None
    return (1, value) if predicate.begun(at) else (0, None)


def _finish(at: Reading) -> Reading:
    """The text ends here; a sentence left without a terminator ends with it."""
    lengths, stop_counts = at.lengths, at.stop_counts
    if at.open:
        lengths, stop_counts = (*lengths, at.words), (*stop_counts, at.stops)
    return Reading(at.memories, AFTER_LAST, 0, 0, lengths, stop_counts, at.all_words, at.all_stops)


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
