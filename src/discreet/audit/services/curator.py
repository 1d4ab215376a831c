"""The curator as a mechanism: an analyst's questions to two vaults that differ in one person, or in
everybody where each is alone in a cell. Beside each the same at a price that is not claimed.
Reaches the curator through its sessions only; the people are made up.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from itertools import count as numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.claims import Claim
from discreet.audit.services.vault_pair import VaultPair, visits
from discreet.audit.subject import Subject
from discreet.curator.session import Session
from discreet.estimates.robust import clustered, location, mode
from discreet.loss import ZCDP, Approximate, Pure
from discreet.rationals import Number
from discreet.robust.tested.outcome import Refused
from discreet.schema.column import Column
from discreet.schema.table import Table

__all__ = ["curator_services"]

_PEOPLE = 400
_QUESTIONS = {
    "a curator's COUNT": "COUNT(*) AS v",
    "a curator's SUM": "SUM(born) AS v",
    "a curator's AVG and COUNT": "AVG(born) AS a, COUNT(*) AS v",
    "a curator's QUANTILE": "QUANTILE(born, 0.5) AS v",
}
_ONE, _RHO, _SMALL = Fraction(1), Fraction(1, 2), Fraction(1, 5000)


def curator_services(stack: ExitStack) -> tuple[Subject, ...]:
    """Questions in SQL and robust estimates, each with the bug planted beside it.

    >>> with ExitStack() as stack:
    ...     [one.name for one in curator_services(stack)][0]
    "a curator's COUNT"
    """
    return (*_tables(stack), *_rows(stack), *_estimates(stack))


def _crowd(stack: ExitStack, delta: Number) -> VaultPair:
    """People alone in their seats, there on one side and not on the other: each seat is a draw for
    a pair of neighbours. All are as extreme as the bounds allow.
    """
    columns = (
        Column("seat", "integer", upper=_PEOPLE - 1),
        Column("born", "integer", lower=1990, upper=2009),
        Column("there", "boolean"),
    )
    sides = [
        [("seat", "born", "there"), *((seat, 2009, there) for seat in range(_PEOPLE))]
        for there in ("false", "true")
    ]
    return VaultPair(stack, Table("people", columns=columns), (sides[0], sides[1]), delta=delta)


def _tables(stack: ExitStack) -> Iterator[Subject]:
    pure, mixed = _crowd(stack, 0), _crowd(stack, Fraction(1, 10**6))
    # Every table is asked in other words than before: a repeated question is not drawn again.
    limits = numbers(_PEOPLE)  # all of them let everybody in

    def asking(vaults: VaultPair, measures: str, **price: Any) -> Callable[[int, int], Any]:
        def draw(side: int, count: int) -> NDArray[np.float64]:
            rows: list[list[float]] = []
            while len(rows) < count:
                answer = vaults.session(side).sql(
                    f"SELECT seat, {measures} FROM people WHERE there "
                    f"AND seat + 0 < {next(limits)} GROUP BY seat",
                    **price,
                )
                names = answer.columns[1:]
                rows += [[float(row[name]) for name in names] for row in answer.to_dicts()]
            return np.array(rows[:count])

        return draw

    cases: list[tuple[str, VaultPair, str, dict[str, Fraction], Claim, int]] = [
        (name, pure, text, {"epsilon": _ONE}, Pure(epsilon=1), 20_000)
        for name, text in _QUESTIONS.items()
    ]
    text = _QUESTIONS["a curator's COUNT"]
    cases.append(("a COUNT at rho", mixed, text, {"rho": _RHO}, ZCDP(rho=_RHO), 20_000))
    for name, vaults, text, price, claim, samples in cases:
        right = Subject(
            name=name,
            mechanism=asking(vaults, text, **price),
            claim=claim,
            pairs=((0, 1),),
            samples=samples,
            part="a curator",
            covers=("Session", "Curator"),
        )
        bold = {currency: 16 * value for currency, value in price.items()}
        yield from right.with_bug("sixteen times the price", asking(vaults, text, **bold), 2_000)


def _rows(stack: ExitStack) -> Iterator[Subject]:
    """Which rows an answer shows, and in which order, where noise decides."""
    vaults, limits = visits(stack, delta=0), numbers(10_000)

    def asking(epsilon: Fraction) -> Callable[[int], str]:
        def draw(side: int) -> str:
            # The limit is above every age; it makes the question a new one.
            answer = vaults.session(side).sql(
                "SELECT region, SUM(bill) AS n FROM visits WHERE smokes AND NOT coughs "
                f"AND age + 0 < {next(limits)} GROUP BY region HAVING n > 10 ORDER BY n",
                epsilon=epsilon,
            )
            return str([row["region"] for row in answer.to_dicts()])

        return draw

    right = Subject(
        name="a curator's HAVING and ORDER BY",
        mechanism=asking(_ONE),
        claim=Pure(epsilon=1),
        pairs=((0, 1),),
        samples=200,
        part="a curator",
        covers=("Session",),
    )
    yield from right.with_bug("a hundred times the price", asking(100 * _ONE), 100)


def _estimates(stack: ExitStack) -> Iterator[Subject]:
    vaults = visits(stack, delta=Fraction(9, 10))  # each estimate with a delta takes some of it
    far = "bill = 0 OR bill = 10"  # where the person is far from everybody else

    def count_outside(session: Session, epsilon: Number) -> Any:
        return clustered(session, "visits", "age", clusters=1, width=9, epsilon=epsilon).value

    def find_mode(session: Session, epsilon: Number) -> Any:
        where = "smokes AND NOT coughs"
        outcome = mode(
            session, "visits", "region", where=where, epsilon=epsilon, delta=_SMALL
        ).value
        return "refused" if isinstance(outcome, Refused) else str(outcome.value)

    def estimate_location(session: Session, epsilon: Number) -> Any:
        outcome = location(
            session, "visits", "bill", where=far, epsilon=epsilon, delta=_SMALL
        ).value
        return (-99, -99) if isinstance(outcome, Refused) else tuple(map(float, outcome.value))

    small = Approximate(epsilon=_ONE, delta=_SMALL)
    for name, estimate, claim in (
        ("clustered", count_outside, Pure(epsilon=_ONE)),
        ("mode", find_mode, small),
        ("location", estimate_location, small),
    ):

        def drawing(epsilon: Number, estimate: Any = estimate) -> Callable[[int], Any]:
            return lambda side: estimate(vaults.session(side), epsilon)

        right = Subject(
            name=f"a curator's {name}",
            mechanism=drawing(_ONE),
            claim=claim,
            pairs=((0, 1),),
            samples=200,
            part="a curator",
            covers=(name,),
        )
        yield from right.with_bug("twenty times the price", drawing(20 * _ONE), 200)
