"""Words and sentences: what `Len` counts and where sentence k begins (paper, sections 2.2 and 3.1).

A `Policy` says how text is cut.  This module reads *finished* text; `tracking/growing_text.py` reads text as it grows
and must agree.  Three ways to count words are exact: the paper's, COLLIE's and IFEval's (tests/text/test_peers.py holds
them against the peers' own code).  A paragraph ends with an empty line, and so does a sentence that stands before one.
"""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import zip_longest

from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.tokenize.punkt import PunktTokenizer
from nltk.tokenize.regexp import RegexpTokenizer

from nretm.text.stop_words import ENGLISH

TERMINATORS = ".!?"
OPENERS = "\"'`([{<“‘«"
CLOSERS = "\"')]}>”’»"
# A period after these does not end a sentence, nor does one after an initial ("J.", "U.S.", "a.m.").
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st vs e.g i.e cf Mr Mrs Ms Mx Dr Prof St Mt Messrs Mme Mlle Sr Jr "
    "Gen Col Maj Capt Cmdr Lt Sgt Cpl Pvt Rev Hon Gov Sen Rep Pres".split())
_INITIALS = re.compile(r"[A-HJ-Z]|[A-Za-z](\.[A-Za-z])+")  # "J." or "U.S." without its last period
_PUNCTUATION = re.compile(r"[^\w\s]+|_+")
# Most sentences are words with an ending or a comma at most, and a full stop.  Of NLTK's thirty patterns only a few can
# match there, and two patterns do the same: real text that is tracked for the first time takes a quarter of the time.
_PLAIN_WORD = r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?:n't|N'T|'[sSmMdD]|'ll|'LL|'re|'RE|'ve|'VE)?,?"
_CUT_IN_TWO = r"\b(?i:cannot|gimme|gonna|gotta|lemme|wanna)(?:n't|N'T|\b)"
_PLAIN = re.compile(rf"(?!.*{_CUT_IN_TWO}){_PLAIN_WORD}(?: {_PLAIN_WORD})*[!?]*[.]?")
_PLAIN_PARTS = re.compile(r"[\w-]+?(?=n't|N'T)|n't|N'T|'?[\w-]+|[,.!?]")
_tokenizer, _word_characters = NLTKWordTokenizer(), RegexpTokenizer(r"\w+")
_ASCII_WORDS = re.compile(r"\w+")  # the same where no letter is beyond ASCII, and fast


