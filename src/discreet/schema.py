"""What is publicly known about a table: columns, bounds, privacy unit, neighbours, budget.
Every value is declared by the custodian; nothing here is ever read from data.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidValue, SchemaError
from discreet.loss import Relation
from discreet.rationals import Number, nonnegative, positive

__all__ = ["KINDS", "LARGEST", "OTHER", "Budget", "Column", "Table", "identifier", "nearest"]

KINDS = ("integer", "number", "category", "boolean", "date")
"""What a column can be."""

LARGEST = 2**53
"""The largest lattice integer, in absolute value: every engine holds it exactly."""

OTHER = "other"
"""The public name of the group of undeclared category values."""

_EPOCH = date(1970, 1, 1)
_MOST_KEYS = 100_000
_MOST_ROWS_PER_UNIT = 10**9
_STEP_DIGITS = 10**18  # numerator and denominator of a step fit a 64-bit integer


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that ends a message: the known word nearest to an unknown one, or all of them.

    Privacy: none (touches no data).
    >>> nearest("regoin", ["age", "region"])
    "Did you mean 'region'?"
    """
    folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(word.casefold(), folded, n=1)
    if found:
        return f"Did you mean {folded[found[0]]!r}?"
    listed = ", ".join(sorted(folded.values())[:20])
    return f"Known: {listed}." if listed else "There are none."


