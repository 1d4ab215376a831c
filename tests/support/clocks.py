"""Clocks for tests of remote sessions: exact, and the same on a machine that is busy."""

import threading
from collections.abc import Callable
from typing import TypeVar

from discreet.curator.runs.pacing import Late

_Result = TypeVar("_Result")


class InstantClock:
    """Waiting takes no time, and work takes what it says with `spend`: nothing, unless it does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 1000.0
        self._spent = threading.local()

    def now(self) -> float:
        with self._lock:
            return self._now + getattr(self._spent, "seconds", 0.0)

    def spend(self, seconds: float) -> None:
        """Work under way in this thread takes so long."""
        self._spent.seconds = getattr(self._spent, "seconds", 0.0) + seconds

    def wait(self, until: float) -> None:
        with self._lock:
            self._now = max(self._now, until)
        self._spent.seconds = 0.0

    def race(self, work: Callable[[], _Result], until: float) -> _Result:
        begun = self.now() - getattr(self._spent, "seconds", 0.0)
        try:
            result = work()
        except BaseException:
            self.wait(until)
            raise
        # By the work of this thread alone: another that waits meanwhile makes nobody late.
        late = begun + getattr(self._spent, "seconds", 0.0) > until
        self.wait(until)
        if late:
            raise Late
        return result


class HeldClock(InstantClock):
    """Time stands still until a test moves it; who waits, waits."""

    def __init__(self) -> None:
        super().__init__()
        self._moved = threading.Condition()
        self._free = False
        self.waiting = 0

    def wait(self, until: float) -> None:
        self._spent.seconds = 0.0
        with self._moved:
            self.waiting += 1
            self._moved.notify_all()
            self._moved.wait_for(lambda: self._free or self._now >= until)
            self._now = max(self._now, until)
            self.waiting -= 1
            self._moved.notify_all()

    def go_on(self) -> None:
        """From now on nobody waits."""
        with self._moved:
            self._free = True
            self._moved.notify_all()
