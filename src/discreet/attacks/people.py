"""Made-up people to attack: rows that fit a schema, secret bits that are fair coins, and a column
that tells everybody apart, which the attacker is taken to know. Reads schemas, never data.
"""

import csv
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.errors import InvalidValue
from discreet.rationals import Number, whole
from discreet.schema.column import Column
from discreet.schema.table import Budget, Table

__all__ = ["Codes", "People", "Secrets", "made_up", "people_like", "people_with_traits"]

Codes = NDArray[np.int64]
"""A lattice integer for each person."""

Secrets = NDArray[np.bool_]
"""For each person, whether each secret is true: people in rows, secrets in columns."""

_MOST = 2_000
_FEW = 32  # a column of so few values is something that neighbours know


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class People:
    """Made-up rows of a table, one for each person.

    The attacker knows everything but the secrets: in particular the `handle`, a column in which
    no two people agree, as a birthday with a postcode would do.
    >>> crowd = made_up(4)
    >>> crowd.handle, len(crowd.secrets), crowd.conditions
    ('seat', 4, ('secret',))
    """

    table: Table
    values: dict[str, Codes]
    handle: str
    secrets: Secrets
    conditions: tuple[str, ...]
    """For each secret, the SQL condition that is true of those who have it."""
    known: tuple[str, ...]
    """Columns that others know of a person, for linkage."""

    def __len__(self) -> int:
        """How many people there are."""
        return len(self.secrets)

    def literal(self, name: str, person: int) -> str:
        """A person's value in SQL.

        >>> made_up(2).literal("seat", 1)
        '1'
        """
        value = self.table.column(name).decode(int(self.values[name][person]))
        if isinstance(value, datetime):
            return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
        if isinstance(value, date):
            return f"DATE '{value}'"
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return str(value).upper() if isinstance(value, bool) else f"{value!r}"

    def write(self, folder: Path, *, epsilon: Number) -> Table:
        """Write the rows as a CSV file and give the schema that a curator takes, with a budget.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made_up(2).write(Path(folder), epsilon=1).name
        'people'
        """
        path = folder / "people.csv"
        columns = self.table.columns
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            unit = [self.table.unit] if self.table.unit else []
            writer.writerow([*unit, *(column.name for column in columns)])
            for person in range(len(self)):
                row = [_to_csv(column, int(self.values[column.name][person])) for column in columns]
                writer.writerow([*(str(person) for _ in unit), *row])
        return replace(self.table, source=str(path), budget=Budget(epsilon=epsilon))

    def without(self, person: int) -> "People":
        """The same people but one: a neighbouring table.

        >>> len(made_up(5).without(2))
        4
        """
        others = np.arange(len(self)) != person
        return replace(
            self,
            values={name: codes[others] for name, codes in self.values.items()},
            secrets=self.secrets[others],
        )


def _to_csv(column: Column, code: int) -> str:
    if column.private_keys:
        return f"text {code}"
    value = column.decode(code)
    return str(value).lower() if isinstance(value, bool) else str(value)


