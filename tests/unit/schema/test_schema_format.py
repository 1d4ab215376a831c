"""The section [format]: what is refused, and with which words."""

import pytest

from discreet.errors import SchemaError
from discreet.schema.column import Column
from discreet.schema.format import Format
from discreet.schema.table import Table
from discreet.schema.toml.read import read_schema, read_schema_text
from discreet.schema.toml.write import schema_text


def read(**given):
    column = {"a": {"type": "boolean"}}
    return read_schema({"table": {"name": "t"}, "format": given, "columns": column}).format


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delimiter": "ab"}, "one sign that stands between cells"),
        ({"delimiter": "a"}, "one sign that stands between cells"),
        ({"delimiter": 1}, "must be text"),
        ({"quote": "x"}, "quote is 'x'; write one of"),
        ({"encoding": "ebcdic"}, "encoding is 'ebcdic'; write one of 'utf-8'"),
        ({"decimal": ";"}, "decimal is ';'"),
        ({"thousands": "x"}, "thousands is 'x'"),
        ({"decimal": ",", "thousands": ","}, "they must differ"),
        ({"date": "%d.%m.%Q"}, "'%Q' is not known"),
        ({"date": "%d.%m."}, "a pattern without a year"),
        ({"date": "%d.%m.%Y%"}, "'%' is not known"),
        ({"date": [1]}, "write a list of texts"),
        ({"missing": [""]}, "an empty cell is missing anyway"),
        ({"missing": ["x" * 101]}, "1 to 100 characters"),
        ({"missing": 7}, "write a list of texts"),
        ({"header": "no"}, "header is 'no'; write true or false"),
        ({"header": False}, "header is false and columns is 0; a table without a header has"),
        ({"columns": 3}, "header is true and columns is 3"),
        ({"header": False, "columns": True}, "columns is True; write a whole number"),
        ({"header": False, "columns": -1}, "columns is -1; write a whole number"),
        ({"header": False, "columns": 10**6}, "columns = 1 to 100000"),
        ({"first_line": 0}, "first_line is 0; write the number of the line"),
        ({"first_line": True}, "first_line is True; write the number of the line"),
        ({"first_line": "3"}, "first_line is '3'; write the number of the line"),
        ({"decimel": ","}, "Did you mean 'decimal'?"),
    ],
)
def test_a_wrong_format_is_named(given, message):
    with pytest.raises(SchemaError) as refused:
        read(**given)
    assert message in str(refused.value)
    assert str(refused.value).startswith("t: ")


def test_other_names_of_encodings_are_known():
    for name, known in (("UTF8", "utf-8"), ("ISO-8859-1", "latin-1"), ("Windows-1252", "cp1252")):
        assert read(encoding=name).encoding == known


@pytest.mark.parametrize("share", [-1, 2, "much", True])
def test_a_share_is_between_0_and_1(share):
    table = {"name": "t", "unreadable_share": share}
    with pytest.raises(SchemaError, match="unreadable_share"):
        read_schema({"table": table, "columns": {"a": {"type": "boolean"}}})


@pytest.mark.parametrize(
    "given", [{"header": False, "columns": 2}, {"first_line": 3}, {"multiline": True}]
)
def test_facts_that_are_no_texts_are_written_as_they_are_read(given):
    table = Table("t", columns=(Column("a", "boolean"),), format=Format(**given))
    assert read_schema_text(schema_text(table)) == table
    assert Table.from_json(table.to_json()) == table
