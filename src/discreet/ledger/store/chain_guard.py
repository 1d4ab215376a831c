"""Who keeps the seals of a vault: the key, the anchor, and what this process has followed.
Refuses to go on, with one fixed sentence, when a ledger is not the one that was sealed.
"""

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from discreet.errors import Unavailable
from discreet.ledger.account import Account
from discreet.ledger.entry import FIRST, Act, describe_adoption, memo_text
from discreet.ledger.store.adoption import salvage
from discreet.ledger.store.book import ENTRY, NOT_SOUND, Book, read_accounts
from discreet.ledger.store.chain import Chain, Tail
from discreet.ledger.store.connection import Connection
from discreet.ledger.store.place import Anchor, Place
from discreet.ledger.verification import Broken, Replay, Verification, found_by, verify

__all__ = ["Keeper"]

_Reading = Callable[[], AbstractContextManager[Connection]]


class Keeper:
    """Follows the seals of one vault and hands out books that continue them."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._halt = threading.Event()
        self._after_fork()
        here = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _renew_after_fork(here))

    def _after_fork(self) -> None:
        self._lock = threading.RLock()
        self._first_check = threading.RLock()
        self._chain: Chain | None = None

    @property
    def followed(self) -> bool:
        """Whether all of the ledger was checked once."""
        return self._chain is not None

    def halt(self) -> None:
        """End a long check that is under way: the vault is being closed."""
        self._halt.set()

    def check_first(self, checking: _Reading) -> None:
        """Follow all of the ledger once, if nobody has: on a connection of its own, so that those
        who only read do not wait.
        """
        with self._first_check:
            if self._chain is not None:
                return
            anchor = self._place.anchor()  # before the ledger: it cannot be ahead of it by right
            with checking() as connection:
                if not _is_sealed(connection):
                    return
                chain = self._refuse_broken(lambda: self._whole(connection, anchor))
            self._trust(chain)

    def _trust(self, chain: Chain) -> None:
        """Go on from a chain that was followed in full, unless somebody is further already."""
        with self._lock:
            if self._chain is None:
                self._chain = chain

    def check(self, reading: _Reading) -> None:
        """Refuse a ledger that is not sound: all of it once, then what was written since."""
        with self._lock:
            anchor = None if self._chain else self._place.anchor()  # before the ledger: not ahead
            with reading() as connection:
                if self._chain is not None or _is_sealed(connection):
                    self._refuse_broken(lambda: self._follow(connection, anchor))
                else:
                    self._check_begins(connection, anchor)

    def turn(self, connection: Connection) -> Book:
        """The book of a transaction that has the write lock."""
        with self._lock:
            if self._chain is None and not _is_sealed(connection):
                return self._first(connection)
            chain = self._refuse_broken(
                lambda: self._follow(connection, None if self._chain else self._place.anchor())
            )
            self._place.check_writable()
            return Book(connection, chain.tail(), chain.replay, self._settle)

    def verify(self, reading: _Reading, intact: Callable[[Connection], bool]) -> Verification:
        """Check everything, whatever was checked before, and say what is wrong where."""
        anchor = self._place.anchor()  # before the ledger: it cannot be ahead of it by right
        with reading() as connection:
            if not _is_sealed(connection):
                verification = _verify_unsealed(connection)
                if verification.sound and anchor is not None and anchor.number:
                    problem = "entry 1 is missing: the anchor is of a ledger that is not here."
                    return Verification(verification.entries, verification.head, 1, problem)
                return verification
            key = self._place.key()
            if key is None:
                (count,) = connection.execute("SELECT count(*) FROM entries").fetchone()
                return Verification(count, FIRST, None, f"the key {self._place.key_file} is gone.")
            chain = Chain(key, self._halt)
            verification = found_by(lambda: _whole(chain, connection), chain.replay)
            if verification.sound:
                verification = found_by(
                    lambda: chain.check_anchor(connection, anchor), chain.replay
                )
            if verification.sound:
                verification = found_by(lambda: _check_file(intact(connection)), chain.replay)
            if verification.sound:
                self._trust(chain)
            return Verification(
                chain.replay.count, chain.replay.seal, verification.bad, verification.problem
            )

    def adopt(self, connection: Connection, memo: Mapping[str, str]) -> Book:
        """A book that seals everything as it stands, under an entry that says so."""
        key, anchor = self._place.ensure_key(), self._place.ensure_anchor()
        newest = connection.execute(
            "SELECT number, mac FROM seals ORDER BY number DESC LIMIT 1"
        ).fetchone() or (0, "")
        (last,) = connection.execute("SELECT coalesce(max(sequence), 0) FROM entries").fetchone()
        accounts = salvage(connection)
        tail = Tail(key, max(newest[0], anchor.number), newest[1])
        book = Book(connection, tail, Replay(), self._settle_start)
        book.begin(last + 1)
        book.append(Act.ADOPT, (), describe_adoption(accounts), memo_text(memo))
        for account in accounts:
            book.put(account)
        return book

    def _first(self, connection: Connection) -> Book:
        """Nothing is sealed yet: a new vault, or one of an older version, whose ledger is sound."""
        self._check_begins(connection, self._place.anchor())
        if not _verify_unsealed(connection).sound:
            raise Unavailable(NOT_SOUND)
        chain = Chain(self._place.ensure_key())
        self._place.ensure_anchor()
        chain.replay = _replay(connection)
        book = Book(connection, chain.tail(), chain.replay, self._settle_start)
        book.begin(0)
        return book

    def _check_begins(self, connection: Connection, anchor: Anchor | None) -> None:
        """Refuse to begin a ledger where the seal of another one lies."""
        if anchor is None or not anchor.number:
            return
        if connection.execute("SELECT 1 FROM entries LIMIT 1").fetchone() is not None:
            raise Unavailable(NOT_SOUND)
        folder = self._place.anchor_file.parent.name
        raise Unavailable(
            f"this vault is empty, but the folder {folder!r} holds the seal of one with "
            f"{anchor.sequence} entries. Put that vault back; or, if it was deleted on purpose and "
            "its charges may be forgotten, run `discreet ledger adopt --why TEXT` and start anew. "
            "Nothing was run or charged."
        )

    def _follow(self, connection: Connection, anchor: Anchor | None) -> Chain:
        if self._chain is not None:
            self._chain.follow(connection)
            return self._chain
        self._chain = self._whole(connection, anchor)
        return self._chain

    def _whole(self, connection: Connection, anchor: Anchor | None) -> Chain:
        """A chain that was followed from its start, with nothing beside it."""
        key = self._place.key()
        if key is None:
            raise Broken(None, "the key is gone")
        chain = Chain(key, self._halt)
        _whole(chain, connection)
        chain.check_anchor(connection, anchor)
        return chain

    def _refuse_broken(self, work: Callable[[], Chain]) -> Chain:
        try:
            return work()
        except Broken:
            self._chain = None
            raise Unavailable(NOT_SOUND) from None

    def _settle(self, tail: Tail, replay: Replay) -> None:
        with self._lock:
            if self._chain is not None:  # else another thread found something wrong meanwhile
                self._chain.advance(tail, replay)
        self._place.export(Anchor(tail.number, replay.count, tail.code))

    def _settle_start(self, tail: Tail, replay: Replay) -> None:
        """As `_settle`, where a chain begins: all of it is this process's own."""
        with self._lock:
            self._chain = Chain(tail.key)
        self._settle(tail, replay)


