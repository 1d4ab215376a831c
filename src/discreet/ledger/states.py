"""The durable states of services: what a monitor or a synopsis must not forget, and may not tell.
Appended and sealed like the entries, so that an older copy that is put back is found.
"""

import unicodedata
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import InvalidValue, Stale, Unavailable, with_article
from discreet.ledger.account import Holder, fold
from discreet.ledger.store.book import Book
from discreet.ledger.store.store import Store
from discreet.schema.names import of_words

__all__ = ["Begun", "Change", "OwnStates", "State", "States", "check_name", "move", "service_name"]

_LONGEST = 64
_COLUMNS = "analyst, name, kind, version, entry, body"
_BEGUN = "SELECT number, name, kind FROM states WHERE analyst = ? AND version = 1"
_BEYOND = (1 << 63) - 1  # later than every state


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The next state of a service; its first has version 1.

    The body may be secret: it is not shown.
    >>> Change(analyst="ana", name="fever", kind="monitor", version=1, body=b"secret")
    Change(analyst='ana', name='fever', kind='monitor', version=1)
    """

    analyst: str
    name: str
    kind: str
    version: int
    body: bytes = field(repr=False)

    def __post_init__(self) -> None:
        service_name(self.name)


def service_name(name: str) -> str:
    """Check that a service can be called so, and hand the name back.

    >>> service_name("fièvre-2")
    'fièvre-2'
    """
    raw: object = name
    known = isinstance(raw, str) and raw[:1].isalnum() and len(raw) <= _LONGEST
    plain = unicodedata.normalize("NFKC", name) if known else ""
    if not known or not of_words(plain, "_.-"):
        raise InvalidValue(
            f"the name {name!r:.80} cannot be used; write 1 to 64 letters, digits, dots, "
            "dashes or underscores, a letter or digit first. Nothing was run or charged."
        )
    if plain != name:
        raise InvalidValue(
            f"the name {name!r:.80} has letters in a special form, or their accents apart. Write "
            f"it as {plain!r:.80}, which reads the same. Nothing was run or charged."
        )
    return name


@dataclass(frozen=True, slots=True)
class State:
    """The state of a service when this was written; `entry` was the newest of the ledger then.

    The body may be secret: it is not shown.
    >>> State("ana", "fever", "monitor", 1, 7, b"secret")
    State(analyst='ana', name='fever', kind='monitor', version=1, entry=7)
    """

    analyst: str
    name: str
    kind: str
    version: int
    entry: int
    body: bytes = field(repr=False)

    def next(self, body: bytes) -> Change:
        """The change that follows this state.

        >>> State("ana", "fever", "monitor", 1, 7, b"").next(b"more").version
        2
        """
        return Change(
            analyst=self.analyst,
            name=self.name,
            kind=self.kind,
            version=self.version + 1,
            body=body,
        )


@dataclass(frozen=True, slots=True)
class Begun:
    """A service in a list: the number of its first state, its name and its kind."""

    number: int
    name: str
    kind: str


class States:
    """The states of a vault's services. For services only; what they keep may be secret."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def newest(self, name: str, *, analyst: str) -> State | None:
        """The state that a service is in, or None if there is none of this name.

        A state that was written before the custodian adopted the ledger is refused: what happened
        since may be forgotten. For the service itself; the ledger is checked first.
        """
        state, adopted = self._find_state(name, analyst)
        if state is not None and state.entry < adopted:
            raise Unavailable(
                f"{state.kind} {name!r} was opened before the ledger was adopted (entry "
                f"{adopted}), and what it has said since may be forgotten; open a new one. "
                "Nothing was run or charged."
            )
        return state

    def standing(self, name: str, *, analyst: str) -> tuple[int, State | None]:
        """The newest version, 0 if there is none, and its state unless an adoption came after it.

        For what can begin anew under its old name, because nothing it said can be replayed. For the
        service itself; the ledger is checked first.
        """
        state, adopted = self._find_state(name, analyst)
        if state is None:
            return 0, None
        return state.version, None if state.entry < adopted else state

    def _find_state(self, name: str, analyst: str) -> tuple[State | None, int]:
        """The newest state, and the newest adoption of the ledger."""
        self._store.check()
        query = (
            f"SELECT {_COLUMNS} FROM states WHERE analyst = ? AND name = ? "
            "ORDER BY version DESC LIMIT 1"
        )
        with self._store.reading() as connection:
            row = connection.execute(query, (analyst, name)).fetchone()
            (adopted,) = connection.execute(
                "SELECT coalesce(max(sequence), 0) FROM entries WHERE act = 'adopt'"
            ).fetchone()
        return None if row is None else _read_state(row), adopted

    def names(self, *, analyst: str, kind: str) -> tuple[str, ...]:
        """The names of an analyst's services of a kind, oldest first."""
        states = self.list_after(0, analyst=analyst, kind=kind, limit=_BEYOND)
        return tuple(state.name for state in states)

    def list_after(self, number: int, *, analyst: str, kind: str, limit: int) -> tuple[Begun, ...]:
        """The first so many of an analyst's services of a kind after a number, oldest first."""
        query = f"{_BEGUN} AND kind = ? AND number > ? ORDER BY number LIMIT ?"
        return self._list(query, (analyst, kind, number, limit))

    def list_before(self, number: int | None, *, analyst: str, limit: int) -> tuple[Begun, ...]:
        """The last so many of an analyst's services before a number, or of all, newest first."""
        query = f"{_BEGUN} AND number < ? ORDER BY number DESC LIMIT ?"
        return self._list(query, (analyst, _BEYOND if number is None else number, limit))

    def _list(self, query: str, values: tuple[object, ...]) -> tuple[Begun, ...]:
        with self._store.reading() as connection:
            return tuple(Begun(*row) for row in connection.execute(query, values).fetchall())

    def has(self, name: str, *, analyst: str, kind: str) -> bool:
        """Whether an analyst has a service of this kind and name."""
        query = "SELECT kind FROM states WHERE analyst = ? AND name = ? AND version = 1"
        with self._store.reading() as connection:
            return bool(connection.execute(query, (analyst, name)).fetchone() == (kind,))

    def holders(self, *, kind: str) -> tuple[str, ...]:
        """Who has services of a kind, oldest first."""
        query = (
            "SELECT analyst, min(number) FROM states WHERE kind = ? AND version = 1 "
            "GROUP BY analyst ORDER BY 2"
        )
        with self._store.reading() as connection:
            return tuple(row[0] for row in connection.execute(query, (kind,)).fetchall())

    def put(self, change: Change) -> State:
        """Move a service on; durable on return. `Stale` if somebody else did so first."""
        return self._store.share(lambda book: move(book, change))

    def introduce(self, change: Change) -> State:
        """The same for somebody who may be new here: refused where another's name differs in
        capitals or forms of letters only.
        """

        def write(book: Book) -> State:
            check_name(book, change.analyst)
            return move(book, change)

        return self._store.share(write)


