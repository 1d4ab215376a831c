"""The seals of a vault: a chain of keyed codes over every row that counts, followed step by step.
Names the first row that is not the one that was sealed; changes nothing.
"""

import hashlib
import hmac
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from discreet.errors import with_article
from discreet.ledger.entry import canonical
from discreet.ledger.store.connection import Connection, Rows
from discreet.ledger.store.place import Anchor
from discreet.ledger.verification import Broken, Replay

__all__ = [
    "Chain",
    "Halted",
    "Seal",
    "Tail",
    "digest",
    "row_kinds",
    "row_of",
    "rows_of",
    "vault_digest",
]

_ENTRY = "sequence, time, act, population, analyst, event, memo, previous, hash"
_ROWS = {  # what is sealed: the rows of a kind, named by their first column
    "entry": f"SELECT {_ENTRY} FROM entries",
    "release": "SELECT number, key, analyst, entry, body FROM releases",
    "table": "SELECT * FROM tables",
    "source": "SELECT kind || ':' || hex(value), population FROM sources",
    "request": "SELECT analyst || ':' || key, question, entry FROM requests",
    "failure": "SELECT entry, error, message FROM failures",
    "state": "SELECT number, analyst, name, kind, version, entry, body FROM states",
}
_WHERE = {
    "entry": "sequence = ?",
    "release": "number = ?",
    "table": "name = ?",
    "source": "kind = ? AND value = ?",
    "request": "analyst = ? AND key = ?",
    "failure": "entry = ?",
    "state": "number = ?",
}


def row_kinds() -> Iterable[str]:
    """What is sealed, entries first."""
    return _ROWS


def row_of(connection: Connection, kind: str, reference: str) -> tuple[Any, ...] | None:
    """The row that a seal names."""
    values: tuple[object, ...] = (reference,)
    if kind in ("source", "request"):
        first, _, second = reference.partition(":")
        values = first, bytes.fromhex(second) if kind == "source" else second
    query = f"{_ROWS[kind]} WHERE {_WHERE[kind]}"
    row: tuple[Any, ...] | None = connection.execute(query, values).fetchone()
    return row


def rows_of(connection: Connection, kind: str) -> Rows:
    """All rows of a kind, in order; the first column is what a seal names them by."""
    return connection.execute(f"{_ROWS[kind]} ORDER BY 1")


def digest(row: Iterable[Any]) -> str:
    """One hash for the content of a row; long bytes enter by their own hash."""
    values = [
        hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value for value in row
    ]
    return hashlib.sha256(canonical(values).encode("ascii")).hexdigest()


class Seal(NamedTuple):
    """One link: which row, its content, and a code over both and the link before."""

    number: int
    kind: str
    reference: str
    digest: str
    code: str


@dataclass(slots=True)
class Tail:
    """The end of a chain, to be continued by one who has the key."""

    key: bytes = field(repr=False)
    number: int
    code: str

    def seal(self, kind: str, reference: object, content: str) -> Seal:
        """The next link."""
        self.number += 1
        self.code = _code(self.key, self.number, kind, str(reference), content, self.code)
        return Seal(self.number, kind, str(reference), content, self.code)


def _code(key: bytes, *parts: int | str) -> str:
    return hmac.digest(key, canonical(parts).encode("ascii"), "sha256").hex()


class Halted(Exception):
    """The vault is being closed: nobody waits for what a long check would find."""


