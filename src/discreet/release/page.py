"""The human page of a release: one HTML file without scripts, with charts, error bars, the
guarantee in words and how to cite it. Escapes every text; the drawings are its own SVG.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import Any

from discreet.accounting.meaning import explain
from discreet.drawing.chart import printable, svg
from discreet.errors import DiscreetError
from discreet.loss import Relation
from discreet.release.sheets import Sheet

__all__ = ["citation", "page_of"]

_SHOWN_ROWS = 30
_SHOWN_TABLES = 40
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
.note { border-left: 4px solid #8fb4d4; padding-left: .8rem; }
@media (prefers-color-scheme: dark) {
  body { background: #16181b; color: #e8e8e8; } th, td { border-color: #444; }
  figure svg { background: #fff; } a { color: #9cc3e6; } }
"""


def citation(manifest: Mapping[str, Any]) -> str:
    """How a release is cited.

    >>> citation({"title": "Visits", "receipt": {"id": "7", "time": "2026-01-01T"},
    ...     "software": "discreet 0", "guarantee": {"epsilon": "1", "delta": "1e-06"}})
    'Visits. Released 2026-01-01 with differential privacy (epsilon 1, delta 1e-06), receipt 7. \
Made with discreet 0.'
    """
    said = manifest["guarantee"]
    who = f"{manifest['publisher']}: " if manifest.get("publisher") else ""
    return (
        f"{who}{manifest['title']}. Released {manifest['receipt']['time'][:10]} with differential "
        f"privacy (epsilon {said['epsilon']}, delta {said['delta']}), receipt "
        f"{manifest['receipt']['id']}. Made with {manifest['software']}."
    )


def page_of(manifest: Mapping[str, Any], sheets: Sequence[Sheet]) -> str:
    """The page as HTML text."""
    title = str(manifest["title"])
    body = [f"<h1>{escape(title)}</h1>"]
    if manifest["description"]:
        body.append(f"<p>{escape(str(manifest['description']))}</p>")
    body += _guarantee(manifest)
    body += [_table(sheet) for sheet in sheets[:_SHOWN_TABLES]]
    if len(sheets) > _SHOWN_TABLES:
        body.append(
            f"<p>{len(sheets) - _SHOWN_TABLES:,} more tables are in the folder; manifest.json "
            "lists them.</p>"
        )
    body += ["<h2>How to cite</h2>", f"<p>{escape(citation(manifest))}</p>"]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _guarantee(manifest: Mapping[str, Any]) -> list[str]:
    table, said = manifest["table"], manifest["guarantee"]
    charged = ", ".join(
        f"{name.removeprefix('charged_')} {value}"
        for name, value in said.items()
        if name.startswith("charged_")
    )
    unit = "one row" if table["unit"] == "row" else f"one {table['unit']}"
    rows = (
        ""
        if table["unit"] == "row"
        else f" (at most {table['rows_per_unit']} of its rows are used)"
    )
    meaning = explain(
        epsilon=Fraction(said["epsilon"]),
        delta=Fraction(said["delta"]),
        relation=Relation(table["neighbours"]),
    )
    claims = "\n".join(f"<li>{escape(each.strip())}</li>" for each in meaning.sentences())
    lines = [
        "<h2>What is protected</h2>",
        f"<p>Everything {escape(unit)} contributed{rows}, below called a person's data "
        f"(epsilon and delta by {escape(said['composition'])}). Charged: {escape(charged)}, "
        f"receipt {escape(manifest['receipt']['id'])}.</p>",
        f"<ul>\n{claims}\n</ul>",
        '<p class="note">All numbers are noisy on purpose. Bars show intervals of the noise that '
        "hold with at least 95%, where a table does not say otherwise; they do not cover how "
        "people came to be in the data. Adding up cells adds up noise: use the coarsest table "
        "that answers your question.</p>",
    ]
    notes = "\n".join(f"<li>{escape(each)}</li>" for each in manifest.get("notes", ()))
    if notes:
        lines.append(f"<h2>What is left out and bounded</h2>\n<ul>\n{notes}\n</ul>")
    if table["where"]:
        lines.append(f"<p>Only rows where <code>{escape(table['where'])}</code>.</p>")
    return lines


def _table(sheet: Sheet) -> str:
    parts = [f"<h2>{escape(sheet.name)}</h2>", f"<p>{escape(sheet.words)}</p>"]
    try:
        parts.append(f"<figure>{svg(sheet.chart())}</figure>")
    except DiscreetError:
        parts.append("<p>(Charts need the plots extra of discreet.)</p>")
    head = "".join(_heading(name, values[0]) for name, values in sheet.columns.items())
    rows = []
    for row in range(min(sheet.rows, _SHOWN_ROWS)):
        rows.append("".join(_cell(values[row]) for values in sheet.columns.values()))
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    parts.append(f"<table>\n<tr>{head}</tr>\n{body}\n</table>")
    shown = f"The first {_SHOWN_ROWS} of {sheet.rows:,} rows. " if sheet.rows > _SHOWN_ROWS else ""
    link = f"tables/{sheet.name}.csv"
    parts.append(f'<p>{shown}<a href="{escape(link)}">{escape(link)}</a></p>')
    return "\n".join(parts)


def _heading(name: str, value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    mark = ' class="number"' if number else ""
    return f"<th{mark}>{escape(name)}</th>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:,.6g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td class="number">{value}</td>'
    return f"<td>{escape(printable(str(value)))}</td>"
