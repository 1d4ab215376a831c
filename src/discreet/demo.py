"""The demo: a made-up clinic, noisy counts by region, what they cost and what that means.
Prints released values only; the exact counts stay inside `_clinic` and the mechanisms.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from discreet.accounting.composition import advanced, basic, optimal
from discreet.accounting.conversion import zcdp
from discreet.accounting.meaning import explain
from discreet.loss import ZCDP, Approximate, Pure, Sensitivity
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

__all__ = ["Bar", "chart", "tour"]

_REGIONS = ("north", "east", "south", "west", "coast", "hills")
_PATIENTS = 800
_VISITS_PER_PATIENT = 3
_QUESTIONS = 100
_DELTA = Fraction(1, 10**6)
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Bar:
    """One released count with its error bar.

    Privacy: holds released values only.
    >>> Bar(region="north", noisy=120, error=18.0).high
    138.0
    """

    region: str
    noisy: int
    error: float

    @property
    def low(self) -> float:
        """The lower end of the error bar.

        Privacy: post-processing.
        >>> Bar(region="north", noisy=120, error=18.0).low
        102.0
        """
        return self.noisy - self.error

    @property
    def high(self) -> float:
        """The upper end of the error bar.

        Privacy: post-processing.
        >>> Bar(region="north", noisy=120, error=18.0).high
        138.0
        """
        return self.noisy + self.error


def _numbers(seed: int) -> Iterator[int]:
    """Made-up data, not noise: a linear congruential sequence, the same on every machine."""
    while True:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield seed >> 33


def _clinic() -> NDArray[np.int64]:
    """Visits by region; every patient made between none and three."""
    numbers = _numbers(2006)
    exact = np.zeros(len(_REGIONS), dtype=np.int64)
    for _ in range(_PATIENTS):
        for _ in range(next(numbers) % (_VISITS_PER_PATIENT + 1)):
            first, second = next(numbers) % len(_REGIONS), next(numbers) % len(_REGIONS)
            exact[min(first, second)] += 1
    return exact


def _bars(mechanism: DiscreteLaplace | DiscreteGaussian) -> list[Bar]:
    noisy = mechanism.release(_clinic())
    error = mechanism.error(_CONFIDENCE)
    return [Bar(region, int(n), error) for region, n in zip(_REGIONS, noisy, strict=True)]


def chart(bars: Sequence[Bar], title: str) -> dict[str, Any]:
    """A Vega-Lite chart of released counts with their error bars.

    Privacy: post-processing.
    >>> chart([Bar(region="north", noisy=120, error=18.0)], "Visits")["title"]
    'Visits'
    """
    rows = [
        {"region": bar.region, "noisy": bar.noisy, "low": bar.low, "high": bar.high} for bar in bars
    ]
    region = {"field": "region", "type": "nominal", "sort": None, "axis": {"labelAngle": 0}}
    count = {"field": "noisy", "type": "quantitative", "title": "visits (noisy)"}
    low = {"field": "low", "type": "quantitative", "title": "visits (noisy)"}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": title,
        "width": 420,
        "height": 240,
        "data": {"values": rows},
        "encoding": {"x": region},
        "layer": [
            {"mark": {"type": "bar", "color": "#7aa6c2"}, "encoding": {"y": count}},
            {
                "mark": {"type": "errorbar", "ticks": True, "color": "#1d3557"},
                "encoding": {"y": low, "y2": {"field": "high"}},
            },
        ],
    }


def _draw(spec: dict[str, Any], folder: Path) -> list[Path]:
    """Write the chart as data and, where the `plots` extra is installed, as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "visits.vl.json"
    data.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    try:
        import vl_convert  # 84 MB, in the `plots` extra only
    except ModuleNotFoundError:
        return [data]
    picture = folder / "visits.svg"
    picture.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    return [data, picture]


def _counts_table(left: Sequence[Bar], right: Sequence[Bar]) -> Table:
    table = Table(title="Visits as released, 95% error bars", title_justify="left")
    for heading in ("region", "discrete Laplace", "discrete Gaussian"):
        table.add_column(heading, justify="left" if heading == "region" else "right")
    for one, other in zip(left, right, strict=True):
        table.add_row(
            one.region, f"{one.noisy} ± {one.error:g}", f"{other.noisy} ± {other.error:g}"
        )
    return table


def _guarantee(loss: Pure | Approximate) -> str:
    if isinstance(loss, Pure):
        return f"epsilon {_rounded_up(loss.epsilon)}"
    return f"epsilon {_rounded_up(loss.epsilon)}, delta {float(loss.delta):g}"


def _rounded_up(epsilon: Fraction) -> str:
    """Three decimals, towards more loss."""
    return f"{math.ceil(epsilon * 1000) / 1000:g}"


def _composition_table(laplace: Pure, gaussian: ZCDP) -> Table:
    table = Table(
        title=f"{_QUESTIONS} such questions: what all answers together cost",
        title_justify="left",
    )
    for heading in ("noise", "theorem", "guarantee"):
        table.add_column(heading)
    batch = [laplace] * _QUESTIONS
    table.add_row("Laplace", "basic (epsilons add)", _guarantee(basic(batch)))
    table.add_row("Laplace", "advanced", _guarantee(advanced(batch, slack=_DELTA)))
    table.add_row("Laplace", "optimal", _guarantee(optimal(batch, target_delta=_DELTA)))
    table.add_row("Laplace", "zCDP", _guarantee(zcdp(batch, delta=_DELTA)))
    table.add_row("Gaussian", "zCDP", _guarantee(zcdp([gaussian] * _QUESTIONS, delta=_DELTA)))
    return table


def tour(folder: Path) -> None:
    """Print the demo and write its chart into `folder`.

    Privacy: two releases of made-up counts: 1/2-DP and 1/18-zCDP, add/remove one patient
    [DMNS06, Prop. 3.3; CKS20, Thm. 4].
    >>> import contextlib, io, tempfile
    >>> with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
    ...     tour(Path(name))
    """
    console = Console(highlight=False)
    # A patient's three visits may all fall into one region: l1 = 3 and l2 = 3.
    visits = Sensitivity.of_sum(
        lower=0, upper=1, rows_per_unit=_VISITS_PER_PATIENT, groups_per_unit=_VISITS_PER_PATIENT
    )
    laplace, gaussian = DiscreteLaplace(scale=6), DiscreteGaussian(sigma=9)
    spent, rho = laplace.loss(visits), gaussian.loss(visits)
    console.print(
        f"A made-up clinic: {_PATIENTS} patients, at most {_VISITS_PER_PATIENT} visits each. "
        "The exact counts are not shown; what follows is all that anybody outside gets to see.\n"
    )
    left, right = _bars(laplace), _bars(gaussian)
    console.print(_counts_table(left, right))
    console.print(f"Laplace, scale {laplace.scale}: {_guarantee(spent)} for all regions together.")
    console.print(
        f"Gaussian, sigma {gaussian.sigma}: rho {rho.rho}, that is "
        f"{_guarantee(zcdp([rho], delta=_DELTA))}.\n"
    )
    console.print(_composition_table(spent, rho))
    console.print(f"\nWhat epsilon = {float(spent.epsilon):g} means to one patient:\n")
    console.print(str(explain(epsilon=spent.epsilon, delta=0)))
    written = _draw(chart(left, "Visits by region, epsilon = 1/2"), folder)
    console.print(f"\nWritten: {', '.join(str(path) for path in written)}")
    console.print("Next: the examples in README.md, or `make test`.")
