"""What the notebooks of the paper's tables have in common: one line per cell.

    page = TablePage("table1", results)    # built from the run files under results/<profile>, saved as CSV and Markdown
    page.table()                           # the plain model against NRETM, ours and the paper's
    page.picture()
    page.claims()
    page.made_with()
"""

from pathlib import Path

from matplotlib.figure import Figure

from reproduction.report import claims, markup, pictures, tables


class TablePage:
    """A table of the paper from the run files of a profile."""

    def __init__(self, name: str, results: str | Path):
        self.name, self.results = name, Path(results)
        self.frame = tables.build(name, self.results)
        tables.save(self.frame, name, self.results)

    def table(self) -> markup.Page:
        return markup.Page(markup.table(tables.shown(self.frame)) + markup.paragraphs(tables.legend(self.frame)))

    def picture(self) -> Figure:
        drawn = tables.plot(self.frame)
        pictures.save(drawn, self.results / "figures" / self.name)
        return drawn

    def claims(self) -> markup.Page:
        return markup.table(claims.frame(self.results, self.name).drop(columns="table"))

    def made_with(self) -> markup.Page:
        said, rest = markup.said_once(tables.provenance(self.name, self.results))
        return markup.Page(markup.paragraphs([said]) + markup.table(rest)) if len(rest) else markup.Page("Not run yet.")
