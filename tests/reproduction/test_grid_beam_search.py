"""Grid beam search: against exhaustive search on tiny vocabularies, and what it promises on larger ones."""

import itertools

import pytest
import torch
from transformers import BartConfig, BartForConditionalGeneration, T5Config, T5ForConditionalGeneration

import nretm
from nretm.modeling.state_encoder import flag_tokens
from reproduction.data import builtin_tokenizer
from reproduction.grid_beam_search import grid_beam_search

IDS = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}


def t5(vocabulary, seed, sharper=3.0):
    torch.manual_seed(seed)
    model = T5ForConditionalGeneration(T5Config(vocab_size=vocabulary, d_model=16, d_kv=4, d_ff=32, num_layers=1,
                                                num_heads=4, **IDS)).eval()
    return sharpened(model, sharper)


def bart(vocabulary, seed):
    torch.manual_seed(seed)
    return sharpened(BartForConditionalGeneration(BartConfig(
        vocab_size=vocabulary, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, forced_eos_token_id=None, bos_token_id=2,
        max_position_embeddings=64, **IDS)).eval(), 3.0)


def sharpened(model, factor):
    """Random weights give nearly equal probabilities: make some words likelier than others."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(factor if parameter.dim() > 1 else 1.0)
    return model


@torch.no_grad()
def log_probability(model, source, tokens):
    start = model.config.decoder_start_token_id
    logits = model(input_ids=source[None], decoder_input_ids=torch.tensor([[start, *tokens[:-1]]])).logits[0]
    return logits.log_softmax(-1).gather(-1, torch.tensor(tokens)[:, None]).sum().item()


def covers(tokens, constraints, taken=frozenset()):
    """Whether all constraints stand in the tokens, each in a place of its own."""
    if not constraints:
        return True
    first, *others = constraints
    places = (range(at, at + len(first)) for at in range(len(tokens) - len(first) + 1)
              if list(tokens[at:at + len(first)]) == list(first))
    return any(covers(tokens, others, taken | set(place)) for place in places if not taken & set(place))


def written(row):
    tokens = row.tolist()[1:]
    return tokens[:tokens.index(1) + 1] if 1 in tokens else tokens


@pytest.mark.parametrize("make", [t5, bart])
@pytest.mark.parametrize("seed", range(3))
def test_with_room_for_all_it_finds_what_exhaustive_search_finds(make, seed):
    model, longest = make(5, seed), 4
    source = torch.randint(2, 5, (2, 4))
    constraints = [[[2, 2], [4]], [[3]]] if seed else [[[2, 3]], [[4], [3]]]
    found = grid_beam_search(model, constraints, num_beams=300, input_ids=source, max_new_tokens=longest,
                             length_penalty=0.0, return_dict_in_generate=True)
    for row, phrases in enumerate(constraints):
        every = ([*body, 1] for n in range(longest) for body in itertools.product((0, 2, 3, 4), repeat=n)
                 if covers(body, phrases))
        best = max(every, key=lambda tokens: log_probability(model, source[row], tokens))
        assert written(found.sequences[row]) == best
        assert found.sequences_scores[row].item() == pytest.approx(log_probability(model, source[row], best), abs=1e-3)


def test_every_constraint_appears_and_scores_are_true():
    model, source = t5(50, 0), torch.randint(2, 50, (3, 6))
    constraints = [[[7], [8, 9, 10]], [[11, 11], [11]], []]
    found = grid_beam_search(model, constraints, num_beams=4, input_ids=source, max_new_tokens=15,
                             return_dict_in_generate=True, num_return_sequences=2)
    for row, score in enumerate(found.sequences_scores):
        tokens = written(found.sequences[row])
        assert covers(tokens, constraints[row // 2])
        assert score.item() == pytest.approx(log_probability(model, source[row // 2], tokens) / len(tokens), abs=1e-3)


def test_rows_of_a_batch_do_not_see_each_other():
    model, source = t5(50, 1), torch.randint(2, 50, (3, 6))
    constraints = [[[7], [8, 9]], [[12]], [[13, 14, 15], [16]]]
    together = grid_beam_search(model, constraints, num_beams=3, input_ids=source, max_new_tokens=12)
    for row, phrases in enumerate(constraints):
        alone = grid_beam_search(model, [phrases], num_beams=3, input_ids=source[row:row + 1], max_new_tokens=12)
        assert written(together[row]) == written(alone[0])


def test_the_cache_changes_nothing():
    model, source = t5(50, 2), torch.randint(2, 50, (2, 6))
    with_cache, without = (grid_beam_search(model, [[[5], [6, 7]], [[8]]], num_beams=3, input_ids=source,
                                            max_new_tokens=12, use_cache=cached) for cached in (True, False))
    assert with_cache.tolist() == without.tolist()


def test_nothing_prolongs_the_last_word_of_a_constraint():
    model, source = t5(30, 3), torch.randint(2, 30, (1, 6), generator=torch.Generator().manual_seed(0))
    inputs = {"input_ids": source, "max_new_tokens": 12, "num_beams": 4}
    free = written(grid_beam_search(model, [[[9]]], **inputs)[0])
    behind = {b for a, b in itertools.pairwise(free) if a == 9}
    boundary = torch.tensor([token not in behind for token in range(30)])
    kept = written(grid_beam_search(model, [[[9]]], boundary=boundary, **inputs)[0])
    assert any(a == 9 and b not in behind for a, b in itertools.pairwise(kept))


def test_logits_processors_forbid_no_constraint():
    model, source = t5(50, 4), torch.randint(2, 50, (1, 6))
    phrases = [[[7, 7, 7, 7, 7]]]  # repeats the trigram 7 7 7
    tokens = written(grid_beam_search(model, phrases, num_beams=3, input_ids=source, max_new_tokens=12,
                                      no_repeat_ngram_size=3)[0])
    assert covers(tokens, phrases[0])


def test_an_equipped_model_tracks_its_rules_while_it_searches():
    tokenizer = builtin_tokenizer()
    model = nretm.equip(t5(len(tokenizer), 0, sharper=1.0), tokenizer)
    torch.nn.init.normal_(model.nretm.key.weight, std=2.0)
    torch.nn.init.normal_(model.nretm.value.weight, std=2.0)
    rules = [nretm.parse("Copy(apples) & Copy(seeds)"), nretm.parse("Copy(boats)")]
    batch = tokenizer([str(rule) for rule in rules], padding=True, return_tensors="pt")
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask, "max_new_tokens": 12}
    words = [["apples", "seeds"], ["boats"]]
    constraints = [[tokenizer(word, add_special_tokens=False).input_ids for word in row] for row in words]
    found = grid_beam_search(model, constraints, num_beams=3, rules=rules, return_dict_in_generate=True, **inputs)
    for row, rule in enumerate(rules):
        assert nretm.check(rule, tokenizer.decode(found.sequences[row], skip_special_tokens=True)).satisfied
        tokens, table = written(found.sequences[row]), nretm.FlagTable()  # its score, from the whole state matrix
        tracker = nretm.Tracker.for_input(rule, batch.input_ids[row], tokenizer, table=table)
        with torch.no_grad():
            loss = model(input_ids=batch.input_ids[row:row + 1], attention_mask=batch.attention_mask[row:row + 1],
                         labels=torch.tensor([tokens]),
                         decoder_state_groups=torch.from_numpy(tracker.groups).long()[None],
                         decoder_state_flags=torch.from_numpy(tracker.run(tokens)[:-1]).long()[None],
                         decoder_flag_tokens=flag_tokens(table.strings[1:], tokenizer)).loss.item()
        assert found.sequences_scores[row].item() == pytest.approx(-loss, abs=1e-3)


def test_constraints_that_do_not_fit_are_refused():
    model, source = t5(20, 0), torch.randint(2, 20, (1, 4))
    with pytest.raises(ValueError, match="need 6 tokens with the end, but only 5 may be generated"):
        grid_beam_search(model, [[[5, 6, 7], [8, 9]]], num_beams=2, input_ids=source, max_new_tokens=5)
    with pytest.raises(ValueError, match="Row 0 has a constraint without tokens"):
        grid_beam_search(model, [[[]]], num_beams=2, input_ids=source, max_new_tokens=5)
