"""A story as HTML and SVG: small strings that are made once, so that moving through the steps draws nothing."""

from __future__ import annotations

import re
from html import escape

from nretm import Not, Rule
from nretm.rules import Text, predicate_of
from nretm.tracking import COLORS
from reproduction.playground.story import Story

PALETTE = ("#ffd8a8", "#b2f2bb", "#a5d8ff", "#eebefa", "#ffec99", "#99e9f2", "#ffc9c9", "#d0bfff", "#d8f5a2", "#e9ecef")
CELL, ROW, HEAD = 11, 20, 62  # pixels of the matrix: a cell's width, a row's height, the margin for the tokens
LONGEST_LABEL, LETTER = 28, 5.8  # of a row: how many letters, and their mean width
WIDEST = 1.5  # how far a short matrix is enlarged
TRACK, TRACK_HEIGHT = 1000, 40  # units of the plot of differences

STYLE = f"""<style>
.nretm {{ font: 14px/1.5 system-ui, sans-serif; color: #111; }}
.nretm-card {{ background: #fff; border: 1px solid #ccd; border-radius: 6px; padding: 6px 10px; }}
.nretm h4 {{ margin: 0 0 2px; font-size: 12px; font-weight: 600; color: #445; }}
.nretm mark {{ padding: 1px 2px; border-radius: 3px; color: #000; }}
.nretm-chip {{ font-size: 11px; border-radius: 8px; padding: 0 6px; color: #000; white-space: nowrap; }}
.nretm-broken {{ background: #fff; border: 1.5px solid {COLORS["✗"]}; color: {COLORS["✗"]}; font-weight: 600; }}
.nretm-idle {{ background: #fff; border: 1px dashed #778; color: #556; }}
.nretm-error {{ font: 13px/1.35 ui-monospace, monospace; color: #7a1048; white-space: pre-wrap; word-break: normal;
  margin: 0; }}
.nretm-rest {{ color: #777; }} .nretm-next {{ background: #222; color: #fff; border-radius: 3px; padding: 1px 3px; }}
.nretm-bars {{ display: grid; grid-template-columns: max-content 1fr; gap: 3px 8px; align-items: center; }}
.nretm-bars b {{ text-align: right; font-weight: 400; }} .nretm-bars b.w {{ font-weight: 700; }}
.nretm-bars i {{ display: block; height: 10px; font: 10px/10px system-ui; white-space: nowrap; }}
.nretm-bars i::before {{ content: ""; display: inline-block; height: 9px; margin-right: 4px;
  width: calc(var(--p) * (100% - 36px)); background: #0072b2; vertical-align: top; }}
.nretm-bars i + i::before {{ background: #b0b0b0; }}
</style>"""


def color(rule: Rule, literal: Rule) -> str:
    return PALETTE[rule.literals.index(literal) % len(PALETTE)]


# ---- the text ----------------------------------------------------------------------------------------------------

def story_html(story: Story) -> str:
    """The story: words that satisfy a predicate in its color, the others' outcome after the sentence they speak of."""
    read, verdict = Text(story.text), story.verdict
    marks: dict[tuple[int, int], str] = {}  # (sentence, word) -> color
    chips: dict[int, list[str]] = {}
    for literal in story.rule.literals:
        spans = [] if isinstance(literal, Not) or not verdict.by_predicate[literal] else [
            span for argument in literal.arguments if isinstance(argument, str)
            for span in read.mentions(argument, literal.k if isinstance(literal.k, int) else None)]
        for span in spans:
            marks |= {(span.sentence, word): color(story.rule, literal) for word in range(span.begin, span.end)}
        if not spans:
            chips.setdefault(_sentence(literal, len(read.sentences)), []).append(chip(story, literal))
    sentences = read.policy.sentences_of(story.text)
    parts = [_marked(sentence, read.policy.words_of(sentence), number, marks) + _joined(chips.get(number, []))
             for number, sentence in enumerate(sentences, 1)]
    return " ".join(parts) + _joined(chips.get(0, []))


def _sentence(literal: Rule, last: int) -> int:
    k = predicate_of(literal).k
    return k if isinstance(k, int) and k <= last else 0


def chip(story: Story, literal: Rule) -> str:
    """A literal with its outcome; one that failed although the rule holds, as in a disjunction, is only dashed."""
    found = story.verdict.found[literal]
    said = f"{literal}" + (f": {found}" if found and not story.verdict.by_predicate[literal] else "")
    if story.verdict.by_predicate[literal]:
        return f'<span class="nretm-chip" style="background:{color(story.rule, literal)}">✓ {escape(said)}</span>'
    kind = "broken" if literal in story.verdict.broken else "idle"
    return f'<span class="nretm-chip nretm-{kind}">{"✗" if kind == "broken" else "–"} {escape(said)}</span>'


def _joined(chips: list[str]) -> str:
    return "".join(f" {found}" for found in chips)


def _marked(sentence: str, words: list[str], number: int, marks: dict[tuple[int, int], str]) -> str:
    """A sentence with its marked words; a word that the policy has changed, such as a quote, is left as it is."""
    out, at, open_color = [], 0, None
    for index, word in enumerate(words):
        begin = sentence.find(word, at)
        if begin < 0:
            continue
        wanted = marks.get((number, index))
        gap = escape(sentence[at:begin])
        if wanted != open_color:
            out.append(("</mark>" if open_color else "") + gap + (f'<mark style="background:{wanted}">' if wanted
                                                                  else ""))
        else:
            out.append(gap)
        out.append(escape(word))
        at, open_color = begin + len(word), wanted
    return "".join(out) + ("</mark>" if open_color else "") + escape(sentence[at:])


