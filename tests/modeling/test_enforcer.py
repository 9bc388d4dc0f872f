"""Enforcement: every text that ends obeys, free texts that obey stay as they are, sampling is exact."""

import itertools
import re
import warnings
from collections import Counter
from functools import cache

import kinds
import pytest
import tiny
import torch
import transformers
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import EXAMPLES, SIX, predicates, rules, thorough

import nretm
from nretm import Enforcer, Len, Not
from nretm.modeling.diverse_beams import diverse_beam_search
from nretm.modeling.generation import HardWord

PROMPTS = ["The car", "It was", "A", "One big dog and"]
SEARCHES = {
    "greedy": {},
    "beam": {"num_beams": 3},
    "sampling": {"do_sample": True},
    "all of the distribution": {"do_sample": True, "top_k": 0},
    "nucleus": {"do_sample": True, "top_k": 0, "top_p": 0.8, "temperature": 1.5},
    "beam sampling": {"num_beams": 2, "do_sample": True},
    "diverse beam": {"num_beams": 4},
    "beams in banks": {"num_beams": 4},
}
MORE = {  # what these searches are given besides the enforcer's settings
    "beam": {"custom_generate": None},  # transformers' own
    "diverse beam": {"num_beam_groups": 2, "diversity_penalty": 1.5, "custom_generate": diverse_beam_search},
    "beams in banks": {"num_return_sequences": 2},
}
LONG = EXAMPLES > 1000  # then batches are wide, and how many texts were generated is said (pytest -s)
FEWEST, MOST = (8, 12) if LONG else (1, 4)  # rules in a batch
SPARE = 8  # tokens
batches = settings(thorough, max_examples=max(1, EXAMPLES // 10))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HardWord)
        yield


@pytest.fixture(scope="module", autouse=True)
def generated():
    """How many texts have been generated, by search and kind of tokenizer."""
    count = Counter()
    yield count
    if LONG and count:
        print(f"\n{count.total():,} texts: {dict(count)}")


@cache
def decoder_only(kind: str, seed: int = 0, name: str = "GPT2"):
    """A small decoder-only model of random weights, with a few tokens more than its tokenizer has."""
    tok = kinds.tokenizer(kind)
    sizes = {"GPT2": dict(n_positions=256, n_embd=32, n_layer=2, n_head=4),
             "Llama": dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)}[name]
    torch.manual_seed(seed)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(tok) + 3, tie_word_embeddings=False, bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id, pad_token_id=tok.pad_token_id, **sizes)
    model = getattr(transformers, "GPT2LMHeadModel" if name == "GPT2" else "LlamaForCausalLM")(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(8)
    return model.eval()


def prompts(kind: str, count: int):
    texts = list(itertools.islice(itertools.cycle(PROMPTS), count))
    return kinds.tokenizer(kind)(texts, return_tensors="pt", padding=True, padding_side="left",
                                 add_special_tokens=False, return_token_type_ids=False)


def possible(rule, kind: str, room: int) -> bool:
    """Whether the enforcer takes the rule; what it refuses, it refuses in a clear sentence."""
    try:
        Enforcer([rule], kinds.tokenizer(kind), max_new_tokens=room)
        return True
    except ValueError as problem:
        assert "no text" in str(problem) or "no words" in str(problem)
        return False


@pytest.mark.slow
def test_every_text_that_ends_obeys(generated):
    @batches
    @given(st.lists(rules, min_size=FEWEST, max_size=MOST), st.sampled_from(kinds.KINDS),
           st.sampled_from(sorted(SEARCHES)), st.integers(0, 24), st.integers(0, 3))
    def obeys(drawn, kind, search, room, seed):
        tok, drawn = kinds.tokenizer(kind), [rule for rule in drawn if possible(rule, kind, room + 1)]
        assume(drawn)
        if LONG:  # each rule after all prompts; what is drawn differs anyway
            copies = len(PROMPTS) * (20 if SEARCHES[search].get("do_sample") else 1)
            drawn = [rule for rule in drawn for _ in range(copies)]
        enforcer, inputs = Enforcer(drawn, tok, max_new_tokens=room + 1, **SEARCHES[search]), prompts(kind, len(drawn))
        model = decoder_only(kind, seed, "Llama" if seed % 2 else "GPT2")
        torch.manual_seed(seed)
        how = enforcer.settings | MORE.get(search, {})
        ids = model.generate(**inputs, logits_processor=[enforcer], **how)
        drawn = [rule for rule in drawn for _ in range(len(ids) // len(drawn))]
        for rule, text, verdict, row in zip(drawn, enforcer.texts(ids), enforcer.verdicts(ids), ids, strict=True):
            assert verdict, (str(rule), text)
            if kind == "byte-bpe":  # as a user would decode it
                written = [i for i in row[inputs["input_ids"].shape[1]:].tolist() if i < len(tok)]
                assert nretm.check(rule, tok.decode(written, skip_special_tokens=True)), (str(rule), text)
        generated[search, kind] += len(drawn)

    obeys()


@pytest.mark.parametrize("search", ["greedy", "beam sampling"])
def test_no_witness_is_lost_if_the_automaton_forgets_its_states_in_the_middle_of_a_text(monkeypatch, search):
    monkeypatch.setattr("nretm.tracking.automaton.MAX_STATES", 1000)
    drawn = ["WordAt(every, 2, U.S.) & InSen(café, 2)", "InSen(big dog, 2) & Len(2, 6) & InSen(snow, 3)"]
    enforcer = Enforcer(drawn, kinds.tokenizer("byte-bpe"), max_new_tokens=30, **SEARCHES[search])
    torch.manual_seed(0)
    ids = decoder_only("byte-bpe").generate(**prompts("byte-bpe", 2), logits_processor=[enforcer], **enforcer.settings)
    assert all(enforcer.verdicts(ids))


@pytest.mark.slow
@batches
@given(st.data(), st.sampled_from([*kinds.KINDS, "few"]), st.integers(1, 24), st.integers(0, 3))
def test_where_the_model_alone_obeys_greedy_output_is_the_same(data, kind, room, seed):
    """With few tokens all predicates, up to the last token that there is room for.  Otherwise the paper's six, with
    tokens to spare, and no marks inside words: the search writes ordinary ones where random weights may not."""
    few = kind == "few"
    room, spare, literals = (min(room, 5), 0, predicates) if few else (room, SPARE, st.one_of(*SIX))
    tok, model, inputs = kinds.tokenizer(kind), decoder_only(kind, seed), prompts(kind, 1)
    free = model.generate(**inputs, max_new_tokens=room, do_sample=False)
    begin, rule = inputs["input_ids"].shape[1], None
    text = Enforcer([Len(1) | Not(Len(1))], tok, max_new_tokens=9).texts(free[:, begin:])[0]
    assume(text.strip() and (few or not re.search(r"[.!?]\S", re.sub(r"\d\.\d", "", text))))
    for literal in data.draw(st.lists(literals, min_size=1, max_size=5)):  # a rule that is true of the free text
        try:
            holds = nretm.check(literal, text)
        except ValueError:
            continue
        literal = literal if holds else Not(literal)
        rule = literal if rule is None else rule & literal
    assume(rule is not None)
    enforcer = Enforcer([rule], tok, max_new_tokens=room + spare)
    ids = model.generate(**inputs, logits_processor=[enforcer], **enforcer.settings)
    assert ids[0, begin:free.shape[1]].tolist() == free[0, begin:].tolist(), (str(rule), enforcer.texts(ids))


@pytest.mark.parametrize("how", [{"top_k": 0}, {"top_k": 5}, {"top_k": 0, "top_p": 0.7},
                                 {"top_k": 8, "top_p": 0.9, "temperature": 0.5}], ids=str)
def test_sampling_draws_from_the_models_distribution_over_allowed_tokens(how):
    """20,000 draws of one step against softmax over the allowed tokens, computed for each token of the vocabulary."""
    tok, draws = kinds.tokenizer("wordlevel"), 20_000
    enforcer = Enforcer(["Len(1, 2) & not Copy(snow)"], tok, max_new_tokens=4, do_sample=True, **how)
    torch.manual_seed(0)
    scores = 2 * torch.randn(1, len(tok))
    begin = torch.zeros(1, 1, dtype=torch.long)
    enforcer(begin, scores)  # generate begins
    witnesses = enforcer._witnesses[0]
    allowed = torch.tensor([[enforcer._allows(witnesses, witnesses.automaton.start, 4, token)
                             for token in range(len(tok))]])
    assert 0 < allowed.sum() < len(tok)
    expected = enforcer._warp(None, scores.clone()).masked_fill(~allowed, -torch.inf).softmax(-1)[0]
    drawn = enforcer(begin.repeat(draws, 1), scores.repeat(draws, 1))
    assert ((drawn > -torch.inf).sum(1) == 1).all()
    found = drawn.argmax(1).bincount(minlength=len(tok)) / draws
    spread = (expected * (1 - expected) / draws).sqrt()
    assert ((found - expected).abs() <= 5 * spread + 1e-9).all()


def test_where_nothing_that_is_allowed_is_left_the_likeliest_allowed_token_is_taken():
    tok = kinds.tokenizer("wordlevel")
    enforcer = Enforcer(["Copy(car) & Len(1)"], tok, max_new_tokens=1, do_sample=True, top_k=1)
    scores = torch.randn(1, len(tok))
    scores[0, tok.convert_tokens_to_ids("snow")] = 99
    assert enforcer(torch.zeros(1, 1, dtype=torch.long), scores).argmax() == tok.convert_tokens_to_ids("car")


def equipped_output(search=None, room=24, rules=tiny.RULES, **more):
    model = tiny.equipped("T5")
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", nretm.RuleBroken)
        ids = model.generate(**tiny.inputs(), rules=rules, enforce=True, max_new_tokens=room, **(search or {}), **more)
    return ids, model.nretm.verdicts


ALL = {name: how | MORE.get(name, {}) for name, how in SEARCHES.items()} | {
    "three of beam": {"num_beams": 4, "num_return_sequences": 3},
    "three of sampling": {"do_sample": True, "num_return_sequences": 3}}


@pytest.mark.slow
@pytest.mark.parametrize("search", ALL.values(), ids=ALL)
def test_an_equipped_model_obeys_with_and_without_cache(search):
    ids, verdicts = equipped_output(search)
    assert len(verdicts) == 3 * search.get("num_return_sequences", 1) and all(verdicts)
    assert torch.equal(equipped_output(search, use_cache=False)[0], ids)


@pytest.mark.parametrize("more", [{}, {"length_penalty": 0.3, "early_stopping": True}, {"num_return_sequences": 3}],
                         ids=str)
def test_without_rules_beams_in_banks_are_plain_beam_search(more):
    model, inputs = decoder_only("byte-bpe"), prompts("byte-bpe", 3)
    enforcer = Enforcer([None, None, None], kinds.tokenizer("byte-bpe"), max_new_tokens=12, num_beams=4)
    plain = model.generate(**inputs, **(enforcer.settings | more | {"custom_generate": None}))
    banked = model.generate(**inputs, **enforcer.settings, **more, logits_processor=[enforcer])
    assert torch.equal(plain, banked)


def test_a_row_without_a_rule_is_as_it_was():
    model = tiny.equipped("T5")
    ids, verdicts = equipped_output(rules=[tiny.RULES[0], None, tiny.RULES[2]])
    free = model.generate(**tiny.inputs(), max_new_tokens=24)
    length = min(ids.shape[1], free.shape[1])
    assert torch.equal(ids[1, :length], free[1, :length])
    assert verdicts[0] and verdicts[1] is None and verdicts[2]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["Bart", "Marian"])
def test_other_families_need_not_be_equipped(family):
    model, enforcer = tiny.plain(family), Enforcer(tiny.RULES, tiny.tokenizer, max_new_tokens=24, num_beams=3)
    ids = model.generate(**tiny.inputs(), logits_processor=[enforcer], **enforcer.settings)
    assert all(enforcer.verdicts(ids))


def test_the_prompt_is_no_part_of_the_text_and_an_enforcer_may_be_used_again():
    enforcer = Enforcer(["Copy(car) & Len(3)", "not Copy(car)"], kinds.tokenizer("byte-bpe"), max_new_tokens=20)
    for count in (2, 2):  # both prompts are padded, one of them says "car"
        ids = decoder_only("byte-bpe").generate(**prompts("byte-bpe", count), logits_processor=[enforcer],
                                                **enforcer.settings)
        assert all(enforcer.verdicts(ids))
        assert "car" in enforcer.texts(ids)[0].lower()


@pytest.mark.parametrize("more", [{"suppress_tokens": list(range(6, 420))}, {"no_repeat_ngram_size": 1},
                                  {"min_new_tokens": 18}, {"forced_eos_token_id": 1}], ids=str)
def test_the_rule_comes_before_other_processors(more):
    enforcer = Enforcer(["Copy(car) & Len(1, 4)"], kinds.tokenizer("byte-bpe"), max_new_tokens=20)
    ids = decoder_only("byte-bpe").generate(**prompts("byte-bpe", 1), logits_processor=[enforcer], **enforcer.settings,
                                            **more)
    assert all(enforcer.verdicts(ids))


def test_several_tokens_may_end_a_text():
    tok = kinds.tokenizer("byte-bpe")
    ends = [tok.convert_tokens_to_ids("en_XX"), tok.convert_tokens_to_ids("zh_CN")]
    enforcer = Enforcer(["Copy(car) & Len(3)"] * 3, tok, max_new_tokens=30, eos_token_id=ends, do_sample=True, top_k=0)
    torch.manual_seed(0)
    ids = decoder_only("byte-bpe").generate(**prompts("byte-bpe", 3), logits_processor=[enforcer], **enforcer.settings)
    assert all(enforcer.verdicts(ids))


def test_sentences_that_a_separator_divides():
    tok, policy = kinds.tokenizer("unigram"), nretm.Policy(separator="</s>")
    code = tok.convert_tokens_to_ids("en_XX")
    enforcer = Enforcer(["translateOnce(3) & Len(2, 2) & InSen(car, 3)"], tok, policy, max_new_tokens=30,
                        eos_token_id=code, do_sample=True)
    torch.manual_seed(0)
    ids = decoder_only("unigram").generate(**prompts("unigram", 1), logits_processor=[enforcer], **enforcer.settings)
    assert all(enforcer.verdicts(ids))


def test_what_cannot_be_obeyed_is_said_before_generating():
    tok = kinds.tokenizer("byte-bpe")
    with pytest.raises(ValueError, match=r"Row 1: no text can obey .*Len\(1, 3\) and Len\(1, 4\) exclude each other"):
        Enforcer([None, "Len(1, 3) & Len(1, 4)"], tok, max_new_tokens=20)
    with pytest.raises(ValueError, match="Row 0: no text of at most 6 tokens was found that obeys .*raise max_new"):
        Enforcer([Len(1, 12)], tok, max_new_tokens=6)
    with pytest.raises(ValueError, match="rules must be a list"):
        Enforcer("Len(3)", tok, max_new_tokens=6)
    with pytest.raises(nretm.RuleSyntaxError, match="Row 0"):
        Enforcer(["Len(3"], tok, max_new_tokens=6)
    with pytest.raises(ValueError, match="Row 2: no text of at most 3 tokens"):
        equipped_output(room=3, rules=[None, None, "Len(6)"])


@pytest.mark.parametrize("banks", [False, True])
def test_a_bonus_or_banks_bring_needed_phrases_forward(banks):
    tok = kinds.tokenizer("byte-bpe")
    rule, inputs, model = "Copy(car) & Copy(snow)", prompts("byte-bpe", 1), decoder_only("byte-bpe")
    places = []
    for helped in (False, True):
        enforcer = Enforcer([rule], tok, max_new_tokens=20, num_beams=2, bonus=1000.0 * (helped and not banks))
        how = enforcer.settings if helped and banks else enforcer.settings | {"custom_generate": None}
        text = enforcer.texts(model.generate(**inputs, logits_processor=[enforcer], **how))[0]
        assert nretm.check(rule, text)
        places.append(text.lower().index("car"))
    assert places[1] < places[0]


def test_a_model_that_may_not_write_what_it_wants_does_not_write_spaces_instead():
    tok = kinds.tokenizer("byte-bpe")
    space, car, snow = (tok.convert_tokens_to_ids(token) for token in ("Ġ", "Ġcar", "Ġsnow"))
    enforcer, begin = Enforcer(["not Copy(snow)"], tok, max_new_tokens=1), torch.zeros(1, 1, dtype=torch.long)
    scores = torch.zeros(1, len(tok))
    scores[0, [snow, space, car]] = torch.tensor([9.0, 8.0, 7.0])
    assert enforcer(begin, scores).argmax() == car
    scores[0, snow] = 0.0  # but if a space is what it wants most, it is free to
    assert enforcer(begin, scores).argmax() == space
