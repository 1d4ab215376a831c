"""How much runs at once: a bounded pool for questions, counted by account, and limits on how often
something happens in a minute. Refuses at once what does not fit; knows nothing of what runs.
"""

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from discreet.server.problems import Problem
from discreet.server.settings import Settings

__all__ = ["Gate", "PerMinute"]

_Result = TypeVar("_Result")


class Gate:
    """Runs work in threads: so many at once, so many waiting, so many for one account.

    Privacy: none (touches no data); who is refused depends on requests alone.
    >>> Gate(Settings()).inside
    0
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.most_running, thread_name_prefix="question")
        self._by_account: Counter[str] = Counter()

    @property
    def inside(self) -> int:
        """How many are running or waiting.

        Privacy: none (touches no data).
        >>> Gate(Settings()).inside
        0
        """
        return self._by_account.total()

    async def run(self, account: str, work: Callable[[], _Result]) -> _Result:
        """The result of `work`, or a problem: too many at once, or not done in time.

        What is not done in time goes on: a charge that was made stands, and its answer is kept.
        Privacy: none (touches no data).
        >>> asyncio.run(Gate(Settings()).run("ana", lambda: 7))
        7
        """
        limits = self._settings
        if self._by_account[account] >= limits.most_per_account:
            raise Problem(
                "too-many-requests",
                f"{limits.most_per_account} requests of this account are under way; wait for one.",
                retry_seconds=1,
            )
        if self.inside >= limits.most_running + limits.most_waiting:
            raise Problem("busy", "Too many questions are under way; ask again.", retry_seconds=1)
        self._by_account[account] += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(lambda _: self._leave(account))
        try:
            return await asyncio.wait_for(asyncio.shield(future), limits.request_seconds)
        except TimeoutError:
            raise Problem(
                "still-running",
                "The question takes longer than this server waits. It goes on; look at the "
                "history, or ask again with the same key.",
                retry_seconds=5,
            ) from None

    def _leave(self, account: str) -> None:
        self._by_account[account] -= 1
        if not self._by_account[account]:
            del self._by_account[account]

    def close(self) -> None:
        """Take nothing more; what runs is finished first.

        Privacy: none (touches no data).
        >>> Gate(Settings()).close()
        """
        self._pool.shutdown(wait=True, cancel_futures=True)


class PerMinute:
    """How often somebody, by an address or a name, has done something in the last minute.

    Privacy: none (touches no data).
    >>> guesses = PerMinute(most=1)
    >>> guesses.count("127.0.0.1")
    >>> guesses.too_many("127.0.0.1"), guesses.too_many("127.0.0.2")
    (True, False)
    """

    _MOST_NAMES = 10_000

    def __init__(self, *, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}

    def count(self, name: str) -> None:
        """Count once more.

        Privacy: none (touches no data).
        >>> PerMinute(most=5).count("127.0.0.1")
        """
        with self._lock:
            if len(self._times) >= self._MOST_NAMES:
                self._times.clear()
            self._times.setdefault(name, deque(maxlen=self._most)).append(self._clock())

    def too_many(self, name: str) -> bool:
        """Whether this one has to wait.

        Privacy: none (touches no data).
        >>> PerMinute(most=5).too_many("127.0.0.1")
        False
        """
        with self._lock:
            times = self._times.get(name, deque())
            while times and times[0] < self._clock() - 60:
                times.popleft()
            return len(times) >= self._most
