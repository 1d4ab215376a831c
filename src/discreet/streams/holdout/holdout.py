"""A reusable holdout behind a curator: means of it, asked adaptively, that do not overfit.
A disagreement is durable before it is said, and none is said after they are used.
"""

import contextlib
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from discreet.curator.interrupts import STORED, finishing, handing_over
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.encoding import LOSS_FORMS, Form, Forms
from discreet.errors import InvalidValue, Stale, Unavailable, UnsafeQuery
from discreet.ledger.states import Change, State
from discreet.loss import Price
from discreet.noise.bits import BitSource, system
from discreet.plan.parts.measures import Estimator
from discreet.plan.parts.remarks import Note
from discreet.plan.pipeline import Plan
from discreet.plan.results.notes import cuts_of
from discreet.query.algebra import Scan, Statistic
from discreet.query.literals import refuse_unknown_values
from discreet.rationals import Number, positive, rational, whole
from discreet.schema.names import sql_name
from discreet.streams.holdout.state import HOLDOUTS, HoldoutState, Settings
from discreet.streams.service import choose_table, name_settings, retry
from discreet.streams.svt.run import SvtState, exhausted_error

__all__ = ["Agreement", "Holdout", "Mean"]

_ADDED = (Statistic.ROWS, Statistic.VALUES, Statistic.SUM)
_CONFIDENCE = Fraction(95, 100)
_FORMS: Forms = {
    **LOSS_FORMS,
    Settings: Form.of(
        "Settings", "table", "price", "threshold", "overfits", "reach", "step", "moved"
    ),
}
_MOST_STEPS = 10**12
_ATTEMPTS = 16  # how often a question that others overtook is asked again


