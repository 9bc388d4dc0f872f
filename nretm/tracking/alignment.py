"""Where the rule stands in the encoder's input: which input tokens are the variables of which literal (section 2.3).

The encoder reads the source text and then the input expression.  Both are looked for in the *text* that the
input tokens spell, so that it does not matter how a tokenizer cuts words, writes spaces, lowers case or drops accents.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import lru_cache

from nretm.rules.formula import Rule, predicate_of
from nretm.tracking.growing_text import TextReader

UNKNOWN = "\ufffc"  # stands for a token that the vocabulary could not spell
MOST_UNKNOWN = 20  # in the expression; beyond this its alignment would be guesswork


def variables_of(rule: Rule, input_ids: list[int], reader: TextReader) -> list[frozenset[int] | None]:
    """For each literal of the rule the input tokens that are its variables; None: none, so that all tokens show it."""
    text, owners = _spelled(input_ids, reader)
    expression, phrases = _expression(rule)
    begin, owners_of_expression = _find(expression, text, owners)
    if begin is None:
        raise ValueError("the encoder's input does not end with the rule's input expression: it was given "
                         f"{_shorten(reader.text(input_ids))!r} and the rule is {_shorten(str(rule))!r}; "
                         "tokenize source + str(rule)")
    found: dict[Rule, set[int]] = {}
    for literal, start, end in phrases:
        tokens = found.setdefault(literal, set())
        for first, last in owners_of_expression[start:end]:
            tokens.update(range(first, last + 1))
    in_source = [literal for literal in rule.literals if predicate_of(literal).in_source]
    if in_source:
        sentences = _source_sentences(input_ids, owners[:begin], reader)
        for literal in in_source:
            k = predicate_of(literal).k
            if k > len(sentences):
                raise ValueError(f"{literal} speaks of source sentence {k}, but the source has {len(sentences)} "
                                 f"sentence{'s' * (len(sentences) != 1)} under the separator "
                                 f"{reader.policy.separator!r}")
            found[literal] = sentences[k - 1]
    return [frozenset(found[literal]) if literal in found else None for literal in rule.literals]


@lru_cache(maxsize=100_000)
def _squeezed(text: str) -> str:
    """Text as tokenizers of every habit agree on it: no spaces, no case, no accents."""
    if text.isascii():
        return "".join(text.lower().split())
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(c for c in plain if not (c.isspace() or unicodedata.combining(c)))


def _spelled(input_ids: list[int], reader: TextReader) -> tuple[str, list[tuple[int, int]]]:
    """What the input tokens spell, squeezed, and for each character the first and last token that it comes from."""
    text, owners = [], []
    decoder, since = codecs.getincrementaldecoder("utf-8")(errors="replace"), None
    for i, token_id in enumerate(input_ids):
        piece = reader.token_bytes[token_id]
        if piece is None:
            characters = UNKNOWN if token_id == reader.token_bytes.unknown_id else ""
        else:
            characters = _squeezed(decoder.decode(piece))
        text.append(characters)
        for c in range(len(characters)):
            owners.append((i if since is None or c else since, i))
        if piece:
            unfinished = bool(decoder.getstate()[0])
            since = (i if since is None else since) if unfinished else None
    return "".join(text), owners


def _expression(rule: Rule) -> tuple[str, list[tuple[Rule, int, int]]]:
    """The squeezed input expression and where in it each literal's phrases stand."""
    expression, phrases = "", []
    for text, literal in rule.fragments():
        begin = len(expression)
        expression += _squeezed(text)
        if literal is not None:
            phrases.append((literal, begin, len(expression)))
    return expression, phrases


def _find(expression: str, text: str, owners: list[tuple[int, int]]):
    """Where the expression begins in the text, at whose end it must stand, and the tokens of its characters."""
    if text.endswith(expression):
        begin = len(text) - len(expression)
        return begin, owners[begin:]
    if UNKNOWN in text:  # an unknown token may stand for any characters: let a regular expression fill them in
        for begin in range(max(0, len(text) - len(expression)), len(text)):
            end = text[begin:]
            if (begin and owners[begin - 1] == owners[begin]) or end.count(UNKNOWN) > MOST_UNKNOWN:
                continue
            pattern = "".join("(.+?)" if c == UNKNOWN else re.escape(c) for c in end)
            if match := re.fullmatch(pattern, expression):
                filled = iter(match.groups())
                return begin, [owners[begin + i] for i, c in enumerate(end)
                               for _ in (next(filled) if c == UNKNOWN else c)]
    return None, []


def _source_sentences(input_ids: list[int], owners: list[tuple[int, int]], reader: TextReader) -> list[set[int]]:
    """The input tokens of each sentence of the source, which is what stands before the expression."""
    tokens = range(owners[-1][1] + 1) if owners else range(0)
    sentences: list[set[int]] = [set()]
    if reader.separator_id is not None:
        for i in tokens:
            if input_ids[i] == reader.separator_id:
                sentences.append(set())
            elif reader.token_bytes[input_ids[i]] is not None:
                sentences[-1].add(i)
        return sentences if sentences[-1] else sentences[:-1]
    unknown = reader.token_bytes.unknown_id
    written = b"".join(UNKNOWN.encode() if input_ids[i] == unknown else reader.token_bytes[input_ids[i]] or b""
                       for i in tokens).decode(errors="replace")
    lengths = [len(_squeezed(sentence)) for sentence in reader.policy.sentences_of(written)]
    bounds = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    return [{token for first, last in owners[begin:end] for token in range(first, last + 1)}
            for begin, end in zip(bounds, bounds[1:], strict=False)]


def _shorten(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:60]} … {text[-90:]}"
