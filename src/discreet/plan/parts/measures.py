"""What has to be measured to answer: noisy sums and counts, shared between aggregates.
Each measure knows the exact sensitivity that public bounds imply.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.encoding import encode
from discreet.errors import UnsafeQuery, with_article
from discreet.loss import Relation, Sensitivity
from discreet.plan.parts.pairs import PAIRED, LatticeRange, influence_of_pair, read_together
from discreet.plan.sql.bounds import Bounded
from discreet.plan.sql.expressions import bounded
from discreet.query.algebra import Aggregate, Arithmetic, Expression, Statistic
from discreet.query.identity import QUERY_FORMS
from discreet.schema.column import Column

__all__ = ["Chosen", "Contribution", "Estimator", "Measure", "Measures", "at_least_one_step"]

_MOMENTS = {
    Statistic.AVERAGE: 1,
    Statistic.VARIANCE_SAMPLE: 2,
    Statistic.VARIANCE_POPULATION: 2,
    Statistic.DEVIATION_SAMPLE: 2,
    Statistic.DEVIATION_POPULATION: 2,
}


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one unit can do to the groups of a question; None stands for any number of groups."""

    rows_per_unit: int
    groups_per_unit: int
    groups_in_all: int | None
    relation: Relation

    def of(self, lower: int, upper: int) -> Sensitivity:
        """The sensitivity of sums of values in [lower, upper] by group.

        >>> Contribution(3, 3, 1, Relation.REPLACE).of(-1, 2).l1
        Fraction(9, 1)
        """
        return Sensitivity.of_sum(
            lower=lower,
            upper=upper,
            rows_per_unit=self.rows_per_unit,
            groups_per_unit=self.groups_per_unit,
            groups_in_all=self.groups_in_all,
            relation=self.relation,
        )

    def of_units(self) -> Sensitivity:
        """The sensitivity of the number of distinct units by group.

        >>> Contribution(10, 3, 4, Relation.ADD_REMOVE).of_units().l2_squared
        Fraction(3, 1)
        """
        touched = self.relation.steps * min(self.rows_per_unit, self.groups_per_unit)
        if self.groups_in_all is not None:
            touched = min(touched, self.groups_in_all)
        return Sensitivity(groups=touched, per_group=1)


def at_least_one_step(sensitivity: Sensitivity) -> Sensitivity:
    """What nobody can move is still released with noise, as if one step mattered.

    >>> at_least_one_step(Sensitivity.single(0)).l1
    Fraction(1, 1)
    """
    return sensitivity if sensitivity.l1 else Sensitivity.single(1)


@dataclass(frozen=True, slots=True)
class Measure:
    """One noisy integer per group: a fixed combination of engine columns."""

    name: str
    terms: tuple[tuple[int, str], ...]
    sensitivity: Sensitivity
    step: Fraction

    @property
    def size(self) -> float:
        """How large its noise is at a price of 1, up to a factor that all measures share.

        >>> Measure("n", (), Sensitivity.single(4), Fraction(1, 2)).size
        2.0
        """
        return float(at_least_one_step(self.sensitivity).l2 * self.step)


