"""Equip a seq2seq model of transformers with NRETM: in place, without a line of its code being copied or forked.

What depends on the model family stands in one small table, FAMILIES; a new family is one line there.
"""

import functools
import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nretm.modeling.cross_attention import BASE_ATTENTIONS, StateTensors, cross_attentions, hook
from nretm.modeling.diverse_beams import diverse_beam_search
from nretm.modeling.enforcer import USED, Enforcer
from nretm.modeling.generation import Session, longest_output, report
from nretm.modeling.state_encoder import FFN, HEADS, StateEncoder, encode
from nretm.rules.formula import Rule
from nretm.text.policy import Policy
from nretm.version import __version__

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Family:
    """What differs between model families.

    shrink  the settings, in the family's own words, of an encoder of one layer that is d wide
    frozen  the parameters of a decoder layer's self-attention and feed-forward, with their layer norms
    """

    shrink: Callable[[int], dict]
    frozen: str


T5 = Family(lambda d: dict(d_model=d, d_kv=d // HEADS, num_heads=HEADS, d_ff=FFN, num_layers=1),
            frozen=r"block\.\d+\.layer\.(0|2)\.")
BART = Family(lambda d: dict(d_model=d, encoder_attention_heads=HEADS, encoder_ffn_dim=FFN, encoder_layers=1,
                             encoder_layerdrop=0.0, max_position_embeddings=256, vocab_size=1, pad_token_id=0),
              frozen=r"layers\.\d+\.(self_attn|fc1|fc2|final_layer_norm)")
FAMILIES = {"t5": T5, "mt5": T5, "bart": BART, "mbart": BART, "pegasus": BART, "marian": BART}


@dataclass(frozen=True)
class TrackingOptions:
    """How the model's rules are read."""

    tokenizer: object
    policy: Policy
    compress: bool


def equip(model: Model, tokenizer, policy: Policy | None = None, compress: bool = True) -> Model:
    """Add the State Matrix Encoder and let every cross-attention of the decoder see the state matrix.

    The model is changed in place and returned. Until it is trained, and whenever it is given no rules, it computes
    what it computed before. `policy` says how words and sentences are counted, `compress` whether predicates share
    the entries of a flag (paper, section 2.3).
    """
    _check(model, tokenizer)
    encoder, size = model.get_encoder(), _head_size(model.config)
    embedding = encoder.get_input_embeddings().weight
    model.nretm = StateEncoder(encoder, FAMILIES[model.config.model_type].shrink(size), size)
    model.nretm.to(embedding.device, embedding.dtype).train(model.training)
    model.nretm.options = TrackingOptions(tokenizer, policy or Policy(), compress)
    model.nretm.base = _describe(model)
    model.nretm.verdicts = []
    model.__class__ = _tracked(type(model))
    hook(model.get_decoder())
    return model


def _check(model: nn.Module, tokenizer) -> None:
    if hasattr(model, "nretm"):
        raise ValueError("The model is already equipped: equip the model that from_pretrained gave, once.")
    config = getattr(model, "config", None)
    if not getattr(config, "is_encoder_decoder", False) or not hasattr(model, "generate"):
        raise ValueError(f"{type(model).__name__} has no cross-attention to give the state matrix to: "
                         "NRETM needs an encoder-decoder model that generates.")
    if config._attn_implementation not in BASE_ATTENTIONS:
        raise ValueError(f"The model computes attention by {config._attn_implementation!r}: load it with "
                         f"attn_implementation={' or '.join(map(repr, BASE_ATTENTIONS))}.")
    if config.model_type not in FAMILIES:
        raise ValueError(f"Models of type {config.model_type!r} are not known: add a line to nretm.modeling.FAMILIES "
                         f"(known: {', '.join(FAMILIES)}).")
    if not cross_attentions(model.get_decoder()):
        raise ValueError(f"{type(model).__name__} has no cross-attention that NRETM can find: its attention must look "
                         "its function up in transformers' AttentionInterface, with is_decoder and not is_causal.")
    if _head_size(config) % HEADS:
        raise ValueError(f"One attention head is {_head_size(config)} wide: the state encoder has {HEADS} heads of "
                         f"its own and needs a multiple of {HEADS}.")
    rows = model.get_encoder().get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ValueError(f"This is not the model's tokenizer: it has {len(tokenizer)} tokens, the model embeds {rows}.")
    for name in ("pad_token_id", "eos_token_id"):
        ours, theirs = getattr(tokenizer, name), getattr(config, name, None)
        if theirs is not None and ours != theirs:
            raise ValueError(f"This is not the model's tokenizer: its {name} is {ours}, the model's is {theirs}.")


def _head_size(config) -> int:
    return getattr(config, "d_kv", None) or config.d_model // config.decoder_attention_heads


def _state(model: nn.Module, flags: Tensor, groups: Tensor, tokens: Tensor) -> StateTensors:
    keys, values = (F.pad(x, (0, 0, 1, 0)) for x in encode(model, tokens))  # (1 + U, d): flag 0 is zero
    onehot = F.one_hot(groups, flags.shape[-1]).to(keys.dtype)  # (B, S, G)
    return StateTensors(keys[flags], values[flags], groups, onehot)


@functools.cache
def _tracked(cls: type) -> type:
    """A subclass that takes state-matrix inputs in forward and rules in generate, under the name of its parent."""

    class Tracked(cls):
        accepts_loss_kwargs = False  # tells Trainer the truth about these models' loss: a mean over each small batch

        def forward(self, *args, decoder_state_flags=None, decoder_state_groups=None, decoder_flag_tokens=None,
                    decoder_state=None, rules=None, **kwargs):
            """As the plain model's, with the state matrix of a batch as nretm.Collator gives it.

            decoder_state_flags   (B, T, G) the flag of each group at each step: 0 none, u row u - 1 of the tokens
            decoder_state_groups  (B, S) the group of each input token
            decoder_flag_tokens   (U, L) the tokens of the distinct flags
            rules                 not read here: a batch carries them for generate
            """
            if decoder_state_flags is not None:
                decoder_state = _state(self, decoder_state_flags, decoder_state_groups, decoder_flag_tokens)
            if decoder_state is not None:
                kwargs["decoder_state"] = decoder_state
            return super().forward(*args, **kwargs)

        def generate(self, inputs=None, *args, rules=None, enforce=False, **kwargs):
            """As the plain model's, with one rule (or None) for each row of the input.

            How the outputs fared is in `model.nretm.verdicts`: one for each returned sequence, None without a rule.
            `enforce`: the model writes nothing that breaks its rule (nretm.Enforcer).
            """
            for name in ("decoder_state_flags", "decoder_state_groups", "decoder_flag_tokens"):
                kwargs.pop(name, None)  # those of a training batch describe the gold output
            if isinstance(rules, (str, Rule)):
                raise ValueError("rules must be a list: one rule, or None, for each row of the input.")
            config = kwargs.get("generation_config") or (args[0] if args else None) or self.generation_config
            if (kwargs.get("num_beam_groups") or config.num_beam_groups or 1) > 1:
                kwargs.setdefault("custom_generate", diverse_beam_search)
            self.nretm.verdicts = []
            if rules is None or all(rule is None for rule in rules):
                return super().generate(inputs, *args, **kwargs)
            ids = kwargs.get("input_ids") if inputs is None else inputs
            session = Session(self, ids, rules, longest_output(config, **kwargs))
            if enforce:
                processors = kwargs.get("logits_processor") or ()
                enforcer = self._enforcer(session, config, kwargs)
                kwargs["logits_processor"] = [*processors, enforcer]
                kwargs.setdefault("custom_generate", enforcer.settings.get("custom_generate"))
            output = super().generate(inputs, *args, decoder_session=session, decoder_rows=session.rows, **kwargs)
            self.nretm.verdicts = session.verdicts(getattr(output, "sequences", output))
            report(self.nretm.verdicts)
            return output

        def _enforcer(self, session, config, kwargs) -> Enforcer:
            """With the settings that generate will come to by the same arguments."""
            given = {name: kwargs[name] for name in USED if kwargs.get(name) is not None}
            own = None if config is self.generation_config else config
            whole = self._prepare_generation_config(own, **given)[0]
            rules = [tracker and tracker.rule for tracker in session.trackers]
            return Enforcer(rules, self.nretm.options.tokenizer, session.policy, prompt=1,
                            max_new_tokens=longest_output(config, **kwargs), **{n: getattr(whole, n) for n in USED})

        def prepare_inputs_for_generation(self, input_ids, decoder_session=None, decoder_rows=None, **kwargs):
            inputs = super().prepare_inputs_for_generation(input_ids, **kwargs)
            if decoder_session is not None:
                columns = inputs["decoder_input_ids"].shape[1]
                inputs["decoder_state"] = decoder_session.state(input_ids, decoder_rows, columns)
            return inputs

    signature = inspect.signature(cls.forward)  # generate and Trainer look at it
    ours = [p for p in inspect.signature(Tracked.forward).parameters.values() if p.kind is p.KEYWORD_ONLY]
    *theirs, catch_all = signature.parameters.values()
    Tracked.forward.__signature__ = signature.replace(parameters=[*theirs, *ours, catch_all])
    Tracked.__name__, Tracked.__qualname__, Tracked.__module__ = cls.__name__, cls.__qualname__, cls.__module__
    return Tracked


@dataclass(frozen=True)
class Counts:
    """How many parameters there are."""

    total: int
    added: int
    trained: int

    def __str__(self) -> str:
        return (f"NRETM adds {self.added:,} parameters to {self.total - self.added:,} "
                f"({100 * self.added / (self.total - self.added):.3f} %); {self.trained:,} "
                f"({100 * self.trained / self.total:.1f} %) are trained.")


def freeze(model: nn.Module) -> Counts:
    """Freeze what the paper freezes in baseline and NRETM alike: self-attention and feed-forward of the decoder, and,
    as in the Mention Flags code, the embeddings and the LM head. Prints and returns how many parameters train."""
    family = FAMILIES.get(model.config.model_type)
    if family is None:
        raise ValueError(f"Models of type {model.config.model_type!r} are not known: add a line to "
                         f"nretm.modeling.FAMILIES (known: {', '.join(FAMILIES)}).")
    decoder = model.get_decoder()
    for name, parameter in decoder.named_parameters():
        if re.match(family.frozen, name):
            parameter.requires_grad = False
    for module in (model.get_encoder().get_input_embeddings(), decoder.get_input_embeddings(),
                   model.get_output_embeddings()):
        module.requires_grad_(False)
    counts = count(model)
    print(counts)
    return counts


def count(model: nn.Module) -> Counts:
    parameters = list(model.parameters())
    added = model.nretm.parameters() if hasattr(model, "nretm") else ()
    return Counts(sum(p.numel() for p in parameters), sum(p.numel() for p in added),
                  sum(p.numel() for p in parameters if p.requires_grad))


def save(model: nn.Module, folder: str | Path, trained: bool = False) -> None:
    """Write what NRETM added and, if `trained`, every parameter of the model that is not frozen."""
    _must_be_equipped(model)
    tensors = {f"nretm.{name}": tensor for name, tensor in model.nretm.state_dict().items()}
    if trained:
        tensors |= {name: p.data for name, p in model.named_parameters() if p.requires_grad}
    settings = model.nretm.options
    policy = {"words": settings.policy.words, "separator": settings.policy.separator,
              "stop_words": sorted(settings.policy.stop_words)}
    described = {"nretm": __version__, "base": model.nretm.base, "trained": trained,
                 "settings": {"compress": settings.compress, "policy": policy}}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)
    (folder / SETTINGS).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


