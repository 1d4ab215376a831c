"""A run of the sparse vector technique in progress: the secret between two questions.
Never shows the noise of the threshold, and never answers after its alarms are used.
"""

import threading
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from discreet.errors import BudgetExceeded, InvalidValue
from discreet.noise.bits import BitSource, system

__all__ = ["Run", "Stepping", "SvtState", "exhausted_error"]

R = TypeVar("R")
Said = TypeVar("Said", covariant=True)


@dataclass(frozen=True, slots=True, repr=False)
class SvtState:
    """How a run stands: the noise of its threshold, which is secret, and the alarms used.

    The noise must never be released, nor a standing be used for two next questions.
    >>> SvtState(noise=3, used=1)
    SvtState(used=1)
    """

    noise: int
    used: int

    def __repr__(self) -> str:
        return f"SvtState(used={self.used})"


class Stepping(Protocol[Said]):
    """What a mechanism that answers one question after the other offers.

    Privacy: all steps from one beginning to the last alarm are one release.
    """

    @property
    def alarms(self) -> int:
        """How many questions may be above before it stops."""

    def begin(self, bits: BitSource = ...) -> SvtState:
        """Draw the threshold's noise.

        Privacy: what is drawn is secret.
        """

    def step(
        self, standing: SvtState, exact: int, threshold: int, bits: BitSource = ...
    ) -> tuple[Said, SvtState]:
        """Compare one value with its public threshold: what is said, and how the run stands then.

        Privacy: part of the run's loss.
        """


class Run(Generic[R]):
    """One run in this process: ask with `check` until the alarms are used.

    Privacy: the loss of its mechanism, for any number of questions, adaptively chosen.
    >>> from discreet.streams.svt.above_threshold import AboveThreshold
    >>> run = AboveThreshold(threshold_scale=1, query_scale=2).start()
    >>> run.check(0, threshold=1000), run.check(2000, threshold=1000), run.left
    (False, True, 0)
    """

    __slots__ = ("_bits", "_lock", "_mechanism", "_standing")

    def __init__(self, mechanism: Stepping[R], bits: BitSource = system) -> None:
        self._mechanism = mechanism
        self._bits = bits
        self._lock = threading.Lock()
        self._standing = mechanism.begin(bits)

    def __reduce__(self) -> str:
        raise InvalidValue(
            "a run cannot be copied or pickled: a copy would answer with the alarms of the "
            "original. Keep it in one process, or open a Monitor."
        )

    @property
    def left(self) -> int:
        """How many alarms are left.

        >>> from discreet.streams.svt.sparse import Sparse
        >>> Sparse(threshold_scale=1, query_scale=6, alarms=3).start().left
        3
        """
        return self._mechanism.alarms - self._standing.used

    def check(self, exact: int, *, threshold: int) -> R:
        """Compare one exact integer with a public threshold; refused when no alarms are left.

        Part of the run's loss; without an alarm it costs nothing more.
        >>> from discreet.streams.svt.above_threshold import AboveThreshold
        >>> AboveThreshold(threshold_scale=1, query_scale=2).start().check(-500, threshold=0)
        False
        """
        with self._lock:
            if self.left < 1:
                raise exhausted_error(self._mechanism.alarms)
            said, self._standing = self._mechanism.step(
                self._standing, exact, threshold, self._bits
            )
            return said


def exhausted_error(alarms: int) -> BudgetExceeded:
    """The refusal of a run that has used its alarms."""
    return BudgetExceeded(
        f"{alarms} of {alarms} alarms are used, so this run answers no more. Nothing was run or "
        "charged; start another run, which is charged when it starts."
    )
