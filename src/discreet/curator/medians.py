"""The median of a session's column: by smooth sensitivity, by a choice among public values, or by
propose-test-release. Owns the decision between the first two, which public facts alone make.
"""

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.curator.columns import Axis, values_of
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

__all__ = ["median", "prefers_smooth", "proposed_median"]

_HALF = Fraction(1, 2)
_TAIL = 4  # about where 5% of the smooth noise lies beyond, in scales


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


def prefers_smooth(
    *, points: int, price: Price, relation: Relation, rows_per_unit: int, count: int | None
) -> bool:
    """Whether smooth sensitivity probably errs less than a choice among 4,096 values.

    `points` is how many lattice points the column has. Supposes `count` rows spread evenly; where
    nobody supposes a count, or the column has so few points that the choice is exact, it does not.
    Privacy: none (touches no data); public facts alone decide.
    >>> facts = {"price": Pure(epsilon=1), "relation": Relation.ADD_REMOVE, "rows_per_unit": 1}
    >>> [prefers_smooth(points=10**5, count=count, **facts) for count in (10**3, 10**6, None)]
    [False, True, False]
    """
    width = width_of(0, points - 1)
    if count is None or width == 1:
        return False
    noise, _ = _smooth(price, relation)
    apart = points / max(1, count)
    stretch = max(1.0, 1 / (float(noise.smoothing) * 2.718))  # the largest (k + 1) e^(-k b)
    smooth = _TAIL * rows_per_unit * apart * stretch / float(noise.sliding)
    choice = Quantiles.of_price(
        fractions=(_HALF,),
        sensitivity=Sensitivity.single(rows_per_unit * relation.steps),
        price=price,
        candidates=points // width + 1,
    )
    return smooth < choice.error(Fraction(95, 100)) * apart + width / 2


def median(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    fraction: Number = _HALF,
    epsilon: Number | None = None,
    rho: Number | None = None,
    count: int | None = None,
) -> Estimated[Fraction]:
    """The median, or another quantile, by smooth sensitivity or by `SELECT QUANTILE(...)`.

    Public facts decide between them, see `prefers_smooth`: the width of the column and the `count`
    of rows that the analyst supposes. The answer says which it was.
    Privacy: epsilon-DP or rho-zCDP for the table's unit and relation [NRS07, Sec. 2],
    [MT07, Thm. 6].
    >>> median.__name__
    'median'
    """
    values = values_of(session, table, (column,), where)
    axis = values.axes[0]
    paid = price(session, values.plan, epsilon=epsilon, rho=rho)
    points = _points(session, table, column)
    if not prefers_smooth(
        points=points,
        price=paid,
        relation=values.relation,
        rows_per_unit=values.rows_per_unit,
        count=count,
    ):
        return _chosen(session, table, column, where, fraction, epsilon=epsilon, rho=rho)
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


def _chosen(
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
    sql = (
        f"SELECT QUANTILE({column}, {float(rational(fraction)):.12g}) AS q FROM {table}{condition}"
    )
    answer = session.sql(sql, epsilon=epsilon, rho=rho)
    found = Fraction(str(answer.to_dicts()[0]["q"]))
    return Estimated(found, "exponential mechanism", answer.plan.cost, None)


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
    Privacy: (epsilon, delta)-DP for the table's unit and relation [DL09], [Vad17, Prop. 3.2].
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
