"""The Logic Tracker: runs the predicates of a rule over the tokens written so far (paper, section 2.3).

A `State` is what is known after a prefix.  It is never changed: `step` makes a new one, so beams may branch at will,
and it depends on the prefix alone.  What the rule knows is in the automaton of the rule, which all trackers of the rule
share; a tracker adds the flags of its own input.
"""

from __future__ import annotations

import numpy as np

from nretm.rules.formula import Rule
from nretm.rules.parser import as_rule
from nretm.text.policy import Policy
from nretm.tracking.automaton import Configuration, Reading, automaton_for
from nretm.tracking.flags import FlagTable, entry, joined, layout
from nretm.tracking.growing_text import reader_for


class State:
    """The state of a rule after a prefix: what matters of it, and how the prefix came about.

    key  the configuration, which can be hashed: prefixes with the same key have the same future
    """

    __slots__ = ("tracker", "parent", "token_id", "key")

    def __init__(self, tracker: Tracker, parent: State | None, token_id: int | None, key: Configuration):
        self.tracker, self.parent, self.token_id, self.key = tracker, parent, token_id, key

    @property
    def settled(self) -> Reading:
        """What has been read without the tail that may still grow."""
        return self.key.settled

    @property
    def now(self) -> Reading:
        """What has been read, the tail included."""
        return self.key.now

    @property
    def finished(self) -> bool:
        """Whether the text has ended."""
        return self.key.now.finished

    @property
    def states(self) -> tuple[tuple[int, int | None], ...]:
        """(status, value) of every literal: 0 not satisfied, 1 in progress, 2 satisfied."""
        return self.key.now.states

    @property
    def statuses(self) -> dict[Rule, tuple[int, int | None]]:
        """Literal -> (status, value)."""
        return dict(zip(self.tracker.literals, self.states, strict=True))

    @property
    def flag_ids(self) -> tuple[int, ...]:
        """The flag of every group of input tokens, by number."""
        return self.tracker.flag_ids(self.states)

    @property
    def flags(self) -> list[str]:
        """The flag of every input token."""
        strings, flag_ids = self.tracker.table.strings, self.flag_ids
        return [strings[flag_ids[group]] for group in self.tracker.groups]

    @property
    def broken(self) -> tuple[bool, ...]:
        """Of each literal, whether it does not hold and never will, whatever is written next."""
        return self.tracker.automaton.broken(self.key)

    @property
    def verdict(self) -> str:
        """Of the whole rule: "satisfied", still "possible", or "broken" for good, whatever is written next."""
        return self.tracker.automaton.verdict(self.key)

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
    compress    let predicates share entries of the flag as the paper says; otherwise one entry per literal
    """

    def __init__(self, rule: Rule | str, tokenizer, *, source: str = "", policy: Policy | None = None,
                 table: FlagTable | None = None, compress: bool = True):
        rule = as_rule(rule)
        self._set(rule, tokenizer((source or "") + str(rule))["input_ids"], tokenizer, policy, table, compress)

    @classmethod
    def for_input(cls, rule: Rule | str, input_ids, tokenizer, policy: Policy | None = None,
                  table: FlagTable | None = None, compress: bool = True) -> Tracker:
        """The tracker for an encoder input that is already tokenized; padding may be left in."""
        tracker = cls.__new__(cls)
        tracker._set(as_rule(rule), [int(i) for i in input_ids], tokenizer, policy, table, compress)
        return tracker

    def _set(self, rule, input_ids, tokenizer, policy, table, compress) -> None:
        self.rule, self.literals, self.input_ids = rule, rule.literals, input_ids
        self.reader = reader_for(tokenizer, policy or Policy())
        self.table = table if table is not None else FlagTable()
        self.layout = layout(rule, input_ids, self.reader, compress)
        self.groups = self.layout.groups  # (S,)
        self.automaton = automaton_for(rule, self.reader)
        self._flag_ids: dict[tuple, tuple[int, ...]] = {}  # states of all literals -> flag ids of all groups

    def start(self) -> State:
        """The state before the first token."""
        return State(self, None, None, self.automaton.start)

    def step(self, state: State, token_id: int) -> State:
        """The state after one more token."""
        return state if state.finished else State(self, state, token_id, self.automaton.step(state.key, token_id))

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
        intern = self.table.intern
        columns = ([list(map(intern, self._flags(state.states, unaligned))) for state in states] if unaligned
                   else [state.flag_ids for state in states])
        return np.array(columns, dtype=np.int32).reshape(len(columns), -1)

    def unaligned(self, last: State) -> frozenset[int]:
        """The literals, by number, that a training target which ends in this state has no alignment with."""
        end = last if last.finished else State(self, last, None, self.automaton.end(last.key))
        if end.verdict == "satisfied":
            return frozenset()
        obeyed = {literal for literal, (status, _) in end.statuses.items() if status == 2}
        aligned = {literal for clause in self.rule.cnf() if obeyed.intersection(clause) for literal in clause}
        return frozenset(i for i, literal in enumerate(self.literals) if literal not in aligned)

    def flag_ids(self, states: tuple) -> tuple[int, ...]:
        """The flag of each group, by number, if the literals have these states."""
        flag_ids = self._flag_ids.get(states)
        if flag_ids is None:
            known = self.automaton.flags.setdefault(self.layout.entries, {})  # shared by all inputs that look alike
            if states not in known:
                known[states] = self._flags(states)
            flag_ids = self._flag_ids[states] = tuple(map(self.table.intern, known[states]))
        return flag_ids

    def _flags(self, states: tuple, unaligned: frozenset[int] = frozenset()) -> list[str]:
        shown = {literals: entry(joined([states[i] for i in literals if i not in unaligned]))
                 for group in self.layout.entries for literals in group}
        return [" ".join([shown[literals] for literals in group]) for group in self.layout.entries]
