"""Reads one entry of a schema's [columns] into a Column: numbers exactly, dates as days, keys as
codes, or says what to write instead. Reads what the custodian wrote, never data.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue, SchemaError
from discreet.rationals import rational
from discreet.schema.column import EPOCH, KINDS, OTHER, Column, identifier, nearest

__all__ = ["known_keys", "read_column"]

_ENDS = ("lower", "upper")
_HUGE = 10**36  # above LARGEST times the largest step; printing far longer integers fails
_PRIVATE = "private"
_RULES = ("drop", "error")
_KEYS = {
    "integer": ("type", "lower", "upper", "step", "null"),
    "number": ("type", "lower", "upper", "step", "null"),
    "category": ("type", "keys", "other", "null"),
    "boolean": ("type", "null"),
    "date": ("type", "lower", "upper", "null"),
}


def known_keys(given: Iterable[object], known: Iterable[str], where: str, what: str) -> None:
    """Refuse the first word that is not a known one, naming the nearest.

    Privacy: none (touches no data).
    >>> known_keys(["uppr"], ["lower", "upper"], "visits.age", "key")
    Traceback (most recent call last):
    discreet.errors.SchemaError: visits.age: unknown key 'uppr'. Did you mean 'upper'?
    """
    words = tuple(known)
    for word in given:
        if word not in words:
            raise SchemaError(f"{where}: unknown {what} {word!r}. {nearest(str(word), words)}")


def read_column(table: str, name: str, entry: object) -> Column:
    """The column that an entry such as `{ type = "integer", lower = 0, upper = 9 }` declares.

    Privacy: none (touches no data).
    >>> read_column("visits", "age", {"type": "integer", "lower": 0, "upper": 110}).upper
    110
    """
    identifier(name, f"{table}: a column's name")
    where = f"{table}.{name}"
    if not isinstance(entry, Mapping):
        raise SchemaError(f'{where} is {entry!r}; write {{ type = "boolean" }}, say.')
    kind = entry.get("type")
    if kind is None:
        raise SchemaError(f"{where}: no type. Write one of {', '.join(KINDS)}.")
    if kind not in KINDS:
        raise SchemaError(f"{where}: type is {kind!r}. {nearest(str(kind), KINDS)}")
    for key in entry:
        if key not in _KEYS[kind] and any(key in keys for keys in _KEYS.values()):
            raise SchemaError(f"{where}: the type {kind} has no {key}. Leave it out.")
    known_keys(entry, _KEYS[kind], where, "key")
    lattice = _LATTICE[kind](where, entry)
    try:
        column = Column(name, kind, **lattice)
    except SchemaError as error:  # begins with the column's name
        raise SchemaError(f"{table}.{error}") from None
    return replace(column, null=_null(where, column, entry.get("null", "drop")))


def _exact(value: Any, what: str) -> Fraction:
    if isinstance(value, str):
        raise SchemaError(f"{what} is the text {value!r}; write a number, without quotes.")
    if isinstance(value, date):
        raise SchemaError(f"{what} is the date {value}; write a number.")
    try:
        number = rational(value, what)
    except InvalidValue as error:
        raise SchemaError(str(error)) from None
    if abs(number) > _HUGE or number.denominator > _HUGE:
        raise SchemaError(f"{what} has too many digits. Write a number of at most 36.")
    return number


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"


def _steps(value: Any, step: Fraction, what: str) -> int:
    steps = _exact(value, what) / step
    below = steps.numerator // steps.denominator
    if below != steps:
        raise SchemaError(
            f"{what} is {value}; it must be a multiple of the step {_plain(step)}. "
            f"Write {_plain(below * step)} or {_plain((below + 1) * step)}."
        )
    return below


def _days(value: Any, what: str) -> int:
    if isinstance(value, datetime):
        raise SchemaError(f"{what} is a date with a time; write {value.date()} alone.")
    if isinstance(value, date):
        return (value - EPOCH).days
    if isinstance(value, str):
        try:
            example = date.fromisoformat(value[:10])
        except ValueError:
            example = date(2024, 1, 1)
        raise SchemaError(f"{what} is the text {value!r}; write {example} without quotes.")
    raise SchemaError(f"{what} is {value!r}; write a date such as 2024-01-01.")


def _bounds(where: str, entry: Mapping[str, Any], read: Callable[[Any, str], Any]) -> list[Any]:
    for end in _ENDS:
        if end not in entry:
            raise SchemaError(
                f"{where}: no {end} bound. Set {end} from what is known without the data."
            )
    lower, upper = (read(entry[end], f"{where}: {end}") for end in _ENDS)
    if lower > upper:
        raise SchemaError(
            f"{where}: lower {entry['lower']} is above upper {entry['upper']}. Exchange them."
        )
    return [lower, upper]


def _numeric(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    _bounds(where, entry, _exact)
    if entry["type"] == "number" and "step" not in entry:
        raise SchemaError(
            f"{where}: a number needs a step, the precision its values are rounded to. "
            "Set step = 1 or step = 0.01, say."
        )
    step = _exact(entry.get("step", 1), f"{where}: step")
    if step <= 0:
        raise SchemaError(f"{where}: step is {entry['step']}; it must be above 0.")
    if entry["type"] == "integer" and step.denominator != 1:
        raise SchemaError(
            f"{where}: step is {entry['step']}; that of an integer is an integer. "
            'For fractions write type = "number".'
        )
    lower, upper = _bounds(where, entry, lambda value, what: _steps(value, step, what))
    return {"step": step, "lower": lower, "upper": upper}


def _category(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    keys, other = entry.get("keys"), entry.get("other", False)
    if keys is None:
        raise SchemaError(f'{where}: a category needs keys. Write keys = ["...", "..."].')
    if not isinstance(other, bool):
        raise SchemaError(f"{where}: other is {other!r}; write true or false.")
    if keys == _PRIVATE:
        if "other" in entry:
            raise SchemaError(
                f'{where}: keys = "private" and other exclude each other. Leave other out.'
            )
        return {"private_keys": True, "upper": 0}
    if not isinstance(keys, list | tuple):
        raise SchemaError(
            f'{where}: keys is {keys!r}; write a list, keys = ["...", "..."], or keys = "private" '
            "where they are not known in advance."
        )
    return {"keys": tuple(keys), "other": other, "upper": len(keys) - 1 + other}


def _boolean(_where: str, _entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"upper": 1}


def _date(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    lower, upper = _bounds(where, entry, _days)
    return {"lower": lower, "upper": upper}


_LATTICE: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "integer": _numeric,
    "number": _numeric,
    "category": _category,
    "boolean": _boolean,
    "date": _date,
}


def _null(where: str, column: Column, given: Any) -> str | int:
    """The rule for NULL: a word, or the lattice integer of a constant within the bounds."""
    what = f"{where}: null"
    if column.private_keys and given != "drop":
        raise SchemaError(
            f"{what} is {given!r}; with private keys NULL is in no group. Leave null out."
        )
    if isinstance(given, str) and given in _RULES:
        return given
    if column.kind == "category":
        return _null_key(what, column, given)
    if isinstance(given, str) and column.kind != "date":
        raise SchemaError(f"{what} is {given!r}; write drop, error, or a constant of the column.")
    if column.kind == "boolean":
        if not isinstance(given, bool):
            raise SchemaError(f"{what} is {given!r}; write true, false, drop or error.")
        return int(given)
    k = _days(given, what) if column.kind == "date" else _steps(given, column.step, what)
    if not column.lower <= k <= column.upper:
        raise SchemaError(
            f"{what} is {given}; it must lie within the bounds, {column.decode(column.lower)} "
            f"to {column.decode(column.upper)}."
        )
    return k


def _null_key(what: str, column: Column, given: Any) -> int:
    if column.other and given == OTHER:
        return column.upper
    if not isinstance(given, str) or given not in column.keys:
        hint = nearest(str(given), (*column.keys[:1000], *_RULES))
        raise SchemaError(f"{what} is {given!r}; write drop, error or a declared key. {hint}")
    return column.keys.index(given)
