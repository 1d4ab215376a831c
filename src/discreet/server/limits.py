"""How much runs at once: threads that work for accounts in fair turns, and limits on how often
something happens in a minute. Refuses at once what does not fit; knows nothing of what runs.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from discreet.curator.runs.line import Line
from discreet.server.problems import Problem
from discreet.server.settings import Settings

__all__ = ["PerMinute", "WorkLimiter", "Workers"]

_Result = TypeVar("_Result")


class _Task:
    __slots__ = ("account", "future", "work")

    def __init__(self, account: str, work: Callable[[], Any]) -> None:
        self.account = account
        self.work = work
        self.future: Future[Any] = Future()


class Workers:
    """Threads of which one account has a part at most; of those who wait, whoever has fewest at
    work is next.

    Who waits depends on requests alone.
    >>> workers = Workers(most=2, most_of_one=1, name="question")
    >>> workers.submit("ana", lambda: 7).result()
    7
    """

    def __init__(self, *, most: int, most_of_one: int, name: str) -> None:
        part = min(most_of_one, max(1, most - 1))  # one is left for somebody else
        self._line = Line[_Task](places=most, places_of_one=part)
        self._lock = threading.RLock()  # what is over at once ends where it began
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)

    def submit(self, account: str, work: Callable[[], _Result]) -> "Future[_Result]":
        """Let work be done in its turn.

        >>> Workers(most=1, most_of_one=1, name="job").submit("ana", lambda: 7).result()
        7
        """
        task = _Task(account, work)
        with self._lock:
            self._line.join(account, task)
            self._start()
        return task.future

    def inside(self, account: str | None = None) -> int:
        """How many of an account, or of all, are at work or wait.

        >>> Workers(most=1, most_of_one=1, name="job").inside()
        0
        """
        with self._lock:
            return self._line.inside(account)

    def _start(self) -> None:
        while tasks := self._line.admit():
            for task in tasks:
                if task.future.set_running_or_notify_cancel():
                    done = self._pool.submit(task.work)
                    done.add_done_callback(partial(self._end, task))
                else:
                    self._line.leave(task.account)

    def _end(self, task: _Task, done: "Future[Any]") -> None:
        with self._lock:  # the place is free before anybody hears of it
            self._line.leave(task.account)
            self._start()
        failure = done.exception()
        if failure is not None:
            task.future.set_exception(failure)
        else:
            task.future.set_result(done.result())

    def close(self) -> None:
        """Finish what is at work, and drop what waits."""
        with self._lock:
            dropped = self._line.dismiss()
        for task in dropped:
            task.future.cancel()
        self._pool.shutdown(wait=True)  # its queue holds what was let in a moment ago: at work


class WorkLimiter:
    """Runs work in threads: so many at once, so many waiting, so many for one account.

    An account with nothing under way is let in however busy others keep the server. Who is refused
    depends on requests alone.
    >>> WorkLimiter(Settings()).inside
    0
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._workers = Workers(
            most=settings.most_running,
            most_of_one=settings.most_running_per_account,
            name="question",
        )

    @property
    def inside(self) -> int:
        """How many are running or waiting."""
        return self._workers.inside()

    async def run(self, account: str, work: Callable[[], _Result]) -> _Result:
        """The result of `work`, or a problem: too many at once, or not done in time.

        What is not done in time goes on: a charge that was made stands, and its answer is kept.
        >>> asyncio.run(WorkLimiter(Settings()).run("ana", lambda: 7))
        7
        """
        limits = self._settings
        mine = self._workers.inside(account)
        if mine >= limits.most_per_account:
            raise Problem(
                "too-many-requests",
                f"{limits.most_per_account} requests of this account are under way; wait for one. "
                "Nothing was run or charged.",
                retry_seconds=1,
            )
        if mine and self.inside >= limits.most_running + limits.most_waiting:
            raise Problem(
                "busy",
                "Too many questions are under way; ask again. Nothing was run or charged.",
                retry_seconds=1,
            )
        future = asyncio.wrap_future(self._workers.submit(account, work))
        try:
            return await asyncio.wait_for(asyncio.shield(future), limits.request_seconds)
        except TimeoutError:
            raise Problem(
                "still-running",
                "The question takes longer than this server waits. It goes on; look at the "
                "history, or ask again with the same key.",
                retry_seconds=5,
            ) from None

    def close(self) -> None:
        """Take nothing more; what runs is finished first."""
        self._workers.close()


class PerMinute:
    """How often somebody, by an address or a name, has done something in the last minute.

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
        """Count once more."""
        with self._lock:
            if len(self._times) >= self._MOST_NAMES:
                self._times.clear()
            self._times.setdefault(name, deque(maxlen=self._most)).append(self._clock())

    def too_many(self, name: str) -> bool:
        """Whether this one has to wait.

        >>> PerMinute(most=5).too_many("127.0.0.1")
        False
        """
        with self._lock:
            times = self._times.get(name, deque())
            while times and times[0] < self._clock() - 60:
                times.popleft()
            return len(times) >= self._most
