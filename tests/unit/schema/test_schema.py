"""Columns, budgets and tables check themselves, decode their lattice and survive storage."""

import json
from datetime import date, datetime
from fractions import Fraction

import pytest

from discreet.errors import InvalidValue, SchemaError
from discreet.loss import Relation
from discreet.schema import LARGEST, OTHER, Budget, Column, Table, identifier, nearest

AGE = Column("age", "integer", upper=110)
REGION = Column("region", "category", upper=2, keys=("north", "south"), other=True)
VISITS = Table(
    "visits",
    source="visits.parquet",
    population="patients",
    unit="patient_id",
    rows_per_unit=10,
    neighbours=Relation.REPLACE,
    columns=(
        AGE,
        REGION,
        Column("income", "number", step=Fraction(1, 100), lower=-5, upper=7, null=3),
        Column("day", "date", lower=-1, upper=20_000, null="error"),
        Column("child", "boolean", null=0),
    ),
    budget=Budget(epsilon=3, delta=1e-7, sharing=True),
)


@pytest.mark.parametrize(
    ("column", "k", "value"),
    [
        (AGE, 17, 17),
        (Column("a", "integer", step=Fraction(1000), lower=-2, upper=2), -2, -2000),
        (VISITS.column("income"), 7, 0.07),
        (REGION, 0, "north"),
        (REGION, 2, OTHER),
        (VISITS.column("child"), 1, True),
        (VISITS.column("day"), 0, date(1970, 1, 1)),
        (VISITS.column("day"), -1, date(1969, 12, 31)),
        (Column("seen", "datetime", lower=-1), -1, datetime(1969, 12, 31, 23, 59, 59)),
        (Column("hour", "datetime", step=Fraction(3600), upper=36), 36, datetime(1970, 1, 2, 12)),
    ],
)
def test_decode(column, k, value):
    decoded = column.decode(k)
    assert decoded == value
    assert type(decoded) is type(value)


@pytest.mark.parametrize(
    ("column", "k"), [(REGION, 3), (REGION, -1), (VISITS.column("child"), 2), (AGE, None)]
)
def test_a_code_without_a_value_is_refused(column, k):
    with pytest.raises((SchemaError, TypeError)):
        column.decode(k)


def test_a_date_outside_the_calendar_is_refused():
    with pytest.raises(SchemaError, match="years 1 to 9999"):
        VISITS.column("day").decode(10**7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "text"}, "type is 'text'"),
        ({"name": "a`b"}, "printable characters"),
        ({"step": 1}, "a Fraction above 0"),
        ({"step": Fraction(0)}, "a Fraction above 0"),
        ({"step": Fraction(-1)}, "a Fraction above 0"),
        ({"step": Fraction(1, 2)}, "an integer"),
        ({"kind": "number", "step": Fraction(1, 10**19)}, "18 digits"),
        ({"lower": 111}, "lower 111 is above upper 110"),
        ({"lower": -LARGEST - 1}, "lower in steps"),
        ({"upper": LARGEST + 1}, "upper in steps"),
        ({"upper": 1.0}, "upper in steps is 1.0"),
        ({"lower": False}, "lower in steps is False"),
        ({"keys": ("x",)}, "only a category"),
        ({"other": True}, "only a category"),
        ({"private_keys": True}, "only a category"),
        ({"null": "zero"}, "null is 'zero'"),
        ({"null": 111}, "null is 111"),
        ({"null": True}, "null is True"),
        ({"nan": "zero"}, "nan is 'zero'; write null, drop or error"),
        ({"nan": 111}, "nan is 111"),
        ({"nan": None}, "nan is None"),
        ({"nan": "drop", "kind": "date"}, "only an integer or a number has a rule for nan"),
        ({"infinity": "null"}, "infinity is 'null'; write clamp, drop or error"),
        ({"infinity": 3}, "infinity is 3"),
        ({"kind": "boolean", "upper": 1, "infinity": "drop"}, "a boolean has no rule for infinity"),
        ({"kind": "datetime", "step": Fraction(1, 2)}, "an integer"),
        ({"kind": "datetime", "upper": 10**12}, "a datetime outside the years 1 to 9999"),
        ({"kind": "datetime", "lower": -(10**12)}, "a datetime outside the years 1 to 9999"),
        ({"kind": "datetime", "step": Fraction(10**18)}, "outside the years 1 to 9999"),
        ({"kind": "boolean"}, "between 0 and 1"),
        ({"kind": "date", "step": Fraction(2)}, "of this type it is 1"),
        ({"kind": "date", "upper": 10**7}, "years 1 to 9999"),
        ({"kind": "category"}, "0 keys"),
    ],
)
def test_a_column_refuses(changes, message):
    facts = {"name": "age", "kind": "integer", "upper": 110} | changes
    with pytest.raises(SchemaError, match=message):
        Column(**facts)


