"""Draws the two pictures of docs/local.md: what it costs that nobody at the centre is trusted.

    python examples/local_against_central.py --output docs/pictures

The first measures the error of one count both ways, against the number of people. The second
measures how many people it takes to tell a parity that is asked only after the answers were given
[DMNS06, Sec. 4.1]. The people are made up; the default takes about a minute.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.drawing.chart import chart, quantity, svg
from discreet.local import (
    KaryResponse,
    Tally,
    compare,
    frequencies,
    parity_by_curator,
    parity_by_survey,
    parity_people,
)
from discreet.mechanisms import DiscreteLaplace

EPSILON = 1
_PEOPLE = (100, 1_000, 10_000, 100_000, 1_000_000)
_LOCAL, _CENTRAL = "each person randomizes", "a curator is trusted"
_OFTEN = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Root mean square errors of one count, over repeated made-up surveys, in people."""

    people: int
    local: float
    central: float


def measure(*, people: int, epsilon: float, trials: int = 100) -> Measured:
    """Ask made-up people, a third of whom say yes, again and again, both ways."""
    question, curator = KaryResponse(epsilon=epsilon), DiscreteLaplace(scale=1 / epsilon)
    answers = (np.arange(people) % 3 == 0).astype(np.int64)
    exact = int(answers.sum())
    local, central = [], []
    for _ in range(trials):
        found = frequencies(Tally.of(question, question.release(answers)))
        local.append(found.counts[1] - exact)
        central.append(float(int(curator.release(exact)) - exact))
    return Measured(
        people=people, local=_root_mean_square(local), central=_root_mean_square(central)
    )


def comparison_chart(*, epsilon: float = 1, measured: Sequence[Measured] = ()) -> dict[str, Any]:
    """The error of a count against the number of people: the root of n, and none at all.

    Lines are the closed forms of `compare`, points what was measured.
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


def parity_need(*, width: int, epsilon: float = 1, trials: int = 60) -> tuple[int, int]:
    """How many made-up people a survey, and a curator, needed to be right nine times in ten.

    By doubling from 2.
    """
    found = []
    for ask in (parity_by_survey, parity_by_curator):
        people = 2
        while ask(width=width, people=people, epsilon=epsilon, trials=trials) < _OFTEN * trials:
            people *= 2
        found.append(people)
    return found[0], found[1]


def parity_chart(
    *, epsilon: float = 1, widths: Sequence[int] = range(1, 17), needed: dict[int, tuple[int, int]]
) -> dict[str, Any]:
    """The people needed for a parity of d bits: the bound for every local survey, and measured.

    `needed` has what `parity_need` found for some widths: of a survey, and of a curator.
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
    return quantity(field, title=title, scale={"type": scale, "nice": True}, axis=axis)


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
    dots = {"type": "point", "filled": True, "size": 60}
    layer = [
        {"data": {"values": lines}, "mark": {"type": "line"}, "encoding": encoding},
        {"data": {"values": points}, "mark": dots, "encoding": encoding},
    ]
    return chart(title=title, height=280, layer=layer)


def main() -> None:
    """Measure, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--trials", type=int, default=60, help="of each measurement")
    parser.add_argument("--widest", type=int, default=14, help="the most bits of a parity")
    parser.add_argument("--people", type=int, default=1_000_000, help="the most people of a count")
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    crowds = [10**power for power in range(2, 8) if 10**power <= asked.people]
    measured = [measure(people=people, epsilon=EPSILON, trials=asked.trials) for people in crowds]
    for one in measured:
        print(f"{one.people:>9,} people: local {one.local:9.1f}, central {one.central:5.2f}")
    drawn = comparison_chart(epsilon=EPSILON, measured=measured)
    svg(drawn, str(asked.output / "local_central.svg"))
    needed = {
        width: parity_need(width=width, epsilon=EPSILON, trials=asked.trials)
        for width in range(2, asked.widest + 1, 2)
    }
    for width, (survey, curator) in needed.items():
        least = parity_people(width=width, epsilon=EPSILON)
        print(f"{width:>2} bits: survey {survey:>9,} (at least {least:,}), curator {curator}")
    widths = range(1, asked.widest + 1)
    drawn = parity_chart(epsilon=EPSILON, widths=widths, needed=needed)
    svg(drawn, str(asked.output / "local_parities.svg"))


if __name__ == "__main__":
    main()
