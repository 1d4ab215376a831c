"""bounds, as a custodian types it: paid, printed, and written into the schema file on request."""

import re

import pytest

from discreet.curator.curator import Curator
from support.command_line import copied_clinic, write_clinic

WIDE = 'age    = { type = "integer", lower = -1000000, upper = 1000000 } # nobody knows\n'
NARROW = 'age    = { type = "integer", lower = 0, upper = 50 }\n'
SURE = ("--as", "ana", "--epsilon", "20", "--failure", "1e-15")


def widened(folder, line=WIDE):
    clinic = write_clinic(folder, patients=400)
    clinic.schema.write_text(clinic.schema.read_text().replace(NARROW, line))
    assert clinic.run("add", clinic.schema).status == 0
    clinic.run("grant", "ana", "--epsilon", "25")
    return clinic


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return widened(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def clinic(prepared, tmp_path):
    return copied_clinic(prepared, tmp_path)


def declared(clinic):
    """The bounds of the registered table."""
    with Curator.open(clinic.vault, price_floor=0) as curator:
        age = curator.tables["visits"].columns[0]
    return age.lower, age.upper


def left(clinic):
    """What the analyst has left."""
    accounts = clinic.run("ledger", "--json").json["accounts"]
    return {each["name"]: each["remaining"]["epsilon"] for each in accounts}["ana"]


def test_bounds_are_printed_with_their_cost(clinic):
    outcome = clinic.run("bounds", "visits", "age", *SURE)
    assert outcome.status == 0
    # Patients are 20 to 419 years old: 17 is where the bucket of the youngest begins.
    # Once in 600 runs a bucket outside has a row of noise: one row in 800.
    said = r"visits\.age: 17 to 512, with (100|99\.\d+)% of the noisy rows inside"
    assert re.search(said, outcome.out)
    assert "Confidence that both ends hold rows: 1." in outcome.out
    assert "Cost: epsilon 20. Left of analyst ana: epsilon 5" in outcome.out
    assert "declared one" not in outcome.out
    again = clinic.run("bounds", "visits", "age", *SURE)
    assert "Free: asked before. It had cost epsilon 20. Left of analyst ana: epsilon 5" in again.out


def test_json_has_the_same(clinic):
    values = clinic.run("bounds", "visits", "age", *SURE, "--json").json
    assert (values["lower"], values["upper"]) == (17, 512)
    assert values["cost"] == {"epsilon": "20"}
    assert values["share"] <= 1


def test_writing_changes_the_file_and_not_the_registered_table(clinic):
    before = clinic.schema.read_text()
    outcome = clinic.run("bounds", "visits", "age", *SURE, "--write", clinic.schema)
    assert outcome.status == 0
    assert "Wrote lower = 17, upper = 512 into" in outcome.out
    said = f"The registered table is as it was; to use the new bounds: discreet add {clinic.schema}"
    assert said in outcome.out
    written = before.replace("lower = -1000000, upper = 1000000", "lower = 17, upper = 512")
    assert clinic.schema.read_text() == written
    assert declared(clinic) == (-1000000, 1000000)
    assert "Free: asked before" in clinic.run("bounds", "visits", "age", *SURE).out
    assert clinic.run("add", clinic.schema).status == 0
    assert declared(clinic) == (17, 512)


def test_without_the_option_nothing_is_written(clinic):
    before = clinic.schema.read_text()
    clinic.run("bounds", "visits", "age", *SURE)
    assert clinic.schema.read_text() == before


def test_json_and_writing_keep_standard_output_for_json(clinic):
    outcome = clinic.run("bounds", "visits", "age", *SURE, "--write", clinic.schema, "--json")
    assert outcome.json["upper"] == 512
    assert "Wrote lower = 17, upper = 512" in outcome.err


def test_a_bound_that_is_the_declared_one_is_said(tmp_path):
    clinic = widened(tmp_path, NARROW)
    said = " ".join(clinic.run("bounds", "visits", "age", *SURE).out.split())
    assert "The upper bound is the declared one: rows beyond it, if any, count as it." in said
    assert "The lower bound is the declared one" not in said


def test_nothing_found_is_an_answer_and_stays_charged(clinic):
    words = ("--as", "ana", "--epsilon", "0.0001", "--failure", "1e-15", "--write", clinic.schema)
    before = clinic.schema.read_text()
    outcome = clinic.run("bounds", "visits", "age", *words)
    assert outcome.status == 0
    assert "no bounds found" in outcome.out
    assert "Cost: epsilon 0.0001." in outcome.out
    assert "Nothing was written" in outcome.out
    assert clinic.schema.read_text() == before
    assert left(clinic) < 25


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (WIDE.replace('"integer",', '"integer", null = 0,'), "would not be a schema any more"),
        (
            'age.type = "integer"\nage.lower = -1000000\nage.upper = 1000000\n',
            "does not have age = { ... } with both bounds on one line",
        ),
    ],
)
def test_what_cannot_be_written_is_printed_to_paste(tmp_path, line, reason):
    clinic = widened(tmp_path, line)
    before = clinic.schema.read_text()
    outcome = clinic.run("bounds", "visits", "age", *SURE, "--write", clinic.schema)
    assert outcome.status == 2
    assert "visits.age: 17 to 512" in outcome.out
    assert reason in outcome.err
    assert "nothing was written. Write there: lower = 17, upper = 512" in outcome.err
    assert clinic.schema.read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1000000 }", "2000000 }", "does not declare visits.age as it is registered"),
        ('name = "visits"', 'name = "calls"', "does not declare visits.age as it is registered"),
        ("[columns]", "[colums]", "Did you mean 'columns'?"),
    ],
)
def test_the_wrong_file_is_refused_before_anything_is_paid(clinic, old, new, words):
    clinic.schema.write_text(clinic.schema.read_text().replace(old, new))
    outcome = clinic.run("bounds", "visits", "age", *SURE, "--write", clinic.schema)
    assert outcome.status == 2
    assert words in outcome.err
    assert left(clinic) == 25


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["visits", "age", "--as", "ana"], 2, "give one price"),
        (["visits", "aeg", "--as", "ana", "--epsilon", "1"], 2, "Did you mean 'age'?"),
        (["visits", "day", "--as", "ana", "--epsilon", "1"], 1, "Of dates ask MIN and MAX"),
        (["visits", "age", "--as", "bob", "--epsilon", "1"], 2, "bob"),
        (["visits", "age", "--as", "ana", "--epsilon", "26"], 1, "Nothing was run or charged"),
        (["visits", "age", "--as", "ana", "--epsilon", "1", "--failure", "0.9"], 2, "at most 1/2"),
        (["visits", "age", "--as", "ana", "--epsilon", "1", "--write", "no.toml"], 2, "no.toml"),
    ],
)
def test_refusals_charge_nothing(clinic, words, status, message):
    outcome = clinic.run("bounds", *words)
    assert outcome.status == status
    assert message in outcome.err
    assert left(clinic) == 25