def check_name(book: Book, name: str) -> None:
    """Inside a transaction: refuse a new name that a reader takes for one that is there.

    A name that is there already stays, whatever others are: vaults of old may have both.
    """
    budgets = "SELECT name FROM accounts WHERE holder = ?"
    known = {row[0] for row in book.connection.execute(budgets, (Holder.ANALYST.value,)).fetchall()}
    holders = "SELECT analyst FROM states WHERE version = 1"
    known |= {row[0] for row in book.connection.execute(holders).fetchall()}
    if name in known:
        return
    for other in sorted(known):
        if fold(other) == fold(name):
            raise InvalidValue(
                f"there is an account {other!r} already, and {name!r} differs from it in capitals "
                "or forms of letters only; choose another name. Nothing was changed."
            )


def move(book: Book, change: Change) -> State:
    """Inside a transaction: the next state of a service, or `Stale`."""
    connection = book.connection
    query = (
        "SELECT version, kind FROM states WHERE analyst = ? AND name = ? "
        "ORDER BY version DESC LIMIT 1"
    )
    known = connection.execute(query, (change.analyst, change.name)).fetchone()
    version, kind = known or (0, change.kind)
    if kind != change.kind:
        raise InvalidValue(
            f"{change.name!r} is {with_article(kind)}, not {with_article(change.kind)}; "
            "choose another name. Nothing was "
            "run or charged."
        )
    if change.version != version + 1:
        raise Stale(
            f"{change.kind} {change.name!r} is at version {version} already; version "
            f"{change.version} does not follow. Read it again. Nothing was run or charged."
        )
    (entry,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM entries").fetchone()
    (number,) = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM states").fetchone()
    state = State(change.analyst, change.name, change.kind, change.version, entry, change.body)
    row = (number, state.analyst, state.name, state.kind, state.version, entry, state.body)
    connection.execute("INSERT INTO states VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    book.seal("state", row)
    return state


def _read_state(row: tuple[Any, ...]) -> State:
    analyst, name, kind, version, entry, body = row
    return State(analyst, name, kind, version, entry, bytes(body))


@dataclass(frozen=True, slots=True)
class OwnStates:
    """The states of one analyst's services, and of nobody else's."""

    _states: States
    _analyst: str

    def newest(self, name: str) -> State | None:
        """The newest state of this name, or None; it may be secret."""
        return self._states.newest(name, analyst=self._analyst)

    def names(self, *, kind: str) -> tuple[str, ...]:
        """The names of services of a kind, oldest first."""
        return self._states.names(analyst=self._analyst, kind=kind)

    def put(self, change: Change) -> State:
        """Write a state that follows the one before; refused for anybody else's."""
        if change.analyst != self._analyst:
            raise InvalidValue(
                f"a state of {change.analyst!r:.80} cannot be written by {self._analyst!r:.80}. "
                "Nothing was written."
            )
        return self._states.put(change)
