"""Exact numbers in, certified bounds out. Reads parameters as the decimals they print as, and
brackets exp, log and square root between rationals. Never rounds towards less privacy loss.
"""

import decimal
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational

from discreet.errors import InvalidValue, with_article

__all__ = [
    "Number",
    "ceil_decimal",
    "ceil_float",
    "decimal_text",
    "exp_bounds",
    "floor_decimal",
    "floor_float",
    "least_integer",
    "log_bounds",
    "log_float",
    "nonnegative",
    "positive",
    "probability",
    "rational",
    "sqrt_down",
    "sqrt_up",
    "strict_probability",
    "whole",
]

Number = int | float | Fraction | Decimal
"""What a caller may pass where an exact number is read."""

_LARGEST_POWER_OF_TEN = 10_000  # a Decimal of a few bytes can stand for gigabytes of digits
_LARGEST_EXPONENT = 100_000  # e**100000 has 43,430 digits; nothing in this package needs more


def rational(value: Number, name: str = "value") -> Fraction:
    """The rational that `value` denotes; a float is read as the decimal it prints as.

    >>> rational(0.1) + rational(0.2) == rational(0.3)
    True
    """
    number: object = value  # callers outside mypy pass anything, numpy scalars included
    if type(number).__name__ in {"bool", "bool_"}:
        raise InvalidValue(f"{name} is the boolean {value!r}; write a number.")
    if isinstance(number, Integral):
        return Fraction(int(number))
    if isinstance(number, Rational):
        return Fraction(number)
    if isinstance(number, Decimal):
        return _from_decimal(number, name)
    if isinstance(number, float):
        if not math.isfinite(number):
            raise InvalidValue(f"{name} is {float(number)}; it must be finite.")
        return Fraction(float.__repr__(number))
    raise InvalidValue(
        f"{name} is {value!r}, {with_article(type(value).__name__)}; "
        "write an int, a Fraction, a Decimal or a float."
    )


def _from_decimal(number: Decimal, name: str) -> Fraction:
    if not number.is_finite():
        raise InvalidValue(f"{name} is {number}; it must be finite.")
    if abs(number.adjusted()) > _LARGEST_POWER_OF_TEN:
        raise InvalidValue(
            f"{name} is {number}; its power of ten must lie within +-{_LARGEST_POWER_OF_TEN}."
        )
    return Fraction(number)


def nonnegative(value: Number, name: str = "value") -> Fraction:
    """Read a number that may not be negative.

    >>> nonnegative(0)
    Fraction(0, 1)
    """
    number = rational(value, name)
    if number < 0:
        raise InvalidValue(f"{name} is {value}; it must not be negative.")
    return number


def positive(value: Number, name: str = "value") -> Fraction:
    """Read a number that must be above zero.

    >>> positive(0.5)
    Fraction(1, 2)
    """
    number = rational(value, name)
    if number <= 0:
        raise InvalidValue(f"{name} is {value}; it must be above 0.")
    return number


def whole(value: int, name: str = "value", *, least: int = 1, most: int | None = None) -> int:
    """Read an integer between two limits; booleans and other types of numbers are refused.

    >>> whole(True, "count")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: count is True; it must be an integer of at least 1.
    """
    number: object = value
    integer = isinstance(number, int) and not isinstance(number, bool)
    if not integer or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        shown = f"{value!r:.80}" if not integer or abs(value) < 10**80 else "far too large"
        raise InvalidValue(f"{name} is {shown}; it must be an integer {limits}.")
    return value


def probability(value: Number, name: str = "value") -> Fraction:
    """Read a number between 0 and 1, both allowed.

    >>> probability(1e-6)
    Fraction(1, 1000000)
    """
    number = rational(value, name)
    if not 0 <= number <= 1:
        raise InvalidValue(f"{name} is {value}; it must lie between 0 and 1.")
    return number


def strict_probability(value: Number, name: str = "value") -> Fraction:
    """Read a number between 0 and 1, neither allowed.

    >>> strict_probability(1, "confidence")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: confidence is 1; it must lie between 0 and 1, both excluded.
    """
    number = rational(value, name)
    if not 0 < number < 1:
        raise InvalidValue(f"{name} is {value}; it must lie between 0 and 1, both excluded.")
    return number


