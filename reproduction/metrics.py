"""Every measure of the paper's tables, each kept with its per-example statistics.

Text quality comes from the field's libraries (rouge_score, pycocoevalcap, sacrebleu); only constraints are ours.
A `Score` holds one row of sufficient statistics per example, so that run files can give intervals and pool seeds
later without the texts. All figures are on the paper's scale: per cent, CIDEr and SPICE times 100.
"""
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sacrebleu.metrics import BLEU

import nretm
from nretm.rules import Text, inflections
from nretm.text import Policy, treebank
from reproduction import spice as spice_scorer

RESAMPLES = 1000
POLICY = Policy()


def _ratio(sums: np.ndarray) -> float:
    """100 · Σ numerators / Σ denominators; not a number where nothing was counted."""
    return 100.0 * sums[0] / sums[1] if sums[1] else float("nan")


def _bleu(order: int, smoothing: str):
    """sacrebleu's formula on summed counts: n-grams right (order), n-grams made (order), length, reference length."""
    def join(sums: np.ndarray) -> float:
        counts = [int(round(x)) for x in sums]
        return BLEU.compute_bleu(counts[:order], counts[order:2 * order], *counts[2 * order:],
                                 smooth_method=smoothing, max_ngram_order=order).score
    return join


JOIN = {"ratio": _ratio, "bleu": _bleu(4, "exp"), "coco-bleu-3": _bleu(3, "none"), "coco-bleu-4": _bleu(4, "none")}


@dataclass(frozen=True)
class Score:
    """One measure: per-example statistics (n, k) and the name of the formula that joins their sum."""

    rows: np.ndarray
    kind: str = "ratio"

    @property
    def value(self) -> float:
        return JOIN[self.kind](self.rows.sum(axis=0))


@dataclass(frozen=True)
class Missing:
    """A measure that could not be taken here, and the sentence that says why."""

    reason: str


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % bootstrap interval, over `seeds` runs of `n` examples each."""

    value: float
    low: float
    high: float
    seeds: int
    n: int


def estimate(scores: Score | Sequence[Score], resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Mean over the runs (one per training seed), with a percentile bootstrap over runs and examples within them."""
    runs = [scores] if isinstance(scores, Score) else list(scores)
    if not runs:
        raise ValueError("estimate() needs at least one score.")
    rng = np.random.default_rng(seed)
    drawn = np.stack([_resampled(run, rng, resamples) for run in runs])  # (runs, resamples)
    pick = rng.integers(len(runs), size=(len(runs), resamples)) if len(runs) > 1 else np.zeros((1, resamples), int)
    means = np.take_along_axis(drawn, pick, axis=0).mean(axis=0)  # (resamples,)
    low, high = np.nanpercentile(means, [2.5, 97.5]) if not np.isnan(means).all() else (np.nan, np.nan)
    return Estimate(float(np.mean([run.value for run in runs])), float(low), float(high), len(runs), len(runs[0].rows))


def _resampled(score: Score, rng: np.random.Generator, resamples: int) -> np.ndarray:
    n = len(score.rows)
    if n == 0:
        return np.full(resamples, np.nan)
    times = rng.multinomial(n, np.full(n, 1 / n), size=resamples)  # (resamples, n): how often each example was drawn
    return np.array([JOIN[score.kind](sums) for sums in times @ score.rows])


# ---- constraints (ours) ------------------------------------------------------------------------------------------

def csr(rules, outputs: Sequence[str], tolerance: int = 0, policy: Policy = POLICY) -> Score:
    """Constraint satisfaction rate: outputs that obey their whole rule (Table 1; Table A with a tolerance)."""
    return _share([nretm.check(rule, text, tolerance, policy).satisfied for rule, text in _pairs(rules, outputs)])


