"""Charts of studies as Vega-Lite values: bars for interfaces, lines for curves, with the guessing
baseline and the bound that privacy implies. Draws what it is given.
"""

from typing import Any

from discreet.attacks.outcome import Outcome, Study

__all__ = ["bar_chart", "line_chart"]

_BAR, _BOUND, _BASE = "#8fb4d4", "#b3261e", "#555555"
_PERCENT = {"format": ".0%", "labelFlush": False}
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


def _y(title: str) -> dict[str, Any]:
    return {
        "field": "accuracy",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": _PERCENT,
        "title": title,
    }


def bar_chart(study: Study) -> dict[str, Any]:
    """One bar for each interface; the baseline as a grey tick, the bound as a red one.

    >>> bar_chart(Study(name="n", title="t", words="w", measure="m", outcomes=()))["title"]
    't'
    """
    rows = [_row(one, f"{place + 1}") for place, one in enumerate(study.outcomes)]
    labels = [row["label"] for row in rows]
    axis = {"labelLimit": 320}
    y = {"field": "label", "type": "nominal", "sort": labels, "title": None, "axis": axis}
    x = _y(study.measure)
    marks: list[dict[str, Any]] = [
        {"mark": {"type": "bar", "color": _BAR}, "encoding": {"x": x, "y": y}},
        {
            "mark": {"type": "tick", "color": _BASE, "thickness": 2},
            "encoding": {"x": {"field": "baseline", "type": "quantitative"}, "y": y},
        },
        {
            "transform": [{"filter": "isValid(datum.bound)"}],
            "mark": {"type": "tick", "color": _BOUND, "thickness": 3},
            "encoding": {"x": {"field": "bound", "type": "quantitative"}, "y": y},
        },
    ]
    return {
        "$schema": _SCHEMA,
        "title": study.title,
        "width": 420,
        "height": {"step": 24},
        "data": {"values": rows},
        "layer": marks,
    }


def line_chart(study: Study) -> dict[str, Any]:
    """One line for each interface over the study's number; bounds are dashed.

    >>> line_chart(Study(name="n", title="t", words="w", measure="m", outcomes=()))["width"]
    420
    """
    rows = [_row(one, "") for one in study.curve]
    spread = [row["at"] for row in rows if row["at"]]
    wide = bool(spread) and max(spread) / min(spread) > 20
    order = list(dict.fromkeys(row["interface"] for row in rows))
    legend = {"labelLimit": 320, "title": None}
    scale = {"type": "log"} if wide else {"zero": False}
    axis = {"values": sorted(set(spread)), "format": "~g"} if wide else {}
    x: dict[str, Any] = {"field": "at", "type": "quantitative", "title": study.curve_title}
    x |= {"scale": scale, "axis": axis}
    colour = {"field": "interface", "type": "nominal", "sort": order, "legend": legend}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "point": True},
            "encoding": {"x": x, "y": _y(study.measure), "color": colour},
        },
        {
            "mark": {"type": "rule", "color": _BASE, "strokeDash": [2, 3]},
            "encoding": {
                "y": {"field": "baseline", "type": "quantitative", "aggregate": "max"},
            },
        },
        {
            "transform": [{"filter": "isValid(datum.bound)"}],
            "mark": {"type": "line", "color": _BOUND, "strokeDash": [6, 4]},
            "encoding": {"x": x, "y": {"field": "bound", "type": "quantitative"}},
        },
    ]
    return {
        "$schema": _SCHEMA,
        "title": study.title,
        "width": 420,
        "height": 260,
        "data": {"values": rows},
        "layer": layers,
    }


def _row(one: Outcome, place: str) -> dict[str, Any]:
    return {
        "interface": one.interface,
        "label": f"{place}. {one.interface}" if place else one.interface,
        "accuracy": one.accuracy,
        "baseline": one.baseline,
        "bound": one.bound,
        "at": one.at,
    }
