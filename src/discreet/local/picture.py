"""Pictures of what local surveys cost, as Vega-Lite values: against a curator, and on parities.
Draws from closed forms and made-up people only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.local.comparison import compare
from discreet.local.frequencies import frequencies
from discreet.local.parity import parity_by_curator, parity_by_survey, parity_people
from discreet.local.randomizers.answers import whole
from discreet.local.randomizers.kary import KaryResponse
from discreet.local.tally import Tally
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive

__all__ = ["Measured", "comparison_chart", "measure", "parity_chart", "parity_need"]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_PEOPLE = (100, 1_000, 10_000, 100_000, 1_000_000)
_LOCAL, _CENTRAL = "each person randomizes", "a curator is trusted"
_OFTEN = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Root mean square errors of one count, over repeated made-up surveys, in people.

    >>> Measured(people=100, local=9.0, central=1.5).people
    100
    """

    people: int
    local: float
    central: float


def measure(
    *, people: int, epsilon: Number, trials: int = 100, bits: BitSource = system
) -> Measured:
    """Ask made-up people, a third of whom say yes, again and again, both ways.

    Privacy: none (made-up people); both are epsilon-DP [War65], [DMNS06, Prop. 3.3].
    >>> measure(people=300, epsilon=1, trials=5).local > 0
    True
    """
    whole(people, "people", least=1, most=1 << 24)
    whole(trials, "trials", least=1, most=1 << 20)
    value = positive(epsilon, "epsilon")
    question, curator = KaryResponse(epsilon=value), DiscreteLaplace(scale=1 / value)
    answers = (np.arange(people) % 3 == 0).astype(np.int64)
    exact = int(answers.sum())
    local, central = [], []
    for _ in range(trials):
        found = frequencies(Tally.of(question, question.release(answers, bits)))
        local.append(found.counts[1] - exact)
        central.append(float(int(curator.release(exact, bits)) - exact))
    return Measured(
        people=people, local=_root_mean_square(local), central=_root_mean_square(central)
    )


def comparison_chart(*, epsilon: Number = 1, measured: Sequence[Measured] = ()) -> dict[str, Any]:
    """The error of a count against the number of people: the root of n, and none at all.

    Lines are the closed forms of `compare`, points what was measured.
    >>> len(comparison_chart(epsilon=1)["layer"])
    2
    """
    lines = [
        {"people": people, "error": error, "who": who}
        for people in _PEOPLE
        for found in (compare(people=people, epsilon=epsilon),)
        for who, error in ((_LOCAL, found.local), (_CENTRAL, found.central))
    ]
    points = [
        {"people": one.people, "error": error, "who": who}
        for one in measured
        for who, error in ((_LOCAL, one.local), (_CENTRAL, one.central))
    ]
    return _chart(
        title=f"Error of one count at epsilon {float(epsilon):g}",
        x=_axis("people", "people asked", "log"),
        y=_axis("error", "standard error of the count, in people", "log"),
        lines=lines,
        points=points,
    )


def parity_need(
    *, width: int, epsilon: Number = 1, trials: int = 60, bits: BitSource = system
) -> tuple[int, int]:
    """How many made-up people a survey, and a curator, needed to be right nine times in ten.

    By doubling from 2.
    >>> survey, curator = parity_need(width=2, epsilon=2, trials=20)
    >>> survey >= 2 and curator >= 2
    True
    """
    found = []
    for ask in (parity_by_survey, parity_by_curator):
        people = 2
        while (
            ask(width=width, people=people, epsilon=epsilon, trials=trials, bits=bits)
            < _OFTEN * trials
        ):
            people *= 2
        found.append(people)
    return found[0], found[1]


def parity_chart(
    *, epsilon: Number = 1, widths: Sequence[int] = range(1, 17), needed: dict[int, tuple[int, int]]
) -> dict[str, Any]:
    """The people needed for a parity of d bits: the bound for every local survey, and measured.

    `needed` has what `parity_need` found for some widths: of a survey, and of a curator.
    >>> len(parity_chart(needed={2: (16, 4)})["layer"])
    2
    """
    bound = "no local survey needs fewer"
    lines = [
        {
            "people": parity_people(width=width, epsilon=epsilon),
            "width": width,
            "who": bound,
        }
        for width in widths
    ]
    points = [
        {"people": people, "width": width, "who": who}
        for width, both in needed.items()
        for who, people in zip(("a survey of random parities", _CENTRAL), both, strict=True)
    ]
    return _chart(
        title=f"Telling a parity that is asked afterwards, at epsilon {float(epsilon):g}",
        x=_axis("width", "bits d of each person", "linear"),
        y=_axis("people", "people needed to be right nine times in ten", "log"),
        lines=lines,
        points=points,
    )


def _root_mean_square(errors: Sequence[float]) -> float:
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


def _axis(field: str, title: str, scale: str) -> dict[str, Any]:
    axis = {"format": "~s"} if scale == "log" else {"tickMinStep": 1}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": scale, "nice": True},
        "axis": axis,
    }


def _chart(
    *,
    title: str,
    x: dict[str, Any],
    y: dict[str, Any],
    lines: list[dict[str, Any]],
    points: list[dict[str, Any]],
) -> dict[str, Any]:
    order = list(dict.fromkeys(row["who"] for row in (*lines, *points)))
    colour = {
        "field": "who",
        "type": "nominal",
        "sort": order,
        "title": None,
        "legend": {"labelLimit": 320},
    }
    encoding = {"x": x, "y": y, "color": colour}
    return {
        "$schema": _SCHEMA,
        "title": title,
        "width": 420,
        "height": 280,
        "layer": [
            {"data": {"values": lines}, "mark": {"type": "line"}, "encoding": encoding},
            {
                "data": {"values": points},
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": encoding,
            },
        ],
    }
