"""The state matrix as numbers, strings, frame and picture."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from kinds import KINDS, tokenizer

import nretm
from nretm import FlagTable, Tracker, state_matrix
from nretm.tracking.state_matrix import CHANGE, COLORS, EDGE, INK, SEVERAL, Entry, _cells
from reproduction.report.pictures import save

RULE = "InSen(car, 1) & Len(2, 3) & (not Copy(snow))"
TEXT = "the car stop . one tree ."


@pytest.fixture(scope="module")
def matrix():
    return state_matrix(RULE, TEXT, tokenizer("wordlevel"))


def test_rows_are_input_tokens_and_columns_are_steps_from_the_empty_prefix_on(matrix):
    tok = tokenizer("wordlevel")
    assert matrix.inputs == tuple(tok.tokenize(RULE)) and matrix.outputs == ("ε", *TEXT.split(), "</s>")
    assert matrix.shape == matrix.ids.shape == matrix.strings.shape == (len(matrix.inputs), 9)
    tracker = Tracker(RULE, tok)
    for t, state in enumerate(tracker.states([*tok(TEXT)["input_ids"], tok.eos_token_id])):
        assert list(matrix.strings[:, t]) == state.flags


def test_an_output_is_tracked_once(monkeypatch):
    steps, step = [], Tracker.step
    monkeypatch.setattr(Tracker, "step", lambda *args: steps.append(args[2]) or step(*args))
    made = state_matrix(RULE, TEXT, tokenizer("wordlevel"), gold=True)
    assert len(steps) == len(made.outputs) - 1


def test_numbers_strings_and_frame_say_the_same(matrix):
    strings = np.array(matrix.table.strings, dtype=object)
    assert (strings[matrix.ids] == matrix.strings).all() and matrix.table.strings[0] == "" and 0 not in matrix.ids
    frame = matrix.frame()
    assert (frame.to_numpy() == matrix.strings).all()
    assert list(frame.columns.get_level_values("output")) == list(matrix.outputs)
    assert list(frame.index.get_level_values("input")) == list(matrix.inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_and_its_tokens_give_the_same_matrix(kind):
    tok = tokenizer(kind)
    ids = tok(TEXT)["input_ids"]
    ids += [tok.eos_token_id] * (ids[-1] != tok.eos_token_id)
    from_text, from_ids = state_matrix(RULE, TEXT, tok), state_matrix(RULE, ids, tok)
    assert (from_text.strings == from_ids.strings).all()
    prefix = state_matrix(RULE, ids[:4], tok)
    assert (prefix.strings == from_ids.strings[:, :5]).all()


def test_a_shared_table_keeps_its_numbers():
    table = FlagTable()
    first = state_matrix(RULE, TEXT, tokenizer("wordlevel"), table=table)
    before = list(table.strings)
    second = state_matrix(RULE, TEXT, tokenizer("wordlevel"), table=table)
    assert table.strings == before and (first.ids == second.ids).all()


def test_cells_mark_changes_of_status_but_not_of_value(matrix):
    rows = dict(matrix.rows())
    assert [cell.changed for cell in rows["car"]] == [False, True, True, False, True, False, False, True, False]
    (label, cells), = matrix.predicate_rows(nretm.Len(2, 3))
    assert label == "every token"
    assert [c.lines[0].replace("\u2002", " ") for c in cells] == ["0", "0", "0", "0", "1 3", "1 2", "1 1", "2", "2"]
    assert [i for i, c in enumerate(cells) if c.changed] == [4, 7]


def test_not_yet_and_broken_for_good_are_told_apart():
    matrix = state_matrix("Len(2, 3) & InSen(car, 2) & (not Copy(snow))", "the snow . one tree big dog . car",
                          tokenizer("wordlevel"))
    shades = {str(literal): "".join(cell.shade for cell in matrix.predicate_rows(literal)[0][1])
              for literal in matrix.panels}
    # ε the snow . one tree big dog . car </s>; the last word may still grow, so that a fault settles one word later
    assert shades == {"Len(2, 3)": "00011111✗✗✗", "InSen(car, 2)": "000111110✗✗", "not Copy(snow)": "010✗✗✗✗✗✗✗✗"}
    (_, cells), = matrix.predicate_rows(nretm.Len(2, 3))
    assert cells[7].lines == ("1\u2002-1",) and cells[8].lines == ("0✗",) and cells[8].changed


def test_several_entries_in_a_cell_show_the_worst():
    def shade(*shades):
        return _cells([[Entry(shade, shade) for shade in shades]])[0].shade

    assert (shade("N", "2"), shade("2", "1"), shade("1", "0"), shade("0", "✗", "2"), shade("N", "N")) == tuple("210✗N")


def _contrast(a, b):
    """WCAG 2's contrast ratio of two colors."""
    def luminance(color):
        parts = [int(color[i: i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    low, high = sorted((luminance(a) + 0.05, luminance(b) + 0.05))
    return high / low


def test_colors_that_stand_side_by_side_differ_by_three_to_one():
    for pair in ("01", "12", "02", "1✗", "0✗", "N1", "N2", "N✗"):
        assert _contrast(*(COLORS[shade] for shade in pair)) >= 3, pair
    for shade in "N0":  # as light as each other: "0" has an edge
        assert _contrast(EDGE, COLORS[shade]) >= 3
    for shade, color in COLORS.items():
        assert max(_contrast(line, color) for line in CHANGE) >= 3, shade  # the outline of a change
        assert _contrast(INK[shade], color) >= 4.5, shade
    assert _contrast(*CHANGE) >= 3


def test_a_long_input_is_drawn_by_runs_and_a_long_output_in_bands():
    rule = " & ".join(f"InSen({word}, 1) & Len({k}, 5)" for k, word in enumerate(("car", "tree", "dog", "snow"), 1))
    matrix = state_matrix(rule, " ".join(["the car ."] * 25), tokenizer("wordlevel"))
    assert len(matrix.inputs) > 25 and len(matrix.rows()) == 9  # four words and what stands around them
    figure = matrix.plot()
    assert len(figure.axes) > 1 and figure.get_figwidth() < 14
    assert sum(len(axes.get_xticks()) for axes in figure.axes) == len(matrix.outputs)


def test_the_notebook_table_shows_every_cell_escaped():
    page = state_matrix("Copy(car)", "the car & one", tokenizer("wordlevel"))._repr_html_()
    assert page.count("<td") == 4 * 6 and "&amp;" in page and "satisfied" in page


@pytest.mark.parametrize("by, panels", [("flag", 1), ("predicate", 3)])
def test_the_heatmap_is_drawn_as_png_and_svg(matrix, by, panels, tmp_path):
    figure = matrix.plot(by=by)
    assert len(figure.axes) == panels
    shown = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any("1\u20023" in text for text in shown)  # the value is printed in the cell
    labels = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    assert labels == [{".": "“.”"}.get(token, token) for token in matrix.outputs]  # a full stop can be seen
    assert len(figure.legends[0].get_texts()) == 6
    assert [text.get_text() for text in figure.texts] == ([SEVERAL] if by == "flag" else [])
    assert min(text.get_fontsize() for axes in figure.axes for text in [*axes.texts, *axes.get_xticklabels()]) >= 9
    for name in ("a", "b"):
        save(matrix.plot(by=by), tmp_path / "figures" / name)
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert drawn["a.png"][:4] == b"\x89PNG" and b"<svg" in drawn["a.svg"]
    assert drawn["a.png"] == drawn["b.png"] and drawn["a.svg"] == drawn["b.svg"]  # drawn twice, the same bytes
    with pytest.raises(ValueError, match="by must be 'flag' or 'predicate'"):
        matrix.plot(by="row")


def test_chinese_is_counted_where_no_font_can_write_it():
    from nretm.tracking.heatmap import _legible, plt

    with plt.rc_context({"font.family": ["DejaVu Sans"]}), pytest.warns(UserWarning, match="No font with Chinese"):
        assert _legible("我 们 </s>") == "(2 signs) </s>"
    with plt.rc_context({"font.family": ["DejaVu Sans", "Noto Sans CJK SC"]}):
        assert _legible("我 们 </s>") == "我 们 </s>"
    assert _legible("plain") == "plain"


@pytest.mark.parametrize("files", [["NotoSansCJK-Bold.ttc", "NotoSansCJK-Regular.ttc"], []])
def test_a_chinese_font_is_found_by_its_file(files, monkeypatch, tmp_path):
    """Not by matplotlib's cache of names, which may be older than the font; any font file serves for the test."""
    from matplotlib import font_manager, get_data_path

    from nretm.tracking import heatmap

    paths = [shutil.copy(Path(get_data_path(), "fonts", "ttf", "DejaVuSerif.ttf"), tmp_path / name) for name in files]
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: list(map(str, paths)))
    added = []
    monkeypatch.setattr(font_manager.fontManager, "addfont", added.append)
    heatmap._chinese_font.cache_clear()
    assert heatmap._chinese_font() == ("DejaVu Serif" if files else None)
    assert added == [str(path) for path in paths[1:]]  # the regular one
    heatmap._chinese_font.cache_clear()


def test_a_picture_that_only_counts_its_characters_replaces_none(monkeypatch, tmp_path):
    from nretm.tracking import heatmap

    matrix = state_matrix("Copy(下雨)", "今天 下雨")
    monkeypatch.setattr(heatmap, "_chinese_font", lambda: None)
    with pytest.warns(UserWarning, match="No font with Chinese"):
        worse = matrix.plot()
    assert worse.incomplete and not state_matrix("Copy(car)", "a car", tokenizer("wordlevel")).plot().incomplete
    save(worse, tmp_path / "a")  # better than none
    (tmp_path / "b.png").write_bytes(b"good")
    (tmp_path / "b.svg").write_bytes(b"good")
    save(worse, tmp_path / "b")
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert (tmp_path / "b.png").read_bytes() == (tmp_path / "b.svg").read_bytes() == b"good"
