"""Which texts are numbers, days, moments and truths where an engine's own cast would fail or guess,
and the usual way to keep a unit's first rows. Never sees data.
"""

__all__ = [
    "DAY",
    "FALSE",
    "LOCAL_MOMENT",
    "NUMBER",
    "OFFSET",
    "TRUE",
    "UTC",
    "YEAR",
    "ZONED_MOMENT",
    "rank_rows",
]

NUMBER = (
    "^[[:space:]]*[+-]?([0-9]{1,255}([.][0-9]{0,255})?|[.][0-9]{1,255})"
    "([eE][+-]?[0-9]{1,3})?[[:space:]]*$"
)
"""A decimal number of at most 255 digits on each side of the point, as a regular expression."""

_LONG = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT = "(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = "02-(0[1-9]|1[0-9]|2[0-8])"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|[13579][26]|0[48])00)"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?"

YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
"""A year from 1 to 9999 in four digits, as a regular expression for a whole text, like all here."""

UTC = "(Z|[+-]00(:?00)?)"
"""The end of a moment that is written in UTC."""

OFFSET = "(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
"""The end of a moment that says how far its clock is ahead of UTC."""

_ISO_DAY = f"({YEAR}-({_LONG}|{_SHORT}|{_FEBRUARY})|{_LEAP}-02-29)"

DAY = f"{_ISO_DAY}([T ]{_CLOCK}{UTC}?)?"
"""A day that there was, or a moment of it; its first ten signs are the day, also in UTC."""

LOCAL_MOMENT = f"{_ISO_DAY}([T ]{_CLOCK})?"
"""A moment without an offset; a day alone is its midnight."""

ZONED_MOMENT = f"{_ISO_DAY}[T ]{_CLOCK}{OFFSET}"
"""A moment with an offset."""

TRUE = "('true', 't', 'yes', 'y', '1')"
"""Texts that are true, in lower case."""

FALSE = "('false', 'f', 'no', 'n', '0')"
"""Texts that are false, in lower case."""


def rank_rows(rows: str, columns: str, order: str, most: int) -> str:
    """The first rows of every unit, by one window over all of them.

    After it, one unit has at most `most` rows.
    """
    return (
        f'SELECT "$unit", {columns} FROM (SELECT "$unit", {columns}, row_number() OVER '
        f'(PARTITION BY "$unit" ORDER BY {order}) AS "$place" FROM ({rows}) AS lattice) '
        f'AS ranked WHERE "$place" <= {most}'
    )
