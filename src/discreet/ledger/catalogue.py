"""Which tables a vault holds, whose people they describe, and where their data came from.
A source belongs to one population for good: registering it again never opens a new budget.
"""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import SchemaError, Unavailable
from discreet.ledger._book import Book
from discreet.ledger._connection import Connection
from discreet.ledger._store import Store
from discreet.ledger.account import Account, Holder
from discreet.ledger.sqlite import open_account
from discreet.schema.column import nearest
from discreet.schema.table import Budget

__all__ = ["Catalogue", "Registration"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Registration:
    """One table of the catalogue.

    `data_version` is the public counter of refreshes. `fingerprint` (keyed) and `stamp` (what the
    file system says of the source, to notice a change) are for the vault only, never shown.
    Privacy: the fingerprint and the stamp depend on data and stay out of repr.
    >>> Registration("visits", "{}", "v1", 1, "patients", None, None, b"secret", "", "")
    Registration(name='visits', schema_version='v1', data_version=1, population='patients')
    """

    name: str
    schema: str
    schema_version: str
    data_version: int
    population: str
    source: str | None
    prepared: str | None
    fingerprint: bytes
    stamp: str
    registered: str

    def __repr__(self) -> str:
        return (
            f"Registration(name={self.name!r}, schema_version={self.schema_version!r}, "
            f"data_version={self.data_version}, population={self.population!r})"
        )


_COLUMNS = ", ".join(field.name for field in fields(Registration))


class Catalogue:
    """The tables of a vault.

    Privacy: none (touches no data but to fingerprint it, keyed, inside the vault).
    >>> from discreet.ledger.vault import Vault
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Vault.open(f"{folder}/vault").catalogue.tables()
    ()
    """

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def fingerprint(self, source: str | Path | Iterable[bytes]) -> bytes:
        """The keyed hash of a file's content, or of chunks of bytes.

        Privacy: HMAC-SHA256 under a key that never leaves the vault; an exact function of data
        all the same, so it is kept in the vault and never shown.
        >>> from discreet.ledger.vault import Vault
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(Vault.open(f"{folder}/vault").catalogue.fingerprint([b"some", b"bytes"]))
        32
        """
        with self._store.reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
        digest = hmac.new(row[0], digestmod=hashlib.sha256)
        for chunk in _chunks(source) if isinstance(source, str | Path) else source:
            digest.update(chunk)
        return digest.digest()

    def register(
        self,
        *,
        name: str,
        population: str,
        schema: str,
        schema_version: str,
        fingerprint: bytes,
        kind: str = "private",
        budget: Budget | None = None,
        source: str | Path | None = None,
        prepared: str | None = None,
        stamp: str = "",
    ) -> Registration:
        """Add a table, or give it another schema, and open its population's account if need be.

        A table of the kind "public" has no account; what protects people stays private.
        Privacy: none (touches no data); a source, a table and their population stay together.
        >>> from discreet.ledger.vault import Vault
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     catalogue = Vault.open(f"{folder}/vault").catalogue
        ...     one = dict(schema="{}", schema_version="v1", fingerprint=b"f",
        ...                budget=Budget(epsilon=1))
        ...     _ = catalogue.register(name="visits", population="patients", **one)
        ...     _ = catalogue.register(name="again", population="others", **one)
        Traceback (most recent call last):
        discreet.errors.SchemaError: again: this source belongs to the population 'patients'; \
write population = "patients". The same people have one budget. Nothing was changed.
        """
        made = Registration(
            name=name,
            schema=schema,
            schema_version=schema_version,
            data_version=1,
            population=population,
            source=None if source is None else str(Path(source).resolve()),
            prepared=prepared,
            fingerprint=fingerprint,
            stamp=stamp,
            registered=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        )

        def write(book: Book) -> Registration:
            now, known = made, _find(book.connection, name)
            if known is not None:
                if known.population != population:
                    raise _belongs(name, "this table", known.population)
                now = replace(made, data_version=known.data_version + 1)
            _bind(book, now)
            if kind == "public":
                _check_unprotected(book.connection, now)
            else:
                _open_population(book, now, budget)
            _write(book, now)
            return now

        return self._store.share(write)

    def refresh(
        self, name: str, *, fingerprint: bytes, prepared: str | None = None, stamp: str = ""
    ) -> Registration:
        """Note that a table's data has changed; the ledger goes on.

        Privacy: none (touches no data); new data is not new budget.
        >>> from discreet.ledger.vault import Vault
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     catalogue = Vault.open(f"{folder}/vault").catalogue
        ...     _ = catalogue.register(name="visits", population="patients", schema="{}",
        ...         schema_version="v1", fingerprint=b"f", budget=Budget(epsilon=1))
        ...     catalogue.refresh("visits", fingerprint=b"g").data_version
        2
        """

        def write(book: Book) -> Registration:
            known = _required(book.connection, name)
            made = replace(
                known,
                data_version=known.data_version + 1,
                fingerprint=fingerprint,
                prepared=prepared or known.prepared,
                stamp=stamp or known.stamp,
            )
            _bind(book, made)
            _write(book, made)
            return made

        return self._store.share(write)

    def table(self, name: str) -> Registration:
        """A table by its name; an unknown one is refused with the nearest.

        Privacy: none (touches no data).
        >>> from discreet.ledger.vault import Vault
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Vault.open(f"{folder}/vault").catalogue.table("visits")
        Traceback (most recent call last):
        discreet.errors.SchemaError: there is no table 'visits'. There are none.
        """
        with self._store.reading() as connection:
            return _required(connection, name)

    def tables(self) -> tuple[Registration, ...]:
        """All tables by name.

        Privacy: none (touches no data).
        >>> from discreet.ledger.vault import Vault
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(Vault.open(f"{folder}/vault").catalogue.tables())
        0
        """
        with self._store.reading() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM tables ORDER BY name").fetchall()
        return tuple(Registration(*row) for row in rows)


def _chunks(path: str | Path) -> Iterator[bytes]:
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise Unavailable(f"the source cannot be read ({error.strerror}).") from error


def _belongs(name: str, what: str, population: str) -> SchemaError:
    return SchemaError(
        f"{name}: {what} belongs to the population {population!r}; write population = "
        f'"{population}". The same people have one budget. Nothing was changed.'
    )


def _find(connection: Connection, name: str) -> Registration | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM tables WHERE name = ?", (name,)).fetchone()
    return None if row is None else Registration(*row)


def _required(connection: Connection, name: str) -> Registration:
    known = _find(connection, name)
    if known is None:
        names = [row[0] for row in connection.execute("SELECT name FROM tables")]
        raise SchemaError(f"there is no table {name!r:.80}. {nearest(name, names)}")
    return known


def _bind(book: Book, made: Registration) -> None:
    """Tie path and content to the population, unless they are tied to another one."""
    keys = [("content", made.fingerprint)]
    if made.source is not None:
        keys.append(("path", made.source.encode("utf-8", "surrogateescape")))
    for kind, value in keys:
        query = "SELECT population FROM sources WHERE kind = ? AND value = ?"
        row = book.connection.execute(query, (kind, value)).fetchone()
        if row is None:
            book.connection.execute(
                "INSERT INTO sources VALUES (?, ?, ?)", (kind, value, made.population)
            )
            book.seal("source", (f"{kind}:{value.hex().upper()}", made.population))
        elif row[0] != made.population:
            raise _belongs(made.name, "this source", row[0])


def _check_unprotected(connection: Connection, made: Registration) -> None:
    query = "SELECT 1 FROM accounts WHERE holder = 'population' AND name = ?"
    if connection.execute(query, (made.population,)).fetchone() is not None:
        raise SchemaError(
            f"{made.name}: the population {made.population!r} has a budget, so its people are "
            "protected and the table cannot be public. Give a lookup table another name. Nothing "
            "was changed."
        )


def _open_population(book: Book, made: Registration, budget: Budget | None) -> None:
    if budget is not None:
        open_account(book, Account.open(Holder.POPULATION, made.population, budget))
        return
    query = "SELECT 1 FROM accounts WHERE holder = 'population' AND name = ?"
    if book.connection.execute(query, (made.population,)).fetchone() is None:
        raise SchemaError(
            f"{made.name}: the population {made.population!r} has no budget yet; add a [budget] "
            "with epsilon to the schema. Nothing was changed."
        )


def _write(book: Book, made: Registration) -> None:
    names = [field.name for field in fields(Registration)]
    changes = ", ".join(f"{column} = excluded.{column}" for column in names[1:])
    book.connection.execute(
        f"INSERT INTO tables ({_COLUMNS}) VALUES ({', '.join('?' * len(names))}) "
        f"ON CONFLICT (name) DO UPDATE SET {changes}",
        astuple(made),
    )
    book.seal("table", astuple(made))
