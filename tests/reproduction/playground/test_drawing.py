"""Stories as HTML and SVG: nothing of the text is lost, and everything is escaped."""

import json
import re
from html import unescape

import pytest
import tiny

import nretm
from nretm import Tracker
from nretm.tracking import matrix_of
from reproduction.playground import Candidate, Story, drawing, page

TEXT = 'Tom said "no" & left. She <b>planted seeds</b> again! It was late'


def told(rule, text=TEXT):
    rule = nretm.parse(rule)
    ids = tiny.tokenizer(text)["input_ids"]
    tracker = Tracker(rule, tiny.tokenizer)
    states = tracker.states(ids)
    tokens = tuple(b.text[len(a.text):] for a, b in zip(states, states[1:], strict=False))
    candidates = [[Candidate("<s>", 0.7, 0.2, True), Candidate("b", 0.1, 0.6, False)]] * len(ids)
    return Story(rule, text, nretm.check(rule, text), matrix_of(tracker, ids), tokens, candidates, [0.5] * len(ids))


def without_chips(html):
    return re.sub(r'<span class="nretm-chip.*?</span>', "", html)


def text_of(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


@pytest.mark.parametrize("rule", ["Copy(planted seeds)", "InSen(tom, 1) & Len(2, 6) & not Copy(late)", "Len(4, 3)",
                                  "Order(tom, seeds) & (Len(1, 3) || StopWordCount(1, 9))"])
def test_the_whole_text_is_there(rule):
    assert text_of(without_chips(drawing.story_html(told(rule)))) == TEXT


def test_what_satisfies_a_predicate_has_its_color():
    story = told("Copy(planted) & InSen(tom, 1) & InSen(late, 2)")
    html = drawing.story_html(story)
    colors = [drawing.color(story.rule, literal) for literal in story.rule.literals]
    marks = re.findall(r'<mark style="background:(.*?)">(.*?)</mark>', html)
    assert marks == [(colors[1], "Tom"), (colors[0], "planted")]
    assert "✗ InSen(late, 2)" in html and "nretm-broken" in html


def test_an_alternative_that_is_not_needed_is_no_failure():
    html = drawing.story_html(told("Copy(planted) || Copy(castle)"))
    assert "nretm-broken" not in html and "– Copy(castle)" in html


def test_the_frame_moves_with_the_step_and_nothing_else_does():
    story = told("Copy(planted) & Len(2, 6)")
    svg = drawing.matrix_svg(story)
    moved = drawing.at_step(svg, 3)
    assert moved == drawing.matrix_svg(story, 3) != svg
    assert svg.count("<rect") == moved.count("<rect")


def test_prefix_and_bars():
    story = told("Copy(planted) & Len(2, 6)")
    for step in (0, 4, len(story.tokens) - 1):
        html = drawing.prefix_html(story, step).partition("</div>")[0]
        assert text_of(html).replace(" ", "") in (TEXT.replace(" ", ""), TEXT.replace(" ", "") + "end")
        assert "&lt;s&gt;" in drawing.bars_html(story, step) and "<s>" not in drawing.bars_html(story, step)


@pytest.mark.slow
def test_the_page_stands_alone():
    rules = [nretm.parse(rule) for rule in tiny.RULES]
    model = tiny.equipped(vocab_size=len(tiny.tokenizer)), tiny.tokenizer
    plain = tiny.plain(vocab_size=len(tiny.tokenizer)), tiny.tokenizer
    html = page.page(model, plain, {"a & b": rules})
    assert not re.search(r"(src|href)=|https?:|\[\[\w+\]\]", html)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])
    assert len(data["stories"]) == html.count("<option ") == len(rules)
    for story in data["stories"]:
        assert len(story["tokens"]) == len(story["candidates"]) and 0 <= story["start"] < len(story["tokens"])
        assert all(len(row) == len(story["tokens"]) + 1 for row in story["states"])
