"""What is publicly known about a table: columns, bounds, privacy unit, neighbours, budget.
Every value is declared by the custodian; nothing here is ever read from data.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.encoding import Form, Forms, list_facts, write_fraction
from discreet.errors import InvalidValue, SchemaError
from discreet.loss import Relation
from discreet.rationals import Number, nonnegative, positive
from discreet.schema.column import COLUMN_FORM, Column, check_description, nearest, whole
from discreet.schema.format import PLAIN, Format
from discreet.schema.names import any_name, fold, population_name, spelt_as

__all__ = ["Budget", "JOINED_ROWS", "TABLE_KINDS", "Table", "UNREADABLE_SHARE", "table_named"]

TABLE_KINDS = ("private", "public")
"""What a table can be: about people, or a lookup table that needs no protection."""

JOINED_ROWS = 1000
"""The most rows that a join gives one unit, unless a schema raises it."""

UNREADABLE_SHARE = Fraction(1, 100)
"""The share of a column's cells that may be unreadable, unless a schema sets another."""

_MOST_ROWS = 10**9
_MOST_JOINED = 10**6
_MOST_SECONDS = 600
_MOST_BITS = 4096  # far longer integers cannot be written as text


@dataclass(frozen=True, slots=True)
class Budget:
    """What a population may lose in all; delta = 0 is a pure account.

    `delta_for_conversion` is the share of delta kept for turning rho into epsilon; `sharing`
    makes a release free for every analyst.
    >>> Budget(epsilon=0.3, delta=1e-7).epsilon
    Fraction(3, 10)
    """

    epsilon: Fraction
    delta: Fraction
    delta_for_conversion: Fraction
    sharing: bool

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number = 0,
        delta_for_conversion: Number = Fraction(1, 2),
        sharing: bool = False,
    ) -> None:
        try:
            object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
            object.__setattr__(self, "delta", nonnegative(delta, "delta"))
            share = positive(delta_for_conversion, "delta_for_conversion")
            object.__setattr__(self, "delta_for_conversion", share)
        except InvalidValue as error:
            raise SchemaError(f"budget: {error}") from None
        if max(part.bit_length() for part in self._parts()) > _MOST_BITS:
            raise SchemaError("budget: a number has too many digits. Write a shorter one.")
        if self.delta >= 1:
            raise SchemaError(f"budget: delta is {delta}; it must be below 1.")
        if share >= 1:
            raise SchemaError(
                f"budget: delta_for_conversion is {delta_for_conversion}; it is a share of "
                "delta, above 0 and below 1."
            )
        if not isinstance(sharing, bool):
            raise SchemaError(f"budget: sharing is {sharing!r}; write true or false.")
        object.__setattr__(self, "sharing", sharing)

    def _parts(self) -> list[int]:
        numbers = (self.epsilon, self.delta, self.delta_for_conversion)
        return [part for number in numbers for part in number.as_integer_ratio()]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: where it lies, whose budget it draws on, who is protected, what is known of it.

    Without a unit every row is one person. With one, rows_per_unit rows of each are kept. A
    table of kind public is about nobody: it has no unit and no budget, and a private table may
    look up rows in it, at most rows_per_key for one value of the columns in `key`. A join gives
    one unit at most joined_rows_per_unit rows, or as many as one of its sides has.
    `answer_seconds` says how long one reading of the table may take at most: a public fact, from
    which follows when remote answers can be seen. Without it, the table's engine decides.
    `unit_source_name` is what the source calls the unit, where that is another name;
    `description` tells analysts what the table is about.
    `format` says how the source's texts are written; a source of which more than
    `unreadable_share` of a column's cells, or of its rows, cannot be read is refused.
    >>> visits = Table("visits", columns=(Column("age", "integer", upper=110),))
    >>> visits.population, visits.column("AGE").upper
    ('visits', 110)
    """

    name: str
    source: str | None = None
    population: str = ""
    unit: str | None = None
    rows_per_unit: int = 1
    neighbours: Relation = Relation.ADD_REMOVE
    columns: tuple[Column, ...] = ()
    budget: Budget | None = None
    kind: str = "private"
    key: tuple[str, ...] = ()
    rows_per_key: int = 1
    joined_rows_per_unit: int = JOINED_ROWS
    answer_seconds: Fraction | None = None
    unit_source_name: str = ""
    description: str = ""
    format: Format = PLAIN
    unreadable_share: Fraction = UNREADABLE_SHARE

    def __post_init__(self) -> None:
        any_name(self.name, "a table's name")
        check_description(self.description, f"{self.name}: description")
        if "/" in self.name:
            raise SchemaError(
                f"a table's name is {self.name!r}; addresses are made of it, so it has no slash."
            )
        object.__setattr__(self, "population", self.population or population_name(self.name))
        whose: object = self.population
        if not isinstance(whose, str) or not whose or population_name(whose) != whose:
            raise SchemaError(
                f"{self.name}: population is {whose!r:.200}; a population has a name like an "
                "account: 1 to 64 letters, digits and _ . @ + -, beginning with a letter, a digit "
                "or _."
            )
        if not isinstance(self.neighbours, Relation):
            raise SchemaError(f"{self.name}: neighbours is {self.neighbours!r}, not a Relation.")
        what = f"{self.name}: rows_per_unit"
        whole(self.rows_per_unit, what, 1, _MOST_ROWS)
        whole(self.joined_rows_per_unit, f"{self.name}: joined_rows_per_unit", 1, _MOST_JOINED)
        seen: dict[str, str] = {}
        for column in self.columns:
            twin = seen.get(fold(column.name))
            if twin is not None:
                raise SchemaError(
                    f"{self.name}: the columns {twin!r} and {column.name!r} have the same name; "
                    "capitals do not count."
                )
            seen[fold(column.name)] = column.name
        self._check_unit(seen)
        self._check_key(seen)
        self._check_seconds()
        self._check_share()

    def _check_unit(self, columns: dict[str, str]) -> None:
        called: object = self.unit_source_name
        if not isinstance(called, str) or (called and not self.unit):
            raise SchemaError(
                f"{self.name}: unit_source_name is {called!r:.200}; it is what the source calls "
                "the column of the unit, a text, and stands beside unit. Leave it out."
            )
        if self.unit is None:
            if self.rows_per_unit != 1:
                raise SchemaError(
                    f"{self.name}: rows_per_unit is {self.rows_per_unit} but no unit is named. "
                    "Name the unit's column, or leave rows_per_unit out: each row is one person."
                )
            return
        any_name(self.unit, f"{self.name}: unit")
        if fold(self.unit) in columns:
            raise SchemaError(
                f"{self.name}: {self.unit!r} is the privacy unit and also a column. "
                "A unit cannot be queried: remove it from the columns."
            )

    def _check_key(self, columns: dict[str, str]) -> None:
        if self.kind not in TABLE_KINDS:
            raise SchemaError(
                f"{self.name}: kind is {self.kind!r}. {nearest(str(self.kind), TABLE_KINDS)}"
            )
        whole(self.rows_per_key, f"{self.name}: rows_per_key", 1, _MOST_ROWS)
        if self.kind == "public":
            self._check_public()
        elif self.key or self.rows_per_key != 1:
            raise SchemaError(
                f"{self.name}: only a public table has key and rows_per_key. Leave them out."
            )
        if not self.key and self.rows_per_key != 1:
            raise SchemaError(
                f"{self.name}: rows_per_key is {self.rows_per_key} but no key is named. "
                "Name the columns that identify a row, or leave rows_per_key out."
            )
        raw: object = self.key
        if not isinstance(raw, tuple):
            raise SchemaError(f"{self.name}: key is {raw!r}, not a tuple of column names.")
        for name in self.key:
            if not isinstance(name, str) or fold(name) not in columns:
                hint = nearest(str(name), columns.values())
                raise SchemaError(f"{self.name}: key names no column {name!r}. {hint}")
        names = tuple(columns[fold(name)] for name in self.key)
        if len(set(names)) < len(names):
            raise SchemaError(f"{self.name}: key names a column twice. Remove one.")
        object.__setattr__(self, "key", names)

    def _check_seconds(self) -> None:
        if self.answer_seconds is None:
            return
        try:
            seconds = positive(self.answer_seconds, "answer_seconds")
        except InvalidValue as error:
            raise SchemaError(f"{self.name}: {error}") from None
        if seconds > _MOST_SECONDS or seconds.denominator.bit_length() > _MOST_BITS:
            raise SchemaError(
                f"{self.name}: answer_seconds is {float(seconds):g}; write a number of seconds up "
                f"to {_MOST_SECONDS}. Every remote answer of the table takes at least this long."
            )
        object.__setattr__(self, "answer_seconds", seconds)

    def _check_share(self) -> None:
        if not isinstance(self.format, Format):
            raise SchemaError(f"{self.name}: format is {self.format!r}, not a Format.")
        try:
            share = nonnegative(self.unreadable_share, "unreadable_share")
        except InvalidValue as error:
            raise SchemaError(f"{self.name}: {error}") from None
        if share > 1 or share.denominator.bit_length() > _MOST_BITS:
            raise SchemaError(
                f"{self.name}: unreadable_share is {float(share):g}; it is a share of a column's "
                "cells, from 0 to 1."
            )
        object.__setattr__(self, "unreadable_share", share)

    def _check_public(self) -> None:
        for name, is_given in (
            ("unit", self.unit is not None),
            ("budget", self.budget is not None),
            ("population", self.population != population_name(self.name)),
            ("neighbours", self.neighbours != Relation.ADD_REMOVE),
            ("joined_rows_per_unit", self.joined_rows_per_unit != JOINED_ROWS),
        ):
            if is_given:
                raise SchemaError(
                    f"{self.name}: a public table protects nobody and has no {name}. "
                    f"Leave {name} out, or kind if the table is about people."
                )

    @property
    def version(self) -> str:
        """A hash of all that gives answers their meaning: not of source, budget, patience and
        descriptions.

        >>> Table("t").version == Table("t", source="t.csv").version != Table("u").version
        True
        """
        return _version(self)

    def to_json(self) -> str:
        """The whole schema as JSON text, the same for equal schemas; `from_json` reads it back.

        >>> Table.from_json(Table("t").to_json()) == Table("t")
        True
        """
        return json.dumps(_facts(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Table":
        """Read what `to_json` wrote, checking everything again."""
        try:
            facts = json.loads(text)
            columns = tuple(
                Column(**{**entry, "step": Fraction(entry["step"]), "keys": tuple(entry["keys"])})
                for entry in facts.pop("columns")
            )
            limits = facts.pop("budget")
            budget = None if limits is None else Budget(**_fractions(limits))
            relation = Relation(facts.pop("neighbours"))
            key = tuple(facts.pop("key", ()))
            seconds = facts.pop("answer_seconds", None)
            share = Fraction(facts.pop("unreadable_share", UNREADABLE_SHARE))
            marks: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in facts.pop("format", {}).items()
            }
            return Table(
                **facts,
                format=Format(**marks),
                unreadable_share=share,
                neighbours=relation,
                columns=columns,
                budget=budget,
                key=key,
                answer_seconds=None if seconds is None else Fraction(seconds),
            )
        except SchemaError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
            raise SchemaError(
                "The stored schema cannot be read. Register the table again."
            ) from None

    @property
    def public(self) -> "Table":
        """The same table as analysts may know it: without where it lies, and whose budget pays.

        >>> Table("visits", source="/data/visits.csv").public.source is None
        True
        """
        return replace(self, source=None, budget=None)

    @property
    def unit_column(self) -> str | None:
        """What the source calls the column of the privacy unit; None if each row is one.

        >>> Table("visits", unit="patient", unit_source_name="Patient No.").unit_column
        'Patient No.'
        """
        return self.unit_source_name or self.unit

    def column(self, name: str) -> Column:
        """The column of that name; capitals do not count.

        >>> Table("t", columns=(Column("age", "integer", upper=110),)).column("agee")
        Traceback (most recent call last):
        discreet.errors.SchemaError: t has no column 'agee'. Did you mean 'age'?
        """
        for column in self.columns:
            if column.name.casefold() == name.casefold():
                return column
        names = [column.name for column in self.columns]
        raise SchemaError(f"{self.name} has no column {name!r}. {nearest(name, names)}")


def table_named(tables: Mapping[str, Table], name: str) -> Table:
    """The table of that name; capitals do not count, as in SQL.

    >>> table_named({"kg": Table("kg")}, "Kg").name
    'kg'
    >>> table_named({"visits": Table("visits")}, "visit")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: there is no table 'visit'. Did you mean 'visits'? Nothing was \
