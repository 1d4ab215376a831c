"""The same integers from DuckDB, PostgreSQL and Spark: preparation, the first rows of a unit, and
whole questions, generated and adversarial.
"""

import math
import sys
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet.errors import SchemaError, UnsafeQuery
from discreet.plan.sql import calendar
from discreet.plan.sql.dialects import dialect_of
from discreet.plan.sql.expressions import bounded, scope
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import (
    Arithmetic,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Extreme,
    Field,
    Floor,
    Literal,
    Negation,
)
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.loaded_engines import LoadedEngine, planned
from support.plan_cases import queries, raw_rows, tables
from support.plan_reference import code_of
from support.written_times import day_code, some_cells

SLOW = [
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.function_scoped_fixture,
]
QUESTIONS = 8
THIRD = Literal(Fraction(1, 3))


def in_order(rows):
    return sorted(map(tuple, rows), key=repr)


@st.composite
def asked(draw):
    """A table, raw rows by unit, and questions that can be planned."""
    table, sources = draw(tables())
    found = []
    for _ in range(2 * QUESTIONS):
        query = draw(queries(table))
        try:
            planned(query, table, "duckdb")
        except UnsafeQuery:
            continue
        found.append(query)
    assume(found)
    rows = draw(st.lists(raw_rows(sources), min_size=1, max_size=12))
    units = draw(st.lists(st.sampled_from([None, -3, 0, 1, 2**62]), min_size=12, max_size=12))
    kinds = {"who": "BIGINT", **{name: source.kind for name, source in sources.items()}}
    return table, kinds, [(u, *r) for u, r in zip(units, rows, strict=False)], found[:QUESTIONS]


def check_asked(loaded_engines: list[LoadedEngine], case) -> None:
    table, kinds, rows, questions = case
    first, *others = loaded_engines
    for loaded in loaded_engines:
        loaded.load(kinds, rows)
    expected = in_order(first.prepare(table))
    for loaded in others:
        assert in_order(loaded.prepare(table)) == expected, loaded.dialect
    for query in questions:
        answer = in_order(first.rows(planned(query, table, first.dialect).sql))
        for loaded in others:
            made = planned(query, table, loaded.dialect)
            assert in_order(loaded.rows(made.sql)) == answer, (loaded.dialect, made.sql)


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(case=asked())
def test_generated_questions_have_the_same_exact_answers(quick_engines, case):
    check_asked(quick_engines, case)


@pytest.mark.soak
@settings(max_examples=1000, deadline=None, suppress_health_check=SLOW)
@given(case=asked())
def test_many_more_generated_questions_have_the_same_exact_answers(quick_engines, case):
    check_asked(quick_engines, case)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(case=asked())
def test_generated_questions_agree_on_duckdb_and_postgresql(loaded_duckdb, postgresql, case):
    check_asked([loaded_duckdb, postgresql], case)


LARGE = Table("t", unit="who", columns=(Column("b", "integer", lower=-(2**53), upper=2**53),))


@pytest.mark.parametrize(
    "text", ["VAR_POP(0 * b)", "SUM((b * 0) * (b * 0))", "SUM((0 * b) * (b - b))"]
)
def test_no_engine_changes_the_order_of_a_product(loaded_engines, text):
    """In another order the square of a large number would come first, and would not fit."""
    query = parse(f"SELECT {text} AS o FROM t", {"t": LARGE})
    for loaded in loaded_engines:
        loaded.load({"who": "BIGINT", "b": "BIGINT"}, [(1, 2**53), (2, -(2**53)), (3, None)])
        loaded.prepare(LARGE)
        (row,) = loaded.rows(planned(query, LARGE, loaded.dialect).sql)
        assert set(row) <= {0, 2}, loaded.dialect


