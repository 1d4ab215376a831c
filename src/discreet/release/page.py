"""The human page of a release: one HTML file without scripts, with charts, error bars, the
guarantee in words and how to cite it. Escapes every text; the drawings are its own SVG.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from itertools import islice
from typing import Any

from discreet.accounting.meaning import explain
from discreet.drawing.chart import svg
from discreet.drawing.page import document, figure, html_table, items
from discreet.errors import DiscreetError
from discreet.loss import Relation
from discreet.release.sheets import Sheet

__all__ = ["citation", "page_of"]

_SHOWN_ROWS = 30
_SHOWN_TABLES = 40


def citation(manifest: Mapping[str, Any]) -> str:
    """How a release is cited.

    >>> citation({"title": "Visits", "receipt": {"id": "7", "time": "2026-01-01T"},
    ...     "software": "discreet 0", "guarantee": {"epsilon": "1", "delta": "1e-06"}})
    'Visits. Released 2026-01-01 with differential privacy (epsilon 1, delta 1e-06), receipt 7. \
Made with discreet 0.'
    """
    guarantee = manifest["guarantee"]
    who = f"{manifest['publisher']}: " if manifest.get("publisher") else ""
    return (
        f"{who}{manifest['title']}. Released {manifest['receipt']['time'][:10]} with differential "
        f"privacy (epsilon {guarantee['epsilon']}, delta {guarantee['delta']}), receipt "
        f"{manifest['receipt']['id']}. Made with {manifest['software']}."
    )


def page_of(manifest: Mapping[str, Any], sheets: Sequence[Sheet]) -> str:
    """The page as HTML text."""
    title = str(manifest["title"])
    body = [f"<h1>{escape(title)}</h1>"]
    if manifest["description"]:
        body.append(f"<p>{escape(str(manifest['description']))}</p>")
    body += _guarantee(manifest)
    body += [_sheet(sheet) for sheet in sheets[:_SHOWN_TABLES]]
    if len(sheets) > _SHOWN_TABLES:
        body.append(
            f"<p>{len(sheets) - _SHOWN_TABLES:,} more tables are in the folder; manifest.json "
            "lists them.</p>"
        )
    body += ["<h2>How to cite</h2>", f"<p>{escape(citation(manifest))}</p>"]
    return document(title, body)


def _guarantee(manifest: Mapping[str, Any]) -> list[str]:
    table, guarantee = manifest["table"], manifest["guarantee"]
    charged = ", ".join(
        f"{name.removeprefix('charged_')} {value}"
        for name, value in guarantee.items()
        if name.startswith("charged_")
    )
    unit = "one row" if table["unit"] == "row" else f"one {table['unit']}"
    rows = (
        ""
        if table["unit"] == "row"
        else f" (at most {table['rows_per_unit']} of its rows are used)"
    )
    meaning = explain(
        epsilon=Fraction(guarantee["epsilon"]),
        delta=Fraction(guarantee["delta"]),
        relation=Relation(table["neighbours"]),
    )
    lines = [
        "<h2>What is protected</h2>",
        f"<p>Everything {escape(unit)} contributed{rows}, below called a person's data "
        f"(epsilon and delta by {escape(guarantee['composition'])}). Charged: {escape(charged)}, "
        f"receipt {escape(manifest['receipt']['id'])}.</p>",
        items(sentence.strip() for sentence in meaning.sentences()),
        '<p class="note">All numbers are noisy on purpose. Bars show intervals of the noise that '
        "hold with at least 95%, where a table does not say otherwise; they do not cover how "
        "people came to be in the data. Adding up cells adds up noise: use the coarsest table "
        "that answers your question.</p>",
    ]
    if notes := items(manifest.get("notes", ())):
        lines.append(f"<h2>What is left out and bounded</h2>\n{notes}")
    if table["where"]:
        lines.append(f"<p>Only rows where <code>{escape(table['where'])}</code>.</p>")
    return lines


def _sheet(sheet: Sheet) -> str:
    parts = [f"<h2>{escape(sheet.name)}</h2>", f"<p>{escape(sheet.words)}</p>"]
    try:
        parts.append(figure(svg(sheet.chart())))
    except DiscreetError:
        parts.append("<p>(Charts need the plots extra of discreet.)</p>")
    rows = list(islice(zip(*sheet.columns.values(), strict=True), _SHOWN_ROWS))
    parts.append(html_table(list(sheet.columns), rows))
    shown = f"The first {_SHOWN_ROWS} of {sheet.rows:,} rows. " if sheet.rows > _SHOWN_ROWS else ""
    link = f"tables/{sheet.name}.csv"
    parts.append(f'<p>{shown}<a href="{escape(link)}">{escape(link)}</a></p>')
    return "\n".join(parts)
