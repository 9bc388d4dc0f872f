"""Words and sentences as the peers count them, held against the peers' own code where it is installed.

`pip install collie-bench` and NLTK's punkt_tab data switch the COLLIE and punkt tests on; the plain re-statements of
what the peers do run everywhere.
"""

import string

import pytest
import strategies
from hypothesis import given
from nltk import word_tokenize
from nltk.tokenize import RegexpTokenizer

from nretm import Policy, check
from reproduction.data.builtin_stories import stories

SENTENCES = [sentence for story in stories("test", 100) for sentence in story] + [
    'He said, "I won\'t," and (quietly) left.', "“Well” – she wrote — ‘that’s it’ …",
    "I've 3.5% of $4,000; it's U.S.-made.", "Wait... what?! No -- really.",
    "The 'quoted' word, the well-known e.g. the dog's.", "Cannot, gonna; d'ye know?",
    "Mr. O'Neil (b. 1950) went to St. Ives [sic] with 50% off.", "It's \"fine\".", "a/b & c_d #5 @home *now* ~ok <x>"]


def peer(name):
    return pytest.importorskip("collie.constraints", reason="collie-bench is not installed").__dict__[name]


@pytest.fixture
def punkt():
    policy = Policy(sentences="punkt", words="collie")
    try:
        policy.sentences_of("A test.")
    except ValueError as missing:
        pytest.skip(str(missing))
    return policy


def restated(sentence: str) -> list[str]:
    """COLLIE's word level as its source has it, for one sentence."""
    words = [word for word in word_tokenize(sentence, preserve_line=True) if word not in string.punctuation]
    return [word.strip().strip(".") for word in words]


@pytest.mark.parametrize("sentence", SENTENCES[-9:])
def test_words_as_the_peers_restated_cut_them(sentence):
    assert Policy(words="collie").words_of(sentence) == restated(sentence)
    assert Policy(words="ifeval").words_of(sentence) == RegexpTokenizer(r"\w+").tokenize(sentence)
    assert Policy().words_of(sentence) == word_tokenize(sentence, preserve_line=True)


@given(strategies.texts)
def test_words_as_the_peers_restated_cut_any_text(text):
    sentence = " ".join(text.split())
    assert Policy(words="collie").words_of(sentence) == restated(sentence)
    assert Policy(words="ifeval").words_of(sentence) == RegexpTokenizer(r"\w+").tokenize(sentence)


def test_words_as_collie_counts_them(punkt):
    cut, same = peer("TargetLevel")("word"), peer("Relation")("==")
    for sentence in SENTENCES:
        words = punkt.words_of(sentence)
        assert words == cut(sentence), sentence
        for word in words:
            assert same(word.upper(), punkt.key(word)), word


def test_sentences_as_punkt_cuts_them(punkt):
    text = "He works for Acme Inc. and left at 5 p.m. yesterday. Then \"it rained.\" she said. Prof. Li came."
    assert punkt.sentences_of(text) == [
        "He works for Acme Inc. and left at 5 p.m. yesterday.", 'Then "it rained."', "she said.", "Prof. Li came."]
    cut = peer("TargetLevel")("sentence")
    for story in stories("test", 100):
        assert len(punkt.sentences_of(" ".join(story))) == len(cut(" ".join(story)))
    assert check("Len(1, 11)", text, policy=punkt)


def test_missing_punkt_data_is_said_in_a_sentence(monkeypatch):
    from nretm.text import policy

    def missing(language):
        raise LookupError("punkt_tab")

    policy._punkt.cache_clear()
    monkeypatch.setattr(policy, "PunktTokenizer", missing)
    with pytest.raises(ValueError, match="needs NLTK's punkt_tab data.*nltk.downloader punkt_tab"):
        Policy(sentences="punkt").sentences_of("A test.")
