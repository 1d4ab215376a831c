"""Studies as sections of a page, and their charts as Vega-Lite values: bars for interfaces, lines
for curves, with the guessing baseline and the bound that privacy implies. Draws what it is given.
"""

from typing import Any

from discreet.attacks.outcome import Outcome, Study
from discreet.drawing.chart import LIGHT, RED, SOFT, chart, quantity, row_labels, svg
from discreet.drawing.page import Section

__all__ = ["bar_chart", "line_chart", "study_section"]

_PERCENT = {"format": ".0%", "labelFlush": False}


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
        drawings=[svg(picture) for picture in charts],
        lesson=study.lesson,
    )


def _y(title: str) -> dict[str, Any]:
    return quantity("accuracy", scale={"domain": [0, 1]}, axis=_PERCENT, title=title)


def bar_chart(study: Study) -> dict[str, Any]:
    """One bar for each interface; the baseline as a grey tick, the bound as a red one.

    >>> bar_chart(Study(name="n", title="t", words="w", measure="m", outcomes=()))["title"]
    't'
    """
    rows = [_row(one, f"{place + 1}") for place, one in enumerate(study.outcomes)]
    y = row_labels("label", rows)
    x = _y(study.measure)
    marks: list[dict[str, Any]] = [
        {"mark": {"type": "bar", "color": LIGHT}, "encoding": {"x": x, "y": y}},
        {
            "mark": {"type": "tick", "color": SOFT, "thickness": 2},
            "encoding": {"x": quantity("baseline"), "y": y},
        },
        {
            "transform": [{"filter": "isValid(datum.bound)"}],
            "mark": {"type": "tick", "color": RED, "thickness": 3},
            "encoding": {"x": quantity("bound"), "y": y},
        },
    ]
    return chart(title=study.title, height={"step": 24}, data={"values": rows}, layer=marks)


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
    x = quantity("at", title=study.curve_title, scale=scale, axis=axis)
    colour = {"field": "interface", "type": "nominal", "sort": order, "legend": legend}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "line", "point": True},
            "encoding": {"x": x, "y": _y(study.measure), "color": colour},
        },
        {
            "mark": {"type": "rule", "color": SOFT, "strokeDash": [2, 3]},
            "encoding": {"y": quantity("baseline", aggregate="max")},
        },
        {
            "transform": [{"filter": "isValid(datum.bound)"}],
            "mark": {"type": "line", "color": RED, "strokeDash": [6, 4]},
            "encoding": {"x": x, "y": quantity("bound")},
        },
    ]
    return chart(title=study.title, height=260, data={"values": rows}, layer=layers)


def _row(one: Outcome, place: str) -> dict[str, Any]:
    return {
        "interface": one.interface,
        "label": f"{place}. {one.interface}" if place else one.interface,
        "accuracy": one.accuracy,
        "baseline": one.baseline,
        "bound": one.bound,
        "at": one.at,
    }
