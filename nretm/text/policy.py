"""Words and sentences: what `Len` counts and where sentence k begins (paper, sections 2.2 and 3.1).

A `Policy` says how text is cut.  This module reads *finished* text; `reader.py` reads text as it grows and must agree.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from nltk.tokenize.destructive import NLTKWordTokenizer

from nretm.text.stop_words import ENGLISH

TERMINATORS = ".!?"
OPENERS = "\"'`([{<“‘«"
CLOSERS = "\"')]}>”’»"
# A period behind these does not end a sentence, nor does one behind an initial ("J.", "U.S.", "a.m.").
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st vs e.g i.e cf Mr Mrs Ms Mx Dr Prof St Mt Messrs Mme Mlle Sr Jr "
    "Gen Col Maj Capt Cmdr Lt Sgt Cpl Pvt Rev Hon Gov Sen Rep Pres".split())
_INITIALS = re.compile(r"[A-HJ-Z]|[A-Za-z](\.[A-Za-z])+")  # "J." or "U.S." without its last period
_PUNCTUATION = re.compile(r"[^\w\s]+|_+")
# Most sentences are words, spaces and a full stop: NLTK's dozens of patterns have nothing else to find in them.
_PLAIN = re.compile(r"[A-Za-z]+(?: [A-Za-z]+)*[.!?]")
_CUT_IN_TWO = frozenset(("cannot", "gimme", "gonna", "gotta", "lemme", "wanna"))
_tokenizer = NLTKWordTokenizer()


def fold(text: str) -> str:
    """Words are compared without regard to case and to how accents are encoded."""
    return unicodedata.normalize("NFC", text).casefold()


def ends_sentence(chunk: str) -> bool:
    """Whether a run of characters without spaces ends its sentence.

    Closing quotes and brackets belong to the sentence that they close.  Abbreviations, initials and ellipses
    do not end one; a decimal cannot, because its point stands inside the run.
    """
    body = chunk.rstrip(CLOSERS)
    if not body or body[-1] not in TERMINATORS:
        return False
    if body[-1] != ".":
        return True
    stem = body[:-1].lstrip(OPENERS)
    return not (stem.endswith(".") or stem in ABBREVIATIONS or _INITIALS.fullmatch(stem))


def treebank(sentence: str) -> list[str]:
    """Penn Treebank words, punctuation included: what the paper counts."""
    if _PLAIN.fullmatch(sentence):
        words = sentence[:-1].split(" ")
        if _CUT_IN_TWO.isdisjoint(map(str.lower, words)):
            return [*words, sentence[-1]]
    return _tokenizer.tokenize(sentence)


def no_punctuation(sentence: str) -> list[str]:
    """Treebank words without those that are punctuation only, as COLLIE counts."""
    return [word for word in treebank(sentence) if not _PUNCTUATION.fullmatch(word)]


def word_characters(sentence: str) -> list[str]:
    r"""Runs of word characters, `\w+`, as IFEval counts."""
    return re.findall(r"\w+", sentence)


WORD_POLICIES = {"treebank": treebank, "no-punctuation": no_punctuation, "word-characters": word_characters}


@dataclass(frozen=True)
class Policy:
    """How a text is cut into sentences and words, and which words are stop words.

    words       "treebank" (default, the paper's), "no-punctuation" (COLLIE's) or "word-characters" (IFEval's)
    separator   None: a sentence ends with `.`, `!` or `?`; or a token such as "</s>" that stands between sentences
    stop_words  NLTK's English list unless replaced; the paper does not say which list it used
    """

    words: str = "treebank"
    separator: str | None = None
    stop_words: frozenset[str] = field(default=ENGLISH, repr=False)

    def __post_init__(self) -> None:
        if self.words not in WORD_POLICIES:
            raise ValueError(f"unknown word policy {self.words!r}: choose one of {', '.join(WORD_POLICIES)}")
        if self.separator is not None and not self.separator.strip():
            raise ValueError("the separator between sentences must be a visible token such as '</s>'")
        object.__setattr__(self, "stop_words", frozenset(map(fold, self.stop_words)))

    def __hash__(self) -> int:  # trackers look their policy up often: hash the stop words once
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.words, self.separator, self.stop_words))

    def sentences(self, text: str) -> list[str]:
        """The sentences of a finished text; what is left without a terminator at the end is a sentence too."""
        if self.separator is not None:
            lines = [" ".join(line.split()) for line in text.split(self.separator)]
            return lines if lines[-1] else lines[:-1]
        sentences, begin = [], 0
        for chunk in re.finditer(r"\S+", text):
            if ends_sentence(chunk.group()):
                sentences.append(text[begin:chunk.end()])
                begin = chunk.end()
        rest = text[begin:]
        return [" ".join(s.split()) for s in (*sentences, rest) if s.strip()]

    def words_of(self, sentence: str) -> list[str]:
        """The words of one sentence as they are written."""
        return WORD_POLICIES[self.words](sentence)

    def phrase(self, phrase: str) -> frozenset[tuple[str, ...]]:
        """The word sequences that count as a mention of the phrase.

        There may be two: a final period is a word of its own at the end of a sentence and not within ("U.S.").
        """
        return _phrase(self.words, phrase)


@lru_cache(maxsize=100_000)
def _phrase(words: str, phrase: str) -> frozenset[tuple[str, ...]]:
    cut = WORD_POLICIES[words]
    ways = frozenset(tuple(map(fold, way)) for way in (cut(phrase), cut(f"{phrase} x")[:-1]))
    if () in ways:
        raise ValueError(f"the phrase {phrase!r} has no words under the word policy {words!r}, "
                         "so that no text can ever mention it")
    return ways
