"""How a tokenizer writes a text: the fewest tokens that spell it, and the words that it writes in one token."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

from nretm.tracking.token_bytes import TokenBytes

_WORD = re.compile(rb" \w+")
ENDINGS = 20  # pieces of letters that are looked at for one that prolongs a word in one token


class Spelling:
    """`spelling(text)` is the shortest sequence of tokens that adds just this text; None if there is none."""

    def __init__(self, tokenizer):
        token_bytes = TokenBytes(tokenizer)
        self.token_ids: dict[bytes, int] = {}  # all that write something
        for token_id in sorted(tokenizer.get_vocab().values()):
            if piece := token_bytes[token_id]:
                self.token_ids.setdefault(piece, token_id)
        words = [piece.decode() for piece in self.token_ids if _WORD.fullmatch(piece)]
        self.words = sorted(words, key=lambda word: not (word[1:].isalpha() and word.islower()))  # plain ones first
        letters = itertools.islice((piece.decode() for piece in self.token_ids if piece.isalpha()), ENDINGS)
        self.endings = ("s", "ed", "y", *letters)  # what may prolong a word
        self._longest = max(map(len, self.token_ids), default=0)
        self._known: dict[str, tuple[int, ...] | None] = {}

    def __call__(self, text: str) -> tuple[int, ...] | None:
        if text not in self._known:
            self._known[text] = self._shortest(text.encode())
        return self._known[text]

    def _shortest(self, written: bytes) -> tuple[int, ...] | None:
        best: list[tuple[int, ...] | None] = [()]  # best[n] spells the first n bytes
        for end in range(1, len(written) + 1):
            ways = [(*best[begin], token_id) for begin in range(max(0, end - self._longest), end)
                    if best[begin] is not None and (token_id := self.token_ids.get(written[begin:end])) is not None]
            best.append(min(ways, key=len, default=None))
        return best[-1]


@lru_cache(maxsize=64)
def spelling_for(tokenizer) -> Spelling:
    """The one spelling of a tokenizer."""
    return Spelling(tokenizer)
