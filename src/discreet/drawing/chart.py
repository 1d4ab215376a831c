"""Charts as Vega-Lite values, rendered to SVG or PNG without a browser: post-processing."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from discreet.errors import DiscreetError, InvalidValue

__all__ = [
    "DARK",
    "LIGHT",
    "MOST_BARS",
    "RED",
    "SOFT",
    "bars",
    "chart",
    "printable",
    "quantity",
    "row_labels",
    "stack",
    "svg",
]

MOST_BARS = 1000
"""How many rows a chart shows."""

LIGHT, DARK, SOFT, RED = "#8fb4d4", "#16324f", "#555555", "#b3261e"
"""The colours of all charts: what is drawn, its intervals, what it is compared with, alarm."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_WRAPPED = 100  # characters of a line of notes
_SHORT = 7  # characters of a label that fit below a bar


def printable(text: str) -> str:
    """A text with every character that is not shown written as an escape.

    Private keys come from data: a control character in one must not reach a terminal, nor a chart.
    >>> print(printable("north" + chr(27) + "[2J"))
    north\\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def chart(**parts: Any) -> dict[str, Any]:
    """A Vega-Lite chart of these parts, 420 points wide unless they say otherwise.

    >>> chart(mark="bar")["width"]
    420
    """
    return {"$schema": _SCHEMA, "width": 420, **parts}


def stack(charts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Charts below each other.

    >>> stack([chart(mark="bar")])["vconcat"]
    [{'width': 420, 'mark': 'bar'}]
    """
    parts = [{name: part for name, part in one.items() if name != "$schema"} for one in charts]
    return {"$schema": _SCHEMA, "vconcat": parts}


def row_labels(field: str, rows: Sequence[Mapping[str, Any]], limit: int = 320) -> dict[str, Any]:
    """An axis of labels in the order of the rows, so many points wide at most.

    >>> row_labels("name", [{"name": "b"}, {"name": "a"}])["sort"]
    ['b', 'a']
    """
    order = [row[field] for row in rows]
    axis = {"labelLimit": limit}
    return {"field": field, "type": "nominal", "sort": order, "title": None, "axis": axis}


def quantity(field: str, **parts: Any) -> dict[str, Any]:
    """An axis of numbers.

    >>> quantity("error", title="people")
    {'field': 'error', 'type': 'quantitative', 'title': 'people'}
    """
    return {"field": field, "type": "quantitative", **parts}


def bars(
    rows: list[dict[str, Any]],
    *,
    group: str,
    value: str,
    beside: str = "with 95% intervals",
    notes: Iterable[str] = (),
) -> dict[str, Any]:
    """Bars with error bars; each row has group, value, low and high.

    `beside` says in the title what the error bars or the errors are, `notes` stand below it.
    >>> row = {"group": "a", "value": 1.0, "low": 0.0, "high": 2.0}
    >>> bars([row], group="g", value="n", notes=["At most 2 rows count."])["title"]["subtitle"]
    ['At most 2 rows count.']
    """
    below = [line for note in notes for line in wrap(printable(note), _WRAPPED)]
    order = [row["group"] for row in rows]
    short = all(len(str(label)) <= _SHORT for label in order)
    axis = {"labelAngle": 0 if short else -45}
    x = {"field": "group", "type": "nominal", "sort": order, "title": group or None, "axis": axis}
    finite = [row for row in rows if abs(row["low"]) != float("inf")]
    error = {
        "data": {"values": finite},
        "mark": {"type": "errorbar", "ticks": True, "color": DARK},
        "encoding": {"x": x, "y": quantity("low", title=value), "y2": {"field": "high"}},
    }
    return chart(
        title={
            "text": f"{value}, {beside}",
            "subtitle": below,
            "subtitleFontSize": 10,
            "subtitleColor": SOFT,
            "anchor": "start",
        },
        width=max(160, min(960, 48 * len(rows))),
        height=260,
        data={"values": rows},
        layer=[
            {"mark": {"type": "bar", "color": LIGHT}, "encoding": {"x": x, "y": quantity("value")}},
            error,
        ],
    )


def svg(drawn: dict[str, Any], path: str | None = None) -> str:
    """The chart as SVG text; with a path it is also written there, as .svg or .png.

    >>> svg({}, "chart.gif")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: chart.gif: a chart is written as .svg or .png.
    """
    if path is not None and Path(path).suffix not in (".svg", ".png"):
        raise InvalidValue(f"{path}: a chart is written as .svg or .png.")
    try:
        import vl_convert
    except ImportError:
        raise DiscreetError(
            "charts need the plots extra; run: pip install 'discreet[plots]'"
        ) from None
    text: str = vl_convert.vegalite_to_svg(drawn)
    if path is not None and Path(path).suffix == ".svg":
        Path(path).write_text(text, encoding="utf-8")
    elif path is not None:
        Path(path).write_bytes(vl_convert.vegalite_to_png(drawn, scale=2))
    return text
