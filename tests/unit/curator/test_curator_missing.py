"""The schema's rules for NULL, NaN and infinities, from a source to an answer: prepared and in
place alike. Prices are so high that the noise is nought.
"""

import math
from datetime import date

import duckdb
import pytest

from discreet.curator.curator import Curator
from discreet.errors import SchemaError
from support.pace import thinned

EXACT = 2000
VALUES = (1.0, 2.0, None, math.nan, math.inf, -math.inf, 1e300)
DAYS = ("2024-01-01", "2024-01-02", None, "infinity", "-infinity")
WHOLE = {"type": "integer", "lower": -5, "upper": 5}
DATES = {"type": "date", "lower": date(2024, 1, 1), "upper": date(2024, 1, 3)}
WORDS = {"type": "category", "keys": ["a", "b"]}
WAYS = {"prepared": Curator.add, "in place": Curator.add_in_place}

NUMBER_RULES = [
    ({}, {1: 1, 2: 1, 5: 2, -5: 1}),
    ({"null": 3}, {1: 1, 2: 1, 3: 2, 5: 2, -5: 1}),
    ({"null": 3, "nan": "null"}, {1: 1, 2: 1, 3: 2, 5: 2, -5: 1}),
    ({"null": 3, "nan": "drop"}, {1: 1, 2: 1, 3: 1, 5: 2, -5: 1}),
    ({"null": 3, "nan": 4}, {1: 1, 2: 1, 3: 1, 4: 1, 5: 2, -5: 1}),
    ({"nan": -4}, {1: 1, 2: 1, -4: 1, 5: 2, -5: 1}),
    ({"infinity": "clamp"}, {1: 1, 2: 1, 5: 2, -5: 1}),
    ({"infinity": "drop"}, {1: 1, 2: 1, 5: 1}),
    ({"null": 3, "infinity": "drop"}, {1: 1, 2: 1, 3: 2, 5: 1}),
    ({"null": 3, "nan": 4, "infinity": "drop"}, {1: 1, 2: 1, 3: 1, 4: 1, 5: 1}),
]
"""Rules, and how many of VALUES become each number."""

DAY_RULES = [
    ({}, {1: 2, 2: 1, 3: 1}),
    ({"null": date(2024, 1, 2)}, {1: 2, 2: 2, 3: 1}),
    ({"infinity": "drop"}, {1: 1, 2: 1}),
    ({"null": date(2024, 1, 3), "infinity": "drop"}, {1: 1, 2: 1, 3: 1}),
]
"""Rules, and how many of DAYS become each day of January."""

BIG = (2, None, 2**62)
NAN = (1.0, 2.0, math.nan)
FLAGS = {"type": "boolean"}
OTHERS = {
    "whole": ("BIGINT", BIG, WHOLE, {2: 1, 5: 1}),
    "whole_null": ("BIGINT", BIG, {**WHOLE, "null": 0}, {0: 1, 2: 1, 5: 1}),
    "whole_nan": ("BIGINT", BIG, {**WHOLE, "nan": 4}, {2: 1, 5: 1}),
    "flag": ("BOOLEAN", (True, False, None), FLAGS, {True: 1, False: 1}),
    "flag_null": ("BOOLEAN", (False, False, None), {**FLAGS, "null": True}, {True: 1, False: 2}),
    "word": ("VARCHAR", ("a", "z", None), WORDS, {"a": 1}),
    "word_null": ("VARCHAR", ("a", "a", None), {**WORDS, "null": "b"}, {"a": 2, "b": 1}),
    "word_other": ("VARCHAR", ("a", "z", None), {**WORDS, "other": True}, {"a": 1, "other": 2}),
    # A rule that says error is about its own kind of value.
    "no_null": ("DOUBLE", (1.0, math.inf, 1e300), {**WHOLE, "null": "error"}, {1: 1, 5: 2}),
    "no_nan": ("DOUBLE", (1.0, None, math.inf), {**WHOLE, "nan": "error"}, {1: 1, 5: 1}),
    "finite": ("DOUBLE", (1.0, None, math.nan), {**WHOLE, "infinity": "error"}, {1: 1}),
    "nan_zero": ("DOUBLE", NAN, {**WHOLE, "null": "error", "nan": 0}, {0: 1, 1: 1, 2: 1}),
    "nan_gone": ("DOUBLE", NAN, {**WHOLE, "null": "error", "nan": "drop"}, {1: 1, 2: 1}),
}
"""By column: the source's type and values, the schema's entry, and what the values become."""


