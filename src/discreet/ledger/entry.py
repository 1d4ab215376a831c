"""What the ledger writes down: entries, each sealed with the hash of the one before it.
Canonical text in and out, exact fractions only; knows no file.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.ledger.account import Account, Holder
from discreet.loss import ZCDP, Approximate, BoundedRange, Loss, Pure

__all__ = [
    "Act",
    "Entry",
    "FIRST",
    "MOMENT",
    "Receipt",
    "account_of",
    "canonical",
    "describe_account",
    "describe_adoption",
    "describe_loss",
    "loss_of",
    "memo_text",
    "read_adoption",
]

FIRST = "discreet ledger 1"
"""What the first entry names as its predecessor; also the version of the format."""

MOMENT = "%Y-%m-%dT%H:%M:%S.%fZ"
"""How the time of an entry is written, in UTC."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_LARGEST_MEMO = 1 << 17  # characters; an analyst's SQL is at most 16 kB
_TOTALS = ("epsilon", "delta", "conversion_delta", "limit", "spent", "spent_delta")
_KINDS: Mapping[type[Loss], str] = {
    Pure: "pure",
    BoundedRange: "bounded-range",
    ZCDP: "zcdp",
    Approximate: "approximate",
}


class Act(StrEnum):
    """What an entry records."""

    OPEN = "open"
    AMEND = "amend"
    CHARGE = "charge"
    ADOPT = "adopt"


def canonical(value: object) -> str:
    """JSON with sorted keys, ASCII only and no spaces: one text for one value.

    >>> canonical({"b": "x", "a": ["1/10"]})
    '{"a":["1/10"],"b":"x"}'
    """
    return _ENCODER.encode(value)


def memo_text(memo: Mapping[str, str]) -> str:
    """The canonical text of a memo: what was asked and how, public facts only.

    >>> memo_text({"sql": "SELECT 1"})
    '{"sql":"SELECT 1"}'
    """
    for key, value in memo.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidValue(f"the memo's {key!r:.80} is not text; write strings only.")
    text = canonical(dict(memo))
    if len(text) > _LARGEST_MEMO:
        raise InvalidValue(
            f"the memo has {len(text)} characters; the limit is {_LARGEST_MEMO}. Shorten it."
        )
    return text


def describe_loss(loss: Loss) -> str:
    """The canonical text of a loss, with exact fractions.

    >>> describe_loss(Pure(epsilon=0.1))
    '{"epsilon":"1/10","loss":"pure"}'
    """
    values = {field.name: str(getattr(loss, field.name)) for field in fields(loss)}
    return canonical({"loss": _KINDS[type(loss)], **values})


def loss_of(text: str) -> Loss:
    """The loss that `describe_loss` wrote.

    Privacy: the loss that was charged, unchanged.
    >>> loss_of('{"epsilon":"1/10","loss":"pure"}')
    Pure(epsilon=Fraction(1, 10))
    """
    fields = _read(text)
    kinds = {kind: loss for loss, kind in _KINDS.items()}
    try:
        loss_kind = kinds[fields.pop("loss")]
        return loss_kind(**{name: Fraction(value) for name, value in fields.items()})
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise InvalidValue(f"{text!r:.200} is not a loss as the ledger writes it.") from None


def describe_account(account: Account) -> str:
    """The canonical text of a budget and the limit computed from it; totals are left out.

    >>> from discreet.schema import Budget
    >>> describe_account(Account.open(Holder.ANALYST, "ana", Budget(epsilon=1)))
    '{"conversion_delta":"0","delta":"0","epsilon":"1","limit":"1"}'
    """
    fields = ("epsilon", "delta", "conversion_delta", "limit")
    return canonical({name: str(getattr(account, name)) for name in fields})


def account_of(entry: "Entry") -> Account:
    """The account that an entry opens or amends, with nothing spent.

    >>> text = '{"conversion_delta":"0","delta":"0","epsilon":"1","limit":"1"}'
    >>> account_of(Entry(1, "", Act.OPEN, None, "ana", text, "{}", FIRST)).limit
    Fraction(1, 1)
    """
    holder = Holder.ANALYST if entry.population is None else Holder.POPULATION
    fields = {name: Fraction(value) for name, value in _read(entry.event).items()}
    return Account(holder=holder, name=entry.population or entry.analyst or "", **fields)


def describe_adoption(accounts: Iterable[Account]) -> str:
    """The canonical text of accounts as an adoption finds them, totals included.

    >>> from discreet.schema import Budget
    >>> describe_adoption([Account.open(Holder.ANALYST, "ana", Budget(epsilon=1))])
    '{"analyst:ana":"1 0 0 1 0 0"}'
    """
    return canonical(
        {
            f"{account.holder}:{account.name}": " ".join(
                str(getattr(account, name)) for name in _TOTALS
            )
            for account in accounts
        }
    )


