"""The median of a session's column: chosen by rank, by smooth sensitivity, or by
propose-test-release. Owns the decision between the first two, which public facts alone make.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.curator.columns import Axis, Values, values_of
from discreet.curator.estimates import Estimated, delta_for, performed
from discreet.curator.programs import price
from discreet.curator.session import Session
from discreet.loss import Loss, Pure, Relation, Sensitivity, group
from discreet.mechanisms.quantiles import Quantiles
from discreet.noise.bits import BitSource
from discreet.plan.picks import width_of
from discreet.plan.price import Price
from discreet.rationals import Number, rational
from discreet.robust.noise_laplace import LogNormalShape
from discreet.robust.noise_student import StudentShape
from discreet.robust.outcome import Outcome, Refused, Shown
from discreet.robust.propose import ProposeTestRelease
from discreet.robust.quantile import SmoothQuantile
from discreet.robust.reaches import QuantileReach
from discreet.robust.smooth import SmoothNoise

__all__ = ["median", "prefers_smooth", "proposed_median", "smooth_median"]

_HALF = Fraction(1, 2)
_SMOOTH_TAIL, _CHOICE_TAIL = 5, 3.4  # where 5% of the errors lie beyond, in scales: simulated


def _smooth(price: Price, relation: Relation) -> tuple[SmoothNoise, Loss]:
    """Noise for adding or removing one unit, and what it costs for the table's relation.

    A replaced unit may have fewer rows than the one before, so it counts as removed and added:
    two steps [DR14, Thm. 2.2], [BS16, Prop. 1.9].
    """
    steps = relation.steps
    if isinstance(price, Pure):
        noise = StudentShape.priced(epsilon=price.epsilon / steps)
    else:
        noise = LogNormalShape.priced(rho=price.rho / steps**2)
    return noise, group(noise.loss, steps)


def prefers_smooth(*, points: int, price: Price, relation: Relation, rows_per_unit: int) -> bool:
    """Whether smooth sensitivity probably errs less than a choice by rank, on evenly spread rows.

    `points` is how many lattice points the column has; where a choice can name each of them, it
    is preferred. Both errors are proportional to the gap between rows, so their number does not
    matter: a choice errs by a few ranks and by up to one gap at any price, smooth noise by a
    multiple of 1/epsilon^2 gaps. So smooth noise is for large prices.
    Privacy: none (touches no data); public facts alone decide.
    >>> facts = {"points": 10**6, "relation": Relation.ADD_REMOVE, "rows_per_unit": 1}
    >>> [prefers_smooth(price=Pure(epsilon=price), **facts) for price in (1, 5, 20)]
    [False, False, True]
    """
    if width_of(0, points - 1) == 1:
        return False
    noise, _ = _smooth(price, relation)
    stretch = max(1.0, 1 / (float(noise.smoothing) * 2.718))  # the largest (k + 1) e^(-k b)
    smooth = _SMOOTH_TAIL * rows_per_unit * stretch / float(noise.sliding)
    scale = float(_choice(price, rows_per_unit * relation.steps, _HALF, points).scale)
    return smooth < _CHOICE_TAIL * scale + 0.5


def _choice(price: Price, moved: int, fraction: Number, candidates: int) -> Quantiles:
    return Quantiles.of_price(
        fractions=(fraction,),
        sensitivity=Sensitivity.single(moved),
        price=price,
        candidates=candidates,
    )


def median(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    fraction: Number = _HALF,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Estimated[Fraction]:
    """The median, or another quantile, by the mechanism that public facts prefer.

    Columns of up to 4,096 points are asked in SQL. Of wider ones up to 131,072 buckets are read,
    and one is chosen by rank, or smooth noise is added: see `prefers_smooth`. The answer says
    which it was.
    Privacy: epsilon-DP or rho-zCDP for the table's unit and relation [MT07, Thm. 6],
    [NRS07, Sec. 2].
    >>> median.__name__
    'median'
    """
    values = values_of(session, table, (column,), where)
    paid = price(session, values.plan, epsilon=epsilon, rho=rho)
    points = _points(session, table, column)
    if width_of(0, points - 1) == 1:
        return _asked(session, table, column, where, fraction, epsilon=epsilon, rho=rho)
    rows, relation = values.rows_per_unit, values.relation
    if prefers_smooth(points=points, price=paid, relation=relation, rows_per_unit=rows):
        return _smoothed(session, values, fraction, paid)
    axis = values.axes[0]
    choice = _choice(paid, rows * relation.steps, fraction, axis.upper - axis.lower + 1)
    moved = Sensitivity.single(rows * relation.steps)
    cost = choice.pure_loss(moved) if isinstance(paid, Pure) else choice.loss(moved)

    def release(exact: NDArray[Any], bits: BitSource) -> Fraction:
        counts = np.bincount(exact - axis.lower, minlength=axis.upper - axis.lower + 1)
        return axis.value(axis.lower + choice.release(counts, bits)[0])

    return performed(session, values, cost=cost, mechanism="choice by rank", release=release)


def smooth_median(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    fraction: Number = _HALF,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Estimated[Fraction]:
    """The median, or another quantile, by smooth sensitivity whatever public facts prefer.

    Privacy: epsilon-DP or rho-zCDP for the table's unit and relation [NRS07, Sec. 2].
    >>> smooth_median.__name__
    'smooth_median'
    """
    values = values_of(session, table, (column,), where)
    paid = price(session, values.plan, epsilon=epsilon, rho=rho)
    return _smoothed(session, values, fraction, paid)


def _smoothed(
    session: Session, values: Values, fraction: Number, paid: Price
) -> Estimated[Fraction]:
    axis = values.axes[0]
    query = SmoothQuantile(
        fraction=fraction,
        lower=axis.lower,
        upper=axis.upper,
        rows_per_unit=values.rows_per_unit,
    )
    noise, cost = _smooth(paid, values.relation)

    def release(exact: NDArray[Any], bits: BitSource) -> Fraction:
        return axis.value(query.held(noise.release(query.growth(exact), bits)))

    return performed(session, values, cost=cost, mechanism="smooth sensitivity", release=release)


def _points(session: Session, table: str, column: str) -> int:
    known = next(each for each in session._warehouse.tables()[table].columns if each.name == column)
    return known.upper - known.lower + 1


def _asked(
    session: Session,
    table: str,
    column: str,
    where: str,
    fraction: Number,
    *,
    epsilon: Number | None,
    rho: Number | None,
) -> Estimated[Fraction]:
    """The same question in SQL: an exponential mechanism among public values."""
    condition = f" WHERE {where}" if where else ""
    share = f"{float(rational(fraction)):.12g}"
    sql = f"SELECT QUANTILE({column}, {share}) AS q FROM {table}{condition}"
    answer = session.sql(sql, epsilon=epsilon, rho=rho)
    found = rational(answer.to_dicts()[0]["q"])
    return Estimated(found, "SELECT QUANTILE", answer.plan.cost, None)


def proposed_median(
    session: Session,
    table: str,
    column: str,
    *,
    within: Number,
    where: str = "",
    fraction: Number = _HALF,
    epsilon: Number,
    delta: Number | None = None,
) -> Estimated[Outcome[Fraction]]:
    """The median by propose-test-release: noise for a proposed sensitivity, or a refusal.

    `within` proposes how far one unit can move the median, in the column's own terms.
    Privacy: (epsilon, delta)-DP for the table's unit and relation [DL09], [Vad17, Sec. 3.2].
    >>> proposed_median.__name__
    'proposed_median'
    """
    values = values_of(session, table, (column,), where)
    axis = values.axes[0]
    query = QuantileReach(fraction=fraction, lower=axis.lower, upper=axis.upper)
    mechanism = ProposeTestRelease(
        bound=_steps(within, axis),
        epsilon=epsilon,
        delta=delta_for(session, values, delta=delta),
        relation=values.relation,
        rows_per_unit=values.rows_per_unit,
    )

    def release(exact: NDArray[Any], bits: BitSource) -> Outcome[Fraction]:
        found = mechanism.release(exact, query, bits, what=f"the median of {column}")
        if isinstance(found, Refused):
            return found
        return Shown(axis.value(min(max(found.value, axis.lower), axis.upper)))

    name = "propose-test-release"
    return performed(session, values, cost=mechanism.loss(), mechanism=name, release=release)


def _steps(distance: Number, axis: Axis) -> int:
    """A distance in the column's terms as whole steps, at least one."""
    return max(1, int(rational(distance) / axis.unit))
