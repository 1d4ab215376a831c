"""Small tables with extreme values, generated questions about them, and what the engine answers.
The SQL is the emitted one, run in DuckDB directly; the exact measures are those of the curator.
"""

import math
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from discreet.curator.noising import _measures, _sums
from discreet.loss import Pure, Relation
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Bucket,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Field,
    Floor,
    IsNull,
    Junction,
    Key,
    Literal,
    Member,
    Negation,
    Options,
    Output,
    Query,
    Scan,
    Statistic,
)
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.databases import Scratch

BIG = 2**53
LIMIT = 3000
KEYS = ("x", "y'; --", "other than x")


@dataclass(frozen=True)
class Source:
    """A column's raw type and the raw values tests put there."""

    kind: str
    values: tuple[Any, ...]


WHOLE = (0, 1, -1, 2, -7, 5, 127, -128)
REAL = (0.0, -0.0, 0.25, 0.5, 1.5, 2.5, -0.5, -2.5, 1e-320, 3.7, 1e9)
EXTREME = (math.nan, math.inf, -math.inf, 1e308, -1e308)
SOURCES = {
    "BIGINT": Source("BIGINT", (*WHOLE, 2**63 - 1, -(2**63), 2**53 - 1)),
    "UBIGINT": Source("UBIGINT", (0, 1, 5, 2**64 - 1)),
    "HUGEINT": Source("HUGEINT", (*WHOLE, 2**127 - 1, -(2**127) + 1)),
    "UHUGEINT": Source("UHUGEINT", (0, 1, 5, 2**128 - 1)),
    "TINYINT": Source("TINYINT", WHOLE),
    "DOUBLE": Source("DOUBLE", (*REAL, *EXTREME)),
    "FLOAT": Source("FLOAT", (0.5, 1.5, 2.5, -0.25, -3.5, *EXTREME[:3])),
    "DECIMAL(18,2)": Source("DECIMAL(18,2)", (0.0, 0.5, -0.5, 2.5, 12345.0)),
}


def sql_value(value: Any, kind: str) -> str:
    """A raw value as SQL text."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"CAST('{value}' AS {kind})"


number_steps = st.sampled_from(
    [Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(3), Fraction(2, 3)]
)
bound_pairs = st.one_of(
    st.tuples(st.integers(-8, 8), st.integers(-8, 8)),
    st.sampled_from([(0, BIG), (-BIG, BIG), (-BIG, -BIG), (0, 0), (3, 9), (-9, -3), (-1, 127)]),
).map(sorted)
day_pairs = st.tuples(st.integers(-800, 20_000), st.integers(0, 60)).map(
    lambda pair: [pair[0], pair[0] + pair[1]]
)


@st.composite
def numbers(draw: Any, name: str) -> Column:
    """A numeric column."""
    low, high = draw(bound_pairs)
    step = draw(number_steps)
    kind = "number" if step.denominator != 1 else draw(st.sampled_from(["integer", "number"]))
    null = draw(st.sampled_from(["drop", "drop", low, high]))
    return Column(name, kind, step=step, lower=low, upper=high, null=null)


@st.composite
def tables(draw: Any) -> tuple[Table, dict[str, Source]]:
    """A table of every kind of column, some with names that emitted SQL might also use."""
    first, second = draw(st.sampled_from([("a", "b"), ("place", "k0"), ("s0", "prepared")]))
    other = draw(st.booleans())
    low, high = draw(day_pairs)
    columns = (
        draw(numbers(first)),
        draw(numbers(second)),
        Column("c", "category", upper=len(KEYS) - 1 + other, keys=KEYS, other=other),
        Column("f", "boolean", null=draw(st.sampled_from(["drop", 0]))),
        Column("d", "date", lower=low, upper=high),
    )
    days = (date(1, 1, 1), date(9999, 12, 31), *map(_day, (low, high, (low + high) // 2, low + 1)))
    sources = {
        first: SOURCES[draw(st.sampled_from(sorted(SOURCES)))],
        second: SOURCES[draw(st.sampled_from(sorted(SOURCES)))],
        "c": Source("VARCHAR", (*KEYS, "X", "", "undeclared")),
        "f": Source("BOOLEAN", (True, False)),
        "d": Source("DATE", days),
    }
    rows = draw(st.integers(1, 3))
    unit = draw(st.sampled_from([None, "who"]))
    table = Table(
        "t",
        unit=unit,
        rows_per_unit=1 if unit is None else rows,
        neighbours=draw(st.sampled_from(Relation)),
        columns=columns,
    )
    return table, sources


def _day(number: int) -> date:
    return date.fromordinal(number + date(1970, 1, 1).toordinal())


def raw_rows(sources: dict[str, Source]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Rows of a source, missing values among them."""
    return st.tuples(*(st.sampled_from([None, *s.values]) for s in sources.values()))


