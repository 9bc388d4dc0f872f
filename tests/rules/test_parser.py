"""The grammar: what people write is read, and what cannot be read is said to be so."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import rules

import nretm
from nretm import And, Copy, InSen, Len, Not, Or, Order, RuleSyntaxError, StopWordCount, TranslatedOnce, parse

PRINTED = [  # SPEC section 1: exactly as the paper prints them
    "Order(hated, stupid) & Order(stupid, insulting) & Order(insulting, punched)",
    "InSen(waitressing job, 3) & (Len(3, 16) || StopWordCount(3, 8)) & (not InSen(tenacity, 3)) & "
    "InSen(talent agent, 4)",
    "Copy(stone) & Copy(explain) & Copy(knife) & Copy(sharpen)",
    "translateOnce(1) & translateOnce(2) & translateOnce(3)",
]


@pytest.mark.parametrize("text", PRINTED)
def test_the_papers_expressions_are_printed_as_they_were_read(text):
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", [
    "Copy(a) & Copy(b)", "Copy(a)&&Copy(b)", "copy(a) ∧ COPY(b)", "Copy(a) and Copy(b)", "(Copy(a)) AND ((Copy(b)))"])
def test_all_signs_for_and(text):
    assert parse(text) == And((Copy("a"), Copy("b")))


@pytest.mark.parametrize("text", ["Copy(a) || Copy(b)", "Copy(a)|Copy(b)", "Copy(a) ∨ Copy(b)", "Copy(a) or Copy(b)"])
def test_all_signs_for_or(text):
    assert parse(text) == Or((Copy("a"), Copy("b")))


@pytest.mark.parametrize("text", ["not Copy(a)", "!Copy(a)", "~Copy(a)", "¬Copy(a)", "NOT(Copy(a))", "((not Copy(a)))"])
def test_all_signs_for_not(text):
    assert parse(text) == Not(Copy("a"))


def test_not_binds_tighter_than_and_and_tighter_than_or():
    assert parse("Copy(a) | not Copy(b) & Copy(c)") == Or((Copy("a"), And((Not(Copy("b")), Copy("c")))))


def test_rules_compose_in_python():
    rule = InSen("car", 2) & (Len(2, 15) | StopWordCount(2, 8)) & ~Copy("snow")
    assert str(rule) == "InSen(car, 2) & (Len(2, 15) || StopWordCount(2, 8)) & (not Copy(snow))"
    assert parse(str(rule)) == rule


@pytest.mark.parametrize("text, phrase", [
    ("Copy(New York City)", "New York City"), ("Copy(don't)", "don't"), ("Copy(well-known)", "well-known"),
    ("Copy(7 dwarfs)", "7 dwarfs"), ('Copy("a, b (c)")', "a, b (c)"), ("Copy('snow')", "snow"), ("Copy('tis)", "'tis"),
    ("Copy(“curly”)", "curly"), ("Copy(café 中文)", "café 中文"), (r'Copy("say \"hi\"")', 'say "hi"'),
    ("Copy(  a   b )", "a b"), ("Copy(AT&T | co)", "AT&T | co"), ("Copy(12)", "12"), ("Copy(cafe\u0301)", "café")])
def test_phrases(text, phrase):
    assert parse(text) == Copy(phrase)
    assert parse(str(parse(text))) == parse(text)


def test_translate_once_and_translated_once_are_one():
    assert parse("translateOnce(2)") == parse("TranslatedOnce(2)") == TranslatedOnce(2)


def test_len_of_a_sentence_and_of_everything():
    assert parse("len(9)") == Len(9) and parse("Len(2, 9)") == Len(2, 9)
    assert (Len(9).k, Len(9).n, Len(2, 9).k, Len(2, 9).n) == (None, 9, 2, 9)


@settings(max_examples=500)
@given(rules)
def test_printing_and_reading_are_inverse(rule):
    if "forms=" not in repr(rule) and not any(getattr(p, "forms", ()) for p in _predicates(rule)):
        assert parse(str(rule)) == rule


def _predicates(rule):
    return [literal.rule if isinstance(literal, Not) else literal for literal in rule.literals]


@settings(max_examples=500)
@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_any_phrase_can_be_written(a, b):
    rule = Order(a, b)
    assert parse(str(rule)) == rule


@pytest.mark.parametrize("text, problem, position", [
    ("", "the rule is empty", 1), ("  ", "the rule is empty", 1),
    ("InSem(a, 2)", "unknown predicate 'InSem': did you mean InSen? the known ones are", 1),
    ("Copy(a) & Foo(b)", "unknown predicate 'Foo'", 11),
    ("InSen(a)", r"InSen takes InSen(w, k), not 1 argument", 1), ("Copy()", "Copy takes Copy(w), not 0 arguments", 1),
    ("Len(1, 2, 3)", "Len takes Len(k, n) or Len(n), not 3 arguments", 1),
    ("InSen(a, b)", "InSen: k must be a sentence number or every, not 'b'", 10),
    ("Len(2, 20..10)", "Len: n is empty: nothing is in 20..10", 8),
    ("Len(2, ..)", "n must be a whole number or a range", 8),
    ("Len(..999999)", "Len: n must be at most 99999", 5), ("WordAt(1, 0, a)", "WordAt: i must not be 0", 11),
    ("CharAt(1, ab)", "CharAt: c must be one character, not 'ab'", 11),
    ("translateOnce(every)", "a sentence number", 15),
    ("Sentences(0, 3)", "paragraphs are numbered from 1", 11), ("Len(every)", "n must be a whole number or a range", 5),
    ("Len(2, x)", "Len: n must be a whole number", 8),
    ('Len("2", 3)', "Len: k must be a sentence number", 5), ("Copy(a,)", "Copy takes", 1),
    ("InSen(, 2)", "InSen: w must not be empty", 7),
    ("InSen(a, 0)", "sentences are numbered from 1", 10), ("Len(2, -3)", "Len: n must not be negative", 8),
    ("Len(2, 100000)", "at most 99999", 8), ("(Copy(a)", "this '(' is never closed", 1),
    ("Copy(a", "this '(' is never closed", 5), ("Copy(a))", "this ')' closes nothing", 8),
    ("Copy(a) Copy(b)", "expected '&', '||' or the end", 9), ("Copy(a) &", "ends where a predicate is expected", 10),
    ("& Copy(a)", "'&' needs a predicate on its left", 1), ("Copy", "needs its arguments in parentheses", 5),
    ("Copy(a(b))", "a phrase with parentheses goes in quotes", 7), ('Copy(a "b")', "a quotation mark that does not", 8),
    ("Copy(a) & 5", "expected a predicate such as", 11)])
def test_bad_input_gets_a_sentence_a_position_and_a_caret(text, problem, position):
    with pytest.raises(RuleSyntaxError) as caught:
        parse(text)
    sentence, line, caret = str(caught.value).split("\n")
    assert problem in sentence and f"(position {position})" in sentence
    assert caret == " " * (position + 1) + "^"
    assert issubclass(RuleSyntaxError, ValueError)


@pytest.mark.parametrize("text", [
    "(" * 10_000 + "Copy(a)" + ")" * 10_000, "not " * 10_000 + "Copy(a)", "~" * 200 + "Copy(a)", "x" * 1_000_000,
    "Copy(a) & " * 100_000 + "Copy(a)", "Copy(" * 10_000, '"' * 90_000, "Copy('" + "\\" * 90_000,
    "Copy(a" + " " * 90_000])
def test_monstrous_rules_get_an_error(text):
    with pytest.raises(RuleSyntaxError):
        parse(text)


def test_sensible_depth_is_read_even_from_deep_within_a_program():
    nested = Copy("a")
    for _ in range(24):
        nested = ~(nested & Copy("b"))
    assert parse(str(nested)) == nested
    assert sys.getrecursionlimit() <= 3000


@pytest.mark.slow
def test_200_000_random_strings_give_a_rule_or_a_rule_syntax_error():
    parts = ["Copy(", "InSen(", "Len(", "Order(", "not ", "a", "b c", ", ", "1", "2", "-3", ")", "(", " & ", " || ",
             "∧", "¬", '"', "'", "\\", "\n", "é", "中", "\x00", "and", "or", "%", "“", "”", " ", "9" * 5000]
    random.seed(0)
    outcomes = {"rule": 0, "error": 0}
    for i in range(200_000):
        text = "".join(random.choices(parts, k=random.randint(0, 9)))
        if i % 2:  # half of them are the paper's expressions with a piece cut out or put in
            printed, at = PRINTED[i % 4], random.randrange(30)
            text = printed[:at] + random.choice(["", text]) + printed[at + random.randint(0, 12):]
        try:
            rule = parse(text)
            outcomes["rule"] += 1
            assert parse(str(rule)) == rule
        except RuleSyntaxError:
            outcomes["error"] += 1
    assert outcomes["rule"] > 500 and sum(outcomes.values()) == 200_000


def test_a_rule_is_not_a_truth_value():
    with pytest.raises(TypeError, match="join rules with & | ~"):
        bool(Copy("a"))
    with pytest.raises(TypeError, match="is not a rule"):
        Copy("a") & "Copy(b)"
    with pytest.raises(TypeError, match="parse reads text"):
        nretm.parse(3)