@pytest.mark.parametrize(
    ("keys", "other", "upper", "message"),
    [
        (("a", "a"), False, 1, "'a' is there twice"),
        (("a", 1), False, 1, "1 is not text"),
        (("a", ""), False, 1, "'' is empty"),
        (("a\0",), False, 0, "zero byte"),
        (("a", "other"), True, 2, "'other' is a declared key"),
        (("a", "b"), False, 2, "codes of a category"),
        (("a", "b"), True, 1, "codes of a category"),
        (tuple(map(str, range(100_001))), False, 100_000, "100001 keys"),
    ],
)
def test_a_category_refuses(keys, other, upper, message):
    with pytest.raises(SchemaError, match=message):
        Column("region", "category", upper=upper, keys=keys, other=other)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"keys": ("a",)}, "not known in advance, so there are no keys"),
        ({"other": True}, "no keys, no other and no codes"),
        ({"upper": 1}, "no keys, no other and no codes"),
        ({"null": "error"}, "null is 'error'; with private keys NULL is in no group"),
        ({"null": 0}, "null is 0; with private keys"),
        ({"private_keys": 1}, "private_keys is 1, not a bool"),
    ],
)
def test_private_keys_refuse(facts, message):
    with pytest.raises(SchemaError, match=message):
        Column(**({"name": "c", "kind": "category", "upper": 0, "private_keys": True} | facts))


def test_private_keys_have_no_codes():
    with pytest.raises(SchemaError, match="a code without a key"):
        Column("c", "category", upper=0, private_keys=True).decode(0)


def test_the_most_keys_are_allowed_and_other_alone_is_a_key():
    assert Column("c", "category", upper=99_999, keys=tuple(map(str, range(100_000)))).keys
    assert Column("c", "category", upper=1, keys=("a", "other")).decode(1) == "other"


@pytest.mark.parametrize(
    ("facts", "nullable"),
    [
        ({}, True),
        ({"null": "error"}, True),
        ({"null": 5}, False),
        ({"null": 5, "nan": 7}, False),
        ({"null": 5, "nan": "drop"}, True),
        ({"null": 5, "nan": "error"}, True),
        ({"null": 5, "infinity": "drop"}, True),
        ({"null": 5, "infinity": "error"}, True),
        ({"nan": 7}, True),
        ({"kind": "category", "keys": ("a",), "upper": 0}, True),
        ({"kind": "category", "keys": ("a",), "upper": 1, "other": True}, False),
        ({"kind": "category", "keys": ("a",), "upper": 0, "null": 0}, False),
        ({"kind": "category", "upper": 0, "private_keys": True}, True),
    ],
)
def test_the_rules_say_whether_a_value_can_be_missing(facts, nullable):
    assert Column(**({"name": "x", "kind": "number", "upper": 9} | facts)).nullable is nullable


@pytest.mark.parametrize(
    "name", ["a", "_a", "_", "A1_b", "x" * 63, "ä", "größe", "年齢_2", "مدينة"]
)
def test_identifiers(name):
    assert identifier(name, "name") == name


