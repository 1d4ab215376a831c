"""All parities, or contrasts of more values, of few attributes: measured once, with the noise that
is best for the tables of so many attributes. They answer what they span, with a known error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.contrasts import norms, to_contrasts
from discreet.linear.domain import Domain
from discreet.linear.marginals import count_cells
from discreet.linear.predicates import Predicate
from discreet.loss import ZCDP, Relation
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.combinations.combined import deviations_95
from discreet.noise.bits import BitSource, system
from discreet.noise.discrete import discrete_gaussian
from discreet.rationals import Number, ceil_decimal, positive

__all__ = ["Measured", "Parities"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Parities:
    """Every contrast of at most `order` attributes, with one variance for each set of them.

    The contrast of a row is the product of one contrast of each attribute's value; attributes of
    two values have one each, and these are the parities. `variances` belong to contrasts of
    length 1; an integer contrast has its squared length times as much.
    Privacy: see `loss`.
    >>> Parities.of(Domain.binary(4), order=2, rho=1).count
    11
    """

    domain: Domain
    order: int
    variances: Mapping[tuple[int, ...], Fraction] = field(repr=False)

    @classmethod
    def of(
        cls,
        domain: Domain,
        *,
        order: int,
        rho: Number,
        rows_per_unit: int = 1,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> "Parities":
        """The variances with the least mean error of all tables of `order` attributes.

        A cell's variance, averaged over the cells of each table and summed over tables, is least
        where each set's variance is the inverse root of its weight in that sum.
        Privacy: costs at most rho, for the unit and relation given [XHZK23].
        >>> parities = Parities.of(Domain.binary(16), order=3, rho=0.01497)
        >>> question = Predicate.where({0: 1, 1: 1, 2: 1}, parities.domain)
        >>> round(math.sqrt(parities.variance_of(question)), 1)
        36.5
        """
        if isinstance(order, bool) or not 1 <= order <= len(domain.sizes):
            raise InvalidValue(
                f"order is {order!r}; it must be from 1 to {len(domain.sizes)}, the number of "
                "attributes."
            )
        weights = {axes: _weight(domain, axes, order) for axes in domain.subsets(order)}
        shape = {axes: ceil_decimal(Fraction(1 / math.sqrt(w)), 9) for axes, w in weights.items()}
        unscaled = cls(domain, order, shape)
        paid = unscaled.loss(rows_per_unit=rows_per_unit, relation=relation).rho
        factor = ceil_decimal(paid / positive(rho, "rho"), 15)
        return cls(domain, order, {axes: v * factor for axes, v in shape.items()})

    @property
    def count(self) -> int:
        """How many contrasts there are.

        >>> Parities.of(Domain.binary(16), order=3, rho=1).count
        697
        """
        return sum(
            math.prod(self.domain.sizes[axis] - 1 for axis in axes) for axes in self.variances
        )

    def loss(self, *, rows_per_unit: int = 1, relation: Relation = Relation.ADD_REMOVE) -> ZCDP:
        """The cost of measuring all of them.

        A row's contrasts of a set of attributes, at length 1, have squared length
        prod(1 - 1/size), whatever the row; those of a unit are at most rows_per_unit times as
        long, and of a replaced unit twice that.
        Privacy: sum of squared lengths/(2 variance), as zCDP [CKS20, Thm. 4], [BS16, Lemma 1.7].
        >>> parities = Parities(Domain.binary(1), 1, {(): Fraction(1), (0,): Fraction(1)})
        >>> parities.loss().rho
        Fraction(3, 4)
        """
        steps = Fraction(rows_per_unit * relation.steps)
        total = sum(
            (_length(self.domain, axes) / variance for axes, variance in self.variances.items()),
            Fraction(0),
        )
        return ZCDP(rho=steps**2 * total / 2)

    def release(self, exact: Integers, counts: Integers, bits: BitSource = system) -> "Measured":
        """Measure rows given as places (one column for each attribute) and how often each occurs.

        Privacy: as `loss` says; integers stay integers up to their noise [CKS20, Thm. 4].
        >>> places = np.array([[0, 1], [1, 1]])
        >>> parities = Parities.of(Domain.binary(2), order=1, rho=10)
        >>> sorted(parities.release(places, np.array([3, 4])).noisy)
        [(), (0,), (1,)]
        """
        drawn = self._draw_noise(bits)
        noisy = {}
        for axes in self.variances:
            sizes = tuple(self.domain.sizes[axis] for axis in axes)
            table = count_cells([exact[:, axis] for axis in axes], counts, sizes)
            inner = to_contrasts(table)[(slice(1, None),) * len(axes)]
            noisy[axes] = inner + drawn[axes]
        return Measured(self, noisy)

    def _draw_noise(self, bits: BitSource) -> dict[tuple[int, ...], Integers]:
        """Independent discrete Gaussians; those of one variance are drawn together."""
        sizes = {axes: _squared_norms(self.domain, axes) for axes in self.variances}
        alike: dict[Fraction, int] = {}
        for axes, squares in sizes.items():
            for square, count in zip(*np.unique(squares, return_counts=True), strict=True):
                variance = self.variances[axes] * int(square)
                alike[variance] = alike.get(variance, 0) + int(count)
        drawn = {
            variance: iter(discrete_gaussian(variance=variance, size=count, bits=bits).tolist())
            for variance, count in alike.items()
        }
        noise = {}
        for axes, squares in sizes.items():
            flat = [next(drawn[self.variances[axes] * int(square)]) for square in squares.ravel()]
            noise[axes] = np.array(flat, dtype=np.int64).reshape(squares.shape)
        return noise

    def reshape(self, flat: NDArray[Any]) -> "Measured":
        """Noisy contrasts that were written down one after the other.

        >>> parities = Parities.of(Domain.binary(1), order=1, rho=1)
        >>> parities.reshape(np.array([10, 4])).noisy[(0,)].tolist()
        [4]
        """
        if len(flat) != self.count:
            raise InvalidValue(f"{len(flat)} contrasts are given; there are {self.count}.")
        noisy, start = {}, 0
        for axes in self.variances:
            shape = tuple(self.domain.sizes[axis] - 1 for axis in axes)
            end = start + math.prod(shape)
            noisy[axes] = flat[start:end].reshape(shape)
            start = end
        return Measured(self, noisy)

    def spans(self, predicate: Predicate) -> bool:
        """Whether a question's answer is a combination of what is measured.

        >>> parities = Parities.of(Domain.binary(3), order=1, rho=1)
        >>> wheres = {0: 1}, {0: 1, 1: 1}
        >>> [parities.spans(Predicate.where(where, parities.domain)) for where in wheres]
        [True, False]
        """
        if len(predicate.axes) <= self.order:
            return True
        high = to_contrasts(predicate.mask.astype(np.int64))
        places = np.array(np.nonzero(high))
        return int((places > 0).sum(axis=0).max(initial=0)) <= self.order

    def variance_of(self, predicate: Predicate) -> float:
        """The variance of the answer to a question that is spanned.

        >>> parities = Parities.of(Domain.binary(3), order=1, rho=1)
        >>> parities.variance_of(Predicate.where({0: 1}, parities.domain)) > 0
        True
        """
        parts = _factors(self, predicate)
        return math.fsum(
            float(np.sum(np.square(part) * _squared_norms(self.domain, axes)))
            * float(self.variances[axes])
            for axes, part in parts.items()
        )

    def half_width_of(self, predicate: Predicate) -> float:
        """How far off the answer to a question that is spanned is at most, with at least 95%.

        >>> parities = Parities.of(Domain.binary(3), order=1, rho=Fraction(1, 10**6))
        >>> question = Predicate.where({0: 1}, parities.domain)
        >>> round(parities.half_width_of(question) / math.sqrt(parities.variance_of(question)), 2)
        1.96
        """
        least = min(
            variance * int(_squared_norms(self.domain, axes).min())
            for axes, variance in self.variances.items()
        )
        reach = deviations_95([DiscreteGaussian.of_variance(least)])
        return reach * math.sqrt(self.variance_of(predicate))


@dataclass(frozen=True, slots=True)
class Measured:
    """Noisy contrasts: integers, by sets of attributes."""

    parities: Parities
    noisy: Mapping[tuple[int, ...], NDArray[Any]] = field(repr=False)

    @classmethod
    def combine(cls, parts: Sequence["Measured"]) -> "Measured":
        """Several measurements of the same contrasts as one, each weighted by its precision.

        >>> parities = Parities.of(Domain.binary(1), order=1, rho=1)
        >>> one, two = (Measured(parities, {(): np.array(n), (0,): np.array([n])}) for n in (4, 6))
        >>> float(Measured.combine([one, two]).noisy[()])
        5.0
        """
        if len(parts) == 1:
            return parts[0]
        first = parts[0].parities
        noisy, variances = {}, {}
        for axes in first.variances:
            precisions = [1 / part.parities.variances[axes] for part in parts]
            variances[axes] = 1 / sum(precisions, Fraction(0))
            shares = [float(precision * variances[axes]) for precision in precisions]
            pairs = zip(shares, parts, strict=True)
            noisy[axes] = np.asarray(sum(share * part.noisy[axes] for share, part in pairs))
        return cls(Parities(first.domain, first.order, variances), noisy)

    @property
    def total(self) -> float:
        """The noisy number of rows, at least 1."""
        return max(1.0, float(self.noisy[()]))

    def answer(self, predicate: Predicate) -> float:
        """The unbiased answer to a question that is spanned; its variance is `variance_of`."""
        parts = _factors(self.parities, predicate)
        return math.fsum(float(np.sum(part * self.noisy[axes])) for axes, part in parts.items())


def _length(domain: Domain, axes: tuple[int, ...]) -> Fraction:
    """The squared length of a row's contrasts of these attributes, each contrast at length 1."""
    return math.prod((1 - Fraction(1, domain.sizes[axis]) for axis in axes), start=Fraction(1))


