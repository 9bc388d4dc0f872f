"""Words and sentences (paper, sections 2.2 and 3.1)."""

from nretm.text.policy import CLOSERS, WORD_POLICIES, Policy, ends_sentence, fold, treebank
from nretm.text.stop_words import ENGLISH

__all__ = ["CLOSERS", "ENGLISH", "Policy", "WORD_POLICIES", "ends_sentence", "fold", "treebank"]
