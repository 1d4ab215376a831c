"""Reads one entry of a schema's [columns] into a Column: which keys its type has, the lattice
they declare and the rules for values off it. Reads what the custodian wrote, never data.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.column import (
    AS_NULL,
    INFINITY,
    KINDS,
    OTHER,
    Column,
    check_description,
    nearest,
)
from discreet.schema.names import any_name
from discreet.schema.values import days, exact_number, seconds, steps

__all__ = ["KEYS", "known_keys", "read_column"]

_ENDS = ("lower", "upper")
_PRIVATE = "private"
_RULES = ("drop", "error")
_NUMERIC = ("lower", "upper", "step", "null", "nan", "infinity")
_OF_ALL = ("type", "source_name", "description")
KEYS = MappingProxyType(
    {
        "integer": (*_OF_ALL, *_NUMERIC),
        "number": (*_OF_ALL, *_NUMERIC),
        "category": (*_OF_ALL, "keys", "other", "null"),
        "boolean": (*_OF_ALL, "null"),
        "date": (*_OF_ALL, "lower", "upper", "null", "infinity"),
        "datetime": (*_OF_ALL, "lower", "upper", "step", "null", "infinity"),
    }
)
"""The keys that an entry of each type may have."""

_OTHER_WORDS = {
    **dict.fromkeys(("int", "bigint"), 'type = "integer"'),
    **dict.fromkeys(("decimal", "numeric", "float", "double", "real"), 'type = "number"'),
    **dict.fromkeys(("text", "string", "varchar"), 'type = "category"'),
    "timestamp": 'type = "datetime"',
}


def known_keys(given: Iterable[object], known: Iterable[str], where: str, what: str) -> None:
    """Refuse the first word that is not a known one, naming the nearest.

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

    >>> read_column("visits", "age", {"type": "integer", "lower": 0, "upper": 110}).upper
    110
    """
    any_name(name, f"{table}: a column's name")
    where = f"{table}.{name}"
    if not isinstance(entry, Mapping):
        raise SchemaError(f'{where} is {entry!r}; write {{ type = "boolean" }}, say.')
    kind = entry.get("type")
    if kind is None:
        raise SchemaError(f"{where}: no type. Write one of {', '.join(KINDS)}.")
    if kind not in KINDS:
        known = _OTHER_WORDS.get(str(kind).casefold())
        hint = f"Write {known}." if known else nearest(str(kind), KINDS)
        raise SchemaError(f"{where}: type is {kind!r}. {hint}")
    for key in entry:
        if key not in KEYS[kind] and any(key in keys for keys in KEYS.values()):
            raise SchemaError(f"{where}: the type {kind} has no {key}. Leave it out.")
    known_keys(entry, KEYS[kind], where, "key")
    lattice = _LATTICE[kind](where, entry)
    try:
        column = Column(name, kind, **lattice, source_name=_source_name(where, entry))
    except SchemaError as error:  # begins with the column's name
        raise SchemaError(f"{table}.{error}") from None
    rules: dict[str, Any] = {"null": _null(where, column, entry.get("null", "drop"))}
    if "nan" in entry:
        rules["nan"] = _nan(where, column, entry["nan"])
    if "infinity" in entry:
        rules["infinity"] = _infinity(where, entry["infinity"])
    rules["description"] = check_description(entry.get("description", ""), f"{where}: description")
    return replace(column, **rules)


def _source_name(where: str, entry: Mapping[str, Any]) -> str:
    called = entry.get("source_name", "")
    if not isinstance(called, str) or ("source_name" in entry and not called):
        raise SchemaError(
            f"{where}: source_name is {called!r:.200}; write the column's name in the source, in "
            "quotes."
        )
    return called


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
    _bounds(where, entry, exact_number)
    if entry["type"] == "number" and "step" not in entry:
        raise SchemaError(
            f"{where}: a number needs a step, the precision its values are rounded to. "
            "Set step = 1 or step = 0.01, say."
        )
    step = _step(where, entry)
    if entry["type"] == "integer" and step.denominator != 1:
        raise SchemaError(
            f"{where}: step is {entry['step']}; that of an integer is an integer. "
            'For fractions write type = "number".'
        )
    lower, upper = _bounds(where, entry, lambda value, what: steps(value, step, what))
    return {"step": step, "lower": lower, "upper": upper}


def _step(where: str, entry: Mapping[str, Any]) -> Fraction:
    step = exact_number(entry.get("step", 1), f"{where}: step")
    if step <= 0:
        raise SchemaError(f"{where}: step is {entry['step']}; it must be above 0.")
    return step


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
    lower, upper = _bounds(where, entry, days)
    return {"lower": lower, "upper": upper}


def _datetime(where: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    step = _step(where, entry)
    if step.denominator != 1:
        raise SchemaError(
            f"{where}: step is {entry['step']}; that of a datetime is in whole seconds."
        )
    lower, upper = _bounds(where, entry, lambda value, what: seconds(value, step, what))
    return {"step": step, "lower": lower, "upper": upper}


_LATTICE: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "integer": _numeric,
    "number": _numeric,
    "category": _category,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
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
    if column.kind == "boolean":
        if not isinstance(given, bool):
            raise SchemaError(f"{what} is {given!r}; write true, false, drop or error.")
        return int(given)
    return _constant(what, column, given, "drop, error")


def _nan(where: str, column: Column, given: Any) -> str | int:
    """The rule for NaN: a word, `null` for what NULL becomes, or the constant's integer."""
    if isinstance(given, str) and given in (AS_NULL, *_RULES):
        return given
    return _constant(f"{where}: nan", column, given, "null, drop, error")


def _infinity(where: str, given: Any) -> str:
    if not isinstance(given, str) or given not in INFINITY:
        listed = " or ".join((", ".join(INFINITY[:-1]), INFINITY[-1]))
        raise SchemaError(f"{where}: infinity is {given!r}; write {listed}.")
    return given


def _constant(what: str, column: Column, given: Any, words: str) -> int:
    """The lattice integer of a constant within the bounds."""
    if isinstance(given, str) and column.kind in ("integer", "number"):
        raise SchemaError(f"{what} is {given!r}; write {words}, or a constant of the column.")
    if column.kind == "date":
        k = days(given, what)
    elif column.kind == "datetime":
        k = seconds(given, column.step, what)
    else:
        k = steps(given, column.step, what)
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
