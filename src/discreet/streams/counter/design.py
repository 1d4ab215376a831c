"""What a counter will be, before it is paid for: its question, checked, its noise, its price.
Knows public facts only.
"""

from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from math import ceil

from discreet.curator.session import Session
from discreet.errors import InvalidValue, UnprovableRequest, UnsafeQuery
from discreet.loss import ZCDP
from discreet.plan.parts.measures import Estimator, at_least_one_step
from discreet.plan.pipeline import Plan
from discreet.query.algebra import Scan, Statistic
from discreet.rationals import Number
from discreet.streams.counter.running_sums import RunningSums
from discreet.streams.service import refuse_unseen_changes

__all__ = ["Design", "Reach"]

_CONFIDENCE = Fraction(95, 100)
_COUNTED = (Statistic.ROWS, Statistic.VALUES, Statistic.SUM)
_MOST_VERSIONS = 10_000


@dataclass(frozen=True, slots=True)
class Reach:
    """How long a counter reads: how many versions of the data, how many buckets of each.

    None for versions is a counter that protects single rows; None for buckets is all of them.
    """

    versions: int | None = None
    buckets: int | None = None

    def __post_init__(self) -> None:
        for name, limit in (("versions", self.versions), ("buckets", self.buckets)):
            value: object = limit
            if value is None:
                continue
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not 1 <= value <= _MOST_VERSIONS:  # type: ignore[operator]
                raise InvalidValue(
                    f"{name} is {limit!r}; it must be an integer from 1 to {_MOST_VERSIONS}. "
                    "Nothing was run or charged."
                )
        if self.buckets is not None and self.versions is None:
            raise InvalidValue(
                "buckets are those of one version of the data; give versions too, or leave "
                "buckets out. Nothing was run or charged."
            )


@dataclass(frozen=True, slots=True)
class Design:
    """What a counter will cost and how far off it will be, before anything is paid.

    `running` is the noise of the points that are read from one version.
    Privacy: see `Counter`.
    """

    plan: Plan
    running: RunningSums
    reach: Reach

    @staticmethod
    def at_price(
        session: Session,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        reach: Reach,
    ) -> "Design":
        """The design of a counter at a price.

        Privacy: reads the schema and the accounts, no row.
        """
        plan = _check_question(session.prepare(sql), reach)
        price = session.price(plan, epsilon=epsilon, rho=rho)
        paid = price.require_rho("a counter has Gaussian noise")
        running = RunningSums.at_price(
            rho=paid.rho / (reach.versions or 1),
            steps=_count_steps(plan, reach),
            per_step=_per_step(plan),
            touched=_count_touched(plan),
        )
        return Design(plan, running, reach)

    @staticmethod
    def with_noise(session: Session, sql: str, *, variance: Number, reach: Reach) -> "Design":
        """The design of a counter whose noise was chosen before.

        Privacy: reads the schema and the accounts, no row.
        """
        plan = _check_question(session.prepare(sql), reach)
        return Design(plan, RunningSums(steps=_count_steps(plan, reach), variance=variance), reach)

    @property
    def cost(self) -> ZCDP:
        """What the whole counter costs, however often it is read.

        Privacy: one `RunningSums.loss` for each version that it may read; they add
        [CKS20, Thm. 4; BS16, Lemma 1.7].
        """
        one = self.running.loss(per_step=_per_step(self.plan), touched=_count_touched(self.plan))
        return ZCDP(rho=one.rho * (self.reach.versions or 1))

    @property
    def protects(self) -> str:
        """Whose rows the guarantee is about, in words."""
        table = self.plan.table
        if self.reach.versions is None:
            return f"event-level: one row of {table.name}, which keeps its values once it is there"
        rows = "1 row" if table.rows_per_unit == 1 else f"{table.rows_per_unit} rows"
        return (
            f"unit-level: all rows of one {table.unit or 'row'} of {table.name}, {rows} in each "
            f"of {self.reach.versions} versions of the data"
        )

    @property
    def buckets(self) -> tuple[date, ...]:
        """The first days of all buckets, in order."""
        return tuple(label for label in self.plan.domains[0].labels if isinstance(label, date))

    def buckets_upto(self, upto: date) -> int:
        """How many buckets start on this day, or at this time, or before."""
        moment: object = upto
        if not isinstance(moment, date):
            raise InvalidValue(f"upto is {upto!r:.40}; it must be a date. Nothing was run.")
        # A day holds all of its times.
        last = moment if isinstance(moment, datetime) else datetime.combine(moment, time.max)
        return sum(
            (start if isinstance(start, datetime) else datetime.combine(start, time.min)) <= last
            for start in self.buckets
        )

    @property
    def errors(self) -> tuple[float, ...]:
        """The 95% half-widths of the first, second, ... point that is read from one version."""
        step = float(self.plan.measures[0].step)
        return tuple(step * float(width) for width in self.running.errors(_CONFIDENCE))


def _count_steps(plan: Plan, reach: Reach) -> int:
    return min(len(plan.groups), reach.buckets or len(plan.groups))


def _per_step(plan: Plan) -> Fraction:
    return at_least_one_step(plan.measures[0].sensitivity).linf


def _count_touched(plan: Plan) -> int:
    """How many entries of a stream one unit changes at worst, each by as much as it can."""
    moved = at_least_one_step(plan.measures[0].sensitivity)
    return ceil(moved.l1 / moved.linf)


def _check_question(plan: Plan, reach: Reach) -> Plan:
    """Refuse what is not one count or sum by one date of one table, and units without a bound."""
    (estimator, *others) = (estimator for _, estimator in plan.estimators)
    if others or not isinstance(estimator, Estimator) or estimator.statistic not in _COUNTED:
        raise UnsafeQuery(
            "a counter counts or adds up one thing: ask for COUNT(*), COUNT(x) or SUM(x) alone. "
            "Nothing was run or charged."
        )
    dates = [isinstance(label, date) for domain in plan.domains for label in domain.labels]
    if len(plan.domains) != 1 or not all(dates) or not isinstance(plan.query.source, Scan):
        raise UnsafeQuery(
            "a counter goes along one date of one table: GROUP BY a date column, or DATE_TRUNC of "
            "it, and nothing else. Nothing was run or charged."
        )
    if reach.versions is not None:
        refuse_unseen_changes(plan)
    elif plan.table.unit is not None:
        raise UnprovableRequest(
            "without a number of versions a counter protects single rows, and the unit of "
            f"{plan.table.name} is {plan.table.unit}. Say how many states of the data it may "
            "read (versions=12, say; 1 if the data stay as they are). Nothing was run or "
            "charged."
        )
    return plan
