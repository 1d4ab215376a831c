"""A checked outer query as the text that its engine runs. Every name is quoted, every operation
stands in parentheses, and nothing is copied from what an analyst wrote but names and constants.
"""

from collections.abc import Callable

from discreet.upper.tree import (
    Apply,
    Ask,
    Block,
    Branches,
    Column,
    Combine,
    Common,
    Convert,
    Expression,
    Inside,
    Item,
    Join,
    Listed,
    Literal,
    Nested,
    Number,
    Operate,
    Over,
    Part,
    Query,
    Select,
    Sort,
    Source,
    Star,
    Text,
)

__all__ = ["Leaf", "name", "write_query"]

Leaf = Callable[[int], str]
"""The SELECT that reads a private block, by its place."""

_SUFFIXED = ("IS NULL", "IS TRUE", "IS FALSE")


def name(identifier: str) -> str:
    """A quoted name.

    >>> print(name('a "b"'))
    "a ""b"\""
    """
    return '"' + identifier.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def write_query(query: Query, leaf: Leaf) -> str:
    """The SQL of a query; `leaf` says how a block is read.

    >>> one = Select(items=(Item(Operate("+", (Number("1"), Column("n"))), "more"),))
    >>> write_query(one, str)
    'SELECT (1 + "n") AS "more"'
    """
    return _Writer(leaf).query(query)


