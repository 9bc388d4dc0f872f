"""From a model and examples to texts: how the models of the paper's tables generate."""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import torch

import nretm
from nretm.modeling import RuleBroken
from nretm.tracking import TokenBytes
from reproduction.data import Example
from reproduction.data.matrices import no_garbage_collection
from reproduction.experiments import Experiment
from reproduction.grid_beam_search import grid_beam_search
from reproduction.settings import Settings
from reproduction.tasks import TASKS, Task

DOCUMENT_END = "</d>"


def set_generation(model, tokenizer, task: Task, settings: Settings) -> None:
    """How the model generates. Trainer fills in defaults of its own, so this is called more than once."""
    config = model.generation_config
    config.max_length, config.max_new_tokens, config.num_beams = None, settings.max_new_tokens, settings.beams
    config.length_penalty, config.no_repeat_ngram_size = settings.length_penalty, settings.no_repeat_ngram
    if task.languages and task.languages[1] in tokenizer.get_vocab():  # a document begins and ends with its language
        tokenizer.src_lang, tokenizer.tgt_lang = task.languages
        language = tokenizer.convert_tokens_to_ids(tokenizer.tgt_lang)
        config.decoder_start_token_id = config.eos_token_id = language
        config.forced_eos_token_id = None


@torch.no_grad()
def end_documents(model, tokenizer) -> None:
    """Let a model without language codes (Marian) end a document by a token of its own.

    Its `</s>` ends a sentence that stands alone; in documents it stands between sentences. The new token begins as a
    copy of it.
    """
    sentence = tokenizer.eos_token_id
    tokenizer.add_special_tokens({"eos_token": DOCUMENT_END})
    if tokenizer("").input_ids[-1:] != [tokenizer.eos_token_id]:
        raise ValueError(f"{type(tokenizer).__name__} has neither language codes nor an end that can be changed: "
                         "translate documents with an mBART or a Marian model.")
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    embedding, end = model.get_input_embeddings().weight, tokenizer.eos_token_id
    embedding[end] = embedding[sentence]
    model.config.eos_token_id = model.generation_config.eos_token_id = end


@torch.no_grad()
def generate(model, tokenizer, experiment: Experiment, settings: Settings, examples: Sequence[Example],
             bonus: float = 0.0) -> list[str]:
    """What the model writes for the examples: enforced or by grid beam search where the experiment says so.

    `bonus` is the enforcer's.
    """
    task = TASKS[experiment.task]
    if experiment.enforced and settings.enforce == "broken":
        written = generate(model, tokenizer, replace(experiment, enforced=False, decodes=None), settings, examples)
        broken = [i for i, (example, text) in enumerate(zip(examples, written, strict=True))
                  if not nretm.check(task.judged_by(example.rule), text, policy=task.policy)]
        again = generate(model, tokenizer, experiment, replace(settings, enforce="all"),
                         [examples[i] for i in broken], bonus)
        for i, text in zip(broken, again, strict=True):
            written[i] = text
        return written
    set_generation(model, tokenizer, task, settings)
    collator, outputs = nretm.Collator(model, tokenizer), []
    model.eval()
    for at in range(0, len(examples), settings.decode_batch):
        part = examples[at:at + settings.decode_batch]
        batch = {name: value.to(model.device) if isinstance(value, torch.Tensor) else value
                 for name, value in collator(part).items() if name != "labels"}
        in_bf16 = torch.autocast(model.device.type, torch.bfloat16, enabled=settings.precision == "bf16")
        with warnings.catch_warnings(), in_bf16, no_garbage_collection():
            warnings.simplefilter("ignore", RuleBroken)  # they are counted
            if experiment.enforced:
                enforcer = nretm.Enforcer([task.judged_by(example.rule) for example in part], tokenizer, task.policy,
                                          max_new_tokens=settings.max_new_tokens, num_beams=settings.beams, bonus=bonus,
                                          eos_token_id=model.generation_config.eos_token_id)
                tokens = model.generate(**batch, logits_processor=[enforcer],
                                        custom_generate=enforcer.settings.get("custom_generate"))
            elif experiment.decodes:
                boundary = word_boundaries(tokenizer, model.config.vocab_size).to(model.device)
                phrases = [phrase_tokens(task, example, tokenizer) for example in part]
                tokens = grid_beam_search(model, phrases, settings.beams, boundary, **batch)
            else:
                tokens = model.generate(**batch)
        outputs += texts(tokens.tolist(), tokenizer, task.policy.separator)
    return outputs


def texts(token_ids, tokenizer, separator: str | None = None) -> list[str]:
    """Generated tokens as text; the separator between sentences, which is a special token, is kept."""
    if separator is None:
        return tokenizer.batch_decode(token_ids, skip_special_tokens=True)
    mark = tokenizer.convert_tokens_to_ids(separator)
    return [_document(list(map(int, row)), mark, separator, tokenizer) for row in token_ids]


def _document(row: list[int], mark: int, separator: str, tokenizer) -> str:
    parts: list[list[int]] = [[]]
    for token in row:
        if token == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    lines = [tokenizer.decode(part, skip_special_tokens=True).strip() for part in parts]
    while lines and not lines[-1]:
        lines.pop()
    return separator.join(lines)


def word_boundaries(tokenizer, size: int) -> torch.Tensor:
    """(V,) bool: the tokens that cannot prolong a word; for grid beam search."""
    pieces, mask = TokenBytes(tokenizer), torch.ones(size, dtype=torch.bool)
    for token in range(min(len(tokenizer), size)):
        piece = pieces[token]
        mask[token] = not piece or not piece.decode(errors="replace")[0].isalnum()
    return mask


def phrase_tokens(task: Task, example: Example, tokenizer) -> list[list[int]]:
    """The token sequences that grid beam search must place: every phrase as it stands in the rule."""
    if task.phrases is None:
        raise ValueError(f"Grid beam search needs phrases to place, which {task.name} does not have.")
    return [tokenizer(phrase, add_special_tokens=False).input_ids for phrase in task.phrases(example)]
