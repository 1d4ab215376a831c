"""SmartNoise metadata becomes schema files, marks where it is silent, and a list of the rest."""

from datetime import date, datetime

import pytest

from discreet.errors import SchemaError
from discreet.loss import Relation
from discreet.schema import Column
from discreet.schema.smartnoise import import_metadata, read_metadata
from discreet.schema.toml.read import FILL_IN, read_schema_text

YAML = """
engine: postgres
clinic:
  dbo:
    Visits:
      rows: 100000
      max_ids: 7
      patient_id:
        private_id: true
        type: int
      age:
        type: int
        lower: 0
        upper: 110
        nullable: false
      income:
        type: float
        lower: -0.5
        upper: 1e5
        missing_value: 0.0
      region:
        type: string
        cardinality: 4
      smoker:
        type: boolean
        missing_value: false
      seen:
        type: datetime
    People:
      row_privacy: true
      height:
        type: float
        sensitivity: 100
"""
VISITS = """\
# Imported from SmartNoise metadata.
# Write a value in place of every FILL-IN, chosen without looking at the data.
# Without a counterpart here:
#   Visits: rows is not used: no answer needs the number of rows in advance.
#   Visits.region: cardinality is not used.
[table]
name = "Visits"
source = FILL-IN
population = "clinic"  # tables about the same people share a budget
unit = "patient_id"
rows_per_unit = 7
neighbours = "add-remove"

[columns]
age = { type = "integer", lower = 0, upper = 110, null = "error" }
income = { type = "number", lower = -0.5, upper = 100000, step = FILL-IN, null = 0 }
region = { type = "category", keys = "private" }
smoker = { type = "boolean", null = false }
seen = { type = "datetime", lower = FILL-IN, upper = FILL-IN }

[budget]
epsilon = FILL-IN
# delta = 1e-7
"""


def one(facts, **columns):
    """The import of a single table."""
    (table,) = import_metadata({"": {"": {"t": facts | columns}}})
    return table


def line(table, name: str) -> str:
    """The declaration of a name in the imported file."""
    return next(text for text in table.text.splitlines() if text.startswith(name + " ="))


def filled(text: str) -> str:
    """What a custodian might make of a file with marks for source, step, times and epsilon."""
    for old, new in [
        (f"source = {FILL_IN}", 'source = "t.csv"'),
        (f"epsilon = {FILL_IN}", "epsilon = 1"),
        (f"step = {FILL_IN}", "step = 0.5"),
        (
            f'"datetime", lower = {FILL_IN}, upper = {FILL_IN}',
            '"datetime", lower = 2024-01-01T00:00:00, upper = 2024-12-31T00:00:00',
        ),
        (f"lower = {FILL_IN}, upper = {FILL_IN}", "lower = 0, upper = 3"),
    ]:
        text = text.replace(old, new)
    return text


@pytest.fixture
def metadata(tmp_path):
    path = tmp_path / "clinic.yaml"
    path.write_text(YAML)
    return path


def test_a_file_is_imported(metadata):
    visits, people = read_metadata(metadata)
    assert visits.text == VISITS
    assert visits.notes == (
        "Visits: rows is not used: no answer needs the number of rows in advance.",
        "Visits.region: cardinality is not used.",
    )
    assert people.name == "People"
    assert people.notes == ("People.height: sensitivity is not used: it follows from the bounds.",)
    assert "[budget]" not in people.text
    assert "unit" not in people.text
    assert 'population = "clinic"' in people.text


def test_an_imported_file_is_refused_until_it_is_filled_in(metadata):
    for imported in read_metadata(metadata):
        with pytest.raises(SchemaError, match="FILL-IN is left on line"):
            read_schema_text(imported.text)
    table = read_schema_text(filled(read_metadata(metadata)[0].text))
    assert (table.name, table.population, table.unit) == ("Visits", "clinic", "patient_id")
    assert (table.rows_per_unit, table.neighbours) == (7, Relation.ADD_REMOVE)
    assert table.column("age") == Column("age", "integer", upper=110, null="error")
    assert table.column("region") == Column("region", "category", upper=0, private_keys=True)
    assert table.column("income").null == 0
    assert table.column("smoker").null == 0