class _Writer:
    """Writes the parts of one query."""

    __slots__ = ("_leaf",)

    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf

    def query(self, query: Query) -> str:
        commons = [
            f"{name(called)}{self._columns(columns)} AS ({self.query(inner)})"
            for called, columns, inner in query.commons
        ]
        head = f"WITH {', '.join(commons)} " if commons else ""
        if isinstance(query, Combine):
            sides = f"({self.query(query.left)}) {query.operator} ({self.query(query.right)})"
            return head + sides + self._end(query)
        return head + self._select(query) + self._end(query)

    def _select(self, query: Select) -> str:
        words = ["SELECT"]
        if query.distinct_on:
            words.append(f"DISTINCT ON ({self.list(query.distinct_on)})")
        elif query.distinct:
            words.append("DISTINCT")
        words.append(", ".join(map(self._item, query.items)))
        if query.source is not None:
            words.append(f"FROM {self._source(query.source)}")
        if query.where is not None:
            words.append(f"WHERE {self.expression(query.where)}")
        grouped = [self.expression(term) for term in query.group]
        for word, lists in query.sets:
            terms = ", ".join(f"({self.list(terms)})" for terms in lists)
            grouped.append(f"{word} ({terms})")
        if grouped:
            words.append(f"GROUP BY {', '.join(grouped)}")
        if query.having is not None:
            words.append(f"HAVING {self.expression(query.having)}")
        if query.qualify is not None:
            words.append(f"QUALIFY {self.expression(query.qualify)}")
        return " ".join(words)

    def _end(self, query: Query) -> str:
        order = f" ORDER BY {self._sorts(query.order)}" if query.order else ""
        limit = "" if query.limit is None else f" LIMIT {self.expression(query.limit)}"
        offset = "" if query.offset is None else f" OFFSET {self.expression(query.offset)}"
        return order + limit + offset

    def _sorts(self, order: tuple[Sort, ...]) -> str:
        return ", ".join(
            f"{self.expression(sort.expression)} {sort.direction} NULLS {sort.nulls}"
            for sort in order
        )

    def _item(self, item: Item) -> str:
        written = self.expression(item.expression)
        if isinstance(item.expression, Column) and item.expression.name == item.alias:
            return written  # without FROM the alias would hide the column of an outer query
        return f"{written} AS {name(item.alias)}" if item.alias else written

    def _columns(self, columns: tuple[str, ...]) -> str:
        return f"({', '.join(map(name, columns))})" if columns else ""

    def _source(self, source: Source) -> str:
        if isinstance(source, Join):
            sides = f"{self._source(source.left)} {source.kind} JOIN {self._source(source.right)}"
            if source.using:
                return f"{sides} USING ({', '.join(map(name, source.using))})"
            return sides if source.on is None else f"{sides} ON {self.expression(source.on)}"
        match source.source:
            case Block(place):
                rows = f"({self._leaf(place)})"
            case Common(called):
                rows = name(called)
            case Nested(inner):
                rows = f"({self.query(inner)})"
            case Listed(listed):
                rows = f"(VALUES {', '.join(f'({self.list(row)})' for row in listed)})"
        return f"{rows} AS {name(source.alias)}{self._columns(source.columns)}"

    def list(self, expressions: tuple[Expression, ...]) -> str:
        return ", ".join(map(self.expression, expressions))

    def expression(self, expression: Expression) -> str:  # noqa: C901 (one line for each class)
        match expression:
            case Column(called, table):
                return f"{name(table)}.{name(called)}" if table else name(called)
            case Number(digits):
                return digits
            case Text(value):
                return _text(value)
            case Literal(word, value):
                return f"{word} {_text(value)}" if value else word
            case Star(table, without):
                star = f"{name(table)}.*" if table else "*"
                return f"{star} EXCLUDE {self._columns(without)}" if without else star
            case Convert(word, operand, kind):
                return f"{word}({self.expression(operand)} AS {kind})"
            case Part(part, operand):
                return f"EXTRACT({part} FROM {self.expression(operand)})"
            case Ask(word, query):
                return f"{word}({self.query(query)})"
            case Inside(operand, values):
                listed = self.list(values) if isinstance(values, tuple) else self.query(values)
                return f"({self.expression(operand)} IN ({listed}))"
            case Operate(operator, operands):
                return self._operate(operator, operands)
            case Branches():
                return self._branches(expression)
            case Apply():
                return self._apply(expression)

    def _operate(self, operator: str, operands: tuple[Expression, ...]) -> str:
        if operator == "NEGATE":
            return f"(- {self.expression(operands[0])})"
        if operator == "NOT":
            return f"(NOT {self.expression(operands[0])})"
        if operator in _SUFFIXED:
            return f"({self.expression(operands[0])} {operator})"
        return f"({f' {operator} '.join(map(self.expression, operands))})"

    def _branches(self, case: Branches) -> str:
        head = "" if case.operand is None else f" {self.expression(case.operand)}"
        arms = "".join(
            f" WHEN {self.expression(test)} THEN {self.expression(value)}"
            for test, value in case.arms
        )
        last = "" if case.otherwise is None else f" ELSE {self.expression(case.otherwise)}"
        return f"CASE{head}{arms}{last} END"

    def _apply(self, applied: Apply) -> str:
        arguments = self.list(applied.arguments)
        if applied.function == "COUNT" and not applied.arguments:
            arguments = "*"
        if applied.distinct:
            arguments = f"DISTINCT {arguments}"
        ranked = applied.function in ("PERCENTILE_CONT", "PERCENTILE_DISC") or (
            applied.function == "MODE" and not applied.arguments
        )
        if applied.within and not ranked:
            arguments += f" ORDER BY {self._sorts(applied.within)}"
        if applied.nulls:
            arguments += f" {applied.nulls} NULLS"
        called = f"{applied.function}({arguments})"
        if applied.within and ranked:
            called += f" WITHIN GROUP (ORDER BY {self._sorts(applied.within)})"
        if applied.where is not None:
            called += f" FILTER (WHERE {self.expression(applied.where)})"
        return called if applied.over is None else f"{called} OVER ({self._over(applied.over)})"

    def _over(self, over: Over) -> str:
        words = []
        if over.partition:
            words.append(f"PARTITION BY {self.list(over.partition)}")
        if over.order:
            words.append(f"ORDER BY {self._sorts(over.order)}")
        if over.frame is not None:
            frame = over.frame
            words.append(f"{frame.kind} BETWEEN {frame.start} AND {frame.end}")
        return " ".join(words)
