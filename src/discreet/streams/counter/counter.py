"""Counters: a running count or sum over the days of a table, paid for once when it begins.
A point is drawn once, and it is durable before anything of it is said.
"""

from collections.abc import Callable
from datetime import date

from discreet.curator.interrupts import STORED, finishing
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.encoding import Form, Forms
from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.states import State
from discreet.noise.bits import BitSource
from discreet.plan.parts.remarks import Note
from discreet.plan.results.notes import cuts_of
from discreet.rationals import Number, rational
from discreet.streams.counter.design import Design, Reach
from discreet.streams.counter.running_sums import Track
from discreet.streams.counter.state import COUNTERS, CounterState, Point, Stretch
from discreet.streams.service import name_settings

__all__ = ["Counter"]

_FORMS: Forms = {Reach: Form.of("Reach", "versions", "buckets")}


class Counter:
    """A running count or sum over the public buckets of a date, by the square-root factorisation.

    Privacy: the whole counter costs its design's `cost`, charged when it is opened, for the rows
    of one unit in all versions of the data that it may read [FHU23, Thm. 1.3; CKS20, Thm. 4;
    docs/proofs/streams.md]. Without a number of versions it protects single rows (event-level)
    and is refused for tables with a unit.
    """

    __slots__ = ("_session", "design", "name")

    def __init__(self, session: Session, name: str, design: Design) -> None:
        self._session = session
        self.name = name
        self.design = design

    @staticmethod
    def explain(
        session: Session,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        versions: int | None = None,
        buckets: int | None = None,
    ) -> Design:
        """What a counter would cost and how far off it would be. Costs nothing.

        Privacy: reads the schema and the accounts, no row.
        """
        reach = Reach(versions, buckets)
        design = Design.at_price(session, sql, epsilon=epsilon, rho=rho, reach=reach)
        session.check_charge(design.plan, design.cost, label="This counter")
        return design

    @staticmethod
    def open(
        session: Session,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        versions: int | None = None,
        buckets: int | None = None,
        name: str | None = None,
    ) -> "Counter":
        """Begin a counter and pay for it, or go on with the one of this name.

        The question has one key, a date, and one COUNT or SUM. `versions` is how many states of
        the data it may read in all: with it, the guarantee is for all rows of a unit. `buckets`
        is the most that is read of one version: fewer are more exact. Without a name the settings
        are the name, so that the same program goes on where it stopped.
        Privacy: charges the design's `cost`, once [CKS20, Thm. 4].
        """
        reach = Reach(versions, buckets)
        if name is None:
            prices = (None if price is None else rational(price) for price in (epsilon, rho))
            name = name_settings(COUNTERS.kind, sql, *prices, reach, forms=_FORMS)
        begun = COUNTERS.find(session, name)
        if begun is not None and epsilon is None and rho is None:
            return Counter._resume(session, name, begun[1], sql, reach)
        design = Design.at_price(session, sql, epsilon=epsilon, rho=rho, reach=reach)
        if begun is not None:
            again = Counter._resume(session, name, begun[1], sql, reach)
            if again.design != design:
                raise InvalidValue(
                    f"the counter {name!r} was opened at another price; leave the price out, or "
                    "choose another name. Nothing was run or charged."
                )
            return again
        state = CounterState(sql, design.plan.table.version, design.running.variance, reach, ())
        session.prepay(
            design.plan,
            cost=design.cost,
            label=f"The counter {name}",
            state=COUNTERS.first(session, name, state),
            details={"protects": design.protects},
        )
        return Counter(session, name, design)

    @staticmethod
    def _resume(
        session: Session, name: str, state: CounterState, sql: str, reach: Reach
    ) -> "Counter":
        if (sql, reach) != (state.question, state.reach):
            raise InvalidValue(
                f"the counter {name!r} asks {state.question!r:.200} with versions="
                f"{state.reach.versions} and buckets={state.reach.buckets}; choose another name "
                "for another question. Nothing was run or charged."
            )
        design = Design.with_noise(session, sql, variance=state.variance, reach=reach)
        COUNTERS.check_schema(name, design.plan.table, state.schema_version)
        return Counter(session, name, design)

    @property
    def points(self) -> tuple[Point, ...]:
        """Everything the counter has said."""
        return self._read()[1].points(self.design)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is left out of the numbers and bounded."""
        return cuts_of(self.design.plan)

    @finishing(words=STORED)
    def advance(self, *, upto: date) -> tuple[Point, ...]:
        """Read the buckets that start on this day or before and were not read yet: their points.

        A bucket gets its point once: come when it is complete. From a new version of the data all
        earlier buckets are read again, into the first new point. Paid when the counter was opened.
        What is read is durable before it is said, and nothing is said of what is not [CKS20, Thm.
        4].
        """
        written, state = self._read()
        wanted = self.design.buckets_upto(upto)
        if wanted <= state.done:
            return ()
        self._session.check_room()
        now = self._session.read_versions(self.design.plan)
        stretch = state.stretch(now, self.name)
        most = self.design.running.factorisation.steps
        if wanted - stretch.first > most:
            raise Unavailable(
                f"the counter {self.name!r} reads {most} buckets of one version, and these would "
                f"be {wanted - stretch.first}; ask for fewer. Nothing was run or charged."
            )
        measurement = Measurement(
            plan=self.design.plan,
            cost=None,  # the opening has paid for every bucket
            label=f"The counter {self.name}",
            release=self._make_release(stretch, wanted),
        )
        _, track = self._session.measure(measurement, versions=now)
        after = state.with_stretch(Stretch(stretch.versions, stretch.first, track))
        # Durable before it is said; whoever comes second here learns nothing (Stale).
        COUNTERS.put(self._session, written, after)
        return after.points(self.design)[state.done :]

    def _make_release(self, stretch: Stretch, wanted: int) -> Callable[[Exact, BitSource], Track]:
        def release(exact: Exact, bits: BitSource) -> Track:
            (measure,) = exact.measures()
            entries = [int(value) for value in measure[stretch.end : wanted]]
            if not stretch.track.noisy:  # the first point of a version holds all that was before
                entries[0] += sum(int(value) for value in measure[: stretch.first])
            return self.design.running.extend(stretch.track, entries, bits)

        return release

    def _read(self) -> tuple[State, CounterState]:
        return COUNTERS.newest(self._session, self.name)
