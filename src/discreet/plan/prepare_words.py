"""Which texts are numbers, days and truths where an engine's own cast would fail or guess, and
the usual way to keep a unit's first rows. Never sees data.
"""

__all__ = ["DAYS", "FALSE", "NUMBER", "TRUE", "ranked_rows"]

NUMBER = (
    "^[[:space:]]*[+-]?([0-9]{1,255}([.][0-9]{0,255})?|[.][0-9]{1,255})"
    "([eE][+-]?[0-9]{1,3})?[[:space:]]*$"
)
"""A decimal number of at most 255 digits on each side of the point, as a regular expression."""

_LONG = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
_SHORT = "(0[469]|11)-(0[1-9]|[12][0-9]|30)"
_FEBRUARY = "02-(0[1-9]|1[0-9]|2[0-8])"
_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|[13579][26]|0[48])00)"

DAYS = (f"^{_YEAR}-({_LONG}|{_SHORT}|{_FEBRUARY})$", f"^{_LEAP}-02-29$")
"""A day of the years 1 to 9999 as year-month-day, as regular expressions."""

TRUE = "('true', 't', 'yes', 'y', '1')"
"""Texts that are true, in lower case."""

FALSE = "('false', 'f', 'no', 'n', '0')"
"""Texts that are false, in lower case."""


def ranked_rows(rows: str, columns: str, order: str, most: int) -> str:
    """The first rows of every unit, by one window over all of them.

    Privacy: none (touches no data); after it, one unit has at most `most` rows.
    >>> ranked_rows("SELECT", '"a"', "md5(1)", 3).endswith('WHERE "$place" <= 3')
    True
    """
    return (
        f'SELECT "$unit", {columns} FROM (SELECT "$unit", {columns}, row_number() OVER '
        f'(PARTITION BY "$unit" ORDER BY {order}) AS "$place" FROM ({rows}) AS lattice) '
        f'AS ranked WHERE "$place" <= {most}'
    )
