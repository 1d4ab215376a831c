"""Small charts as SVG elements that need no script and no style of their own: the page's classes
colour them, light or dark. Released and public numbers only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["Bar", "bars", "curve", "steps"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 220, 70, 40
_MOST_STEPS = 600


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its interval."""

    label: str
    value: float
    low: float
    high: float


def _scale(low: float, high: float) -> tuple[float, float]:
    if not math.isfinite(low) or not math.isfinite(high) or low == high:
        return (low or 0.0) - 1, (high or 0.0) + 1
    return low, high


def _frame(title: str, inside: str) -> Markup:
    return Markup(
        '<svg viewBox="0 0 {w} {h}" role="img" class="chart" preserveAspectRatio="xMidYMid meet">'
        "<title>{title}</title>{inside}</svg>"
    ).format(w=_WIDTH, h=_HEIGHT, title=title, inside=Markup(inside))


def _axis(low: float, high: float, place: float) -> str:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = 10 + (_HEIGHT - _BOTTOM - 10) * (1 - share)
        text = Markup.escape(f"{low + share * (high - low):,.3g}")
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        )
    lines.append(
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{place:.1f}" y2="{place:.1f}"/>'
    )
    return "".join(lines)


def bars(title: str, values: Sequence[Bar]) -> Markup:
    """Bars with intervals.

    >>> "<rect" in bars("visits", [Bar("north", 3.0, 2.0, 4.0)])
    True
    """
    ends = [end for bar in values for end in (bar.low, bar.high, 0.0) if math.isfinite(end)]
    low, high = _scale(min(ends, default=0.0), max(ends, default=1.0))
    span = _HEIGHT - _BOTTOM - 10

    def y(value: float) -> float:
        return 10 + span * (1 - (min(max(value, low), high) - low) / (high - low))

    width = (_WIDTH - _LEFT - 10) / max(len(values), 1)
    parts = [_axis(low, high, y(0.0))]
    for place, bar in enumerate(values):
        x = _LEFT + width * (place + 0.2)
        top, bottom = sorted((y(bar.value), y(0.0)))
        middle = x + 0.3 * width
        label = Markup.escape(bar.label[:24])
        parts.append(
            f'<rect class="bar" x="{x:.1f}" y="{top:.1f}" width="{0.6 * width:.1f}" '
            f'height="{max(bottom - top, 0.5):.1f}"/>'
            f'<line class="error" x1="{middle:.1f}" x2="{middle:.1f}" '
            f'y1="{y(bar.low):.1f}" y2="{y(bar.high):.1f}"/>'
            f'<text x="{middle:.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{label}</text>'
        )
    return _frame(title, "".join(parts))


def curve(title: str, points: Sequence[tuple[float, float]], chosen: tuple[float, float]) -> Markup:
    """The error against epsilon, both by powers, with the chosen point.

    >>> "<polyline" in curve("error", [(0.1, 10.0), (1.0, 1.0)], (0.5, 2.0))
    True
    """
    useful = [(math.log(x), math.log(y)) for x, y in [*points, chosen] if x > 0 and y > 0]
    if len(useful) < 2:
        return Markup("")
    left, right = _scale(min(x for x, _ in useful), max(x for x, _ in useful))
    low, high = _scale(min(y for _, y in useful), max(y for _, y in useful))

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - 10) * (x - left) / (right - left)
        return across, 10 + (_HEIGHT - _BOTTOM - 10) * (1 - (y - low) / (high - low))

    drawn = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in useful[:-1])
    x, y = at(*useful[-1])
    ticks = "".join(
        f'<text x="{at(math.log(e), low)[0]:.1f}" y="{_HEIGHT - 20}" '
        f'text-anchor="middle">{e:.3g}</text>'
        for e, _ in points[:: max(len(points) // 4, 1)]
    )
    sides = "".join(
        f'<text x="{_LEFT - 6}" y="{at(left, end)[1] + 4:.1f}" text-anchor="end">'
        f"{math.exp(end):,.3g}</text>"
        for end in (low, high)
    )
    body = (
        f'<polyline class="line" points="{drawn}"/>'
        f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="6"/>{ticks}{sides}'
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 4}" text-anchor="middle">epsilon</text>'
    )
    return _frame(title, body)


def steps(title: str, left: Sequence[float], total: float) -> Markup:
    """What is left of a budget after each charge.

    >>> "<polyline" in steps("left of ana", [1.0, 0.5, 0.25], 1.0)
    True
    """
    span, high = _HEIGHT - _BOTTOM - 10, total or 1.0
    if len(left) > _MOST_STEPS:  # more than there are points across: the first of each stretch
        left = [*left[:: -(-len(left) // _MOST_STEPS)], left[-1]]
    width = (_WIDTH - _LEFT - 10) / max(len(left), 1)
    points = []
    for place, value in enumerate(left):
        y = 10 + span * (1 - max(value, 0.0) / high)
        points += [
            f"{_LEFT + place * width:.1f},{y:.1f}",
            f"{_LEFT + (place + 1) * width:.1f},{y:.1f}",
        ]
    body = _axis(0.0, high, 10 + span) + f'<polyline class="line" points="{" ".join(points)}"/>'
    body += (
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">charges, in order</text>'
    )
    return _frame(title, body)
