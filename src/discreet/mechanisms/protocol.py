"""What every mechanism offers. A mechanism is a value: it holds no data and no randomness."""

from typing import Any, Protocol

from discreet.loss import Loss, Sensitivity
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """A randomised function with a price: its loss, what it releases, its error.

    Privacy: `loss` states the guarantee and its theorem; nothing else here touches data.
    """

    def loss(self, sensitivity: Sensitivity) -> Loss:
        """The cost of one release of a query with this sensitivity.

        Privacy: under the neighbouring relation of the sensitivity.
        """

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The noisy version of an exact value.

        Privacy: as `loss` says.
        """

    def error(self, confidence: Number) -> float:
        """A half-width that holds with this probability, known before any release."""
