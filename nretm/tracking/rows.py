"""One training example in numbers: what the encoder reads, what the decoder writes, and its state matrix.

A gold output decides its whole state matrix (section 2.4), so a row can be made once and kept, or made for its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nretm.rules.formula import Rule
from nretm.text.policy import Policy
from nretm.tracking.flags import FlagTable
from nretm.tracking.tracker import Tracker


class Row(NamedTuple):
    """One example in numbers; any object with these attributes is taken for one."""

    input_ids: Sequence[int]  # (S,)
    labels: Sequence[int]  # (T,)
    columns: np.ndarray  # (T + 1, G) the flag of each group after every prefix of the labels
    groups: np.ndarray  # (S,) the group of each input token


def number_row(rule: Rule | str | None, source: str, target: str, tokenizer, policy: Policy | None = None,
               table: FlagTable | None = None, compress: bool = True) -> Row:
    """The encoder reads the source followed by the rule; flags get their numbers from the table.

    Without a rule, or without a table (a baseline has no flags), the state matrix is empty.
    """
    input_ids = tokenizer((source or "") + ("" if rule is None else str(rule)))["input_ids"]
    labels = tokenizer(text_target=target)["input_ids"]
    if rule is None or table is None:
        return Row(input_ids, labels, np.zeros((len(labels) + 1, 1), int), np.zeros(len(input_ids), int))
    tracker = Tracker.for_input(rule, input_ids, tokenizer, policy, table, compress)
    return Row(input_ids, labels, tracker.run(labels, gold=True), tracker.groups)
