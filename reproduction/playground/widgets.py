"""The playground in JupyterLab. What a step shows is a string that was made beforehand: the slider only swaps them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import ipywidgets

from reproduction.playground import drawing
from reproduction.playground.story import Story, read, tell

FULL = {"width": "auto", "margin": "2px"}
COLUMNS = "minmax(150px, 1fr) minmax(0, 2.2fr) minmax(180px, 1fr)"  # text, matrix, bars


class Playground:
    """A text field for the rule, examples, switches, and what a model makes of it.

    model, tokenizer  an equipped model
    plain             a model without a tracker and its tokenizer, to write beside it
    examples          rules to start from; the first is written at once
    words             what the model knows; other words in a rule are named instead of written. Empty: any word.
    """

    def __init__(self, model, tokenizer, examples: Sequence[str], plain: tuple | None = None,
                 words: Collection[str] = ()):
        self.model, self.tokenizer, self.plain, self.words = model, tokenizer, plain, words
        self.story: Story | None = None
        self.frames: list[tuple[str, str, str]] = []
        self._written: tuple = ()
        self.rule = ipywidgets.Text(value=examples[0], description="rule", continuous_update=False, layout=FULL,
                                    style={"description_width": "50px"})
        self.examples = ipywidgets.Dropdown(options=list(examples), description="examples", layout={"width": "55%"},
                                            style={"description_width": "70px"})
        self.enforce = ipywidgets.Checkbox(description="enforce", indent=False, layout={"width": "80px"})
        self.beams = ipywidgets.Dropdown(options=[1, 3, 5], description="beams", layout={"width": "110px"},
                                         style={"description_width": "45px"})
        self.button = ipywidgets.Button(description="Write", button_style="primary", layout={"width": "90px"})
        self.error, self.stories, self.track = (ipywidgets.HTML(layout=FULL) for _ in range(3))
        self.slider = ipywidgets.IntSlider(min=0, max=1, readout=False, layout={"width": "auto", "margin": "0 2px"})
        self.text, self.matrix, self.bars = (ipywidgets.HTML() for _ in range(3))
        self.examples.observe(lambda change: setattr(self.rule, "value", change["new"]), "value")
        for control in (self.rule, self.enforce, self.beams):
            control.observe(lambda _: self.write(), "value")
        self.button.on_click(lambda _: self.write())
        self.slider.observe(lambda change: self.show(change["new"]), "value")
        self.write()

    @property
    def box(self) -> ipywidgets.Widget:
        panes = ipywidgets.GridBox([self.text, self.matrix, self.bars], layout={
            "grid_template_columns": COLUMNS, "grid_gap": "8px",
            "width": "auto", "margin": "2px"})
        controls = ipywidgets.HBox([self.examples, self.beams, self.enforce, self.button],
                                   layout={"justify_content": "space-between", "width": "auto"})
        box = ipywidgets.VBox([ipywidgets.HTML(drawing.STYLE), self.rule, self.error, controls, self.stories,
                               self.track, self.slider, panes], layout={"width": "100%", "max_width": "1240px"})
        return box.add_class("nretm-playground")

    def write(self) -> None:
        """Write for the rule in the field, or say under it what is wrong with it."""
        wanted = self.rule.value, self.beams.value, self.enforce.value
        if wanted == self._written:
            return
        try:
            rule = read(self.rule.value, self.words)
            story = tell(self.model, self.tokenizer, rule, self.beams.value, self.enforce.value)
        except ValueError as problem:  # a RuleSyntaxError is one, with its caret
            self.error.value = _card(f'<pre class="nretm-error">{escape(str(problem))}</pre>')
            self._written = ()
            return
        other = tell(*self.plain, rule, self.beams.value) if self.plain else None
        matrix = drawing.matrix_svg(story)
        frames = [(drawing.prefix_html(story, step), drawing.at_step(matrix, step), drawing.bars_html(story, step))
                  for step in range(len(story.tokens))]
        self._written, self.story, self.frames = wanted, story, frames
        self.error.value = ""
        titles = ("NRETM, enforced" if self.enforce.value else "NRETM", "T5, the same rule")
        shown = [(title, it) for title, it in zip(titles, (story, other), strict=True) if it]
        self.stories.value = _columns([_card(f"<h4>{title} {drawing.verdict_html(it)}</h4>{drawing.story_html(it)}")
                                       for title, it in shown])
        self.track.value = (f'<div class="nretm"><h4>how much the tracker changes the next word, step by step</h4>'
                            f'<div style="padding:0 8px">{drawing.track_svg(story)}</div></div>')
        self.slider.max = len(frames) - 1
        self.slider.value = story.telling_step
        self.show(story.telling_step)

    def show(self, step: int) -> None:
        """Swap in what was drawn for a step."""
        step = min(step, len(self.frames) - 1)
        text, matrix, bars = self.frames[step]
        self.text.value = _card(f"<h4>step {step} of {len(self.frames) - 1}</h4>{text}")
        self.matrix.value = _card(f'<h4>{drawing.legend_html()}</h4>{matrix}')
        self.bars.value = _card('<h4>next word <span style="color:#0072b2">■ with</span> '
                                f'<span style="color:#999">■ without</span> the tracker</h4>{bars}')

    def snapshot(self) -> str:
        """What is shown now as plain HTML, for readers without a kernel."""
        panes = "".join(f"<div>{pane.value}</div>" for pane in (self.text, self.matrix, self.bars))
        return (f'{drawing.STYLE}<div class="nretm"><code>{escape(self.rule.value)}</code></div>{self.stories.value}'
                f'{self.track.value}<div style="display:grid;gap:8px;grid-template-columns:{COLUMNS}">{panes}</div>')

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.box)


def _card(content: str) -> str:
    return f'<div class="nretm"><div class="nretm-card">{content}</div></div>'


def _columns(cards: list[str]) -> str:
    inner = "".join(f'<div style="flex:1;min-width:0">{card}</div>' for card in cards)
    return f'<div style="display:flex;gap:8px">{inner}</div>'
