"""Which tables a vault holds, whose people they describe, and where their data came from.
A source belongs to one population and one unit for good: registering it again, by another path or
as a copy, opens no new budget and gives nobody a second guarantee.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from discreet.errors import SchemaError, Unavailable
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import MOMENT
from discreet.ledger.ledger import open_account
from discreet.ledger.store.book import Book
from discreet.ledger.store.connection import Connection
from discreet.ledger.store.store import Store
from discreet.schema.column import nearest
from discreet.schema.table import Budget

__all__ = ["Catalogue", "Identity", "Registration"]

_CHUNK = 1 << 20
_Key = tuple[str, bytes]  # a kind, "path" or "content", and a path or a keyed hash


@dataclass(frozen=True, slots=True)
class Identity:
    """What a source is known again by: places and keyed hashes of contents.

    Those in `around` hold other rows as well, as a database file does: they tie the population. All
    others are of these very rows and tie the unit too. Hashes depend on data, are keyed and stay
    out of repr.
    >>> Identity(places=("/data/visits.csv",), contents=(b"secret",))
    Identity(places=('/data/visits.csv',), around=())
    """

    places: tuple[str, ...] = ()
    contents: tuple[bytes, ...] = ()
    around: tuple[str, ...] = ()
    contents_around: tuple[bytes, ...] = ()

    def __repr__(self) -> str:
        return f"Identity(places={self.places!r}, around={self.around!r})"


_NOTHING = Identity()


@dataclass(frozen=True, slots=True)
class Registration:
    """One table of the catalogue.

    `data_version` is the public counter of refreshes. `fingerprint` (keyed) and `stamp` (what the
    file system says of the source, to notice a change) are for the vault only, never shown. The
    fingerprint and the stamp depend on data and stay out of repr.
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

    Data is fingerprinted, keyed, inside the vault; nothing else touches it.
    """

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def fingerprint(self, source: str | Path | Iterable[bytes]) -> bytes:
        """The keyed hash of a file's content, or of chunks of bytes.

        HMAC-SHA256 under a key that never leaves the vault; an exact function of data all the same,
        so it is kept in the vault and never shown.
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
        unit: str | None = None,
        identity: Identity = _NOTHING,
        check: Callable[[tuple[Registration, ...]], None] = lambda _: None,
    ) -> Registration:
        """Add a table, or give it another schema, and open its population's account if need be.

        A table of the kind "public" has no account; what protects people stays private. `check` may
        refuse after a look at what is registered; nothing changes in between. A source, a table,
        their unit and their population stay together.
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
        registration = Registration(
            name=name,
            schema=schema,
            schema_version=schema_version,
            data_version=1,
            population=population,
            source=None if source is None else str(Path(source).resolve()),
            prepared=prepared,
            fingerprint=fingerprint,
            stamp=stamp,
            registered=datetime.now(UTC).strftime(MOMENT),
        )

        def write(book: Book) -> Registration:
            now, known = registration, _find(book.connection, name)
            if known is not None:
                if known.population != population:
                    raise _belongs(name, "this table", known.population)
                now = replace(registration, data_version=known.data_version + 1)
            check(_tables(book.connection))
            _bind(book, now, unit, identity)
            if kind == "public":
                _check_unprotected(book.connection, now)
            else:
                _open_population(book, now, budget)
            _write(book, now)
            return now

        return self._store.share(write)

    def refresh(
        self,
        name: str,
        *,
        fingerprint: bytes,
        prepared: str | None = None,
        stamp: str = "",
        source: str | Path | None = None,
        identity: Identity = _NOTHING,
    ) -> Registration:
        """Note that a table's data has changed; the ledger goes on. New data is not new budget.

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
            known = _require(book.connection, name)
            registration = replace(
                known,
                data_version=known.data_version + 1,
                fingerprint=fingerprint,
                prepared=prepared or known.prepared,
                stamp=stamp or known.stamp,
                source=known.source if source is None else str(Path(source).resolve()),
            )
            _bind(book, registration, _unit(registration), identity)
            _write(book, registration)
            return registration

        return self._store.share(write)

    def table(self, name: str) -> Registration:
        """A table by its name; an unknown one is refused with the nearest.

        >>> from discreet.ledger.vault import Vault
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Vault.open(f"{folder}/vault").catalogue.table("visits")
        Traceback (most recent call last):
        discreet.errors.SchemaError: there is no table 'visits'. There are none.
        """
        with self._store.reading() as connection:
            return _require(connection, name)

    def tables(self) -> tuple[Registration, ...]:
        """All tables by name."""
        with self._store.reading() as connection:
            return _tables(connection)


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


def _protects(name: str, unit: str | None, known: str | None) -> SchemaError:
    return SchemaError(
        f"{name}: the unit is {unit or 'the row'}, but these rows are known, and what was charged "
        f"for them so far protects {known or 'the row'}. Keep the unit; another one needs another "
        "vault. Nothing was changed."
    )


