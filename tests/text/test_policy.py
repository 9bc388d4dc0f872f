"""Words and sentences: the paper's own sentences are exact test vectors."""

import os
from pathlib import Path

import kinds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.destructive import NLTKWordTokenizer

from nretm import Policy, Tracker
from nretm.text.policy import treebank
from nretm.text.stop_words import ENGLISH

WORDS = st.one_of(st.from_regex(r"[A-Za-z]{1,7}", fullmatch=True),
                  st.sampled_from(["cannot", "Gonna", "wanna", "lemme", "gotta", "gimme", "Mr", "U.S.", "d'ye", "it's",
                                   "more'n", "'tis", "etc", "can", "not", "x-ray", "3.5", "a,", "--"]))


@given(st.lists(WORDS, min_size=1, max_size=8), st.sampled_from([".", "!", "?", "", "...", " .", '."']),
       st.sampled_from([" ", " ", "  "]))
def test_plain_sentences_are_cut_as_nltk_cuts_them(words, end, space):
    sentence = space.join(words) + end
    assert treebank(sentence) == NLTKWordTokenizer().tokenize(sentence)


FRAGMENTS = [*"ant'sNT1,.!?-", " ", " ", "cannot", "wanna", "'ll", "Gonna", "'d"]


@pytest.mark.slow
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=9).map("".join))
@settings(max_examples=2000)
def test_endings_and_commas_are_cut_as_nltk_cuts_them(sentence):
    assert treebank(sentence) == NLTKWordTokenizer().tokenize(sentence)


@pytest.mark.parametrize("sentence, words", [  # SPEC section 3, from the paper's generations
    ("I was on the longest grocery trip I ever went on.", 12), ("I had to wait in line forever again.", 9),
    ("Sam was on the longest grocery trip of his life.", 11),
    ("Sam had to wait in line forever for his next grocery trip.", 13),
    ("She applied for a waitressing job but she didn't get a job at all.", 16)])
def test_the_papers_sentences(sentence, words):
    assert len(Policy().words_of(sentence)) == words
    assert Policy().sentences_of(sentence) == [sentence]


def test_the_three_word_policies():
    sentence = "Well, it didn't cost $3.50!"
    assert Policy().words_of(sentence) == ["Well", ",", "it", "did", "n't", "cost", "$", "3.50", "!"]
    assert Policy(words="collie").words_of(sentence) == ["Well", "it", "did", "n't", "cost", "3.50"]
    assert Policy(words="ifeval").words_of(sentence) == ["Well", "it", "didn", "t", "cost", "3", "50"]
    assert Policy(words="no-punctuation") == Policy(words="collie")
    assert Policy(words="word-characters") == Policy(words="ifeval")
    with pytest.raises(ValueError, match="unknown word policy 'spacy': choose one of treebank"):
        Policy(words="spacy")


@pytest.mark.parametrize("text, sentences", [
    ("Mr. Li and Dr. No met. They left!", ["Mr. Li and Dr. No met.", "They left!"]),
    ("It cost $3.50 at 5.30 p.m. on Monday. Fine.", ["It cost $3.50 at 5.30 p.m. on Monday.", "Fine."]),
    ("Wait... what? Well…  yes.", ["Wait... what?", "Well… yes."]),
    ('He said, "I won." Then he left.', ['He said, "I won."', "Then he left."]),
    ('"Is this the way?" she said. "Yes!” he said.', ['"Is this the way?" she said.', '"Yes!” he said.']),
    ("He came (at last!) and sat down. (Really?) We laughed.", ["He came (at last!) and sat down.", "(Really?)",
                                                                 "We laughed."]),
    ('"Why?"  \n then silence.', ['"Why?" then silence.']), ("Why? then silence.", ["Why?", "then silence."]),
    ("(Really?!) Yes.", ["(Really?!)", "Yes."]), ("J. K. Li lives in the U.S. now. Me too.",
                                                   ["J. K. Li lives in the U.S. now.", "Me too."]),
    ("No terminator here", ["No terminator here"]), ("One. two", ["One.", "two"]), ("", []), (" \n ", []),
    ("hello . bye !", ["hello .", "bye !"]), ("It was I. You knew.", ["It was I.", "You knew."])])
def test_terminators(text, sentences):
    assert Policy().sentences_of(text) == sentences


def test_a_separator_counts_lines():
    policy = Policy(separator="</s>")
    assert policy.sentences_of("One. Two.</s> three </s></s>four") == ["One. Two.", "three", "", "four"]
    assert policy.sentences_of("one</s>two</s>") == ["one", "two"] and policy.sentences_of("") == []
    with pytest.raises(ValueError, match="visible token"):
        Policy(separator=" ")


def test_an_empty_line_ends_a_paragraph_and_its_sentence():
    text = "A title\n\nIt rained in the U.S.\n\n\"We left. \n We\n\n\n\nran.\n\n"
    assert Policy().sentences_of(text) == ["A title", "It rained in the U.S.", '"We left.', "We", "ran."]
    assert Policy().paragraphs_of(text) == ["A title", "It rained in the U.S.", '"We left. \n We', "", "ran."]
    assert Policy().paragraphs_of(" \n\n ") == []


def test_other_sentence_policies_are_refused_in_words():
    with pytest.raises(ValueError, match="unknown sentence policy 'spacy': choose one of terminators, punkt"):
        Policy(sentences="spacy")
    with pytest.raises(ValueError, match="either a separator between sentences or punkt"):
        Policy(separator="</s>", sentences="punkt")
    with pytest.raises(ValueError, match="punkt looks ahead"):
        Tracker("Len(1, 5)", kinds.tokenizer("byte-bpe"), policy=Policy(sentences="punkt"))


def test_stop_words_are_nltks_and_can_be_replaced():
    assert len(ENGLISH) == 179 and {"the", "wouldn't", "ourselves", "o"} <= ENGLISH and "upon" not in ENGLISH
    assert Policy(stop_words={"Car"}).stop_words == {"car"}


def test_stop_words_against_the_list_itself():
    folder = os.environ.get("NRETM_DATA")
    path = Path(folder or "", "nltk_data/corpora/stopwords/english")
    if not folder or not path.exists():
        pytest.skip("NRETM_DATA does not name a folder with nltk_data/corpora/stopwords")
    assert set(path.read_text().split()) == ENGLISH


def test_a_phrase_without_words_is_refused():
    with pytest.raises(ValueError, match="'!' has no words under the word policy 'collie'"):
        Policy(words="collie").phrase("!")
    assert Policy().phrase("U.S.") == {("u.s.",), ("u.s", ".")}