def verdict_html(story: Story) -> str:
    if story.verdict:
        return f'<span class="nretm-chip" style="background:{COLORS["2"]};color:#fff">✓ obeys the rule</span>'
    return f'<span class="nretm-chip nretm-broken" title="{escape(story.verdict.why())}">✗ breaks the rule</span>'


def prefix_html(story: Story, step: int) -> str:
    """The text up to a step, the token that comes next, and the rest in gray; under it the state of every literal."""
    so_far, rest = "".join(story.tokens[:step]), "".join(story.tokens[step + 1:])
    token = story.tokens[step].strip() or "end"
    states = "".join(f"<div>{_state(story, literal, step)} {escape(str(literal))}</div>"
                     for literal in story.rule.literals)
    return (f'<div class="nretm-prefix">{escape(so_far)} <span class="nretm-next">{escape(token)}</span>'
            f'<span class="nretm-rest">{escape(rest)}</span></div>'
            f'<div style="font-size:12px;margin-top:6px">{states}</div>')


def _state(story: Story, literal: Rule, step: int) -> str:
    entry = story.matrix.panels[literal][1][step]
    dark = entry.shade in ("2", "✗")
    return (f'<span style="display:inline-block;min-width:26px;text-align:center;border-radius:3px;border:1px solid '
            f'#889;background:{COLORS[entry.shade]};color:{"#fff" if dark else "#000"}">{escape(entry.text)}</span>')


# ---- the pictures ------------------------------------------------------------------------------------------------

def bars_html(story: Story, step: int) -> str:
    """The likeliest next tokens: blue with the tracker, gray without; the one that was written is bold."""
    rows = "".join(f'<b{" class=w" if word.written else ""}>{escape(word.token)}</b><span>{_bar(word.tracked)}'
                   f'{_bar(word.plain)}</span>' for word in story.candidates[step])
    return f'<div class="nretm-bars">{rows}</div>'


def _bar(probability: float) -> str:
    return f'<i style="--p:{probability:.3f}">{probability:.2f}</i>'


def matrix_svg(story: Story, step: int | None = None) -> str:
    """The state matrix by predicate: a row for each literal, a column for each step, the current one in a frame.

    Steps begin at x = 0, labels stand to the left of it.
    """
    labels = [text if len(text) <= LONGEST_LABEL else text[:LONGEST_LABEL - 1] + "…"
              for text in map(str, story.rule.literals)]
    left, right = LETTER * max(map(len, labels)) + 10, (len(story.tokens) + 1) * CELL + 2
    width, height = left + right, HEAD + len(labels) * ROW + 2
    out = []
    for row, (literal, label) in enumerate(zip(story.rule.literals, labels, strict=True)):
        top = HEAD + row * ROW
        out.append(f'<text x="-6" y="{top + 14}" text-anchor="end"><title>{escape(str(literal))}</title>'
                   f'{escape(label)}</text>')
        entries = story.matrix.panels[literal][1]
        for shade, begin, end in _runs([entry.shade for entry in entries]):
            out.append(f'<rect x="{begin * CELL}" y="{top + 1}" width="{(end - begin) * CELL - 1}" '
                       f'height="{ROW - 3}" fill="{COLORS[shade]}" stroke="#889" stroke-width=".5"/>')
    for number, token in enumerate(("", *story.tokens)):
        x = number * CELL + 8
        out.append(f'<text x="{x}" y="{HEAD - 4}" transform="rotate(-90 {x} {HEAD - 4})">{escape(token.strip())}'
                   f'</text>')
    cursor = (f'<rect class="cursor" x="{(step or 0) * CELL - 1}" y="1" width="{CELL + 1}" height="{height - 2}" '
              'fill="none" stroke="#000" stroke-width="1.6"/>')
    return (f'<svg viewBox="{-left:.0f} 0 {width:.0f} {height}" style="font:10.5px system-ui;width:100%;'
            f'max-width:{WIDEST * width:.0f}px;height:auto;display:block">{"".join(out)}{cursor}</svg>')


def _runs(shades: list[str]) -> list[tuple[str, int, int]]:
    """Stretches of the same shade: (shade, begin, end)."""
    found, begin = [], 0
    for at in range(1, len(shades) + 1):
        if at == len(shades) or shades[at] != shades[begin]:
            found.append((shades[begin], begin, at))
            begin = at
    return found


def legend_html() -> str:
    names = {"0": "not yet", "1": "in progress", "2": "satisfied", "✗": "broken"}
    return " ".join(f'<span class="nretm-chip" style="border:1px solid #889;background:{COLORS[shade]};'
                    f'color:{"#fff" if shade in ("2", "✗") else "#000"}">{name}</span>'
                    for shade, name in names.items())


def track_svg(story: Story) -> str:
    """How much the tracker changes each step, as the slider's track: as wide as whatever it stands in."""
    last = max(len(story.difference) - 1, 1)
    points = [(TRACK * step / last, TRACK_HEIGHT * (1 - value)) for step, value in enumerate(story.difference)]
    line = " ".join(f"{x:.0f},{y:.1f}" for x, y in points)
    return (f'<svg viewBox="0 0 {TRACK} {TRACK_HEIGHT}" preserveAspectRatio="none" style="width:100%;height:'
            f'{TRACK_HEIGHT}px;display:block;background:#f3f6fa">'
            f'<polygon points="0,{TRACK_HEIGHT} {line} {TRACK},{TRACK_HEIGHT}" fill="#0072b2" opacity=".35"/>'
            f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="1.5" '
            'vector-effect="non-scaling-stroke"/></svg>')


def at_step(svg: str, step: int) -> str:
    """The same matrix with the frame at another step."""
    return re.sub(r'(<rect class="cursor" x=")[^"]*', rf"\g<1>{step * CELL - 1}", svg, count=1)
