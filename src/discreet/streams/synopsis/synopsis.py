"""The synopsis as a service: contrasts are measured when it opens and answer what they span; every
other question is compared with the data by a prepaid threshold run, and measured where that ends.
What it holds in memory besides its state was released; exact counts stay inside measurements.
"""

import threading
from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np

from discreet.curator.interrupts import STORED, finishing
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.errors import Stale
from discreet.ledger.states import State
from discreet.linear.predicates import Predicate
from discreet.loss import ZCDP, Sensitivity
from discreet.noise.bits import BitSource
from discreet.plan.pipeline import Plan
from discreet.rationals import Number, ceil_decimal
from discreet.schema.names import sql_name
from discreet.streams.hypothesis.parities import Measured, Parities
from discreet.streams.service import retry
from discreet.streams.svt.run import SvtState
from discreet.streams.synopsis.epochs import Epoch
from discreet.streams.synopsis.opening import Asked, check_same
from discreet.streams.synopsis.questions import Questions
from discreet.streams.synopsis.snapshot import Estimate, Snapshot, Update
from discreet.streams.synopsis.state import SYNOPSES, Release, SynopsisState

__all__ = ["Synopsis"]

_CONFIDENCE = Fraction(95, 100)
_MEASURING_SECONDS = Fraction(2)
_ATTEMPTS = 5  # where others move the same synopsis on at the same time