class Agreement(StrEnum):
    """Where a mean is from: the training half, because the holdout agreed, or the holdout."""

    TRAINING = "training"
    HOLDOUT = "holdout"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean that can be relied on, and where it is from.

    `half_width` is that of the noise, at 95%; None for the training half's, which has none.
    `notes` say what is left out of the holdout's sum, and bounded.
    >>> Mean(0.31, Agreement.TRAINING, None).source.value
    'training'
    """

    value: float
    source: Agreement
    half_width: float | None
    notes: tuple[Note, ...] = ()


class Holdout:
    """A table that was set aside, to check adaptively found means against, many times.

    Privacy: protects the units of the holdout's table, for the price charged when it was opened
    and any number of adaptive questions [DFHPRR15, Alg. 1], [LSL17, Thm. 4]. The training half is
    the analyst's own: its means are given back as they are, and nothing protects its rows.
    """

    __slots__ = ("_session", "name", "settings")

    def __init__(self, session: Session, name: str, settings: Settings) -> None:
        self._session = session
        self.name = name
        self.settings = settings

    @staticmethod
    @finishing(words=STORED)
    def open(
        session: Session,
        *,
        threshold: Number,
        overfits: int,
        table: str | None = None,
        name: str | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        reach: Number = 1,
        step: Number = 1,
    ) -> "Holdout":
        """Begin and pay, or go on with the one of this name.

        Means that differ by more than `threshold` do not agree; after `overfits` of them no more
        is said. Questions are about values between -reach and reach in multiples of `step`; 1 and
        1 are for fractions of rows. The table is the only one if none is named; without a name the
        settings and the version of the data are the name. A holdout whose number of rows is not
        known, because its measurement failed or is still under way, has it measured again here,
        and is charged for that.
        Privacy: charges the price: a tenth for the noisy number of rows, the rest for the run
        [LSL17, Thm. 4]. A measurement that has begun is spent, stored or not: every look at the
        rows has a charge of its own, and of several the first that is stored is the only one told.
        """
        plan = session.prepare(
            f"SELECT COUNT(*) AS n FROM {sql_name(choose_table(session, table))}"
        )
        known = plan.table
        limit, grain = positive(reach, "reach"), positive(step, "step")
        if (limit / grain).denominator != 1 or limit / grain > _MOST_STEPS:
            raise InvalidValue(
                f"reach is {reach} and step is {step}; reach must be a multiple of step, at most "
                "1e12 of them. Nothing was run or charged."
            )
        settings = Settings(
            known.name,
            session.price(plan, epsilon=epsilon, rho=rho),
            positive(threshold, "threshold"),
            whole(overfits, "overfits"),
            limit,
            grain,
            int(limit / grain) * known.rows_per_unit * known.neighbours.steps,
        )
        if name is None:
            name = name_settings(HOLDOUTS.kind, settings, session.read_versions(plan), forms=_FORMS)
        holdout = Holdout(session, name, settings)
        begun = HOLDOUTS.find(session, name)
        if begun is None:
            holdout._begin(plan)
            return holdout
        written, state = begun
        if state.settings != settings:
            raise InvalidValue(
                f"the holdout {name!r} was opened with other settings; choose another name. "
                "Nothing was run or charged."
            )
        if state.size is None:
            change, cost = written.next(written.body), settings.size_cost(plan)
            with contextlib.suppress(Stale):  # somebody else measures: not run, not charged
                holdout._measure_size(plan, state, change, cost)
        return holdout

    def _begin(self, plan: Plan) -> None:
        state = HoldoutState(
            self.settings,
            plan.table.version,
            self._session.read_versions(plan),
            None,
            self.settings.mechanism.begin(system.fresh()),
        )
        first = HOLDOUTS.first(self._session, self.name, state)
        self._measure_size(plan, state, first, self.settings.cost(plan))

    def _measure_size(self, plan: Plan, state: HoldoutState, begun: Change, cost: Price) -> None:
        """Charge and note it as begun, then learn how many rows there are, with noise."""
        noise = self.settings.size_noise(plan)

        def release(exact: Exact, bits: BitSource) -> int:
            (rows,) = exact.measures()
            return int(noise.release(rows, bits)[0])

        measurement = Measurement(
            plan=plan,
            cost=cost,
            label=f"The holdout {self.name}",
            release=release,
            details={"overfits": str(self.settings.overfits)},
        )
        _, size = self._session.measure(measurement, state=begun, versions=state.versions)
        known = replace(state, size=max(1, size))
        # Follows what was written above and nothing newer, so that no second size is ever stored.
        with contextlib.suppress(Stale):  # overtaken: what was drawn is dropped unseen
            HOLDOUTS.put(self._session, begun, known)

    @property
    def left(self) -> int:
        """How many disagreements are left."""
        return self.settings.overfits - self._read()[1].standing.used

    @handing_over
    def mean(self, sql: str, *, training: Number) -> Mean:
        """The mean of a sum over all rows: the training half's own if the holdout agrees with it.

        The question has one COUNT or SUM and no groups; `training` is the same sum over the
        training half, divided by its rows. Refused when the disagreements are used. Paid when this
        was opened; a disagreement is durable before it is said [DFHPRR15, Alg. 1].
        """
        own = rational(training, "training")
        return retry(lambda: self._mean(sql, own), attempts=_ATTEMPTS)

    def _mean(self, sql: str, own: Fraction) -> Mean:
        written, state = self._read()
        if state.standing.used >= self.settings.overfits:
            raise exhausted_error(self.settings.overfits)
        self._session.check_room()
        plan = self._session.prepare(sql)
        refuse_unknown_values(plan.query, plan.tables)
        factor = self._check_question(plan, state)
        size = state.size
        if size is None:
            raise Unavailable(
                f"the holdout {self.name!r} does not know its size yet. Ask again if it is being "
                "opened; if that failed, open it again, which charges for its size again. Nothing "
                "was run or charged."
            )
        step = self.settings.step
        predicted, allowed = round(own * size / step), round(self.settings.threshold * size / step)

        def release(exact: Exact, bits: BitSource) -> tuple[int | None, SvtState]:
            (values,) = exact.measures()
            return self.settings.mechanism.step(
                state.standing,
                factor * int(values[0]),
                training=predicted,
                threshold=allowed,
                bits=bits,
            )

        measurement = Measurement(
            plan=plan, cost=None, label=f"The holdout {self.name}", release=release
        )
        _, (said, after) = self._session.measure(measurement, versions=state.versions)
        # Written whatever is said: if only disagreements were, a full disk would tell them apart.
        HOLDOUTS.put(self._session, written, replace(state, standing=after))
        if said is None:
            return Mean(float(own), Agreement.TRAINING, None, cuts_of(plan))
        width = self.settings.mechanism.numeric.number_error(_CONFIDENCE)
        scale = float(step / size)
        return Mean(said * scale, Agreement.HOLDOUT, width * scale, cuts_of(plan))

    def _check_question(self, plan: Plan, state: HoldoutState) -> int:
        """How many of our steps one step of the question is; refuses what one unit moves more."""
        (estimator, *others) = (estimator for _, estimator in plan.estimators)
        single = isinstance(estimator, Estimator) and estimator.statistic in _ADDED
        if others or not single or plan.domains or plan.query.source != Scan(self.settings.table):
            raise UnsafeQuery(
                f"a holdout gives the mean of one thing: ask for COUNT(*), COUNT(x) or SUM(x) of "
                f"{self.settings.table}, without groups. Nothing was run or charged."
            )
        HOLDOUTS.check_schema(self.name, plan.table, state.schema_version)
        (measure,) = plan.measures
        factor = measure.step / self.settings.step
        if factor.denominator != 1 or measure.sensitivity.linf * factor > self.settings.moved:
            raise UnsafeQuery(
                f"the values asked about are not within +-{float(self.settings.reach):g} in "
                f"multiples of {float(self.settings.step):g}, for which the holdout {self.name!r} "
                "was opened. Nothing was run or charged."
            )
        return int(factor)

    def _read(self) -> tuple[State, HoldoutState]:
        return HOLDOUTS.newest(self._session, self.name)
