"""Requests with a key of the asker's own: asked again, they give the same answer for one charge.
Bound in the transaction of the charge; what came of it, a release or a failure, is given again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from discreet import errors
from discreet.errors import DiscreetError, InvalidValue, Unavailable
from discreet.ledger._book import Book
from discreet.ledger._store import Store
from discreet.ledger.entry import Receipt, canonical
from discreet.ledger.releases import Release, Releases

__all__ = ["Request", "Requests", "bind", "check_unbound"]

_KEY = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True, slots=True)
class Request:
    """A key of the asker's own, and the question it stands for.

    Privacy: none (touches no data).
    >>> Request.of("2025-07", "SELECT COUNT(*) FROM visits", {"epsilon": "1/10"}).key
    '2025-07'
    """

    key: str
    question: str

    @classmethod
    def of(cls, key: str, sql: str, options: Mapping[str, str]) -> "Request":
        """The request for a question as it was asked, with its price.

        Privacy: none (touches no data).
        >>> Request.of("", "SELECT 1", {})
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the key '' cannot be used; write 1 to 128 visible ASCII \
characters without spaces. Nothing was run or charged.
        """
        given: object = key
        if not isinstance(given, str) or not _KEY.fullmatch(given):
            raise InvalidValue(
                f"the key {key!r:.80} cannot be used; write 1 to 128 visible ASCII characters "
                "without spaces. Nothing was run or charged."
            )
        text = canonical([sql, dict(options)])
        return cls(key, sha256(text.encode("ascii")).hexdigest())


class Requests:
    """The requests of a vault.

    Privacy: giving a release or a failure again is post-processing [DR14, Prop. 2.1].
    >>> from discreet.ledger.vault import Vault
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Vault.open(f"{folder}/vault").requests.find("ana", Request("k", "q")) is None
    True
    """

    __slots__ = ("_releases", "_store")

    def __init__(self, store: Store, releases: Releases) -> None:
        self._store = store
        self._releases = releases

    def find(self, analyst: str, request: Request) -> Release | None:
        """What came of a request: None if it is new, its release, or its failure once more.

        Privacy: post-processing; a failure after a charge is an output too.
        >>> Requests.find.__name__
        'find'
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
            failed = "SELECT error, message FROM failures WHERE entry = ?"
            failure = connection.execute(failed, (row[1],)).fetchone()
        if failure is not None:
            raise _error(*failure)
        found = self._releases.paid_by(row[1])
        if found is None:
            raise Unavailable(
                f"the request {request.key!r} was charged in entry {row[1]} and has no answer: it "
                "is still being answered, or was cut off. Ask again later, or pay again with "
                "another key. Nothing more was charged."
            )
        return found

    def pending(self, analyst: str, request: Request) -> float | None:
        """The seconds that the charge of a request recorded for its outcome, while there is none.

        Privacy: none (touches no data): public facts of the record.
        >>> Requests.pending.__name__
        'pending'
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
        """Tie a request to an answer that was paid for before.

        Privacy: none (touches no data).
        >>> Requests.bind.__name__
        'bind'
        """
        self._store.share(lambda book: bind(book, analyst, request, receipt.sequence))

    def fail(self, receipt: Receipt, failure: DiscreetError) -> None:
        """Keep what an asker was told instead of an answer, after the charge.

        Privacy: post-processing: the words went out already.
        >>> Requests.fail.__name__
        'fail'
        """
        row = (receipt.sequence, type(failure).__name__, str(failure))

        def write(book: Book) -> None:
            book.connection.execute("INSERT INTO failures VALUES (?, ?, ?)", row)
            book.seal("failure", row)

        self._store.share(write)


def check_unbound(book: Book, analyst: str, request: Request) -> None:
    """Inside a transaction: refuse a request that is tied to an entry already.

    Privacy: none (touches no data).
    >>> callable(check_unbound)
    True
    """
    query = "SELECT 1 FROM requests WHERE analyst = ? AND key = ?"
    if book.connection.execute(query, (analyst, request.key)).fetchone() is not None:
        raise Unavailable(
            f"the request {request.key!r} is being answered already; ask again in a moment. "
            "Nothing more was charged."
        )


def bind(book: Book, analyst: str, request: Request, entry: int) -> None:
    """Inside a transaction: tie a request to an entry, unless it is tied already.

    Privacy: none (touches no data).
    >>> callable(bind)
    True
    """
    check_unbound(book, analyst, request)
    row = (analyst, request.key, request.question, entry)
    book.connection.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", row)
    book.seal("request", (f"{analyst}:{request.key}", request.question, entry))


def _error(name: str, message: str) -> DiscreetError:
    kind = getattr(errors, name, Unavailable)
    known = isinstance(kind, type) and issubclass(kind, DiscreetError)
    made: DiscreetError = kind(message) if known else Unavailable(message)
    return made