def identifier(name: str, what: str) -> str:
    """Check that a name is made of letters, digits and underscores, and hand it back.

    Privacy: none (touches no data).
    >>> identifier("patient_id", "unit")
    'patient_id'
    """
    given: object = name
    if not isinstance(given, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", given):
        raise SchemaError(
            f"{what} is {name!r}; a name has 1 to 63 letters, digits and underscores "
            "and does not begin with a digit."
        )
    return name


def _integer(value: int, what: str, least: int, most: int) -> int:
    given: object = value
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise SchemaError(f"{what} is {value!r}; it must be an integer from {least} to {most}.")
    return value


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its kind, and the public lattice its values are clamped and rounded to.

    A value is k * step for an integer k between lower and upper. Dates are days since
    1970-01-01, booleans 0 and 1, categories the index of their key; where `other` is set, a
    last code stands for undeclared values and NULL. `null` is drop, error, or the k that
    replaces NULL.
    Privacy: none (touches no data).
    >>> Column("income", "number", step=Fraction(1, 2), lower=0, upper=400).decode(3)
    1.5
    """

    name: str
    kind: str
    step: Fraction = Fraction(1)
    lower: int = 0
    upper: int = 1
    keys: tuple[str, ...] = ()
    other: bool = False
    null: str | int = "drop"

    def __post_init__(self) -> None:
        identifier(self.name, "a column's name")
        if self.kind not in KINDS:
            raise SchemaError(f"{self.name}: type is {self.kind!r}. {nearest(self.kind, KINDS)}")
        self._check_lattice()
        if self.kind == "category":
            self._check_keys()
        elif self.keys or self.other:
            raise SchemaError(f"{self.name}: only a category has keys and other.")
        if isinstance(self.null, str):
            if self.null not in ("drop", "error"):
                raise SchemaError(f"{self.name}: null is {self.null!r}; write drop or error.")
        else:
            _integer(self.null, f"{self.name}: null", self.lower, self.upper)

    def _check_lattice(self) -> None:
        step: object = self.step
        if not isinstance(step, Fraction) or step <= 0:
            raise SchemaError(f"{self.name}: step is {step!r}; it must be a Fraction above 0.")
        if max(step.numerator, step.denominator) > _STEP_DIGITS:
            raise SchemaError(f"{self.name}: step {step} needs more than 18 digits.")
        _integer(self.lower, f"{self.name}: lower in steps", -LARGEST, LARGEST)
        _integer(self.upper, f"{self.name}: upper in steps", -LARGEST, LARGEST)
        if self.lower > self.upper:
            raise SchemaError(f"{self.name}: lower {self.lower} is above upper {self.upper}.")
        if self.kind != "number" and step.denominator != 1:
            raise SchemaError(f"{self.name}: step is {step}; of this type it is an integer.")
        if self.kind in ("category", "boolean", "date") and step != 1:
            raise SchemaError(f"{self.name}: step is {step}; of this type it is 1.")
        if self.kind == "boolean" and (self.lower, self.upper) != (0, 1):
            raise SchemaError(f"{self.name}: a boolean lies between 0 and 1.")
        if self.kind == "date":
            self.decode(self.lower)
            self.decode(self.upper)

    def _check_keys(self) -> None:
        if not 1 <= len(self.keys) <= _MOST_KEYS:
            raise SchemaError(
                f"{self.name}: {len(self.keys)} keys; a category has 1 to {_MOST_KEYS}."
            )
        seen = set()
        for key in self.keys:
            given: object = key
            if not isinstance(given, str):
                raise SchemaError(f"{self.name}: the key {key!r} is not text; put it in quotes.")
            if key in seen:
                raise SchemaError(f"{self.name}: the key {key!r} is there twice. Remove one.")
            seen.add(key)
        if self.other and OTHER in seen:
            raise SchemaError(
                f"{self.name}: {OTHER!r} is a declared key and other = true adds a group of "
                "that name. Remove one of the two."
            )
        if (self.lower, self.upper) != (0, len(self.keys) - 1 + self.other):
            raise SchemaError(f"{self.name}: the codes of a category are those of its keys.")

    def decode(self, k: int) -> int | float | str | bool | date:
        """The public value of a lattice integer: what a result's key or bound shows.

        Privacy: none (touches no data).
        >>> Column("region", "category", upper=1, keys=("north", "south")).decode(1)
        'south'
        >>> Column("day", "date", lower=19723, upper=20453).decode(19723)
        datetime.date(2024, 1, 1)
        """
        if self.kind == "number":
            return float(k * self.step)
        if self.kind == "integer":
            return int(k * self.step)
        if self.kind == "date":
            try:
                return _EPOCH + timedelta(days=k)
            except OverflowError:
                raise SchemaError(f"{self.name}: a date outside the years 1 to 9999.") from None
        if not self.lower <= k <= self.upper:
            raise SchemaError(f"{self.name}: a code without a key.")
        if self.kind == "boolean":
            return bool(k)
        return self.keys[k] if k < len(self.keys) else OTHER


@dataclass(frozen=True, slots=True)
class Budget:
    """What a population may lose in all; delta = 0 is a pure account.

    `delta_for_conversion` is the share of delta kept for turning rho into epsilon; `sharing`
    makes a release free for every analyst.
    Privacy: none (touches no data).
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


@dataclass(frozen=True, slots=True)
class Table:
    """A table: where it lies, whose budget it draws on, who is protected, what is known of it.

    Without a unit every row is one person. With one, rows_per_unit rows of each are kept.
    Privacy: none (touches no data).
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

    def __post_init__(self) -> None:
        identifier(self.name, "a table's name")
        object.__setattr__(self, "population", self.population or self.name)
        identifier(self.population, f"{self.name}: population")
        if not isinstance(self.neighbours, Relation):
            raise SchemaError(f"{self.name}: neighbours is {self.neighbours!r}, not a Relation.")
        what = f"{self.name}: rows_per_unit"
        _integer(self.rows_per_unit, what, 1, _MOST_ROWS_PER_UNIT)
        seen: dict[str, str] = {}
        for column in self.columns:
            twin = seen.get(column.name.casefold())
            if twin is not None:
                raise SchemaError(
                    f"{self.name}: the columns {twin!r} and {column.name!r} have the same name; "
                    "capitals do not count."
                )
            seen[column.name.casefold()] = column.name
        self._check_unit(seen)

    def _check_unit(self, columns: dict[str, str]) -> None:
        if self.unit is None:
            if self.rows_per_unit != 1:
                raise SchemaError(
                    f"{self.name}: rows_per_unit is {self.rows_per_unit} but no unit is named. "
                    "Name the unit's column, or leave rows_per_unit out: each row is one person."
                )
            return
        identifier(self.unit, f"{self.name}: unit")
        if self.unit.casefold() in columns:
            raise SchemaError(
                f"{self.name}: {self.unit!r} is the privacy unit and also a column. "
                "A unit cannot be queried: remove it from the columns."
            )

    @property
    def version(self) -> str:
        """A hash of all that gives answers their meaning: not of the source, nor of the budget.

        Privacy: none (touches no data).
        >>> Table("t").version == Table("t", source="t.csv").version != Table("u").version
        True
        """
        facts = _facts(self)
        text = json.dumps({name: facts[name] for name in sorted(facts.keys() - _NOT_MEANING)})
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> str:
        """The whole schema as JSON text, the same for equal schemas; `from_json` reads it back.

        Privacy: none (touches no data).
        >>> Table.from_json(Table("t").to_json()) == Table("t")
        True
        """
        return json.dumps(_facts(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Table":
        """Read what `to_json` wrote, checking everything again.

        Privacy: none (touches no data).
        >>> Table.from_json(Table("t", population="p").to_json()).population
        'p'
        """
        try:
            facts = json.loads(text)
            columns = tuple(
                Column(**{**each, "step": Fraction(each["step"]), "keys": tuple(each["keys"])})
                for each in facts.pop("columns")
            )
            limits = facts.pop("budget")
            budget = None if limits is None else Budget(**_fractions(limits))
            relation = Relation(facts.pop("neighbours"))
            return Table(**facts, neighbours=relation, columns=columns, budget=budget)
        except SchemaError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SchemaError(
                "The stored schema cannot be read. Register the table again."
            ) from None

    def column(self, name: str) -> Column:
        """The column of that name; capitals do not count.

        Privacy: none (touches no data).
        >>> Table("t", columns=(Column("age", "integer", upper=110),)).column("agee")
        Traceback (most recent call last):
        discreet.errors.SchemaError: t has no column 'agee'. Did you mean 'age'?
        """
        for column in self.columns:
            if column.name.casefold() == name.casefold():
                return column
        names = [column.name for column in self.columns]
        raise SchemaError(f"{self.name} has no column {name!r}. {nearest(name, names)}")


_NOT_MEANING = frozenset({"budget", "source"})


def _facts(table: Table) -> dict[str, Any]:
    facts = asdict(table)
    for column in facts["columns"]:
        column["step"] = str(column["step"])
    if table.budget is not None:
        limits = facts["budget"]
        facts["budget"] = {
            name: value if isinstance(value, bool) else str(value) for name, value in limits.items()
        }
    return facts


def _fractions(limits: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, bool) else Fraction(value)
        for name, value in limits.items()
    }
