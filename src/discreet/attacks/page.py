"""One self-contained HTML page without scripts: sections of words, tables and drawings. Escapes
every text it is given; the drawings are SVG that this package made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from discreet.attacks.chart import bar_chart, line_chart
from discreet.attacks.outcome import Study
from discreet.drawing.chart import svg

__all__ = ["Section", "page", "study_section"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top; }
td.number, th.number { text-align: right; }
pre { white-space: pre-wrap; background: #f5f5f5; padding: .6rem; }
.lesson { border-left: 4px solid #8fb4d4; padding-left: .8rem; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
  body { background: #16181b; color: #e8e8e8; } th, td { border-color: #444; }
  pre { background: #24272b; } svg { background: #fff; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, paragraphs, a table and drawings."""

    title: str
    words: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawings: Sequence[str] = ()
    """SVG texts, put in as they are."""
    lesson: str = ""
    text: str = field(default="")
    """Shown as it is typed."""


def page(title: str, words: Sequence[str], sections: Sequence[Section]) -> str:
    """The page as HTML text.

    >>> "&lt;b&gt;" in page("<b>", [], [])
    True
    """
    body = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(each)}</p>" for each in words)]
    body += [_section(section) for section in sections]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    parts += [f"<p>{escape(each)}</p>" for each in section.words]
    parts += [f"<figure>{drawing}</figure>" for drawing in section.drawings]
    if section.rows:
        head = "".join(f"<th>{escape(each)}</th>" for each in section.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n"
            for row in section.rows
        )
        parts.append(f"<table>\n<tr>{head}</tr>\n{rows}</table>")
    if section.text:
        parts.append(f"<pre>{escape(section.text)}</pre>")
    if section.lesson:
        parts.append(f'<p class="lesson">{escape(section.lesson)}</p>')
    return "\n".join(parts)


def study_section(study: Study) -> Section:
    """A study as a section: its words, charts, table and lesson. Needs the plots extra."""
    charts: list[dict[str, Any]] = [bar_chart(study)]
    if study.curve:
        charts.append(line_chart(study))
    words = [study.words, f"Bars: {study.measure}. Grey: guessing. Red: what privacy admits."]
    if study.curve_words:
        words.append(study.curve_words)
    return Section(
        title=study.title,
        words=words,
        columns=("attack", "interface", study.measure, "guessing", "privacy admits", "with"),
        rows=[
            (
                one.attack,
                one.interface,
                f"{one.accuracy:.1%} ({one.right} of {one.attempts})",
                f"{one.baseline:.0%}",
                one.admitted,
                ", ".join(f"{name} {value}" for name, value in one.parameters),
            )
            for one in study.outcomes
        ],
        drawings=[svg(chart) for chart in charts],
        lesson=study.lesson,
    )
