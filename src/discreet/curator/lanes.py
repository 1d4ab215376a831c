"""Engines for remote sessions: each is one run's own from before its charge to the time at which
its outcome can be seen, so that no run's time or end shows in another's. Knows no arithmetic.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.engines.protocol import Engine

__all__ = ["Lane", "Lanes"]

_MOST = 8  # at once for the same tables; a further run waits, before it is charged

Names = tuple[str, ...]
Versions = tuple[int, ...]


class Lane:
    """An engine while it is one run's own.

    Privacy: none (touches no data).
    >>> Lane.__name__
    'Lane'
    """

    __slots__ = ("engine", "lost")

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lost = False

    def lose(self) -> None:
        """End the statement under way, which is late, without waiting for it; another engine
        takes this one's place.

        Privacy: none (touches no data).
        >>> Lane.lose.__name__
        'lose'
        """
        self.lost = True
        threading.Thread(target=self._end, name="late", daemon=True).start()

    def _end(self) -> None:
        self.engine.stop()
        self.engine.close()


class Lanes:
    """The engines that wait for runs, by the tables they read.

    Privacy: none: an engine's rows are exact and stay with the curator.
    >>> Lanes(lambda names: None).close()
    """

    __slots__ = ("_closed", "_free", "_idle", "_open", "_taken")

    def __init__(self, opened: Callable[[Names], Engine]) -> None:
        self._open = opened
        self._idle: dict[Names, list[tuple[Versions, Engine]]] = {}
        self._taken: Counter[Names] = Counter()
        self._free = threading.Condition()
        self._closed = False

    @contextmanager
    def taken(self, names: Names, versions: Versions) -> Iterator[Lane]:
        """An engine over the tables in that state of their data, for this run alone.

        Privacy: none (touches no data).
        >>> Lanes.taken.__name__
        'taken'
        """
        with self._free:
            self._free.wait_for(lambda: self._taken[names] < _MOST)
            self._taken[names] += 1
            engine = self._waiting(names, versions)
        lane = None
        try:
            lane = Lane(engine or self._open(names))
            yield lane
        finally:
            with self._free:
                self._taken[names] -= 1
                keep = lane is not None and not lane.lost and not self._closed
                if lane is not None and keep:
                    self._idle.setdefault(names, []).append((versions, lane.engine))
                self._free.notify_all()  # those who wait want different tables
            if lane is not None and self._closed and not lane.lost:
                lane.engine.close()

    def _waiting(self, names: Names, versions: Versions) -> Engine | None:
        """One that is idle; those over an older state of the data are ended."""
        idle = self._idle.get(names, [])
        while idle:
            known, engine = idle.pop()
            if known == versions:
                return engine
            engine.close()
        return None

    def close(self) -> None:
        """End those that are idle now, and each other one when its run is over.

        Privacy: none (touches no data).
        >>> Lanes(lambda names: None).close()
        """
        with self._free:
            self._closed = True
            idle = [engine for each in self._idle.values() for _, engine in each]
            self._idle.clear()
        for engine in idle:
            engine.close()
