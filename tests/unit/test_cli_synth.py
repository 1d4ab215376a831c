"""synth, as a publisher types it: rows in a file, pages in a folder, charged to the table once."""

import csv
import stat

import pytest

from support.command_line import copied_clinic, write_clinic

PRICE = ("--epsilon", "6", "--rows", "80")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("prepared"), patients=200)
    text = made.schema.read_text().replace("epsilon = 30", "epsilon = 30\ndelta = 1e-6")
    made.schema.write_text(text)
    assert made.run("add", made.schema).status == 0
    return made


@pytest.fixture
def clinic(prepared, tmp_path):
    return copied_clinic(prepared, tmp_path)


def charges(clinic):
    return [
        each for each in clinic.run("ledger", "--json").json["entries"] if each["act"] == "charge"
    ]


def test_rows_and_pages(clinic):
    output, pages = clinic.folder / "rows.csv", clinic.folder / "pages"
    words = ("synth", "visits", *PRICE, "--output", output, "--report", pages)
    outcome = clinic.run(*words, "--column", "age", "--column", "region", "--target", "region")
    assert outcome.status == 0
    assert "80 rows in" in outcome.out
    assert "2-way tables differ by" in outcome.out
    with output.open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["age", "region"]
    assert len(rows) == 81
    assert {row[1] for row in rows[1:]} <= {"north", "south"}
    assert "Not for release" in (pages / "custodian.html").read_text()
    assert "Not for release" not in (pages / "public.html").read_text()
    assert stat.S_IMODE((pages / "custodian.html").stat().st_mode) == 0o600


def test_the_same_again_is_not_charged_again(clinic):
    words = ("synth", "visits", *PRICE, "--column", "region", "--column", "age")
    first = clinic.run(*words, "--output", clinic.folder / "a.csv", "--json").json
    second = clinic.run(*words, "--output", clinic.folder / "b.csv", "--json").json
    assert first["receipt"] == second["receipt"]
    assert len(charges(clinic)) == 1
    assert [mark["order"] for mark in first["marks"]] == [1, 2]


def test_the_budget_is_the_table_s(clinic):
    greedy = ("synth", "visits", "--epsilon", "31", "--rows", "9", "--output", "x.csv")
    outcome = clinic.run(*greedy)
    assert outcome.status == 1
    assert "Nothing was run or charged" in outcome.err
    assert charges(clinic) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing", *PRICE, "--output", "x.csv"), "no table"),
        (("visits", *PRICE, "--output", "x.txt"), ".csv or .parquet"),
        (("visits", *PRICE, "--output", "x.csv", "--column", "no"), "no columns no"),
        (("visits", *PRICE, "--output", "x.csv", "--as", "nobody"), "nobody"),
    ],
)
def test_bad_requests_cost_nothing(clinic, words, said):
    outcome = clinic.run("synth", *words)
    assert outcome.status == 2
    assert said in outcome.err
    assert charges(clinic) == []
