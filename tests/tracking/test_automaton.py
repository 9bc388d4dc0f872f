"""A rule as an automaton: few states, shared, bounded, and what predicates are shown of the text."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import tokenizer
from strategies import thorough

import nretm
from nretm import Policy, Predicate, Sentence, Tracker
from nretm.rules.checker import Text
from nretm.rules.mentions import Mention
from nretm.tracking import automaton
from nretm.tracking.growing_text import reader_for

R3 = "(Len(1, 3) || StopWordCount(1, 1)) & (Len(3, 4) || StopWordCount(3, 2)) & InSen(big dog, 1) & InSen(tree, 3)"
phrase = st.lists(st.sampled_from("ab"), min_size=1, max_size=5).map(" ".join)


@thorough
@given(st.lists(phrase, min_size=1, max_size=3), st.lists(st.sampled_from("abc."), max_size=30))
def test_a_mention_is_found_as_by_looking_back_at_all_words(phrases, words):
    """Phrases that repeat themselves, such as `a a b`, are where a memory of less than the words goes wrong."""
    mention, sentence, found = Mention.of(tuple(phrases), Policy()), [], False
    for word in words:
        if word == ".":
            mention, sentence = mention.end(), []
            continue
        mention = mention.read(word)
        sentence.append(word)
        found = found or any(sentence[-len(p.split()):] == p.split() for p in phrases)
        assert mention.found == found


def _texts(count, length=30):
    rng = random.Random(0)
    tok = tokenizer("wordlevel")
    words = "the car drove . one tree . big dog ! at snow".split()
    return [tok(" ".join(rng.choices(words, k=length)))["input_ids"] for _ in range(count)]


def test_many_texts_share_few_states():
    """What can still change something of R3: three sentences, counts up to nine too many, two phrases."""
    tracker = Tracker(R3, tokenizer("wordlevel"))
    states = [state for ids in _texts(300) for state in tracker.states(ids)]
    late = [s for s in states if s.settled.sentence == 4 and s.now.sentence == 4]  # the rule speaks of none of these
    assert len(late) > 1000
    assert len({s.now for s in late}) <= 2 * 2**6  # what has come of the six literals, and whether a sentence is open
    assert len({s.now for s in states}) < len(states) / 10
    by_key = {}
    for state in states:
        assert by_key.setdefault(state.key, (state.flags, state.verdict)) == (state.flags, state.verdict)


def test_trackers_of_one_rule_share_their_states_whatever_stands_before_it():
    tok = tokenizer("wordlevel")
    first, second = Tracker(R3, tok), Tracker(R3, tok, source="the car ")
    ids = _texts(1)[0]
    assert [s.key for s in first.states(ids)] == [s.key for s in second.states(ids)]
    assert first.states(ids)[-1].flags != second.states(ids)[-1].flags  # each has the flags of its own input
    assert Tracker(R3, tok, policy=Policy(stop_words={"dog"})).automaton is not first.automaton


def test_states_are_forgotten_before_there_are_too_many(monkeypatch):
    tok, texts = tokenizer("wordlevel"), _texts(40)
    expected = [[s.flags for s in Tracker(R3, tok).states(ids)] for ids in texts]
    monkeypatch.setattr(automaton, "MAX_STATES", 25)
    tracker = Tracker(R3, tok)
    tracker.automaton.forget()
    assert [[s.flags for s in tracker.states(ids)] for ids in texts] == expected
    held = [here for reading in tracker.automaton._readings.values() for here in reading.tails.values()]
    assert 0 < len(held) <= 25


@pytest.fixture
def longest():
    """Sentence k has more words than any before it, and no stop word: it looks at all that `at` offers."""

    @nretm.predicate
    class Longest(Predicate):
        k: Sentence

        def state(self, memory, at):
            seen.append((at.sentence, at.ended, at.finished, at.lengths, at.words_in(None), at.stops_in(self.k)))
            return 0, None

        def holds(self, text, tolerance=0):
            return False

    seen = []
    yield Longest, seen
    del nretm.rules.predicates.REGISTRY["longest"]


def test_what_a_users_predicate_sees_of_the_text(longest):
    """Without a horizon all counts are exact, in a rule with other predicates too."""
    predicate, seen = longest
    tok = tokenizer("wordlevel")
    tracker = Tracker(predicate(2) & nretm.Copy("tree"), tok)
    ids = [*tok("the big car . the dog at one tree . snow")["input_ids"], tok.eos_token_id]
    state = tracker.states(ids)[-1]
    assert seen[0] == (0, 0, False, (), None, None) and seen[1] == (1, 0, False, (), 1, None)
    assert (3, 2, False, (4, 6), 10, 2) in seen and (3, 2, False, (4, 6), 11, 2) in seen
    text = Text(state.text, Policy())
    assert seen[-1][1:] == (3, True, tuple(text.length(k) for k in (1, 2, 3)), text.length(), text.stop_count(2))


def test_a_memory_that_cannot_be_hashed_is_refused():
    @nretm.predicate
    class Lists(Predicate):
        def start(self, policy):
            return []

        def state(self, memory, at):
            return 0, None

        def holds(self, text, tolerance=0):
            return False

    with pytest.raises(TypeError, match="a memory that cannot be hashed: remember numbers, strings and tuples"):
        Tracker(Lists(), tokenizer("wordlevel"))
    del nretm.rules.predicates.REGISTRY["lists"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_bytes_that_are_no_character_count_as_they_are_written(count):
    """The decoder waits for more after the bytes ED B6, but writes two signs if nothing follows."""
    tok = tokenizer("unigram-bytes")
    reader, rule = reader_for(tok, Policy()), nretm.parse("WordChars(1..4)")
    found = automaton.automaton_for(rule, reader)
    for written in itertools.product((0x41, 0x80, 0xB6, 0xC3, 0xE4, 0xED, 0xF0, 0xFF), repeat=count):
        ids = [tok.convert_tokens_to_ids(token) for token in ("c", "a", *(f"<0x{byte:02X}>" for byte in written))]
        here = found.start
        for token in ids:
            here = found.step(here, token)
        assert (found.verdict(found.end(here)) == "satisfied") == bool(nretm.check(rule, reader.text(ids)))