WEIGHTS, SETTINGS = "nretm.safetensors", "nretm.json"


def load(model: Model, folder: str | Path, tokenizer=None) -> Model:
    """Read what `save` wrote into a model, whose settings become those of the folder.

    A model that is not equipped yet is equipped on the way: only then its tokenizer is needed.
    """
    equipped, folder = hasattr(model, "nretm"), Path(folder)
    if not equipped and tokenizer is None:
        raise ValueError("The model is not equipped: give its tokenizer as well, nretm.load(model, folder, tokenizer).")
    for name in (WEIGHTS, SETTINGS):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} was not written by nretm.save: it has no {name}.")
    described = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    _must_fit(folder, described["base"], model.nretm.base if equipped else _describe(model))
    settings = described["settings"]
    policy = Policy(**settings["policy"] | {"stop_words": frozenset(settings["policy"]["stop_words"])})
    if not equipped:
        equip(model, tokenizer)
    tensors = load_file(folder / WEIGHTS)
    own = dict(model.named_parameters()) | dict(model.named_buffers())
    for name, tensor in tensors.items():
        if name not in own or own[name].shape != tensor.shape:
            raise ValueError(f"{folder} fits another model: its {name} is {tuple(tensor.shape)}, this model "
                             + (f"has {tuple(own[name].shape)}." if name in own else "has none."))
    with torch.no_grad():
        for name, tensor in tensors.items():
            own[name].copy_(tensor)
    model.nretm.options = TrackingOptions(model.nretm.options.tokenizer, policy, settings["compress"])
    return model


def _must_be_equipped(model: nn.Module) -> None:
    if not hasattr(model, "nretm"):
        raise ValueError("The model is not equipped: call nretm.equip(model, tokenizer) first.")


def _describe(model: nn.Module) -> dict:
    """What a folder of ours must agree on with the model it is read into: type, sizes, and a few of its weights."""
    config, weight = model.config, model.get_encoder().get_input_embeddings().weight
    sample = [] if weight.is_meta else [round(x, 4) for x in weight[-1, :8].float().tolist()]
    return {"type": config.model_type, "name": config.name_or_path, "d_model": config.d_model,
            "layers": len(cross_attentions(model.get_decoder())),
            "vocabulary": weight.shape[0], "embedding": sample}


def _must_fit(folder: Path, saved: dict, own: dict) -> None:
    for name, value in saved.items():
        if name == "embedding":
            same = all(abs(a - b) <= 0.01 * max(1.0, abs(a)) for a, b in zip(value, own[name], strict=False))
        else:
            same = name == "name" or value == own[name]
        if not same:
            raise ValueError(f"{folder} fits another model: it was saved for {saved['name'] or saved['type']} with "
                             f"{name} = {value}, this one has {own[name]}.")
