"""What a mechanism that may refuse gives back: a value, or a refusal that is itself private.
Owns the two answers and nothing else.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Outcome", "Refused", "Shown"]

Value = TypeVar("Value", covariant=True)


@dataclass(frozen=True, slots=True)
class Shown(Generic[Value]):
    """The test passed, and this is the released value."""

    value: Value


@dataclass(frozen=True, slots=True)
class Refused:
    """The test did not pass: an answer like any other, paid for, and without a value.

    A refusal is noisy too: it says that the data are probably too close to instability, and
    asking again costs again.
    """

    what: str

    def __str__(self) -> str:
        return (
            f"{self.what}: too close to instability to be released. The test is charged; a larger "
            "epsilon, delta or bound, or more rows, may pass it."
        )


Outcome = Shown[Value] | Refused
"""Either a value or a refusal; `match` tells them apart."""
