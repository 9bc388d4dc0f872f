"""The study of enforcement as it is read: each rule once, no cell that says nan, one panel per rule."""

import pandas

from reproduction.report import enforcement_picture


def test_table_and_picture():
    ways = ["T5", "T5, best of 16", "NRETM, enforced"]
    study = pandas.DataFrame([{"rule": rule, "way": way, "CSR": 50.0, measure: 40.0, "perplexity": 2.0,
                               "seconds per text": 0.01, "texts": 200}
                              for rule, measure in (("r1", "ROUGE-L"), ("r3", "ROUGE-L"), ("insen", "ROUGE-L"),
                                                    ("concepts", "CIDEr")) for way in ways])
    shown = enforcement_picture.shown(study)
    assert [name for name in shown["rule"] if name] == ["R1", "R3", "InSen ∧ InSen", "CommonGen"]
    assert "nan" not in shown.to_string() and set(shown["ms per text"]) == {"10"}
    assert set(shown["CIDEr"][:9]) == {""} and set(shown["CIDEr"][9:]) == {"40.0"}
    figure = enforcement_picture.draw(study)
    assert [axes.get_title() for axes in figure.axes if axes.axison] == ["R1", "R3", "InSen ∧ InSen", "CommonGen"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ways