def source(folder, table, columns):
    """Columns of (type, values) in a DuckDB file: Parquet has no infinite dates."""
    path = folder / f"{table}.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        typed = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
        connection.execute(f"CREATE TABLE t ({typed})")
        marks = ", ".join(f"CAST(? AS {kind})" for kind, _ in columns.values())
        for row in zip(*(values for _, values in columns.values()), strict=True):
            connection.execute(f"INSERT INTO t VALUES ({marks})", row)
    return f"{path}#t"


def schema(place, table, columns):
    return {
        "table": {"name": table, "source": place, "population": "people"},
        "columns": columns,
        "budget": {"epsilon": 1_000_000},
    }


def one(folder, kind, values, **column):
    return schema(source(folder, "t", {"x": (kind, values)}), "t", {"x": column})


def numbers():
    """One column for each rule and both types."""
    for place, (rules, _) in enumerate(NUMBER_RULES):
        yield f"integer_{place}", {**WHOLE, **rules}
        yield f"number_{place}", {**WHOLE, "type": "number", "step": 1, **rules}


@pytest.fixture(scope="module", params=WAYS)
def curator(request, tmp_path_factory):
    """All tables that can be registered, one way and the other."""
    folder, register = tmp_path_factory.mktemp("missing"), WAYS[request.param]
    with Curator.open(folder / "vault", price_floor=0) as made:
        made.grant("ana", epsilon=1_000_000)
        columns = dict(numbers())
        doubles = dict.fromkeys(columns, ("DOUBLE", VALUES))
        register(made, schema(source(folder, "numbers", doubles), "numbers", columns))
        columns = {f"d_{place}": {**DATES, **rules} for place, (rules, _) in enumerate(DAY_RULES)}
        dates = dict.fromkeys(columns, ("DATE", DAYS))
        register(made, schema(source(folder, "days", dates), "days", columns))
        raw = {name: (kind, values) for name, (kind, values, *_) in OTHERS.items()}
        columns = {name: column for name, (_, _, column, _) in OTHERS.items()}
        register(made, schema(source(folder, "others", raw), "others", columns))
        yield made


@pytest.fixture(params=WAYS)
def vault(request, tmp_path):
    """An empty vault and a way to register a table in it."""
    with Curator.open(tmp_path / "vault", price_floor=0) as made:
        made.grant("ana", epsilon=1_000_000)
        yield made, lambda table: WAYS[request.param](made, table)


def seen(curator, table, column, key="{}"):
    """All rows, rows with a value, rows without one, and rows by value."""
    session = curator.session("ana")
    groups = f"SELECT {key.format(column)} AS k, COUNT(*) AS n FROM {table} GROUP BY k"
    listed = session.sql(groups, epsilon=EXACT)
    counts = f"SELECT COUNT(*) AS n, COUNT({column}) AS m FROM {table}"
    ((rows, present),) = [tuple(row.values()) for row in session.sql(counts, epsilon=EXACT)]
    missing = f"SELECT COUNT(*) AS n FROM {table} WHERE {column} IS NULL"
    ((without,),) = [tuple(row.values()) for row in session.sql(missing, epsilon=EXACT)]
    return rows, present, without, {row["k"]: row["n"] for row in listed if row["n"]}