FLOATS = [
    *(0.0, -0.0, 5e-324, -5e-324, 1e-310, sys.float_info.min, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5),
    *(0.1, 0.3, 0.15, 0.25, 0.35, 1e15 + 0.5, 2.0**52 + 0.5, 2.0**53, 2.0**53 + 2, -(2.0**60)),
    *(1e22, 1e290, 1e300, sys.float_info.max, -sys.float_info.max),
    *(math.nan, math.inf, -math.inf, 0.49999999999999994, 1.0000000000000002, None),
]
WHOLES = [0, 1, -1, 2**31, -(2**31), 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 7, 15, -15, 45, None]
DECIMALS = [
    *map(Decimal, ("0", "0.01", "-0.01", "0.005", "0.015", "0.025", "-0.005", "-0.015")),
    *map(Decimal, ("1.115", "123456789012345.675", "-999999999999999.995", "0.125", "0.375")),
    *(Decimal("999999999999999.999"), None),
]
TEXTS = [
    *("1", " 2.5 ", "-3.5", "+4", "1e2", "1E+2", "1e-400", "1e400", "-1e400", "nan", "NaN"),
    *("inf", "-Infinity", ".5", "5.", "", " ", "x", "1d", "1f", "0x10", "1e", "--1", "1 2", "٣"),
    *("1\t", "9" * 255, "0.5", "1.5", "2.5", "true", "1,5", None),
]
STEPS = [
    (Fraction(1), 0, 110),
    (Fraction(1, 2), -5, 5),
    (Fraction(1, 10), -20, 400_000),
    (Fraction(1, 100), -(10**6), 10**6),
    (Fraction(3), -4, 4),
    (Fraction(2, 3), 1, 2**53),
    (Fraction(1), -(2**53), 2**53),
    (Fraction(1, 10**12), -(2**53), 2**53),
    (Fraction(10**17), -5, 5),
]
RULES = [
    {},
    {"null": 0},
    {"null": 0, "nan": "drop"},
    {"nan": 1},
    {"null": 0, "infinity": "drop"},
    {"nan": 1, "infinity": "drop"},
]


def number_columns():
    """Columns of every step, and of every rule."""
    plain = [
        Column(f"a{place}", "number", step=step, lower=low, upper=high)
        for place, (step, low, high) in enumerate(STEPS)
    ]
    ruled = [
        Column(f"r{place}", "number", step=Fraction(1, 2), lower=-3, upper=9, **rules)
        for place, rules in enumerate(RULES)
    ]
    return (*plain, *ruled)


def check_codes(loaded_engines, columns, kind, values, expected=None):
    """Every engine gives the same code for every value, and the one expected of it."""
    table = Table("t", unit="who", rows_per_unit=1, columns=columns)
    kinds = {"who": "BIGINT", **{column.name: kind for column in columns}}
    rows = [(unit, *(value for _ in columns)) for unit, value in enumerate(values)]
    found = []
    for loaded in loaded_engines:
        loaded.load(kinds, rows)
        codes = {row[-1]: row[:-1] for row in loaded.prepare(table)}
        found.append([codes[unit] for unit in range(len(values))])
    for loaded, codes in zip(loaded_engines, found, strict=True):
        for value, code, usual in zip(values, codes, found[0], strict=True):
            assert code == usual, (loaded.dialect, value)
    if expected is not None:
        for value, code in zip(values, found[0], strict=True):
            assert list(code) == [expected(column, value) for column in columns], value
    return found[0]


def ruled_code(column: Column, value):
    """The rules for NaN and infinities, then what plain values become."""
    if isinstance(value, float) and math.isnan(value) and column.nan != "null":
        return column.nan if isinstance(column.nan, int) else None
    if isinstance(value, float) and math.isinf(value) and column.infinity != "clamp":
        return None
    return code_of(column, value)


def test_floats_of_every_kind(loaded_engines):
    check_codes(loaded_engines, number_columns(), "DOUBLE", FLOATS, ruled_code)


def test_single_precision_floats(loaded_engines):
    values = [0.5, 1.5, -2.5, 0.25, 3.0e38, 1e-40, math.nan, math.inf, -math.inf, None]
    check_codes(loaded_engines, number_columns(), "FLOAT", values)


def test_integers_are_exact_beyond_what_a_float_holds(loaded_engines):
    columns = number_columns()
    check_codes(loaded_engines, columns, "BIGINT", WHOLES, ruled_code)


def test_decimals_are_exact_and_ties_go_to_the_even_neighbour(loaded_engines):
    def exact(column, value):
        return None if value is None else code_of(column, Fraction(value))

    columns = tuple(column for column in number_columns() if column.null == "drop")
    check_codes(loaded_engines, columns, "DECIMAL(18,3)", DECIMALS, exact)


def test_integers_wider_than_64_bits(loaded_engines):
    values = [0, 2**64, -(2**64), 2**100, -(2**100), 10**37, 5, None]
    check_codes(loaded_engines, number_columns(), "HUGEINT", values, ruled_code)


def test_text_that_is_or_is_not_a_number(loaded_engines):
    columns = (
        Column("a", "number", step=Fraction(1, 2), lower=-8, upper=500),
        Column("b", "integer", lower=-3, upper=9, null=0),
        Column("c", "number", lower=-3, upper=9, nan=7, infinity="drop"),
    )
    codes = check_codes(loaded_engines, columns, "VARCHAR", TEXTS)
    by_text = dict(zip(TEXTS, codes, strict=True))
    assert by_text[" 2.5 "] == (5, 2, 2)
    assert by_text["x"] == (None, 0, None)
    assert by_text["nan"] == (None, 0, 7)
    assert by_text["inf"] == (500, 9, None)
    assert by_text["1e400"] == (500, 9, None)
    assert by_text["1d"] == by_text["0x10"] == by_text["٣"] == (None, 0, None)


