"""The predicates beyond the paper's six: what they say, when they conflict, and what the flags show."""

import pytest
from kinds import tokenizer

import nretm
from nretm import Len, Policy, Range, Sentences, Tracker, check, every, parse

STORY = "Tom had a dog. The dog, a big dog, ran! Tom ran too."
PASSAGE = "It was late. \"We won.\"\n\nThen it rained. The End"


@pytest.mark.parametrize("rule, text, holds", [
    ("Len(2, 8..10)", STORY, True), ("Len(2, ..8)", STORY, False), ("Len(every, 4..)", STORY, True),
    ("Len(every, 5..)", STORY, False), ("StopWordCount(..5)", STORY, True), ("Len(18..)", STORY, True),
    ("InSen(ran, every)", STORY, False), ("InSen(o, every) || InSen(Tom, every)", "Tom ran. Poor Tom!", True),
    ("Sentences(3)", STORY, True), ("Sentences(4..)", STORY, False), ("Sentences(1)", "No end", True),
    ("WordAt(1, 4, dog)", STORY, True), ("WordAt(2, 3, a)", STORY, True), ("WordAt(2, -1, ran)", STORY, True),
    ("WordAt(2, -3, big)", STORY, True), ("WordAt(every, 2, had)", STORY, False), ("WordAt(5, the)", STORY, True),
    ("WordAt(-1, too)", STORY, True), ("WordAt(1, 3, a dog)", STORY, True), ("WordAt(2, -1, dog ran)", STORY, True),
    ("BeginsWith(3, Tom)", STORY, True), ("BeginsWith(every, Tom)", STORY, False), ("EndsWith(ran too)", STORY, True),
    ("EndsWith(1, dog) & BeginsWith(Tom had)", STORY, True), ("WordAt(1, 9, dog)", STORY, False),
    ("Count(dog, 3)", STORY, True), ("Count(dog, ..2)", STORY, False), ("Count(Tom, 1..3)", STORY, True),
    ("Count(cat, 0)", STORY, True), ("Chars(1, 14)", STORY, True), ("Chars(52)", STORY, True),
    ("Chars(every, ..20)", STORY, False), ("Chars(5)", " a  bc \n", True), ("WordChars(..3)", STORY, True),
    ("WordChars(3)", STORY, False), ("CharAt(1, t) & CharAt(-2, O)", STORY, True), ("CharAt(99, x)", STORY, False),
    ("Paragraphs(2)", PASSAGE, True), ("Sentences(every, 2)", PASSAGE, True), ("Sentences(2, 2..)", PASSAGE, True),
    ("Sentences(3, ..9)", PASSAGE, False), ("LastSentence(1, we won)", PASSAGE, True),
    ("LastSentence(2, The end.)", PASSAGE, True), ("LastSentence(2, end)", PASSAGE, False),
    ("LastSentence(2, Then it rained. The end!)", PASSAGE, True), ("LastSentence(1, It was late)", PASSAGE, False)])
def test_what_they_say(rule, text, holds):
    rule = parse(rule)
    assert check(rule, text).satisfied is holds
    assert check(nretm.Not(rule), text).satisfied is not holds
    assert parse(str(rule)) == rule
    state = Tracker(rule, tokenizer("byte-bpe")).states(
        [*tokenizer("byte-bpe")(text, add_special_tokens=False)["input_ids"], tokenizer("byte-bpe").eos_token_id])[-1]
    assert (state.verdict == "satisfied") is holds


@pytest.mark.parametrize("rule, text, misses", [
    ("Len(every, 5..6)", STORY, 3), ("Sentences(2)", STORY, 1), ("Count(dog, 1)", STORY, 2), ("Chars(50)", STORY, 2),
    ("Paragraphs(4..)", PASSAGE, 2), ("Sentences(1, 1)", PASSAGE, 1)])
def test_tolerance_is_how_far_a_count_may_be_off(rule, text, misses):
    assert not check(rule, text, tolerance=misses - 1) and check(rule, text, tolerance=misses)


