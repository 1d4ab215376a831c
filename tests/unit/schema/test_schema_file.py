"""Schema files are read exactly, and every mistake gets a message that says what to write."""

import tomllib
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import SchemaError
from discreet.loss import Relation
from discreet.schema import KINDS, Budget, Column, Table
from discreet.schema.format import Format
from discreet.schema.toml.column_entry import KEYS
from discreet.schema.toml.read import read_schema, read_schema_text
from support.surface import ROOT

VISITS = """
[table]
name = "visits"
source = "visits.parquet"
population = "patients"
unit = "patient_id"
rows_per_unit = 10
neighbours = "add-remove"
[columns]
age    = { type = "integer", lower = 0, upper = 110 }
income = { type = "number", lower = 0, upper = 200000, step = 1, null = "drop" }
region = { type = "category", keys = ["north", "south", "east", "west"] }
day    = { type = "date", lower = 2024-01-01, upper = 2025-12-31 }
[budget]
epsilon = 3.0
delta = 1e-7
delta_for_conversion = 0.5
sharing = false
"""


def column(entry: str) -> Column:
    """The column x that a file with this entry declares."""
    return read_schema_text(f'[table]\nname = "t"\n[columns]\nx = {entry}').columns[0]


def check_refused(entry: str, message: str) -> None:
    """Check that an entry is refused with exactly this message."""
    with pytest.raises(SchemaError) as caught:
        column(entry)
    assert str(caught.value) == message


def test_the_example_of_the_design():
    regions = ("north", "south", "east", "west")
    assert read_schema_text(VISITS) == Table(
        name="visits",
        source="visits.parquet",
        population="patients",
        unit="patient_id",
        rows_per_unit=10,
        neighbours=Relation.ADD_REMOVE,
        columns=(
            Column("age", "integer", upper=110),
            Column("income", "number", upper=200_000),
            Column("region", "category", upper=3, keys=regions),
            Column("day", "date", lower=19_723, upper=20_453),
        ),
        budget=Budget(epsilon=3, delta=Fraction(1, 10**7)),
    )


def test_what_may_be_left_out():
    table = read_schema_text('[table]\nname = "t"\n[columns]')
    assert table == Table("t")
    assert table.budget is None
    assert table.source is None


@pytest.mark.parametrize(
    ("entry", "column_read"),
    [
        (
            '{ type = "number", lower = -0.3, upper = 0.3, step = 0.1, null = 0.1 }',
            Column("x", "number", step=Fraction(1, 10), lower=-3, upper=3, null=1),
        ),
        (
            '{ type = "number", lower = 1_000.5, upper = 2e3, step = 0.5 }',
            Column("x", "number", step=Fraction(1, 2), lower=2001, upper=4000),
        ),
        (
            '{ type = "integer", lower = -2000, upper = 5000, step = 1000, null = 0 }',
            Column("x", "integer", step=Fraction(1000), lower=-2, upper=5, null=0),
        ),
        (
            '{ type = "integer", lower = 0.0, upper = 110.0, null = "error" }',
            Column("x", "integer", upper=110, null="error"),
        ),
        (
            '{ type = "category", keys = ["a", "b"], other = true, null = "b" }',
            Column("x", "category", upper=2, keys=("a", "b"), other=True, null=1),
        ),
        (
            '{ type = "category", keys = ["a", "b"], other = true, null = "other" }',
            Column("x", "category", upper=2, keys=("a", "b"), other=True, null=2),
        ),
        ('{ type = "boolean", null = false }', Column("x", "boolean", null=0)),
        ('{ type = "boolean" }', Column("x", "boolean")),
        (
            '{ type = "date", lower = 1969-12-31, upper = 1970-01-02, null = 1970-01-01 }',
            Column("x", "date", lower=-1, upper=1, null=0),
        ),
        (
            '{ type = "date", lower = 1970-01-01, upper = 1970-01-02, infinity = "error" }',
            Column("x", "date", infinity="error"),
        ),
        (
            '{ type = "datetime", lower = 1969-12-31T23:59:59, upper = 1970-01-01T00:01:00, '
            "null = 1970-01-01 00:00:30 }",
            Column("x", "datetime", lower=-1, upper=60, null=30),
        ),
        (
            '{ type = "datetime", lower = 1970-01-01T00:00:00, upper = 1970-01-02T12:00:00.000, '
            'step = 3600, infinity = "drop" }',
            Column("x", "datetime", step=Fraction(3600), upper=36, infinity="drop"),
        ),
        (
            '{ type = "number", lower = 0, upper = 2, step = 0.5, nan = 1.5, infinity = "clamp" }',
            Column("x", "number", step=Fraction(1, 2), upper=4, nan=3),
        ),
        (
            '{ type = "integer", lower = 0, upper = 9, null = 1, nan = "drop", infinity = "drop" }',
            Column("x", "integer", upper=9, null=1, nan="drop", infinity="drop"),
        ),
        (
            '{ type = "integer", lower = 0, upper = 9, nan = "null" }',
            Column("x", "integer", upper=9),
        ),
        (
            '{ type = "integer", lower = -9007199254740992, upper = 9007199254740992 }',
            Column("x", "integer", lower=-(2**53), upper=2**53),
        ),
        (
            '{ type = "integer", lower = 0, upper = 9223372036854776000, step = 2000 }',
            Column("x", "integer", step=Fraction(2000), upper=4611686018427388),
        ),
        (
            '{ type = "category", keys = ["Zürich", "Zu\\u0308rich", "東京 ", "東京"] }',
            Column("x", "category", upper=3, keys=("Zürich", "Zu\u0308rich", "東京 ", "東京")),
        ),
    ],
)
def test_columns(entry, column_read):
    assert column(entry) == column_read


