"""What may be known of tables before anything is asked, as plain values that JSON can carry and as
text for people: columns, their meaning, bounds and keys, what happens to values outside of them,
and what may be asked. From schemas alone; where the data lies is never part of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from discreet.drawing.page import html_table
from discreet.errors import InvalidValue
from discreet.schema.column import OTHER, Column, nearest
from discreet.schema.names import spelt_as, sql_name
from discreet.schema.table import Table

__all__ = ["Described", "Tables", "column_values", "examples_of", "protected_text", "table_values"]

_MOST_KEYS = 12  # shown in a text; the values hold all of them
_USES = MappingProxyType(
    {
        "integer": "COUNT, SUM, AVG, VARIANCE, MEDIAN, MIN, MAX; compare; GROUP BY",
        "number": "COUNT, SUM, AVG, VARIANCE, MEDIAN, MIN, MAX; compare; GROUP BY FLOOR(x / 100)",
        "category": "GROUP BY; =, IN, LIKE; MODE",
        "boolean": "GROUP BY; WHERE",
        "date": "GROUP BY DATE_TRUNC('month', x); compare",
        "datetime": "GROUP BY DATE_TRUNC('month', x); compare",
    }
)


def protected_text(table: Table) -> str:
    """Whom an answer protects, in words.

    >>> from discreet.loss import Relation
    >>> protected_text(Table("visits", None, "visits", "id", 3, Relation.ADD_REMOVE, (), None))
    'everything one id contributed (at most 3 rows are used), neighbours: add-remove'
    """
    rows = "row is" if table.rows_per_unit == 1 else "rows are"
    whom = (
        "every row"
        if table.unit is None
        else f"everything one {table.unit} contributed (at most {table.rows_per_unit} {rows} used)"
    )
    return f"{whom}, neighbours: {table.neighbours.value}"


def table_values(table: Table) -> dict[str, Any]:
    """Everything public about a table, its columns, and what may be asked of it."""
    return {
        "name": table.name,
        "description": table.description,
        "kind": table.kind,
        "population": table.population,
        "unit": table.unit,
        "rows_per_unit": table.rows_per_unit,
        "neighbours": table.neighbours.value,
        "protected": protected_text(table),
        "columns": [column_values(column) for column in table.columns],
        "notes": _notes(table),
        "examples": examples_of([table]),
    }


def column_values(column: Column) -> dict[str, Any]:
    """A column as analysts may know it."""
    facts: dict[str, Any] = {
        "name": column.name,
        "type": column.kind,
        "description": column.description,
        "null": _null(column),
        "use": "GROUP BY; =, IN" if column.private_keys else _USES[column.kind],
    }
    if column.kind == "category":
        facts["keys"] = "private" if column.private_keys else list(column.keys)
        facts["other"] = column.other
        return facts
    if column.kind == "boolean":
        return facts
    low, high = (_plain_value(column.decode(end)) for end in (column.lower, column.upper))
    return {**facts, "lower": low, "upper": high, "step": float(column.step)}


def _null(column: Column) -> str:
    """The rule for NULL: a word, or the value that replaces it."""
    if column.other:
        return OTHER
    return column.null if isinstance(column.null, str) else str(column.decode(column.null))


def _plain_value(value: object) -> object:
    return value if isinstance(value, int | float) else str(value)


def _notes(table: Table) -> list[str]:
    """What bounds, keys and rules do to values, whatever the data is."""
    if table.kind == "public":
        return ["A public lookup table: join a private table with it to ask about both."]
    said = []
    if table.unit is not None:
        rows = "row of one" if table.rows_per_unit == 1 else "rows of one"
        said.append(
            f"At most {table.rows_per_unit:,} {rows} {table.unit} can count: where there are more, "
            "counts and sums are too low."
        )
    if any(column.kind not in ("category", "boolean") for column in table.columns):
        said.append("Values outside of their bounds count as the nearest bound.")
    listed = [column for column in table.columns if column.kind == "category"]
    listed = [column for column in listed if not column.private_keys]
    closed = [column.name for column in listed if not column.other]
    if closed:
        said.append(f"Values that are no declared key are in no group of {_list_names(closed)}.")
    private = [column.name for column in table.columns if column.private_keys]
    if private:
        said.append(
            f"The keys of {_list_names(private)} are not public: GROUP BY shows those of many "
            "privacy units, and costs some delta."
        )
    return said


def _list_names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def examples_of(tables: Iterable[Table]) -> list[str]:
    """Questions that schemas suggest.

    >>> examples_of([Table("visits")])
    ['SELECT COUNT(*) AS n FROM visits']
    """
    questions = []
    for table in tables:
        if table.kind == "public":
            continue
        name, columns = sql_name(table.name), table.columns
        questions.append(f"SELECT COUNT(*) AS n FROM {name}")
        keys = [
            sql_name(column.name) for column in columns if column.kind == "category" and column.keys
        ]
        numbers = [
            sql_name(column.name) for column in columns if column.kind in ("integer", "number")
        ]
        if keys:
            questions.append(f"SELECT {keys[0]}, COUNT(*) AS n FROM {name} GROUP BY {keys[0]}")
        if keys and numbers:
            questions.append(
                f"SELECT {keys[0]}, AVG({numbers[0]}) AS mean FROM {name} GROUP BY {keys[0]}"
            )
        if numbers:
            questions.append(f"SELECT MEDIAN({numbers[0]}) AS middle FROM {name}")
    return questions


class Described(Mapping[str, Any]):
    """The public facts of one table: its values by name, shown as text or in a notebook."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def heading(self) -> list[str]:
        """What is said of the table before its columns, line by line.

        >>> Described(table_values(Table("visits", description="All visits."))).heading[0]
        'visits: All visits.'
        """
        name, text = self["name"], self["description"]
        said = [f"{name}: {text}" if text else str(name)]
        if self["kind"] == "public":
            return [*said, "Public: it protects nobody, and has no budget."]
        said.append(f"Protected: {self['protected']}.")
        budgets = [budget for budget in self.get("remaining", {}).values() if budget]
        return said + [f"Budget left of {budget['name']}: {budget['words']}." for budget in budgets]

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Name, type, values, what is missing becomes, and meaning of every column.

        >>> age = Column("age", "integer", upper=110, description="in years")
        >>> Described(table_values(Table("visits", columns=(age,)))).rows
        [('age', 'integer', '0 to 110', 'drop', 'in years')]
        """
        return [
            (column["name"], column["type"], _values(column), column["null"], column["description"])
            for column in self["columns"]
        ]

    @property
    def uses(self) -> dict[str, str]:
        """What may be asked, and of which columns.

        >>> flags = (Column("ill", "boolean"), Column("old", "boolean"))
        >>> Described(table_values(Table("visits", columns=flags))).uses
        {'GROUP BY; WHERE': 'ill, old'}
        """
        names_by_use: dict[str, list[str]] = {}
        for column in self["columns"]:
            names_by_use.setdefault(column["use"], []).append(column["name"])
        return {use: ", ".join(names) for use, names in names_by_use.items()}

    def __repr__(self) -> str:
        heads = ("column", "type", "values", "missing", "meaning")
        lines = [*self.heading, "", *_align([heads, *self.rows])]
        if self["notes"]:
            lines += ["", *(f"Note: {note}" for note in self["notes"])]
        if self["kind"] != "public":
            uses = [f"  {names}: {use}" for use, names in self.uses.items()]
            lines += ["", "What may be asked, besides COUNT(*):", *uses]
        if self["examples"]:
            lines += ["", "Questions to begin with:"]
            lines += [f"  {example}" for example in self["examples"]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = html_table(("column", "type", "values", "missing", "meaning"), self.rows)
        said = "".join(f"<p>{escape(line)}</p>" for line in self.heading)
        notes = "".join(f"<li>{escape(note)}</li>" for note in self["notes"])
        uses = "".join(
            f"<li>{escape(names)}: {escape(use)}</li>" for use, names in self.uses.items()
        )
        asked = "".join(f"<li><code>{escape(example)}</code></li>" for example in self["examples"])
        return f"{said}{rows}<ul>{notes}{uses}{asked}</ul>"


class Tables(Mapping[str, Described]):
    """The public facts of several tables by name, shown as text or in a notebook.

    Capitals in a name do not count, as in SQL.
    >>> Tables([table_values(Table("visits", unit="id", rows_per_unit=3))])
    visits  0 columns; protects each id, at most 3 rows
    >>> Tables([table_values(Table("visits"))])["vists"]
    Traceback (most recent call last):
    discreet.errors.InvalidValue: there is no table 'vists'. Did you mean 'visits'?
    """

    __slots__ = ("_tables",)

    def __init__(self, tables: Iterable[Mapping[str, Any]]) -> None:
        self._tables = {table["name"]: Described(table) for table in tables}

    def __getitem__(self, name: str) -> Described:
        known = spelt_as(str(name), self._tables)
        if known is None:
            raise InvalidValue(f"there is no table {name!r:.100}. {nearest(str(name), self)}")
        return self._tables[known]

    def __contains__(self, name: object) -> bool:
        return spelt_as(str(name), self._tables) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name, what it is, and meaning of every table.

        >>> Tables([table_values(Table("codes", kind="public"))]).rows
        [('codes', '0 columns; public', '')]
        """
        return [(name, _brief(table), table["description"]) for name, table in self._tables.items()]

    def __repr__(self) -> str:
        return "\n".join(_align(self.rows)) if self._tables else "No table is registered yet."

    def _repr_html_(self) -> str:
        return html_table(("table", "what it is", "meaning"), self.rows)