def ceil_float(value: Fraction) -> float:
    """The smallest float that is at least `value`.

    >>> ceil_float(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    try:
        near = float(value)  # correctly rounded, so at most one step below
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def floor_float(value: Fraction) -> float:
    """The largest float that is at most `value`.

    >>> floor_float(Fraction(1, 10)) <= Fraction(1, 10)
    True
    """
    return -ceil_float(-value)


def ceil_decimal(value: Fraction, digits: int = 18) -> Fraction:
    """The smallest decimal of `digits` significant digits that is at least `value`.

    >>> ceil_decimal(Fraction(1, 3), 4)
    Fraction(1667, 5000)
    """
    if not value:
        return value
    size = abs(value)
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    places = digits - math.floor(bits * math.log10(2))  # at most two too many
    while size * Fraction(10) ** places >= Fraction(10) ** digits:
        places -= 1
    scale = Fraction(10) ** places
    return math.ceil(value * scale) / scale


def floor_decimal(value: Fraction, digits: int = 18) -> Fraction:
    """The largest decimal of `digits` significant digits that is at most `value`.

    >>> floor_decimal(Fraction(1, 3), 4)
    Fraction(3333, 10000)
    """
    return -ceil_decimal(-value, digits)


def decimal_text(value: Fraction) -> str | None:
    """The value as a decimal, exactly; None if no decimal of at most 18 places is it.

    >>> decimal_text(Fraction(-5, 4)), decimal_text(Fraction(200_000)), decimal_text(Fraction(1, 3))
    ('-1.25', '200000', None)
    """
    places = next((n for n in range(19) if (value * 10**n).denominator == 1), None)
    if places is None:
        return None
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    cut = len(digits) - places
    text = digits[:cut] + (f".{digits[cut:]}" if places else "")
    return f"-{text}" if value < 0 else text


def _context(digits: int, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Context:
    return decimal.Context(
        prec=digits,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


def _decimal_bounds(value: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    numerator, denominator = Decimal(value.numerator), Decimal(value.denominator)
    return (
        _context(digits, decimal.ROUND_FLOOR).divide(numerator, denominator),
        _context(digits, decimal.ROUND_CEILING).divide(numerator, denominator),
    )


def exp_bounds(exponent: Fraction, digits: int = 40) -> tuple[Fraction, Fraction]:
    """Rationals below and above exp(exponent), about `digits` decimal digits apart.

    Results under 10**(-4 * digits) get the bracket (0, 10**(-4 * digits)).
    >>> low, high = exp_bounds(Fraction(1))
    >>> low < high and abs(float(low) - 2.718281828459045) < 1e-15
    True
    """
    if exponent > _LARGEST_EXPONENT:
        raise InvalidValue(f"exp of {float(exponent):g}; the limit is {_LARGEST_EXPONENT}.")
    if exponent < -10 * digits:  # e**-10 < 10**-4
        return Fraction(0), Fraction(1, 10 ** (4 * digits))
    context = _context(digits + 6)  # an argument under 1e5 loses at most 5 digits
    low, high = _decimal_bounds(exponent, digits + 12)
    # decimal's exp is correctly rounded, so one step outwards is a bound.
    below = context.next_minus(context.exp(low))
    above = context.next_plus(context.exp(high))
    return Fraction(below), Fraction(above)


def log_bounds(value: Fraction, digits: int = 40) -> tuple[Fraction, Fraction]:
    """Rationals below and above ln(value), for value > 0.

    >>> low, high = log_bounds(Fraction(2))
    >>> low < high and abs(float(low) - 0.6931471805599453) < 1e-15
    True
    """
    if value <= 0:
        raise InvalidValue(f"the logarithm of {value}; the argument must be above 0.")
    context = _context(digits + 6)
    low, high = _decimal_bounds(value, digits + 12)
    # decimal's ln is correctly rounded, so one step outwards is a bound; ln(1) = 0 is exact, and
    # its neighbours at this range of exponents are too long to write down.
    below, above = context.ln(low), context.ln(high)
    return (
        Fraction(context.next_minus(below) if below else below),
        Fraction(context.next_plus(above) if above else above),
    )


def log_float(value: Fraction) -> float:
    """ln(value) for value > 0 to about a float's precision, for searches that are certified later.

    >>> log_float(1 - Fraction(1, 10**30))
    -1e-30
    """
    if Fraction(1, 2) < value < 2:
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


def sqrt_down(value: Fraction) -> Fraction:
    """A rational at most the square root of a positive number, to 20 significant digits or more.

    >>> sqrt_down(Fraction(9, 4)), sqrt_down(Fraction(2)) ** 2 < 2
    (Fraction(3, 2), True)
    """
    scale = 10**20 * (value.denominator // value.numerator + 1)
    return Fraction(math.isqrt(value.numerator * scale**2 // value.denominator), scale)


def sqrt_up(value: Fraction, digits: int = 40) -> Fraction:
    """A rational at least sqrt(value), exact when the root is rational.

    >>> sqrt_up(Fraction(9, 4))
    Fraction(3, 2)
    """
    if value < 0:
        raise InvalidValue(f"the square root of {value}; the argument must not be negative.")
    above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if above * above == value.numerator and below * below == value.denominator:
        return Fraction(above, below)
    scale = 10**digits * max(1, value.denominator // value.numerator)
    return Fraction(math.isqrt(value.numerator * scale**2 // value.denominator) + 1, scale)


def least_integer(holds: Callable[[int], bool], *, above: int = 0) -> int:
    """The least integer above `above`, at least -1, from which on `holds` says yes.

    Found by doubling, then by halving what is left.
    >>> least_integer(lambda number: number**2 >= 200), least_integer(lambda _: True, above=-1)
    (15, 0)
    """
    low, high = above, max(1, above + 1)
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
