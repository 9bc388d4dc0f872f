"""From text to rule: the grammar of the paper's input expressions and of the signs that people type.

    rule        = conjunction  { "||" conjunction }         also | ∨ or
    conjunction = negation { "&" negation }                 also && ∧ and
    negation    = "not" negation | "(" rule ")" | literal   also ! ~ ¬
    literal     = name "(" [ argument { "," argument } ] ")"
    argument    = number | range | "every" | phrase         10..20 10.. ..4; "quoted" if it has commas or parentheses

Nothing is ever evaluated; whatever the input, the outcome is a rule or a `RuleSyntaxError`.
"""

from __future__ import annotations

import difflib
import re

from nretm.rules.arguments import Phrase, kinds_of, problem_with, read_argument, wanted
from nretm.rules.formula import MAX_DEPTH, And, Not, Or, Rule
from nretm.rules.predicates import REGISTRY, Predicate

MAX_LENGTH = 100_000  # characters; longer input is a file given by mistake

_SIGNS = {"&": "and", "&&": "and", "∧": "and", "|": "or", "||": "or", "∨": "or", "!": "not", "~": "not", "¬": "not"}
_SIGN = re.compile(r"&&|\|\||[&|∧∨!~¬]")
_NAME = re.compile(r"[^\W\d]\w*")
_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|“([^”]*)”|\'((?:[^\'\\]|\\.)*)\'(?=\s*[,)])', re.DOTALL)
_BARE = re.compile(r'[^,()"“”]*')


class RuleSyntaxError(ValueError):
    """A rule that cannot be read: what is wrong, at which position, and a caret under it."""

    def __init__(self, problem: str, text: str, position: int):
        self.problem, self.text, self.position = problem, text, position
        begin, end = max(0, position - 50), position + 30
        window = re.sub(r"\s", " ", text[begin:end])
        left, right = "…" if begin else "", "…" if end < len(text) else ""
        caret = " " * (len(left) + position - begin) + "^"
        super().__init__(f"{problem} (position {position + 1})\n  {left}{window}{right}\n  {caret}")


def parse(text: str) -> Rule:
    """The rule that `text` spells; a RuleSyntaxError, which is a ValueError, if it spells none."""
    if not isinstance(text, str):
        raise TypeError(f"parse reads text, not {type(text).__name__}")
    parser = _Parser(text)
    try:
        return parser.rule()
    except RuleSyntaxError:
        raise
    except ValueError as problem:  # a rule that reads well and is refused all the same
        raise parser.fail(str(problem)) from None


def as_rule(rule: Rule | str) -> Rule:
    """Rules may be given as text wherever one is wanted."""
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str):
        return parse(rule)
    raise TypeError(f"a rule or its text is wanted here, not {type(rule).__name__}")