def fold(text: str) -> str:
    """Words are compared without regard to case and to how accents are encoded."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).casefold()


def ends_sentence(chunk: str, after: str = "") -> bool:
    """Whether a run of characters without spaces ends its sentence; `after` is what follows it so far.

    Closing quotes and brackets belong to the sentence that they close, unless a small letter follows them: `"Why?" she
    said.` is one sentence.  Abbreviations, initials and ellipses do not end one; a decimal cannot, because its point
    stands inside the run.
    """
    body = chunk.rstrip(CLOSERS)
    if not body or body[-1] not in TERMINATORS or (len(body) < len(chunk) and after.lstrip()[:1].islower()):
        return False
    if body[-1] != ".":
        return True
    stem = body[:-1].lstrip(OPENERS)
    return not (stem.endswith(".") or stem in ABBREVIATIONS or _INITIALS.fullmatch(stem))


def treebank(sentence: str) -> list[str]:
    """Penn Treebank words, punctuation included: what the paper counts."""
    if _PLAIN.fullmatch(sentence):
        return _PLAIN_PARTS.findall(sentence)
    return _tokenizer.tokenize(sentence)


def collie(sentence: str) -> list[str]:
    """Words as COLLIE counts them: Treebank words without ASCII punctuation and without the periods around them.

    Quotation marks, which Treebank writes as `` and '', dashes and all other signs beyond ASCII are words, and so is an
    ellipsis: it is a word without characters.  (`in` is meant: COLLIE drops what is *part of* the punctuation string.)
    """
    return [word.strip(".") for word in treebank(sentence) if word not in string.punctuation]


def collie_key(word: str) -> str:
    """What COLLIE compares: lower case, without punctuation around the word unless there is nothing else."""
    return word.lower().strip(string.punctuation + " ") or word


def ifeval(sentence: str) -> list[str]:
    r"""Words as IFEval counts them: runs of word characters, `\w+`."""
    return _ASCII_WORDS.findall(sentence) if sentence.isascii() else _word_characters.tokenize(sentence)


WORD_POLICIES = {"treebank": treebank, "collie": collie, "ifeval": ifeval}
OTHER_NAMES = {"no-punctuation": "collie", "word-characters": "ifeval"}
SENTENCE_POLICIES = ("terminators", "punkt")
PARAGRAPH_END = "\n\n"


@lru_cache(maxsize=1)
def _punkt() -> PunktTokenizer:
    try:
        return PunktTokenizer("english")
    except LookupError:
        raise ValueError('Policy(sentences="punkt") needs NLTK\'s punkt_tab data: run `python -m nltk.downloader '
                         "punkt_tab`, or let NLTK_DATA name the folder that has it") from None


@dataclass(frozen=True)
class Policy:
    """How a text is cut into sentences and words, and which words are stop words.

    words       "treebank" (default, the paper's), "collie" or "ifeval": as these benchmarks count
    separator   None: a sentence ends with `.`, `!` or `?`; or a token such as "</s>" that stands between sentences
    stop_words  NLTK's English list unless replaced; the paper does not say which list it used
    sentences   "terminators" (default) or "punkt": as NLTK's punkt cuts them.  Punkt looks ahead, so that it judges
                finished texts only; a tracker refuses it
    """

    words: str = "treebank"
    separator: str | None = None
    stop_words: frozenset[str] = field(default=ENGLISH, repr=False)
    sentences: str = "terminators"

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", OTHER_NAMES.get(self.words, self.words))
        if self.words not in WORD_POLICIES:
            raise ValueError(f"unknown word policy {self.words!r}: choose one of {', '.join(WORD_POLICIES)}")
        if self.separator is not None and not self.separator.strip():
            raise ValueError("the separator between sentences must be a visible token such as '</s>'")
        if self.sentences not in SENTENCE_POLICIES:
            raise ValueError(f"unknown sentence policy {self.sentences!r}: choose one of "
                             + ", ".join(SENTENCE_POLICIES))
        if self.separator is not None and self.sentences == "punkt":
            raise ValueError("choose either a separator between sentences or punkt, not both")
        object.__setattr__(self, "stop_words", frozenset(map(fold, self.stop_words)))

    def __hash__(self) -> int:  # trackers look their policy up often: hash the stop words once
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.words, self.separator, self.stop_words, self.sentences))

    def sentences_of(self, text: str) -> list[str]:
        """The sentences of a finished text; what is left without a terminator at the end is a sentence too."""
        return [" ".join(sentence.split()) for sentence in self.written_sentences(text)]

    def written_sentences(self, text: str) -> list[str]:
        """The same with the spaces and line breaks that stand in them."""
        if self.separator is not None:
            lines = [line.strip() for line in text.split(self.separator)]
            return lines if lines[-1] else lines[:-1]
        if self.sentences == "punkt":
            return _punkt().tokenize(text)
        return [sentence for paragraph in self.paragraphs_of(text) for sentence in _by_terminators(paragraph)]

    def paragraphs_of(self, text: str) -> list[str]:
        """Paragraphs are separated by an empty line, as COLLIE has it: a second one makes another paragraph."""
        if self.separator is not None:
            return [text.strip()] if text.strip() else []
        return [paragraph.strip() for paragraph in text.strip().split(PARAGRAPH_END)] if text.strip() else []

    def words_of(self, sentence: str) -> list[str]:
        """The words of one sentence as they are written."""
        return WORD_POLICIES[self.words](sentence)

    def key(self, word: str) -> str:
        """The form in which words are compared."""
        return collie_key(word) if self.words == "collie" else fold(word)

    def is_punctuation(self, word: str) -> bool:
        """Whether a word is passed over where positions are counted; the peers drop punctuation anyway."""
        return self.words == "treebank" and bool(_PUNCTUATION.fullmatch(word))

    def phrase(self, phrase: str) -> frozenset[tuple[str, ...]]:
        """The word sequences that count as a mention of the phrase.

        There may be two: a final period is a word of its own at the end of a sentence and not within ("U.S.").
        """
        return _phrase(self.words, phrase)


def _by_terminators(text: str) -> list[str]:
    sentences, begin, chunks = [], 0, list(re.finditer(r"\S+", text))
    for chunk, after in zip_longest(chunks, chunks[1:]):
        if ends_sentence(chunk.group(), after.group() if after else ""):
            sentences.append(text[begin:chunk.end()].strip())
            begin = chunk.end()
    return [*sentences, rest] if (rest := text[begin:].strip()) else sentences


@lru_cache(maxsize=100_000)
def _phrase(words: str, phrase: str) -> frozenset[tuple[str, ...]]:
    cut, key = WORD_POLICIES[words], collie_key if words == "collie" else fold
    ways = frozenset(tuple(map(key, way)) for way in (cut(phrase), cut(f"{phrase} x")[:-1]))
    if () in ways:
        raise ValueError(f"the phrase {phrase!r} has no words under the word policy {words!r}, "
                         "so that no text can ever mention it")
    return ways