def test_a_file_a_mapping_and_a_text_say_the_same(tmp_path):
    path = tmp_path / "visits.toml"
    path.write_text(VISITS.replace('"visits.parquet"', '"postgresql://host/db"'))
    table = read_schema(path)
    assert table == read_schema(str(path))
    assert table == read_schema(tomllib.loads(path.read_text()))
    assert table == read_schema_text(path.read_text())


def test_a_source_is_looked_for_beside_the_schema(tmp_path, monkeypatch):
    (tmp_path / "schemas").mkdir()
    path = tmp_path / "schemas" / "visits.toml"
    path.write_text(VISITS.replace('"visits.parquet"', '"../data/visits.parquet"'))
    assert read_schema(path).source == str(tmp_path / "data" / "visits.parquet")
    monkeypatch.chdir(tmp_path)
    assert read_schema("schemas/visits.toml").source == str(tmp_path / "data" / "visits.parquet")


def test_a_mapping_may_hold_any_exact_number_and_is_not_changed():
    entry = {"type": "number", "lower": Decimal("-0.5"), "upper": 1.5, "step": Fraction(1, 2)}
    given = {"table": {"name": "t", "source": "t.csv"}, "columns": {"x": entry}}
    read = read_schema(given)
    assert (read.columns[0].lower, read.columns[0].upper) == (-1, 3)
    assert read.source == "t.csv"
    assert given["table"] == {"name": "t", "source": "t.csv"}


