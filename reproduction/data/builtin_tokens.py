"""Tokenizers for the built-in data: one piece per word, one piece per number, spelled out where a word is unknown.

They are ordinary Unigram tokenizers with `▁` before a word, as T5 and mBART have them. Two things differ from T5's,
for the sake of a model that is trained for minutes: a word is one piece, and it is the same piece in a rule as
in a text. To that end a space is put after "(" and "-" before a text is cut, and taken away again in decoding.
"""

from __future__ import annotations

import string
from functools import cache

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import MBartTokenizer, PreTrainedTokenizerFast

from reproduction.data import builtin_concepts, builtin_documents, builtin_stories

SENTINELS = [f"<extra_id_{i}>" for i in range(20)]
SIGNS = ["InSen", "Order", "Copy", "Len", "StopWordCount", "translateOnce", "not", "&", "||", "(", "-", "N"]
NUMBERS = [str(number) for number in range(31)]
PUNCTUATION = list(".,!?()-|&'\"")
LETTERS = list(string.ascii_letters + string.digits)
WORD, LETTER = -1.0, -10.0  # log-probabilities: what has a piece of its own is never spelled out


def _pieces(special: list[str], words: list[str], bare: list[str]) -> list[tuple[str, float]]:
    """The vocabulary with its scores: special tokens, words with `▁` before them, what stands without it, letters."""
    whole = special + ["▁" + word for word in SIGNS + NUMBERS + words] + PUNCTUATION + bare
    scores = {piece: WORD for piece in whole} | {piece: LETTER for piece in ["▁", *LETTERS] if piece not in whole}
    return list(scores.items())


@cache
def builtin_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer of the built-in stories and concepts, for a T5."""
    words = builtin_stories.vocabulary() + builtin_concepts.vocabulary()
    tokenizer = Tokenizer(models.Unigram(_pieces(["<pad>", "</s>", "<unk>", *SENTINELS], words, []), unk_id=2))
    tokenizer.normalizer = normalizers.Replace(Regex(r"(?<=[(-])(?! )"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    tokenizer.decoder = decoders.Sequence([
        decoders.Metaspace(prepend_scheme="always"), decoders.Fuse(), decoders.Replace(Regex(r"(?<=[(-]) "), "")])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        additional_special_tokens=SENTINELS, model_max_length=512)


@cache
def builtin_document_tokenizer() -> MBartTokenizer:
    """The tokenizer of the built-in talks, for an mBART: Chinese in characters, English in words.

    It is transformers' own class, so that language codes are set as with the real model.
    """
    characters, words = builtin_documents.vocabulary()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "zh_CN", "en_XX"]
    return MBartTokenizer(vocab=_pieces(special, words, characters + NUMBERS), src_lang="zh_CN", tgt_lang="en_XX",
                          model_max_length=512)