@dataclass(frozen=True, slots=True)
class Estimator:
    """How an aggregate follows from measures; positions index the plan's measures.

    A ratio is (count, sum of k - centre, sum of (k - centre)^2); k * step is the value and
    [lower, upper] its bounds. A statistic of two values y and x has x in `second`, and as measures
    what `PAIRED` names.
    """

    statistic: Statistic
    positions: tuple[int, ...]
    step: Fraction = Fraction(1)
    centre: int = 0
    lower: int = 0
    upper: int = 0
    second: LatticeRange | None = None

    @property
    def axis(self) -> LatticeRange:
        """The lattice and the bounds of the value."""
        return LatticeRange(self.step, self.centre, self.lower, self.upper)

    def influence(self) -> tuple[float, ...]:
        """How much the error of each measure adds to that of the statistic, up to one factor.

        To first order, and at worst over all values that the bounds allow.
        >>> Estimator(Statistic.AVERAGE, (0, 1), Fraction(1), 5, 0, 10).influence()
        (5.0, 1.0)
        """
        if self.second is not None:
            return influence_of_pair(self.statistic, self.axis, self.second)
        reach = float(self.step * max(self.upper - self.centre, self.centre - self.lower))
        return {1: (1.0,), 2: (reach, 1.0), 3: (3 * reach**2, 2 * reach, 1.0)}[len(self.positions)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """An aggregate that is a selected value: its candidate query and its released column."""

    statistic: Statistic
    pick: int
    position: int


class Measures:
    """Collects the measures a question needs, each of them once."""

    def __init__(
        self, columns: Mapping[str, Column], contribution: Contribution, summed: frozenset[str]
    ) -> None:
        self._columns = columns
        self._contribution = contribution
        self._summed = summed  # engine expressions whose plain sum is asked for as well
        self.found: list[Measure] = []

    def estimator(self, aggregate: Aggregate) -> Estimator:
        """The estimator of an aggregate, adding what it needs."""
        statistic = aggregate.statistic
        if statistic is Statistic.ROWS:
            return Estimator(statistic, (self._rows(),))
        if statistic is Statistic.UNITS:
            sensitivity = self._contribution.of_units()
            terms = ((1, 'COUNT(DISTINCT "$unit")'),)
            return Estimator(
                statistic, (self._add(Measure("units", terms, sensitivity, Fraction(1))),)
            )
        if aggregate.argument is None:
            raise UnsafeQuery(f"{statistic} needs an argument.")
        value = bounded(aggregate.argument, self._columns)
        if statistic is Statistic.VALUES:
            return Estimator(statistic, (self._values(value),))
        if value.kind != "number":
            raise UnsafeQuery(f"{statistic} needs a number, not {with_article(value.kind)}.")
        if statistic is Statistic.SUM:
            place = self._moment(value, 0, 1)
            return Estimator(statistic, (place,), value.step, 0, value.lower, value.upper)
        if statistic in PAIRED:
            return self._pair(aggregate)
        return self._ratio(statistic, value)

    def _ratio(self, statistic: Statistic, value: Bounded) -> Estimator:
        # Around the middle of the bounds a value moves a sum least; if the plain sum is asked
        # for as well, one measure serves both.
        centre = 0 if value.sql in self._summed else (value.lower + value.upper) // 2
        places = [self._values(value)]
        places += [self._moment(value, centre, m) for m in range(1, _MOMENTS[statistic] + 1)]
        return Estimator(statistic, tuple(places), value.step, centre, value.lower, value.upper)

    def _pair(self, aggregate: Aggregate) -> Estimator:
        """Sums over the rows where both are known, each around the middle of its bounds."""
        assert aggregate.argument is not None
        assert aggregate.second is not None
        arguments = [aggregate.argument, aggregate.second]
        # In an order of their own, the same for every engine, so that y by x and x by y share sums.
        ordered = sorted(arguments, key=lambda part: encode(part, QUERY_FORMS))
        *values, known = read_together(*(bounded(part, self._columns) for part in ordered))
        same = ordered == arguments
        y, x = values if same else reversed(values)
        if x.kind != "number":
            raise UnsafeQuery(f"{aggregate.statistic} needs a number, not {with_article(x.kind)}.")
        of_y, of_x = (
            LatticeRange(v.step, (v.lower + v.upper) // 2, v.lower, v.upper) for v in (y, x)
        )
        both = ((y, of_y), (x, of_x)) if same else ((x, of_x), (y, of_y))
        places = {
            "n": lambda: self._values(known),
            "y": lambda: self._moment(y, of_y.centre, 1),
            "x": lambda: self._moment(x, of_x.centre, 1),
            "xy": lambda: self._product(ordered, *both, known),
            "xx": lambda: self._moment(x, of_x.centre, 2),
            "yy": lambda: self._moment(y, of_y.centre, 2),
        }
        positions = tuple(places[name]() for name in PAIRED[aggregate.statistic])
        return Estimator(
            aggregate.statistic, positions, y.step, of_y.centre, y.lower, y.upper, of_x
        )

    def _product(
        self,
        ordered: list[Expression],
        first: tuple[Bounded, LatticeRange],
        second: tuple[Bounded, LatticeRange],
        known: Bounded,
    ) -> int:
        """The sum of (j - centre of j)(k - centre of k), expanded like a moment."""
        (y, of_y), (x, of_x) = first, second
        if y == x:
            return self._moment(x, of_x.centre, 2)
        product = bounded(Arithmetic("*", *ordered), self._columns)
        terms = [
            (1, product.total),
            (-of_x.centre, y.total),
            (-of_y.centre, x.total),
            (of_y.centre * of_x.centre, f"COUNT({known.sql})"),
        ]
        corners = [
            (j - of_y.centre) * (k - of_x.centre)
            for j in (y.lower, y.upper)
            for k in (x.lower, x.upper)
        ]
        return self._add(
            Measure(
                f"sum of products {product.sql}",
                tuple(term for term in terms if term[0]),
                self._contribution.of(min(corners), max(corners)),
                product.step,
            )
        )

    def _rows(self) -> int:
        return self._add(
            Measure("count", ((1, "COUNT(*)"),), self._contribution.of(0, 1), Fraction(1))
        )

    def _values(self, value: Bounded) -> int:
        if value.missing == "never":
            return self._rows()
        terms = ((1, f"COUNT({value.sql})"),)
        name = f"count({value.sql})"
        return self._add(Measure(name, terms, self._contribution.of(0, 1), Fraction(1)))

    def _moment(self, value: Bounded, centre: int, order: int) -> int:
        """The sum of (k - centre)^order, expanded into plain sums that engines add exactly."""
        low, high = value.lower - centre, value.upper - centre
        count, total = f"COUNT({value.sql})", value.total
        if order == 1:
            terms = [(1, total), (-centre, count)]
        else:
            largest = max(value.lower**2, value.upper**2)
            square = replace(value, step=value.step**2, lower=0, upper=largest)
            square = replace(square, sql=f"{square.wide} * {square.wide}")
            terms = [(1, square.total), (-2 * centre, total), (centre**2, count)]
            low, high = (0 if low <= 0 <= high else min(low**2, high**2)), max(low**2, high**2)
        used = tuple(term for term in terms if term[0])
        name = (
            f"sum({value.sql})" if order == 1 and not centre else f"moment {order} of {value.sql}"
        )
        return self._add(Measure(name, used, self._contribution.of(low, high), value.step**order))

    def _add(self, measure: Measure) -> int:
        if measure not in self.found:
            self.found.append(measure)
        return self.found.index(measure)
