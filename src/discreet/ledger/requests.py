"""Requests with a key of the asker's own: asked again, they give the same answer for one charge.
Bound in the transaction of the charge; of what comes of a charge, a release or a failure, the first
that is written is final and is replayed, whoever else was working on it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidValue,
    QuotaExceeded,
    SchemaError,
    Stale,
    Unanswered,
    Unavailable,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.ledger.entry import Receipt, canonical
from discreet.ledger.releases import Release, Releases, keep
from discreet.ledger.store.book import Book, read_entries
from discreet.ledger.store.connection import Connection
from discreet.ledger.store.store import Store

__all__ = ["Request", "Requests", "bind", "check_unbound", "unanswered_text"]

_NO_PARTS: Mapping[str, bytes] = MappingProxyType({})
_KEY = re.compile(r"[!-~]{1,128}")
_KINDS = {  # what the ledger calls a failure, whatever its class is called
    InvalidValue: "InvalidValue",
    SchemaError: "SchemaError",
    UnsafeQuery: "UnsafeQuery",
    UnprovableRequest: "UnprovableRequest",
    BudgetExceeded: "BudgetExceeded",
    QuotaExceeded: "QuotaExceeded",
    Unavailable: "Unavailable",
    Stale: "Stale",
    Unanswered: "Unanswered",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A key of the asker's own, and the question it stands for.

    >>> Request.of("2025-07", "SELECT COUNT(*) FROM visits", {"epsilon": "1/10"}).key
    '2025-07'
    """

    key: str
    question: str

    @classmethod
    def of(cls, key: str, sql: str, options: Mapping[str, str]) -> "Request":
        """The request for a question as it was asked, with its price.

        >>> Request.of("", "SELECT 1", {})
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the key '' cannot be used; write 1 to 128 visible ASCII \
characters without spaces. Nothing was run or charged.
        """
        raw: object = key
        if not isinstance(raw, str) or not _KEY.fullmatch(raw):
            raise InvalidValue(
                f"the key {key!r:.80} cannot be used; write 1 to 128 visible ASCII characters "
                "without spaces. Nothing was run or charged."
            )
        text = canonical([sql, dict(options)])
        return cls(key, sha256(text.encode("ascii")).hexdigest())


