"""The tracker against a plain re-scan of the prefix and against the checker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import KINDS, tokenizer
from strategies import policies, rules, texts, thorough

import nretm
from nretm import InSen, Len, Not, Policy, Tracker, TranslatedOnce
from reproduction.bench.rescan import rescan


@thorough
@given(rules, texts, st.sampled_from(KINDS), policies)
def test_every_prefix_reads_as_if_it_were_scanned_anew_and_the_end_as_the_checker_says(rule, text, kind, policy):
    tok = tokenizer(kind)
    tracker = Tracker(rule, tok, policy=policy)  # the strategies draw no rule that it refuses
    ids = tok(text, add_special_tokens=False)["input_ids"]
    state, broken = tracker.start(), False
    for i, token in enumerate([*ids, tok.eos_token_id], 1):
        old = state.flags, state.verdict
        new = tracker.step(state, token)
        assert (state.flags, state.verdict) == old  # the old state stays valid
        state = new
        written = tracker.reader.text(ids[:i])
        assert state.statuses == rescan(rule, written, state.finished, policy), written
        assert not broken or state.verdict == "broken"  # for good means for good
        broken = state.verdict == "broken"
    verdict = nretm.check(rule, tracker.reader.text(ids), policy=policy)
    assert state.verdict == ("satisfied" if verdict.satisfied else "broken")
    assert verdict.by_predicate == {literal: status == 2 for literal, (status, _) in state.statuses.items()}
    if verdict.satisfied and rule.cnf() == tuple((literal,) for literal in rule.literals):
        assert set(" ".join(state.flags).split()) <= {"2", "N"}  # section 2.6: why the model obeys


@thorough
@given(st.lists(texts.map(lambda t: t.replace("</s>", "")), min_size=1, max_size=5))
def test_documents_with_a_separator_token(lines):
    tok, policy = tokenizer("unigram"), Policy(separator="</s>")
    rule = TranslatedOnce(1) & Not(TranslatedOnce(2)) & Len(1, 3) & Len(2, 4) & InSen("car", 2)
    tracker = Tracker(rule, tok, source="a car</s>the tree</s>", policy=policy)
    separator, code = tok.convert_tokens_to_ids("</s>"), tok.convert_tokens_to_ids("en_XX")
    ids = [code]
    for n, line in enumerate(lines):
        ids += [separator] * bool(n) + tok(line, add_special_tokens=False)["input_ids"]
    state, text = tracker.start(), ""
    for token in ids:
        state = tracker.step(state, token)
        text = state.text
        assert state.statuses == rescan(rule, text, False, policy)
    if text.strip():
        state = tracker.step(state, code)  # the language code ends the document
        assert state.finished
        assert state.statuses == rescan(rule, text, True, policy)
        assert (state.verdict == "satisfied") == nretm.check(rule, text, policy=policy).satisfied


def test_running_example_flag_by_flag():
    """SPEC section 4: copy(car) & copy(snow) & len(9), flags of three entries."""
    tok = tokenizer("wordlevel")
    tracker = Tracker("copy(car) & copy(snow) & len(9)", tok, compress=False)
    tokens = tok.convert_ids_to_tokens(tracker.input_ids)
    car, snow, other = tokens.index("car"), tokens.index("snow"), tokens.index("&")
    seen = [(s.flags[car], s.flags[snow], s.flags[other])
            for s in tracker.states(
                [*tok("the car drove through the snow at one tree")["input_ids"], tok.eos_token_id])]
    assert seen == [("0 N 0", "N 0 0", "N N 0"), ("0 N 1 8", "N 0 1 8", "N N 1 8"), ("2 N 1 7", "N 0 1 7", "N N 1 7"),
                    ("2 N 1 6", "N 0 1 6", "N N 1 6"), ("2 N 1 5", "N 0 1 5", "N N 1 5"),
                    ("2 N 1 4", "N 0 1 4", "N N 1 4"), ("2 N 1 3", "N 2 1 3", "N N 1 3"),
                    ("2 N 1 2", "N 2 1 2", "N N 1 2"), ("2 N 1 1", "N 2 1 1", "N N 1 1"),
                    ("2 N 1 0", "N 2 1 0", "N N 1 0"), ("2 N 2", "N 2 2", "N N 2")]


def test_the_next_sentence_begins_with_the_terminator():
    """SPEC section 2: right after "!" the flag of Len(2, 5) becomes `1 5`, and 2 when sentence 2 ends."""
    tok = tokenizer("wordlevel")
    tracker = Tracker("Len(2, 5)", tok)
    flags = [s.flags[0] for s in tracker.states(tok("the car drove ! at one big tree .")["input_ids"])]
    assert flags == ["0", "0", "0", "0", "1 5", "1 4", "1 3", "1 2", "1 1", "2"]


def test_a_count_that_runs_over_goes_below_zero_and_stops_at_the_bound():
    tok = tokenizer("wordlevel")
    states = Tracker("Len(1, 2)", tok).states(tok(" ".join(["car"] * 15))["input_ids"])
    assert [s.statuses[Len(1, 2)] for s in states][1:5] == [(1, 1), (1, 0), (1, -1), (1, -2)]
    assert states[-1].statuses[Len(1, 2)] == (1, -9)
    assert [s.verdict for s in states][2:5] == ["possible", "possible", "broken"]


@pytest.mark.parametrize("rule, source, policy", [
    ("Copy(stone) & Copy(explain) & Copy(tree) & Copy(snow)", "", Policy()),
    ("translateOnce(1) & translateOnce(2)", "the car</s>the tree</s>", Policy(separator="</s>"))])
def test_commongen_and_translation_flags_have_length_one(rule, source, policy):
    tracker = Tracker(rule, tokenizer("unigram"), source=source, policy=policy)
    for state in tracker.states(tokenizer("unigram")("the stone explains </s> a tree")["input_ids"]):
        assert all(len(flag.split()) == 1 for flag in state.flags)


def test_translated_once_sits_on_its_source_sentence():
    tok = tokenizer("wordlevel")
    policy = Policy(separator="</s>")
    tracker = Tracker("translateOnce(1) & translateOnce(2)", tok, source="the car </s> a big tree </s>", policy=policy)
    state = tracker.states(tok("one")["input_ids"])[-1]
    by_token = list(zip(tok.convert_ids_to_tokens(tracker.input_ids), state.flags, strict=True))
    assert by_token[:7] == [("the", "1"), ("car", "1"), ("</s>", "N"), ("a", "0"), ("big", "0"), ("tree", "0"),
                            ("</s>", "N")]
    assert {flag for _, flag in by_token[7:]} == {"N"}
    with pytest.raises(ValueError, match="source sentence 3, but the source has 2 sentences"):
        Tracker("translateOnce(3)", tok, source="the car </s> a tree </s>", policy=policy)


def test_rules_of_one_kind_share_entries_and_take_turns():
    """R3 of Table 1 has six predicates and three entries: InSen, Len, StopWordCount."""
    tok = tokenizer("wordlevel")
    rule = nretm.parse("(Len(1, 3) || StopWordCount(1, 1)) & (Len(3, 4) || StopWordCount(3, 2)) & "
                       "InSen(car, 1) & InSen(tree, 3)")
    tracker = Tracker(rule, tok)
    tokens = tok.convert_ids_to_tokens(tracker.input_ids)
    car, tree, other = tokens.index("car"), tokens.index("tree"), tokens.index("&")
    states = tracker.states(tok("the car . one big . the tree")["input_ids"])
    assert [s.flags[car] for s in states] == ["0 0 0", "1 2 1 0 1", "1 1 1 0 2", "0 0 2", "0 0 2", "0 0 2", "1 4 1 2 2",
                                              "1 3 1 1 2", "1 2 1 1 2"]
    assert [s.flags[tree] for s in states][-2:] == ["1 3 1 1 1", "1 2 1 1 2"]
    assert states[-1].flags[other] == "1 2 1 1 N"
    assert len(set(tracker.groups)) == 3


def test_a_gold_target_hides_what_it_does_not_obey():
    """Section 2.4: no alignment with the gold gives N; an alternative of an obeyed clause is tracked all the same."""
    tok = tokenizer("wordlevel")
    ids = [*tok("the car drove .")["input_ids"], tok.eos_token_id]
    tracker = Tracker("Copy(car) & Copy(snow) & (Len(1, 4) || StopWordCount(1, 4))", tok, compress=False)
    tokens = tok.convert_ids_to_tokens(tracker.input_ids)
    columns = tracker.run(ids, gold=True)
    row = {word: [tracker.table.strings[column[tracker.groups[tokens.index(word)]]] for column in columns]
           for word in ("car", "snow")}
    assert row["car"] == ["0 N 0 0", "0 N 1 3 1 3", "2 N 1 2 1 3", "2 N 1 1 1 3", "2 N 2 0", "2 N 2 0"]
    assert {flag.split()[1] for flag in row["snow"]} == {"N"}
    assert tracker.table.strings[tracker.run(ids)[0][tracker.groups[tokens.index("snow")]]] == "N 0 0 0"


def test_special_tokens_write_nothing_and_after_the_end_nothing_changes():
    tok = tokenizer("byte-bpe")
    tracker = Tracker("Len(2) & Copy(car)", tok)
    state = tracker.start()
    padded = tracker.step(tracker.step(state, tok.bos_token_id), tok.pad_token_id)
    assert padded.flags == state.flags
    done = tracker.states([*tok("a car", add_special_tokens=False)["input_ids"], tok.eos_token_id])[-1]
    assert done.verdict == "satisfied" and done.text == "a car"
    assert tracker.step(done, tok("car")["input_ids"][0]) is done


def test_the_expression_is_found_whatever_stands_before_it_and_missed_if_it_is_not_there():
    for kind in KINDS:
        tok = tokenizer(kind)
        ids = tok("the big dog. Copy(snow) & Copy(tree)")["input_ids"]
        tracker = Tracker.for_input("Copy(snow) & Copy(tree)", [tok.pad_token_id, *ids, tok.pad_token_id], tok)
        written = {g: "".join((tracker.reader.token_bytes[tracker.input_ids[i]] or b"").decode()
                              for i in range(len(tracker.input_ids)) if tracker.groups[i] == g) for g in (1, 2)}
        assert [w.strip(" (") for w in written.values()] == ["snow", "tree"], kind
        with pytest.raises(ValueError, match="does not end with the rule's input expression"):
            Tracker.for_input("Copy(car)", ids, tok)


def test_a_token_of_another_vocabulary_is_refused():
    tracker = Tracker("Copy(car)", tokenizer("unigram"))
    with pytest.raises(ValueError, match="not in the tokenizer's vocabulary"):
        tracker.step(tracker.start(), 10_000_000)
