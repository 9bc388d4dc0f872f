"""Training batches with the state matrix of the gold output (paper, section 2.4).

A batch stands on its own: it carries the tokens of the flags that occur in it, and flag ids that count within it. So it
may be made in the workers of a DataLoader and be sent to any process of a distributed run. (Not to DataParallel, which
would cut the flags' tokens by rows.)
"""

from collections.abc import Mapping
from operator import attrgetter, itemgetter

import numpy as np
import torch

from nretm.encoder import flag_tokens
from nretm.flags import FlagTable
from nretm.generate import must_fit
from nretm.tracker import Tracker


class Collator:
    """Rows of rule, source and target (mappings, or objects with these attributes) to a batch for forward.

        Collator(model)               of an equipped model: with the state matrix, and with the rules for generate
        Collator(model, tokenizer)    of a plain one, the baseline: the same inputs and labels and nothing else

    A bare loop calls `model(**batch)`; transformers' Seq2SeqTrainer takes it as `data_collator` and must be told
    `remove_unused_columns=False`. `model.generate(**batch)` obeys the rules of the batch.
    """

    def __init__(self, model, tokenizer=None):
        self.settings = model.nretm.settings if hasattr(model, "nretm") else None
        if self.settings is None and tokenizer is None:
            raise ValueError("The model is not equipped: equip it, or give the collator its tokenizer as well.")
        self.tokenizer = self.settings.tokenizer if self.settings else tokenizer
        self.limit = getattr(model.config, "max_position_embeddings", None)

    def __call__(self, rows: list) -> dict:
        sources, targets, rules = [], [], []
        for row in rows:
            get = itemgetter if isinstance(row, Mapping) else attrgetter
            rule, source, target = get("rule", "source", "target")(row)
            rules.append(rule)
            sources.append((source or "") + ("" if rule is None else str(rule)))
            targets.append(target)
        inputs = self.tokenizer(sources)["input_ids"]
        labels = self.tokenizer(text_target=targets)["input_ids"]
        for row, (source, target) in enumerate(zip(inputs, labels, strict=True)):
            must_fit(len(source), self.limit, f"Row {row}: the source with its rule")
            must_fit(len(target), self.limit, f"Row {row}: the target")
        input_ids = _padded(inputs, self.tokenizer.pad_token_id)  # (B, S)
        mask = _padded([[1] * len(ids) for ids in inputs], 0)
        batch = {"input_ids": input_ids, "attention_mask": mask, "labels": _padded(labels, -100)}  # (B, T)
        if self.settings is not None:
            batch |= self._states(rules, inputs, labels) | {"rules": rules}
        return batch

    def _states(self, rules: list, inputs: list[list[int]], labels: list[list[int]]) -> dict:
        table, flags, groups = FlagTable(), [], []
        for rule, source, target in zip(rules, inputs, labels, strict=True):
            if rule is None:
                flags.append(np.zeros((len(target), 1), int))
                groups.append([0] * len(source))
            else:
                tracker = Tracker.for_input(rule, source, self.tokenizer, self.settings.policy, table,
                                            self.settings.compress)
                flags.append(tracker.run(target, gold=True)[:-1])  # (T, G): column t predicts token t
                groups.append(tracker.groups.tolist())
        shape = len(rules), max(map(len, labels)), max(f.shape[1] for f in flags)
        padded = torch.zeros(shape, dtype=torch.long)  # (B, T, G)
        for row, columns in zip(padded, flags, strict=True):
            row[: columns.shape[0], : columns.shape[1]] = torch.from_numpy(columns)
        used, flags = torch.cat([torch.zeros(1, dtype=torch.long), padded.flatten()]).unique(return_inverse=True)
        strings = [table.strings[i] for i in used[1:]] or ["N"]  # at least one, or the encoder would have no gradient
        return {"decoder_state_flags": flags[1:].view(shape), "decoder_state_groups": _padded(groups, 0),  # (B, S)
                "decoder_flag_tokens": flag_tokens(strings, self.tokenizer)}  # (U, L)


def _padded(rows: list[list[int]], value: int) -> torch.Tensor:
    padded = torch.full((len(rows), max(map(len, rows))), value)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = torch.tensor(row)
    return padded
