"""Many threads' writes in one transaction: whoever comes first commits for all who wait.
There is no thread of its own: nothing to start, to lose in a fork or to outlive its process, and
one caller alone waits for nobody. Each piece of work succeeds or is refused by itself.
"""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from discreet.errors import DiscreetError, Unavailable
from discreet.ledger.store.connection import Connection
from discreet.ledger.store.database import Database

__all__ = ["Groups", "Page"]

_MOST = 256  # pieces of work in one transaction
_PATIENCE_SECONDS = 1.0  # after which a waiter looks for itself whether anyone still writes
_INTERRUPTED = "vault.db: the writer was interrupted. Nothing was run; a charge may stand."


class Page(Protocol):
    """What a piece of work writes on: the open transaction."""

    @property
    def changes(self) -> int:
        """How much was written on it so far."""

    def save(self) -> None:
        """Bring what it still holds into the transaction."""

    def settle(self) -> None:
        """The transaction is on the disk."""


_Page = TypeVar("_Page", bound=Page)
_Result = TypeVar("_Result")


class _Item(Generic[_Page]):
    """A piece of work, the bell of the thread that waits for it, and what came of it."""

    __slots__ = ("_bell", "done", "error", "value", "work")

    def __init__(self, work: Callable[[_Page], Any]) -> None:
        self.work = work
        self.value: Any = None
        self.error: Exception | None = None
        self.done = False
        self._bell = threading.Lock()
        self._bell.acquire()

    def wait(self) -> None:
        self._bell.acquire(timeout=_PATIENCE_SECONDS)

    def ring(self) -> None:
        with contextlib.suppress(RuntimeError):  # rung already
            self._bell.release()

    def finish(self, error: Exception | None = None) -> None:
        if isinstance(error, DiscreetError):  # its own: tracebacks of several threads do not mix
            self.error = type(error)(*error.args)
            self.error.__cause__ = error.__cause__
        elif error is not None:
            self.error = error
        self.done = True
        self.ring()


class _Caught:
    """Keeps what went wrong for the threads that wait, who raise it; an interrupt passes."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        if isinstance(error, Exception):
            self.error = error
        return self.error is not None


class Groups(Generic[_Page]):
    """The one way to write: `share` returns when the work is durable, or raises its refusal."""

    def __init__(self, database: Database, turn: Callable[[Connection], _Page]) -> None:
        self._database = database
        self._turn = turn
        self._after_fork()
        here = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _renew_after_fork(here))

    def _after_fork(self) -> None:
        """The other threads, and what they waited for, stayed with the parent."""
        self._lead = threading.RLock()
        self._queue: deque[_Item[_Page]] = deque()

    def share(self, work: Callable[[_Page], _Result]) -> _Result:
        """Do the work in a transaction, with others' if there are any; durable on return.

        The work may be done twice, the first time without effect. A refusal leaves nothing.
        """
        item = _Item[_Page](work)
        self._queue.append(item)
        try:
            while not item.done:
                if not self._lead.acquire(blocking=False):
                    item.wait()
                    continue
                if not item.done:
                    self._commit()
                self._lead.release()
                self._next_leader()
        except BaseException:  # interrupted: what was not begun will not be done
            with contextlib.suppress(ValueError):  # before another leads, who would begin it
                self._queue.remove(item)
            with contextlib.suppress(RuntimeError):  # it was not this thread that led
                self._lead.release()
            self._next_leader()
            raise
        if item.error is not None:
            raise item.error
        result: _Result = item.value
        return result

    def _next_leader(self) -> None:
        with contextlib.suppress(IndexError):
            self._queue[0].ring()

    def _commit(self) -> None:
        """One transaction for everything that waits, and for what comes while it is prepared."""
        group: list[_Item[_Page]] = []
        begun = finished = False
        caught = _Caught()
        try:
            with caught:
                with self._database.writing() as connection:
                    page = self._turn(connection)
                    begun = True
                    while self._queue and len(group) < _MOST:
                        self._attempt(group, page)
                    finished = True
                page.settle()
        except BaseException:
            if finished:
                for item in group:
                    item.finish(Unavailable(_INTERRUPTED))
            else:
                self._queue.extendleft(reversed(group))
            raise
        if caught.error is not None and begun and not finished:
            self._one_by_one(group)
            return
        for item in group if begun else self._take_all():
            item.finish(caught.error)

    def _attempt(self, group: list[_Item[_Page]], page: _Page) -> None:
        """All that waits now; SQLite lets other threads run while it saves, and they may join."""
        while self._queue and len(group) < _MOST:
            item = self._queue.popleft()
            group.append(item)
            item.error, before = None, page.changes
            try:
                item.value = item.work(page)
            except DiscreetError as error:
                if page.changes != before:
                    raise
                item.error = error
        page.save()

    def _one_by_one(self, group: list[_Item[_Page]]) -> None:
        """Something failed half-way and all was rolled back: each by itself, none hurts another."""
        rest = deque(group)
        try:
            while rest:
                item, caught = rest[0], _Caught()
                with caught:
                    with self._database.writing() as connection:
                        page = self._turn(connection)
                        item.error, item.value = None, item.work(page)
                        page.save()
                    page.settle()
                rest.popleft().finish(caught.error)
        except BaseException:
            if rest:
                rest.popleft().finish(Unavailable(_INTERRUPTED))
            self._queue.extendleft(reversed(rest))
            raise

    def _take_all(self) -> list[_Item[_Page]]:
        items = []
        with contextlib.suppress(IndexError):
            while True:
                items.append(self._queue.popleft())
        return items


def _renew_after_fork(here: "weakref.ref[Groups[Any]]") -> None:
    groups = here()
    if groups is not None:
        groups._after_fork()
