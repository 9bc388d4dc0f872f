"""Witnesses: each one obeys, none is missed where the vocabulary is small, and needs are lower bounds."""

import gc
import itertools

import kinds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import EXAMPLES, policies, predicates, rules, texts, thorough

import nretm
from nretm import Copy, InSen, Len, Not, Order, Phrase, Policy, Predicate, StopWordCount, predicate
from nretm.rules.checker import Text
from nretm.rules.formula import And, Or
from nretm.rules.parser import as_rule
from nretm.tracking.automaton import Automaton, Reading
from nretm.tracking.growing_text import reader_for
from nretm.tracking.spelling import spelling_for
from nretm.tracking.witness import Witnesses


def witnesses_of(rule, tok, policy=None) -> Witnesses:
    return Witnesses(Automaton(as_rule(rule), reader_for(tok, policy or Policy())))


def after(witnesses: Witnesses, ids):
    here = witnesses.automaton.start
    for token in ids:
        here = witnesses.automaton.step(here, token)
    return here


def follow(witnesses: Witnesses, here) -> list[int]:
    ids = []
    while (token := witnesses.next_token(here)) is not None:
        ids.append(token)
        here = witnesses.automaton.step(here, token)
    return ids


@pytest.mark.slow
@thorough
@given(rules, texts, st.sampled_from(kinds.KINDS), policies, st.integers(0, 40))
def test_a_witness_obeys_and_fits(rule, text, kind, policy, room):
    tok = kinds.tokenizer(kind)
    try:
        witnesses = witnesses_of(rule, tok, policy)
    except ValueError as problem:
        assert "no words" in str(problem)
        return
    ids = tok(text, add_special_tokens=False)["input_ids"]
    for n in range(0, len(ids) + 1, 5):
        here = after(witnesses, ids[:n])
        if (length := witnesses.length(here, room)) is not None:
            rest = follow(witnesses, here)
            assert len(rest) == length <= room
            assert nretm.check(rule, witnesses.automaton.reader.text(ids[:n] + rest), policy=policy)


@pytest.mark.parametrize("rule", [
    "StopWordCount(0)", "StopWordCount(1, 0)", "StopWordCount(every, 0)", "not StopWordCount(1, 1..)", "Count(on, 0)",
    "not Count(on, 1..)", "not Copy(on)", "not WordAt(1, 1, on)", "WordChars(3..)", "Chars(3..)"])
def test_a_word_that_must_not_stand_may_become_another_one(rule):
    tok = kinds.tokenizer("byte-bpe")
    witnesses = witnesses_of(rule, tok)
    assert witnesses.length(after(witnesses, tok("on", add_special_tokens=False)["input_ids"]), 1) == 1


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_what_leads_out_of_a_range_is_found(kind):
    witnesses = witnesses_of("(not Len(2)) & (not Len(8)) & (not Len(every, ..7))", kinds.tokenizer(kind))
    assert witnesses.length(witnesses.automaton.start, 40) is not None


LONGEST = 4

few = st.sampled_from(["car", "cars", "the car", "dog", "big dog"])
small = st.one_of(
    st.builds(InSen, few, st.integers(1, 2)), st.builds(Order, few, few), st.builds(Copy, few),
    st.builds(Len, st.integers(1, 2), st.integers(0, 4)), st.builds(Len, st.integers(0, 5)),
    st.builds(StopWordCount, st.integers(1, 2), st.integers(0, 2)), st.builds(StopWordCount, st.integers(0, 2)))
small_rules = st.recursive(small, lambda inner: st.one_of(
    st.builds(lambda a, b: a & b, inner, inner), st.builds(lambda a, b: a | b, inner, inner), st.builds(Not, inner)),
    max_leaves=6)


@pytest.fixture(scope="module")
def every_text():
    """All 11,111 sequences of at most four of the ten tokens, and what the checker reads in each."""
    read = reader_for(kinds.tokenizer("few"), Policy()).text
    return {ids: Text(read(ids)) for n in range(LONGEST + 1) for ids in itertools.product(range(10), repeat=n)}