NUMBER = '{ type = "number", lower = 0, upper = 1, step = 1, '
TIME = '{ type = "datetime", '
UNTIL = "upper = 2024-12-31T00:00:00 }"
BOUNDS = "lower = 0, upper = 5 }"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("3", 't.x is 3; write { type = "boolean" }, say.'),
        ("{}", "t.x: no type. Write one of integer, number, category, boolean, date, datetime."),
        ('{ type = "interger" }', "t.x: type is 'interger'. Did you mean 'integer'?"),
        (
            "{ type = 3 }",
            "t.x: type is 3. Known: boolean, category, date, datetime, integer, number.",
        ),
        ('{ type = "Decimal" }', "t.x: type is 'Decimal'. Write type = \"number\"."),
        ('{ type = "bigint" }', "t.x: type is 'bigint'. Write type = \"integer\"."),
        ('{ type = "text" }', "t.x: type is 'text'. Write type = \"category\"."),
        ('{ type = "timestamp" }', "t.x: type is 'timestamp'. Write type = \"datetime\"."),
        (
            '{ type = "integer", lower = 0, uper = 5 }',
            "t.x: unknown key 'uper'. Did you mean 'upper'?",
        ),
        (
            '{ type = "category", keys = ["a"], lower = 0 }',
            "t.x: the type category has no lower. Leave it out.",
        ),
        (
            '{ type = "integer", upper = 5 }',
            "t.x: no lower bound. Set lower from what is known without the data.",
        ),
        (
            '{ type = "date", lower = 2024-01-01 }',
            "t.x: no upper bound. Set upper from what is known without the data.",
        ),
        (
            '{ type = "integer", lower = 5, upper = 1 }',
            "t.x: lower 5 is above upper 1. Exchange them.",
        ),
        (
            '{ type = "date", lower = 2025-01-01, upper = 2024-01-01 }',
            "t.x: lower 2025-01-01 is above upper 2024-01-01. Exchange them.",
        ),
        (
            '{ type = "number", lower = 0, upper = 5 }',
            "t.x: a number needs a step, the precision its values are rounded to. "
            "Set step = 1 or step = 0.01, say.",
        ),
        ('{ type = "number", step = 0, ' + BOUNDS, "t.x: step is 0; it must be above 0."),
        ('{ type = "number", step = -0.5, ' + BOUNDS, "t.x: step is -0.5; it must be above 0."),
        (
            '{ type = "integer", step = 0.5, ' + BOUNDS,
            "t.x: step is 0.5; that of an integer is an integer. "
            'For fractions write type = "number".',
        ),
        (
            '{ type = "number", step = 0.1, lower = 0.25, upper = 5 }',
            "t.x: lower is 0.25; it must be a multiple of the step 0.1. Write 0.2 or 0.3.",
        ),
        (
            '{ type = "integer", step = 2, lower = 0, upper = 5 }',
            "t.x: upper is 5; it must be a multiple of the step 2. Write 4 or 6.",
        ),
        (
            '{ type = "integer", lower = 0.5, upper = 5 }',
            "t.x: lower is 0.5; it must be a multiple of the step 1. Write 0 or 1.",
        ),
        (
            '{ type = "integer", lower = "0", upper = 5 }',
            "t.x: lower is the text '0'; write a number, without quotes.",
        ),
        (
            '{ type = "integer", lower = false, upper = 5 }',
            "t.x: lower is the boolean False; write a number.",
        ),
        (
            '{ type = "integer", lower = nan, upper = 5 }',
            "t.x: lower is NaN; it must be finite.",
        ),
        (
            '{ type = "integer", lower = 0, upper = inf }',
            "t.x: upper is Infinity; it must be finite.",
        ),
        (
            '{ type = "integer", lower = 2024-01-01, upper = 5 }',
            "t.x: lower is the date 2024-01-01; write a number.",
        ),
        (
            '{ type = "number", step = 1, lower = 0, upper = 1e9000 }',
            "t.x: upper has too many digits. Write a number of at most 36.",
        ),
        (
            '{ type = "number", step = 1e-9000, lower = 0, upper = 1 }',
            "t.x: step has too many digits. Write a number of at most 36.",
        ),
        (
            '{ type = "date", lower = "2024-02-01", upper = 2024-12-31 }',
            "t.x: lower is the text '2024-02-01'; write 2024-02-01 without quotes.",
        ),
        (
            '{ type = "date", lower = "1 Feb", upper = 2024-12-31 }',
            "t.x: lower is the text '1 Feb'; write 2024-01-01 without quotes.",
        ),
        (
            '{ type = "date", lower = 2024-02-01T10:00:00, upper = 2024-12-31 }',
            "t.x: lower is a date with a time; write 2024-02-01 alone.",
        ),
        (
            '{ type = "date", lower = 2024, upper = 2024-12-31 }',
            "t.x: lower is 2024; write a date such as 2024-01-01.",
        ),
        (
            '{ type = "category" }',
            't.x: a category needs keys. Write keys = ["...", "..."].',
        ),
        (
            '{ type = "category", keys = "north" }',
            't.x: keys is \'north\'; write a list, keys = ["...", "..."], or keys = "private" '
            "where they are not known in advance.",
        ),
        (
            '{ type = "category", keys = "private", other = false }',
            't.x: keys = "private" and other exclude each other. Leave other out.',
        ),
        (
            '{ type = "category", keys = "private", null = "error" }',
            "t.x: null is 'error'; with private keys NULL is in no group. Leave null out.",
        ),
        ('{ type = "category", keys = [] }', "t.x: 0 keys; a category has 1 to 100000."),
        (
            '{ type = "category", keys = ["a", "a"] }',
            "t.x: the key 'a' is there twice. Remove one.",
        ),
        (
            '{ type = "category", keys = ["a", 1] }',
            "t.x: the key 1 is not text; put it in quotes.",
        ),
        (
            '{ type = "category", keys = ["a", ""] }',
            "t.x: the key '' is empty or holds a zero byte.",
        ),
        (
            '{ type = "category", keys = ["a"], other = 1 }',
            "t.x: other is 1; write true or false.",
        ),
        (
            '{ type = "category", keys = ["north"], null = "nroth" }',
            "t.x: null is 'nroth'; write drop, error or a declared key. Did you mean 'north'?",
        ),
        (
            NUMBER + 'null = "zero" }',
            "t.x: null is 'zero'; write drop, error, or a constant of the column.",
        ),
        (NUMBER + "null = 2 }", "t.x: null is 2; it must lie within the bounds, 0.0 to 1.0."),
        (
            NUMBER + "null = 0.5 }",
            "t.x: null is 0.5; it must be a multiple of the step 1. Write 0 or 1.",
        ),
        (NUMBER + "null = true }", "t.x: null is the boolean True; write a number."),
        (
            '{ type = "boolean", null = 0 }',
            "t.x: null is 0; write true, false, drop or error.",
        ),
        (
            '{ type = "date", lower = 2024-01-01, upper = 2024-12-31, null = 2025-01-01 }',
            "t.x: null is 2025-01-01; it must lie within the bounds, 2024-01-01 to 2024-12-31.",
        ),
        (
            '{ type = "date", lower = 2024-01-01, upper = 2024-12-31, null = "2024-03-01" }',
            "t.x: null is the text '2024-03-01'; write 2024-03-01 without quotes.",
        ),
        (
            '{ type = "boolean", null = "no" }',
            "t.x: null is 'no'; write true, false, drop or error.",
        ),
        (
            TIME + "lower = 2024-01-01T00:00:00 }",
            "t.x: no upper bound. Set upper from what is known without the data.",
        ),
        (
            TIME + "lower = 2024-02-01, " + UNTIL,
            "t.x: lower is a date without a time; write 2024-02-01T00:00:00, say.",
        ),
        (
            TIME + 'lower = "2024-02-01 10:00", ' + UNTIL,
            "t.x: lower is the text '2024-02-01 10:00'; write 2024-02-01T00:00:00, say, "
            "without quotes.",
        ),
        (
            TIME + "lower = 3, " + UNTIL,
            "t.x: lower is 3; write a time such as 2024-01-01T00:00:00.",
        ),
        (
            TIME + "lower = 2024-01-01T10:00:00+02:00, " + UNTIL,
            "t.x: lower is 2024-01-01T10:00:00+02:00, with a zone; a datetime has none. "
            "Write 2024-01-01T10:00:00, in the zone of the source's times.",
        ),
        (
            TIME + "lower = 2024-01-01T00:00:00.5, " + UNTIL,
            "t.x: lower is 2024-01-01T00:00:00.500000; it must be a multiple of the step 1. "
            "Write 2024-01-01T00:00:00 or 2024-01-01T00:00:01.",
        ),
        (
            TIME + "step = 86400, lower = 2024-01-01T12:00:00, " + UNTIL,
            "t.x: lower is 2024-01-01T12:00:00; it must be a multiple of the step 86400. "
            "Write 2024-01-01T00:00:00 or 2024-01-02T00:00:00.",
        ),
        (
            TIME + "step = 1e11, lower = 2024-01-01T12:00:00, upper = 9999-12-31T23:59:59 }",
            "t.x: lower is 2024-01-01T12:00:00; it must be a multiple of the step 100000000000. "
            "Write 1970-01-01T00:00:00 or 5138-11-16T09:46:40.",
        ),
        (
            TIME + "step = 1e12, lower = 2024-01-01T12:00:00, upper = 9999-12-31T23:59:59 }",
            "t.x: lower is 2024-01-01T12:00:00; it must be a multiple of the step 1000000000000. "
            "Write 1970-01-01T00:00:00 or a time in the years 1 to 9999.",
        ),
        (
            TIME + "step = 0.5, lower = 2024-01-01T00:00:00, " + UNTIL,
            "t.x: step is 0.5; that of a datetime is in whole seconds.",
        ),
        (
            TIME + "step = 0, lower = 2024-01-01T00:00:00, " + UNTIL,
            "t.x: step is 0; it must be above 0.",
        ),
        (
            TIME + "lower = 2025-01-01T00:00:00, " + UNTIL,
            "t.x: lower 2025-01-01 00:00:00 is above upper 2024-12-31 00:00:00. Exchange them.",
        ),
        (
            TIME + "null = 2023-01-01T00:00:00, lower = 2024-01-01T00:00:00, " + UNTIL,
            "t.x: null is 2023-01-01 00:00:00; it must lie within the bounds, "
            "2024-01-01 00:00:00 to 2024-12-31 00:00:00.",
        ),
        (
            TIME + 'nan = "drop", lower = 2024-01-01T00:00:00, ' + UNTIL,
            "t.x: the type datetime has no nan. Leave it out.",
        ),
        (
            '{ type = "boolean", infinity = "drop" }',
            "t.x: the type boolean has no infinity. Leave it out.",
        ),
        (
            NUMBER + 'nan = "zero" }',
            "t.x: nan is 'zero'; write null, drop, error, or a constant of the column.",
        ),
        (NUMBER + "nan = 2 }", "t.x: nan is 2; it must lie within the bounds, 0.0 to 1.0."),
        (NUMBER + "nan = nan }", "t.x: nan is NaN; it must be finite."),
        (NUMBER + 'infinity = "null" }', "t.x: infinity is 'null'; write clamp, drop or error."),
        (NUMBER + "infinity = 1 }", "t.x: infinity is 1; write clamp, drop or error."),
        (
            '{ type = "integer", lower = 0, upper = 9223372036854775807 }',
            "t.x: upper is 9223372036854775807, 9223372036854775807 steps of 1 from zero; the "
            "limit is 9007199254740992. Choose nearer bounds or a larger step: 10000, say.",
        ),
        (
            '{ type = "number", lower = -1e14, upper = 0, step = 0.01 }',
            "t.x: lower is -1E+14, 10000000000000000 steps of 0.01 from zero; the limit is "
            "9007199254740992. Choose nearer bounds or a larger step: 0.1, say.",
        ),
    ],
)
def test_an_entry_is_refused(entry, message):
    check_refused(entry, message)