NUMBERS = [Literal(Fraction(n, d)) for n, d in [(0, 1), (1, 1), (-1, 1), (3, 2), (-7, 3), (10, 1)]]
DIVISORS = [Literal(Fraction(n, d)) for n, d in [(2, 1), (-3, 1), (1, 2), (-5, 2), (10, 1)]]
TEXTS = [Literal(text) for text in (*KEYS, "new", "other")]
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
PARTS = ["year", "quarter", "month", "week", "day", "dayofweek", "dayofyear"]
UNITS = ["year", "quarter", "month", "week", "day"]


class Writer:
    """Writes expressions over the columns of a table, at most `depth` operations deep."""

    def __init__(self, draw: Any, table: Table) -> None:
        self._draw = draw
        self._fields: dict[str, list[Field]] = {}
        for column in table.columns:
            kind = "number" if column.kind == "integer" else column.kind
            self._fields.setdefault(kind, []).append(Field(column.name))

    def pick(self, choices: Any) -> Any:
        """One of several."""
        return self._draw(st.sampled_from(choices))

    def field(self, kind: str) -> Field:
        """A column."""
        return self.pick(self._fields[kind])

    def number(self, depth: int) -> Any:
        """An expression that is a number."""
        if depth == 0:
            return self.pick([*self._fields["number"], *self._fields["number"], *NUMBERS])
        form = self.pick(["field", "+", "-", "*", "/", "floor", "tens", "bucket", "case", "part"])
        if form in ("+", "-", "*"):
            return Arithmetic(form, self.number(depth - 1), self.number(depth - 1))
        if form == "part":
            return DatePart(self.pick(PARTS), self.date())
        if form == "case":
            ends = [self.number(depth - 1), Literal(None)]
            return Case(self._branches(depth, self.number), self.pick(ends))
        inner = self.field("number") if form == "field" else self.number(depth - 1)
        if form == "/":
            return Arithmetic("/", inner, self.pick(DIVISORS))
        if form == "floor":
            return Floor(inner)
        if form == "tens":
            return Floor(Arithmetic("/", inner, self.pick(DIVISORS)))
        return self.bucket(inner) if form == "bucket" else inner

    def bucket(self, inner: Any) -> Bucket:
        """A bucket number."""
        low = self.pick([Fraction(-3), Fraction(0), Fraction(1, 3)])
        high = self.pick([Fraction(1), Fraction(5), Fraction(22, 7)])
        return Bucket(inner, low, high, self.pick([1, 3, 4]))

    def _branches(self, depth: int, make: Any) -> Any:
        count = self.pick([1, 1, 2])
        return tuple((self.condition(depth - 1), make(depth - 1)) for _ in range(count))

    def date(self) -> Any:
        """An expression that is a date."""
        field = self.field("date")
        return self.pick([field, field, DateTrunc(self.pick(UNITS), field)])

    def category(self, depth: int) -> Any:
        """An expression that is a category."""
        if depth == 0 or self.pick([True, False]):
            return self.pick([self.field("category"), *TEXTS])
        ends = [self.category(0), Literal(None)]
        return Case(self._branches(depth, self.category), self.pick(ends))

    def condition(self, depth: int) -> Any:
        """An expression that is true, false or unknown."""
        if depth == 0:
            return self.pick([self.field("boolean"), Negation(IsNull(self.field("number")))])
        form = self.pick(
            ["number", "constant", "date", "text", "texts", "numbers", "and", "or", "not", "null"]
        )
        if form in ("and", "or"):
            return Junction(form, tuple(self.condition(depth - 1) for _ in range(2)))
        if form == "not":
            return Negation(self.condition(depth - 1))
        if form == "null":
            return IsNull(self.pick([self.number(depth - 1), self.category(depth - 1)]))
        if form == "date":
            day = Literal(_day(self._draw(st.integers(-800, 20_060))))
            return Compare(self.pick(OPERATORS), self.date(), day)
        if form == "text":
            left, right = self.category(depth - 1), self.category(0)
            return Compare(self.pick(["=", "<>"]), left, right)
        if form == "texts":
            return Member(self.category(depth - 1), tuple({self.pick(TEXTS), self.pick(TEXTS)}))
        if form == "numbers":
            listed = dict.fromkeys([self.pick(NUMBERS), self.pick(NUMBERS)])
            return Member(self.number(depth - 1), tuple(listed))
        right = self.number(depth - 1) if form == "number" else self.pick(NUMBERS)
        return Compare(self.pick(OPERATORS), self.number(depth - 1), right)

    def key(self) -> Any:
        """What one may group by; some have too many public keys and are refused."""
        form = self.pick(["category", "category", "boolean", "date", "test", "tens", "bucket", "x"])
        if form == "category":
            return self.category(2)
        if form == "boolean":
            return self.field("boolean")
        if form == "date":
            return self.date()
        if form == "test":
            return self.condition(2)
        inner = self.number(1)
        if form == "tens":
            return Floor(Arithmetic("/", inner, self.pick(DIVISORS)))
        return self.bucket(inner) if form == "bucket" else inner


