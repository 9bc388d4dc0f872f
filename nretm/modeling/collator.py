"""Training batches with the state matrix of the gold output (paper, section 2.4).

A batch stands on its own: it carries the tokens of the flags that occur in it, and flag ids that count within it. So it
may be made in the workers of a DataLoader and be sent to any process of a distributed run. (Not to DataParallel, which
would cut the flags' tokens by rows.)
"""

from collections.abc import Mapping
from operator import attrgetter, itemgetter

import numpy as np
import torch
from torch import Tensor

from nretm.modeling.generation import must_fit
from nretm.modeling.state_encoder import flag_tokens
from nretm.tracking.flags import FlagTable
from nretm.tracking.rows import number_row


class Collator:
    """Rows of rule, source and target (mappings, or objects with these attributes) to a batch for forward.

        Collator(model)               of an equipped model: with the state matrix, and with the rules for generate
        Collator(model, tokenizer)    of a plain one, the baseline: the same inputs and labels and nothing else

    Rows that are in numbers already (nretm.tracking.Row) are taken as well, if their `table` is given. A bare loop
    calls `model(**batch)`; transformers' Seq2SeqTrainer takes the collator as `data_collator` and needs
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
        texts = [(itemgetter if isinstance(row, Mapping) else attrgetter)("rule", "source", "target")(row)
                 for row in rows]
        if self.options is None:
            return self._batch([number_row(*text, self.tokenizer) for text in texts], None)
        options = self.options
        numbered = [number_row(*text, self.tokenizer, options.policy, table, options.compress) for text in texts]
        return self._batch(numbered, table) | {"rules": [rule for rule, _, _ in texts]}

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
