"""What an analyst was charged for, from the ledger itself: whatever a charge paid for, a question
or a service, it is listed, and the prices add up to what was spent. Reads; changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue
from discreet.ledger.account import Holder
from discreet.ledger.entry import MOMENT, Act, Entry, Receipt, read_adoption
from discreet.ledger.store.store import Store

__all__ = ["Adopted", "Charged", "History", "Outcome", "kind_of"]

_LIST = """
SELECT e.sequence, e.time, e.act, e.population, e.analyst, e.event, e.memo, e.previous,
    EXISTS (SELECT 1 FROM releases r WHERE r.entry = e.sequence),
    EXISTS (SELECT 1 FROM failures f WHERE f.entry = e.sequence)
FROM entries e WHERE e.analyst = ? AND e.act = 'charge'
"""
_BEYOND = (1 << 63) - 1  # later than every entry
_KINDS = {  # how the label of a charge begins, and what it paid for
    "The question about": "question",
    "The statement about": "question",
    "Run ": "monitor",
    "The counter": "counter",
    "Synopsis": "synopsis",
    "The holdout": "holdout",
    "Joint questions": "joint questions",
    "The release": "release",
    "synthetic data": "synthetic data",
    "The robust estimate": "estimate",
    "Sample and aggregate": "estimate",
}


def kind_of(label: str) -> str:
    """What a charge paid for, by its label.

    >>> kind_of("Run 1 of the monitor fever"), kind_of("something of a later version")
    ('monitor', 'other')
    """
    return next((kind for start, kind in _KINDS.items() if label.startswith(start)), "other")


class Outcome(StrEnum):
    """What is kept of what came of a charge. An outcome is kept when it can be seen, not before."""

    ANSWER = "answer"
    FAILURE = "failure"
    PENDING = "pending"  # a question, or a remote outcome before its time
    ELSEWHERE = "elsewhere"  # a service keeps what it says, or told it when it was asked


@dataclass(frozen=True, slots=True)
class Charged:
    """One charge in an analyst's history: its receipt, and what is kept of what came of it."""

    receipt: Receipt
    outcome: Outcome
    visible_from: str | None

    @property
    def kind(self) -> str:
        """What was paid for: question, monitor, counter, synopsis, release and so on."""
        return kind_of(self.receipt.memo.get("label", ""))


@dataclass(frozen=True, slots=True)
class Adopted:
    """What an analyst had spent when the custodian adopted the ledger, in the account's terms.

    From there on this and the charges after the entry add up to what was spent; charges before it
    are part of it, as far as they are known.
    """

    entry: int
    spent: Fraction
    spent_delta: Fraction


class History:
    """The charges of a vault's analysts, one analyst at a time."""

    __slots__ = ("_now", "_store")

    def __init__(
        self, store: Store, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._now = now

    def after(
        self, sequence: int, *, analyst: str, limit: int | None = None
    ) -> tuple[Charged, ...]:
        """The first so many charges of an analyst after an entry, or all; oldest first."""
        most = _BEYOND if limit is None else limit
        part = "AND e.sequence > ? ORDER BY e.sequence LIMIT ?"
        return self._list(part, (analyst, sequence, most))

    def before(self, sequence: int | None, *, analyst: str, limit: int) -> tuple[Charged, ...]:
        """The last so many charges of an analyst before an entry, or of all; newest first."""
        first = _BEYOND if sequence is None else sequence
        part = "AND e.sequence < ? ORDER BY e.sequence DESC LIMIT ?"
        return self._list(part, (analyst, first, limit))

    def find_adoption(self, analyst: str) -> Adopted | None:
        """What the newest adoption of the ledger took over for an analyst; None without one."""
        query = (
            "SELECT sequence, time, act, population, analyst, event, memo, previous "
            "FROM entries WHERE act = 'adopt' ORDER BY sequence DESC LIMIT 1"
        )
        with self._store.reading() as connection:
            row = connection.execute(query).fetchone()
        if row is None:
            return None
        entry = Entry(row[0], row[1], Act(row[2]), *row[3:])
        for account in read_adoption(entry):
            if (account.holder, account.name) == (Holder.ANALYST, analyst):
                return Adopted(entry.sequence, account.spent, account.spent_delta)
        return Adopted(entry.sequence, Fraction(0), Fraction(0))

    def _list(self, part: str, values: tuple[str, int, int]) -> tuple[Charged, ...]:
        with self._store.reading() as connection:
            rows = connection.execute(f"{_LIST} {part}", values).fetchall()
        now = self._now().strftime(MOMENT)
        charges = (_read_charge(row, now) for row in rows)
        return tuple(charge for charge in charges if charge is not None)


def _read_charge(row: tuple[Any, ...], now: str) -> Charged | None:
    sequence, time, act, *rest, answered, failed = row
    entry = Entry(sequence, time, Act(act), *rest)
    try:
        entry.loss  # noqa: B018
    except InvalidValue:  # another hand had changed it before the ledger was adopted
        return None
    receipt, visible_from = entry.receipt, entry.visible_from
    outcome = Outcome.PENDING
    if visible_from is None or visible_from <= now:
        question = kind_of(receipt.memo.get("label", "")) in ("question", "other")
        outcome = Outcome.PENDING if question else Outcome.ELSEWHERE
        outcome = Outcome.FAILURE if failed else Outcome.ANSWER if answered else outcome
    return Charged(receipt, outcome, visible_from)
