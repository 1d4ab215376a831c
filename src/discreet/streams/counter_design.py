"""What a counter will be, before it is paid for: its question, checked, its noise, its price.
Knows public facts only.
"""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import ceil

from discreet.curator.programs import planned, price
from discreet.curator.session import Session
from discreet.errors import InvalidValue, UnprovableRequest, UnsafeQuery
from discreet.loss import ZCDP
from discreet.plan.draft import Plan
from discreet.plan.measures import Estimator, noticeable
from discreet.query.algebra import Scan, Statistic
from discreet.rationals import Number
from discreet.streams._pinning import seen_to_change
from discreet.streams.running_sums import RunningSums, Track

__all__ = ["Design", "Point"]

_CONFIDENCE = Fraction(95, 100)
_COUNTED = (Statistic.ROWS, Statistic.VALUES, Statistic.SUM)
_MOST_VERSIONS = 10_000


@dataclass(frozen=True, slots=True)
class Point:
    """A running count or sum: all buckets up to the one that starts on this day.

    Privacy: post-processing of what the counter released.
    >>> Point(date(2024, 1, 1), 12.5, 3.0).value
    12.5
    """

    start: date
    value: float
    half_width: float  # at 95%, for this point by itself


@dataclass(frozen=True, slots=True)
class Design:
    """What a counter will cost and how far off it will be, before anything is paid.

    `versions` is how many states of the data it may read, None for one that protects single rows.
    Privacy: see `Counter`.
    >>> Design.__name__
    'Design'
    """

    plan: Plan
    running: RunningSums
    versions: int | None

    @staticmethod
    def at_price(
        session: Session,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        versions: int | None = None,
    ) -> "Design":
        """The design of a counter at a price.

        Privacy: none (touches no data).
        >>> Design.at_price.__name__
        'at_price'
        """
        plan = _checked(planned(session, sql), versions)
        paid = price(session, plan, epsilon=epsilon, rho=rho)
        if not isinstance(paid, ZCDP):
            raise UnprovableRequest(
                "a counter has Gaussian noise, which a pure budget cannot pay for. Ask the "
                "custodian for a grant with delta. Nothing was run or charged."
            )
        running = RunningSums.at_price(
            rho=paid.rho,
            steps=len(plan.groups),
            per_step=_per_step(plan),
            touched=_touched(plan, versions),
        )
        return Design(plan, running, versions)

    @staticmethod
    def with_noise(
        session: Session, sql: str, *, variance: Number, versions: int | None
    ) -> "Design":
        """The design of a counter whose noise was chosen before.

        Privacy: none (touches no data).
        >>> Design.with_noise.__name__
        'with_noise'
        """
        plan = _checked(planned(session, sql), versions)
        return Design(plan, RunningSums(steps=len(plan.groups), variance=variance), versions)

    @property
    def cost(self) -> ZCDP:
        """What the whole counter costs, however often it is read.

        Privacy: as `RunningSums.loss`, for a unit's rows in all versions [CKS20, Thm. 4].
        >>> Design.cost.fget is not None
        True
        """
        return self.running.loss(per_step=_per_step(self.plan), touched=self.touched)

    @property
    def touched(self) -> int:
        """How many buckets one unit can change, by as much as it can change one.

        Privacy: none (touches no data).
        >>> Design.touched.fget is not None
        True
        """
        return _touched(self.plan, self.versions)

    @property
    def protects(self) -> str:
        """Whose rows the guarantee is about, in words.

        Privacy: none (touches no data).
        >>> Design.protects.fget is not None
        True
        """
        table = self.plan.table
        if self.versions is None:
            return f"event-level: one row of {table.name}, which keeps its values once it is there"
        rows = "1 row" if table.rows_per_unit == 1 else f"{table.rows_per_unit} rows"
        return (
            f"unit-level: all rows of one {table.unit or 'row'} of {table.name}, {rows} in each "
            f"of {self.versions} versions of the data"
        )

    @property
    def buckets(self) -> tuple[date, ...]:
        """The first days of all buckets, in order.

        Privacy: none (touches no data).
        >>> Design.buckets.fget is not None
        True
        """
        return tuple(each for each in self.plan.domains[0].labels if isinstance(each, date))

    @property
    def errors(self) -> tuple[float, ...]:
        """The 95% half-width of every point.

        Privacy: none (touches no data).
        >>> Design.errors.fget is not None
        True
        """
        step = float(self.plan.measures[0].step)
        return tuple(step * float(each) for each in self.running.errors(_CONFIDENCE))

    def points(self, track: Track) -> tuple[Point, ...]:
        """What a track says.

        Privacy: post-processing.
        >>> Design.points.__name__
        'points'
        """
        step = float(self.plan.measures[0].step)
        sums = [step * float(each) for each in self.running.sums(track)]
        found = zip(self.buckets, sums, self.errors, strict=False)
        return tuple(Point(start, value, width) for start, value, width in found)


def _per_step(plan: Plan) -> Fraction:
    return noticeable(plan.measures[0].sensitivity).linf


def _touched(plan: Plan, versions: int | None) -> int:
    moved = noticeable(plan.measures[0].sensitivity)
    return min(len(plan.groups), ceil(moved.l1 / moved.linf * (versions or 1)))


def _checked(plan: Plan, versions: int | None) -> Plan:
    """Refuse what is not one count or sum by one date of one table, and units without a bound."""
    (estimator, *others) = (made for _, made in plan.estimators)
    if others or not isinstance(estimator, Estimator) or estimator.statistic not in _COUNTED:
        raise UnsafeQuery(
            "a counter counts or adds up one thing: ask for COUNT(*), COUNT(x) or SUM(x) alone. "
            "Nothing was run or charged."
        )
    dates = [isinstance(label, date) for each in plan.domains for label in each.labels]
    if len(plan.domains) != 1 or not all(dates) or not isinstance(plan.query.source, Scan):
        raise UnsafeQuery(
            "a counter goes along one date of one table: GROUP BY a date column, or DATE_TRUNC of "
            "it, and nothing else. Nothing was run or charged."
        )
    given: object = versions
    if given is None:
        if plan.table.unit is not None:
            raise UnprovableRequest(
                "without a number of versions a counter protects single rows, and the unit of "
                f"{plan.table.name} is {plan.table.unit}. Say how many states of the data it may "
                "read (versions=12, say; 1 if the data stay as they are). Nothing was run or "
                "charged."
            )
    elif isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= _MOST_VERSIONS:
        raise InvalidValue(
            f"versions is {versions!r}; it must be an integer from 1 to {_MOST_VERSIONS}. Nothing "
            "was run or charged."
        )
    else:
        seen_to_change(plan)
    return plan