class Synopsis:
    """Answers COUNT(*) questions over some columns of a table, most of them free.

    Contrasts of at most `order` columns are measured when it opens and answer whatever they span.
    Another question is answered by the hypothesis while that is within about `alpha` of all rows,
    as a threshold run says; where it is not, a round measures the answer and the hypothesis learns
    it. Every round is paid before its first question, from the rest of the price. It stays with
    one version of the data.
    Privacy: all of it together costs epsilon at most, for the unit and relation of the table,
    whatever is asked [XHZK23], [HR10].
    """

    __slots__ = (
        "_body",
        "_epochs",
        "_lock",
        "_plan",
        "_questions",
        "_session",
        "_state",
        "name",
        "snapshot",
    )

    def __init__(
        self, session: Session, plan: Plan, state: State, questions: Questions, body: SynopsisState
    ) -> None:
        self._session = session
        self._plan = plan
        self._questions = questions
        self._lock = threading.Lock()
        self._epochs: dict[int, Epoch] = {}
        self.name = state.name
        self._state = state
        self._body = body
        if body.releases[-1].noisy is None:  # it stopped between the charge and the measurement
            self._measure()
        self.snapshot = self._take_snapshot()

    @staticmethod
    def open(
        session: Session,
        columns: tuple[str, ...] | list[str],
        *,
        table: str | None = None,
        name: str = "synopsis",
        alpha: Number,
        epsilon: Number,
        order: int = 3,
        queries: int = 10_000,
        reserve: Number = Fraction(1, 4),
    ) -> "Synopsis":
        """Begin, pay and measure, or go on with the one of this name.

        Without a `table` it is the one that has the columns, if there is just one.
        `order` is how many columns at a time are measured ahead, fewer where there are fewer;
        `queries` how many comparisons a round is made for, which is a promise about errors and no
        limit; `reserve` the share of the price that is kept for rounds. What they do not use,
        `finish` spends on the contrasts.
        Privacy: charges what epsilon buys, less the reserve, now, and the rest round by round.
        """
        asked = Asked(
            table=table,
            columns=tuple(columns),
            alpha=alpha,
            epsilon=epsilon,
            order=order,
            queries=queries,
            reserve=reserve,
        )
        plan, questions, body = asked.prepare(session)
        newest = SYNOPSES.find(session, name)
        if newest is None:
            session.prepay(
                plan,
                cost=ZCDP(rho=body.spent),
                label=f"Synopsis {name}",
                state=SYNOPSES.first(session, name, body),
                details={"synopsis": f"contrasts of at most {body.order} columns"},
            )
        state, begun = newest or SYNOPSES.newest(session, name)
        return Synopsis(session, plan, state, questions, check_same(name, begun, body))

    @staticmethod
    def resume(session: Session, name: str) -> "Synopsis":
        """Go on with a synopsis that was opened before, as it was opened.

        Privacy: none by itself; nothing new is charged.
        """
        state, body = SYNOPSES.newest(session, name)
        plan, questions, wanted = Asked(**body.arguments()).prepare(session)
        return Synopsis(session, plan, state, questions, check_same(name, body, wanted))

    @staticmethod
    def load(path: str | Path) -> Snapshot:
        """Read the public file of a synopsis; it answers without a curator.

        >>> Synopsis.load("no such file")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: no such file: no synopsis can be read there.
        """
        return Snapshot.load(path)

    @property
    def spent(self) -> Fraction:
        """The rho that was charged so far."""
        return self._body.spent

    @property
    def rounds_left(self) -> int:
        """How many rounds the rest of the price pays for, the one under way included."""
        if self._body.finished:
            return 0
        further = int((self._body.rho - self._body.spent) / self._round_cost().rho)
        return further + (self._body.standing is not None)

    @finishing(words=STORED)
    def query(self, sql: str) -> Estimate:
        """How many rows a condition holds for: SELECT COUNT(*) FROM table WHERE ...

        What contrasts span, and what the hypothesis answers, is post-processing; a round is charged
        when it begins. Comparisons within it are paid for [DR14, Thm. 3.23].
        """
        predicate = self._questions.ask(sql)
        with self._lock:
            return retry(lambda: self._answer(sql, predicate), attempts=_ATTEMPTS)

    def _answer(self, sql: str, predicate: Predicate) -> Estimate:
        estimate = self.snapshot.answer(predicate)
        if estimate.source == "hypothesis":
            self._follow()
            estimate = self.snapshot.answer(predicate)
        if estimate.source != "hypothesis":
            return estimate
        self._session.check_room()
        if not self._begin_round():
            return estimate
        return self._compare(sql, predicate, estimate)

    def finish(self) -> Snapshot:
        """Spend what is left on measuring the contrasts again, and end: the final hypothesis.

        Answers that were deferred are best asked of it. Charges the rest of the price; what is
        returned is public.
        """
        with self._lock:
            self._follow()
            if not self._body.finished:
                self._session.check_room()
                rest = self._body.rho - self._body.spent
                body = replace(self._body, standing=None, finished="yes")
                if rest > 0:
                    loss = self._make_parities(rest).loss(
                        rows_per_unit=self._plan.table.rows_per_unit,
                        relation=self._plan.table.neighbours,
                    )
                    cost = ZCDP(rho=min(ceil_decimal(loss.rho), rest))
                    body = replace(
                        body,
                        spent=body.spent + cost.rho,
                        releases=(*body.releases, Release(rho=rest, noisy=None)),
                    )
                    self._charge(cost, body, "the last measurement")
                    self._measure()
                else:
                    self._keep(body)
                self.snapshot = self._take_snapshot()
            return self.snapshot

    def save(self, path: str | Path) -> None:
        """Write the public synopsis to a file, to be read by `Synopsis.load`.

        The file may be published.
        """
        self.snapshot.save(path)

    def _make_parities(self, rho: Fraction) -> Parities:
        return Parities.of(
            self._questions.domain,
            order=self._body.order,
            rho=rho,
            rows_per_unit=self._plan.table.rows_per_unit,
            relation=self._plan.table.neighbours,
        )

    def _combine_releases(self) -> Measured:
        return Measured.combine(
            [
                self._make_parities(release.rho).reshape(np.array(release.noisy, dtype=np.int64))
                for release in self._body.releases
                if release.noisy is not None
            ]
        )

    def _take_snapshot(self) -> Snapshot:
        return Snapshot(
            self._questions,
            self._combine_releases(),
            updates=self._body.updates,
            data_versions=self._body.versions,
        )

    def _measure(self) -> None:
        """Read what was paid for; it is used only after it is kept."""
        parities = self._make_parities(self._body.releases[-1].rho)

        def release(exact: Exact, bits: BitSource) -> tuple[int, ...]:
            places, (counts,) = exact.cells()
            noisy = parities.release(places, np.asarray(counts, dtype=np.int64), bits).noisy
            return tuple(int(value) for part in noisy.values() for value in np.ravel(part))

        measurement = Measurement(
            plan=self._plan,
            cost=None,
            label=f"Synopsis {self.name}",
            release=release,
            seconds=_MEASURING_SECONDS,
        )
        _, noisy = self._session.measure(measurement, versions=self._body.versions)
        done = replace(self._body.releases[-1], noisy=noisy)
        try:
            self._keep(replace(self._body, releases=(*self._body.releases[:-1], done)))
        except Stale:  # somebody else measured it meanwhile; what was drawn here stays unseen
            state, body = SYNOPSES.newest(self._session, self.name)
            if body.releases[-1].noisy is None:
                raise
            self._state, self._body = state, body

    @property
    def _sensitivity(self) -> Sensitivity:
        """How far one unit moves one count, whichever way units are neighbours."""
        return Sensitivity.single(self._plan.table.rows_per_unit)

    def _epoch(self) -> Epoch:
        threshold = max(1, round(self._body.alpha * Fraction(self.snapshot.total)))
        return Epoch.of(
            threshold=threshold, queries=self._body.queries, sensitivity=self._sensitivity
        )

    def _round_cost(self) -> ZCDP:
        return ZCDP(rho=ceil_decimal(self._epoch().loss(self._sensitivity).rho))

    def _begin_round(self) -> bool:
        """A round is under way, or begins and is charged now, if the price still pays for it."""
        if self._body.standing is not None or self._body.finished:
            return not self._body.finished
        epoch, cost = self._epoch(), self._round_cost()
        if self._body.spent + cost.rho > self._body.rho:
            return False
        standing = epoch.above.begin()
        body = replace(self._body, spent=self._body.spent + cost.rho, standing=standing.noise)
        self._charge(cost, body, f"round {len(self._body.updates) + 1}")
        return True

    def _compare(self, sql: str, predicate: Predicate, estimate: Estimate) -> Estimate:
        assert self._body.standing is not None
        epoch, predicted = self._epoch(), round(estimate.value)
        standing = SvtState(noise=self._body.standing, used=0)

        def release(exact: Exact, bits: BitSource) -> int | None:
            places, (counts,) = exact.cells()
            counted = int(np.asarray(counts, dtype=np.int64)[predicate.mask[tuple(places.T)]].sum())
            return epoch.step(standing, counted, predicted=predicted, bits=bits)[0]

        measurement = Measurement(
            plan=self._plan_count(predicate),
            cost=None,
            label=f"Synopsis {self.name}",
            release=release,
        )
        _, noisy = self._session.measure(measurement, versions=self._body.versions)
        if noisy is None:
            # Written for both outcomes: a full disk must not tell them apart.
            self._keep(self._body)
            return replace(estimate, half_width=epoch.error(_CONFIDENCE), source="near")
        update = Update(sql, noisy, epoch.noise.standard_deviation)
        # The round has ended once this is kept; before, its answer is not told.
        self._keep(replace(self._body, updates=(*self._body.updates, update), standing=None))
        self.snapshot = self.snapshot.with_update(update)
        return self.snapshot.answer(predicate)

    def _plan_count(self, predicate: Predicate) -> Plan:
        """The statement that counts the combinations a predicate looks at."""
        columns = self._questions.table.columns
        keys = ", ".join(sql_name(columns[axis].name) for axis in predicate.axes)
        others = [
            f"{sql_name(column.name)} IS NOT NULL"
            for axis, column in enumerate(columns)
            if column.nullable and axis not in predicate.axes
        ]
        where = f" WHERE {' AND '.join(others)}" if others else ""
        name = sql_name(self._body.table)
        sql = f"SELECT {keys}, COUNT(*) AS n FROM {name}{where} GROUP BY {keys}"
        return self._session.prepare(sql, most_groups=prod(predicate.mask.shape))

    def _charge(self, cost: ZCDP, body: SynopsisState, what: str) -> None:
        self._session.prepay(
            self._plan,
            cost=cost,
            label=f"Synopsis {self.name}",
            state=SYNOPSES.follow(self._state, body),
            details={"synopsis": what},
        )
        self._state = replace(self._state, version=self._state.version + 1, body=body.to_bytes())
        self._body = body

    def _keep(self, body: SynopsisState) -> None:
        self._state = SYNOPSES.put(self._session, self._state, body)
        self._body = body

    def _follow(self) -> None:
        """See what others have done with the same synopsis meanwhile."""
        state, body = SYNOPSES.newest(self._session, self.name)
        if state.version != self._state.version:
            before, self._state, self._body = self._body, state, body
            if (before.releases, before.updates) != (self._body.releases, self._body.updates):
                self.snapshot = self._take_snapshot()
