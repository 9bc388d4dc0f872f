"""From tokens to words while the text grows: a lazily built automaton (paper, section 2.3).

What the tracker knows of a text is a pure function of the prefix: after every token the text so far is read as if it
ended there.  The last run of characters may still grow ("art" into "artist", "3." into "3.5", "Dr." into "Dr. Li"), so
a node of the automaton keeps this *tail* open, and an edge says what became settled and how the new tail reads now.
Nodes and edges do not depend on the rule: all trackers of a tokenizer share them, and most steps are one look-up.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from functools import lru_cache

from nretm.text.policy import CLOSERS, PARAGRAPH_END, Policy, ends_sentence
from nretm.tracking.token_bytes import TokenBytes

MAX_TAILS = 300_000  # then the automaton is forgotten and grows again: memory stays bounded
_CHUNKS = re.compile(r"\s*\S+")
_FINAL_PERIOD = re.compile(rf"[^.]\.[{re.escape(CLOSERS)}]*$")  # Treebank splits it off at the very end only


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words in a row, all of one sentence, and whether they end it.

    words    as they are compared
    written  the same words as they are written
    text     the characters, with the spaces and line breaks before them
    breaks   how many paragraphs end before it: one for each empty line
    """

    words: tuple[str, ...]
    stops: int
    ends: bool
    written: tuple[str, ...] = ()
    text: str = ""
    breaks: int = 0


@dataclass(slots=True, eq=False)
class Tail:
    """The open tail of a text: its characters, the bytes of an unfinished character, whether it begins a sentence."""

    tail: str
    rest: bytes
    first: bool
    open: tuple[Stretch, ...] = ()  # the tail as it reads now
    edges: dict[int, Edge] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """What one token does: `settled` is final and replaces the old tail, the new node holds the new one.

    `as_read` says that the settled words are just how the old tail read, which saves reading them again; `silent`
    that the token writes nothing.
    """

    node: Tail
    settled: tuple[Stretch, ...]
    as_read: bool
    silent: bool = False