def predicate_csr(rules, outputs: Sequence[str], golds: Sequence[str], policy: Policy = POLICY) -> dict[str, Score]:
    """CSR of every predicate of the rule, by its place in it: InSen_i, InSen_j, Len_i, … (Table B).

    Our reading: a predicate is counted where the gold text satisfies it, not where a ∨-clause gave it a fake value.
    Only so can the paper's R2 have Len at 50.7 under a CSR of 49.4, for the clause is true whenever its Len is.
    """
    _pairs(golds, outputs)
    counted: dict[str, list] = {}
    for row, (rule, text) in enumerate(_pairs(rules, outputs)):
        meant = nretm.check(rule, golds[row], 0, policy).by_predicate
        for literal, holds in nretm.check(rule, text, 0, policy).by_predicate.items():
            counted.setdefault(_place(literal, rule), []).append((row, holds and meant[literal], meant[literal]))
    return {place: _sparse(cells, len(outputs)) for place, cells in counted.items()}


def sentence_accuracy(rules, outputs: Sequence[str], policy: Policy = POLICY) -> dict[str, Score]:
    """CSA: phrases in the sentence that InSen asks for; MR: phrases anywhere in the output (Table 4)."""
    right, anywhere = [], []
    for rule, text in _pairs(rules, outputs):
        wanted = [literal for literal in rule.literals if isinstance(literal, nretm.InSen)]
        placed = nretm.check(rule, text, 0, policy).by_predicate
        right.append((sum(placed[p] for p in wanted), len(wanted)))
        anywhere.append((sum(_mentions(p.w, text, policy) for p in wanted), len(wanted)))
    return {"CSA": _score(right), "MR": _score(anywhere)}


def constraint_coverage(concepts, outputs: Sequence[str], seen: Collection[str]) -> dict[str, Score]:
    """Concepts mentioned in any inflection, over those seen in training, the novel ones, and all (Table 2)."""
    rows = np.zeros((len(outputs), 4))  # seen hit, seen, novel hit, novel
    for row, (words, text) in zip(rows, _pairs(concepts, outputs), strict=True):
        read = Text(text, POLICY)
        for word in words:
            at = 0 if word in seen else 2
            row[at:at + 2] += (any(read.mentions(form) for form in inflections(word)), 1)
    return {"Seen": Score(rows[:, :2]), "Novel": Score(rows[:, 2:]), "ALL": Score(rows[:, :2] + rows[:, 2:])}


def sentence_count(outputs: Sequence[str], wanted: int = 5, policy: Policy = POLICY) -> Score:
    """Share of outputs with the wanted number of sentences: a rule can be kept by a story that stops too early."""
    return _share([len(policy.sentences_of(text)) == wanted for text in outputs])


def sentence_aligned(documents: Sequence[str], outputs: Sequence[str], policy: Policy) -> Score:
    """SAR: documents translated into exactly as many sentences as they should have (Table 3)."""
    return _share([len(policy.sentences_of(a)) == len(policy.sentences_of(b)) for a, b in _pairs(documents, outputs)])


# ---- text (the field's libraries) --------------------------------------------------------------------------------

def rouge_l(references, outputs: Sequence[str]) -> Score:
    """ROUGE-L F of rouge_score, the best over an output's references."""
    from rouge_score.rouge_scorer import RougeScorer  # loads nltk's stemmers: a second that others need not wait
    scorer = RougeScorer(["rougeL"])
    return _mean(max(scorer.score(ref, text)["rougeL"].fmeasure for ref in refs)
                 for refs, text in _pairs(references, outputs))


def cider(references, outputs: Sequence[str]) -> Score:
    """CIDEr of pycocoevalcap on text tokenized by NLTK (no Java), times 100: the document frequencies stay those
    of the whole test set when examples are resampled."""
    from pycocoevalcap.cider.cider_scorer import CiderScorer
    scorer = CiderScorer(n=4, sigma=6.0)
    for refs, text in _pairs(references, outputs):
        scorer += (_words(text), [_words(ref) for ref in refs])
    return _mean(scorer.compute_score()[1])