class Chain:
    """What has been followed so far: every seal up to `number`, and the totals of its entries."""

    def __init__(self, key: bytes, halt: threading.Event | None = None) -> None:
        self._key = key
        self._halt = halt or threading.Event()
        self._reset()

    def _reset(self) -> None:
        self.number = 0
        self.code = ""
        self.replay = Replay()
        self.start = 0
        self._adopted = 0
        self._mutable: dict[str, str] = {}
        self._seen: dict[str, int] = {}

    def tail(self) -> Tail:
        """Where the next seal goes."""
        return Tail(self._key, self.number, self.code)

    def follow(self, connection: Connection) -> None:
        """Check the seals that were written since, and the rows they name."""
        newest = connection.execute(
            "SELECT number, mac FROM seals ORDER BY number DESC LIMIT 1"
        ).fetchone() or (0, "")
        if newest == (self.number, self.code):
            return
        if newest[0] <= self.number:
            raise Broken(self._next(), f"entry {self._next()} is missing: an older copy is there.")
        (restart,) = connection.execute(
            "SELECT max(number) FROM seals WHERE kind = 'start' AND number > ?", (self.number,)
        ).fetchone()
        first = restart or self.number + 1
        seals = connection.execute(
            "SELECT number, kind, reference, digest, mac FROM seals WHERE number >= ? "
            "ORDER BY number",
            (first,),
        ).fetchall()
        for row in seals:
            if self._halt.is_set():
                raise Halted
            if not all(isinstance(part, str) for part in row[1:]):  # damage makes other types
                raise Broken(self._next(), f"the seal after entry {self.replay.count} is damaged.")
            self._take(connection, Seal(*row))

    def _next(self) -> int:
        return self.replay.count + 1

    def _take(self, connection: Connection, seal: Seal) -> None:
        if seal.kind == "start" and seal.reference.isdigit():
            self._reset()
            before = connection.execute(
                "SELECT mac FROM seals WHERE number < ? ORDER BY number DESC LIMIT 1",
                (seal.number,),
            ).fetchone()
            self.number, self.code = seal.number - 1, before[0] if before else ""
            self.start, self._adopted = seal.number, int(seal.reference)
        self._check_code(connection, seal)
        if seal.kind == "start":
            if seal.digest != vault_digest(connection):
                raise Broken(None, "the vault's own key is not the one that was sealed.")
        elif seal.kind == "table":
            self._mutable[seal.reference] = seal.digest
        else:
            self._check_row(connection, seal)
        self.number, self.code = seal.number, seal.code
        self._seen[seal.kind] = self._seen.get(seal.kind, 0) + 1

    def _check_code(self, connection: Connection, seal: Seal) -> None:
        parts = (self.number + 1, seal.kind, seal.reference, seal.digest, self.code)
        if seal.number == self.number + 1 and hmac.compare_digest(
            _code(self._key, *parts), seal.code
        ):
            return
        if seal.kind == "entry" and row_of(connection, "entry", str(self._next())) is None:
            raise Broken(self._next(), f"entry {self._next()} is missing.")
        where = f"after entry {self.replay.count}"
        raise Broken(self._next(), f"the seal {where} does not match the key, or was changed.")

    def _check_row(self, connection: Connection, seal: Seal) -> None:
        row = row_of(connection, seal.kind, seal.reference)
        if seal.kind == "entry":
            self._check_entry(connection, seal, row)
        elif row is None or digest(row) != seal.digest:
            what = "is missing" if row is None else "was changed"
            bad = row[3] if row and seal.kind == "release" else None
            paid = f" (paid by entry {bad})" if bad else ""
            raise Broken(bad, f"{seal.kind} {seal.reference!r:.80}{paid} {what}.")

    def _check_entry(self, connection: Connection, seal: Seal, row: tuple[Any, ...] | None) -> None:
        sequence = int(seal.reference)
        if row is None:
            raise Broken(sequence, f"entry {sequence} is missing.")
        *content, written = row
        if any(isinstance(part, bytes | float) for part in row):
            raise Broken(sequence, f"entry {sequence} was changed: it is damaged.")
        if sequence < self._adopted:
            self.replay.skip(sequence, str(content[1]), str(written))
        else:
            self.replay.take(content, written, _history(connection, sequence))
        if digest(row) != seal.digest:
            raise Broken(sequence, f"entry {sequence} was changed: its seal does not match.")

    def check_whole(self, connection: Connection) -> None:
        """After following from the start: nothing is there that was not sealed."""
        head = connection.execute("SELECT sequence, hash FROM head").fetchone()
        count, newest = connection.execute(
            "SELECT count(*), coalesce(max(sequence), 0) FROM entries"
        ).fetchone()
        if newest > self.replay.count or count != self._seen.get("entry", 0):
            bad = min(newest, self._next())
            raise Broken(bad, f"entry {bad} was not sealed by the ledger.")
        self.replay.check_head(head)
        for kind in row_kinds():
            if kind == "table":
                self._check_tables(connection)
            elif kind != "entry":
                rows = connection.execute(f"SELECT count(*) FROM {kind}s").fetchone()[0]
                if rows != self._seen.get(kind, 0):
                    raise Broken(
                        None, f"{with_article(kind)} is there that was not sealed by the ledger."
                    )

    def _check_tables(self, connection: Connection) -> None:
        digests = {str(row[0]): digest(row) for row in rows_of(connection, "table")}
        for name in sorted(digests.keys() | self._mutable.keys()):
            if digests.get(name) != self._mutable.get(name):
                raise Broken(None, f"table {name!r:.80} is not as it was registered.")

    def check_anchor(self, connection: Connection, anchor: Anchor | None) -> None:
        """The anchor must lie on the chain; one that was read before the chain is never ahead."""
        if anchor is None:
            raise Broken(None, "the anchor is missing; put it back, or adopt the ledger.")
        if anchor.number > self.number:
            bad = min(self._next(), max(anchor.sequence, 1))
            raise Broken(
                bad,
                f"entry {bad} is missing or older than the anchor, which knows "
                f"{anchor.sequence} entries: an older copy was put back, or the end was cut off.",
            )
        if anchor.number < max(self.start, 1):
            return  # it anchors nothing yet, or was not moved on after an adoption
        query = "SELECT mac FROM seals WHERE number = ?"
        if connection.execute(query, (anchor.number,)).fetchone() != (anchor.code,):
            bad = min(anchor.sequence, self.replay.count)
            raise Broken(bad, f"entry {bad} is not the one that was anchored.")

    def advance(self, tail: Tail, replay: Replay) -> None:
        """What this process wrote itself and has made durable."""
        if tail.number > self.number:
            self.number, self.code, self.replay = tail.number, tail.code, replay


def vault_digest(connection: Connection) -> str:
    """What tells one vault from another: its own key, hashed."""
    key = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
    return digest(key or ())


def _history(connection: Connection, before: int) -> Callable[[], list[Any]]:
    """The entries before one, for amendments, which price the past again."""

    def read() -> list[Any]:
        query = f"SELECT {_ENTRY} FROM entries WHERE sequence < ? ORDER BY sequence"
        return connection.execute(query, (before,)).fetchall()

    return read
