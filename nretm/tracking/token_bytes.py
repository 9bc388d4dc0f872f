"""From token ids to text: what each token of a tokenizer adds to the text, in bytes.

SentencePiece, byte-level BPE, WordPiece and word-level tokenizers write spaces in four ways, and some cut a character
over several tokens.  Everything above this module sees bytes only, and never a raw subword piece.
"""

from __future__ import annotations

import json
import re

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


def _byte_of_character() -> dict[str, int]:
    """Byte-level BPE writes each byte as a printable character: visible Latin-1 as itself, the rest from U+0100 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(b): b for b in visible} | {chr(256 + i): b for i, b in enumerate(hidden)}


_BYTES = _byte_of_character()


class TokenBytes:
    """`pieces[token_id]` is what the token adds to the text; None for special tokens, which add nothing."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.special = frozenset(tokenizer.all_special_ids)
        self.unknown_id = tokenizer.unk_token_id
        self.added = {i: str(token) for i, token in tokenizer.added_tokens_decoder.items()}
        self._known: dict[int, bytes | None] = {}
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._decoder = backend.decoder if backend is not None else None
        settings = json.loads(backend.to_str())["decoder"] if backend is not None else {"type": "Metaspace"}
        self._kinds = _kinds(settings)

    def __getitem__(self, token_id: int) -> bytes | None:
        try:
            return self._known[token_id]
        except KeyError:
            piece = self._known[token_id] = None if token_id in self.special else self._piece(token_id)
            return piece

    def _piece(self, token_id: int) -> bytes:
        token = self.tokenizer.convert_ids_to_tokens(token_id)
        if token is None:
            raise ValueError(f"token id {token_id} is not in the tokenizer's vocabulary: "
                             "is this the tokenizer of the model that wrote it?")
        if token_id in self.added:  # added tokens are written as they are
            return token.encode()
        if "ByteLevel" in self._kinds:
            return bytes(_BYTES[c] for c in token) if all(c in _BYTES for c in token) else token.encode()
        if byte := _BYTE_TOKEN.fullmatch(token):
            if "ByteFallback" in self._kinds or self._decoder is None:
                return bytes([int(byte.group(1), 16)])
        if self._decoder is None:
            if "Metaspace" in self._kinds:  # a SentencePiece model without a fast backend
                return token.replace("▁", " ").encode()
            return f" {token}".encode()  # no decoder: tokens are words
        return self._decoder.decode(["x", token]).removeprefix("x").encode()

    def shown(self, token_id: int) -> str:
        """A token as a picture labels it."""
        piece = self[token_id]
        if piece is None:
            return self.tokenizer.convert_ids_to_tokens(token_id)
        return piece.decode(errors="replace").strip()


def _kinds(decoder: dict | None) -> set[str]:
    if decoder is None:
        return {"Words"}
    return {decoder["type"]}.union(*(_kinds(part) for part in decoder.get("decoders", ())))
