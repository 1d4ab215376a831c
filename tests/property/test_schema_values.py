"""Any schema survives storage, and its lattice decodes into its bounds and nowhere else."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as some

from discreet.errors import SchemaError
from discreet.loss import Relation
from discreet.schema import LARGEST, Budget, Column, Table
from discreet.schema.column import EPOCH, KINDS, MIDNIGHT
from discreet.schema.toml.read import read_schema, read_schema_text
from discreet.schema.toml.write import schema_text

NAMES = some.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True)
WORDS = {"drop", "error", "other"}  # a rule's word wins over a key of that name
KEYS = some.lists(
    some.text(min_size=1, max_size=8).filter(lambda key: "\0" not in key and key not in WORDS),
    min_size=1,
    max_size=6,
    unique=True,
)
LATTICE = some.integers(-LARGEST, LARGEST)
DAYS = some.dates().map(lambda day: (day - EPOCH).days)
SECONDS = some.datetimes().map(lambda time: (time - MIDNIGHT) // timedelta(seconds=1))
DECIMALS = some.decimals("0.000001", 10**6, places=6).map(Fraction)
STEPS = some.fractions(Fraction(1, 10**6), 10**6, max_denominator=10**6) | DECIMALS


@some.composite
def lattices(draw, kind: str) -> dict[str, object]:
    step, ends = Fraction(1), [0, 1]
    if kind in ("integer", "number"):
        step = draw(STEPS) if kind == "number" else Fraction(draw(some.integers(1, 10**6)))
        ends = sorted([draw(LATTICE), draw(LATTICE)])
    elif kind == "date":
        ends = sorted([draw(DAYS), draw(DAYS)])
    elif kind == "datetime":
        step = Fraction(draw(some.sampled_from([1, 7, 60, 3600, 86400])))
        inside = SECONDS.map(lambda seconds: int(seconds / step))
        ends = sorted([draw(inside), draw(inside)])
    elif kind == "category":
        keys, other = tuple(draw(KEYS)), draw(some.booleans())
        return {"keys": keys, "other": other, "upper": len(keys) - 1 + other}
    return {"step": step, "lower": ends[0], "upper": ends[1]}


@some.composite
def columns(draw, name: str) -> Column:
    kind = draw(some.sampled_from(KINDS))
    if kind == "category" and draw(some.booleans()):
        return Column(name, kind, upper=0, private_keys=True)
    facts = draw(lattices(kind))
    inside = some.integers(facts.get("lower", 0), facts["upper"])
    facts["null"] = draw(some.sampled_from(["drop", "error"]) | inside)
    if kind in ("integer", "number"):
        facts["nan"] = draw(some.sampled_from(["null", "drop", "error"]) | inside)
    if kind not in ("category", "boolean"):
        facts["infinity"] = draw(some.sampled_from(["clamp", "drop", "error"]))
    return Column(name, kind, **facts)


@some.composite
def lookups(draw) -> Table:
    names = draw(some.lists(NAMES, min_size=1, max_size=5, unique=True))
    key = tuple(draw(some.lists(some.sampled_from(names), unique=True)))
    return Table(
        name=draw(NAMES),
        source=draw(some.none() | some.text(min_size=1)),
        columns=tuple(draw(columns(name)) for name in names),
        kind="public",
        key=key,
        rows_per_key=draw(some.integers(1, 10**9)) if key else 1,
    )


@some.composite
def tables(draw) -> Table:
    names = draw(some.lists(NAMES, min_size=2, max_size=6, unique=True))
    unit = draw(some.sampled_from([None, names[0]]))
    positive = some.fractions(Fraction(1, 10**9), 100) | DECIMALS
    share = some.fractions(Fraction(1, 100), Fraction(99, 100))
    share |= some.decimals("0.01", "0.99", places=2).map(Fraction)
    budget = some.builds(
        Budget,
        epsilon=positive,
        delta=some.just(0) | share,
        delta_for_conversion=share,
        sharing=some.booleans(),
    )
    return Table(
        name=draw(NAMES),
        source=draw(some.none() | some.text(min_size=1)),
        population=draw(NAMES),
        unit=unit,
        rows_per_unit=1 if unit is None else draw(some.integers(1, 10**9)),
        neighbours=draw(some.sampled_from(Relation)),
        columns=tuple(draw(columns(name)) for name in names[1:]),
        budget=draw(some.none() | budget),
    )


def as_written(table: Table) -> dict[str, object]:
    """The schema file a custodian would write for a table, as the mapping TOML gives."""
    if table.kind == "public":
        lookup = {"name": table.name, "kind": "public", "key": list(table.key)}
        lookup |= {"source": table.source} if table.source is not None else {}
        lookup |= {"rows_per_key": table.rows_per_key} if table.key else {}
        declared = {column.name: entry(column) for column in table.columns}
        return {"table": lookup, "columns": declared}
    facts = {
        "name": table.name,
        "source": table.source,
        "population": table.population,
        "unit": table.unit,
        "rows_per_unit": None if table.unit is None else table.rows_per_unit,
        "neighbours": table.neighbours.value,
    }
    document: dict[str, object] = {
        "table": {key: value for key, value in facts.items() if value is not None},
        "columns": {column.name: entry(column) for column in table.columns},
    }
    if table.budget is not None:
        names = ("epsilon", "delta", "delta_for_conversion", "sharing")
        document["budget"] = {name: getattr(table.budget, name) for name in names}
    return document


def entry(column: Column) -> dict[str, object]:
    def value(k: int) -> object:
        return k * column.step if column.kind in ("integer", "number") else column.decode(k)

    def rule(given: str | int) -> object:
        return given if isinstance(given, str) else value(given)

    written: dict[str, object] = {"type": column.kind, "null": rule(column.null)}
    if column.private_keys:
        return written | {"keys": "private"}
    if column.kind == "category":
        return written | {"keys": list(column.keys), "other": column.other}
    if column.kind == "boolean":
        return written
    written |= {"lower": value(column.lower), "upper": value(column.upper)}
    if column.kind in ("integer", "number"):
        written["nan"] = rule(column.nan)
    if column.kind != "date":
        written["step"] = column.step
    return written | {"infinity": column.infinity}


@given(tables() | lookups())
def test_storage_round_trip(table):
    again = Table.from_json(table.to_json())
    assert again == table
    assert again.version == table.version


@given(tables() | lookups())
def test_a_table_written_as_a_file_reads_back(table):
    assert read_schema(as_written(table)) == table


def is_decimal(value: Fraction) -> bool:
    return 10**100 % value.denominator == 0


@given(tables() | lookups())
def test_a_table_written_as_text_reads_back_or_has_no_decimals(table):
    try:
        text = schema_text(table)
    except SchemaError:
        numbers = [column.step for column in table.columns]
        if table.budget is not None:
            budget = table.budget
            numbers += [budget.epsilon, budget.delta, budget.delta_for_conversion]
        assert not all(map(is_decimal, numbers))
    else:
        assert read_schema_text(text) == table


@settings(max_examples=60)
@given(tables() | lookups(), tables() | lookups())
def test_versions_differ_where_meanings_do(first, second):
    moved = replace(first, source=second.source)
    if first.kind == second.kind:
        moved = replace(moved, budget=second.budget)
    assert moved.version == first.version
    same = replace(second, source=first.source, budget=None) == replace(first, budget=None)
    assert (second.version == first.version) == same


@settings(max_examples=300)
@given(some.data())
def test_every_lattice_integer_decodes_inside_the_bounds(data):
    column = data.draw(columns("x").filter(lambda column: not column.private_keys))
    k = data.draw(some.integers(column.lower, column.upper))
    value = column.decode(k)
    types = {"integer": int, "number": float, "category": str, "boolean": bool, "date": date}
    assert type(value) is (types | {"datetime": datetime})[column.kind]
    if column.kind == "category":
        assert value in (*column.keys, "other")
        assert value == "other" or column.keys.index(value) == k
    else:
        assert column.decode(column.lower) <= value <= column.decode(column.upper)
    if column.kind == "number":
        exact = k * column.step
        assert abs(Fraction(value) - exact) <= abs(exact) * Fraction(1, 2**52)


@given(some.data())
def test_a_bound_is_on_the_lattice_or_refused(data):
    column = data.draw(columns("x").filter(lambda column: column.kind in ("integer", "number")))
    written = entry(column)
    written["upper"] += data.draw(some.fractions(0, 1, max_denominator=10)) * column.step
    try:
        read = read_schema({"table": {"name": "t"}, "columns": {"x": written}}).columns[0]
    except ValueError:
        on_lattice = (written["upper"] / column.step).denominator == 1
        assert not on_lattice or written["upper"] / column.step > LARGEST
    else:
        assert read.upper * read.step == written["upper"]
