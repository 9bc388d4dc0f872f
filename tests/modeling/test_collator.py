"""Training batches: what the model is told is the state matrix of the gold output."""

import pickle

import pytest
import tiny
import torch
from torch.utils.data import DataLoader

import nretm
from reproduction.data.example import Example
from reproduction.data.matrices import state_matrices


def test_the_flags_are_those_of_the_state_matrix():
    model = tiny.equipped("T5")
    batch = nretm.Collator(model)(tiny.ROWS)
    flags, groups, tokens = (batch[f"decoder_{x}"] for x in ("state_flags", "state_groups", "flag_tokens"))
    assert flags.shape[:2] == batch["labels"].shape and groups.shape == batch["input_ids"].shape
    for i, row in enumerate(tiny.ROWS):
        labels = batch["labels"][i][batch["labels"][i] != -100].tolist()
        assert labels == tiny.tokenizer(row["target"])["input_ids"]
        matrix = nretm.state_matrix(row["rule"], row["target"], tiny.tokenizer, source=row["source"])
        for t in range(len(labels)):
            for s in range(len(matrix.groups)):
                number = flags[i, t, groups[i, s]]
                told = tiny.tokenizer.decode(tokens[number - 1], skip_special_tokens=True)
                assert told == matrix.strings[s, t]
        assert not flags[i, len(labels):].any()


def test_flags_are_distinct_and_few():
    batch = nretm.Collator(tiny.equipped("T5"))(tiny.ROWS)
    tokens = batch["decoder_flag_tokens"]
    assert len(tokens.unique(dim=0)) == len(tokens) == batch["decoder_state_flags"].max()


def test_a_target_that_does_not_obey_has_no_alignment():
    """Section 2.4: such a predicate gets N."""
    collate = nretm.Collator(tiny.equipped("T5"))
    batch = collate([{"rule": "Len(3)", "source": "", "target": "one two big car."}])
    assert batch["decoder_state_flags"].unique().tolist() == [1]
    assert tiny.tokenizer.decode(batch["decoder_flag_tokens"][0]) == "N"


def test_rows_without_rules_and_examples_as_rows():
    model = tiny.equipped("T5")
    collate = nretm.Collator(model)
    rows = [{"rule": None, "source": "The car", "target": "A dog."},
            Example("1", "", nretm.parse("Copy(car)"), "The car.", ())]
    batch = collate(rows)
    assert not batch["decoder_state_flags"][0].any() and batch["decoder_state_flags"][1].any()
    assert batch["rules"] == [None, nretm.parse("Copy(car)")]
    torch.testing.assert_close(model(**batch).logits[0, :2],
                               tiny.plain("T5")(**{k: batch[k] for k in ("input_ids", "attention_mask", "labels")}
                                                ).logits[0, :2], rtol=1e-5, atol=1e-5)
    alone = collate(rows[:1])  # no flags at all
    assert torch.isfinite(model(**alone).loss)


def test_the_baseline_reads_the_same():
    ours = nretm.Collator(tiny.equipped("T5"))(tiny.ROWS)
    theirs = nretm.Collator(tiny.plain("T5"), tiny.tokenizer)(tiny.ROWS)
    assert set(theirs) == {"input_ids", "attention_mask", "labels"}
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)
    with pytest.raises(ValueError, match="not equipped"):
        nretm.Collator(tiny.plain("T5"))


def test_in_the_workers_of_a_dataloader():
    model = tiny.equipped("T5")
    collate = nretm.Collator(model)
    sent = pickle.loads(pickle.dumps(collate))  # what a worker that is spawned gets
    here = collate(tiny.ROWS)
    for batch in [*DataLoader(tiny.ROWS * 2, batch_size=3, collate_fn=collate, num_workers=1), sent(tiny.ROWS)]:
        assert all(torch.equal(batch[k], here[k]) for k in here if k != "rules") and batch["rules"] == here["rules"]


def test_generate_takes_a_batch():
    model = tiny.equipped("T5")
    batch = nretm.Collator(model)(tiny.ROWS)
    with pytest.warns(nretm.RuleBroken):
        ids = model.generate(**batch, max_new_tokens=8)
    assert len(model.nretm.verdicts) == len(ids) == 3


def test_bad_input():
    collate = nretm.Collator(tiny.equipped("Bart"))
    with pytest.raises(ValueError, match="Row 0: the source with its rule is .* tokens long, the model takes 128"):
        collate([{"rule": "Copy(car)", "source": "the car " * 100, "target": "The car."}])
    with pytest.raises(ValueError, match="Row 1: the target is .* tokens long"):
        collate([tiny.ROWS[0], {"rule": "Copy(car)", "source": "", "target": "the car " * 100}])


def test_prepared_rows(tmp_path):
    model = tiny.equipped("T5")
    examples = [Example(str(i), r["source"], nretm.parse(r["rule"]), r["target"], ()) for i, r in enumerate(tiny.ROWS)]
    prepared = state_matrices(examples, tiny.tokenizer, tmp_path, workers=1, shard=2)
    ours, direct = nretm.Collator(model, table=prepared.table)(list(prepared)), nretm.Collator(model)(tiny.ROWS)
    assert set(direct) - set(ours) == {"rules"}
    assert all(torch.equal(ours[name], direct[name]) for name in ("input_ids", "labels", "decoder_state_groups"))
    torch.testing.assert_close(model(**ours).logits, model(**direct).logits)
    with pytest.raises(ValueError, match="give the collator the table"):
        nretm.Collator(model)(list(prepared))