@pytest.mark.parametrize("rule, why", [
    ("Len(2, ..4) & Len(2, 5..)", "exclude each other"), ("Len(every, ..4) & Len(2, 6)", "exclude each other"),
    ("Len(every, ..2) & InSen(the big dog, 1)", "needs 3 words, more than the ..2"),
    ("Sentences(2) & Len(3, 5)", "Len(3, 5) speaks of sentence 3"), ("Sentences(..2) & Sentences(3)", "exclude"),
    ("WordAt(1, 2, a) & WordAt(1, 2, b)", "exclude"), ("WordAt(1, 8, a) & Len(1, 5)", "needs 8 words"),
    ("BeginsWith(every, He) & WordAt(2, 1, She)", "exclude"), ("Count(dog, 0) & Copy(dog)", "exclude"),
    ("Count(dog, 1) & Count(dog, 2..)", "exclude"), ("Chars(10) & CharAt(11, x)", "needs more characters"),
    ("CharAt(1, a) & CharAt(1, b)", "exclude"), ("WordChars(..3) & WordChars(5..)", "exclude"),
    ("LastSentence(1, a) & LastSentence(1, b)", "exclude"), ("Paragraphs(1) & LastSentence(2, a)", "paragraph 2")])
def test_contradictions_in_words(rule, why):
    assert any(why in sentence for sentence in parse(rule).contradictions())


def test_rules_that_only_look_contradictory():
    for rule in ("Len(1, 3..5) & Len(1, 5..9)", "CharAt(1, a) & CharAt(1, A)", "Sentences(2) & Len(2, 5)",
                 "WordAt(1, 2, a) & WordAt(2, 2, b)", "LastSentence(1, a) & LastSentence(1, A.)"):
        assert not parse(rule).contradictions()


def test_values_count_down_to_the_range_and_stay_at_zero_inside():
    tok = tokenizer("wordlevel")

    def values(rule):
        words = tok("the car drove ! at one big tree .")["input_ids"]
        return [s.statuses[parse(rule)] for s in Tracker(rule, tok).states([*words, tok.eos_token_id])][1:]

    assert values("Len(1, 2..3)") == [(1, 1), (1, 0), (1, 0), *[(0, None)] * 7]
    assert values("Sentences(2)") == [*[(1, 2)] * 3, *[(1, 1)] * 5, (1, 0), (2, None)]
    assert values("Len(every, 4..)")[2:6] == [(1, 1), (1, 4), (1, 3), (1, 2)]
    assert values("WordAt(2, 3, big)") == [*[(0, None)] * 3, (1, 2), (1, 1), (1, 0), *[(2, None)] * 4]
    assert values("Count(one, 1)")[4:6] == [(1, 1), (1, 0)]


def test_arguments_in_python():
    assert Len(every, "10..20") == Len("every", Range(10, 20)) == parse("len(EVERY, 10 .. 20)")
    assert str(Len(2, "7..7")) == "Len(2, 7)" and str(Len(3, "0..4")) == "Len(3, ..4)"
    assert repr(Sentences(Range(3))) == "Sentences(3..)"
    with pytest.raises(ValueError, match="Len: n is empty: nothing is in 9..2"):
        Len(Range(9, 2))
    with pytest.raises(ValueError, match="Len: n must have a bound"):
        Len(Range())
    with pytest.raises(TypeError, match="WordAt takes k, i, w or i, w"):
        nretm.WordAt(1)
    with pytest.raises(ValueError, match="'!' is punctuation, which has no position"):
        check("WordAt(1, !)", STORY)


def test_positions_and_words_follow_the_policy():
    text = '"He is," he said — twice.'
    assert check("WordAt(1, He) & WordAt(-1, twice)", text)
    assert check("WordAt(2, He) & Len(8)", text, policy=Policy(words="collie"))  # the quotes and the dash are words
    assert check("WordAt(1, he) & Len(5)", text, policy=Policy(words="ifeval"))
