"""When answers leave: at whole steps of time after their question began, so that a few
milliseconds more or less in the engine are not seen. Knows nothing of questions or data.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.errors import DiscreetError, InvalidValue, Unavailable
from discreet.rationals import Number, positive

__all__ = ["GRID_SECONDS", "Grid"]

GRID_SECONDS = Fraction(1, 20)
"""The step of remote sessions, unless the custodian sets another."""

_LONGEST_SECONDS = 60

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps of time at which answers leave; slower ones round up to the next step.

    Privacy: none (touches no data); hides time within a step, not which step it is.
    >>> Grid(seconds=0.05).seconds
    Fraction(1, 20)
    """

    seconds: Fraction

    def __init__(self, *, seconds: Number) -> None:
        step = positive(seconds, "grid_seconds")
        if step > _LONGEST_SECONDS:
            raise InvalidValue(
                f"grid_seconds is {float(step):g}; the limit is {_LONGEST_SECONDS}. "
                "Every answer takes at least this long."
            )
        object.__setattr__(self, "seconds", step)

    def held(self, work: Callable[[], _Result]) -> _Result:
        """The result of `work` at the next step after it is done, a failure that may depend on
        data just the same; refusals, which touch none, leave at once.

        Privacy: see the class.
        >>> Grid(seconds=0.001).held(lambda: 7)
        7
        """
        start = time.monotonic()
        try:
            result = work()
        except DiscreetError as refusal:
            if isinstance(refusal, Unavailable):
                self._wait(start)
            raise
        except BaseException:
            self._wait(start)
            raise
        self._wait(start)
        return result

    def _wait(self, start: float) -> None:
        step = float(self.seconds)
        steps = math.floor((time.monotonic() - start) / step) + 1
        while (left := start + steps * step - time.monotonic()) > 0:
            time.sleep(left)