def _is_sealed(connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM seals LIMIT 1").fetchone() is not None


def _whole(chain: Chain, connection: Connection) -> None:
    chain.follow(connection)
    chain.check_whole(connection)
    try:
        accounts = tuple(read_accounts(connection))
    except Unavailable as error:
        raise Broken(None, str(error)) from None
    chain.replay.check_accounts(accounts)


def _check_file(intact: bool) -> None:
    if not intact:
        raise Broken(None, "the file is damaged; restore it from a backup.")


def _verify_unsealed(connection: Connection) -> Verification:
    rows = connection.execute(f"SELECT {ENTRY}, hash FROM entries ORDER BY sequence")
    head = connection.execute("SELECT sequence, hash FROM head").fetchone()
    return verify(rows, head or (0, FIRST), read_accounts(connection))


def _replay(connection: Connection) -> Replay:
    """The replay of a ledger that was found sound."""
    last = connection.execute(
        "SELECT sequence, time, hash FROM entries ORDER BY sequence DESC LIMIT 1"
    ).fetchone()
    accounts: tuple[Account, ...] = tuple(read_accounts(connection))
    return Replay().after(last or (0, "", FIRST), accounts)


def _renew_after_fork(here: "weakref.ref[Keeper]") -> None:
    keeper = here()
    if keeper is not None:
        keeper._after_fork()
