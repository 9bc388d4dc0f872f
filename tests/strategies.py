"""Random rules, texts and policies for property tests."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from nretm import Copy, InSen, Len, Not, Order, Policy, StopWordCount

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
phrases, indexes, counts = st.sampled_from(PHRASES), st.integers(1, 4), st.integers(0, 8)
predicates = st.one_of(
    st.builds(InSen, phrases, indexes), st.builds(Order, phrases, phrases), st.builds(Copy, phrases),
    st.builds(lambda w: Copy(w, forms=("cars", "snowy")), phrases), st.builds(Len, indexes, counts),
    st.builds(Len, counts), st.builds(StopWordCount, indexes, counts), st.builds(StopWordCount, counts))
rules = st.recursive(predicates, lambda inner: st.one_of(
    st.builds(lambda a, b: a & b, inner, inner), st.builds(lambda a, b: a | b, inner, inner), st.builds(Not, inner)),
    max_leaves=6)
policies = st.sampled_from([Policy(), Policy(words="collie"), Policy(words="ifeval")])
