"""What the playground computes: rules as typed, stories, and the two distributions at every step."""

import pytest
import tiny
import torch

import nretm
from reproduction.playground import read, tell

WORDS = ["planted", "seeds", "the", "garden", "Tom", "tom"]
RULE = nretm.parse(tiny.RULES[0])


@pytest.fixture(scope="module")
def model():
    return tiny.equipped(vocab_size=len(tiny.tokenizer))


def test_a_rule_as_it_is_typed():
    assert read("InSen(planted seeds, 2) & Copy(TOM)", WORDS) == nretm.parse("InSen(planted seeds, 2) & Copy(TOM)")
    assert read("Copy(dragon)") == nretm.parse("Copy(dragon)")  # a model without a list of words knows any


@pytest.mark.parametrize("text, said", [
    ("InSen(seeds", "is never closed"), ("", "the rule is empty"), ("Lem(2, 3)", "did you mean Len"),
    ("Copy(gardens)", "'gardens'; the nearest that it knows are garden"),
    ("Len(2, 3) & Len(2, 4)", "No text can obey this rule"),
])
def test_what_is_wrong_is_said_in_a_sentence(text, said):
    with pytest.raises(ValueError) as problem:
        read(text, WORDS)
    assert said in str(problem.value)
    assert isinstance(problem.value, nretm.RuleSyntaxError) == ("^" in str(problem.value))


def test_every_unknown_word_is_named_once():
    with pytest.raises(ValueError) as problem:
        read("Copy(dragon) & InSen(dragon seeds, 2) & not Copy(castle)", WORDS)
    assert str(problem.value).count("'dragon'") == str(problem.value).count("'castle'") == 1
    assert "'seeds'" not in str(problem.value)


def test_greedy_writes_what_is_likeliest_with_the_tracker(model):
    """Both come from different passes: generation step by step, and one over the whole text."""
    story = tell(model, tiny.tokenizer, RULE)
    assert len(story.tokens) == len(story.candidates) == len(story.difference) == story.matrix.shape[1] - 1
    for step in story.candidates:
        written = [one for one in step if one.written]
        assert len(written) == 1 and written[0].tracked == max(one.tracked for one in step)


def test_text_verdict_and_tokens_agree(model):
    story = tell(model, tiny.tokenizer, RULE, beams=3)
    assert "".join(story.tokens).strip() == story.text.strip()
    assert story.verdict == nretm.check(RULE, story.text)


def test_a_tracker_that_has_learned_nothing_changes_nothing():
    story = tell(tiny.equipped(trained=False, vocab_size=len(tiny.tokenizer)), tiny.tokenizer, RULE)
    assert max(story.difference) < 1e-5


def test_difference_is_total_variation(model):
    story = tell(model, tiny.tokenizer, RULE)
    assert all(0 <= value <= 1 for value in story.difference) and max(story.difference) > 0.01
    assert story.difference[story.telling_step] == max(story.difference)
    for step, value in zip(story.candidates, story.difference, strict=True):  # those shown are part of the sum
        assert 0.5 * sum(abs(one.tracked - one.plain) for one in step) <= value + 1e-5


def test_a_model_without_a_tracker(model):
    plain = tiny.plain(vocab_size=len(tiny.tokenizer))
    story = tell(plain, tiny.tokenizer, RULE)
    with torch.no_grad():
        ids = plain.generate(**{k: v[:1] for k, v in tiny.inputs([str(RULE)], [""]).items()}, max_new_tokens=100)
    assert story.text == tiny.tokenizer.decode(ids[0], skip_special_tokens=True)
    assert story.candidates == [] and story.telling_step == 0