run or charged.
    """
    known = spelt_as(str(name), tables)
    if known is None:
        raise InvalidValue(
            f"there is no table {name!r:.80}. {nearest(str(name)[:80], tables)} Nothing was run "
            "or charged."
        )
    return tables[known]


_FORMS: Forms = {
    Column: COLUMN_FORM,
    Table: Form.of(
        "Table",
        *("name", "source", "population", "unit", "rows_per_unit", "neighbours", "columns"),
        *("budget", "kind", "key", "rows_per_key", "joined_rows_per_unit", "answer_seconds"),
        *("unit_source_name", "description", "format", "unreadable_share"),
    ),
    Budget: Form.of("Budget", "epsilon", "delta", "delta_for_conversion", "sharing"),
}
_NOT_MEANING = frozenset(
    {"answer_seconds", "budget", "description", "joined_rows_per_unit", "source"}
    | {"unreadable_share"}
)
# Facts that schemas did not always have: left out where they say nothing, so that a stored
# release still names the version of its schema.
_LATER_ON_TABLES = {
    "kind": "private",
    "key": [],
    "rows_per_key": 1,
    "joined_rows_per_unit": JOINED_ROWS,
    "answer_seconds": None,
    "unit_source_name": "",
    "description": "",
    "format": {},
    "unreadable_share": write_fraction(UNREADABLE_SHARE),
}
_LATER_ON_COLUMNS = {
    "private_keys": False,
    "nan": "null",
    "infinity": "clamp",
    "source_name": "",
    "description": "",
}


@lru_cache(maxsize=64)
def _version(table: Table) -> str:
    facts = _facts(table)
    for column in facts["columns"]:
        column.pop("description", None)
    text = json.dumps({name: facts[name] for name in sorted(facts.keys() - _NOT_MEANING)})
    return hashlib.sha256(text.encode()).hexdigest()


def _facts(table: Table) -> dict[str, Any]:
    written = {**list_facts(table, _FORMS), "format": table.format.facts()}
    facts = _omit_defaults(written, _LATER_ON_TABLES)
    facts["columns"] = [_omit_defaults(column, _LATER_ON_COLUMNS) for column in facts["columns"]]
    return facts


def _omit_defaults(facts: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in facts.items()
        if name not in defaults or value != defaults[name]
    }


def _fractions(limits: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, bool) else Fraction(value)
        for name, value in limits.items()
    }