def test_a_step_of_too_many_digits_is_refused():
    with pytest.raises(SchemaError, match="18 digits"):
        column('{ type = "number", lower = 0, upper = 0, step = 1e-19 }')


def test_too_many_keys():
    keys = [f"k{number}" for number in range(100_001)]
    given = {"table": {"name": "t"}, "columns": {"x": {"type": "category", "keys": keys}}}
    with pytest.raises(SchemaError, match=r"t\.x: 100001 keys; a category has 1 to 100000"):
        read_schema(given)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[table]", "[tabel]", "schema: unknown section 'tabel'. Did you mean 'table'?"),
        ('name = "visits"', "", 'schema: [table] has no name. Write name = "...".'),
        (
            "rows_per_unit = 10",
            "",
            "visits: no bound on how many rows one 'patient_id' contributes. "
            "Set rows_per_unit in the schema.",
        ),
        (
            'unit = "patient_id"',
            "",
            "visits: rows_per_unit is 10 but no unit is named. Name the unit's column, "
            "or leave rows_per_unit out: each row is then one person.",
        ),
        (
            "rows_per_unit = 10",
            "rows_per_unit = 0",
            "visits: rows_per_unit is 0; it must be an integer from 1 to 1000000000.",
        ),
        (
            "rows_per_unit = 10",
            "rows_per_units = 10",
            "visits: [table]: unknown key 'rows_per_units'. Did you mean 'rows_per_unit'?",
        ),
        (
            '"add-remove"',
            '"add_remove"',
            "visits: neighbours is 'add_remove'. Did you mean 'add-remove'?",
        ),
        (
            '"patient_id"',
            '"Age"',
            "visits: 'Age' is the privacy unit and also a column. "
            "A unit cannot be queried: remove it from the columns.",
        ),
        (
            "income =",
            "AGE =",
            "visits: the columns 'age' and 'AGE' have the same name; capitals do not count.",
        ),
        (
            '"patients"',
            "3",
            "visits: population is 3; it must be text, in quotes.",
        ),
        ('"visits.parquet"', '""', "visits: source is ''; it must be text, in quotes."),
        (
            "epsilon = 3.0",
            "",
            "visits: [budget] has no epsilon. Write epsilon = 1.0, say, or leave the section "
            "out where the population already has a budget.",
        ),
        ("epsilon = 3.0", "epsilon = 0", "visits: budget: epsilon is 0; it must be above 0."),
        ("epsilon = 3.0", "epsilon = -1", "visits: budget: epsilon is -1; it must be above 0."),
        ("delta = 1e-7", "delta = 1.0", "visits: budget: delta is 1.0; it must be below 1."),
        (
            "delta = 1e-7",
            "detla = 1e-7",
            "visits: [budget]: unknown key 'detla'. Did you mean 'delta'?",
        ),
        (
            "delta_for_conversion = 0.5",
            "delta_for_conversion = 1",
            "visits: budget: delta_for_conversion is 1; it is a share of delta, "
            "above 0 and below 1.",
        ),
        ("sharing = false", "sharing = 0", "visits: budget: sharing is 0; write true or false."),
        (
            "rows_per_unit = 10",
            'rows_per_unit = 10\nkind = "secret"',
            "visits: kind is 'secret'. Known: private, public.",
        ),
    ],
)
def test_a_table_is_refused(old, new, message):
    assert old in VISITS
    with pytest.raises(SchemaError) as caught:
        read_schema_text(VISITS.replace(old, new, 1))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "name", ["", " a", "a\n", 'a"b', "a`b", "a\\b", "$unit", "%-?", "x" * 64, "ä" * 32]
)
def test_names_can_be_quoted_in_every_engine(name):
    with pytest.raises(SchemaError, match=r"schema: name is .*printable characters"):
        read_schema({"table": {"name": name}, "columns": {}})
    with pytest.raises(SchemaError, match=r"t: a column's name is .*printable characters"):
        read_schema({"table": {"name": "t"}, "columns": {name: {"type": "boolean"}}})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, r"\[table\] is missing"),
        ({"table": {"name": "t"}}, r"\[columns\] is missing"),
        ({"table": 3, "columns": {}}, r"table is 3; it must be a section, \[table\]"),
        ({"table": {"name": "t"}, "columns": []}, r"columns is \[\]; it must be a section"),
        ({"table": {"name": "t"}, "columns": {}, "budget": 3}, "budget is 3"),
        ({"table": {"name": "t"}, "columns": {3: {"type": "boolean"}}}, "name is 3"),
    ],
)
def test_a_document_of_another_shape_is_refused(document, message):
    with pytest.raises(SchemaError, match=message):
        read_schema(document)


