"""A written schema file reads back as the table it was written from."""

from datetime import date
from fractions import Fraction

import pytest

from discreet.errors import SchemaError
from discreet.loss import Relation
from discreet.schema import Budget, Column, Table
from discreet.schema.names import text_literal
from discreet.schema.toml.read import read_schema_text
from discreet.schema.toml.write import decimal_literal, schema_text, table_name

VISITS = Table(
    "visits",
    source='a "quoted"\\ path\n\x7f.csv',
    population="patients",
    unit="patient_id",
    rows_per_unit=10,
    neighbours=Relation.REPLACE,
    columns=(
        Column("age", "integer", upper=110, null="error", infinity="error"),
        Column("income", "number", step=Fraction(1, 100), lower=-5, upper=7, null=3, nan=0),
        Column("region", "category", upper=2, keys=("north", "süd"), other=True, null=2),
        Column("city", "category", upper=0, private_keys=True),
        Column("day", "date", lower=-1, upper=20_000, infinity="drop"),
        Column("seen", "datetime", step=Fraction(60), lower=-1, upper=20_000, null=0),
        Column("child", "boolean", null=0),
    ),
    budget=Budget(epsilon=3, delta=1e-7, sharing=True),
)
TEXT = r"""[table]
name = "visits"
source = "a \"quoted\"\\ path\n\u007f.csv"
population = "patients"
unit = "patient_id"
rows_per_unit = 10
neighbours = "replace"

[columns]
age = { type = "integer", lower = 0, upper = 110, null = "error", infinity = "error" }
income = { type = "number", lower = -0.05, upper = 0.07, step = 0.01, null = 0.03, nan = 0 }
region = { type = "category", keys = ["north", "süd"], other = true, null = "other" }
city = { type = "category", keys = "private" }
day = { type = "date", lower = 1969-12-31, upper = 2024-10-04, infinity = "drop" }
seen = { type = "datetime", lower = 1969-12-31T23:59:00, upper = 1970-01-14T21:20:00, step = 60, null = 1970-01-01T00:00:00 }
child = { type = "boolean", null = false }

[budget]
epsilon = 3
delta = 0.0000001
delta_for_conversion = 0.5
sharing = true
"""  # noqa: E501


def test_every_fact_is_written():
    assert schema_text(VISITS) == TEXT
    assert read_schema_text(TEXT) == VISITS


@pytest.mark.parametrize("key", [(), ("code",), ("code", "label")])
def test_a_public_table_is_written(key):
    columns = (Column("code", "integer"), Column("label", "category", upper=0, private_keys=True))
    rows = 3 if key else 1
    table = Table("codes", columns=columns, kind="public", key=key, rows_per_key=rows)
    assert read_schema_text(schema_text(table)) == table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(-3), "-3"),
        (Fraction(1, 2**53), f"{Fraction(5**53, 1).numerator:0>53}".join(("0.", ""))),
        (Fraction(-1, 40), "-0.025"),
        (Fraction(10**30), "1" + "0" * 30),
    ],
)
def test_decimals(value, text):
    assert decimal_literal(value, "x") == text
    assert Fraction(text) == value


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            Table("t", columns=(Column("x", "number", step=Fraction(1, 3)),)),
            "t.x: a value is 1/3, which no decimal writes exactly.",
        ),
        (
            Table("t", columns=(Column("x", "number", step=Fraction(1, 3), upper=0),)),
            "t.x: step is 1/3, which no decimal writes exactly.",
        ),
        (
            Table("t", budget=Budget(epsilon=Fraction(1, 3))),
            "t: epsilon is 1/3, which no decimal writes exactly.",
        ),
        (
            Table("t", columns=(Column("x", "category", upper=0, keys=("drop",), null=0),)),
            "t.x: NULL becomes the key 'drop', which a file cannot say: the rule of that name "
            "wins. Rename the key.",
        ),
    ],
)
def test_what_a_file_cannot_say(table, message):
    with pytest.raises(SchemaError) as caught:
        schema_text(table)
    assert str(caught.value) == message


def test_text_and_names():
    assert text_literal("a\tb\\") == '"a\\tb\\\\"'
    assert [table_name(name) for name in ("a b", "2024", "", "é" * 70)] == [
        "a_b",
        "t_2024",
        "table",
        "é" * 30,
    ]


def test_the_earliest_dates_have_four_digits_of_year():
    table = Table("t", columns=(Column("x", "date", lower=(date.min - date(1970, 1, 1)).days),))
    assert "lower = 0001-01-01" in schema_text(table)
    assert read_schema_text(schema_text(table)) == table
