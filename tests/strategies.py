"""Random rules, texts and policies for property tests."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from nretm import (
    BeginsWith,
    CharAt,
    Chars,
    Copy,
    Count,
    EndsWith,
    InSen,
    LastSentence,
    Len,
    Not,
    Order,
    Paragraphs,
    Policy,
    Range,
    Sentences,
    StopWordCount,
    WordAt,
    WordChars,
    every,
)

EXAMPLES = int(os.environ.get("NRETM_EXAMPLES", "300"))  # the longer run sets it to 10,000 and more
thorough = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

WORDS = ("car cars snow snowy art artist start tree big dog the a of it was I Mr. Dr. U.S. J. 3.5 3. $4 ... … don't "
         "can't cannot 'tis gonna well-known café 中文 🙂 \" ' “ ” ) ( ], ; -- ! ? . , .\" !) ?! e.g. isn't they're "
         "\"Stop!\" said. end.) tree. snow! one? x.y stop.Then '' `` 's n't").split()
PHRASES = ("car", "snow", "art", "tree", "big dog", "the car", "U.S.", "don't", "café", "well-known", "dog", "Snow",
           "a tree.", "Mr.", "中文")
GAPS = [" ", " ", " ", " ", "", "  ", "\n", "\n\n"]
texts = st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), st.text(max_size=4)), max_size=25).flatmap(
    lambda words: st.lists(st.sampled_from(GAPS), min_size=len(words), max_size=len(words))
    .map(lambda gaps: "".join(a + b for a, b in zip(words, gaps, strict=True))))
phrases, indexes = st.sampled_from(PHRASES), st.integers(1, 4)
places = st.one_of(indexes, st.just(every))
positions = st.one_of(st.integers(1, 4), st.integers(-3, -1))


def numbers(most: int):
    """Counts and ranges up to `most`."""
    count = st.integers(0, most)
    between = st.tuples(count, count).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Range(*sorted(pair)))
    return st.one_of(count, between, st.integers(1, most).map(Range))


counts = numbers(8)
SIX = (
    st.builds(InSen, phrases, places), st.builds(Order, phrases, phrases), st.builds(Copy, phrases),
    st.builds(lambda w: Copy(w, forms=("cars", "snowy")), phrases), st.builds(Len, places, counts),
    st.builds(Len, counts), st.builds(StopWordCount, places, counts), st.builds(StopWordCount, counts))
FURTHER = (
    st.builds(Count, phrases, numbers(3)), st.builds(Chars, places, numbers(30)), st.builds(Chars, numbers(60)),
    st.builds(WordChars, numbers(8)), st.builds(CharAt, positions, st.sampled_from("acot. ,中".replace(" ", ""))),
    st.builds(WordAt, places, positions, phrases), st.builds(WordAt, positions, phrases),
    st.builds(BeginsWith, places, phrases), st.builds(EndsWith, places, phrases), st.builds(EndsWith, phrases),
    st.builds(Sentences, numbers(4)), st.builds(Sentences, places, numbers(3)), st.builds(Paragraphs, numbers(3)),
    st.builds(LastSentence, indexes, st.sampled_from(("tree", "snow", "said. one?", "It was the car.", "$4"))))
predicates = st.one_of(*SIX, *FURTHER)
rules = st.recursive(predicates, lambda inner: st.one_of(
    st.builds(lambda a, b: a & b, inner, inner), st.builds(lambda a, b: a | b, inner, inner), st.builds(Not, inner)),
    max_leaves=6)
policies = st.sampled_from([Policy(), Policy(words="collie"), Policy(words="ifeval")])