RATIOS = [
    Statistic.VALUES,
    Statistic.SUM,
    Statistic.AVERAGE,
    Statistic.VARIANCE_SAMPLE,
    Statistic.VARIANCE_POPULATION,
    Statistic.DEVIATION_SAMPLE,
    Statistic.DEVIATION_POPULATION,
]
PAIRS = [
    Statistic.COVARIANCE_SAMPLE,
    Statistic.COVARIANCE_POPULATION,
    Statistic.CORRELATION,
    Statistic.SLOPE,
    Statistic.INTERCEPT,
]


@st.composite
def queries(draw: Any, table: Table) -> Query:
    """A question: up to three aggregates, up to two keys, perhaps a condition and a limit."""
    write = Writer(draw, table)
    plain = [Aggregate(Statistic.ROWS, None)]
    if table.unit is not None:
        plain.append(Aggregate(Statistic.UNITS, None))
    aggregates = []
    for _ in range(write.pick([1, 2, 3])):
        ratio = Aggregate(write.pick(RATIOS), write.number(write.pick([0, 1, 2])))
        found = write.pick([*plain, ratio, ratio, "pair"])
        if found == "pair":
            sides = [write.number(write.pick([0, 0, 1])) for _ in range(2)]
            found = Aggregate(write.pick(PAIRS), *sides)
        aggregates.append(found)
    keys = [write.key() for _ in range(write.pick([0, 1, 1, 2]))]
    outputs = tuple(Output(f"o{place}", each) for place, each in enumerate(aggregates))
    named = tuple(Key(f"g{place}", key) for place, key in enumerate(keys))
    most = write.pick([None, None, 1, 2])
    return Query(
        source=Scan(table.name),
        where=write.condition(2) if write.pick([True, False]) else None,
        keys=named,
        outputs=outputs,
        columns=tuple(each.name for each in (*named, *outputs)),
        options=Options(max_groups_contributed=most),
    )


class Bench:
    """One database with source rows, and what preparation and plans make of them."""

    def __init__(self, table: Table, sources: dict[str, Source]) -> None:
        self.table = table
        self._sources = sources
        self._database = Scratch()

    def close(self) -> None:
        """Forget the rows."""
        self._database.close()

    def load(self, units: dict[Any, list[tuple[Any, ...]]]) -> None:
        """Fill the source: rows by unit."""
        names = [f'"{name}" {source.kind}' for name, source in self._sources.items()]
        lines = [
            "("
            + ", ".join(
                [sql_value(unit, "BIGINT")]
                + [sql_value(v, s.kind) for v, s in zip(row, self._sources.values(), strict=True)]
            )
            + ")"
            for unit, rows in units.items()
            for row in rows
        ]
        self.rows(f"CREATE OR REPLACE TABLE source(who BIGINT, {', '.join(names)})")
        if lines:
            self.rows(f"INSERT INTO source VALUES {', '.join(lines)}")

    @property
    def lattice(self) -> str:
        """The preparation's SELECT."""
        types = {"who": "BIGINT", **{name: s.kind for name, s in self._sources.items()}}
        return lattice_rows(self.table, "source", types)

    def prepare(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Make the prepared table; its column names and rows."""
        self.rows(f"CREATE OR REPLACE TABLE prepared AS {self.lattice}")
        names = [row[0] for row in self.rows("DESCRIBE prepared")]
        return names, self.rows("SELECT * FROM prepared")

    def rows(self, sql: str) -> list[Any]:
        """Run one statement."""
        return self._database.rows(sql)

    def exact(self, made: Plan) -> list[list[int]]:
        """The exact measures of every public group, as the curator combines them."""
        return [column.tolist() for column in exact_of(made, self.rows(made.sql))]

    def in_place(self, made: Plan) -> Plan:
        """The same plan on the source itself, prepared on the fly."""
        return planned(made.query, self.table, relation=f"({self.lattice}) AS prepared")


def exact_of(made: Plan, rows: list[tuple[Any, ...]]) -> list[Any]:
    """The exact measures of every public group from an engine's rows, as the curator does it."""
    return _measures(made, _sums(made, rows), made.groups)


def planned(query: Query, table: Table, relation: str = '"prepared"') -> Plan:
    """The plan of a question at epsilon 1."""
    return plan(
        Draft(query=query, table=table, price=Pure(epsilon=1), limit=LIMIT, relation=relation)
    )


def with_limit(query: Query, most: int | None) -> Query:
    """The same question with another max_groups_contributed."""
    return replace(query, options=Options(max_groups_contributed=most))