def read_adoption(entry: "Entry") -> tuple[Account, ...]:
    """The accounts that an adoption wrote down.

    >>> entry = Entry(1, "", Act.ADOPT, None, None, '{"analyst:ana":"1 0 0 1 1/2 0"}', "{}", FIRST)
    >>> read_adoption(entry)[0].spent
    Fraction(1, 2)
    """
    accounts = []
    for named, text in _read(entry.event).items():
        holder, _, name = named.partition(":")
        values = dict(zip(_TOTALS, map(Fraction, text.split()), strict=True))
        accounts.append(Account(holder=Holder(holder), name=name, **values))
    return tuple(accounts)


def _read(text: str) -> dict[str, str]:
    try:
        fields = json.loads(text)
    except (RecursionError, ValueError):
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise InvalidValue(f"{text!r:.200} is not an event as the ledger writes it.")
    return fields


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger; an opening names one account, a charge both.

    Privacy: public parameters only; `event` and `memo` are canonical texts.
    >>> Entry(1, "2025-01-01T00:00:00.000000Z", Act.OPEN, None, "ana", "{}", "{}", FIRST).hash[:8]
    'f2bc32a6'
    """

    sequence: int
    time: str
    act: Act
    population: str | None
    analyst: str | None
    event: str
    memo: str
    previous: str

    @property
    def hash(self) -> str:
        """SHA-256 of everything in the entry, the previous hash included.

        >>> len(Entry(1, "", Act.OPEN, None, "ana", "{}", "{}", FIRST).hash)
        64
        """
        text = canonical(
            [
                self.previous,
                self.sequence,
                self.time,
                self.act,
                self.population,
                self.analyst,
                self.event,
                self.memo,
            ]
        )
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    @property
    def loss(self) -> Loss:
        """What a charge cost.

        Privacy: for the population's privacy unit and neighbouring relation, as it was charged.
        >>> text = describe_loss(Pure(epsilon=1))
        >>> Entry(2, "", Act.CHARGE, "people", "ana", text, "{}", FIRST).loss
        Pure(epsilon=Fraction(1, 1))
        """
        return loss_of(self.event)

    @property
    def said(self) -> dict[str, str]:
        """The memo read; empty for an adopted entry whose text another hand has changed.

        >>> Entry(1, "", Act.OPEN, None, "ana", "{}", '{"why":"asked"}', FIRST).said
        {'why': 'asked'}
        >>> Entry(1, "", Act.OPEN, None, "ana", "{}", "x", FIRST).said
        {}
        """
        try:
            return _read(self.memo)
        except InvalidValue:
            return {}

    @property
    def visible_from(self) -> str | None:
        """When the outcome of a remote charge can be seen first; None for every other entry.

        By the clock of the entry: one that was set back makes it later than it was. Both parts were
        recorded before the engine started.
        >>> start, memo = "2025-01-01T00:00:59.990000Z", '{"answer_seconds":"0.05"}'
        >>> Entry(2, start, Act.CHARGE, "people", "ana", "{}", memo, FIRST).visible_from
        '2025-01-01T00:01:00.040000Z'
        """
        if self.act is not Act.CHARGE:
            return None
        try:
            seconds = timedelta(seconds=float(self.said["answer_seconds"]))
            return (datetime.strptime(self.time, MOMENT) + seconds).strftime(MOMENT)
        except (KeyError, OverflowError, ValueError):  # or another hand has changed it
            return None

    @property
    def receipt(self) -> "Receipt":
        """What the one who was charged may keep and cite.

        >>> text = describe_loss(Pure(epsilon=1))
        >>> Entry(2, "", Act.CHARGE, "people", "ana", text, "{}", FIRST).receipt.sequence
        2
        """
        return self.receipt_for(self.hash, self.loss, self.said)

    def receipt_for(self, seal: str, loss: Loss, memo: Mapping[str, str]) -> "Receipt":
        """The same receipt by one who has its hash, loss and memo at hand.

        >>> text = describe_loss(Pure(epsilon=1))
        >>> entry = Entry(2, "", Act.CHARGE, "people", "ana", text, "{}", FIRST)
        >>> entry.receipt_for(entry.hash, entry.loss, {}) == entry.receipt
        True
        """
        return Receipt(
            sequence=self.sequence,
            id=seal[:20],
            time=self.time,
            population=self.population or "",
            analyst=self.analyst or "",
            loss=loss,
            memo=memo,
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of a durable charge; `id` begins the hash of its entry, so it anchors the chain.

    Privacy: public parameters only.
    """

    sequence: int
    id: str
    time: str
    population: str
    analyst: str
    loss: Loss
    memo: Mapping[str, str]

    @property
    def question(self) -> str:
        """What was asked, as its memo says.

        >>> memo = {"question": "SELECT 1"}
        >>> Receipt(1, "f2bc32a6", "", "people", "ana", Pure(epsilon=1), memo).question
        'SELECT 1'
        """
        return self.memo.get("question", "")
