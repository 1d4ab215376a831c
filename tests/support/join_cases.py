"""Small databases of several tables, and generated questions over them.
Rows are prepared ones: lattice integers inside their bounds, at most rows_per_unit of each person.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from discreet.loss import Relation
from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Case,
    Compare,
    Extreme,
    Field,
    Floor,
    IsNull,
    Join,
    Junction,
    Key,
    Literal,
    Negation,
    Options,
    Order,
    Output,
    PerUnit,
    Query,
    Rows,
    Scan,
    Source,
    Statistic,
    Window,
    Windowed,
)
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.join_bench import Data, Tables

LABELS = ("x", "y", "z")
PRIVATE = ("visits", "stays")


@st.composite
def numbers(draw: Any, name: str) -> Column:
    """A number with few values, or with the widest bounds there are."""
    low, high = draw(st.sampled_from([(0, 1), (-1, 2), (0, 3), (2, 4), (-4, -1), (-3, 3)]))
    step = draw(st.sampled_from([Fraction(1), Fraction(1), Fraction(1, 2), Fraction(2, 3)]))
    null = draw(st.sampled_from(["drop", "drop", low, high]))
    return Column(name, "number", step=step, lower=low, upper=high, null=null)


@st.composite
def categories(draw: Any, name: str) -> Column:
    """A category with its own list of keys, in its own order."""
    keys = tuple(draw(st.permutations(LABELS)))[: draw(st.integers(1, 3))]
    other = draw(st.booleans())
    null = "drop" if other else draw(st.sampled_from(["drop", 0]))
    return Column(name, "category", upper=len(keys) - 1 + other, keys=keys, other=other, null=null)


@st.composite
def days(draw: Any, name: str) -> Column:
    """A date with few values around the turn of a year."""
    low = draw(st.integers(19_720, 19_723))
    null = draw(st.sampled_from(["drop", low]))
    return Column(name, "date", lower=low, upper=low + draw(st.integers(0, 2)), null=null)


@st.composite
def columns(draw: Any) -> tuple[Column, ...]:
    """The same names in every table, so that joins have to rename."""
    return (
        draw(numbers("n")),
        draw(categories("c")),
        Column("f", "boolean", null=draw(st.sampled_from(["drop", 0]))),
        draw(numbers("m")),
        draw(days("d")),
    )


@st.composite
def schemas(draw: Any) -> Tables:
    """Two tables of one population, one where each row is a person, and two lookup tables."""
    relation = draw(st.sampled_from(Relation))
    shared = {"population": "p", "neighbours": relation}
    key = draw(st.sampled_from([("c",), ("c",), ("n", "f"), ()]))
    many = draw(st.sampled_from([1, 1, 2])) if key else 1
    made = [
        Table("visits", unit="who", rows_per_unit=draw(st.integers(1, 3)), **shared),
        Table("stays", unit="payer", rows_per_unit=draw(st.integers(1, 2)), **shared),
        Table("people", neighbours=relation),
        Table("codes", kind="public", columns=draw(columns()), key=key, rows_per_key=many),
        Table("wards", kind="public", columns=draw(columns()), key=("n",)),
    ]
    return {
        each.name: each
        if each.kind == "public"
        else Table(
            each.name,
            unit=each.unit,
            rows_per_unit=each.rows_per_unit,
            population=each.population,
            neighbours=relation,
            columns=draw(columns()),
        )
        for each in made
    }


def codes(column: Column) -> st.SearchStrategy[int | None]:
    """Prepared values of a column."""
    values = st.integers(column.lower, column.upper)
    return st.one_of(st.none(), values) if column.nullable else values


def prepared_row(table: Table) -> st.SearchStrategy[tuple[Any, ...]]:
    """One prepared row, without its unit."""
    return st.tuples(*(codes(column) for column in table.columns))


@dataclass(frozen=True)
class Shape:
    """A source in the making: its columns by kind, and whether it is about people with a unit."""

    source: Source
    kinds: dict[str, str]
    who: str  # "unit", "row" or "public"

    def named(self, *kinds: str) -> list[Field]:
        """Its columns of some kinds."""
        return [Field(name) for name, kind in self.kinds.items() if kind in kinds]


KINDS = {"n": "number", "c": "category", "f": "boolean", "m": "number", "d": "date"}


BY_PLACE = ("row_number", "lag", "lead", "first_value", "last_value")
WINDOWS = ("rank", "dense_rank", "count", "sum", "min", "max", *BY_PLACE)
"""Functions of windows; those by place tell equal rows apart."""


class Writer:
    """Writes sources and questions over the tables, every column under a name of its own."""

    def __init__(self, draw: Any, tables: Tables, *, windows: tuple[str, ...] = WINDOWS) -> None:
        self._draw = draw
        self._windows = windows
        self._tables = tables
        self._count = 0

    def pick(self, choices: Any) -> Any:
        """One of several."""
        return self._draw(st.sampled_from(choices))

    def fresh(self, stem: str) -> str:
        """A name that nothing has."""
        self._count += 1
        return f"{stem}_{self._count}"

    def scan(self, name: str) -> Shape:
        """A table with columns under new names."""
        new = {each.name: self.fresh(each.name) for each in self._tables[name].columns}
        who = {"people": "row", "codes": "public", "wards": "public"}.get(name, "unit")
        kinds = {new[old]: KINDS[old] for old in new}
        return Shape(Scan(name, tuple(new.items())), kinds, who)

    def source(self, depth: int) -> Shape:
        """A private source."""
        if depth == 0:
            return self.scan(self.pick([*PRIVATE, *PRIVATE, "people"]))
        forms = ["own", "own", "lookup", "lookup", "first", "rows", "per", "per", "windows"]
        form = self.pick(forms)
        inner = self.source(depth - 1)
        if form == "rows":
            return self.rows(inner)
        if form == "lookup":
            return self.lookup(inner, self.pick(["inner", "left"]))
        if form == "first":
            return self.lookup(inner, "first")
        if inner.who == "row":
            return inner
        if form == "per":
            return self.per_unit(inner)
        if form == "windows":
            return self.windows(inner)
        return self.own(inner, self.source(self.pick([0, depth - 1])))

    def own(self, left: Shape, right: Shape) -> Shape:
        """Two sources of one population, on their unit and perhaps more."""
        if right.who == "row":
            return left
        kind = self.pick(["inner", "inner", "left", "members"])
        on = self.pairs(left, right, self.pick([0, 0, 1]))
        if kind == "members":
            return self.members(left, right)
        if kind == "left":
            right = self.flagged(right)
        kinds = {**left.kinds, **right.kinds}
        return Shape(Join(kind, left.source, right.source, on), kinds, "unit")

    def flagged(self, inner: Shape) -> Shape:
        """The same rows with a column that is missing only where they are."""
        flag = self.fresh("present")
        columns = tuple((name, Field(name)) for name in inner.kinds)
        source = Rows(inner.source, None, (*columns, (flag, Literal(True))))
        return Shape(source, {**inner.kinds, flag: "boolean"}, inner.who)

    def members(self, left: Shape, right: Shape) -> Shape:
        """Rows of units that have rows elsewhere, or that have none."""
        where = self.condition(right, 1) if self.pick([True, False]) else None
        if self.pick([True, False]):
            each = PerUnit(right.source, where, (), ())
            return Shape(Join("inner", left.source, each, ()), left.kinds, "unit")
        flag = self.fresh("present")
        each = PerUnit(right.source, where, (), ((flag, Literal(True)),))
        columns = tuple((name, Field(name)) for name in left.kinds)
        joined = Join("left", left.source, each, ())
        return Shape(Rows(joined, IsNull(Field(flag)), columns), left.kinds, "unit")

    def pairs(self, left: Shape, right: Shape, most: int) -> tuple[tuple[str, str], ...]:
        """Columns of one kind to equate."""
        found: dict[tuple[str, str], None] = {}
        for _ in range(most):
            both = [
                (a.name, b.name)
                for kind in ("number", "category", "boolean", "date")
                for a in left.named(kind)
                for b in right.named(kind)
            ]
            if both:
                found[self.pick(both)] = None
        return tuple(found)

    def public(self) -> Shape:
        """A lookup table, sometimes filtered or joined with another."""
        first = self.scan(self.pick(["codes", "codes", "wards"]))
        form = self.pick(["plain", "plain", "plain", "plain", "rows", "join"])
        if form == "rows":
            return self.rows(first)
        if form == "join":
            second = self.scan("wards")
            on = self.pairs(first, second, 1)
            source = Join("inner", first.source, second.source, on)
            return Shape(source, {**first.kinds, **second.kinds}, "public") if on else first
        return first

    def lookup(self, private: Shape, kind: str) -> Shape:
        """A private source with a lookup table; mostly on the whole of its key."""
        right = self.public()
        key: list[str] = []
        if isinstance(right.source, Scan):
            names = dict(right.source.names)
            key = [names[name] for name in self._tables[right.source.table].key]
        if key and self.pick([True, True, True, False]):
            partners = [private.named(right.kinds[name]) for name in key]
            if not all(partners):
                return private
            on = tuple(
                (self.pick(fields).name, name) for fields, name in zip(partners, key, strict=True)
            )
        else:
            on = self.pairs(private, right, self.pick([1, 2]))
        if not on:
            return private
        kinds = {**private.kinds, **right.kinds}
        if kind == "first":
            turned = tuple((b, a) for a, b in on)
            return Shape(Join("inner", right.source, private.source, turned), kinds, private.who)
        return Shape(Join(kind, private.source, right.source, on), kinds, private.who)

    def rows(self, inner: Shape) -> Shape:
        """Rows that are filtered and computed; sometimes with names that change places."""
        made: dict[str, tuple[Any, str]] = {}
        for name, kind in inner.kinds.items():
            if self.pick([True, True, False]):
                made[name] = (Field(self.pick(inner.named(kind)).name), kind)
        made[self.fresh("e")] = (self.number(inner, 2), "number")
        if self.pick([True, False]):
            made[self.fresh("t")] = (self.condition(inner, 1), "boolean")
        where = self.condition(inner, 2) if self.pick([True, False]) else None
        columns = tuple((name, each) for name, (each, _) in made.items())
        kinds = {name: kind for name, (_, kind) in made.items()}
        return Shape(Rows(inner.source, where, columns), kinds, inner.who)

    def per_unit(self, inner: Shape) -> Shape:
        """One row for each unit, and perhaps for each of some keys."""
        keys = {}
        for _ in range(self.pick([0, 0, 1, 2])):
            fields = inner.named("category", "boolean", "date")
            if fields:
                field = self.pick(fields)
                keys[self.fresh("k")] = (field, inner.kinds[field.name])
        made: dict[str, tuple[Any, str]] = {}
        for _ in range(self.pick([1, 2])):
            made[self.fresh("s")] = (self.total(inner), "number")
        for name, (_, kind) in keys.items():
            if self.pick([True, True, False]):
                made[self.fresh("k")] = (Field(name), kind)
        for field in inner.named("date")[:1]:
            extreme = self.pick([Statistic.MINIMUM, Statistic.MAXIMUM])
            made[self.fresh("d")] = (Aggregate(extreme, field), "date")
        where = self.condition(inner, 1) if self.pick([True, False, False]) else None
        kinds = {name: kind for name, (_, kind) in made.items()}
        having = self.fresh("having") if self.pick([True, False, False]) else ""
        if having:
            made[having] = (Compare(">", self.total(inner), self.total(inner)), "boolean")
        source: Source = PerUnit(
            inner.source,
            where,
            tuple((name, field) for name, (field, _) in keys.items()),
            tuple((name, each) for name, (each, _) in made.items()),
        )
        if having:
            source = Rows(source, Field(having), tuple((name, Field(name)) for name in kinds))
        return Shape(source, kinds, "unit")

    def windows(self, inner: Shape) -> Shape:
        """The same rows with a window or two; sometimes only the first rows."""
        made: dict[str, tuple[Window, str]] = {}
        for _ in range(self.pick([1, 2])):
            made[self.fresh("w")] = self.window(inner)
        where = self.condition(inner, 1) if self.pick([True, False, False]) else None
        columns = tuple((name, window) for name, (window, _) in made.items())
        kinds = {**inner.kinds, **{name: kind for name, (_, kind) in made.items()}}
        source: Source = Windowed(inner.source, where, columns)
        if self.pick([True, False]):
            ranked = [Field(name) for name, (_, kind) in made.items() if kind == "number"]
            test = Compare("<=", ranked[0], Literal(Fraction(1))) if ranked else None
            source = Rows(source, test, tuple((name, Field(name)) for name in kinds))
        return Shape(source, kinds, "unit")

    def window(self, inner: Shape) -> tuple[Window, str]:
        """One window, and the kind of its column."""
        function = self.pick(self._windows)
        kinds = ("number",) if function == "sum" else ("number", "date")
        if function in ("lag", "lead", "first_value", "last_value", "count"):
            kinds = ("number", "date", "category", "boolean")
        fields, ordered = inner.named(*kinds), inner.named("number", "date")
        ranks = function in ("row_number", "rank", "dense_rank")
        if not fields or not ordered:
            return Window("count", None, (), (), "all"), "number"
        argument = None if ranks else self.pick(fields)
        keys = inner.named("category", "boolean")
        partition = (self.pick(keys),) if keys and self.pick([True, False, False]) else ()
        directions = ["ascending", "descending"]
        terms = tuple(
            Order(self.pick(ordered), self.pick(directions)) for _ in range(self.pick([1, 2]))
        )
        frame = {"first_value": "all", "last_value": "all"}.get(function, "")
        if function in ("count", "sum", "min", "max"):
            frame = self.pick(["", "all"] + (["rows"] if "lag" in self._windows else []))
        offset = self.pick([1, 2]) if function in ("lag", "lead") else 0
        whole = function in ("rank", "dense_rank", "row_number", "count")
        kind = "number" if whole or argument is None else inner.kinds[argument.name]
        return Window(function, argument, partition, terms, frame, offset), kind

    def total(self, inner: Shape) -> Any:
        """An expression over aggregates of one unit's rows."""
        each = Aggregate(Statistic.ROWS, None)
        fields = inner.named("number")
        if fields:
            kinds = [Statistic.SUM, Statistic.SUM, Statistic.MINIMUM, Statistic.MAXIMUM]
            if "lag" in self._windows:  # else no reference knows the steps to which one is rounded
                kinds.append(Statistic.AVERAGE)
            statistic = self.pick([*kinds, Statistic.VALUES])
            each = self.pick([each, Aggregate(statistic, self.pick(fields))])
        ten = Literal(Fraction(self.pick([-2, 1, 3])))
        least = Extreme(self.pick(["least", "greatest"]), (each, ten))
        test = Compare(">", each, ten)
        chosen = Case(((test, each),), self.pick([ten, Literal(None)]))
        return self.pick([each, each, each, Arithmetic("*", each, ten), least, chosen])

    def number(self, inner: Shape, depth: int) -> Any:
        """A number of one row."""
        constant = Literal(self.pick([Fraction(0), Fraction(3, 2), Fraction(-2)]))
        fields = inner.named("number")
        if depth == 0 or not fields:
            return self.pick(fields or [constant])
        form = self.pick(["field", "+", "-", "*", "least", "floor", "case"])
        one, two = (self.number(inner, depth - 1) for _ in range(2))
        if form == "least":
            return Extreme("least", (one, self.pick([two, constant])))
        if form == "floor":
            return Floor(Arithmetic("/", one, Literal(Fraction(2))))
        if form == "case":
            return Case(((self.condition(inner, 0), one),), self.pick([two, Literal(None)]))
        return one if form == "field" else Arithmetic(form, one, self.pick([two, constant]))

    def condition(self, inner: Shape, depth: int) -> Any:
        """A condition on one row."""
        tests: list[Any] = [*inner.named("boolean")]
        tests += [IsNull(each) for each in inner.named("number", "category", "date", "boolean")]
        label = Literal(self.pick([*LABELS, "other"]))
        tests += [Compare("=", field, label) for field in inner.named("category")]
        numbers = inner.named("number")
        tests += [Compare("<", a, b) for a in numbers[:3] for b in numbers[-2:]]
        dates = inner.named("date")
        tests += [Compare(">=", a, b) for a in dates[:2] for b in dates[-2:]]
        if not tests:
            return Compare("=", Literal(Fraction(1)), Literal(Fraction(1)))
        one = self.pick(tests)
        if depth == 0:
            return one
        two = self.condition(inner, depth - 1)
        return self.pick(
            [one, Negation(one), Junction("and", (one, two)), Junction("or", (one, two))]
        )

    def query(self, depth: int) -> Query:
        """A whole question."""
        shape = self.source(depth)
        numbers = shape.named("number")
        found = [Aggregate(Statistic.ROWS, None)]
        if shape.who == "unit":
            found.append(Aggregate(Statistic.UNITS, None))
        for statistic in (Statistic.SUM, Statistic.AVERAGE, Statistic.VARIANCE_POPULATION):
            found += [Aggregate(statistic, self.number(shape, 1))] if numbers else []
        for field in (*numbers, *shape.named("category", "boolean", "date")):
            found.append(Aggregate(Statistic.VALUES, field))
        for field in (*numbers[-2:], *shape.named("date")[-1:]):
            found.append(Aggregate(Statistic.QUANTILE, field, fraction=Fraction(1, 2)))
        found += [Aggregate(Statistic.MODE, each) for each in shape.named("category")[:1]]
        outputs = {self.pick(found): None for _ in range(self.pick([1, 2, 3]))}
        fields = shape.named("category", "boolean", "date")
        keys = {self.pick(fields): None for _ in range(self.pick([0, 1, 2]) if fields else 0)}
        named = tuple(Key(f"g{place}", key) for place, key in enumerate(keys))
        shown = tuple(Output(f"o{place}", each) for place, each in enumerate(outputs))
        limits = Options(
            max_groups_contributed=self.pick([None, None, None, 1, 2]),
            max_rows_contributed=self.pick([None, None, None, None, 1, 2, 4]),
        )
        return Query(
            source=shape.source,
            where=self.condition(shape, 1) if self.pick([True, False]) else None,
            keys=named,
            outputs=shown,
            columns=tuple(each.name for each in (*named, *shown)),
            options=limits,
        )


@st.composite
def people(draw: Any, tables: Tables, count: int = 3) -> dict[str, list[list[tuple[Any, ...]]]]:
    """The rows of some people, by table and person; one row each where there is no unit."""
    found = {}
    for name in (*PRIVATE, "people"):
        row = prepared_row(tables[name])
        most = tables[name].rows_per_unit
        least = 1 if name == "people" else 0
        found[name] = [draw(st.lists(row, min_size=least, max_size=most)) for _ in range(count)]
    return found


@st.composite
def lookups(draw: Any, tables: Tables) -> Data:
    """The rows of the public tables; what they declare about their keys need not hold."""
    found = {}
    for name in ("codes", "wards"):
        found[name] = draw(st.lists(prepared_row(tables[name]), max_size=5))
    return found


def placed(found: dict[str, list[list[tuple[Any, ...]]]], tables: Tables, text: str = "") -> Data:
    """The rows of people as tables; the units of the table `text` are texts."""
    return {
        name: [
            row if tables[name].unit is None else (str(n) if name == text else n, *row)
            for n, rows in enumerate(persons)
            for row in rows
        ]
        for name, persons in found.items()
    }
