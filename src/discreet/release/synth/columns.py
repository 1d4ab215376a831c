"""How the columns of a table become attributes and back: a GROUP BY expression for each, public
buckets for wide columns, a value of its own for what is missing, and labels for synthetic rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, with_article
from discreet.noise.bits import BitSource, system
from discreet.rationals import decimal_text
from discreet.release.synth.domain import Attribute
from discreet.schema.column import Column
from discreet.schema.names import sql_name
from discreet.schema.table import Table

__all__ = ["CodedColumn", "fields_of"]

_FINE = 512  # columns with at most this many values keep them
_BUCKETS = 256  # others get about as many buckets
_DAYS = 372  # twelve months of 31 days, so that a date is one number in every engine
_NUMBERS = ("integer", "number")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One column of a synthesis: its key in SQL and how its codes read.

    Privacy: public: it reads released codes.
    >>> CodedColumn.of(Column("age", "integer", lower=0, upper=110)).attribute.size
    112
    """

    column: Column
    sql: str
    attribute: Attribute
    width: int = 1
    """How many lattice values one code stands for."""

    @property
    def optional(self) -> bool:
        """Whether values may be missing; then the first code says so."""
        return self.column.null == "drop" and self.column.kind != "category"

    @classmethod
    def of(cls, column: Column) -> "CodedColumn":
        """The field of a column whose values are public.

        >>> CodedColumn.of(Column("vip", "boolean")).sql
        'CASE WHEN vip IS NULL THEN 0 WHEN vip THEN 2 ELSE 1 END'
        """
        name = column.name
        plain = sql_name(name)
        if column.kind == "boolean" and column.null != "drop":
            return cls(column, plain, Attribute(name, 2))
        if column.kind == "boolean":
            sql = f"CASE WHEN {plain} IS NULL THEN 0 WHEN {plain} THEN 2 ELSE 1 END"
            return cls(column, sql, Attribute(name, 3))
        if column.kind == "category" and not column.private_keys:
            return cls(column, plain, Attribute(name, len(column.keys) + column.other))
        if column.kind in _NUMBERS:
            return cls._of_number(column)
        if column.kind == "date":
            return cls._of_date(column)
        raise InvalidValue(
            f"{name}: synthetic data has no place for {with_article(column.kind)} "
            f"{'with private keys ' if column.private_keys else ''}yet; name the other columns "
            "with columns=. Nothing was run or charged."
        )

    @classmethod
    def _of_number(cls, column: Column) -> "CodedColumn":
        count = column.upper - column.lower + 1
        width = 1 if count <= _FINE else -(-count // _BUCKETS)
        least, step = column.lower * column.step, column.step * width
        code = f"FLOOR(({sql_name(column.name)} - ({_decimal(least)})) / {_decimal(step)})"
        return cls._of_ordered(column, code, (count - 1) // width + 1, width)

    @classmethod
    def _of_date(cls, column: Column) -> "CodedColumn":
        first, last = (_EPOCH + timedelta(days=end) for end in (column.lower, column.upper))
        years = last.year - first.year + 1
        name = sql_name(column.name)
        whole = f"(YEAR({name}) - {first.year}) * 12 + MONTH({name}) - 1"
        width = 31
        if years * _DAYS <= 4 * _FINE:
            whole, width = f"({whole}) * 31 + DAY({name}) - 1", 1
        return cls._of_ordered(column, whole, years * _DAYS // width, width)

    @classmethod
    def _of_ordered(cls, column: Column, code: str, size: int, width: int) -> "CodedColumn":
        if column.null != "drop":
            return cls(column, code, Attribute(column.name, size, ordered=True), width)
        sql = f"CASE WHEN {sql_name(column.name)} IS NULL THEN -1 ELSE {code} END"
        return cls(column, sql, Attribute(column.name, size + 1, ordered=True), width)

    def read(self, codes: NDArray[np.int64], bits: BitSource = system) -> list[Any]:
        """What the codes of synthetic rows are called; None where a value is missing.

        Inside a bucket every value is as likely as any other.
        Privacy: post-processing.
        >>> CodedColumn.of(Column("age", "integer", lower=10, upper=20)).read(np.array([0, 1, 2]))
        [None, 10, 11]
        """
        if self.column.kind == "category":
            labels: list[Any] = [*self.column.keys, "other"]
            return [labels[code] for code in codes.tolist()]
        if self.column.kind == "boolean":
            labels = [None, False, True] if self.optional else [False, True]
            return [labels[code] for code in codes.tolist()]
        codes = codes if self.optional else codes + 1  # 0 is what is missing
        lattice = (codes - 1) * self.width + _draw_below(self.width, len(codes), bits)
        read = self._day if self.column.kind == "date" else self._value
        known = {place: read(place) for place in set(lattice[codes != 0].tolist())}
        pairs = zip(codes.tolist(), lattice.tolist(), strict=True)
        return [known[place] if code else None for code, place in pairs]

    def labels(self) -> list[list[Any]]:
        """What each code may be called: several names for a bucket.

        >>> CodedColumn.of(Column("vip", "boolean")).labels()
        [[None], [False], [True]]
        """
        codes = range(self.attribute.size)
        if self.column.kind in ("category", "boolean"):
            return [self.read(np.array([code])) for code in codes]
        read = self._day if self.column.kind == "date" else self._value
        names: list[list[Any]] = [[None]] if self.optional else []
        for start in range(0, (len(codes) - len(names)) * self.width, self.width):
            names.append([read(place) for place in range(start, start + self.width)])
        return names

    def _value(self, place: int) -> int | float:
        number = min(self.column.lower + place, self.column.upper) * self.column.step
        return int(number) if number.denominator == 1 else float(number)

    def _day(self, place: int) -> date:
        first = _EPOCH + timedelta(days=self.column.lower)
        months, day = divmod(place, 31)
        start = date(first.year + months // 12, months % 12 + 1, 1)
        following = (start + timedelta(days=31)).replace(day=1)
        shown = min(start + timedelta(days=day), following - timedelta(days=1))
        last = _EPOCH + timedelta(days=self.column.upper)
        return max(first, min(shown, last))


def fields_of(table: Table, columns: Sequence[str] | None) -> tuple[CodedColumn, ...]:
    """The fields of the named columns, or of all that have public values.

    >>> table = Table("t", columns=(Column("vip", "boolean"),))
    >>> [field.column.name for field in fields_of(table, None)]
    ['vip']
    """
    known = {column.name: column for column in table.columns}
    if columns is None:
        named = [c for c in table.columns if not c.private_keys and c.kind != "datetime"]
    else:
        unknown = [name for name in columns if name not in known]
        if unknown or len(set(columns)) < len(columns):
            raise InvalidValue(
                f"{table.name} has no columns {', '.join(unknown) or 'twice'}; it has "
                f"{', '.join(known)}. Nothing was run or charged."
            )
        named = [known[name] for name in columns]
    if not named:
        raise InvalidValue(f"{table.name} has no column with public values. Nothing was charged.")
    return tuple(CodedColumn.of(column) for column in named)


def _decimal(number: Fraction) -> str:
    """The number as SQL writes it, exactly."""
    text = decimal_text(number)
    if text is None:
        raise InvalidValue(f"the step {number} is not a decimal; synthetic data needs one.")
    return text


def _draw_below(bound: int, count: int, bits: BitSource) -> NDArray[np.int64]:
    """Numbers below the bound, evenly enough for a bucket that is below 2**32 wide."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    words = np.empty(count, dtype=np.uint64)
    bits.fill(words.view(np.uint8))
    return (words % np.uint64(bound)).astype(np.int64)
