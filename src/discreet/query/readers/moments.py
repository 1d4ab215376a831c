"""How dates and times are written, and which kinds of value can be compared.
Knows the ISO spelling only: no zones, no names of months, no order of day and month to guess.
"""

import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Literal
from discreet.query.readers.typed import Kind, Typed, where_in_text

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["align", "as_moment", "iso_date", "iso_datetime"]

_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?", re.ASCII
)


def iso_date(text: str, node: "Expr") -> Typed:
    """A date written as YYYY-MM-DD.

    >>> import sqlglot
    >>> iso_date("2024-02-30", sqlglot.parse_one("'2024-02-30'"))
    Traceback (most recent call last):
    discreet.errors.UnsafeQuery: '2024-02-30' is not a date (line 1). Write it as '2024-01-31'.
    """
    match = _MOMENT.fullmatch(text)
    try:
        if match is None or match[4] is not None:
            raise ValueError
        return Typed(Literal(date(*(int(part) for part in match.groups()[:3]))), Kind.DATE)
    except ValueError:
        raise UnsafeQuery(
            f"{text[:60]!r} is not a date{where_in_text(node)}. Write it as '2024-01-31'."
        ) from None


def iso_datetime(text: str, node: "Expr") -> Typed:
    """A date and time written as YYYY-MM-DD HH:MM:SS; what is left out is zero.

    >>> import sqlglot
    >>> iso_datetime("2024-01-31 12:30", sqlglot.parse_one("1")).expression.value
    datetime.datetime(2024, 1, 31, 12, 30)
    """
    match = _MOMENT.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        micro = int((match[7] or "").ljust(6, "0"))
        value = datetime(year, month, day, hour, minute, second, micro)
        return Typed(Literal(value), Kind.DATETIME)
    except ValueError:
        raise UnsafeQuery(
            f"{text[:60]!r} is not a date and time{where_in_text(node)}. "
            "Write it as '2024-01-31 12:00:00', without a zone."
        ) from None


def as_moment(typed: Typed, kind: Kind, node: "Expr") -> Typed:
    """Text as a date or datetime, and a constant date as the midnight it begins with.

    >>> import sqlglot
    >>> day = Typed(Literal(date(2024, 1, 31)), Kind.DATE)
    >>> as_moment(day, Kind.DATETIME, sqlglot.parse_one("1")).expression.value
    datetime.datetime(2024, 1, 31, 0, 0)
    """
    value = typed.expression.value if isinstance(typed.expression, Literal) else None
    if isinstance(value, str):
        return iso_date(value, node) if kind == Kind.DATE else iso_datetime(value, node)
    if isinstance(value, date) and typed.kind == Kind.DATE and kind == Kind.DATETIME:
        return Typed(Literal(datetime.combine(value, time())), Kind.DATETIME)
    return typed


def align(left: Typed, right: Typed, node: "Expr") -> tuple[Typed, Typed]:
    """Both sides of a comparison, of one kind; ISO text beside a date is read as a date.

    >>> import sqlglot
    >>> from discreet.query.algebra import Field
    >>> day, text = Typed(Field("day"), Kind.DATE), Typed(Literal("2024-01-31"), Kind.TEXT)
    >>> align(day, text, sqlglot.parse_one("1"))[1].kind
    <Kind.DATE: 'date'>
    """
    if Kind.NULL in (left.kind, right.kind):
        raise UnsafeQuery(
            f"a comparison with NULL is never true{where_in_text(node)}. Write IS NULL."
        )
    for kind in (Kind.DATETIME, Kind.DATE):
        if kind in (left.kind, right.kind):
            left, right = as_moment(left, kind, node), as_moment(right, kind, node)
            break
    if _comparable(left, right):
        return left, right
    if Kind.OPEN in (left.kind, right.kind):
        raise UnsafeQuery(
            f"{Kind.OPEN.described} is compared only with text in quotes{where_in_text(node)}."
        )
    raise UnsafeQuery(
        f"{left.kind.described} cannot be compared with {right.kind.described}"
        f"{where_in_text(node)}. Write {left.kind.described} on both sides."
    )


def _comparable(left: Typed, right: Typed) -> bool:
    kinds = {left.kind, right.kind}
    if Kind.OPEN in kinds:
        return kinds == {Kind.OPEN, Kind.TEXT} and left.is_constant != right.is_constant
    if kinds == {Kind.DATE, Kind.DATETIME}:
        return not (left.is_constant or right.is_constant)
    return len(kinds) == 1 or (left.kind.is_number and right.kind.is_number)
