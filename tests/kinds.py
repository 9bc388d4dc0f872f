"""Small tokenizers of every kind in use, trained on the spot: none can be downloaded."""

from functools import cache

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = [
    "InSen(apple, 2) & Len(2, 15) & (InSen(orange, 6) || StopWordCount(6, 3)) & (not Copy(snow)) & Order(car, tree)",
    "Copy(stone) & Copy(explain) & translateOnce(1) & translateOnce(2) & Len(10, 11) N 0 1 2 3 4 5 6 7 8 9 -1 -2",
    "The car drove through the snow, but Mr. Li didn't stop! Was it cold? \"Yes,\" she said. It cost $3.50 (or so)...",
    "A waitressing job, an orange-coloured café; naïve artists start well-known art. Dr. No left the U.S. at 5 a.m.",
    "今天下雨了 我们在家 ¡olé! “Curly” quotes — dashes 🙂 emoji. I can't, won't, shan't; they're 'fine'.",
    "apple apples orange oranges tree trees snow snowy art artist start car cars stone stones one two three big dog",
]
SPECIAL = ["<pad>", "</s>", "<unk>", "<s>", "en_XX", "zh_CN"]
KINDS = ("unigram", "unigram-bytes", "byte-bpe", "wordpiece", "wordlevel")


FEW = ["▁", "▁car", "s", "▁the", "▁c", "ar", ".", "!", "▁big", "▁dog", "</s>", "<pad>", "<unk>"]


@cache
def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """A tokenizer of the kind; all but the word-level one end their input with </s>, as T5's does.

    "few" is one more, of ten tokens that write something: small enough to try all texts.
    """
    if kind == "few":
        return _few()
    tok = _BUILDERS[kind]()
    eos = tok.token_to_id("</s>")
    if kind != "wordlevel":
        tok.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", eos)])
    return PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
                                   bos_token="<s>", extra_special_tokens=["en_XX", "zh_CN"])


def _few() -> PreTrainedTokenizerFast:
    tok = Tokenizer(models.BPE({token: i for i, token in enumerate(FEW)}, [], unk_token="<unk>"))
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tok, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def _unigram(byte_fallback: bool) -> Tokenizer:
    """Of pieces that pairs of characters are merged to: the trainer for unigrams finds others in each run."""
    pieces = Tokenizer(models.BPE())
    pieces.normalizer, pieces.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    pieces.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=260, special_tokens=SPECIAL, show_progress=False))
    vocab = [(piece, -1 - rank / 100) for piece, rank in sorted(pieces.get_vocab().items(), key=lambda item: item[1])]
    if byte_fallback:
        vocab = [(t, s) for t, s in vocab if len(t) > 1 or t.isascii() or t == "▁"]
        vocab += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    tok = Tokenizer(models.Unigram(vocab, unk_id=SPECIAL.index("<unk>"), byte_fallback=byte_fallback))
    tok.normalizer = normalizers.NFKC()
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    if byte_fallback:
        tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tok.add_special_tokens([AddedToken(s, special=True) for s in SPECIAL])
    return tok


def _byte_bpe() -> Tokenizer:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer, tok.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tok.train_from_iterator(CORPUS * 5, trainers.BpeTrainer(
        vocab_size=420, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tok


def _wordpiece() -> Tokenizer:
    """Every other word of the corpus, and letters and endings for the rest: a trainer finds others in each run."""
    tok = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words = sorted({word for line in CORPUS for word, _ in tok.pre_tokenizer.pre_tokenize_str(
        tok.normalizer.normalize_str(line))})
    letters = sorted(set("".join(words)))
    endings = sorted({word[-n:] for word in words for n in (2, 3) if len(word) > n + 1})
    pieces = [*SPECIAL, *letters, *(f"##{end}" for end in letters + endings), *words[::2]]
    tok.model = models.WordPiece({piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, unk_token="<unk>")
    tok.decoder = decoders.WordPiece()
    tok.add_special_tokens([AddedToken(s, special=True) for s in SPECIAL])
    return tok


def _wordlevel() -> Tokenizer:
    tok = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator(CORPUS, trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False))
    return tok


_BUILDERS = {"unigram": lambda: _unigram(False), "unigram-bytes": lambda: _unigram(True), "byte-bpe": _byte_bpe,
             "wordpiece": _wordpiece, "wordlevel": _wordlevel}