def made_up(people: int) -> People:
    """People with a numbered seat, a region, an age band and one secret bit.

    >>> made_up(10).values["seat"].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    count = whole(people, "people", least=2, most=_MOST)
    regions, trades = ("north", "east", "south", "west"), ("farm", "school", "shop", "works")
    columns = (
        Column("seat", "integer", upper=count - 1),
        Column("region", "category", upper=3, keys=regions),
        Column("trade", "category", upper=3, keys=trades),
        Column("born", "integer", lower=1940, upper=2009),
        Column("secret", "boolean"),
    )
    secrets = _draws.coins(count, 1)
    values = {
        "seat": np.arange(count, dtype=np.int64),
        "region": _draws.integers(4, count),
        "trade": _draws.integers(4, count),
        "born": 1940 + _draws.integers(70, count),
        "secret": secrets[:, 0].astype(np.int64),
    }
    return People(
        table=Table("people", columns=columns),
        values=values,
        handle="seat",
        secrets=secrets,
        conditions=("secret",),
        known=("region", "trade", "born"),
    )


def people_with_traits(secrets: Secrets) -> People:
    """People with a seat and these traits, each of which can be counted.

    >>> people_with_traits(np.ones((3, 2), dtype=bool)).conditions
    ('t0', 't1')
    """
    count, traits = secrets.shape
    whole(count, "people", least=2, most=_MOST)
    names = tuple(f"t{place}" for place in range(traits))
    columns = (Column("seat", "integer", upper=count - 1), *(Column(n, "boolean") for n in names))
    values = {name: secrets[:, place].astype(np.int64) for place, name in enumerate(names)}
    return People(
        table=Table("people", columns=columns),
        values={"seat": np.arange(count, dtype=np.int64), **values},
        handle="seat",
        secrets=secrets,
        conditions=names,
        known=(),
    )


def people_like(table: Table, people: int) -> People:
    """People who fit a custodian's own schema: every value is drawn from the declared ones.

    Each has one row. The coarsest column with enough values tells them apart; the secret is a
    boolean column, else whether a category is among the second half of its keys, else whether a
    number is in the upper half. Reads the schema, no data; nobody here exists.
    >>> visits = Table("visits", columns=(Column("age", "integer", upper=110),
    ...                                   Column("ill", "boolean")))
    >>> crowd = people_like(visits, 20)
    >>> crowd.handle, crowd.conditions
    ('age', ('ill',))
    """
    count = whole(people, "people", least=2, most=_MOST)
    usable = [column for column in table.columns if not column.private_keys]
    by_size = sorted(usable, key=_room, reverse=True)
    if table.kind != "private" or len(by_size) < 2:
        raise InvalidValue(
            f"{table.name}: an attack needs a private table with two columns whose values are "
            "declared, one that tells people apart and one that is the secret."
        )
    enough = [column for column in by_size if _room(column) >= count]
    handle = enough[-1] if enough else by_size[0]
    room = _room(handle)
    if room < count:
        raise InvalidValue(
            f"{table.name}: no column takes {count} different values; {handle.name} takes {room}. "
            f"Attack at most {room} people."
        )
    # What makes the best secret: a boolean, then a category, then what is coarse.
    secret = min(
        (column for column in usable if column is not handle),
        key=lambda one: (one.kind != "boolean", one.kind != "category", one.upper - one.lower),
    )
    bits = _draws.coins(count, 1)
    values = {
        column.name: column.lower + _draws.integers(max(1, _room(column)), count)
        for column in table.columns
    }
    values[handle.name] = handle.lower + _draws.distinct(room, count)
    values[secret.name], condition = _hide_bits(secret, bits[:, 0])
    known = [
        column for column in reversed(by_size) if column is not secret and column is not handle
    ]
    return People(
        table=table,
        values=values,
        handle=handle.name,
        secrets=bits,
        conditions=(condition,),
        known=tuple(column.name for column in known[:4]) or (handle.name,),
    )


def _room(column: Column) -> int:
    """How many values a column can take."""
    return column.upper - column.lower + 1 - column.other


def _hide_bits(column: Column, bits: NDArray[np.bool_]) -> tuple[Codes, str]:
    """Values that carry the bits, and the condition that reads them."""
    low, high = column.lower, column.upper - column.other
    middle = (low + high + 1) // 2
    span = np.where(bits, high - middle + 1, max(1, middle - low))
    offsets = (_draws.floats(len(bits)) * span).astype(np.int64) % span
    codes = np.where(bits, middle, low) + offsets
    if column.kind == "boolean":
        return codes, column.name
    shown = People(
        table=Table("people", columns=(column,)),
        values={column.name: np.arange(middle, min(high, middle + 999) + 1, dtype=np.int64)},
        handle=column.name,
        secrets=np.zeros((1, 1), dtype=np.bool_),
        conditions=(),
        known=(),
    )
    if column.kind == "category":
        listed = ", ".join(shown.literal(column.name, k) for k in range(high - middle + 1))
        return codes, f"{column.name} IN ({listed})"
    return codes, f"{column.name} >= {shown.literal(column.name, 0)}"