class _Parser:
    """Recursive descent; the depth is counted, so that it cannot exhaust Python's stack."""

    def __init__(self, text: str):
        self.text, self.at, self.depth = text, 0, 0
        if len(text) > MAX_LENGTH:
            raise RuleSyntaxError(f"the rule has {len(text)} characters, more than the {MAX_LENGTH} that are read: "
                                  "is it a file's contents?", text, MAX_LENGTH)

    def fail(self, problem: str, position: int | None = None) -> RuleSyntaxError:
        return RuleSyntaxError(problem, self.text, self.at if position is None else position)

    def skip_space(self) -> int:
        self.at = _SPACE.match(self.text, self.at).end()
        return self.at

    def operator(self) -> tuple[str | None, int]:
        """The sign or word that stands here, as and/or/not, and where it ends."""
        begin = self.skip_space()
        if sign := _SIGN.match(self.text, begin):
            return _SIGNS[sign.group()], sign.end()
        word = _NAME.match(self.text, begin)
        return (word.group().lower(), word.end()) if word and word.group().lower() in _SIGNS.values() else (None, begin)

    def rule(self) -> Rule:
        if not self.text.strip():
            raise self.fail("the rule is empty: write one such as InSen(apple, 2) & Len(2, 15)", 0)
        rule = self.disjunction()
        if self.skip_space() < len(self.text):
            if self.text[self.at] == ")":
                raise self.fail("this ')' closes nothing: a '(' is missing or a ')' is too many")
            raise self.fail("expected '&', '||' or the end of the rule here")
        return rule

    def disjunction(self) -> Rule:
        return self.joined("or", Or, lambda: self.joined("and", And, self.negation))

    def joined(self, wanted: str, kind: type[Rule], part) -> Rule:
        parts = [part()]
        while True:
            found, end = self.operator()
            if found != wanted:
                return kind(tuple(parts)) if len(parts) > 1 else parts[0]
            self.at = end
            parts.append(part())

    def negation(self) -> Rule:
        self.depth += 1
        if self.depth > 2 * MAX_DEPTH:
            raise self.fail(f"the rule is nested more than {2 * MAX_DEPTH} deep: write it flatter")
        found, end = self.operator()
        begin = self.at
        if found == "not":
            self.at = end
            rule = Not(self.negation())
        elif found:
            raise self.fail(f"{self.text[begin:end]!r} needs a predicate on its left")
        elif self.text.startswith("(", begin):
            self.at += 1
            rule = self.disjunction()
            if self.skip_space() >= len(self.text):
                raise self.fail("this '(' is never closed: a ')' is missing", begin)
            if self.text[self.at] != ")":
                raise self.fail("expected '&', '||' or ')' here")
            self.at += 1
        else:
            rule = self.literal()
        self.depth -= 1
        return rule

    def literal(self) -> Predicate:
        begin = self.at
        name = _NAME.match(self.text, begin)
        if not name:
            if begin >= len(self.text):
                raise self.fail("the rule ends where a predicate is expected")
            raise self.fail(f"expected a predicate such as InSen(apple, 2), not {self.text[begin]!r}")
        cls = REGISTRY.get(name.group().lower())
        if cls is None:
            raise self.fail(_unknown(name.group()), begin)
        self.at = name.end()
        if self.text[self.skip_space():self.at + 1] != "(":
            raise self.fail(f"{cls.name} needs its arguments in parentheses: {_usage(cls)}")
        return self.make(cls, begin, self.arguments(cls))

    def arguments(self, cls: type[Predicate]) -> list[tuple[str, bool, int]]:
        """Arguments between parentheses, each with whether it was quoted and where it stands."""
        opened, found = self.at, []
        self.at += 1
        while True:
            begin = self.skip_space()
            quoted = _QUOTED.match(self.text, begin)
            if quoted:
                value = next(group for group in quoted.groups() if group is not None)
                value = re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
                self.at = quoted.end()
            else:
                bare = _BARE.match(self.text, begin)
                value, self.at = bare.group().strip(), bare.end()
            found.append((value, bool(quoted), begin))
            if self.skip_space() >= len(self.text):
                raise self.fail("this '(' is never closed: a ')' is missing", opened)
            mark = self.text[self.at]
            if mark not in ",)":
                if mark in '"“”':
                    raise self.fail("a quotation mark that does not enclose the whole phrase: "
                                    "write \"...\" around it and \\\" within")
                raise self.fail(f"expected ',' or ')' in the arguments of {cls.name}: a phrase with parentheses "
                                "goes in quotes, or a ')' is missing")
            self.at += 1
            if mark == ")":
                return [] if len(found) == 1 and found[0][:2] == ("", False) else found

    def make(self, cls: type[Predicate], begin: int, found: list[tuple[str, bool, int]]) -> Predicate:
        names = next((names for names in cls.signatures() if len(names) == len(found)), None)
        if names is None:
            plural = "s" * (len(found) != 1)
            raise self.fail(f"{cls.name} takes {_usage(cls)}, not {len(found)} argument{plural}", begin)
        values = []
        for name, (value, quoted, position) in zip(names, found, strict=True):
            kinds = kinds_of(cls.__dataclass_fields__[name].type)
            if not issubclass(kinds[0], Phrase):
                read = None if quoted else read_argument(kinds, value)
                if read is None:
                    raise self.fail(f"{cls.name}: {name} must be {wanted(kinds)}, not {value[:40]!r}", position)
                value = read
            if problem := problem_with(kinds, value):
                raise self.fail(f"{cls.name}: {name} {problem}", position)
            values.append(value)
        return cls(*values)


def _usage(cls: type[Predicate]) -> str:
    return " or ".join(f"{cls.name}({', '.join(names)})" for names in cls.signatures())


def _unknown(name: str) -> str:
    known = list(dict.fromkeys(cls.name for cls in REGISTRY.values()))
    near = difflib.get_close_matches(name.lower(), REGISTRY, n=1, cutoff=0.5)
    hint = f"did you mean {REGISTRY[near[0]].name}? " if near else ""
    return f"unknown predicate {name[:40]!r}: {hint}the known ones are {', '.join(known)}"
