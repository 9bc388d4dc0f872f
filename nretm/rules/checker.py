"""Does a finished text obey a rule?  The judge of every constraint metric (paper, section 3: CSR).

The text is read directly, sentence by sentence.  No state machine is shared with the tracker, so that each can catch
the other's mistakes; the tests hold one against the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from nretm.rules.formula import And, Not, Or, Rule, predicate_of
from nretm.rules.parser import as_rule
from nretm.text.policy import Policy


@dataclass(frozen=True)
class Span:
    """Words begin..end-1 of a sentence (sentences from 1, words from 0)."""

    sentence: int
    begin: int
    end: int


@dataclass(frozen=True)
class Text:
    """A finished text as predicates read it: folded words, by sentence."""

    text: str
    policy: Policy = field(default_factory=Policy)

    @cached_property
    def sentences(self) -> list[list[str]]:
        return [[self.policy.key(word) for word in words] for words in self.written]

    @cached_property
    def written(self) -> list[list[str]]:
        """Words as they are written, by sentence."""
        return [self.policy.words_of(sentence) for sentence in self.policy.sentences_of(self.text)]

    @cached_property
    def paragraphs(self) -> list[str]:
        return self.policy.paragraphs_of(self.text)

    @property
    def written_text(self) -> str:
        """The text as it is written, without the spaces around it and without separators."""
        if self.policy.separator is None:
            return self.text.strip()
        return "".join(self.policy.written_sentences(self.text))

    def words(self, k: int | None = None) -> list[str]:
        """The words of sentence k (none if there is no such sentence), or of the whole text."""
        if k is None:
            return [word for sentence in self.sentences for word in sentence]
        return self.sentences[k - 1] if k <= len(self.sentences) else []

    def length(self, k: int | None = None) -> int | None:
        """How many words; None for a sentence that does not exist."""
        return None if k is not None and k > len(self.sentences) else len(self.words(k))

    def stop_count(self, k: int | None = None) -> int | None:
        """How many stop words; None for a sentence that does not exist."""
        if self.length(k) is None:
            return None
        return sum(word in self.policy.stop_words for word in self.words(k))

    def positions(self, k: int | None = None) -> list[str]:
        """The words whose positions count: those that are not punctuation."""
        return [word for word in self.words(k) if not self.policy.is_punctuation(word)]

    def characters(self, k: int | None = None) -> int | None:
        """How many characters, spaces included; None for a sentence that does not exist."""
        if k is None:
            return len(self.written_text)
        sentences = self.policy.written_sentences(self.text)
        return len(sentences[k - 1]) if k <= len(sentences) else None

    def sentences_in(self, p: int) -> int:
        """How many sentences paragraph p has."""
        return len(self.policy.written_sentences(self.paragraphs[p - 1]))

    def endings(self, p: int) -> list[str]:
        """What follows, to the end of paragraph p, from each of its sentences on."""
        if p > len(self.paragraphs):
            return []
        paragraph, begin, endings = self.paragraphs[p - 1], 0, []
        for sentence in self.policy.written_sentences(paragraph):
            begin = paragraph.index(sentence, begin)
            endings.append(paragraph[begin:])
            begin += len(sentence)
        return endings

    def mentions(self, phrase: str, k: int | None = None) -> list[Span]:
        """Where the phrase stands, in sentence k or anywhere."""
        return [Span(number, begin, begin + len(way))
                for number, words in enumerate(self.sentences, 1) if k in (None, number)
                for way in self.policy.phrase(phrase)
                for begin in range(len(words) - len(way) + 1)
                if tuple(words[begin:begin + len(way)]) == way]


@dataclass(frozen=True)
class Verdict:
    """Whether a text obeys a rule, as a whole and literal by literal (a negated predicate is a literal).

    found   what the text has in the place of each literal, in a few words: "9 words" for Len(2, 14)
    broken  the literals that the rule fails on; an alternative is not among them where another one holds
    """

    satisfied: bool
    by_predicate: dict[Rule, bool]
    found: dict[Rule, str] = field(repr=False)
    broken: tuple[Rule, ...] = field(repr=False)

    def __bool__(self) -> bool:
        return self.satisfied

    def why(self) -> str:
        """What is broken and what was found instead; empty if nothing is."""
        return ", ".join(f"{literal} ({self.found[literal]})" if self.found[literal] else str(literal)
                         for literal in self.broken)


def check(rule: Rule | str, text: str, tolerance: int = 0, policy: Policy | None = None) -> Verdict:
    """Whether `text` obeys `rule`; Len and StopWordCount may be off by `tolerance` (paper, Table A).

    A tolerance loosens: a negated Len still asks for another length than its own.
    """
    if not isinstance(text, str):
        raise TypeError(f"check reads a text, not {type(text).__name__}: decode the tokens first")
    if tolerance < 0:
        raise ValueError(f"the tolerance must not be negative, got {tolerance}")
    rule = as_rule(rule)
    read = Text(text, policy or Policy())
    by_predicate = {literal: not literal.rule.holds(read) if isinstance(literal, Not)
                    else literal.holds(read, tolerance) for literal in rule.literals}
    found = {literal: predicate_of(literal).found(read) for literal in rule.literals}
    broken = tuple(dict.fromkeys(_broken(rule.nnf(), by_predicate)))
    return Verdict(not broken, by_predicate, found, broken)


def _broken(nnf: Rule, by_predicate: dict[Rule, bool]) -> list[Rule]:
    """The literals that a rule fails on; none if it holds."""
    match nnf:
        case And():
            return [literal for part in nnf.parts for literal in _broken(part, by_predicate)]
        case Or():
            parts = [_broken(part, by_predicate) for part in nnf.parts]
            return [literal for part in parts for literal in part] if all(parts) else []
        case _:
            return [] if by_predicate[nnf] else [nnf]
