"""Bounds written into a schema's text: that column's two numbers change, and nothing else."""

from fractions import Fraction

import pytest

from discreet.errors import SchemaError
from discreet.schema.toml.amend import with_bounds
from discreet.schema.toml.read import read_schema_text

TEXT = """# The clinic's visits, lower = 1 and upper = 2.
[table]
name = "visits"

[columns]
# age = { type = "integer", lower = 3, upper = 4 }
old_age = { type = "integer", lower = 5, upper = 6 }
age     = { upper= 999,type = "integer", lower =-1 }   # years; upper = 999 is wide
income  = { type = "number", lower = -1e6, upper = +1_000_000.50, step = 0.01 }
"""


def test_only_the_two_numbers_change():
    found = with_bounds(TEXT, "age", Fraction(17), Fraction(128))
    assert found == TEXT.replace("upper= 999,", "upper= 128,").replace("lower =-1", "lower =17")
    age = read_schema_text(found).columns[1]
    assert (age.name, age.lower, age.upper) == ("age", 17, 128)


def test_decimals_are_written_exactly():
    found = with_bounds(TEXT, "income", Fraction(-64, 100), Fraction(8192, 100))
    assert "lower = -0.64, upper = 81.92, step" in found
    assert found.replace("-0.64", "-1e6").replace("81.92", "+1_000_000.50") == TEXT


def test_the_same_bounds_leave_the_text_as_it_is():
    assert with_bounds(TEXT, "old_age", Fraction(5), Fraction(6)) == TEXT


@pytest.mark.parametrize("name", ['"age"', "'age'", "age"])
def test_names_may_be_quoted_and_lines_may_end_as_they_do(name):
    text = f'[columns]\r\n{name} = {{ type = "integer", lower = 0, upper = 9 }}\r\n'
    found = with_bounds(text, "age", Fraction(1), Fraction(2))
    assert found == text.replace("lower = 0, upper = 9", "lower = 1, upper = 2")


@pytest.mark.parametrize(
    "text",
    [
        '[columns.age]\ntype = "integer"\nlower = 0\nupper = 9\n',
        'columns.age = { type = "integer", lower = 0, upper = 9 }\n',
        '[columns]\nage.type = "integer"\nage.lower = 0\nage.upper = 9\n',
        '[columns]\nage = { type = "integer", upper = 9 }\n',
        '[columns]\nage = { type = "lower = 1", lower = 0, upper = 9 }\n',
        '[columns]\nage = { note = """\nlower = 1""", lower = 0, upper = 9 }\n',
        '[table]\nage = { type = "integer", lower = 0, upper = 9 }\n',
        '[columns]\nage = "integer"\n',
        "columns = 1\n",
        "[columns\n",
        "",
    ],
)
def test_what_is_not_inline_on_one_line_is_left_alone(text):
    assert with_bounds(text, "age", Fraction(1), Fraction(2)) is None


def test_the_entry_of_another_table_of_the_file_is_not_taken():
    other = "[notes]\nage = { lower = 0, upper = 9 }\n"
    text = other + "[columns]\nage = { lower = 0, upper = 9 }\n"
    found = with_bounds(text, "age", Fraction(1), Fraction(2))
    assert found == other + "[columns]\nage = { lower = 1, upper = 2 }\n"


def test_a_bound_that_no_decimal_writes_is_refused():
    with pytest.raises(SchemaError, match="which no decimal writes exactly"):
        with_bounds(TEXT, "age", Fraction(1, 3), Fraction(2))