def coco_bleu(references, outputs: Sequence[str]) -> dict[str, Score]:
    """BLEU-3 and BLEU-4 of pycocoevalcap (closest reference length) on text tokenized by NLTK."""
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer
    scorer = BleuScorer(n=4)
    for refs, text in _pairs(references, outputs):
        scorer += (_words(text), [_words(ref) for ref in refs])
    scorer.compute_score(option="closest", verbose=0)
    closest = [min(part["reflen"], key=lambda n, m=part["testlen"]: (abs(n - m), n)) for part in scorer.ctest]
    rows = {n: [part["correct"][:n] + part["guess"][:n] + [part["testlen"], length]
                for part, length in zip(scorer.ctest, closest, strict=True)] for n in (3, 4)}
    return {f"BLEU-{n}": Score(np.array(rows[n], dtype=float), f"coco-bleu-{n}") for n in (3, 4)}


def spice(references, outputs: Sequence[str]) -> Score | Missing:
    """SPICE times 100, or what this machine lacks for it."""
    _pairs(references, outputs)
    reason = spice_scorer.missing()
    return Missing(reason) if reason else _mean(spice_scorer.scores(list(outputs), list(references)))


def bleu(references: Sequence[str], outputs: Sequence[str], tokenize: str = "13a") -> Score:
    """Corpus BLEU of sacrebleu, cased, one reference an output. Text that is cut already wants tokenize="none"."""
    scorer = BLEU(tokenize=tokenize, force=True, effective_order=True)
    rows = []
    for ref, text in _pairs(references, outputs):
        part = scorer.sentence_score(text, [ref])
        rows.append([*part.counts, *part.totals, part.sys_len, part.ref_len])
    return Score(np.array(rows, dtype=float).reshape(-1, 10), "bleu")


def document_bleu(references: Sequence[str], outputs: Sequence[str], policy: Policy, tokenize: str = "13a") -> dict:
    """s-BLEU over sentences, d-BLEU over whole documents (Table 3).

    Our reading: the paper needs aligned sentences for s-BLEU and does not say what it does with the rest. Here
    sentence i is held against reference sentence i; one that is missing counts as empty, those beyond the last are
    dropped. Statistics of s-BLEU are summed per document, so that the bootstrap draws documents for both.
    """
    by_sentence, whole = [], []
    for ref, text in _pairs(references, outputs):
        wanted, written = policy.sentences_of(ref), policy.sentences_of(text)
        padded = (written + [""] * len(wanted))[:len(wanted)]
        by_sentence.append(bleu(wanted, padded, tokenize).rows.sum(axis=0))
        whole.append(bleu([" ".join(wanted)], [" ".join(written)], tokenize).rows[0])
    return {"s-BLEU": Score(np.array(by_sentence), "bleu"), "d-BLEU": Score(np.array(whole), "bleu")}


# ---- small things ------------------------------------------------------------------------------------------------

def _pairs(left, outputs):
    if len(left) != len(outputs):
        raise ValueError(f"There are {len(outputs)} outputs for {len(left)} examples: give one output per example.")
    return list(zip(left, outputs, strict=True))


def _score(cells) -> Score:
    return Score(np.array(cells, dtype=float).reshape(-1, 2))


def _share(held: Sequence[bool]) -> Score:
    return _score([(bool(x), 1) for x in held])


def _mean(values) -> Score:
    return _score([(float(x), 1) for x in values])


def _sparse(cells, n: int) -> Score:
    rows = np.zeros((n, 2))
    for row, hit, counted in cells:
        rows[row] += (hit, counted)
    return Score(rows)


def _mentions(phrase: str, text: str, policy: Policy) -> bool:
    return nretm.check(nretm.Copy(phrase), text, 0, policy).satisfied


@lru_cache(maxsize=100_000)
def _words(text: str) -> str:
    """NLTK's word_tokenize needs a download for its sentence splitter; our own splitter does its part here."""
    return " ".join(word for sentence in POLICY.sentences_of(text) for word in treebank(sentence))


def _place(literal, rule) -> str:
    """The name of a literal's place in its rule: sentence i is that of the rule's first InSen, the other is j."""
    inner, sign = (literal.rule, "not ") if isinstance(literal, nretm.Not) else (literal, "")
    first = next((p.k for p in rule.literals if isinstance(p, nretm.InSen)), None)
    return f"{sign}{type(inner).__name__}_{'i' if inner.k == first else 'j'}"