class Requests:
    """The requests of a vault.

    Giving a release or a failure again is post-processing [DR14, Prop. 2.1].
    """

    __slots__ = ("_releases", "_store")

    def __init__(self, store: Store, releases: Releases) -> None:
        self._store = store
        self._releases = releases

    def find(self, analyst: str, request: Request) -> Release | Receipt | None:
        """What came of a request: None if it is new, its release, its failure once more, or the
        receipt of a charge of which nothing has come yet.

        A failure after a charge is an output too.
        """
        self._store.check()
        query = "SELECT question, entry FROM requests WHERE analyst = ? AND key = ?"
        with self._store.reading() as connection:
            row = connection.execute(query, (analyst, request.key)).fetchone()
            if row is None:
                return None
            if row[0] != request.question:
                raise InvalidValue(
                    f"the key {request.key!r} was used for another question or price; choose "
                    "another key. Nothing was run or charged."
                )
            failure = _failure(connection, row[1])
            (paid,) = read_entries(connection, after=row[1] - 1, limit=1)
        if failure is not None:
            raise Unanswered(unanswered_text(paid.receipt, failure))
        return self._releases.paid_by(row[1]) or paid.receipt

    def pending(self, analyst: str, request: Request) -> float | None:
        """The seconds that the charge of a request recorded for its outcome, while there is
        none.
        """
        query = (
            "SELECT e.memo FROM requests q JOIN entries e ON e.sequence = q.entry "
            "WHERE q.analyst = ? AND q.key = ? AND q.question = ? "
            "AND NOT EXISTS (SELECT 1 FROM failures f WHERE f.entry = q.entry) "
            "AND NOT EXISTS (SELECT 1 FROM releases r WHERE r.entry = q.entry)"
        )
        values = (analyst, request.key, request.question)
        with self._store.reading() as connection:
            row = connection.execute(query, values).fetchone()
        return None if row is None else float(json.loads(row[0]).get("answer_seconds", 0))

    def bind(self, analyst: str, request: Request, receipt: Receipt) -> None:
        """Tie a request to an answer that was paid for before."""
        self._store.share(lambda book: bind(book, analyst, request, receipt.sequence))

    def settle(
        self, key: str, receipt: Receipt, body: bytes, parts: Mapping[str, bytes] = _NO_PARTS
    ) -> Release | None:
        """Keep the answer of a charge: None if it is kept now, or the answer that was kept first.

        `parts` are releases that it is made of, each kept under a key of its own before it.

        Where a failure was kept first, that is raised: of several who work on one charge, one is
        heard. One charge pays for one release, whoever finishes it.
        """

        def write(book: Book) -> tuple[bool, str | None]:
            failure = _failure(book.connection, receipt.sequence)
            if failure is not None or _is_released(book.connection, receipt.sequence):
                return False, failure
            for name, part in parts.items():
                keep(book, name, receipt, part)
            keep(book, key, receipt, body)
            return True, None

        is_kept, failure = self._store.share(write)
        if failure is not None:
            raise Unanswered(unanswered_text(receipt, failure))
        return None if is_kept else self._releases.paid_by(receipt.sequence)

    def fail(self, receipt: Receipt, failure: DiscreetError) -> Release | None:
        """Keep what an asker is told instead of an answer, after the charge, if nothing was kept
        before; the answer where one was.
        """
        row = (receipt.sequence, _KINDS.get(type(failure), "DiscreetError"), str(failure))

        def write(book: Book) -> bool:
            released = _is_released(book.connection, receipt.sequence)
            if not released and _failure(book.connection, receipt.sequence) is None:
                book.connection.execute("INSERT INTO failures VALUES (?, ?, ?)", row)
                book.seal("failure", row)
            return released

        released = self._store.share(write)
        return self._releases.paid_by(receipt.sequence) if released else None

    def was_adopted_since(self, receipt: Receipt) -> bool:
        """Whether the custodian adopted the ledger after a charge: what came of it may be
        forgotten.
        """
        query = "SELECT 1 FROM entries WHERE sequence > ? AND act = 'adopt' LIMIT 1"
        with self._store.reading() as connection:
            return connection.execute(query, (receipt.sequence,)).fetchone() is not None


def _failure(connection: Connection, entry: int) -> str | None:
    query = "SELECT message FROM failures WHERE entry = ?"
    row = connection.execute(query, (entry,)).fetchone()
    return None if row is None else str(row[0])


def _is_released(connection: Connection, entry: int) -> bool:
    query = "SELECT 1 FROM releases WHERE entry = ? LIMIT 1"
    return connection.execute(query, (entry,)).fetchone() is not None


def unanswered_text(receipt: Receipt, message: str) -> str:
    """What is said for good of a charge that has no answer.

    What the ledger says, and the words that went out.
    >>> from discreet.loss import Pure
    >>> unanswered_text(Receipt(7, "", "", "people", "ana", Pure(epsilon=1), {}), "Cut off.")[:54]
    'Cut off. This is final: entry 7 (epsilon 1) stays char'
    """
    parts = {name: getattr(receipt.loss, name, 0) for name in ("epsilon", "rho", "delta")}
    cost = ", ".join(f"{name} {float(value):.6g}" for name, value in parts.items() if value)
    return (
        f"{message} This is final: entry {receipt.sequence} ({cost}) stays charged, there is no "
        "answer, and none will come under this key. With another key the question is charged "
        "anew; nothing more was charged now."
    )


def check_unbound(book: Book, analyst: str, request: Request) -> None:
    """Inside a transaction: refuse a request that is tied to an entry already."""
    query = "SELECT 1 FROM requests WHERE analyst = ? AND key = ?"
    if book.connection.execute(query, (analyst, request.key)).fetchone() is not None:
        raise Unavailable(
            f"the request {request.key!r} is being answered already; ask again in a moment. "
            "Nothing more was charged."
        )


def bind(book: Book, analyst: str, request: Request, entry: int) -> None:
    """Inside a transaction: tie a request to an entry, unless it is tied already."""
    check_unbound(book, analyst, request)
    row = (analyst, request.key, request.question, entry)
    book.connection.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", row)
    book.seal("request", (f"{analyst}:{request.key}", request.question, entry))