def test_rows_are_people_only_where_the_metadata_says_so():
    age = {"type": "int", "lower": 0, "upper": 9}
    silent = one({}, age=age)
    assert f"unit = {FILL_IN}" in silent.text
    assert "rows_per_unit = 1" in silent.text
    by_row = one({"row_privacy": True}, age=age, id={"type": "int", "private_id": True})
    assert "\nunit" not in by_row.text
    assert "\nid" not in by_row.text
    assert by_row.notes == (
        "t: row_privacy protects one row, though id identifies people. To protect people, "
        "name it as unit, with rows_per_unit.",
    )
    assert read_schema_text(filled(by_row.text)).unit is None


def test_values_that_may_be_shown_have_to_be_listed():
    assert line(one({"censor_dims": False}, x={"type": "string"}), "x") == (
        'x = { type = "category", keys = FILL-IN }'
    )


@pytest.mark.parametrize(
    ("option", "note"),
    [
        ({"rows": 10}, "rows is not used"),
        ({"rows_exact": 10}, "rows_exact is not used; if the number of people is public, neigh"),
        ({"sample_max_ids": False}, "further rows of a unit are always left out"),
        ({"clamp_counts": True}, "a noisy count may be negative"),
        ({"clamp_columns": False}, "values are always clamped to their bounds"),
        ({"use_dpsu": True}, "the plan chooses how private keys are selected"),
    ],
)
def test_options_without_a_counterpart_are_listed(option, note):
    (found,) = one(option).notes
    assert found.startswith("t: ")
    assert note in found
    assert f"#   {found}" in one(option).text


def test_options_at_their_defaults_are_not_listed():
    defaults = {"sample_max_ids": True, "clamp_counts": False, "clamp_columns": True}
    defaults |= {"use_dpsu": False, "censor_dims": True, "max_ids": 1, "row_privacy": False}
    assert one(defaults).notes == ()


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        ({"type": "string", "missing_value": "none"}, "missing_value is not used: NULL is in no"),
        ({"type": "string", "cardinality": 3}, "cardinality is not used"),
        ({"type": "int", "sensitivity": 3}, "sensitivity is not used: it follows from the bounds"),
        ({"type": "boolean", "bounded": True}, "bounded is not used"),
        ({"type": "unknown"}, "left out: type unknown."),
        ({}, "left out: type none."),
    ],
)
def test_facts_of_columns_without_a_counterpart_are_listed(entry, note):
    assert f"t.x: {note}" in one({}, x=entry).notes[0]


@pytest.mark.parametrize(
    ("entry", "declared"),
    [
        ({"type": "int", "upper": 5}, 'type = "integer", lower = FILL-IN, upper = 5'),
        ({"type": "int", "lower": 0.0, "upper": "9"}, 'type = "integer", lower = 0, upper = 9'),
        (
            {"type": "float", "lower": 0.1, "upper": "1e3"},
            'type = "number", lower = 0.1, upper = 1000, step = FILL-IN',
        ),
        (
            {"type": "datetime", "lower": date(2024, 1, 1), "upper": datetime(2024, 2, 1, 12)},
            'type = "datetime", lower = 2024-01-01T00:00:00, upper = 2024-02-01T12:00:00',
        ),
        ({"type": "boolean", "nullable": False}, 'type = "boolean", null = "error"'),
        ({"type": "boolean", "nullable": True}, 'type = "boolean"'),
        ({"type": "string", "nullable": False}, 'type = "category", keys = "private"'),
    ],
)
def test_columns(entry, declared):
    assert line(one({}, x=entry), "x") == f"x = {{ {declared} }}"


def test_hostile_names_stay_inside_their_comment():
    columns = {"a\nb = 3": {"type": "int"}, "c": {"type": 'int"\n[evil]'}}
    table = one({"row_privacy": True} | columns)
    columns = read_schema_text(filled(table.text)).columns
    assert [(each.name, each.source_name) for each in columns] == [("a_b_3", "a\nb = 3")]
    assert table.notes == ('t.c: left out: type int\\"\\n[evil].',)
    keyed = one({"row_privacy": True}, c={"type": "boolean", "d\n[e]": 1})
    assert keyed.notes == ("t.c: d\\n[e] is not used.",)
    assert [column.name for column in read_schema_text(filled(keyed.text)).columns] == ["c"]


def test_tables_of_one_name_are_told_apart():
    facts = {"row_privacy": True}
    both = import_metadata({"c": {"a": {"t": facts, "u": facts}, "b": {"T": facts}}})
    assert [table.name for table in both] == ["a_t", "u", "b_T"]
    assert [table.text.count("[budget]") for table in both] == [1, 0, 0]
    with pytest.raises(SchemaError, match="two tables would be called 'a_T'"):
        import_metadata({"c": {"a": {"t": facts, "T": facts}}})


