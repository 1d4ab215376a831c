"""Joint sensitivity: adaptive counts and sums, all with one size of noise, for as long as one unit
cannot move all of them together by more than was paid for. Refusals depend on questions alone.
"""

import threading
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.curator.interrupts import STORED, finishing
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.errors import InvalidValue
from discreet.ledger.states import State
from discreet.loss import Pure, Relation
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource
from discreet.plan.parts.keys import Label
from discreet.plan.parts.measures import Estimator
from discreet.plan.parts.remarks import Note
from discreet.plan.pipeline import Plan
from discreet.query.algebra import Aggregate, Query
from discreet.query.literals import refuse_unknown_values
from discreet.rationals import Number, positive
from discreet.schema.names import sql_name
from discreet.schema.table import Table
from discreet.streams.joint.cells import Cells, chosen_columns
from discreet.streams.joint.state import JOINTS, JointState
from discreet.streams.service import choose_table, name_settings, refuse_unseen_changes

__all__ = ["Joint", "Reading"]

_CONFIDENCE = Fraction(95, 100)
_MOST = 10**18


@dataclass(frozen=True, slots=True)
class Reading:
    """The noisy answer to one question: rows of keys and values, and how far off each column is.

    >>> Reading("SELECT", ({"n": 4},), {"n": 3.0}).rows[0]["n"]
    4
    """

    question: str
    rows: tuple[dict[str, Label], ...]
    half_widths: dict[str, float]  # at 95%, for each number by itself
    notes: tuple[Note, ...] = ()  # what is left out and bounded, and what errors are about