def obeys(rule, text: Text) -> bool:
    """A formula by its plain meaning, over the checker's own reading of the text."""
    match rule:
        case And():
            return all(obeys(part, text) for part in rule.parts)
        case Or():
            return any(obeys(part, text) for part in rule.parts)
        case Not():
            return not obeys(rule.rule, text)
    return rule.holds(text)


@pytest.mark.slow
def test_of_a_small_vocabulary_no_witness_is_missed(every_text):
    """A token has a witness if and only if one of all the texts that begin with it obeys."""
    tok = kinds.tokenizer("few")

    @settings(thorough, max_examples=max(1, EXAMPLES // 5))
    @given(small_rules)
    def exhaustive(rule):
        witnesses = witnesses_of(rule, tok)
        able = {ids[:1] for ids, text in every_text.items() if obeys(rule, text)}
        assert (witnesses.length(witnesses.automaton.start, LONGEST) is not None) == bool(able)
        for token in range(10):
            found = witnesses.length(after(witnesses, [token]), LONGEST - 1)
            assert (found is not None) == ((token,) in able), tok.convert_ids_to_tokens(token)

    exhaustive()


@thorough
@given(predicates, texts, st.sampled_from(["wordpiece", "wordlevel"]))
def test_the_words_that_are_needed_are_a_lower_bound(literal, text, kind):
    tok = kinds.tokenizer(kind)
    ids = tok(text, add_special_tokens=False)["input_ids"]
    try:
        witnesses = witnesses_of(literal, tok)
    except ValueError:
        return
    if not witnesses.may_end(after(witnesses, ids)):
        witnesses = witnesses_of(Not(literal), tok)
    for n in range(len(ids) + 1):
        assert witnesses.distance(after(witnesses, ids[:n]))[1] <= len(ids) - n


@predicate
class Rhymes(Predicate):
    """A user's predicate that does not say what it needs: some word ends like w."""

    w: Phrase

    def start(self, policy):
        return False

    def read(self, found, word, sentence, index):
        return found or (word != self.w and word.endswith(self.w[-2:]))

    def state(self, found, at):
        return (2 if found else 0), None

    def holds(self, text, tolerance=0):
        return any(word != self.w and word.endswith(self.w[-2:]) for word in text.words())


def test_a_predicate_that_does_not_say_what_it_needs_is_obeyed_all_the_same():
    rule = Rhymes("river") & Len(1, 6) & InSen("car", 2)
    witnesses = witnesses_of(rule, kinds.tokenizer("byte-bpe"))
    assert witnesses.length(witnesses.automaton.start, 60) is not None
    ids = follow(witnesses, witnesses.automaton.start)
    assert nretm.check(rule, witnesses.automaton.reader.text(ids))


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_phrase_that_is_begun_needs_only_its_rest(kind):
    tok = kinds.tokenizer(kind)
    spell, witnesses = spelling_for(tok), witnesses_of("Copy(waitressing job) & Len(3)", tok)
    begun = spell(" the waitressing")
    for n in range(len(begun) + 1):
        assert witnesses.length(after(witnesses, begun[:n]), 30) is not None
    assert follow(witnesses, after(witnesses, begun)) == list(spell(" job"))


def test_the_separator_ends_a_sentence():
    tok, policy = kinds.tokenizer("unigram"), Policy(separator="</s>")
    rule = "translateOnce(3) & InSen(car, 2) & Len(1, 2)"
    witnesses = witnesses_of(rule, tok, policy)
    assert witnesses.length(witnesses.automaton.start, 20) is not None
    ids = follow(witnesses, witnesses.automaton.start)
    assert ids.count(tok.convert_tokens_to_ids("</s>")) >= 2
    assert nretm.check(rule, witnesses.automaton.reader.text(ids), policy=policy)


def test_what_was_found_is_used_again():
    """Work is counted, not time: searches, for a text that grows word by word."""
    tok, searches = kinds.tokenizer("byte-bpe"), 0
    witnesses = witnesses_of("InSen(big dog, 2) & Len(2, 9) & InSen(snow, 4) & Len(4, 12)", tok)
    search = witnesses._search

    def counted(here, room):
        nonlocal searches
        searches += 1
        return search(here, room)

    witnesses._search = counted
    text = " A car drove on through the tree and the stones were cold to the artists"
    ids = tok(text, add_special_tokens=False)["input_ids"]
    for n in range(len(ids)):
        assert witnesses.length(after(witnesses, ids[:n]), 60) is not None
    assert searches < len(ids) / 2


def test_an_automaton_may_forget_its_configurations_at_any_time(monkeypatch):
    """Memory stays bounded; what is known is found again."""
    monkeypatch.setattr("nretm.tracking.automaton.MAX_STATES", 60)
    tok = kinds.tokenizer("byte-bpe")
    witnesses = witnesses_of("InSen(big dog, 2) & Len(2, 9) & InSen(snow, 4) & Len(4, 12)", tok)
    ids = tok(" A car drove on through the tree and the stones were cold", add_special_tokens=False)["input_ids"]
    for n in range(len(ids)):
        assert witnesses.length(after(witnesses, ids[:n]), 60) is not None


def test_nothing_is_kept_of_states_that_are_forgotten():
    """Else thousands of rules fill the memory, whatever the automata forget."""
    def readings():
        gc.collect()
        return sum(type(thing) is Reading for thing in gc.get_objects())

    others = readings()
    witnesses = witnesses_of("InSen(big dog, 2) & Len(2, 9) & InSen(snow, 4)", kinds.tokenizer("byte-bpe"))
    assert witnesses.length(witnesses.automaton.start, 60) is not None
    assert readings() > others + 20
    witnesses.automaton.forget()
    assert readings() == others + 1  # where it begins again


@pytest.mark.parametrize("rule", [
    "(not Copy(dog)) & WordAt(4, 3, big)", "(not Copy(dog)) & Sentences(6)", "(not Copy(dog)) & Count(car, 5)",
    "(not Len(4, ..4)) & (not Len(2, 5)) & InSen(car, 5)", "(not StopWordCount(2, ..4)) & InSen(car, 3)"])
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_search_finds_its_way_where_a_negation_opens_many(rule, kind):
    """Any word may get another ending there, so that there are many ways to stay where one is."""
    witnesses = witnesses_of(rule, kinds.tokenizer(kind))
    assert witnesses.length(witnesses.automaton.start, 60) is not None


@pytest.mark.parametrize("kind", ["wordpiece", "wordlevel"])
def test_a_phrase_that_only_small_letters_can_spell_is_found(kind):
    witnesses = witnesses_of("Copy(U.S.)" if kind == "wordpiece" else "Copy(Snow)", kinds.tokenizer(kind))
    assert witnesses.length(witnesses.automaton.start, 12) is not None


@pytest.mark.parametrize("text, continues", [("It cost $3.", True), ("It was the car.", False)])
def test_a_period_that_comes_too_soon_may_be_the_point_of_a_number_only(text, continues):
    """"3." may become "3.5"; "car.s" would obey as well, but nobody wants to read it."""
    tok = kinds.tokenizer("byte-bpe")
    witnesses = witnesses_of("Len(1, 8)", tok)
    here = after(witnesses, tok(text, add_special_tokens=False)["input_ids"])
    assert (witnesses.length(here, 20) is not None) == continues


@pytest.mark.parametrize("rule, kind, text, room", [
    ("EndsWith(4, tree) & BeginsWith(1, a tree.)", "wordpiece", "the", 10),
    ("(Len(1, 4) || StopWordCount(1, 0)) & (not InSen(dog, 2)) & InSen(car, 2)", "byte-bpe", "The big dog stopped",
     80)])
def test_a_search_does_not_string_marks_or_endings_together(monkeypatch, rule, kind, text, room):
    """Each "?!?!?!" and each "dogsssss" would be a text of its own, which no other hypothesis shares."""
    tails, step = set(), Automaton.step

    def seen(automaton, here, token_id):
        tails.add(here.tail.tail)
        return step(automaton, here, token_id)

    monkeypatch.setattr(Automaton, "step", seen)
    tok = kinds.tokenizer(kind)
    witnesses = witnesses_of(rule, tok)
    assert witnesses.length(after(witnesses, tok(text, add_special_tokens=False)["input_ids"]), room) is None
    assert 0 < len(tails) < 100
