"""Counters: a running count or sum over the days of a table, paid for once when it begins.
A bucket of days is read once, and its noise is durable before anything of it is said.
"""

import json
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.curator.programs import Exact, Program, begin, perform, states_of, versions_of
from discreet.curator.session import Session
from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.states import Change, State
from discreet.noise.bits import BitSource
from discreet.rationals import Number
from discreet.streams.counter_design import Design, Point
from discreet.streams.running_sums import Track

__all__ = ["Counter", "KIND"]

KIND = "counter"
"""What a counter is called among the states of a vault."""


@dataclass(frozen=True, slots=True)
class _Body:
    """What a counter keeps. The track is secret."""

    question: str
    schema_version: str
    variance: Fraction
    versions: int | None
    read: tuple[tuple[int, ...], ...]  # the versions of the data it has read
    track: Track

    def to_bytes(self) -> bytes:
        facts = {
            "question": self.question,
            "schema_version": self.schema_version,
            "variance": str(self.variance),
            "versions": self.versions,
            "read": self.read,
            "noisy": [str(each) for each in self.track.noisy],
            "noise": [str(each) for each in self.track.noise],
        }
        return json.dumps(facts).encode()

    @staticmethod
    def of(state: State) -> "_Body":
        if state.kind != KIND:
            raise InvalidValue(
                f"{state.name!r} is a {state.kind}, not a counter; choose another name. "
                "Nothing was run or charged."
            )
        facts: dict[str, Any] = json.loads(state.body)
        noisy, noise = (tuple(map(int, facts[key])) for key in ("noisy", "noise"))
        return _Body(
            facts["question"],
            facts["schema_version"],
            Fraction(facts["variance"]),
            facts["versions"],
            tuple(tuple(each) for each in facts["read"]),
            Track(noisy, noise),
        )


class Counter:
    """A running count or sum over the public buckets of a date, by the square-root factorisation.

    Privacy: the whole counter costs its design's `cost`, charged when it is opened, for the rows
    of one unit in all versions of the data that it may read [FHU23, Thm. 1.3; CKS20, Thm. 4;
    docs/proofs/streams.md]. Without a number of versions it protects single rows (event-level)
    and is refused for tables with a unit.
    >>> Counter.__name__
    'Counter'
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
    ) -> Design:
        """What a counter would cost and how far off it would be. Costs nothing.

        Privacy: none (touches no data).
        >>> Counter.explain.__name__
        'explain'
        """
        return Design.at_price(session, sql, epsilon=epsilon, rho=rho, versions=versions)

    @staticmethod
    def open(
        session: Session,
        sql: str,
        *,
        name: str,
        epsilon: Number | None = None,
        rho: Number | None = None,
        versions: int | None = None,
    ) -> "Counter":
        """Begin a counter and pay for it, or go on with the one of this name.

        The question has one key, a date, and one COUNT or SUM. `versions` is how many states of
        the data it may read in all: with it, the guarantee is for all rows of a unit.
        Privacy: charges the design's `cost`, once [CKS20, Thm. 4].
        >>> Counter.open.__name__
        'open'
        """
        state = states_of(session).newest(name, analyst=session.name)
        if state is not None:
            return Counter._again(session, state, sql, versions)
        design = Counter.explain(session, sql, epsilon=epsilon, rho=rho, versions=versions)
        body = _Body(sql, design.plan.table.version, design.running.variance, versions, (), Track())
        begin(
            session,
            design.plan,
            cost=design.cost,
            label=f"The counter {name}",
            state=Change(
                analyst=session.name, name=name, kind=KIND, version=1, body=body.to_bytes()
            ),
            details={"protects": design.protects},
        )
        return Counter(session, name, design)

    @staticmethod
    def _again(session: Session, state: State, sql: str, versions: int | None) -> "Counter":
        body = _Body.of(state)
        if (sql, versions) != (body.question, body.versions):
            raise InvalidValue(
                f"the counter {state.name!r} asks {body.question!r:.200} with versions="
                f"{body.versions}; choose another name for another question. Nothing was run or "
                "charged."
            )
        design = Design.with_noise(session, sql, variance=body.variance, versions=versions)
        table = design.plan.table
        if table.version != body.schema_version:
            raise Unavailable(
                f"{table.name} has another schema than when the counter {state.name!r} "
                "began; open a new one. Nothing was run or charged."
            )
        return Counter(session, state.name, design)

    @property
    def points(self) -> tuple[Point, ...]:
        """Everything the counter has said.

        Privacy: post-processing.
        >>> Counter.points.fget is not None
        True
        """
        return self.design.points(self._body()[1].track)

    def advance(self, *, upto: date) -> tuple[Point, ...]:
        """Read the buckets that start on this day or before and were not read yet: their points.

        A bucket is read once: come when it is complete.
        Privacy: paid when the counter was opened. What is read is durable before it is said, and
        nothing is said of what is not [CKS20, Thm. 4].
        >>> Counter.advance.__name__
        'advance'
        """
        state, body = self._body()
        done = len(body.track.noisy)
        wanted = sum(start <= upto for start in self.design.buckets)
        if wanted <= done:
            return ()
        now = versions_of(self._session, self.design.plan)
        read = body.read if now in body.read else (*body.read, now)
        if body.versions is not None and len(read) > body.versions:
            raise Unavailable(
                f"the counter {self.name!r} has read {body.versions} versions of "
                f"{self.design.plan.table.name}, as many as were declared; open a new one. "
                "Nothing was run or charged."
            )

        def release(exact: Exact, bits: BitSource) -> Track:
            (measure,) = exact.measures()
            return self.design.running.extend(
                body.track, [int(each) for each in measure[done:wanted]], bits
            )

        program = Program(
            plan=self.design.plan,
            cost=None,  # the opening has paid for every bucket
            label=f"The counter {self.name}",
            release=release,
        )
        _, track = perform(self._session, program, versions=now)
        # Durable before it is said; whoever comes second here learns nothing (Stale).
        states_of(self._session).put(state.next(replace(body, read=read, track=track).to_bytes()))
        return self.design.points(track)[done:]

    def _body(self) -> tuple[State, _Body]:
        state = states_of(self._session).newest(self.name, analyst=self._session.name)
        if state is None:
            raise Unavailable(f"there is no counter {self.name!r}. Nothing was run or charged.")
        return state, _Body.of(state)
