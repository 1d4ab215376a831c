"""The places an expression can stand: on rows, on the rows of one unit, on the grouped result.
Every class of node that can be read is listed; all others are refused by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Aggregate, Expression, Statistic, scans
from discreet.query.readers.aggregates import aggregate, is_aggregate, spell_out
from discreet.query.readers.casts import CASTS
from discreet.query.readers.choices import CHOICES
from discreet.query.readers.conditions import CONDITIONS
from discreet.query.readers.dates import DATES
from discreet.query.readers.naming import default_name
from discreet.query.readers.rounding import ROUNDING
from discreet.query.readers.spans import SPANS
from discreet.query.readers.texts import TEXTS
from discreet.query.readers.typed import Kind, Reader, Typed, missing, refuse, where_in_text
from discreet.query.readers.values import VALUES
from discreet.query.statement.relations import Relation
from discreet.schema.names import sql_name

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

__all__ = ["ON_RESULTS", "ON_ROWS", "Results", "Rows", "Unit", "bare_name"]

ON_ROWS: Mapping[str, Reader] = MappingProxyType(
    {**VALUES, **CASTS, **CHOICES, **CONDITIONS, **DATES, **ROUNDING, **SPANS, **TEXTS}
)
"""Every class of node, besides a column, that may stand on rows."""
_VALUES_ON_RESULTS = (
    "Add", "Boolean", "Cast", "Coalesce", "Div", "Literal", "Mul", "Neg", "Null", "Paren", "Sub",
)  # fmt: skip
ON_RESULTS: Mapping[str, Reader] = MappingProxyType(
    {**{name: ON_ROWS[name] for name in _VALUES_ON_RESULTS}, **CONDITIONS}
)
"""Every class of node, besides keys and aggregates, that may stand on results."""

_ON_ANSWER = "Results take + - * / and comparisons: apply it to the answer."
_ON_ANSWERS = MappingProxyType(
    {
        "Cast": "Leave the cast out.",
        "Nullif": "Write x / NULLIF(y, 0), or apply it to the answer.",
    }
)
_ADDED = (Statistic.SUM, Statistic.AVERAGE)
_OF_A_UNIT = (*_ADDED, Statistic.ROWS, Statistic.VALUES, Statistic.MINIMUM, Statistic.MAXIMUM)
_OF_UNITS = "Only COUNT, SUM, AVG, MIN and MAX are computed for each unit."
_OF_PRESENCE = ("Count", "Is")
_INSTEAD = MappingProxyType(
    {Statistic.UNITS: "It is 1 for every unit. Write COUNT(DISTINCT unit) outside."}
)


def bare_name(node: "Expr") -> str:
    """The name a node consists of, without a table before it; empty if it is anything else.

    >>> import sqlglot
    >>> bare_name(sqlglot.parse_one("n")), bare_name(sqlglot.parse_one("t.n"))
    ('n', '')
    """
    if type(node).__name__ != "Column" or set(node.args) != {"this"}:
        return ""
    return str(node.this.this) if type(node.this).__name__ == "Identifier" else ""


@dataclass(frozen=True, slots=True)
class Rows:
    """Expressions over the columns of a source, before grouping.

    `settled` are nodes, by their identity, whose meaning the source has taken up.
    >>> import sqlglot
    >>> from discreet.schema import Column, Table
    >>> table = Table("t", columns=(Column("age", "integer", upper=110),))
    >>> Rows(Relation.of(table, "t")).read(sqlglot.parse_one("t.AGE")).expression
    Field(name='age')
    """

    relation: Relation
    settled: Mapping[int, Typed] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """Always "row"."""
        return "row"

    def read(self, node: "Expr | None") -> Typed:
        """Translate a node that stands on rows."""
        if node is None:
            raise missing()
        if id(node) in self.settled:
            return self.settled[id(node)]
        name = type(node).__name__
        if name == "Column":
            return self._column(node)
        if is_aggregate(node):
            raise UnsafeQuery(
                f"an aggregate inside another, in WHERE or in GROUP BY{where_in_text(node)} is not "
                "supported. Conditions on aggregates go into HAVING."
            )
        if name not in ON_ROWS:
            raise refuse(node)
        return ON_ROWS[name](node, self)

    def unit(self, node: "Expr") -> None:
        """Refuse anything but a unit column."""
        what = f"COUNT(DISTINCT ...){where_in_text(node)}"
        unit = self.relation.unit
        if unit is None:
            raise UnsafeQuery(
                f"{what}: each row of {next(scans(self.relation.source))} is one person, without a "
                "column to tell. Write COUNT(*)."
            )
        if not self.relation.units:
            raise UnsafeQuery(
                f"{what} counts only the unit. Select {sql_name(unit)} in the subquery."
            )
        if type(node).__name__ == "Column" and self.relation.find(node).typed is None:
            return
        unit = self.relation.units[0].name
        raise UnsafeQuery(
            f"{what} counts only the unit {unit!r}. "
            f"Write COUNT(DISTINCT {sql_name(unit)}), or GROUP BY the column."
        )

    def _column(self, node: "Expr") -> Typed:
        column = self.relation.find(node)
        if column.typed is None:
            raise UnsafeQuery(
                f"{column.name!r}{where_in_text(node)} is the privacy unit: it may be used only in "
                f"COUNT(DISTINCT {sql_name(column.name)}), in joins and in subqueries."
            )
        if column.typed.kind is Kind.PRESENT and type(node.parent).__name__ not in _OF_PRESENCE:
            raise UnsafeQuery(
                f"{column.spelt!r}{where_in_text(node)} is the privacy unit on the right of a LEFT "
                "JOIN: it may be used only with IS NULL, IS NOT NULL and in COUNT(...). Elsewhere "
                "use the unit of the left side."
            )
        return column.typed


@dataclass(frozen=True, slots=True)
class Results:
    """Expressions over keys (by their names in the result), aggregates and aliases."""

    rows: Rows
    keys: Mapping[Expression, Typed] = field(default_factory=dict)
    names: Mapping[str, Typed] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """Always "result"."""
        return "result"

    def key(self, node: "Expr | None") -> Typed | None:
        """The key that a node spells out, if it is one."""
        try:
            return self.keys.get(self.rows.read(node).expression)
        except UnsafeQuery:
            return None

    def read(self, node: "Expr | None") -> Typed:
        """Translate a node that stands on the grouped result.

        >>> import sqlglot
        >>> from discreet.schema import Table
        >>> results = Results(Rows(Relation.of(Table("t"), "t")))
        >>> results.read(sqlglot.parse_one("COUNT(*) / 2")).expression.operator
        '/'
        """
        if node is None:
            raise missing()
        name = type(node).__name__
        if is_aggregate(node):
            return aggregate(node, self.rows)
        if name not in ("Literal", "Boolean", "Null"):
            key = self.key(node)
            if key is not None:
                return key
        if name == "Column":
            return self._read_alias(node)
        if name in ON_RESULTS:
            return ON_RESULTS[name](node, self)
        if name in ON_ROWS and any(map(is_aggregate, node.walk())):
            raise refuse(node, _ON_ANSWERS.get(name, _ON_ANSWER))
        if name in ON_ROWS:
            raise refuse(node, "Put it into GROUP BY, or inside an aggregate.")
        raise refuse(node)

    def _read_alias(self, node: "Expr") -> Typed:
        name = bare_name(node)
        if name.casefold() in self.names:
            return self.names[name.casefold()]
        typed = self.rows.read(node)
        name = default_name(typed.expression, self.rows.relation.spellings)
        statistic = "AVG" if typed.kind.is_number else "COUNT"
        raise UnsafeQuery(
            f"{name!r}{where_in_text(node)} is neither grouped nor aggregated. "
            f"Add it to GROUP BY, or write {statistic}({sql_name(name)}), for instance."
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """Expressions over the rows of one unit: keys of the subquery, and aggregates over its rows.

    `names` are aliases, which HAVING may use.
    """

    rows: Rows
    keys: Mapping[Expression, Typed]
    names: Mapping[str, Typed] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """Always "row": what is computed here is a row of the subquery."""
        return "row"

    def read(self, node: "Expr | None") -> Typed:
        """Translate a node that stands on the rows of one unit.

        >>> import sqlglot
        >>> from discreet.schema import Table
        >>> unit = Unit(Rows(Relation.of(Table("t", unit="id"), "t")), {})
        >>> unit.read(sqlglot.parse_one("COUNT(*) + 1")).expression.operator
        '+'
        """
        if node is None:
            raise missing()
        if is_aggregate(node):
            return self._aggregate(node)
        name = type(node).__name__
        if name not in ("Literal", "Boolean", "Null"):
            key = Results(self.rows, self.keys).key(node)
            if key is not None:
                return key
        if name == "Column":
            alias = bare_name(node)
            if alias.casefold() in self.names and not self.rows.relation.find_all(alias):
                return self.names[alias.casefold()]
            shown = default_name(self.rows.read(node).expression, self.rows.relation.spellings)
            raise UnsafeQuery(
                f"{shown!r}{where_in_text(node)} is neither grouped nor aggregated in the "
                f"subquery. Add it to its GROUP BY, or write MAX({shown}), for instance."
            )
        if name in ON_ROWS:
            return ON_ROWS[name](node, self)
        raise refuse(node)

    def _aggregate(self, node: "Expr") -> Typed:
        node = spell_out(node)
        typed = aggregate(node, self.rows)
        assert isinstance(typed.expression, Aggregate)
        statistic = typed.expression.statistic
        if statistic in _OF_A_UNIT:
            counted = (Kind.INTEGER, Kind.BOOLEAN)
            whole = statistic in _ADDED and self.rows.read(node.this).kind in counted
            return replace(typed, kind=Kind.INTEGER) if whole else typed
        advice = _INSTEAD.get(statistic, _OF_UNITS)
        raise UnsafeQuery(
            f"{statistic.upper()} in a subquery{where_in_text(node)} is not supported. {advice}"
        )