WORDS = [
    *(
        "é",
        "e\u0301",
        "É",
        "a",
        "a ",
        " a",
        "A",
        "",
        "ß",
        "SS",
        "ı",
        "i",
        "I",
        "東京",
        "👩‍👩‍👧",
        "\\",
        "'",
    ),
    *("\\'", '"', "${x}", "%", "\t", "a\nb", "\u00a0", "\u200b", "null", None),
]


def test_texts_are_told_apart_byte_by_byte(loaded_engines):
    keys = tuple(dict.fromkeys(word for word in WORDS if word))
    columns = (
        Column("c", "category", upper=len(keys) - 1, keys=keys),
        Column("o", "category", upper=1, keys=("e\u0301",), other=True),
        Column("p", "category", lower=0, upper=0, private_keys=True),
    )

    def expected(column, value):
        return value if column.private_keys else code_of(column, value)

    check_codes(loaded_engines, columns, "VARCHAR", WORDS, expected)


def test_units_that_differ_in_one_byte_are_different(loaded_engines):
    table = Table("t", unit="who", rows_per_unit=1, columns=(Column("f", "boolean"),))
    rows = [(word, True) for word in WORDS] * 2
    counts = []
    for loaded in loaded_engines:
        loaded.load({"who": "VARCHAR", "f": "BOOLEAN"}, rows)
        kept = loaded.prepare(table)
        counts.append(in_order(kept))
        (distinct,) = loaded.rows('SELECT COUNT(DISTINCT "$unit") AS "$s0" FROM prepared')
        assert distinct == (len(WORDS) - 1,)
    assert counts[0] == counts[1] == counts[2]
    assert len(counts[0]) == len(WORDS) - 1


DAYS = [
    *(date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(1969, 12, 31), date(1970, 1, 1)),
    *(date(2000, 2, 29), date(2024, 2, 29), date(2024, 12, 30), date(9999, 12, 31), None),
]


def test_days_and_days_in_texts(loaded_engines):
    columns = (
        Column("a", "date", lower=-719_162, upper=2_932_896),
        Column("b", "date", lower=19_000, upper=19_800, null=19_500),
    )
    check_codes(loaded_engines, columns, "DATE", DAYS, code_of)
    texts = [
        *("2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-13-01", "2024-04-31"),
        *("0001-01-01", "9999-12-31", " 2024-01-05 ", "yesterday", "", "2024", "20240105", None),
    ]
    check_codes(loaded_engines, columns, "VARCHAR", texts)


def test_texts_are_days_as_a_whole_in_every_engine(loaded_engines):
    texts = some_cells(5003)
    whole = Column("a", "date", lower=-719_162, upper=2_932_896)
    check_codes(loaded_engines, (whole,), "VARCHAR", texts, lambda _, text: day_code(text))


def test_times_are_taken_down_to_their_step(loaded_engines):
    columns = tuple(
        Column(f"a{step}", "datetime", step=Fraction(step), lower=-(10**5), upper=10**9 // step)
        for step in (1, 60, 3600)
    )
    values = [
        *(datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1)),
        *(datetime(1970, 1, 1, 0, 0, 0, 1), datetime(1999, 12, 31, 23, 59, 59, 999_999)),
        *(datetime(2000, 1, 1, 10, 59, 59), datetime(9999, 12, 31, 23, 59, 59, 999_999), None),
    ]

    codes = check_codes(loaded_engines, columns, "TIMESTAMP", values)
    assert codes[0] == tuple(column.lower for column in columns)
    assert codes[1] == (-1, -1, -1)
    assert codes[2] == codes[3] == (0, 0, 0)
    assert codes[4] == (946_684_799, 15_778_079, 262_967)
    assert codes[5][2] == 262_978
    assert codes[6] == tuple(column.upper for column in columns)
    assert codes[7] == (None, None, None)


def test_truths_in_texts_and_numbers(loaded_engines):
    columns = (Column("f", "boolean"), Column("g", "boolean", null=1))
    words = [
        "true",
        "FALSE",
        "t",
        "F",
        "yes",
        "No",
        "y",
        "n",
        "1",
        "0",
        "2",
        "",
        "on",
        " true",
        None,
    ]
    codes = check_codes(loaded_engines, columns, "VARCHAR", words)
    assert codes[0] == (1, 1)
    assert codes[3] == (0, 0)
    assert codes[11] == (None, 1)
    check_codes(loaded_engines, columns, "BIGINT", [0, 1, -1, 2**40, None])
    check_codes(loaded_engines, columns, "DOUBLE", [0.0, -0.0, 0.5, math.nan, math.inf, None])