class TextReader:
    """Reads tokens of one tokenizer by one policy."""

    def __init__(self, tokenizer, policy: Policy):
        if policy.sentences == "punkt":
            raise ValueError('Policy(sentences="punkt") judges finished texts (nretm.check): punkt looks ahead, so '
                             "that it cannot cut a text that still grows; track with the default sentences")
        self.token_bytes = TokenBytes(tokenizer)
        self.policy = policy
        self.separator_id = None
        if policy.separator is not None:
            self.separator_id = tokenizer.convert_tokens_to_ids(policy.separator)
            if self.separator_id is None or (self.separator_id == tokenizer.unk_token_id
                                             and policy.separator != tokenizer.unk_token):
                raise ValueError(f"the separator {policy.separator!r} is not a token of this tokenizer: "
                                 "add it as a special token or choose another")
        self._tails: dict[tuple[str, bytes, bool], Tail] = {}
        self._stretch = lru_cache(maxsize=MAX_TAILS)(self._stretch)  # all edges of a tail settle the same words
        self.root = self._tail("", b"", True)

    def text(self, ids) -> str:
        """The text that the ids spell, with the separators between its sentences and without other special tokens."""
        separator = (self.policy.separator or "").encode()
        pieces = (separator if i == self.separator_id else self.token_bytes[i] or b"" for i in ids)
        return b"".join(pieces).decode(errors="replace").strip()

    def edge(self, node: Tail, token_id: int) -> Edge:
        """Where the token leads from the node."""
        edge = node.edges.get(token_id)
        if edge is None:
            edge = node.edges[token_id] = self._make_edge(node, token_id)
        return edge

    def _make_edge(self, node: Tail, token_id: int) -> Edge:
        if token_id == self.separator_id:
            line_end = Stretch((), 0, True)
            runs = (*self._read(node.tail, node.first), line_end)
            return Edge(self._tail("", b"", True), runs, False)
        piece = self.token_bytes[token_id]
        if not piece:
            return Edge(node, (), False, silent=True)
        more, rest = _decoded(node.rest + piece)
        text = node.tail + more
        chunks = _CHUNKS.findall(text)
        count = self._settled(chunks)
        settled = self._stretches(chunks, count, node.first, final=False)
        first = settled[-1].ends if settled else node.first
        return Edge(self._tail(text[sum(map(len, chunks[:count])):], rest, first), settled, settled == node.open)

    def _settled(self, chunks: list[str]) -> int:
        """How many runs no later character can change: all but the last one.

        A run with a final period waits for a character that is no closing quote or bracket, because at the very end of
        a text Treebank splits that period off.
        """
        for i, after in enumerate(chunks[1:]):
            run = chunks[i].lstrip()
            if _FINAL_PERIOD.search(run) and not self._ends(run, after) and not self._breaks(after):
                if not "".join("".join(chunks[i + 1:]).split()).strip(CLOSERS):
                    return i
        return max(len(chunks) - 1, 0)

    def _ends(self, run: str, after: str) -> bool:
        return self.policy.separator is None and ends_sentence(run, after)

    def _breaks(self, chunk: str) -> bool:
        """Whether an empty line stands before the run, which ends the sentence before it."""
        return self.policy.separator is None and PARAGRAPH_END in chunk[:len(chunk) - len(chunk.lstrip())]

    def _stretches(self, chunks: list[str], count: int, first: bool, final: bool) -> tuple[Stretch, ...]:
        """The words of the first `count` runs, cut at sentence ends; they are `final` if nothing can follow."""
        runs, begin = [], 0
        for i, chunk in enumerate(chunks[:count], 1):
            follows = chunks[i] if i < len(chunks) else ""
            ends = self._ends(chunk.lstrip(), follows) or self._breaks(follows)
            if ends or i == count:
                runs.append(self._stretch("".join(chunks[begin:i]), first, final or ends, ends))
                begin, first = i, ends
        return tuple(runs)

    def _stretch(self, text: str, first: bool, last: bool, ends: bool) -> Stretch:
        """Words depend on their neighbors only by whether there is one: stand-ins take their place."""
        cut = self.policy.words_of(" ".join((*["x"] * (not first), *text.split(), *["x"] * (not last))))
        written = tuple(cut[(not first):len(cut) - (not last)])
        words = tuple(map(self.policy.key, written))
        if self.policy.separator is None:
            breaks = text[:len(text) - len(text.lstrip())].count(PARAGRAPH_END)
        else:  # a document has no paragraphs, and what stands around a separator belongs to no sentence
            text, breaks = text.lstrip() if first else text, 0
        return Stretch(words, sum(word in self.policy.stop_words for word in words), ends, written, text, breaks)

    def _tail(self, tail: str, rest: bytes, first: bool) -> Tail:
        key = tail, rest, first
        node = self._tails.get(key)
        if node is None:
            if len(self._tails) >= MAX_TAILS:
                self._tails.clear()
                self.root.edges.clear()
            unfinished = rest.decode(errors="replace")  # as it would be if the text ended here
            node = self._tails[key] = Tail(tail, rest, first, self._read(tail + unfinished, first))
        return node

    def _read(self, text: str, first: bool) -> tuple[Stretch, ...]:
        """The words of a text that ends here."""
        chunks = _CHUNKS.findall(text)
        return self._stretches(chunks, len(chunks), first, final=True)


def _decoded(written: bytes) -> tuple[str, bytes]:
    """The characters, and the bytes of an unfinished one."""
    if written.isascii():
        return written.decode(), b""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    return decoder.decode(written), decoder.getstate()[0]


@lru_cache(maxsize=64)
def reader_for(tokenizer, policy: Policy) -> TextReader:
    """The one reader of a tokenizer and a policy."""
    return TextReader(tokenizer, policy)
