"""Means, covariance matrix and linear regression of several columns from one set of noisy moments.
Post-processing of a statistics part; intervals of coefficients by adding the noise once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Loss, Price
from discreet.noise.bits import BitSource
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.release.frame import Cells, Frame
from discreet.release.parts.values import StatisticsPart
from discreet.release.sheets import Preview, Sheet
from discreet.schema.names import any_name, sql_name

__all__ = ["RegressionPart", "aggregates_for", "fit_line", "nearest_covariance"]

_REPEATS = 200


def aggregates_for(columns: Sequence[str]) -> dict[str, str]:
    """The SQL aggregates behind means and covariances of these columns, by their names.

    >>> aggregates_for(["a", "b"])["c_1_0"]
    'COVAR_POP(b, a)'
    """
    named = [sql_name(any_name(column, "a column of a regression")) for column in columns]
    aggregates = {f"m_{place}": f"AVG({name})" for place, name in enumerate(named)}
    aggregates |= {f"c_{place}_{place}": f"VAR_POP({name})" for place, name in enumerate(named)}
    aggregates |= {
        f"c_{second}_{first}": f"COVAR_POP({named[second]}, {named[first]})"
        for first, second in combinations(range(len(named)), 2)
    }
    return aggregates


def nearest_covariance(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest matrix that can be a covariance: negative eigenvalues become zero.

    >>> nearest_covariance(np.array([[1.0, 0.0], [0.0, -1.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearer: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearer


def fit_line(means: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The intercept and the slopes of the last column on the others, by least squares.

    Directions in which the others vary by less than a millionth of their largest are left out.
    >>> fit_line(np.array([1.0, 3.0]), np.array([[2.0, 4.0], [4.0, 8.0]])).tolist()
    [1.0, 2.0]
    """
    inner, outer = covariance[:-1, :-1], covariance[:-1, -1]
    slopes = np.linalg.pinv(inner, rcond=1e-6, hermitian=True) @ outer
    return np.concatenate([[means[-1] - means[:-1] @ slopes], slopes])


@dataclass(frozen=True, slots=True)
class RegressionPart:
    """Means, covariances and, with a target, the regression of it on the other columns.

    Privacy: `loss`, that of the noisy moments; the rest is post-processing [DMNS06, Sec. 3.2].
    """

    columns: tuple[str, ...]
    target: str
    moments: StatisticsPart = field(repr=False)

    @classmethod
    def build(
        cls, frame: Frame, name: str, columns: Sequence[str], *, target: str = "", price: Price
    ) -> "RegressionPart":
        """Plan the moments of these columns; a target is put last."""
        listed = [column for column in columns if column != target] + ([target] if target else [])
        if len(listed) < (2 if target else 1) or len(set(listed)) < len(listed):
            raise InvalidValue(
                f"{name}: columns {listed}; name each once, and one beside a target."
            )
        moments = StatisticsPart.build(frame, name, aggregates_for(listed), price=price)
        return cls(tuple(listed), target, moments)

    @property
    def name(self) -> str:
        """The name its tables begin with."""
        return self.moments.name

    @property
    def loss(self) -> Price:
        """What it costs.

        Privacy: under the unit and relation of its table.
        """
        return self.moments.loss

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of its measures.

        Privacy: under the unit and relation of its table.
        """
        return self.moments.losses

    def facts(self) -> dict[str, Any]:
        """Mechanisms, scales and references for the manifest."""
        kind = "regression" if self.target else "covariance"
        return {**self.moments.facts(), "kind": kind, "columns": list(self.columns)}

    def preview(self) -> list[Preview]:
        """Its tables; their errors depend on secret counts and spreads."""
        size = len(self.columns)
        previews = [
            Preview(f"{self.name}_means", size, "95% interval, with the release", None),
            Preview(f"{self.name}_covariance", size * size, "95% interval, with the release", None),
        ]
        if self.target:
            previews.append(Preview(self.name, size, "interval, with the release", None))
        return previews

    def release(self, exact: Cells, bits: BitSource) -> list[Sheet]:
        """The noisy moments, and what follows from them.

        Privacy: as `loss` says.
        """
        released = self.moments.add_noise(exact, bits)
        moments = estimates(released)
        places = range(len(self.columns))
        columns: dict[str, list[Any]] = {"column": list(self.columns)}
        for name in ("value", "low", "high"):
            column = "mean" if name == "value" else name
            columns[column] = [float(getattr(moments[f"m_{p}"], name)[0]) for p in places]
        words = "With 95% intervals."
        sheets = [Sheet(f"{self.name}_means", words, columns, ("column",), "mean", "low", "high")]
        pairs = [(one, other) for one in places for other in places]
        named = [f"c_{max(pair)}_{min(pair)}" for pair in pairs]
        columns = {
            "column": [self.columns[one] for one, _ in pairs],
            "with": [self.columns[other] for _, other in pairs],
            "covariance": [float(moments[entry].value[0]) for entry in named],
            "low": [float(moments[entry].low[0]) for entry in named],
            "high": [float(moments[entry].high[0]) for entry in named],
        }
        keys = ("column", "with")
        title = f"{self.name}_covariance"
        sheets.append(Sheet(title, words, columns, keys, "covariance", "low", "high"))
        return [*sheets, self._line(released, bits)] if self.target else sheets

    def _coefficients(self, released: Released) -> NDArray[np.float64]:
        moments = estimates(released)
        size = len(self.columns)
        means = np.array([float(moments[f"m_{place}"].value[0]) for place in range(size)])
        matrix = np.zeros((size, size))
        for one in range(size):
            for other in range(one + 1):
                matrix[one, other] = matrix[other, one] = moments[f"c_{one}_{other}"].value[0]
        return fit_line(means, nearest_covariance(matrix))

    def _line(self, released: Released, bits: BitSource) -> Sheet:
        """The regression; its spread is what noise drawn once more does to the released moments."""
        value = self._coefficients(released)
        again = []
        for _ in range(_REPEATS):
            noisy = tuple(
                noise.release(column, bits)
                for noise, column in zip(released.plan.noises, released.noisy, strict=True)
            )
            again.append(self._coefficients(Released(released.plan, released.groups, noisy)))
        low, high = np.quantile(np.array(again), [0.025, 0.975], axis=0)
        columns: dict[str, list[Any]] = {
            "term": ["intercept", *self.columns[:-1]],
            "coefficient": value.tolist(),
            # Mirrored: where a repetition falls beside the release, the truth falls on the other.
            "low": np.minimum(2 * value - high, low).tolist(),
            "high": np.maximum(2 * value - low, high).tolist(),
        }
        words = (
            f"{self.target} on the other columns, by least squares. Intervals cover the noise that "
            "was added, found by adding it once more to the released moments; not the sampling "
            "of people. That is an approximation: no share of intervals is promised to hold."
        )
        ends = ("coefficient", "low", "high")
        return Sheet(self.name, words, columns, ("term",), *ends, promise="approximate intervals")
