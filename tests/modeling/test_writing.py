"""nretm.write: text, verdict and matrix of one call agree with generate, check and state_matrix."""

import warnings

import pytest
import tiny
import torch

import nretm


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nretm.RuleBroken)
        yield


@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_return_sequences": 2, "return_dict_in_generate": True}])
def test_a_list_of_rules(options):
    model = tiny.equipped("T5")
    written = nretm.write(model, tiny.RULES, tiny.SOURCES, max_new_tokens=16, **options)
    found = model.generate(**tiny.inputs(), rules=tiny.RULES, max_new_tokens=16, **options)
    found = getattr(found, "sequences", found)
    copies = options.get("num_return_sequences", 1)
    texts = [tiny.tokenizer.decode([t for t in ids if t < len(tiny.tokenizer)], skip_special_tokens=True).strip()
             for ids in found.tolist()]
    assert [w.text for w in written] == texts and len(written) == 3 * copies
    for i, w in enumerate(written):
        assert w.rule == nretm.parse(tiny.RULES[i // copies])
        assert w.verdict == nretm.check(w.rule, w.text) == model.nretm.verdicts[i]
        ended = torch.nonzero(found[i, 1:] == tiny.tokenizer.eos_token_id).flatten().tolist()
        assert w.matrix.shape[1] == 1 + (ended[0] + 1 if ended else found.shape[1] - 1)


def test_one_rule():
    written = nretm.write(tiny.equipped("Bart"), "Copy(stone) & Len(90)", max_new_tokens=12)
    assert isinstance(written, nretm.Written) and str(written) == written.text
    assert "✗ breaks" in repr(written) and "Len(90) (" in written.summary
    assert "✗ breaks" in written._repr_html_() and "<table" in written._repr_html_()


def test_warnings_point_at_the_call():
    with pytest.warns(nretm.RuleBroken, match="1 of 1 outputs") as said:
        nretm.write(tiny.equipped("T5"), "Len(90)", max_new_tokens=5)
    assert [warning.filename for warning in said if warning.category is nretm.RuleBroken] == [__file__]


def test_bad_input():
    with pytest.raises(ValueError, match="not equipped"):
        nretm.write(tiny.plain("T5"), "Copy(car)")
    with pytest.raises(ValueError, match="2 sources for 1 rules"):
        nretm.write(tiny.equipped("T5"), "Copy(car)", ["a", "b"])
    with pytest.raises(nretm.RuleSyntaxError, match="Row 1: "):
        nretm.write(tiny.equipped("T5"), ["Copy(car)", "Copy(car"])