def test_a_category_whose_keys_nobody_knows_in_advance():
    read = column('{ type = "category", keys = "private" }')
    assert read == Column("x", "category", upper=0, private_keys=True)
    assert (read.keys, read.other, read.lower, read.upper, read.null) == ((), False, 0, 0, "drop")
    assert column('{ type = "category", keys = "private", null = "drop" }') == read


LOOKUP = """
[table]
name = "codes"
source = "codes.csv"
kind = "public"
key = "code"
rows_per_key = 3
[columns]
code  = { type = "integer", lower = 1, upper = 999 }
label = { type = "category", keys = "private" }
"""


def test_a_public_table():
    code = Column("code", "integer", lower=1, upper=999)
    label = Column("label", "category", upper=0, private_keys=True)
    table = read_schema_text(LOOKUP)
    assert table == Table(
        "codes",
        source="codes.csv",
        columns=(code, label),
        kind="public",
        key=("code",),
        rows_per_key=3,
    )
    several = read_schema_text(LOOKUP.replace('"code"', '["CODE", "label"]'))
    assert several.key == ("code", "label")
    assert read_schema_text(VISITS.replace("[table]", '[table]\nkind = "private"')).key == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"public"', '"pulbic"', "codes: kind is 'pulbic'. Did you mean 'public'?"),
        (
            'kind = "public"',
            "",
            "codes: only a public table has key. Leave it out, or write "
            'kind = "public" if the table is about nobody.',
        ),
        (
            '"public"',
            '"public"\nunit = "code"',
            "codes: a public table protects nobody and has no unit. "
            "Leave unit out, or kind if the table is about people.",
        ),
        (
            "[columns]",
            "[budget]\nepsilon = 1\n[columns]",
            "codes: a public table protects nobody and has no budget. "
            "Leave budget out, or kind if the table is about people.",
        ),
        (
            '"code"',
            "3",
            'codes: key is 3; write the name of a column, key = "code", or a list of them.',
        ),
        (
            '"code"',
            "[3]",
            'codes: key is [3]; write the name of a column, key = "code", or a list of them.',
        ),
        ('"code"', '"coed"', "codes: key names no column 'coed'. Did you mean 'code'?"),
        ('"code"', '["code", "Code"]', "codes: key names a column twice. Remove one."),
        (
            'key = "code"',
            "",
            "codes: rows_per_key is 3 but no key is named. "
            "Name the columns that identify a row, or leave rows_per_key out.",
        ),
        (
            'key = "code"\nrows_per_key = 3',
            "key = []\nrows_per_key = 1",
            "codes: rows_per_key is 1 but no key is named. "
            "Name the columns that identify a row, or leave rows_per_key out.",
        ),
        (
            "rows_per_key = 3",
            "rows_per_key = 0",
            "codes: rows_per_key is 0; it must be an integer from 1 to 1000000000.",
        ),
    ],
)
def test_a_public_table_is_refused(old, new, message):
    assert old in LOOKUP
    with pytest.raises(SchemaError) as caught:
        read_schema_text(LOOKUP.replace(old, new, 1))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[table\n", "schema: not valid TOML: .*line 1"),
        ("x = 1\nx = 2\n", "schema: not valid TOML: .*line 2"),
        ("x = " + "[" * 10_000, "schema: brackets are nested too deeply"),
        ("x = 1e99999999999999999999", "too large or too small"),
        ("x = " + "9" * 5000, "schema: not valid TOML"),
        ("# FILL-IN\nx = 1 # FILL-IN\ny = FILL-IN\nz = FILL-IN", "FILL-IN is left on line 3, 4. W"),
    ],
)
def test_text_that_is_no_toml(text, message):
    with pytest.raises(SchemaError, match=message):
        read_schema_text(text)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SchemaError, match=r"absent\.toml: the schema cannot be read"):
        read_schema(tmp_path / "absent.toml")
    with pytest.raises(SchemaError, match="cannot be read"):
        read_schema(tmp_path)
    with pytest.raises(SchemaError, match="read_schema_text"):
        read_schema(VISITS)
    with pytest.raises(SchemaError, match="not a path"):
        read_schema("a\0b")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="not UTF-8"):
        read_schema(tmp_path / "binary.toml")


