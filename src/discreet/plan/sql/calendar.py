"""Dates as day numbers since 1970-01-01: truncation and parts, exactly as the engines do them.
Public facts only: which keys a date column can have. Of a time of day, only how long its units are.
"""

from datetime import date

__all__ = [
    "CLOCK",
    "PARTS",
    "UNITS",
    "day_number",
    "day_of",
    "part_bounds",
    "part_of",
    "starts",
    "truncate",
    "units_between",
]

PARTS = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "dayofyear": (1, 366),
}
"""Every part of a date and the values it can take."""

UNITS = ("year", "quarter", "month", "week", "day")
"""What a date can be truncated to."""

CLOCK = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}
"""The units of a time of day: how many seconds one has, and after how many they start again."""

_EPOCH = date(1970, 1, 1).toordinal()


def day_number(day: date) -> int:
    """Days since 1970-01-01.

    >>> day_number(date(1970, 1, 2))
    1
    """
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    """The date of a day number."""
    return date.fromordinal(number + _EPOCH)


def part_of(part: str, number: int) -> int:
    """One part of a date.

    >>> part_of("dayofweek", 0)
    4
    """
    day = day_of(number)
    return {
        "year": day.year,
        "quarter": (day.month + 2) // 3,
        "month": day.month,
        "week": day.isocalendar().week,
        "day": day.day,
        "dayofweek": day.isoweekday() % 7,
        "dayofyear": day.timetuple().tm_yday,
    }[part]


def part_bounds(part: str, lower: int, upper: int) -> tuple[int, int]:
    """The smallest and largest value of a part between two days.

    >>> part_bounds("month", 0, 1000)
    (1, 12)
    """
    if part == "year":
        return day_of(lower).year, day_of(upper).year
    if upper - lower < 366:
        values = [part_of(part, number) for number in range(lower, upper + 1)]
        return min(values), max(values)
    return PARTS[part]


def truncate(unit: str, number: int) -> int:
    """The day number of the first day of the unit that holds a day.

    >>> day_of(truncate("quarter", day_number(date(2024, 5, 17))))
    datetime.date(2024, 4, 1)
    """
    return _first_day(unit, _place(unit, number))


def units_between(unit: str, lower: int, upper: int) -> int:
    """How many units meet [lower, upper].

    >>> units_between("month", 0, 364)
    12
    """
    return _place(unit, upper) - _place(unit, lower) + 1


def starts(unit: str, lower: int, upper: int) -> list[int]:
    """The first days of all units that meet [lower, upper]."""
    return [_first_day(unit, n) for n in range(_place(unit, lower), _place(unit, upper) + 1)]


_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_MONDAY = -3  # 1969-12-29


def _place(unit: str, number: int) -> int:
    """The units of a calendar in order, by a number for each."""
    if unit in ("week", "day"):
        return number if unit == "day" else (number - _MONDAY) // 7
    day = day_of(number)
    return (12 * day.year + day.month - 1) // _MONTHS[unit]


def _first_day(unit: str, place: int) -> int:
    if unit in ("week", "day"):
        return place if unit == "day" else 7 * place + _MONDAY
    year, month = divmod(place * _MONTHS[unit], 12)
    return day_number(date(year, month + 1, 1))
