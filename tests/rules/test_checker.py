"""The checker on finished texts."""

import pytest

from nretm import Copy, InSen, Len, Not, Order, Policy, StopWordCount, TranslatedOnce, check

TEXT = "The artist drove a Car. She didn't start the big dog! Snow fell on the dog house"


@pytest.mark.parametrize("rule, expected", [
    ("InSen(car, 1)", True), ("InSen(car, 2)", False), ("InSen(snow, 3)", True), ("InSen(snow, 4)", False),
    ("Copy(art)", False), ("Copy(start the)", True), ("Copy(didn't)", True), ("Copy(car. she)", False),
    ("Order(car, snow)", True), ("Order(snow, car)", False), ("Order(dog, dog)", True), ("Order(snow, snow)", False),
    ("Order(big dog, dog house)", True), ("Order(the dog, dog house)", False),
    ("Len(1, 6)", True), ("Len(2, 8)", True), ("Len(3, 6)", True), ("Len(4, 0)", False), ("Len(20)", True),
    ("StopWordCount(1, 2)", True), ("StopWordCount(3, 2)", True), ("StopWordCount(7)", True),
    ("translateOnce(3)", True), ("translateOnce(4)", False), ("not Copy(car)", False), ("not Len(1, 5)", True)])
def test_each_predicate(rule, expected):
    assert check(rule, TEXT).satisfied is expected
    assert bool(check(rule, TEXT)) is expected


def test_by_predicate_speaks_of_literals():
    verdict = check(InSen("car", 1) & (Len(1, 9) | StopWordCount(1, 2)) & ~Copy("snow"), TEXT)
    assert verdict.by_predicate == {InSen("car", 1): True, Len(1, 9): False, StopWordCount(1, 2): True,
                                    Not(Copy("snow")): False}
    assert not verdict.satisfied


def test_why_names_what_is_broken_and_what_was_found():
    rule = InSen("Big Dog", 1) & (Len(1, 9) | StopWordCount(1, 2)) & (Len(2, 9) | Len(5, 9)) & ~Copy("snow") & Copy("x")
    assert check(rule, TEXT).why() == ("InSen(Big Dog, 1) (in sentence 2), Len(2, 9) (8 words), Len(5, 9) (no such "
                                       "sentence), not Copy(snow) (in sentence 3), Copy(x) (not mentioned)")
    assert check("Order(dog, car) & Order(snow, x) & translateOnce(4) & StopWordCount(4)", TEXT).why() == (
        "Order(dog, car) (car not mentioned after dog), Order(snow, x) (x not mentioned), translateOnce(4) "
        "(3 sentences), StopWordCount(4) (7 stop words)")
    assert check("Copy(car) || Len(1, 9)", TEXT).why() == ""


def test_tolerance_loosens_counts_and_nothing_else():
    for off, tolerances in {0: (0, 1, 2), 1: (1, 2), 2: (2,), 3: ()}.items():
        for sign in (-1, 1):
            assert [t for t in (0, 1, 2) if check(Len(1, 6 + sign * off), TEXT, t).satisfied] == list(tolerances)
    assert check(StopWordCount(1, 3), TEXT, tolerance=1).satisfied
    assert not check(InSen("car", 2), TEXT, tolerance=2).satisfied
    assert check(Not(Len(1, 5)), TEXT, tolerance=1).satisfied  # a tolerance never makes a rule harder
    with pytest.raises(ValueError, match="must not be negative"):
        check(Len(1), TEXT, -1)


def test_forms_count_as_mentions():
    assert not check(Copy("drive"), TEXT).satisfied
    assert check(Copy("drive", forms=("drives", "drove")), TEXT).satisfied


def test_the_empty_text():
    assert check(Len(0), "").satisfied and not check(Len(1, 0), "").satisfied and not check(Copy("a"), "").satisfied


def test_policies():
    assert check("Len(1, 5)", TEXT, policy=Policy(words="no-punctuation")).satisfied
    document = Policy(separator="</s>")
    assert check(TranslatedOnce(2) & ~TranslatedOnce(3), "A. B.</s>C", policy=document).satisfied
    assert check(Order("b", "c"), "A. B.</s>C", policy=document).satisfied


def test_tokens_are_refused():
    with pytest.raises(TypeError, match="decode the tokens first"):
        check("Copy(a)", [1, 2])