@pytest.mark.parametrize(
    "name", ["", "1a", "a-b", "a b", "ä" * 32, "a\n", "x" * 64, None, 3, 'a"b', "../a", "a.b"]
)
def test_names_that_are_none(name):
    with pytest.raises(SchemaError, match=r"what is .*letters, digits and underscores"):
        identifier(name, "what")


def test_nearest_ignores_capitals_and_lists_what_there_is():
    assert nearest("REGON", ["age", "Region"]) == "Did you mean 'Region'?"
    assert nearest("zzz", ["b", "a"]) == "Known: a, b."
    assert nearest("zzz", []) == "There are none."


@pytest.mark.parametrize(
    "limits",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": True},
        {"epsilon": "1"},
        {"epsilon": Fraction(10**2000)},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1e-9},
        {"epsilon": 1, "delta_for_conversion": 0},
        {"epsilon": 1, "delta_for_conversion": 1},
        {"epsilon": 1, "delta_for_conversion": 1.5},
        {"epsilon": 1, "sharing": 1},
    ],
)
def test_a_budget_refuses(limits):
    with pytest.raises(SchemaError, match=r"^budget: "):
        Budget(**limits)


def test_a_budget_reads_decimals_exactly():
    budget = Budget(epsilon=0.3, delta=1e-7, delta_for_conversion=0.25)
    assert budget.epsilon == Fraction(3, 10)
    assert budget.delta == Fraction(1, 10**7)
    assert budget.delta_for_conversion == Fraction(1, 4)
    assert Budget(epsilon=1).delta == 0
    assert Budget(epsilon=1).delta_for_conversion == Fraction(1, 2)
    assert Budget(epsilon=1).sharing is False


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"name": "a`b"}, "a table's name"),
        ({"name": "a/b"}, "no slash"),
        ({"population": "a`b"}, "population is 'a`b'"),
        ({"unit": "a`b"}, "unit is 'a`b'"),
        ({"neighbours": "replace"}, "not a Relation"),
        ({"rows_per_unit": 0}, "rows_per_unit is 0"),
        ({"rows_per_unit": 10**9 + 1}, "rows_per_unit"),
        ({"rows_per_unit": True}, "rows_per_unit is True"),
        ({"rows_per_unit": 2.0}, "rows_per_unit is 2.0"),
        ({"unit": None, "rows_per_unit": 2}, "no unit is named"),
        ({"unit": "AGE"}, "is the privacy unit and also a column"),
        ({"columns": (AGE, AGE)}, "same name"),
        ({"columns": (AGE, Column("Age", "boolean"))}, "'age' and 'Age' have the same name"),
    ],
)
def test_a_table_refuses(facts, message):
    with pytest.raises(SchemaError, match=message):
        Table(**({"name": "t", "unit": "id", "columns": (AGE,)} | facts))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"kind": "secret"}, "kind is 'secret'. Known: private, public"),
        ({"kind": None}, "kind is None"),
        ({"kind": "private"}, "only a public table has key and rows_per_key"),
        ({"unit": "id"}, "has no unit. Leave unit out"),
        ({"budget": Budget(epsilon=1)}, "has no budget"),
        ({"population": "people"}, "has no population"),
        ({"neighbours": Relation.REPLACE}, "has no neighbours"),
        ({"key": ()}, "rows_per_key is 2 but no key"),
        ({"key": "age"}, "key is 'age', not a tuple"),
        ({"key": ("agee",)}, "key names no column 'agee'. Did you mean 'age'"),
        ({"key": (3,)}, "key names no column 3"),
        ({"key": ("age", "AGE")}, "key names a column twice"),
        ({"rows_per_key": 0}, "rows_per_key is 0"),
        ({"rows_per_key": 10**9 + 1}, "rows_per_key is"),
        ({"rows_per_key": True}, "rows_per_key is True"),
    ],
)
def test_a_public_table_refuses(facts, message):
    public = {"name": "t", "columns": (AGE,), "kind": "public", "key": ("AGE",), "rows_per_key": 2}
    assert Table(**public).key == ("age",)
    with pytest.raises(SchemaError, match=message):
        Table(**(public | facts))


