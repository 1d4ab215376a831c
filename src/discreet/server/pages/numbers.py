"""Numbers that people type into forms: exact, and of a size that is cheap to compute with."""

import re
from fractions import Fraction

from discreet.errors import InvalidValue

__all__ = ["number_of"]

# Exponents of two digits: 1e999999999 would be computed for hours.
_NUMBER = re.compile(
    r"[0-9]{1,15}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?|\.[0-9]{1,30}|[0-9]{1,15}/[0-9]{1,15}"
)


def number_of(text: str) -> Fraction:
    """A number as it was typed: a decimal or a fraction.

    >>> number_of("0.1"), number_of("1/3")
    (Fraction(1, 10), Fraction(1, 3))
    >>> number_of("1e999999999")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: '1e999999999' is not a number that can be used; write one such \
as 0.5.
    """
    if _NUMBER.fullmatch(text):
        try:
            return Fraction(text)
        except ZeroDivisionError:
            pass
    raise InvalidValue(f"{text!r:.80} is not a number that can be used; write one such as 0.5.")