def _tables(connection: Connection) -> tuple[Registration, ...]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM tables ORDER BY name").fetchall()
    return tuple(Registration(*row) for row in rows)


def _find(connection: Connection, name: str) -> Registration | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM tables WHERE name = ?", (name,)).fetchone()
    return None if row is None else Registration(*row)


def _require(connection: Connection, name: str) -> Registration:
    known = _find(connection, name)
    if known is None:
        names = [row[0] for row in connection.execute("SELECT name FROM tables")]
        raise SchemaError(f"there is no table {name!r:.80}. {nearest(name, names)}")
    return known


def _bind(book: Book, registration: Registration, unit: str | None, identity: Identity) -> None:
    """Tie places and contents to population and unit, unless they are tied to others."""
    around = {*_keys(identity.around, identity.contents_around)}
    rows = {*_own(registration), *_keys(identity.places, identity.contents)} - around
    for key in sorted(around | rows):
        tied = _find_tie(book.connection, key)
        if tied is None:
            bound = (
                registration.population
                if key in around
                else f"{registration.population}:{unit or ''}"
            )
            book.connection.execute("INSERT INTO sources VALUES (?, ?, ?)", (*key, bound))
            book.seal("source", (f"{key[0]}:{key[1].hex().upper()}", bound))
            continue
        population, mark, known = tied.partition(":")
        if population != registration.population:
            raise _belongs(registration.name, "this source", population)
        units = [known or None] if mark else []
        if not mark and key in rows:
            units = _units(book.connection, key, population)
        for other in units:
            if other != unit:
                raise _protects(registration.name, unit, other)


def _keys(places: Iterable[str], contents: Iterable[bytes]) -> Iterator[_Key]:
    for place in places:
        yield "path", place.encode("utf-8", "surrogateescape")
    for content in contents:
        yield "content", content


def _find_tie(connection: Connection, key: _Key) -> str | None:
    """What a key is tied to; a path also by a folder above it that is a source as a whole."""
    kind, value = key
    values = [value]
    if kind == "path":
        path = PurePosixPath(value.decode("utf-8", "surrogateescape"))
        values += [str(parent).encode("utf-8", "surrogateescape") for parent in path.parents]
    query = "SELECT population FROM sources WHERE kind = ? AND value = ?"
    for place in values:
        row = connection.execute(query, (kind, place)).fetchone()
        if row is not None:
            return str(row[0])
    return None


def _units(connection: Connection, key: _Key, population: str) -> list[str | None]:
    """Units of rows that an earlier version tied to a population alone.

    Those of the tables that have the rows now. Rows that no table has any more may be protected
    by any unit that the population's tables have, if they have but one.
    """
    tables = [table for table in _tables(connection) if table.population == population]
    same = [table for table in tables if key in _own(table)]
    units = {_unit(table) for table in same or tables}
    return list(units) if same or len(units) == 1 else []


def _own(known: Registration) -> list[_Key]:
    """What a table itself is tied by."""
    return list(_keys(() if known.source is None else (known.source,), (known.fingerprint,)))


def _unit(known: Registration) -> str | None:
    facts = json.loads(known.schema)
    unit: str | None = facts.get("unit_source_name") or facts.get("unit")
    return unit


def _check_unprotected(connection: Connection, registration: Registration) -> None:
    query = "SELECT 1 FROM accounts WHERE holder = 'population' AND name = ?"
    if connection.execute(query, (registration.population,)).fetchone() is not None:
        raise SchemaError(
            f"{registration.name}: the population {registration.population!r} has a budget, so "
            "its people are protected and the table cannot be public. Give a lookup table another "
            "name. Nothing was changed."
        )


def _open_population(book: Book, registration: Registration, budget: Budget | None) -> None:
    if budget is not None:
        open_account(book, Account.open(Holder.POPULATION, registration.population, budget))
        return
    query = "SELECT 1 FROM accounts WHERE holder = 'population' AND name = ?"
    if book.connection.execute(query, (registration.population,)).fetchone() is None:
        raise SchemaError(
            f"{registration.name}: the population {registration.population!r} has no budget "
            "yet; add a [budget] with epsilon to the schema. Nothing was changed."
        )


def _write(book: Book, registration: Registration) -> None:
    names = [field.name for field in fields(Registration)]
    changes = ", ".join(f"{column} = excluded.{column}" for column in names[1:])
    book.connection.execute(
        f"INSERT INTO tables ({_COLUMNS}) VALUES ({', '.join('?' * len(names))}) "
        f"ON CONFLICT (name) DO UPDATE SET {changes}",
        astuple(registration),
    )
    book.seal("table", astuple(registration))
