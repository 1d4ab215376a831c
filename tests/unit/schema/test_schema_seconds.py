"""`answer_seconds`: a public fact that changes no answer, and is written and read exactly."""

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import SchemaError
from discreet.schema.table import Table
from discreet.schema.toml.read import read_schema_text
from discreet.schema.toml.write import schema_text

TEXT = 'table = {{ name = "visits", answer_seconds = {} }}\ncolumns.child = {{ type = "boolean" }}'


@pytest.mark.parametrize("given", ["0.1", "2", "600", "0.001"])
def test_it_is_read_written_and_stored_exactly(given):
    table = read_schema_text(TEXT.format(given))
    assert table.answer_seconds == Fraction(given)
    assert read_schema_text(schema_text(table)) == table
    assert Table.from_json(table.to_json()) == table
    assert table.public.answer_seconds == table.answer_seconds


def test_it_changes_neither_the_version_nor_schemas_without_it():
    plain = Table("visits")
    assert Table("visits", answer_seconds=Fraction(2)).version == plain.version
    assert "answer_seconds" not in plain.to_json()


@pytest.mark.parametrize("given", ["0", "-1", "601", "true", '"2"', "nan", "inf"])
def test_what_is_no_number_of_seconds_is_refused(given):
    with pytest.raises(SchemaError, match="answer_seconds"):
        read_schema_text(TEXT.format(given))


def test_a_decimal_is_exact():
    assert Table("t", answer_seconds=Decimal("0.1")).answer_seconds == Fraction(1, 10)