@pytest.mark.parametrize(
    ("collection", "population"), [("", "t"), (None, "t"), ("my data", "my_data")]
)
def test_a_collection_is_one_population(collection, population):
    (table,) = import_metadata({collection: {"dbo": {"t": {}}}})
    assert f'population = "{population}"' in table.text


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "the metadata is not a mapping. Write collection, schema, table and columns "),
        ([], "the metadata is not a mapping"),
        ({}, "the metadata has 0 collections; one file holds one"),
        ({"engine": "x"}, "the metadata has 0 collections"),
        ({"a": {}, "b": {}}, "the metadata has 2 collections"),
        ({"a": {}}, "the metadata has no table"),
        ({"a": 3}, "the collection 'a' is not a mapping"),
        ({"a": {"b": 3}}, "the schema 'b' is not a mapping"),
        ({"a": {"b": {"t": None}}}, "the table 't' is not a mapping"),
        ({"a": {"b": {"t": {"x": 3}}}}, "t: the column 'x' is not a mapping"),
    ],
)
def test_metadata_of_another_shape_is_refused(document, message):
    with pytest.raises(SchemaError) as caught:
        import_metadata(document)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"max_ids": 0}, "t: max_ids is 0; it must be an integer of at least 1."),
        ({"max_ids": True}, "t: max_ids is True; it must be an integer of at least 1."),
        ({"max_ids": "3"}, "t: max_ids is '3'; it must be an integer of at least 1."),
        ({"row_privacy": "yes"}, "t: row_privacy is 'yes'; write true or false."),
        ({"censor_dims": 1, "x": {"type": "string"}}, "t: censor_dims is 1; write true or false."),
        (
            {"x": {"type": "int", "private_id": True}, "y": {"type": "int", "private_id": True}},
            "t: x and y are private_id; one column is the privacy unit. Keep one.",
        ),
        ({"x": {"type": "int", "lower": "low"}}, "t.x: lower is the text 'low'; write a number."),
        ({"x": {"type": "int", "lower": True}}, "t.x: lower is the boolean True; write a number."),
        (
            {"x": {"type": "float", "upper": float("inf")}},
            "t.x: upper is inf; it must be finite.",
        ),
        ({"x": {"type": "float", "upper": "nan"}}, "t.x: upper is NaN; it must be finite."),
        (
            {"x": {"type": "float", "upper": "1e99"}},
            "t.x: upper has too many digits. Write a number of at most 36.",
        ),
        (
            {"x": {"type": "datetime", "lower": 3}},
            "t.x: lower is 3; write a time such as 2024-01-01 00:00:00.",
        ),
        (
            {"x": {"type": "boolean", "missing_value": 0}},
            "t.x: missing_value is 0; write true or false.",
        ),
        (
            {"x": {"type": "boolean", "nullable": "no"}},
            "t.x: nullable is 'no'; write true or false.",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(facts, message):
    with pytest.raises(SchemaError) as caught:
        one(facts)
    assert str(caught.value) == message


def test_a_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "m.yaml"
    with pytest.raises(SchemaError, match=r"m\.yaml: the metadata cannot be read \(No such file"):
        read_metadata(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match=r"m\.yaml: not UTF-8 text"):
        read_metadata(path)
    path.write_text("a: b\nc: [")
    with pytest.raises(SchemaError, match=r"^m\.yaml: not valid YAML near line 2\.$"):
        read_metadata(path)
    path.write_text("a: 2024-13-45")
    with pytest.raises(SchemaError, match=r"^m\.yaml: not valid YAML\.$"):
        read_metadata(path)
    path.write_text("[" * 10_000)
    with pytest.raises(SchemaError, match=r"^m\.yaml: not valid YAML\.$"):
        read_metadata(path)
    path.write_text("!!python/object/apply:os.getcwd []")
    with pytest.raises(SchemaError, match=r"^m\.yaml: not valid YAML near line 1\.$"):
        read_metadata(path)


def test_the_extra_is_named_where_it_is_missing(metadata, monkeypatch):
    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("discreet.schema.smartnoise.import_module", absent)
    with pytest.raises(SchemaError, match=r"pip install 'discreet\[smartnoise\]'"):
        read_metadata(metadata)