def test_a_datetime_in_a_mapping_is_no_date():
    entry = {"type": "date", "lower": date(2024, 1, 1), "upper": datetime(2024, 2, 1, 12)}
    with pytest.raises(SchemaError, match=r"t\.x: upper is a date with a time; write 2024-02-01"):
        read_schema({"table": {"name": "t"}, "columns": {"x": entry}})


REFERENCE = (ROOT / "docs" / "schema.md").read_text()


def test_the_examples_in_the_reference_are_schemas():
    examples = [part.split("```")[0] for part in REFERENCE.split("```toml\n")[1:]]
    visits, regions, payments, sales = map(read_schema_text, examples)
    assert {column.kind for column in visits.columns} == set(KINDS)
    assert visits.column("city").private_keys
    assert (regions.kind, regions.key) == ("public", ("code",))
    assert payments.format.facts().keys() == {each.name for each in fields(Format)} - {
        "quote",
        "multiline",
        "header",
        "first_line",
        "columns",
    }
    assert sales.column("net_income").source_name == "Net income (€)"


@pytest.mark.parametrize(
    "name", [field.name for kind in (Table, Budget, Format) for field in fields(kind)]
)
def test_the_reference_explains_every_fact(name):
    assert name == "columns" or f"| `{name}`" in REFERENCE or f"[{name}]" in REFERENCE


def test_the_reference_explains_every_key_of_every_type():
    section = REFERENCE.split("## `[columns]`")[1].split("\n## ")[0]
    rows = {line.split("|")[1].strip(' "`'): line for line in section.splitlines() if "|" in line}
    for kind, keys in KEYS.items():
        own = [key for key in keys if key not in ("type", "source_name")]
        assert [key for key in own if f"`{key}`" not in rows[kind]] == []
        assert [key for key in keys if key != "type" and f"`{key}`" not in section] == []