def test_infinite_days_of_duckdb_and_postgresql(loaded_duckdb, postgresql):
    columns = (
        Column("a", "date", lower=0, upper=100),
        Column("b", "date", lower=0, upper=100, infinity="drop", null=3),
    )
    values = ["infinity", "-infinity", "1970-01-02", None]
    codes = check_codes([loaded_duckdb, postgresql], columns, "DATE", values)
    assert codes == [(100, None), (0, None), (1, 1), (None, 3)]
    columns = (
        Column("a", "datetime", lower=0, upper=100),
        Column("b", "datetime", lower=0, upper=100, infinity="drop", null=3),
    )
    values = ["infinity", "-infinity", "1970-01-01 00:00:01.9", None]
    codes = check_codes([loaded_duckdb, postgresql], columns, "TIMESTAMP", values)
    assert codes == [(100, None), (0, None), (1, 1), (None, 3)]


def test_infinite_and_padded_values_that_only_postgresql_has(postgresql):
    columns = (
        Column("a", "number", lower=-5, upper=5),
        Column("b", "number", lower=-5, upper=5, nan=2, infinity="drop", null=1),
    )
    table = Table("t", columns=columns)
    postgresql.load({"a": "NUMERIC", "b": "NUMERIC"}, [(v, v) for v in ("NaN", "Infinity", "2.5")])
    assert in_order(postgresql.prepare(table)) == in_order([(None, 2), (5, None), (2, 2)])
    keys = Table("t", columns=(Column("c", "category", upper=1, keys=("ab", "ab ")),))
    postgresql.load({"c": "CHARACTER(5)"}, [("ab",), ("ab ",), (None,)])
    assert in_order(postgresql.prepare(keys)) == in_order([(0,), (0,), (None,)])


@pytest.mark.parametrize("dialect", ["postgresql", "spark"])
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (Column("a", "category", upper=0, keys=("x",)), "DOUBLE"),
        (Column("a", "date", lower=0, upper=9), "BIGINT"),
        (Column("a", "datetime", lower=0, upper=9), "TEXT"),
        (Column("a", "number", upper=9), "BYTEA"),
        (Column("a", "boolean"), "DATE"),
    ],
)
def test_types_that_read_differently_in_other_engines_are_refused(dialect, column, kind):
    with pytest.raises(SchemaError, match="in a view"):
        lattice_rows(Table("t", columns=(column,)), "source", {"a": kind}, dialect)


def test_the_largest_sums_do_not_overflow(loaded_engines):
    big = Column("a", "integer", lower=-(2**53), upper=2**53)
    table = Table("t", columns=(big, Column("b", "integer", lower=0, upper=2**37)))
    rows = [(2**62, 2**40)] * 2000
    for loaded in loaded_engines:
        loaded.load({"a": "BIGINT", "b": "BIGINT"}, rows)
        loaded.prepare(table)
        dialect = dialect_of(loaded.dialect)
        product = f'(CAST("a" AS {dialect.wide}) * CAST("b" AS {dialect.wide}))'
        sums = [dialect.total('"a"', 2**53), dialect.total(product, 2**90 - 1)]
        found = loaded.rows(f"SELECT {', '.join(sums)} FROM prepared")
        assert found == [(2000 * 2**53, 2000 * 2**90)]
        if loaded.dialect == "spark":
            assert loaded.engine._attempt('SELECT SUM("a") FROM prepared') is None


