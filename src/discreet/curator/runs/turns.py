"""Questions under way: the same one asked again waits for the first, and gets what came of it.
Holds failures that went out and nothing else of an outcome.
"""

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from discreet.errors import Unavailable

__all__ = ["Turns"]


class _Turn:
    __slots__ = ("failure", "lock", "users")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.failure: Unavailable | None = None


class Turns:
    """One turn at a time for each question. A second asker waits for a time that is public."""

    __slots__ = ("_going", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._going: dict[Hashable, _Turn] = {}

    @contextmanager
    def of(self, question: Hashable) -> Iterator[None]:
        """Alone with this question; where it was being asked already and failed, so does this."""
        with self._lock:
            turn = self._going.setdefault(question, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                if turn.failure is not None:
                    raise type(turn.failure)(*turn.failure.args)
                try:
                    yield
                except Unavailable as failure:
                    turn.failure = type(failure)(*failure.args)  # without its traceback
                    raise
        finally:
            with self._lock:
                turn.users -= 1
                if not turn.users:
                    self._going.pop(question, None)
