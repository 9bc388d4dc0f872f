"""Rules at generation time: one tracker per row, and for every beam the state of its own prefix.

A state is a pure function of the prefix. So no state is ever reordered with the beams: each step looks the state of
every row up by a rolling hash of its prefix, and one step of the rule's automaton leads there from the parent's.
"""

import warnings
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from nretm.modeling.cross_attention import StateTensors
from nretm.modeling.state_encoder import encode, flag_tokens
from nretm.rules.checker import Verdict, check
from nretm.rules.formula import Not, Rule
from nretm.rules.parser import RuleSyntaxError, as_rule
from nretm.tracking.automaton import Configuration, Reading
from nretm.tracking.flags import FlagTable
from nretm.tracking.tracker import Tracker

POSITIONS = 1024  # hashed before the table of numbers has to grow
SHOWN = 3  # outputs that a warning describes


class RuleBroken(UserWarning):
    """An output does not obey its rule."""


class HardWord(UserWarning):
    """A phrase of a rule has a word that the model cannot write, or can hardly have seen."""


class Prefix(NamedTuple):
    """Where a prefix has led to, the number of its flags, and the prefix one token shorter."""

    here: Configuration
    number: int
    parent: "Prefix | None"


class Session:
    """One call of generate: its trackers, and the keys and values of the flags that have occurred in it."""

    def __init__(self, model, input_ids: Tensor | None, rules: list, longest: int):
        if input_ids is None:
            raise ValueError("Rules need input_ids: the tracker has to see what the encoder reads.")
        if len(rules) != len(input_ids):
            raise ValueError(f"There are {len(rules)} rules for {len(input_ids)} rows of input: "
                             "give one rule, or None, for each row.")
        must_fit(input_ids.shape[1], getattr(model.config, "max_position_embeddings", None), "The input")
        options, self.model, self.table, self.trackers = model.nretm.options, model, FlagTable(), []
        self.policy, self.vocabulary = options.policy, len(options.tokenizer)
        rules = read_rules(rules)
        for row, (rule, ids) in enumerate(zip(rules, input_ids.tolist(), strict=True)):
            try:
                self.trackers.append(rule if rule is None else Tracker.for_input(
                    rule, ids, options.tokenizer, options.policy, self.table, options.compress))
                _must_be_possible(rule, longest)
            except ValueError as error:
                raise ValueError(f"Row {row}: {error}") from None
        name_hard_words(rules, options.tokenizer, frozenset(input_ids.flatten().tolist()))
        device = model.device
        self.size = max(len(tracker.layout.entries) for tracker in self.trackers if tracker is not None)  # G
        groups = [np.zeros(input_ids.shape[1], int) if t is None else t.groups for t in self.trackers]
        self.groups = torch.as_tensor(np.stack(groups), dtype=torch.long, device=device)  # (B, S)
        self.rows = torch.arange(len(rules), device=input_ids.device)  # generate repeats it for every beam
        self.expanded = None
        self.keys = self.values = torch.zeros(1, model.nretm.key.out_features, device=device,
                                              dtype=model.nretm.key.weight.dtype)  # flag 0 is zero
        self.weights = torch.empty(0)
        self.prefixes: dict[int, Prefix] = {}  # hash of the row and the prefix
        self.numbers = {(0,) * self.size: 0}  # flags of all groups -> their number; 0 is for rows without a rule
        self.columns = np.zeros((1, self.size), int)  # number -> flags of all groups
        self.shown: list[dict[Reading, int]] = [{} for _ in rules]  # what is read in a row -> number of its flags

    def state(self, input_ids: Tensor, rows: Tensor, columns: int) -> StateTensors:
        """What the last `columns` tokens of each prefix, (R, T) in all, have to know."""
        flags, tokens = self.packed(input_ids, rows, columns)
        if len(tokens):
            keys, values = encode(self.model, tokens)
            self.keys, self.values = torch.cat([self.keys, keys]), torch.cat([self.values, values])
        if self.expanded is None or len(self.expanded[0]) != len(rows):
            groups = self.groups[rows.to(self.groups.device)]  # (R, S)
            self.expanded = groups, F.one_hot(groups, self.size).to(self.keys.dtype)
        return StateTensors(self.keys[flags], self.values[flags], *self.expanded)

    def packed(self, input_ids: Tensor, rows: Tensor, columns: int) -> tuple[Tensor, Tensor]:
        """All work of the host in a step: flags, (R, columns, G), and the tokens of those that are new, (U, L)."""
        flags = self.flags(input_ids, rows, columns)
        tokens = flag_tokens(self.table.strings[len(self.keys):], self.model.nretm.options.tokenizer)
        packed = torch.cat([torch.from_numpy(flags).flatten(), tokens.flatten()])
        packed = packed.to(self.groups.device, non_blocking=True)  # the one copy to the device in a step
        return packed[: flags.size].view(flags.shape), packed[flags.size:].view(tokens.shape)

    def flags(self, input_ids: Tensor, rows: Tensor, columns: int) -> np.ndarray:
        """The flag ids of every group after the last `columns` prefixes of each row: (R, columns, G)."""
        length = input_ids.shape[1]
        if length >= len(self.weights):  # the last one is for the row
            self.weights = _odd_numbers(max(POSITIONS, 2 * length))  # old hashes are void: this step replays
            self.weights_there = self.weights.to(input_ids.device)
        codes = (input_ids * self.weights_there[:length]).sum(1)  # (R,)
        codes, last, rows = torch.stack([codes, input_ids[:, -1], rows]).cpu().numpy()  # the one copy to the host
        codes += rows * self.weights[-1].item()
        parents = codes - last * self.weights[length - 1].item()
        prefixes, numbers = {}, []
        for row, code, parent, token in zip(*map(np.ndarray.tolist, (rows, codes, parents, last)), strict=True):
            prefix = prefixes.get(code)
            if prefix is None and self.trackers[row] is not None:
                before = self.prefixes.get(parent)
                prefix = (self._step(row, before, token) if before is not None
                          else self._replay(row, input_ids[len(numbers)].tolist()))
                prefixes[code] = prefix
            numbers.append([prefix.number] if prefix and columns == 1 else _numbers(prefix, columns))
        self.prefixes = prefixes
        if len(self.numbers) > len(self.columns):
            new = list(self.numbers)[len(self.columns):]
            self.columns = np.concatenate([self.columns, np.array(new)])
        return self.columns[np.array(numbers)]  # of (R, columns)

    def _step(self, row: int, before: Prefix, token: int) -> Prefix:
        if token >= self.vocabulary:  # T5 embeds more tokens than its tokenizer has: those write nothing
            return Prefix(before.here, before.number, before)
        here = self.trackers[row].automaton.step(before.here, token)
        number = self.shown[row].get(here.now)
        return Prefix(here, self._number(row, here.now) if number is None else number, before)

    def _replay(self, row: int, ids: list[int]) -> Prefix:
        """A prefix from scratch; the decoder's start token is not part of the text."""
        here = self.trackers[row].automaton.start
        prefix = Prefix(here, self._number(row, here.now), None)
        for token in ids[1:]:
            prefix = self._step(row, prefix, token)
        return prefix

    def _number(self, row: int, now: Reading) -> int:
        flag_ids = self.trackers[row].flag_ids(now.states)
        flag_ids += (0,) * (self.size - len(flag_ids))
        self.shown[row][now] = number = self.numbers.setdefault(flag_ids, len(self.numbers))
        return number

    def verdicts(self, sequences: Tensor) -> list[Verdict | None]:
        """How the outputs, (B·n, T), fare by their rules."""
        copies = len(sequences) // len(self.trackers)
        verdicts = []
        for i, ids in enumerate(sequences.tolist()):
            tracker = self.trackers[i // copies]
            if tracker is None:
                verdicts.append(None)
                continue
            text = tracker.states(token for token in ids[1:] if token < self.vocabulary)[-1].text
            verdicts.append(check(tracker.rule, text, policy=self.policy))
        return verdicts


def _numbers(prefix: Prefix | None, columns: int) -> list[int]:
    """The numbers of the flags after the last `columns` prefixes; all 0 for a row without a rule."""
    numbers = []
    while prefix and len(numbers) < columns:
        numbers.append(prefix.number)
        prefix = prefix.parent
    return numbers[::-1] or [0] * columns


def _odd_numbers(count: int) -> Tensor:
    """Random 64-bit numbers, one per position: a prefix is hashed to the sum of token times number, which wraps."""
    return torch.randint(-(2**63), 2**63 - 1, (count,), generator=torch.Generator().manual_seed(count)) | 1


def longest_output(config, max_new_tokens=None, max_length=None, **kwargs) -> int:
    """How many tokens generate may write: what its arguments say, or its configuration, or transformers' default."""
    if max_new_tokens is None and max_length is None:
        max_new_tokens, max_length = config.max_new_tokens, config.max_length
    return max_new_tokens or (max_length or 21) - 1


def must_fit(length: int, limit: int | None, what: str) -> None:
    """`limit` is how many positions the model knows; T5's are relative and know no limit."""
    if limit is not None and length > limit:
        raise ValueError(f"{what} is {length} tokens long, the model takes {limit}: shorten it.")


def read_rules(rules: list[Rule | str | None]) -> list[Rule | None]:
    """The rules of a batch; one that cannot be read is named by its row."""
    read = []
    for row, rule in enumerate(rules):
        try:
            read.append(None if rule is None else as_rule(rule))
        except RuleSyntaxError as error:
            raise RuleSyntaxError(f"Row {row}: {error.problem}", error.text, error.position) from None
    return read


def _must_be_possible(rule: Rule | None, longest: int) -> None:
    if rule is None:
        return
    if contradictions := rule.contradictions():
        raise ValueError(f"no text can obey {rule}: {'; '.join(contradictions)}.")
    for literal in rule.literals:
        if not isinstance(literal, Not) and isinstance(literal.k, int) and literal.k > longest:  # k may be every
            raise ValueError(f"{literal} speaks of a sentence that {longest} tokens cannot reach: "
                             "raise max_new_tokens.")


def name_hard_words(rules: list[Rule | None], tokenizer, read: frozenset[int] = frozenset()) -> None:
    """Warn of phrases that the tokenizer cannot spell, or spells by the letter: the model has hardly seen those.

    `read` are the tokens of the encoder's input: there a phrase may stand in lower case, as `known_spelling` writes it.
    """
    literals = dict.fromkeys(literal for rule in rules if rule is not None for literal in rule.literals)
    phrases = dict.fromkeys(str(phrase) for literal in literals if not isinstance(literal, Not)
                            for phrase in literal.arguments if isinstance(phrase, str))
    words = [word for phrase in phrases for word in phrase.split()]
    unknown = [word for word in words if tokenizer.unk_token_id in _spelled(tokenizer, word)]
    if unknown:
        warnings.warn(f"The tokenizer cannot spell these words, so the model cannot write them: {_listed(unknown)}.",
                      HardWord, stacklevel=4)
    by_letter = [word for word in words if word not in unknown and _by_letter(tokenizer, word)]
    known = {word: word.lower() for word in by_letter if not _by_letter(tokenizer, word.lower())}
    by_letter = [word for word in by_letter
                 if word not in known or not read.issuperset(_spelled(tokenizer, known[word]))]
    lower = [known[word] for word in by_letter if word in known]
    if by_letter:
        hint = f" It knows {_listed(lower)}; case does not matter in rules." if lower else ""
        warnings.warn("The tokenizer spells these words letter by letter, so the model has hardly seen them and may "
                      f"not write them: {_listed(by_letter)}.{hint}", HardWord, stacklevel=4)


def _spelled(tokenizer, word: str) -> list[int]:
    return tokenizer(f" {word}", add_special_tokens=False)["input_ids"]


def _by_letter(tokenizer, word: str) -> bool:
    """Whether a word of three letters or more has a token for each; not if every word has, as in byte models.

    Only in scripts with upper and lower case: in others a letter may well be a word."""
    cased = word.isalpha() and word.lower() != word.upper()
    return cased and len(_spelled(tokenizer, word)) >= len(word) > 2 and len(_spelled(tokenizer, "the")) < 3


def _listed(words: list[str]) -> str:
    return ", ".join(map(repr, dict.fromkeys(words)))


def known_spelling(rule: Rule, tokenizer) -> str:
    """The input expression with words in lower case where the tokenizer knows them only so.

    Case does not matter to a rule, but the encoder reads other tokens for `Planted Seeds` than for `planted seeds`."""
    def spelled(word: str) -> str:
        return word.lower() if _by_letter(tokenizer, word) and not _by_letter(tokenizer, word.lower()) else word

    return "".join(text if literal is None else " ".join(map(spelled, text.split(" ")))
                   for text, literal in rule.fragments())


def report(verdicts: list[Verdict | None]) -> None:
    """Say which outputs break their rules, and how; nothing is stopped."""
    broken = {i: verdict for i, verdict in enumerate(verdicts) if verdict is not None and not verdict.satisfied}
    if broken:
        shown = "; ".join(f"row {i}: {verdict.why()}" for i, verdict in list(broken.items())[:SHOWN])
        more = f"; and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
        warnings.warn(f"{len(broken)} of {len(verdicts)} outputs do not obey their rule ({shown}{more}); "
                      "model.nretm.verdicts has them all.", RuleBroken, stacklevel=3)