def test_expressions_over_times_and_extremes(loaded_engines):
    table = Table(
        "t",
        columns=(
            Column("a", "integer", lower=-9, upper=9),
            Column("b", "number", step=Fraction(1, 4), lower=-40, upper=40, null=0),
            Column("t", "datetime", step=Fraction(3600), lower=-50_000, upper=500_000),
            Column("d", "date", lower=-3000, upper=30_000),
        ),
    )
    time = datetime(2000, 2, 29, 12, 30)
    expressions = [
        Extreme("least", (Field("a"), Field("b"), Literal(Fraction(1, 3)))),
        Extreme("greatest", (Field("a"), Field("b"))),
        DatePart("dayofyear", Field("t")),
        DatePart("week", Field("t")),
        DateTrunc("quarter", Field("t")),
        Compare(">", Field("t"), Literal(time)),
        Compare("<=", Field("t"), Field("d")),
        Compare("=", Field("a"), Literal(None)),
        Negation(Literal(None)),
        Case(((Literal(None), Field("a")),), Literal(None)),
        Floor(Arithmetic("*", Field("a"), Literal(Fraction(2**80, 3)))),
        Floor(Arithmetic("/", Arithmetic("*", Field("b"), Literal(Fraction(2**70))), THIRD)),
    ]
    rows = [
        (1, 2.25, time, date(2000, 2, 29)),
        (-3, None, datetime(1969, 12, 31, 23, 59, 59), date(1969, 12, 31)),
        (None, -7.5, datetime(1999, 12, 31, 23, 0), date(2000, 1, 1)),
        (9, 0.125, None, None),
        (7, 9.99, datetime(2024, 12, 30), date(2024, 12, 30)),
    ]
    found = []
    for loaded in loaded_engines:
        loaded.load({"a": "BIGINT", "b": "DOUBLE", "t": "TIMESTAMP", "d": "DATE"}, rows)
        loaded.prepare(table)
        listed = [bounded(each, scope(table, loaded.dialect)).sql for each in expressions]
        found.append(in_order(loaded.rows(f"SELECT {', '.join(listed)} FROM prepared")))
    assert found[0] == found[1] == found[2]
    assert all(any(row[place] is not None for row in found[0]) for place in (0, 1, 2, 3, 4, 5, 6))
    least = bounded(expressions[0], scope(table))
    assert (least.lower * least.step, least.upper * least.step) == (-10, Fraction(1, 3))
    meant = {None if row[0] is None else row[0] * least.step for row in found[0]}
    assert meant == {Fraction(1, 3), Fraction(-3), None, Fraction(0)}


def test_parts_and_starts_of_days_are_those_of_the_calendar(loaded_engines):
    first, last = calendar.day_number(date(1899, 12, 20)), calendar.day_number(date(1904, 3, 10))
    table = Table("t", columns=(Column("d", "date", lower=-719_162, upper=2_932_896),))
    days = [*range(first, last, 3), -719_162, 2_932_896, *range(10_950, 11_100)]
    for loaded in loaded_engines:
        loaded.load({"d": "DATE"}, [(calendar.day_of(day),) for day in days])
        loaded.prepare(table)
        columns = scope(table, loaded.dialect)
        parts = [bounded(DatePart(part, Field("d")), columns).sql for part in calendar.PARTS]
        units = [bounded(DateTrunc(unit, Field("d")), columns).sql for unit in calendar.UNITS]
        rows = loaded.rows(f"SELECT {', '.join(['d', *parts, *units])} FROM prepared")
        assert len(rows) == len(days)
        for day, *values in rows:
            expected = [calendar.part_of(part, day) for part in calendar.PARTS]
            expected += [calendar.truncate(unit, day) for unit in calendar.UNITS]
            assert values == expected, (loaded.dialect, calendar.day_of(day))


@pytest.mark.parametrize(
    ("naive", "value", "kind"),
    [
        ("CAST(a AS DOUBLE PRECISION)", "x", "VARCHAR"),
        ("a * 10", 1e308, "DOUBLE"),
        ("a / 1e10", 5e-324, "DOUBLE"),
        ("CAST(a AS BIGINT)", 1e30, "DOUBLE"),
        ("CAST(a AS BIGINT)", math.nan, "DOUBLE"),
        ("CAST(a AS DATE)", "2023-02-29", "VARCHAR"),
    ],
)
def test_without_its_guards_one_row_would_end_a_statement(postgresql, naive, value, kind):
    """What the readers protect from: the plain expression fails, theirs does not."""
    postgresql.load({"a": kind}, [(value,)])
    assert postgresql.engine._attempt(f"SELECT COUNT({naive}) FROM source") is None
    column = Column("a", "date" if "DATE" in naive else "number", upper=9)
    assert len(postgresql.prepare(Table("t", columns=(column,)))) == 1


def test_ties_would_go_elsewhere_with_the_engines_own_rounding(loaded_engines):
    column = Column("a", "number", lower=-9, upper=9)
    for loaded in loaded_engines:
        loaded.load({"a": "DECIMAL(18,2)"}, [("2.5",), ("-2.5",), ("3.5",)])
        assert in_order(loaded.rows("SELECT CAST(round(a, 0) AS INT) FROM source")) == in_order(
            [(3,), (-3,), (4,)]
        )
        prepared = loaded.prepare(Table("t", columns=(column,)))
        assert in_order(prepared) == in_order([(2,), (-2,), (4,)])