def _weight(domain: Domain, axes: tuple[int, ...], order: int) -> float:
    """How much these contrasts' variance counts, over their squared length.

    The sum over tables that hold the attributes of 1/size^2 for the other attributes of each: an
    elementary symmetric polynomial.
    """
    sums = [1.0] + [0.0] * (order - len(axes))
    for axis, size in enumerate(domain.sizes):
        if axis not in axes and size > 1:
            for degree in range(len(sums) - 1, 0, -1):
                sums[degree] += sums[degree - 1] / size**2
    return sums[-1] if sums[-1] > 0 else 1.0


def _squared_norms(domain: Domain, axes: tuple[int, ...]) -> Integers:
    """The squared lengths of the integer contrasts of these attributes."""
    inner = [norms(domain.sizes[axis])[1:] for axis in axes]
    return reduce(np.multiply.outer, inner, np.int64(1) * np.ones((), dtype=np.int64))


def _factors(
    parities: Parities, predicate: Predicate
) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """What to multiply the measured contrasts by, to get the answer."""
    if not parities.spans(predicate):
        raise InvalidValue(
            f"the question looks at {len(predicate.axes)} attributes in a way that contrasts of "
            f"at most {parities.order} do not determine."
        )
    sizes = [parities.domain.sizes[axis] for axis in predicate.axes]
    scale = reduce(np.multiply.outer, [1 / norms(size) for size in sizes], np.ones(()))
    factors = to_contrasts(predicate.mask.astype(np.int64)) * scale
    parts = {}
    for size in range(min(parities.order, len(predicate.axes)) + 1):
        for axes in combinations(predicate.axes, size):
            if axes in parities.variances:  # an attribute of one value has no contrasts
                inner = tuple(slice(1, None) if axis in axes else 0 for axis in predicate.axes)
                parts[axes] = factors[inner]
    return parts
