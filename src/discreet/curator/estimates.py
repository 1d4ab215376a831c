"""A robust estimate as a program: rows of columns in, one charged release out.
Owns the answer's type and the way through `programs`; which mechanism it is, others decide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from discreet.curator.columns import Values, rows_of
from discreet.curator.programs import Exact, Program, perform
from discreet.curator.session import Session
from discreet.errors import UnprovableRequest
from discreet.ledger.entry import Receipt
from discreet.loss import Loss
from discreet.noise.bits import BitSource
from discreet.rationals import Number

__all__ = ["Estimated", "delta_for", "performed"]

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Estimated(Generic[_Result]):
    """A released estimate in the column's own terms, how it was made, and its charge.

    Privacy: post-processing of one charged release.
    >>> from discreet.loss import Pure
    >>> Estimated(value=7, mechanism="a test", cost=Pure(epsilon=1), receipt=None).value
    7
    """

    value: _Result
    mechanism: str
    cost: Loss
    receipt: Receipt | None


def performed(
    session: Session,
    values: Values,
    *,
    cost: Loss,
    mechanism: str,
    release: Callable[[NDArray[Any], BitSource], _Result],
) -> Estimated[_Result]:
    """Charge and run one program over the rows of the columns.

    Privacy: `release` must cost at most `cost`; it is charged before the engine runs.
    >>> performed.__name__
    'performed'
    """

    def released(exact: Exact, bits: BitSource) -> _Result:
        return release(rows_of(values, exact), bits)

    names = ", ".join(axis.name for axis in values.axes)
    program = Program(
        plan=values.plan,
        cost=cost,
        label=f"The robust estimate of {values.plan.tables[0].name}.{names}",
        release=released,
        details={"mechanism": mechanism},
    )
    receipt, found = perform(session, program)
    return Estimated(found, mechanism, cost, receipt)


def delta_for(session: Session, values: Values, *, delta: Number | None) -> Fraction:
    """What a test may cost in delta; a tenth of what the accounts keep for such steps by default.

    Privacy: none (touches no data); refused under a pure budget.
    >>> delta_for.__name__
    'delta_for'
    """
    found = session._draft(values.plan.question, delta)[0].delta
    if found is None:
        raise UnprovableRequest(
            "this estimate may fail with a probability delta, and the budget is pure. Ask the "
            "custodian for a grant with delta, or take median or clustered. Nothing was run or "
            "charged."
        )
    return found
