"""Two pages about synthetic data: a public one, of released numbers only, and one for the
custodian that compares with the truth and says on every screen that it must not be released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from discreet.drawing.page import document, figure, html_table, items
from discreet.release.synth.compare import association, distances, train
from discreet.release.synth.model.junction import Clique
from discreet.release.synth.result import Synthesis

__all__ = ["custodian_page", "public_page"]

_WARNING = "Not for release: this page shows exact facts about the data. For the custodian only."
_ORDERS = ("one", "two", "three")
_MOST_BARS = 60


@dataclass(frozen=True, slots=True)
class _Rows:
    """Synthetic rows and what they are compared on."""

    codes: NDArray[np.int64]
    sizes: tuple[int, ...]
    names: tuple[str, ...]


def public_page(synthesis: Synthesis, rows: int) -> str:
    """The page that may go out with the rows: guarantee, expected error, pictures of the model."""
    drawn = _draw(synthesis, rows)
    marks = [
        [f"{_ORDERS[mark.order - 1]}-way", f"{mark.distance:.4f}", f"{mark.error:.4f}"]
        for mark in synthesis.model.marks
    ]
    facts = [
        ["table", synthesis.table],
        ["rows in this file", f"{rows:,}"],
        ["rows in the data, told with noise", f"{synthesis.model.total:,.0f}"],
        ["what it cost", synthesis.cost],
        ["who is protected", f"one {synthesis.unit}, under {synthesis.neighbours}"],
        ["method", synthesis.method],
        ["receipt", synthesis.receipt],
    ]
    error = (
        "The mean total variation between tables of these rows and of the data: 0 is the same, 1 "
        "has nothing in common. The numbers were released with noise and paid for."
    )
    notes = items(map(str, synthesis.notes))
    body = [
        _section("What this is", html_table(("", ""), facts)),
        _section("What is left out and bounded", notes or "<p>Nothing.</p>"),
        _section(
            "Expected error",
            f"<p>{error}</p>" + html_table(("tables", "distance", "within, at 95%"), marks)
            if marks
            else "<p>The error was not measured.</p>",
        ),
        _section("Columns", "".join(_histogram(drawn, at) for at in range(len(drawn.names)))),
        _section(
            "Association of columns (Cramer's V)",
            _heat(association(drawn.codes, drawn.sizes), drawn.names, "synthetic"),
        ),
    ]
    return _page(f"Synthetic data of {synthesis.table}", "", body)


def custodian_page(
    synthesis: Synthesis, rows: int, exact: NDArray[np.int64], target: str | None = None
) -> str:
    """The page that compares with the truth; `exact` are the coded rows of the table.

    Privacy: NONE. Not for release.
    """
    drawn = _draw(synthesis, rows)
    summary, worst = [], []
    for order in range(1, min(3, len(drawn.sizes)) + 1):
        by_clique = distances(drawn.codes, exact, drawn.sizes, order)
        values = list(by_clique.values())
        summary.append(
            [
                f"{_ORDERS[order - 1]}-way",
                str(len(values)),
                f"{np.mean(values):.4f}",
                f"{np.max(values):.4f}",
            ]
        )
        worst += _list_worst(by_clique, drawn.names)
    real, synthetic = association(exact, drawn.sizes), association(drawn.codes, drawn.sizes)
    pictures = (
        _heat(real, drawn.names, "data")
        + _heat(synthetic, drawn.names, "synthetic")
        + _heat(np.abs(real - synthetic), drawn.names, "difference")
    )
    body = [
        _section(
            "Distance from the truth", html_table(("tables", "number", "mean", "largest"), summary)
        ),
        _section("The worst tables", html_table(("columns", "distance"), worst)),
        _section("Association of columns (Cramer's V)", pictures),
        _section("A classifier", _compare_classifiers(drawn, exact, synthesis, target)),
    ]
    return _page(f"Synthetic data of {synthesis.table} against the truth", _WARNING, body)


def _compare_classifiers(
    drawn: _Rows, exact: NDArray[np.int64], synthesis: Synthesis, target: str | None
) -> str:
    if len(drawn.sizes) < 2:
        return "<p>One column predicts nothing.</p>"
    named = target or drawn.names[min(range(len(drawn.sizes)), key=lambda at: drawn.sizes[at])]
    at = synthesis.columns.index(named)
    training, testing = exact[::2], exact[1::2]
    by_truth = train(training, drawn.sizes, at)
    by_model = train(drawn.codes, drawn.sizes, at, by_truth.value)
    base = max(0.0, float((testing[:, at] == by_truth.value).mean()))
    rows = [
        ["trained on half of the data", f"{by_truth.accuracy(testing):.4f}"],
        ["trained on synthetic rows", f"{by_model.accuracy(testing):.4f}"],
        ["always the same answer", f"{max(base, 1 - base):.4f}"],
    ]
    words = (
        f"Logistic regression for the commonest value of {escape(named)}, tested on the other half "
        "of the data."
    )
    return f"<p>{words}</p>{html_table(('', 'accuracy'), rows)}"


def _draw(synthesis: Synthesis, rows: int) -> _Rows:
    sizes = tuple(field.attribute.size for field in synthesis.fields)
    return _Rows(synthesis.model.codes(min(rows, 200_000)), sizes, synthesis.columns)


def _list_worst(by_clique: Mapping[Clique, float], names: Sequence[str]) -> list[list[str]]:
    ranked = sorted(by_clique.items(), key=lambda item: -item[1])[:5]
    return [[", ".join(names[at] for at in clique), f"{value:.4f}"] for clique, value in ranked]


def _histogram(drawn: _Rows, at: int) -> str:
    counts = np.bincount(drawn.codes[:, at], minlength=drawn.sizes[at]).astype(np.float64)
    width = -(-len(counts) // _MOST_BARS)
    starts = np.arange(0, len(counts), width)
    bars = np.add.reduceat(counts, starts) / counts.sum()
    step = 240 / len(bars)
    shapes = "".join(
        f'<rect x="{place * step:.1f}" y="{80 - 78 * bar / bars.max():.1f}" '
        f'width="{max(0.5, step - 0.5):.1f}" height="{78 * bar / bars.max():.1f}" fill="#3b6ea5"/>'
        for place, bar in enumerate(bars)
    )
    return _figure(shapes, 240, 80, drawn.names[at])


def _heat(values: NDArray[np.float64], names: Sequence[str], title: str) -> str:
    cell, left = 16, 110
    shapes = []
    for row, name in enumerate(names):
        middle = row * cell + 12
        shapes.append(
            f'<text x="{left - 4}" y="{middle}" font-size="10" text-anchor="end">'
            f"{escape(name[:18])}</text>"
        )
        for column in range(len(names)):
            shade = round(255 * (1 - float(values[row, column])))
            shapes.append(
                f'<rect x="{left + column * cell}" y="{row * cell}" width="{cell - 1}" '
                f'height="{cell - 1}" fill="rgb({shade},{shade},255)">'
                f"<title>{escape(name)}, {escape(names[column])}: "
                f"{float(values[row, column]):.2f}</title></rect>"
            )
    return _figure("".join(shapes), left + cell * len(names), cell * len(names), title)


def _figure(shapes: str, width: int, height: int, title: str) -> str:
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{shapes}</svg>'
    )
    return figure(drawing, title)


def _section(title: str, inner: str) -> str:
    return f"<h2>{escape(title)}</h2>{inner}"


def _page(title: str, warning: str, body: Sequence[str]) -> str:
    banner = [f'<p class="warning">{escape(warning)}</p>'] if warning else []
    return document(title, [*banner, f"<h1>{escape(title)}</h1>", *body])