def test_the_population_is_the_table_unless_it_is_named():
    assert Table("t").population == "t"
    assert VISITS.population == "patients"


def test_a_column_is_found_without_regard_to_capitals():
    assert VISITS.column("AGE") is AGE
    with pytest.raises(SchemaError, match=r"visits has no column 'regon'. Did you mean 'region'\?"):
        VISITS.column("regon")


def test_storage_keeps_everything_and_is_plain_json():
    text = VISITS.to_json()
    assert Table.from_json(text) == VISITS
    assert Table.from_json(text).to_json() == text
    assert json.loads(text)["columns"][2]["step"] == "1/100"
    assert Table.from_json(Table("t").to_json()) == Table("t")


def changed(**changes) -> str:
    return json.dumps(json.loads(VISITS.to_json()) | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "{",
        changed(surplus=1),
        changed(columns=[1]),
        changed(columns=[{"name": "a"}]),
        changed(columns=[{"name": "a", "kind": "integer", "step": "1/0", "keys": []}]),
        changed(neighbours="none"),
        changed(rows_per_unit=0),
        changed(budget={"epsilon": "0"}),
        changed(budget={"epsilon": "many"}),
    ],
)
def test_damaged_storage_is_refused(text):
    with pytest.raises(SchemaError):
        Table.from_json(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"population": "visits"},
        {"unit": "person"},
        {"rows_per_unit": 11},
        {"neighbours": "add-remove"},
        {"columns": []},
    ],
)
def test_the_version_follows_what_gives_answers_their_meaning(changes):
    assert Table.from_json(changed(**changes)).version != VISITS.version


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "number"},
        {"upper": 111},
        {"lower": 1},
        {"step": "2"},
        {"null": "error"},
        {"nan": 1},
        {"infinity": "drop"},
    ],
)
def test_the_version_follows_every_column(changes):
    columns = json.loads(VISITS.to_json())["columns"]
    columns[0] |= changes
    assert Table.from_json(changed(columns=columns)).version != VISITS.version


def test_the_version_ignores_where_the_data_lies_and_what_may_be_spent():
    assert Table.from_json(changed(source="elsewhere.csv", budget=None)).version == VISITS.version
    assert len(VISITS.version) == 64
    # A stored release names this version: it must be the same on every machine and release.
    assert Table("t").version.startswith("a420f082f3cb10d9")


def test_facts_that_came_later_do_not_change_what_was_stored():
    plain = json.loads(VISITS.to_json())
    assert not plain.keys() & {"kind", "key", "rows_per_key"}
    later = {"private_keys", "nan", "infinity"}
    assert not any(column.keys() & later for column in plain["columns"])
    assert VISITS.version.startswith("fcd1cbfa8621f30e")


@pytest.mark.parametrize(
    "changes", [{"kind": "private"}, {"key": ("age",)}, {"rows_per_key": 3}, {"columns": (AGE,)}]
)
def test_the_version_follows_what_a_lookup_means(changes):
    label = Column("label", "category", upper=0, private_keys=True)
    facts = {"columns": (AGE, label), "kind": "public", "key": ("age", "label"), "rows_per_key": 2}
    public = Table("t", **facts)
    assert Table.from_json(public.to_json()) == public
    facts |= changes | ({"key": (), "rows_per_key": 1} if "kind" in changes else {})
    facts["key"] = tuple(n for n in facts["key"] if n in {c.name for c in facts["columns"]})
    assert Table("t", **facts).version != public.version


def test_schema_errors_are_invalid_values():
    assert issubclass(SchemaError, InvalidValue)
    assert issubclass(SchemaError, ValueError)