class Joint:
    """Adaptive counts and sums with Laplace noise of scale sensitivity/epsilon on every number.

    It answers while the joint L1 sensitivity of everything asked stays within `sensitivity`, so
    questions about disjoint cells cost nothing extra. It stays with one version of the data.
    Privacy: epsilon-DP for the unit and relation of the table, charged when it is opened, for any
    adaptive choice of questions [DMNS06, Thm. 3.4].
    """

    __slots__ = ("_body", "_cells", "_lock", "_queries", "_session", "name")

    def __init__(self, session: Session, name: str, body: JointState, table: Table) -> None:
        self._session = session
        self.name = name
        self._body = body
        self._cells = Cells(table, body.columns)
        self._queries: list[Query] = []
        self._lock = threading.Lock()  # a question is checked against the cells it is counted in
        self._follow(body)

    @staticmethod
    def open(
        session: Session,
        *,
        epsilon: Number,
        sensitivity: Number,
        table: str | None = None,
        name: str | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> "Joint":
        """Begin and pay, or go on with the one of this name.

        `sensitivity` is the most that one unit may move all answers together, counts as 1 and
        sums in the units of their column. `columns` are those whose cells are kept apart; by
        default as many as can be, the small ones first. The table is the only one if none is
        named; without a name the settings and the version of the data are the name.
        Privacy: charges epsilon, once [DMNS06, Thm. 3.4].
        """
        plan = session.prepare(
            f"SELECT COUNT(*) AS n FROM {sql_name(choose_table(session, table))}"
        )
        known, versions = plan.table, session.read_versions(plan)
        budget, reach = positive(epsilon, "epsilon"), positive(sensitivity, "sensitivity")
        if name is None:
            name = name_settings(JOINTS.kind, known.name, versions, budget, reach, columns)
        begun = JOINTS.find(session, name)
        if begun is not None:
            return Joint._resume(session, name, begun[1], known, budget, reach)
        refuse_unseen_changes(plan)
        if reach > _MOST:
            raise InvalidValue(f"sensitivity is {sensitivity}; the limit is 1e18. Nothing was run.")
        named = chosen_columns(known) if columns is None else columns
        body = JointState(
            table=known.name,
            schema_version=known.version,
            columns=tuple(known.column(column).name for column in named),
            versions=versions,
            epsilon=budget,
            sensitivity=reach,
            questions=(),
            answers=(),
        )
        joint = Joint(session, name, body, known)
        session.prepay(
            plan,
            cost=Pure(epsilon=budget),
            label=f"Joint questions {name}",
            state=JOINTS.first(session, name, body),
            details={"sensitivity": str(reach)},
        )
        return joint

    @staticmethod
    def _resume(
        session: Session,
        name: str,
        body: JointState,
        table: Table,
        epsilon: Fraction,
        sensitivity: Fraction,
    ) -> "Joint":
        if (body.table, body.epsilon, body.sensitivity) != (table.name, epsilon, sensitivity):
            raise InvalidValue(
                f"{name!r} is about {body.table} with epsilon={float(body.epsilon):g} and "
                f"sensitivity={float(body.sensitivity):g}; choose another name for another. "
                "Nothing was run or charged."
            )
        JOINTS.check_schema(name, table, body.schema_version)
        return Joint(session, name, body, table)

    @property
    def sensitivity(self) -> Fraction:
        """The joint sensitivity of everything asked so far, or an upper bound (see `exact`)."""
        return self._cells.per_row * self._weight

    @property
    def exact(self) -> bool:
        """Whether `sensitivity` is the joint sensitivity itself and not an upper bound of it.

        It is a bound where a question depended on columns without cells, and where units are
        replaced.
        """
        return self._cells.exact and self._cells.table.neighbours is Relation.ADD_REMOVE

    @property
    def _weight(self) -> int:
        """How many rows of one cell one unit can add or take away."""
        return self._cells.table.rows_per_unit * self._cells.table.neighbours.steps

    @finishing(words=STORED)
    def ask(self, sql: str) -> Reading:
        """Answer a question, or refuse it if the joint sensitivity would exceed its limit.

        The question counts before a row is read. The same question again gives the same answer.
        Paid when this was opened; a refusal depends on the questions alone [DMNS06, Thm. 3.4].
        """
        with self._lock:
            return self._answer(sql)

    def _answer(self, sql: str) -> Reading:
        plan = self._session.prepare(sql)
        state = self._read()
        if plan.tables[0].name == self._body.table:
            JOINTS.check_schema(self.name, plan.tables[0], self._body.schema_version)
        queries = self._queries
        place = queries.index(plan.query) if plan.query in queries else len(queries)
        body, noisy = self._body, None
        if place < len(queries):
            noisy = body.answers[place]
        else:
            refuse_unknown_values(plan.query, plan.tables)
            self._count_in(plan, body)
            body = replace(body, questions=(*body.questions, sql), answers=(*body.answers, None))
        if noisy is None:
            try:
                self._session.check_room()
                noisy = self._measure(plan, state, body, place)
            except BaseException:
                self._forget()  # what is durable counts; it is read again with the next question
                raise
        return self._make_reading(sql, plan, noisy)

    def _measure(self, plan: Plan, state: State, body: JointState, place: int) -> list[list[int]]:
        """Store the question, read, store the answer; only then may it be shown."""
        noises = [self._noise(measure.step) for measure in plan.measures]

        def release(exact: Exact, bits: BitSource) -> list[list[int]]:
            pairs = zip(noises, exact.measures(), strict=True)
            return [[int(value) for value in noise.release(part, bits)] for noise, part in pairs]

        measurement = Measurement(
            plan=plan, cost=None, label=f"Joint questions {self.name}", release=release
        )
        change = JOINTS.follow(state, body)
        _, noisy = self._session.measure(measurement, state=change, versions=body.versions)
        answers = (*body.answers[:place], noisy, *body.answers[place + 1 :])
        self._body = replace(body, answers=answers)
        JOINTS.put(self._session, change, self._body)
        return noisy

    def _noise(self, step: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(scale=self._body.sensitivity / (step * self._body.epsilon))

    def _read(self) -> State:
        state, body = JOINTS.newest(self._session, self.name)
        self._follow(body)
        return state

    def _forget(self) -> None:
        self._cells = Cells(self._cells.table, self._body.columns)
        self._queries = []

    def _follow(self, body: JointState) -> None:
        """Count in the questions that others have asked meanwhile."""
        self._body = body
        for sql in body.questions[len(self._queries) :]:
            self._count_in(self._session.prepare(sql), body)

    def _count_in(self, plan: Plan, body: JointState) -> None:
        by_measure = {
            estimator.positions[0]: aggregate
            for aggregate, estimator in plan.estimators
            if isinstance(estimator, Estimator)
        }
        measured = [by_measure[place] for place in sorted(by_measure)]
        self._cells.add(plan.query, measured, limit=body.sensitivity / self._weight)
        self._queries.append(plan.query)

    def _make_reading(self, sql: str, plan: Plan, noisy: list[list[int]]) -> Reading:
        keys = [
            domain.name_codes(codes)
            for domain, codes in zip(plan.domains, zip(*plan.groups, strict=True), strict=True)
        ]
        names = [domain.name for domain in plan.domains]
        columns: dict[str, list[Label]] = dict(zip(names, keys, strict=True))
        widths, estimators = {}, dict(plan.estimators)
        for output in plan.query.outputs:
            assert isinstance(output.expression, Aggregate)  # counted in, so checked
            estimator = estimators[output.expression]
            assert isinstance(estimator, Estimator)
            place = estimator.positions[0]
            step = plan.measures[place].step
            columns[output.name] = [_number(value * step) for value in noisy[place]]
            widths[output.name] = self._noise(step).error(_CONFIDENCE) * float(step)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return Reading(sql, tuple(rows), widths, plan.notes)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
