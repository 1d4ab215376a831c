"""When outcomes can be seen: at a time that is fixed before the engine starts, from public facts.
What is ready earlier waits, what is not ready then is discarded. Knows no questions and no data.
"""

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, TypeVar

from discreet.errors import InvalidValue
from discreet.plan.parts.patience import whole_steps
from discreet.rationals import Number, positive

__all__ = ["Clock", "Late", "ResponseGrid", "SystemClock"]

_LONGEST_SECONDS = 60

_Result = TypeVar("_Result")


class Late(Exception):
    """Work was not done by its time.

    An analyst sees the same words as for every failure of an engine.
    """


class Clock(Protocol):
    """Time as a grid sees it: the machine's, or in tests one that only they move."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def wait(self, until: float) -> None:
        """Return at that time, not before."""

    def race(self, work: Callable[[], _Result], until: float) -> _Result:
        """At that time, not before: what `work` returned or raised by then, or `Late`.

        When it returns says nothing of `work`; work that is late is never heard of again.
        """


class SystemClock:
    """The machine's own clock; work runs in a thread that nobody waits for when it is late."""

    __slots__ = ()

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def wait(self, until: float) -> None:
        """Sleep, again if woken early."""
        while (seconds := until - self.now()) > 0:
            time.sleep(seconds)

    def race(self, work: Callable[[], _Result], until: float) -> _Result:
        """See `Clock.race`; what counts is when the work ended, not when this thread woke.

        >>> SystemClock().race(lambda: time.sleep(0.1), 0)
        Traceback (most recent call last):
        discreet.curator.runs.pacing.Late
        """

        def time_work() -> tuple[_Result, float]:
            return work(), self.now()

        pool = ThreadPoolExecutor(1, thread_name_prefix="answer")
        done = pool.submit(time_work)
        pool.shutdown(wait=False)  # nothing more is submitted
        wait([done], timeout=max(0.0, until - self.now()))
        ready = done.done()
        self.wait(until)
        if not ready:
            raise Late
        result, finished = done.result()
        if finished > until:
            raise Late
        return result


@dataclass(frozen=True, slots=True)
class ResponseGrid:
    """Steps of time at which the outcomes of remote sessions can be seen first.

    The number of steps follows from a plan and declared facts, and is fixed before a row is read:
    neither how long the engine took nor whether it failed moves it.
    >>> grid = ResponseGrid(seconds=0.05)
    >>> [float(grid.deadline(Fraction(each))) for each in ("0", "0.05", "0.051", "1")]
    [0.05, 0.05, 0.1, 1.0]
    """

    seconds: Fraction
    clock: Clock = field(compare=False, repr=False)

    def __init__(self, *, seconds: Number, clock: Clock | None = None) -> None:
        step = positive(seconds, "grid_seconds")
        if step > _LONGEST_SECONDS:
            raise InvalidValue(
                f"grid_seconds is {float(step):g}; the limit is {_LONGEST_SECONDS}. "
                "Every answer takes at least this long."
            )
        object.__setattr__(self, "seconds", step)
        object.__setattr__(self, "clock", clock or SystemClock())

    def deadline(self, seconds: Fraction) -> Fraction:
        """The whole steps that cover so many seconds; at least one."""
        return whole_steps(seconds, self.seconds)

    def within(self, seconds: Fraction, work: Callable[[], _Result]) -> _Result:
        """What came of `work`, at its deadline from now and not before; `Late` if nothing came.

        A failure waits like a result.
        """
        return self.clock.race(work, self.clock.now() + float(self.deadline(seconds)))

    def start(self, begin: Callable[[], bool]) -> None:
        """Start something; where it had to be started, return at the next step after that.

        Hides time within a step; what starts an engine reads names and types, no answer.
        """
        begun, step = self.clock.now(), float(self.seconds)
        if begin():
            steps = math.floor((self.clock.now() - begun) / step) + 1
            self.clock.wait(begun + steps * step)
