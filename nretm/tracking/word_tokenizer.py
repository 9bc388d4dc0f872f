"""Words as tokens: what a state matrix is drawn with where no model is at hand.

It has of a tokenizer what a Tracker uses, and takes up new words as they come.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"\s*(?:\w+(?:['’.-]\w+)*|[^\w\s])")


class WordTokenizer:
    """Cuts a text at spaces and punctuation; "don't", "3.5" and "well-known" stay whole.

    Each token carries the space before it, so that the tokens spell the text again.
    """

    unk_token, unk_token_id, eos_token, eos_token_id = None, None, "</s>", 0
    added_tokens_decoder: dict[int, str] = {}

    def __init__(self):
        self._tokens = [self.eos_token]
        self._ids = {self.eos_token: self.eos_token_id}

    def __call__(self, text: str = "", text_target: str | None = None) -> dict[str, list[int]]:
        text = text if text_target is None else text_target
        return {"input_ids": [self._id(token.replace(" ", "▁")) for token in _WORDS.findall(text)]}

    @property
    def all_special_ids(self) -> list[int]:
        return [self.eos_token_id]

    def convert_ids_to_tokens(self, token_id: int) -> str | None:
        return self._tokens[token_id] if 0 <= token_id < len(self._tokens) else None

    def convert_tokens_to_ids(self, token: str) -> int | None:
        return self._ids.get(token)

    def _id(self, token: str) -> int:
        if token not in self._ids:
            self._ids[token] = len(self._tokens)
            self._tokens.append(token)
        return self._ids[token]
