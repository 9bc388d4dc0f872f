"""Training batches with the state matrix of the gold output (paper, section 2.4).

A batch stands on its own: it carries the tokens of the flags that occur in it, and flag ids that count within it. So it
may be made in the workers of a DataLoader and be sent to any process of a distributed run. (Not to DataParallel, which
would cut the flags' tokens by rows.)
"""

from collections.abc import Mapping
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nretm.modeling.generation import must_fit
from nretm.modeling.state_encoder import flag_tokens
from nretm.tracking.flags import FlagTable
from nretm.tracking.tracker import Tracker


class Row(NamedTuple):
    """One example in numbers; any object with these attributes is taken for one."""

    input_ids: list[int]  # (S,)
    labels: list[int]  # (T,)
    columns: np.ndarray  # (T + 1, G) the flag of each group after every prefix of the labels
    groups: np.ndarray  # (S,) the group of each input token


class Collator:
    """Rows of rule, source and target (mappings, or objects with these attributes) to a batch for forward.

        Collator(model)               of an equipped model: with the state matrix, and with the rules for generate
        Collator(model, tokenizer)    of a plain one, the baseline: the same inputs and labels and nothing else

    Rows that are in numbers already (see Row) are taken as well, if their `table` is given. A bare loop calls
    `model(**batch)`; transformers' Seq2SeqTrainer takes the collator as `data_collator` and needs
    `remove_unused_columns=False`. `model.generate(**batch)` obeys the rules of the batch.
    """

    def __init__(self, model, tokenizer=None, table: FlagTable | None = None):
        self.options = model.nretm.options if hasattr(model, "nretm") else None
        if self.options is None and tokenizer is None:
            raise ValueError("The model is not equipped: equip it, or give the collator its tokenizer as well.")
        self.tokenizer = self.options.tokenizer if self.options else tokenizer
        self.limit = getattr(model.config, "max_position_embeddings", None)
        self.table = table

    def __call__(self, rows: list) -> dict:
        if hasattr(rows[0], "columns"):
            if self.options is not None and self.table is None:
                raise ValueError("Prepared rows have flags by number: give the collator the table of these numbers.")
            return self._batch(rows, self.table)
        table = FlagTable()
        rules, numbered = zip(*(self._numbered(row, table) for row in rows), strict=True)
        return self._batch(numbered, table) | ({"rules": list(rules)} if self.options else {})

    def _numbered(self, row, table: FlagTable) -> tuple[object, Row]:
        get = itemgetter if isinstance(row, Mapping) else attrgetter
        rule, source, target = get("rule", "source", "target")(row)
        ids = self.tokenizer((source or "") + ("" if rule is None else str(rule)))["input_ids"]
        labels = self.tokenizer(text_target=target)["input_ids"]
        if rule is None or self.options is None:
            return rule, Row(ids, labels, np.zeros((len(labels) + 1, 1), int), np.zeros(len(ids), int))
        tracker = Tracker.for_input(rule, ids, self.tokenizer, self.options.policy, table, self.options.compress)
        return rule, Row(ids, labels, tracker.run(labels, gold=True), tracker.groups)

    def _batch(self, rows, table: FlagTable | None) -> dict[str, Tensor]:
        for i, row in enumerate(rows):
            must_fit(len(row.input_ids), self.limit, f"Row {i}: the source with its rule")
            must_fit(len(row.labels), self.limit, f"Row {i}: the target")
        batch = {"input_ids": _padded([row.input_ids for row in rows], self.tokenizer.pad_token_id),  # (B, S)
                 "attention_mask": _padded([np.ones_like(row.input_ids) for row in rows], 0),  # (B, S)
                 "labels": _padded([row.labels for row in rows], -100)}  # (B, T)
        if self.options is None:
            return batch
        flags = np.zeros((*batch["labels"].shape, max(row.columns.shape[1] for row in rows)), int)  # (B, T, G)
        for i, row in enumerate(rows):
            steps, groups = row.columns.shape
            flags[i, : steps - 1, :groups] = row.columns[:-1]  # column t is what is known when token t is predicted
        used, numbers = np.unique(np.append(flags, 0), return_inverse=True)
        strings = [table.strings[i] for i in used[1:]] or ["N"]  # at least one, or the encoder would have no gradient
        return batch | {"decoder_state_flags": torch.from_numpy(numbers[:-1].reshape(flags.shape)),
                        "decoder_state_groups": _padded([row.groups for row in rows], 0),  # (B, S)
                        "decoder_flag_tokens": flag_tokens(strings, self.tokenizer)}  # (U, L)


def _padded(rows: list, value: int) -> Tensor:
    padded = torch.full((len(rows), max(map(len, rows))), value)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = torch.as_tensor(np.asarray(row, dtype=np.int64))
    return padded
