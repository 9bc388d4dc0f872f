"""From generated tokens to texts."""

import io
import json
from dataclasses import replace

import kinds
import pytest
import sentencepiece
import tiny
import torch
from transformers import MarianTokenizer

import nretm
import reproduction.data
from reproduction import shipped
from reproduction.data import documents
from reproduction.decoding import end_documents, generate, phrase_tokens, texts, word_boundaries
from reproduction.experiments import experiment_named
from reproduction.settings import settings_for
from reproduction.tasks import TASKS


def test_documents_keep_their_separators():
    tokenizer = reproduction.data.builtin_document_tokenizer()
    target = reproduction.data.load("ted15", "test", size=1)[0].target
    ids = tokenizer(text_target=target).input_ids
    assert texts([ids], tokenizer, "</s>") == [target]


def test_word_boundaries():
    tokenizer = reproduction.data.builtin_tokenizer()
    mask = word_boundaries(tokenizer, len(tokenizer))
    ids = tokenizer.convert_tokens_to_ids
    assert mask[ids("▁then")] and mask[ids(".")] and mask[ids("</s>")] and not mask[ids("s")]


def test_only_what_breaks_its_rule_is_enforced():
    model, tokenizer = shipped.load("any-t5")
    free = experiment_named("any-t5")
    enforced, settings = replace(free, enforced=True), settings_for("demo", free, beams=2)
    examples = TASKS["rocstories"].load("test", "r1", size=12)
    alone = generate(model, tokenizer, free, settings, examples)
    everywhere = generate(model, tokenizer, enforced, settings, examples)
    written = generate(model, tokenizer, enforced, replace(settings, enforce="broken"), examples)
    obeys = [bool(nretm.check(example.rule, text)) for example, text in zip(examples, alone, strict=True)]
    assert 0 < sum(obeys) < len(obeys)
    for example, text, *others, well in zip(examples, written, everywhere, alone, obeys, strict=True):
        assert nretm.check(example.rule, text) and text == others[well]


def test_what_grid_beam_search_must_place():
    tokenizer, task = reproduction.data.builtin_tokenizer(), TASKS["commongen"]
    example = task.load("test", "copy", size=1)[0]
    assert [tokenizer.decode(ids) for ids in phrase_tokens(task, example, tokenizer)] == task.phrases(example)
    with pytest.raises(ValueError, match="needs phrases to place, which rocstories does not have"):
        phrase_tokens(TASKS["rocstories"], example, tokenizer)


@pytest.fixture
def marian(tmp_path):
    """A random Marian model with a tokenizer of its kind, which has no language codes."""
    pieces = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(kinds.CORPUS), model_writer=pieces, vocab_size=140,
                                             minloglevel=2)
    read = sentencepiece.SentencePieceProcessor(model_proto=pieces.getvalue())
    vocabulary = ["</s>", "<unk>", *(read.id_to_piece(i) for i in range(3, read.vocab_size())), "<pad>"]
    (tmp_path / "spm").write_bytes(pieces.getvalue())
    (tmp_path / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(vocabulary)}))
    tokenizer = MarianTokenizer(*(str(tmp_path / name) for name in ("spm", "spm", "vocab.json")))
    model = tiny.plain("Marian", vocab_size=len(vocabulary), pad_token_id=tokenizer.pad_token_id, eos_token_id=0,
                       decoder_start_token_id=tokenizer.pad_token_id)
    return model, tokenizer


def test_a_document_of_a_model_without_languages_has_an_end_of_its_own(marian):
    model, tokenizer = marian
    end_documents(model, tokenizer)
    end, between = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("</s>")
    ids = tokenizer("The car stopped.</s>One big dog.").input_ids
    assert between != end and ids.count(between) == 1 and ids.index(end) == len(ids) - 1
    assert model.config.eos_token_id == model.generation_config.eos_token_id == end
    embedded = model.get_input_embeddings().weight
    assert len(embedded) > end and torch.equal(embedded[end], embedded[between])
    assert texts([ids], tokenizer, "</s>") == ["The car stopped.</s>One big dog."]


def test_the_rule_of_a_document_is_tracked_to_that_end(marian):
    model, tokenizer = marian
    end_documents(model, tokenizer)
    nretm.equip(model, tokenizer, nretm.Policy(separator="</s>"))
    rule = "translateOnce(1) & translateOnce(2)"
    batch = nretm.Collator(model)([{"source": "one</s>two</s>", "rule": rule, "target": "A car.</s>A dog."}])
    assert batch["labels"][0, -1] == tokenizer.eos_token_id
    assert torch.isfinite(model(**{name: value for name, value in batch.items() if name != "rules"}).loss)
    tracker = nretm.Tracker(rule, tokenizer, source="one</s>two</s>", policy=nretm.Policy(separator="</s>"))
    *_, written, ended = tracker.states(batch["labels"][0].tolist())
    assert [status for status, _ in written.states] == [2, 1], "the second sentence is still being written"
    assert [status for status, _ in ended.states] == [2, 2]


def test_an_enforced_document_has_as_many_sentences_as_its_source(marian):
    model, tokenizer = marian
    end_documents(model, tokenizer)
    experiment = experiment_named("ted15-mbart-enforced")
    settings = settings_for("smoke", experiment, beams=2, max_new_tokens=40)
    examples, _ = documents.prepare([("talk", [("one", "A car.")] * 5)])
    wanted = [len(example.rule.literals) for example in examples]

    def sentences(experiment):
        written = generate(model, tokenizer, experiment, settings, examples)
        return [sum(map(bool, text.split("</s>"))) for text in written]

    assert sentences(experiment) == wanted != sentences(experiment_named("ted15-mbart"))


def test_a_tokenizer_that_ends_texts_by_itself_is_refused():
    model, tokenizer = tiny.plain("T5"), kinds.tokenizer.__wrapped__("byte-bpe")
    with pytest.raises(ValueError, match="neither language codes nor an end that can be changed"):
        end_documents(model, tokenizer)
