"""What a run is paid with, durable before its engine starts."""

from collections.abc import Callable

from discreet.curator.interrupts import charging
from discreet.ledger.entry import Receipt as Charge

__all__ = ["Payment"]


class Payment:
    """What a run is paid with: an earlier charge, one that is made before the engine runs, or none
    where something else was paid ahead.
    """

    __slots__ = ("_pay", "made", "receipt")

    def __init__(self, pay: Callable[[], Charge | None], paid: Charge | None = None) -> None:
        self._pay = pay
        self.receipt = paid
        self.made = False

    def make(self) -> Charge | None:
        """Pay, if nothing paid yet; the charge.

        Charges what it was made with, before anything is read.
        """
        charging()
        if self.receipt is None:
            self.receipt = self._pay()
        self.made = True
        return self.receipt
