"""Generation with rules: the same with and without cache, and the right state for every beam."""

import warnings

import kinds
import pytest
import tiny
import torch
from transformers import AutoTokenizer

from nretm.modeling.generation import HardWord, RuleBroken, Session, known_spelling, name_hard_words
from nretm.modeling.state_encoder import flag_tokens
from nretm.rules.parser import RuleSyntaxError, parse
from nretm.text.policy import Policy
from nretm.tracking.tracker import Tracker
from reproduction.files import BASES_FOLDER

SEARCHES = {
    "greedy": {},
    "beam": {"num_beams": 4},
    "beam, several": {"num_beams": 4, "num_return_sequences": 3},
    "sampling": {"do_sample": True, "num_return_sequences": 3},
    "beam sampling": {"num_beams": 3, "do_sample": True},
    "diverse beam": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.5},
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuleBroken)
        yield


def generate(model, seed=0, rules=tiny.RULES, **kwargs):
    torch.manual_seed(seed)
    arguments = tiny.inputs() | {"max_new_tokens": 16} | kwargs
    return model.generate(rules=rules, return_dict_in_generate=True, output_scores=True, **arguments)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_same_with_and_without_cache(family, search):
    model = tiny.equipped(family)
    cached, uncached = (generate(model, use_cache=use, **SEARCHES[search]) for use in (True, False))
    assert torch.equal(cached.sequences, uncached.sequences)
    assert len(cached.sequences.unique(dim=0)) > 1  # the rows do differ
    if search == "beam":
        torch.testing.assert_close(cached.sequences_scores, uncached.sequences_scores, rtol=1e-4, atol=1e-4)
    if search == "greedy":
        for a, b in zip(cached.scores, uncached.scores, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("search", SEARCHES)
def test_every_beam_has_the_state_of_its_own_prefix(search, use_cache, monkeypatch):
    model, seen = tiny.equipped("T5"), []
    original = Session.flags

    def recorded(session, input_ids, rows, columns):
        flags = original(session, input_ids, rows, columns)
        seen.append((session, input_ids.clone(), rows.clone(), flags))
        return flags

    monkeypatch.setattr(Session, "flags", recorded)
    generate(model, use_cache=use_cache, rules=[tiny.RULES[0], None, tiny.RULES[2]], **SEARCHES[search])
    assert len(seen) == 16
    distinct = set()
    for session, prefixes, rows, flags in seen:
        assert flags.shape[1] == (1 if use_cache else prefixes.shape[1])
        for prefix, row, got in zip(prefixes.tolist(), rows.tolist(), flags, strict=True):
            if row == 1:
                assert not got.any()  # no rule
                continue
            tracker = Tracker.for_input(tiny.RULES[row], tiny.inputs()["input_ids"][row], tiny.tokenizer)
            states = [tracker.start()]
            for token in prefix[1:]:  # the model has tokens that its tokenizer lacks; they write nothing
                states.append(tracker.step(states[-1], token) if token < len(tiny.tokenizer) else states[-1])
            for state, column in zip(states[-len(got):], got, strict=True):
                strings = [session.table.strings[i] for i in column[: len(state.flag_ids)]]
                assert strings == [tracker.table.strings[i] for i in state.flag_ids]
                distinct.update(strings)
    assert len(distinct) > 5


def test_the_cross_attention_gets_the_flags_of_that_state():
    """Keys and values of the session against forward's, which encodes the whole matrix at once."""
    model = tiny.equipped("T5")
    out = generate(model, num_beams=4)
    tracker = Tracker.for_input(tiny.RULES[0], tiny.inputs()["input_ids"][0], tiny.tokenizer)
    ids = [i for i in out.sequences[0].tolist()[1:] if i != 0]
    columns = tracker.run(ids)[:-1]
    row = {name: x[:1] for name, x in tiny.inputs().items()}
    logits = model(**row, decoder_input_ids=out.sequences[:1, : len(ids)],
                   decoder_state_flags=torch.from_numpy(columns)[None].long(),
                   decoder_state_groups=torch.from_numpy(tracker.groups)[None].long(),
                   decoder_flag_tokens=flag_tokens(tracker.table.strings[1:], tiny.tokenizer)).logits
    logs = logits.log_softmax(-1)[0].gather(1, torch.tensor(ids)[:, None]).sum()
    torch.testing.assert_close(logs / len(ids), out.sequences_scores[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("search", ["greedy", "beam", "sampling"])
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_without_rules_it_is_the_plain_model(family, search):
    model, plain = tiny.equipped(family), tiny.plain(family)
    for rules in (None, [None] * 3):
        torch.manual_seed(1)
        ours = model.generate(**tiny.inputs(), rules=rules, max_new_tokens=12, **SEARCHES[search])
        torch.manual_seed(1)
        assert torch.equal(ours, plain.generate(**tiny.inputs(), max_new_tokens=12, **SEARCHES[search]))


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_with_projections_at_zero_greedy_ids_are_the_plain_models(family):
    model, plain = tiny.equipped(family, trained=False), tiny.plain(family)
    ours = model.generate(**tiny.inputs(), rules=tiny.RULES, max_new_tokens=16)
    assert torch.equal(ours, plain.generate(**tiny.inputs(), max_new_tokens=16))


def test_rules_change_the_output_and_rows_do_not_mix():
    model = tiny.equipped("T5")
    together = generate(model, num_beams=4).sequences
    assert not torch.equal(together, generate(model, rules=None, num_beams=4).sequences)
    for row in range(3):
        one = {name: x[row: row + 1] for name, x in tiny.inputs().items()}
        alone = model.generate(**one, rules=[tiny.RULES[row]], num_beams=4, max_new_tokens=16)[0].tolist()
        length = min(len(alone), together.shape[1])
        assert alone[:length] == together[row, :length].tolist()


def test_a_row_without_a_rule_is_as_without_rules():
    model = tiny.equipped("T5")
    mixed = generate(model, rules=[None, tiny.RULES[1], None]).sequences
    none = generate(model, rules=None).sequences
    assert torch.equal(mixed[0], none[0]) and torch.equal(mixed[2], none[2])


def test_a_prompt_for_the_decoder():
    model = tiny.equipped("T5")
    prompt = torch.tensor([[0, *tiny.tokenizer("The car", add_special_tokens=False)["input_ids"]]] * 3)
    cached, uncached = (generate(model, decoder_input_ids=prompt, use_cache=use) for use in (True, False))
    assert torch.equal(cached.sequences, uncached.sequences)
    for a, b in zip(cached.scores, uncached.scores, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_long_outputs_outgrow_the_first_hash_table(monkeypatch):
    model = tiny.equipped("T5")
    expected = model.generate(**tiny.inputs(), rules=tiny.RULES, num_beams=2, max_new_tokens=40, min_new_tokens=40)
    replays, original = [], Session._replay
    monkeypatch.setattr("nretm.modeling.generation.POSITIONS", 4)
    monkeypatch.setattr(Session, "_replay", lambda *a: replays.append(1) or original(*a))
    found = model.generate(**tiny.inputs(), rules=tiny.RULES, num_beams=2, max_new_tokens=40, min_new_tokens=40)
    assert torch.equal(found, expected)
    assert 15 < len(replays) <= 6 * 5 + 3  # each growth of the table replays six beams or fewer; the verdicts three


def test_verdicts_and_the_warning():
    model = tiny.equipped("T5")
    rules = [tiny.RULES[0], None, "not Copy(zebra)"]
    inputs = tiny.inputs([rule or "" for rule in rules])
    with pytest.warns(RuleBroken, match=r"2 of 6 outputs do not obey their rule \(row 0: InSen\(apple, 2\) \(not "
                                        r"mentioned\), .*; row 1: .*\); model.nretm.verdicts"):
        model.generate(**inputs, rules=rules, num_beams=2, num_return_sequences=2, max_new_tokens=16)
    verdicts = model.nretm.verdicts
    assert len(verdicts) == 6 and verdicts[2] is None and verdicts[3] is None
    assert not verdicts[0].satisfied and len(verdicts[0].by_predicate) == 4 and verdicts[4].satisfied
    model.generate(**tiny.inputs(), max_new_tokens=2)
    assert model.nretm.verdicts == []


def test_bad_input():
    model = tiny.equipped("Bart")
    with pytest.raises(ValueError, match="rules must be a list"):
        generate(model, rules=tiny.RULES[0])
    with pytest.raises(ValueError, match="2 rules for 3 rows"):
        generate(model, rules=tiny.RULES[:2])
    with pytest.raises(ValueError, match="Row 1: .*does not end with the rule's input expression"):
        generate(model, rules=[tiny.RULES[0], "Copy(car)", None])
    with pytest.raises(ValueError, match="Row 0: no text can obey .*: Len.1, 3. and Len.2, 3. need 6 words together"):
        impossible = "Len(1, 3) & Len(2, 3) & Len(4)"
        model.generate(**tiny.inputs([impossible], [""]), rules=[impossible], max_new_tokens=5)
    with pytest.raises(ValueError, match="Row 0: .*sentence that 5 tokens cannot reach"):
        model.generate(**tiny.inputs(["InSen(car, 9)"], [""]), rules=["InSen(car, 9)"], max_new_tokens=5)
    with pytest.raises(ValueError, match="sentence that 20 tokens"):  # transformers' default length
        model.generate(**tiny.inputs(["Len(30, 9)"], [""]), rules=["Len(30, 9)"])
    with pytest.raises(ValueError, match="tokens long, the model takes 128"):
        long = ["the car " * 100]
        model.generate(**tiny.inputs(["Copy(car)"], long), rules=["Copy(car)"])
    with pytest.raises(ValueError, match="Rules need input_ids"):
        model.generate(inputs_embeds=torch.zeros(1, 4, 32), rules=["Copy(car)"])


def test_a_rule_that_cannot_be_read_is_the_parsers_sentence_with_its_row():
    with pytest.raises(RuleSyntaxError) as raised:
        generate(tiny.equipped("T5"), rules=[None, "Copy(stone) & Lem(3)", None])
    error = raised.value
    assert str(error).startswith("Row 1: unknown predicate 'Lem': did you mean Len?")
    assert str(error).endswith("  Copy(stone) & Lem(3)\n" + " " * 16 + "^")
    assert error.__cause__ is None and error.__suppress_context__  # no traceback of the parser above it


def test_words_that_the_model_cannot_write_are_named():
    words = kinds.tokenizer("wordlevel")
    with pytest.warns(HardWord, match="cannot spell these words, so the model cannot write them: 'zebra'"):
        name_hard_words([parse("Copy(the zebra) & not Copy(gnu)"), None], words)
    letters = AutoTokenizer.from_pretrained(BASES_FOLDER / "t5-base")
    with pytest.warns(HardWord, match="'zebra', 'Planted', 'Seeds'. It knows 'planted', 'seeds'; case does not"):
        name_hard_words([parse("InSen(zebra, 1) & InSen(Planted Seeds, 2)")], letters)
    assert known_spelling(parse("InSen(Planted Seeds, 2) & Copy(Zebra)"), letters) == \
        "InSen(planted seeds, 2) & Copy(Zebra)"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        name_hard_words([parse("InSen(planted seeds, 2) & Copy(to)")], letters)
        read = letters("InSen(planted seeds, 2)")["input_ids"]
        name_hard_words([parse("InSen(Planted Seeds, 2)")], letters, frozenset(read))  # the encoder reads lower case


def test_documents_end_with_the_language_code():
    """mBART: sentences are separated by its end token, and the target language ends the document."""
    model = tiny.equipped("MBart")
    settings = model.nretm.options
    model.nretm.options = type(settings)(settings.tokenizer, Policy(separator="</s>"), True)
    rule, source = "translateOnce(1) & translateOnce(2)", "the car</s>the dog</s>"
    ids = tiny.tokenizer(source + rule, return_tensors="pt")["input_ids"]
    session = Session(model, ids, [rule], 30)
    text = tiny.tokenizer("one car</s>a dog</s>en_XX", add_special_tokens=False)["input_ids"]
    flags = []
    for length in range(len(text) + 1):
        prefix = torch.tensor([[tiny.tokenizer.convert_tokens_to_ids("en_XX"), *text[:length]]])
        flags.append(session.flags(prefix, session.rows, 1)[0, 0])
    strings = [[session.table.strings[i] for i in column] for column in flags]
    told = [tuple(s for s in column if s != "N") for column in strings]
    assert list(dict.fromkeys(told)) == [("0", "0"), ("1", "0"), ("2", "1"), ("2", "2")]
    assert session.verdicts(torch.tensor([[0, *text]]))[0].satisfied


def test_rules_that_speak_of_every_sentence():
    model = tiny.equipped()
    model.generate(**tiny.inputs(["Len(every, 2..9)"], [""]), rules=["Len(every, 2..9)"], max_new_tokens=8)
    assert len(model.nretm.verdicts) == 1
