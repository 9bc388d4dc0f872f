"""The 179 English stop words of NLTK's list, by kind, so that no NLTK data has to be downloaded.

The paper does not name its list (docs/decisions.md); any other set can be given to `nretm.Policy`.
"""

_PRONOUNS = """i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves what which who whom this that these those"""
_VERBS = "am is are was were be been being have has had having do does did doing can will should"
_SMALL = """a an the and but if or because as until while of at by for with about against between into through during
    before after above below to from up down in out on off over under again further then once here there when where
    why how all any both each few more most other some such no nor not only own same so than too very just now"""
_PIECES = "s t d ll m o re ve y ma ain don won shan"  # what is left of contractions
_STEMS = "aren couldn didn doesn hadn hasn haven isn mightn mustn needn shouldn wasn weren wouldn"
_CONTRACTIONS = "you're you've you'll you'd she's it's that'll should've don't won't shan't"

ENGLISH = frozenset(
    " ".join((_PRONOUNS, _VERBS, _SMALL, _PIECES, _STEMS, _CONTRACTIONS)).split()
    + [f"{stem}'t" for stem in _STEMS.split()])
