"""A skeleton is refused until it is filled in, and then says what the custodian decided."""

import pytest

from discreet.errors import SchemaError
from discreet.schema.toml.read import FILL_IN, read_schema_text
from discreet.schema.toml.skeleton import skeleton

COLUMNS = [
    ("patient_id", "BIGINT"),
    ("age", "BIGINT"),
    ("income", "DECIMAL(10,2)"),
    ("weight", "DOUBLE"),
    ("region", "VARCHAR"),
    ("smoker", "BOOLEAN"),
    ("day", "DATE"),
    ("seen", "TIMESTAMP WITH TIME ZONE"),
]


def lines(text: str) -> dict[str, str]:
    """The declarations of a skeleton by name."""
    pairs = [line.split(" = ", 1) for line in text.splitlines() if " = " in line]
    return {pair[0]: pair[1] for pair in pairs if not pair[0].startswith("#")}


def filled(text: str) -> str:
    """What a custodian might make of it."""
    for old, new in [
        (f"keys = {FILL_IN}", 'keys = ["north", "south"]'),
        (
            f'"date", lower = {FILL_IN}, upper = {FILL_IN}',
            '"date", lower = 2024-01-01, upper = 2024-12-31',
        ),
        (f"lower = {FILL_IN}, upper = {FILL_IN}", "lower = 0, upper = 100"),
        (f"step = {FILL_IN}", "step = 0.5"),
        (f"rows_per_unit = {FILL_IN}", "rows_per_unit = 5"),
        (f"epsilon = {FILL_IN}", "epsilon = 1.0"),
    ]:
        text = text.replace(old, new)
    return text


def test_each_type_has_its_entry():
    found = lines(skeleton("visits", "visits.parquet", COLUMNS, "patient_id"))
    assert "patient_id" not in found
    bounds = "lower = FILL-IN, upper = FILL-IN"
    assert found["age"] == f'{{ type = "integer", {bounds} }}  # BIGINT'
    assert found["income"] == f'{{ type = "number", {bounds}, step = 0.01 }}  # DECIMAL(10,2)'
    assert found["weight"] == f'{{ type = "number", {bounds}, step = FILL-IN }}  # DOUBLE'
    assert found["region"] == '{ type = "category", keys = FILL-IN }  # VARCHAR'
    assert found["smoker"] == '{ type = "boolean" }  # BOOLEAN'
    assert found["day"] == f'{{ type = "date", {bounds} }}  # DATE'
    note = '# TIMESTAMP WITH TIME ZONE, taken by the day; "datetime" keeps the time'
    assert found["seen"].endswith(note)
    assert found["rows_per_unit"] == FILL_IN
    assert found["epsilon"] == FILL_IN


@pytest.mark.parametrize(
    ("type_name", "start"),
    [
        *[
            (f"{sign}{size}INT", '{ type = "integer"')
            for sign in ("", "U")
            for size in ("TINY", "BIG")
        ],
        ("HUGEINT", '{ type = "integer"'),
        ("integer", '{ type = "integer"'),
        ("FLOAT", '{ type = "number"'),
        ("DECIMAL(18,0)", '{ type = "number"'),
        ("TIMESTAMP_NS", '{ type = "date"'),
        ("UUID", '{ type = "category"'),
    ],
)
def test_other_spellings(type_name, start):
    assert lines(skeleton("t", "t.csv", [("x", type_name)]))["x"].startswith(start)


@pytest.mark.parametrize(
    ("type_name", "step"),
    [
        ("DECIMAL(18,0)", "1"),
        ("DECIMAL(18, 3)", "0.001"),
        ("DECIMAL(38,30)", "FILL-IN"),
        ("DECIMAL", "FILL-IN"),
        ("REAL", "FILL-IN"),
    ],
)
def test_the_step_of_a_decimal_is_in_its_type(type_name, step):
    assert f"step = {step} }}" in lines(skeleton("t", "t.csv", [("x", type_name)]))["x"]


@pytest.mark.parametrize(
    "type_name", ["BLOB", "INTEGER[]", "STRUCT(a INTEGER)", "TIME", "MAP(A, B)"]
)
def test_what_cannot_be_declared_is_a_comment(type_name):
    text = skeleton("t", "t.csv", [("x", type_name)])
    assert f"# x cannot be declared: its type is {type_name}." in text.splitlines()
    assert "x" not in lines(text)


def test_a_skeleton_is_refused_until_it_is_filled_in():
    text = skeleton("visits", "visits.parquet", COLUMNS, "patient_id")
    with pytest.raises(SchemaError, match="FILL-IN is left on line"):
        read_schema_text(text)
    table = read_schema_text(filled(text))
    assert (table.name, table.source, table.population) == ("visits", "visits.parquet", "visits")
    assert (table.unit, table.rows_per_unit) == ("patient_id", 5)
    assert [column.name for column in table.columns] == [name for name, _ in COLUMNS[1:]]


@pytest.mark.parametrize("type_name", [kind for _, kind in COLUMNS])
def test_no_column_alone_makes_a_skeleton_valid(type_name):
    text = skeleton("t", "t.csv", [("x", type_name)])
    with pytest.raises(SchemaError, match="FILL-IN"):
        read_schema_text(text)
    if type_name != "BOOLEAN":
        with pytest.raises(SchemaError, match="FILL-IN"):
            read_schema_text(text.replace(f"epsilon = {FILL_IN}", "epsilon = 1"))


def test_it_warns_against_looking_at_the_data():
    text = skeleton("t", "t.csv", [("x", "DATE")])
    assert "DO NOT LOOK AT THE DATA" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_without_a_unit_each_row_is_one_person():
    text = skeleton("t", "t.csv", [("x", "BOOLEAN")])
    table = read_schema_text(filled(text))
    assert (table.unit, table.rows_per_unit) == (None, 1)


def test_the_unit_must_be_a_column():
    with pytest.raises(SchemaError) as caught:
        skeleton("visits", "visits.parquet", COLUMNS, "patientid")
    assert str(caught.value) == (
        "visits.parquet has no column 'patientid'. Did you mean 'patient_id'?"
    )
    text = skeleton("t", "t.csv", [("patient-id", "BIGINT")], "patient-id")
    table = read_schema_text(filled(text))
    assert (table.unit, table.unit_source_name) == ("patient_id", "patient-id")


def test_the_values_of_an_enum_are_not_copied():
    text = skeleton("t", "t.csv", [("x", "ENUM('secret', 'words')"), ("y", "ENUM('secret')[]")])
    assert "secret" not in text
    assert lines(text)["x"] == '{ type = "category", keys = FILL-IN }  # ENUM'


@pytest.mark.parametrize(
    ("name", "title"), [("my-visits.2024", "my_visits_2024"), ("2024", "t_2024"), ("", "table")]
)
def test_a_file_name_becomes_a_table_name(name, title):
    source = 'a "quoted"\\ path\n\x7f.csv'
    table = read_schema_text(filled(skeleton(name, source, [("x", "BOOLEAN")])))
    assert (table.name, table.source) == (title, source)


def test_hostile_names_stay_inside_their_comment():
    columns = [("a\nb = 3", "BOOLEAN"), ("c", 'BLOB"\n[evil]'), ("hours-per-week", "BIGINT")]
    table = read_schema_text(filled(skeleton("t", "t.csv", columns)))
    assert [(each.name, each.source_name) for each in table.columns] == [
        ("a_b_3", "a\nb = 3"),
        ("hours_per_week", "hours-per-week"),
    ]
