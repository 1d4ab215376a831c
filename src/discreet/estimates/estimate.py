"""A robust estimate as a measurement: rows of columns in, one charged release out.
Owns the answer's type and the way through the session; which mechanism it is, others decide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypedDict, TypeVar

from numpy.typing import NDArray

from discreet.curator.answer import Receipt as Asked
from discreet.curator.interrupts import handing_over
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.errors import UnprovableRequest
from discreet.estimates.columns import Values, rows_of
from discreet.ledger.entry import Receipt
from discreet.loss import Loss, Relation
from discreet.noise.bits import BitSource
from discreet.plan.parts.remarks import Note
from discreet.plan.results.notes import cuts_of
from discreet.rationals import Number
from discreet.robust.tested.outcome import Outcome, Refused, Shown
from discreet.robust.tested.propose import ProposeTestRelease, ReachQuery

__all__ = ["Estimated", "find_terms", "measure_values", "propose", "restate"]

_SECONDS = Fraction(5)  # what a mechanism over sorted rows may take

_Result = TypeVar("_Result")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Estimated(Generic[_Result]):
    """A released estimate in the column's own terms, how it was made, and its charge.

    What was asked in SQL has the receipt of its answer. `notes` say what is cut and clamped, from
    schema and question alone.
    Privacy: post-processing of one charged release.
    """

    value: _Result
    mechanism: str
    cost: Loss
    receipt: Receipt | Asked | None
    notes: tuple[Note, ...] = ()


class _Terms(TypedDict):
    """What a mechanism that may refuse has to know: its price, who is protected, and how."""

    epsilon: Number
    delta: Fraction
    relation: Relation
    rows_per_unit: int


def find_terms(
    session: Session, values: Values, *, epsilon: Number, delta: Number | None
) -> _Terms:
    """The terms of a release of these values.

    Privacy: refused under a pure budget.
    """
    chosen = session.choose_delta(values.plan, delta=delta)
    if chosen is None:
        raise UnprovableRequest(
            "this estimate may fail with a probability delta, and the budget is pure. Ask the "
            "custodian for a grant with delta, or take median or clustered. Nothing was run or "
            "charged."
        )
    return {
        "epsilon": epsilon,
        "delta": chosen,
        "relation": values.relation,
        "rows_per_unit": values.rows_per_unit,
    }


@handing_over
def measure_values(
    session: Session,
    values: Values,
    of: str,
    mechanism: str,
    cost: Loss,
    release: Callable[[Exact, BitSource], _Result],
) -> Estimated[_Result]:
    """Charge and run one measurement over counted values; `of` says of which columns.

    Privacy: `release` must cost at most `cost`; it is charged before the engine runs.
    """
    measurement = Measurement(
        plan=values.plan,
        cost=cost,
        label=f"The robust estimate of {values.plan.tables[0].name}.{of}",
        release=release,
        details={"mechanism": mechanism},
        seconds=_SECONDS,
    )
    receipt, estimate = session.measure(measurement)
    return Estimated(estimate, mechanism, cost, receipt, cuts_of(values.plan))


def restate(outcome: Outcome[_Value], make: Callable[[_Value], _Result]) -> Outcome[_Result]:
    """What was shown in other terms; a refusal stays one.

    >>> restate(Shown(3), lambda steps: steps * 10)
    Shown(value=30)
    """
    return outcome if isinstance(outcome, Refused) else Shown(make(outcome.value))


def propose(
    session: Session,
    values: Values,
    query: ReachQuery,
    *,
    bound: int,
    what: str,
    value: Callable[[int], Fraction],
    mechanism: str = "propose-test-release",
    epsilon: Number,
    delta: Number | None,
) -> Estimated[Outcome[Fraction]]:
    """Propose-test-release of a query on the rows; `value` says what a number of steps stands for.

    Privacy: (epsilon, delta)-DP for the table's unit and relation [DL09], [Vad17, Sec. 3.2].
    """
    test = ProposeTestRelease(
        bound=bound, **find_terms(session, values, epsilon=epsilon, delta=delta)
    )

    def release(exact: Exact, bits: BitSource) -> Outcome[Fraction]:
        rows: NDArray[Any] = rows_of(values, exact)
        return restate(test.release(rows, query, bits, what=what), value)

    of = ", ".join(axis.name for axis in values.axes)
    return measure_values(session, values, of, mechanism, test.loss(), release)
