"""Engines of which each is one run's own: for a remote session from before its charge to the time
at which its outcome can be seen, so that no run's time or end shows in another's. Where they are
few, whoever holds fewest is next. Knows no arithmetic.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.curator.runs.line import Line
from discreet.engines.protocol import Engine

__all__ = ["Lane", "Lanes"]

_MOST = 12  # at once for the same tables; a further run waits, before it is charged
_MOST_OF_ONE = 8  # of these for one asker, so that others find some free

Names = tuple[str, ...]
Versions = tuple[int, ...]


class Lane:
    """An engine while it is one run's own."""

    __slots__ = ("engine", "lost")

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lost = False

    def lose(self) -> None:
        """End the statement under way, which is late, without waiting for it; another engine
        takes this one's place.
        """
        self.lost = True
        threading.Thread(target=self._end, name="late", daemon=True).start()

    def _end(self) -> None:
        self.engine.stop()
        self.engine.close()


class Lanes:
    """The engines that wait for runs, by the tables they read.

    An engine's rows are exact and stay with the curator.
    """

    __slots__ = ("_closed", "_idle", "_lines", "_lock", "_open")

    def __init__(self, opened: Callable[[Names], Engine]) -> None:
        self._open = opened
        self._idle: dict[Names, list[tuple[Versions, Engine]]] = {}
        self._lines: dict[Names, Line[threading.Event]] = {}
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def take(self, names: Names, versions: Versions, asker: str) -> Iterator[Lane]:
        """An engine over the tables in that state of their data, for this run alone.

        Who waits depends on who asks, not on what is found.
        """
        self._enter(names, asker)
        lane = None
        try:
            with self._lock:
                engine = self._take_idle(names, versions)
            lane = Lane(engine or self._open(names))
            yield lane
        finally:
            with self._lock:
                keep = lane is not None and not lane.lost and not self._closed
                if lane is not None and keep:
                    self._idle.setdefault(names, []).append((versions, lane.engine))
                self._leave(names, asker)
            if lane is not None and self._closed and not lane.lost:
                lane.engine.close()

    def _enter(self, names: Names, asker: str) -> None:
        """Wait for one's turn."""
        turn = threading.Event()
        with self._lock:
            line = self._lines.setdefault(names, Line(places=_MOST, places_of_one=_MOST_OF_ONE))
            line.join(asker, turn)
            _wake(line)
        try:
            turn.wait()
        except BaseException:  # interrupted
            with self._lock:
                if not line.withdraw(turn):
                    self._leave(names, asker)
            raise

    def _leave(self, names: Names, asker: str) -> None:
        self._lines[names].leave(asker)
        _wake(self._lines[names])

    def _take_idle(self, names: Names, versions: Versions) -> Engine | None:
        """One that is idle; those over an older state of the data are ended."""
        idle = self._idle.get(names, [])
        while idle:
            known, engine = idle.pop()
            if known == versions:
                return engine
            engine.close()
        return None

    def close(self) -> None:
        """End those that are idle now, and each other one when its run is over."""
        with self._lock:
            self._closed = True
            idle = [engine for engines in self._idle.values() for _, engine in engines]
            self._idle.clear()
        for engine in idle:
            engine.close()


def _wake(line: Line[threading.Event]) -> None:
    for turn in line.admit():
        turn.set()