def _brief(table: Mapping[str, Any]) -> str:
    columns = f"{len(table['columns'])} column{'' if len(table['columns']) == 1 else 's'}"
    if table["kind"] == "public":
        return f"{columns}; public"
    if table["unit"] is None:
        return f"{columns}; protects each row"
    rows = "row" if table["rows_per_unit"] == 1 else "rows"
    return f"{columns}; protects each {table['unit']}, at most {table['rows_per_unit']:,} {rows}"


def _values(column: Mapping[str, Any]) -> str:
    """The values of a column in a few words."""
    if "keys" in column:
        if column["keys"] == "private":
            return "keys are not public"
        shown, more = column["keys"][:_MOST_KEYS], len(column["keys"]) - _MOST_KEYS
        listed = ", ".join([*shown, OTHER] if column["other"] and more <= 0 else shown)
        return f"{listed} and {more:,} more" if more > 0 else listed
    if "lower" not in column:
        return "true, false"
    steps = "" if column["step"] == 1 else f", steps of {column['step']:g}"
    lower, upper = (_number_text(column[end]) for end in ("lower", "upper"))
    return f"{lower} to {upper}{steps}"


def _number_text(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _align(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Lines with cells below each other."""
    listed = list(rows)
    widths = [max(map(len, cells)) for cells in zip(*listed, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in listed
    ]
