"""How a price is divided between moving and stretching the noise."""

from fractions import Fraction

from discreet.errors import InvalidValue
from discreet.rationals import Number, rational

__all__ = ["share_of"]


def share_of(share: Number) -> Fraction:
    """Which part of a price goes to smoothing; strictly between 0 and 1."""
    given = rational(share, "share")
    if not 0 < given < 1:
        raise InvalidValue(f"share is {share}; it must lie between 0 and 1, both excluded.")
    return given
