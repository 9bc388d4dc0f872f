"""A tokenizer learned from real training text, for a T5 of our own: a few thousand Unigram pieces, as T5 has them.

The names of predicates, the signs of rules and the numbers that flags count with are pieces of their own, as most are
in T5's vocabulary. A space is put after "(" before a text is cut, and taken away again in decoding, so that a word is
the same piece in a rule as in a text; and after a minus, so that a flag's `-3` has the number of its `3`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

SPECIAL = ["<pad>", "</s>", "<unk>", *(f"<extra_id_{i}>" for i in range(20))]
SIGNS = ["InSen", "Order", "Copy", "Len", "StopWordCount", "not", "&", "||", "(", "-", "N", *map(str, range(31))]
PUNCTUATION = [*".,!?()&|-"]
PIECE = -10.0  # what a piece costs, as a log-probability; its rank costs one at most


def learned_tokenizer(texts: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """A tokenizer of at most `size` pieces, signs and special tokens included.

    Which pieces there are is learned by byte-pair encoding. A text is cut by Viterbi, as T5's are, into the fewest
    pieces; among equally few, into the more frequent. (The Unigram trainer of `tokenizers` left out "been" and "said".)
    """
    signs = [f"▁{sign}" for sign in SIGNS] + PUNCTUATION
    room = size - len(SPECIAL) - len(signs)
    learned = [piece for piece in _pieces(texts, size) if piece not in signs][:room]
    scores = {piece: PIECE - rank / size for rank, piece in enumerate(signs + learned)}
    tokenizer = Tokenizer(models.Unigram([(piece, 0.0) for piece in SPECIAL] + list(scores.items()),
                                         unk_id=SPECIAL.index("<unk>")))
    tokenizer.normalizer = normalizers.Replace(Regex(r"(?<=\()(?! )|(?<= -)(?=\d)"), " ")
    tokenizer.pre_tokenizer = _cutter()
    tokenizer.decoder = decoders.Sequence([
        decoders.Metaspace(prepend_scheme="always"), decoders.Fuse(),
        decoders.Replace(Regex(r"(?<=\() "), "")])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        additional_special_tokens=SPECIAL[3:], model_max_length=512)


def _cutter() -> pre_tokenizers.PreTokenizer:
    """Words with the space before them; a punctuation mark is never part of a longer piece, an apostrophe may be."""
    return pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always"),
        pre_tokenizers.Split(Regex(r"▁?(\|\||[^\w▁'’])"), "isolated")])


def _pieces(texts: Iterable[str], size: int) -> list[str]:
    """Single characters, then the pieces of byte-pair encoding as they were merged; none longer has a digit."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = _cutter()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=[*"0123456789"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    ranks = tokenizer.get_vocab()
    return [piece for piece in sorted(ranks, key=ranks.get)
            if len(piece) == 1 or not any(map(str.isdigit, piece))]
