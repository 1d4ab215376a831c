"""Arbitrary counting queries: one by one, or all of them from one noisy histogram, whichever has
the smaller error. Owns the crossover between the number of queries and the size of the universe.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Currency, Loss, Price, Pure, Relation
from discreet.mechanisms.combinations.combined import deviations_95
from discreet.mechanisms.priced import Noise, noise_for
from discreet.noise.bits import BitSource
from discreet.plan.results.explain import noise_of
from discreet.rationals import Number, least_integer, positive, probability
from discreet.release.frame import Axis, Cells, Frame
from discreet.release.sheets import Preview, Sheet

__all__ = ["CountingPart", "crossover", "direct_error", "histogram_error"]

_LEVEL = Fraction(95, 100)
_MOST_CELLS = 1 << 24
_MOST_QUERIES = 100_000


def histogram_error(
    *,
    universe: int,
    queries: int,
    price: Price,
    relation: Relation = Relation.ADD_REMOVE,
    missed: Number = 0.05,
) -> float:
    """Within which all counting queries are answered by a noisy histogram, at once; in counts.

    A row more or less moves one cell by 1, a row replaced two cells. The noise of a query is a sum
    over at most |X| cells. With L = ln(2 |Q| / missed) a union bound gives sqrt(8 |X| L) times the
    scale for Laplace noise (once |X| >= L), sqrt(2 |X| L) times sigma for Gaussian noise. The
    mechanism is epsilon-DP by [Vad17, Thm. 2.9], which is for replace and has twice the scale of
    add/remove, or rho-zCDP [CKS20, Thm. 4]; one row a unit.
    >>> round(histogram_error(universe=1024, queries=10**6, price=Pure(epsilon=1)))
    379
    """
    level = _level(2 * queries, missed)
    if price.currency is Currency.RHO:
        return _gaussian_error(relation.steps * universe, price, level)
    return relation.steps * sqrt(8 * max(universe, level) * level) / _epsilon_of(price)


def direct_error(*, queries: int, price: Price, missed: Number = 0.05) -> float:
    """Within which all counting queries are answered one by one, with noise on each; in counts.

    Under add/remove and under replace alike, one row moves each count by at most 1: Laplace noise
    of scale |Q| / epsilon, or Gaussian noise of variance |Q| / (2 rho). The mechanism is epsilon-DP
    [DMNS06, Prop. 3.3] or rho-zCDP [CKS20, Thm. 4], for one row a unit.
    >>> round(direct_error(queries=100, price=Pure(epsilon=1)))
    760
    """
    if price.currency is Currency.RHO:
        return _gaussian_error(queries, price, _level(2 * queries, missed))
    return queries * _level(queries, missed) / _epsilon_of(price)


def _level(tails: int, missed: Number) -> float:
    return log(tails / float(probability(missed, "missed")))


def _epsilon_of(price: Pure) -> float:
    return float(positive(price.epsilon, "epsilon"))


def _gaussian_error(terms: int, price: ZCDP, level: float) -> float:
    """sqrt(2 level) standard deviations of so many terms of variance 1/(2 rho)."""
    return sqrt(terms * level / float(positive(price.rho, "rho")))


def crossover(
    *, universe: int, price: Price, relation: Relation = Relation.ADD_REMOVE, missed: Number = 0.05
) -> int:
    """From how many queries on the histogram has the smaller bound, whatever the price's size.

    For Laplace noise about the root of |X|, for Gaussian noise |X|, or twice that under replace.
    Compares the two ways of [Vad17, Sec. 2.3].
    >>> crossover(universe=4096, price=Pure(epsilon=1)), crossover(universe=4096, price=ZCDP(rho=1))
    (71, 4096)
    """
    bounds: dict[str, Any] = {"price": price, "missed": missed}

    def better(queries: int) -> bool:
        direct = direct_error(queries=queries, **bounds)
        whole = histogram_error(universe=universe, queries=queries, relation=relation, **bounds)
        return whole <= direct

    return least_integer(better)


@dataclass(frozen=True, slots=True)
class CountingPart:
    """Counting queries over a public universe, each a box of allowed values.

    `overlap` is the most queries that one cell is in: the exact sensitivity of asking one by one.
    Privacy: `loss`; the choice between the two ways uses public shapes only [Vad17, Thm. 2.9].
    """

    name: str
    axes: tuple[Axis, ...]
    queries: tuple[str, ...]
    masks: tuple[tuple[NDArray[np.bool_], ...], ...] = field(repr=False)
    price: Price
    rows: int
    relation: Relation
    overlap: int

    @classmethod
    def build(
        cls, frame: Frame, name: str, queries: Mapping[str, Mapping[str, Any]], *, price: Price
    ) -> "CountingPart":
        """Read the queries: for each column a list of values, or `from` and `to`."""
        if not 1 <= len(queries) <= _MOST_QUERIES:
            raise InvalidValue(
                f"{name}: {len(queries):,} queries; 1 to {_MOST_QUERIES:,} are read."
            )
        names = list(dict.fromkeys(column for query in queries.values() for column in query))
        axes = tuple(frame.axis(column) for column in names)
        if prod(axis.cells for axis in axes) > _MOST_CELLS:
            raise InvalidValue(
                f"{name}: the universe has more than {_MOST_CELLS:,} cells. Use coarser columns. "
                "Nothing was charged."
            )
        masks = tuple(
            tuple(_mask(name, axis, query.get(axis.name)) for axis in axes)
            for query in queries.values()
        )
        inside = np.zeros([axis.cells for axis in axes], dtype=np.int32)
        for mask in masks:
            inside[np.ix_(*mask)] += 1
        unit = frame.unit
        overlap = max(1, int(inside.max()))
        return cls(name, axes, tuple(queries), masks, price, unit.rows, unit.relation, overlap)

    @property
    def universe(self) -> int:
        """How many cells the queries' columns have together."""
        return prod(axis.cells for axis in self.axes)

    @property
    def loss(self) -> Price:
        """What it costs: its price.

        Privacy: under the unit and relation of its frame.
        """
        return self.price

    @property
    def losses(self) -> tuple[Loss, ...]:
        """One mechanism.

        Privacy: under the unit and relation of its frame.
        """
        return (self.price,)

    def _sizes(self) -> NDArray[np.float64]:
        return np.array([prod(int(mask.sum()) for mask in masks) for masks in self.masks], float)

    def noise(self, overlap: int) -> Noise:
        """The noise when one row is in at most so many of the released numbers.

        (l1/scale)-DP [DMNS06, Prop. 3.3], (l2^2/(2 sigma^2))-zCDP [CKS20, Thm. 4].
        """
        moved = Fraction(self.rows * self.relation.steps * overlap)
        # r rows that all move the same numbers: r^2 overlap. Under replace the two moves have no
        # negative entries, so the square of their difference is at most the sum of squares.
        return noise_for(self.price, l1=moved, l2_squared=self.rows * moved)

    def errors(self) -> dict[str, float]:
        """The root mean square errors of both ways."""
        return {
            "one by one": self.noise(self.overlap).standard_deviation,
            "from a histogram": self.noise(1).standard_deviation
            * sqrt(float(self._sizes().mean())),
        }

    @property
    def way(self) -> str:
        """The way with the smaller error."""
        errors = self.errors()
        return min(errors, key=lambda way: errors[way])

    def facts(self) -> dict[str, Any]:
        """Mechanism, scale, crossover and reference for the manifest."""
        single = self.way == "one by one"
        theorem = (
            "[DMNS06, Prop. 3.3]" if self.price.currency is Currency.EPSILON else "[CKS20, Thm. 4]"
        )
        return {
            "kind": "counting queries",
            "way": self.way,
            "root_mean_square_errors": self.errors(),
            "queries": len(self.queries),
            "universe": self.universe,
            "crossover_of_worst_case_bounds": crossover(
                universe=self.universe, price=self.price, relation=self.relation
            ),
            "measurements": [{"noise": noise_of(self.noise(self.overlap if single else 1))}],
            "lattice": "integers",
            "reference": f"[Vad17, Thm. 2.9], {theorem}",
        }

    def preview(self) -> list[Preview]:
        """The root mean square error of a query."""
        what = f"root mean square error, {self.way}"
        return [Preview(self.name, len(self.queries), what, min(self.errors().values()))]

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """Answer every query.

        Privacy: as `loss` says.
        """
        table = exact.table(self.axes)
        if self.way == "one by one":
            noise = self.noise(self.overlap)
            noisy = noise.release(_count_queries(table, self.masks), bits)
            spread = np.full(len(noisy), noise.standard_deviation)
            reach = np.full(len(noisy), noise.error(_LEVEL))
        else:
            noise = self.noise(1)
            noisy = _count_queries(noise.release(table, bits), self.masks)
            spread = noise.standard_deviation * np.sqrt(self._sizes())
            single = self._sizes() == 1
            reach = np.where(single, noise.error(_LEVEL), spread * deviations_95([noise]))
        columns = {
            "query": list(self.queries),
            "count": noisy.tolist(),
            "standard_error": spread.tolist(),
            "low": (noisy - reach).tolist(),
            "high": (noisy + reach).tolist(),
        }
        words = f"Counting queries answered {self.way}."
        return [Sheet(self.name, words, columns, ("query",), "count", "low", "high")]


def _count_queries(
    table: NDArray[Any], masks: Sequence[tuple[NDArray[np.bool_], ...]]
) -> NDArray[np.int64]:
    return np.array([table[np.ix_(*mask)].sum() for mask in masks], dtype=np.int64)


def _mask(name: str, axis: Axis, wanted: Any) -> NDArray[np.bool_]:
    """Which values of an axis a query allows: all, those listed, or a range of numbers."""
    if wanted is None:
        return np.ones(axis.cells, dtype=bool)
    if isinstance(wanted, Mapping):
        if not wanted or set(wanted) - {"from", "to"}:
            raise InvalidValue(f"{name}: {axis.name} takes a list of values, or from and to.")
        low, high = wanted.get("from"), wanted.get("to")
        kind: Any = type(axis.labels[-1])
        return np.array(
            [
                isinstance(label, kind)
                and label is not None
                and (low is None or label >= low)
                and (high is None or label <= high)
                for label in axis.labels
            ]
        )
    listed = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    strangers = [value for value in listed if value not in axis.labels]
    if strangers:
        raise InvalidValue(
            f"{name}: {axis.name} has no value {strangers[0]!r}. Nothing was charged."
        )
    return np.array([label in listed for label in axis.labels])
