"""Monitors: a standing question on changing data, or many questions, for the price of its alarms.
What a check says is durable before it is said; the noisy threshold never leaves the vault.
"""

import contextlib
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreet.curator.interrupts import STORED, finishing
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.encoding import digest
from discreet.errors import InvalidValue, Stale, Unavailable, UnprovableRequest
from discreet.ledger.states import Change, State
from discreet.noise.bits import BitSource, system
from discreet.plan.parts.remarks import Note
from discreet.plan.results.notes import cuts_of
from discreet.query.literals import refuse_unknown_values
from discreet.rationals import Number, rational
from discreet.streams.monitor.design import Design, Form, Watched
from discreet.streams.monitor.state import MONITORS, Check, MonitorState, Side
from discreet.streams.service import retry
from discreet.streams.svt.run import SvtState, exhausted_error

__all__ = ["Monitor"]

_ATTEMPTS = 32  # how often a check that others overtook is made again


class Monitor:
    """Says of a value, again and again, whether it is above a public threshold.

    Privacy: a run costs its design's `cost`, charged when it starts, for any number of checks up
    to its last alarm: under the relation of the table, for the rows of one unit in all versions of
    the data that are checked [LSL17, Thm. 4 and 5], [DR14, Thm. 3.25], docs/proofs/streams.md.
    """

    __slots__ = ("_session", "name")

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self.name = name

    @staticmethod
    def explain(
        session: Session,
        sql: str,
        *,
        threshold: Number,
        alarms: int = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
        numbers: Number | None = None,
    ) -> Design:
        """What a run would cost and how far off its checks would be. Costs nothing.

        Privacy: reads the schema and the accounts, no row.
        """
        prices = {"epsilon": epsilon, "rho": rho, "numbers": numbers}
        design = Design.of(session, sql, threshold=threshold, alarms=alarms, **prices)
        session.check_charge(design.watched.plan, design.cost, label="A run of this monitor")
        return design

    @staticmethod
    def open(
        session: Session,
        sql: str | None = None,
        *,
        threshold: Number | None = None,
        alarms: int = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
        numbers: Number | None = None,
        name: str | None = None,
    ) -> "Monitor":
        """Begin a monitor and pay for its first run, or go on with the one of this name.

        The question has one COUNT or SUM and no groups; `threshold` is public, in its units.
        `epsilon` or `rho` is the price of a whole run of `alarms` alarms; `numbers` is the share
        of it that buys a noisy number with every alarm. Without a name the settings are the name,
        so that the same program goes on where it stopped.
        Privacy: charges the design's `cost` when it is new, nothing when it goes on.
        """
        if sql is None:
            if name is None:
                raise InvalidValue("give a question, or the name of a monitor. Nothing was run.")
            monitor = Monitor(session, name)
            monitor._read()
            return monitor
        if threshold is None:
            raise InvalidValue(
                "a monitor needs a threshold, in the units of its question. Nothing was run or "
                "charged."
            )
        prices = {"epsilon": epsilon, "rho": rho, "numbers": numbers}
        design = Design.of(session, sql, threshold=threshold, alarms=alarms, **prices)
        share = None if numbers is None else rational(numbers, "numbers")
        fresh = MonitorState.begin(design, share, design.technique.begin(system.fresh()))
        monitor = Monitor(session, name or _name_settings(fresh))
        if MONITORS.find(session, monitor.name) is None:
            with contextlib.suppress(Stale):  # somebody else has begun it: nothing was charged
                monitor._start(design, fresh, MONITORS.first(session, monitor.name, fresh))
        monitor._check_settings(fresh)
        return monitor

    @staticmethod
    def names(session: Session) -> tuple[str, ...]:
        """The names of an analyst's monitors, oldest first.

        Privacy: an analyst's own names.
        """
        return MONITORS.names(session)

    def _start(self, design: Design, fresh: MonitorState, state: Change) -> None:
        self._session.prepay(
            design.watched.plan,
            cost=design.cost,
            label=f"Run {fresh.run} of the monitor {self.name}",
            state=state,
            details={"alarms": str(fresh.technique.alarms), "threshold": str(fresh.threshold)},
        )

    def _check_settings(self, wanted: MonitorState) -> None:
        _, state = self._read()
        facts = ("question", "threshold", "price", "numbers")
        same = all(getattr(state, fact) == getattr(wanted, fact) for fact in facts)
        if not same or state.technique.alarms != wanted.technique.alarms:
            raise InvalidValue(
                f"the monitor {self.name!r} asks {state.question!r:.200} with threshold "
                f"{state.threshold} and {state.technique.alarms} alarms; choose another name for "
                "another question or price. Nothing was run or charged."
            )

    def values(self) -> dict[str, Any]:
        """The settings, the alarms and the last check, for JSON; nothing that is secret."""
        return {"name": self.name, **self._read()[1].values()}

    @property
    def alarms(self) -> tuple[Check, ...]:
        """The newest 64 alarms of all runs: also what was counted and, by a crash, not said."""
        return self._read()[1].alarms

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is left out of the value that is compared, and bounded."""
        return self.notes_of(self._read()[1].question)

    def notes_of(self, sql: str) -> tuple[Note, ...]:
        """The same for another question that was checked."""
        return cuts_of(Watched.of(self._session, sql).plan)

    @property
    def alarms_left(self) -> int:
        """How many alarms the run has left."""
        return self._read()[1].alarms_left

    @finishing(words=STORED)
    def check(self, sql: str | None = None, *, threshold: Number | None = None) -> Check:
        """Compare the value as it is now with the threshold: above, which is an alarm, or below.

        Another question may be asked of the same run, with a threshold of its own, if one unit
        moves it no more than the first. Refused when the alarms are used; `renew` begins a run.
        Paid when the run began; what is said is durable before it is said.
        """
        limit = None if threshold is None else rational(threshold, "threshold")
        with contextlib.suppress(Stale):
            return retry(lambda: self._check(sql, limit), attempts=_ATTEMPTS)
        raise Stale(  # outside of a handler: its frames hold what was drawn and not said
            f"the monitor {self.name!r} was overtaken {_ATTEMPTS} times by other checks; try "
            "again. Nothing was said or charged."
        )

    def _check(self, sql: str | None, limit: Fraction | None) -> Check:
        written, state = self._read()
        if state.alarms_left < 1:
            raise exhausted_error(state.technique.alarms)
        watched = Watched.of(self._session, sql or state.question)
        self._admit(watched, state)
        if sql is not None:
            refuse_unknown_values(watched.plan.query, watched.plan.tables)
        return self._compare(written, state, watched, state.threshold if limit is None else limit)

    def _admit(self, watched: Watched, state: MonitorState) -> None:
        """Refuse a question that the run's charge does not cover."""
        if (watched.population, watched.relation) != (state.population, state.relation):
            raise UnprovableRequest(
                f"the run of the monitor {self.name!r} was charged to {state.population} "
                f"({state.relation.value}); this question is about {watched.population} "
                f"({watched.relation.value}). Open another monitor. Nothing was run or charged."
            )
        if watched.sensitivity.linf > state.reach:
            raise UnprovableRequest(
                f"one unit moves this value by up to {watched.sensitivity.linf} steps, and the "
                f"run of the monitor {self.name!r} was charged for {state.reach}. Open another "
                "monitor. Nothing was run or charged."
            )
        if state.form is Form.MONOTONE and watched.form is not Form.MONOTONE:
            raise UnprovableRequest(
                f"the run of the monitor {self.name!r} is for values that every unit only "
                "raises, and this one can fall. Open another monitor. Nothing was run or charged."
            )

    def _compare(
        self, written: State, state: MonitorState, watched: Watched, threshold: Fraction
    ) -> Check:
        self._session.check_room()
        level = watched.level(threshold)

        def release(exact: Exact, bits: BitSource) -> tuple[bool, int | None, SvtState]:
            value = int(exact.measures()[0][0])
            said, after = state.technique.step(state.standing, value, level, bits)
            if isinstance(said, bool):
                return said, None, after
            return said is not None, said, after

        versions = self._session.read_versions(watched.plan)
        measurement = Measurement(
            plan=watched.plan,
            cost=None,  # the run's charge has paid for every check
            label=f"The monitor {self.name}",
            release=release,
        )
        try:
            _, (above, number, after) = self._session.measure(measurement, versions=versions)
        except Unavailable:
            if self._session.read_versions(watched.plan) == versions:
                raise
            raise Stale("the data were refreshed meanwhile. Nothing was said.") from None
        check = Check(
            Side.ABOVE if above else Side.BELOW,
            None if number is None else number * watched.step,
            state.checks + 1,
            state.run,
            state.technique.alarms - after.used,
            watched.plan.question,
            threshold,
            ", ".join(map(str, versions)),
            datetime.now(UTC).isoformat(timespec="seconds"),
        )
        # Written whatever was found, so that a failure to write says nothing of it.
        MONITORS.put(self._session, written, state.record(check, after))
        return check

    @finishing(words=STORED)
    def renew(self) -> None:
        """Begin the next run and pay for it, with the same settings. Refused while alarms are left.

        Charges the `cost` of a run.
        """
        written, state = self._read()
        if state.alarms_left:
            raise InvalidValue(
                f"the monitor {self.name!r} has {state.alarms_left} of {state.technique.alarms} "
                "alarms left; go on checking. Nothing was run or charged."
            )
        design = Design.at_price(
            Watched.of(self._session, state.question),
            state.threshold,
            state.technique.alarms,
            state.price,
            state.numbers,
        )
        standing = design.technique.begin(system.fresh())
        fresh = MonitorState.begin(design, state.numbers, standing, state.run + 1)
        fresh = replace(
            fresh,
            checks=state.checks,
            alarms_in_all=state.alarms_in_all,
            alarms=state.alarms,
            last=state.last,
        )
        self._start(design, fresh, MONITORS.follow(written, fresh))

    def _read(self) -> tuple[State, MonitorState]:
        return MONITORS.newest(self._session, self.name)


def _name_settings(state: MonitorState) -> str:
    """A name made of public settings."""
    facts = (state.question, state.threshold, state.price, state.technique.alarms, state.numbers)
    return f"monitor-{digest(facts)[:16]}"