def expected(rows, counts):
    return rows, sum(counts.values()), rows - sum(counts.values()), counts


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("place", range(len(NUMBER_RULES)))
def test_rules_of_numbers_hold_in_answers(curator, place, kind):
    column, counts = f"{kind}_{place}", NUMBER_RULES[place][1]
    assert seen(curator, "numbers", column) == expected(len(VALUES), counts)
    total = curator.session("ana").sql(f"SELECT SUM({column}) AS s FROM numbers", epsilon=EXACT)
    assert total.to_dicts() == [{"s": sum(value * count for value, count in counts.items())}]


@pytest.mark.parametrize("place", range(len(DAY_RULES)))
def test_rules_of_dates_hold_in_answers(curator, place):
    found = seen(curator, "days", f"d_{place}", "EXTRACT(DAY FROM {})")
    assert found == expected(len(DAYS), DAY_RULES[place][1])


@pytest.mark.parametrize("column", OTHERS)
def test_rules_of_other_columns_hold_in_answers(curator, column):
    _, values, _, counts = OTHERS[column]
    assert seen(curator, "others", column) == expected(len(values), counts)


FAULTS = [
    ("DOUBLE", (1.0, None), WHOLE, "null", "missing values"),
    ("DOUBLE", (1.0, math.nan), WHOLE, "null", "missing values"),
    ("DOUBLE", (1.0, math.nan), WHOLE, "nan", "NaN"),
    ("DOUBLE", (1.0, -math.inf), WHOLE, "infinity", "infinities"),
    ("DATE", ("2024-01-01", "infinity"), DATES, "infinity", "infinities"),
    ("BOOLEAN", (None,), FLAGS, "null", "missing values"),
    ("VARCHAR", ("a", "z"), WORDS, "null", "missing values"),
]


# Every fault, in turns one way and the other; the other half is slow.
FAULTY = [(fault, way) for at, fault in enumerate(FAULTS) for way in sorted(WAYS, reverse=at % 2)]


def _named(case):
    (kind, *_, rule, words), way = case
    return f"{kind} {rule} {words} {way}"


@pytest.mark.parametrize("case", thinned(FAULTY, 2, "ways of adding tables"), ids=_named)
def test_an_error_is_one_at_registration(tmp_path, case):
    (kind, values, column, rule, words), way = case
    table = one(tmp_path, kind, values, **column, **{rule: "error"})
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        with pytest.raises(SchemaError, match=f"column 'x' has {words} and {rule} = \"error\""):
            WAYS[way](curator, table)
        assert curator.tables == {}
        assert not list((tmp_path / "vault" / "prepared").glob("t-*"))


def test_a_refresh_is_refused_like_a_registration(vault, tmp_path):
    curator, register = vault
    register(one(tmp_path, "DOUBLE", (1.0, 2.0), **WHOLE, nan="error"))
    source(tmp_path, "t", {"x": ("DOUBLE", (1.0, math.nan))})
    with pytest.raises(SchemaError, match="has NaN"):
        curator.refresh("t")
    source(tmp_path, "t", {"x": ("DOUBLE", (1.0, 3.0, 3.0))})
    curator.refresh("t")
    assert seen(curator, "t", "x") == expected(3, {1: 1, 3: 2})


@pytest.mark.parametrize("vault", thinned(WAYS, 2, "ways of adding tables"), indirect=True)
def test_estimated_bounds_keep_to_the_rules(vault, tmp_path):
    curator, register = vault
    values = [30.0] * 50 + [math.nan] * 50 + [math.inf] * 50 + [None] * 50
    wide = {"type": "integer", "lower": -(10**6), "upper": 10**6, "infinity": "drop", "nan": 3}
    register(one(tmp_path, "DOUBLE", values, **wide))
    found = curator.session("ana").bounds("t", "x", epsilon=EXACT)
    assert (found.lower, found.upper, found.share) == (3, 32, 1.0)
    assert [count for count in found.noisy if count] == [50, 50]
