"""Tiny random models of every family, all of them with one small tokenizer."""

import kinds
import torch
import transformers

import nretm

T5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=128, dropout=0.0, forced_eos_token_id=None)
FAMILIES = {
    "T5": T5,
    "MT5": T5 | {"feed_forward_proj": "gated-gelu"},
    "Bart": BART,
    "MBart": BART | {"scale_embedding": True},
    "Pegasus": BART | {"scale_embedding": True},
    "Marian": BART | {"scale_embedding": True},
}
CLASSES = {"Marian": "MarianMTModel"}
tokenizer = kinds.tokenizer("byte-bpe")
RULES = ["InSen(apple, 2) & (Len(2, 5) || StopWordCount(2, 1)) & InSen(car, 1)", "Copy(stone) & Copy(big dog)",
         "(not Copy(snow)) & Order(car, tree) & Len(6)"]
SOURCES = ["The dog.", "", "A tree and snow: "]
TARGETS = ["The car. It drove apple trees!", "A stone is one big dog.", "The car, the tree."]
ROWS = [{"rule": r, "source": s, "target": t} for r, s, t in zip(RULES, SOURCES, TARGETS, strict=True)]


def plain(family: str = "T5", seed: int = 0, **changes):
    """A model with weights large enough for its outputs to differ from row to row."""
    special = dict(vocab_size=len(tokenizer) + 8, pad_token_id=tokenizer.pad_token_id,
                   eos_token_id=tokenizer.eos_token_id, decoder_start_token_id=tokenizer.pad_token_id)
    torch.manual_seed(seed)
    config = getattr(transformers, f"{family}Config")(**special | FAMILIES[family] | changes)
    model = getattr(transformers, CLASSES.get(family, f"{family}ForConditionalGeneration"))(config)
    if "d_kv" not in FAMILIES[family]:
        for parameter in model.parameters():
            parameter.data.mul_(8) if parameter.dim() > 1 else parameter.data.add_(0.1)
    model.config.tie_word_embeddings = False  # a tied head of random weights repeats the last token for ever
    model.lm_head = torch.nn.Linear(config.d_model, config.vocab_size, bias=False)
    torch.nn.init.normal_(model.lm_head.weight, std=config.d_model**-0.5)
    return model.eval()


def equipped(family: str = "T5", seed: int = 0, trained: bool = True, **changes):
    """An equipped one; `trained`: with flag projections that are not zero."""
    model = nretm.equip(plain(family, seed, **changes), tokenizer)
    if trained:
        for parameter in (*model.nretm.key.parameters(), *model.nretm.value.parameters()):
            torch.nn.init.normal_(parameter)
    return model


def inputs(rules=RULES, sources=SOURCES):
    encoded = tokenizer([s + r for s, r in zip(sources, rules, strict=True)], return_tensors="pt", padding=True)
    return {name: encoded[name] for name in ("input_ids", "attention_mask")}
