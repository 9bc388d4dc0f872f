"""Rules: propositional formulas over predicates (paper, section 2.1).

A rule is a predicate, or `And`, `Or`, `Not` over rules.  `str(rule)` is the *input expression*: the very string
that the encoder reads after the source text.  Rules compose with `&`, `|` and `~`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

MAX_DEPTH = 50  # deeper formulas are refused: no rule a person means is nested so deeply
MAX_CLAUSES = 10_000  # a conjunctive normal form can be exponentially longer than its rule


class Rule:
    """What predicates, conjunctions, disjunctions and negations have in common."""

    depth = 1

    def __and__(self, other: Rule) -> Rule:
        return And((self, other))

    def __or__(self, other: Rule) -> Rule:
        return Or((self, other))

    def __invert__(self) -> Rule:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a rule is neither true nor false: join rules with & | ~ instead of and, or, not, "
                        "and ask nretm.check(rule, text) whether a text obeys one")

    def __str__(self) -> str:
        return "".join(text for text, _ in self.fragments())

    def __repr__(self) -> str:
        return str(self)

    def fragments(self, positive: bool = True) -> Iterator[tuple[str, Rule | None]]:
        """The input expression in fragments; a phrase comes with the literal whose variable it is (section 2.3).

        `positive` is false under an odd number of negations: there the literal is the negated predicate.
        """
        raise NotImplementedError

    @property
    def literals(self) -> tuple[Rule, ...]:
        """The distinct literals of the negation normal form, in the order in which they are written."""
        return tuple(dict.fromkeys(_literals(self.nnf())))

    def nnf(self) -> Rule:
        """The same rule with negation pushed down to the predicates."""
        return _nnf(self, positive=True)

    def cnf(self) -> tuple[tuple[Rule, ...], ...]:
        """Conjunctive normal form: clauses of literals, each clause a disjunction; tautologies are dropped."""
        return tuple(dict.fromkeys(_clauses(self.nnf())))

    def contradictions(self) -> list[str]:
        """What can be seen at once to be impossible, in words; an empty list proves nothing.

        It is said of texts that have a word: whatever is asked of every sentence is true of a text without any.
        """
        try:
            clauses = self.cnf()
        except ValueError:  # too many clauses to look at
            return []
        units = [clause[0] for clause in clauses if len(clause) == 1]
        found = [why for a, b in itertools.combinations(units, 2) if (why := _conflict(a, b))]
        if not found:  # no two of them conflict: look at them all together
            wanted = [unit for unit in units if not isinstance(unit, Not)]
            found = [why for unit in wanted if (why := unit.excludes_together(wanted))]
        for clause in clauses:
            whys = [next(filter(None, (_conflict(unit, literal) for unit in units)), None) for literal in clause]
            if len(clause) > 1 and all(whys):
                found.append(f"every alternative of ({' || '.join(map(_written, clause))}) is ruled out: "
                             + "; ".join(whys))
        return list(dict.fromkeys(found))


@dataclass(frozen=True, eq=False, repr=False)
class _Joined(Rule):
    """A conjunction or disjunction; nested ones of the same kind are flattened, so `(a & b) & c == a & b & c`."""

    parts: tuple[Rule, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            _must_be_rule(part)
        flat = tuple(itertools.chain.from_iterable(
            part.parts if type(part) is type(self) else (part,) for part in self.parts))
        if len(flat) < 2:
            raise ValueError(f"{type(self).__name__} joins two rules or more, got {len(flat)}")
        object.__setattr__(self, "parts", flat)
        _set_depth(self, 1 + max(part.depth for part in flat))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.parts))

    def fragments(self, positive=True):
        for i, part in enumerate(self.parts):
            if i:
                yield self.sign, None
            yield from _operand(part, positive)


class And(_Joined):
    """All of its parts hold."""

    sign = " & "


class Or(_Joined):
    """At least one of its parts holds."""

    sign = " || "


@dataclass(frozen=True, repr=False)
class Not(Rule):
    """Its rule does not hold.  The paper prints it as `(not InSen(tenacity, 3))`."""

    rule: Rule

    def __post_init__(self) -> None:
        _must_be_rule(self.rule)
        _set_depth(self, 1 + self.rule.depth)

    def fragments(self, positive=True):
        yield "not ", None
        yield from _operand(self.rule, not positive)


def _operand(rule: Rule, positive: bool):
    parentheses = isinstance(rule, (_Joined, Not))
    if parentheses:
        yield "(", None
    yield from rule.fragments(positive)
    if parentheses:
        yield ")", None


def _must_be_rule(thing: object) -> None:
    if not isinstance(thing, Rule):
        raise TypeError(f"{thing!r} is not a rule: a rule is a predicate such as Len(2, 15), or rules joined "
                        "with & | ~; nretm.parse reads one from text")


def _set_depth(rule: Rule, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"the rule is nested more than {MAX_DEPTH} deep: write it flatter, for example in "
                         "conjunctive normal form")
    object.__setattr__(rule, "depth", depth)


def _nnf(rule: Rule, positive: bool) -> Rule:
    match rule:
        case Not():
            return _nnf(rule.rule, not positive)
        case _Joined():
            kind = type(rule) if positive else {And: Or, Or: And}[type(rule)]
            return kind(tuple(_nnf(part, positive) for part in rule.parts))
        case _:
            return rule if positive else Not(rule)


def _literals(nnf: Rule) -> Iterator[Rule]:
    if isinstance(nnf, _Joined):
        for part in nnf.parts:
            yield from _literals(part)
    else:
        yield nnf


def _clauses(nnf: Rule) -> list[tuple[Rule, ...]]:
    if isinstance(nnf, And):
        return [clause for part in nnf.parts for clause in _clauses(part)]
    if not isinstance(nnf, Or):
        return [(nnf,)]
    clauses: list[tuple[Rule, ...]] = [()]
    for part in nnf.parts:  # (a & b) | (c & d)  ->  (a | c) & (a | d) & (b | c) & (b | d)
        clauses = [left + right for left in clauses for right in _clauses(part)]
        if len(clauses) > MAX_CLAUSES:
            raise ValueError(f"the conjunctive normal form has more than {MAX_CLAUSES} clauses: "
                             "write the rule as a conjunction of short disjunctions")
    distinct = [tuple(dict.fromkeys(clause)) for clause in clauses]
    return [clause for clause in distinct if not any(negation(literal) in clause for literal in clause)]


def negation(literal: Rule) -> Rule:
    """The opposite literal."""
    return literal.rule if isinstance(literal, Not) else Not(literal)


def predicate_of(literal: Rule) -> Rule:
    """The predicate of a literal, without its negation."""
    return literal.rule if isinstance(literal, Not) else literal


def _written(literal: Rule) -> str:
    return f"({literal})" if isinstance(literal, Not) else str(literal)


def _conflict(a: Rule, b: Rule) -> str | None:
    """Why two literals cannot both hold, or None if nothing forbids it at sight."""
    if a == negation(b):
        return f"{a} and {b} exclude each other"
    if isinstance(a, Not) or isinstance(b, Not):
        return None
    return a.excludes(b) or b.excludes(a)
