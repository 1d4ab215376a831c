"""init, add, refresh, grant and inspect, as a custodian types them."""

import re
import tomllib
from pathlib import Path

import pytest

from support.command_line import run, write_clinic
from support.pace import thinned


@pytest.fixture
def clinic(tmp_path):
    return write_clinic(tmp_path)


def test_init_writes_a_skeleton_without_reading_a_value(clinic):
    clinic.schema.unlink()
    outcome = run("init", clinic.source, "--unit", "patient")
    text = clinic.schema.read_text()
    assert outcome.status == 0
    assert "guess from its first rows" in outcome.out
    assert "rows_per_unit = FILL-IN" in outcome.out
    assert f"discreet add {clinic.schema}" in outcome.out
    assert 'source = "visits.csv"' in text
    assert "north" not in text + outcome.out


def test_init_guesses_how_a_file_is_written_and_shows_what_it_would_read(tmp_path):
    rows = [f"p{row};{row % 9}.234,5{row % 9};{row % 28 + 1:02}.12.2023" for row in range(30)]
    rows[4] = "p4;n/a;05.12.2023"
    file = tmp_path / "pay.csv"
    file.write_bytes("\n".join(["id;größe;day", *rows]).encode("cp1252"))
    outcome = run("init", file, "--unit", "id")
    assert outcome.status == 0
    for line in (
        'delimiter = ";"',
        'encoding = "cp1252"',
        'decimal = ","',
        'thousands = "."',
        'date = ["%d.%m.%Y"]',
        'missing = ["n/a"]',
    ):
        assert line in outcome.out
        assert line in (tmp_path / "pay.toml").read_text()
    assert "day (DATE): '99.99.9999' -> 9999-99-99, '99.99.9999' -> 9999-99-99" in outcome.out
    assert "größe (DOUBLE): '9.999,99' -> 9999.99" in outcome.out
    assert "23" not in outcome.out
    shown = run("init", file, "--show-rows", "--output", tmp_path / "other.toml")
    assert "day (DATE): '01.12.2023' -> 2023-12-01" in shown.out
    assert "größe (DOUBLE): '0.234,50' -> 0234.50" in shown.out


@pytest.mark.parametrize("how", thinned([[], ["--in-place"]], 2, "ways of adding tables"))
def test_what_cannot_be_read_is_told_and_refused_above_the_share(how, clinic):
    lines = clinic.source.read_text().splitlines()
    place = lines[0].split(",").index("age")
    cells = lines[2].split(",")
    cells[place] = "n/a"
    lines[2] = ",".join(cells)
    clinic.source.write_text("\n".join(lines) + "\n")
    text = clinic.schema.read_text()
    clinic.schema.write_text(text.replace("[table]", "[table]\nunreadable_share = 0"))
    refused = clinic.run("add", clinic.schema, *how)
    assert refused.status == 2
    assert "column 'age' cannot be read as type integer (line 3)" in " ".join(refused.err.split())
    assert "unreadable_share" in refused.err
    clinic.schema.write_text(text)
    added = clinic.run("add", clinic.schema, *how)
    assert added.status == 0
    assert "Not read (exact counts, for the custodian's eyes only, not for release):" in added.out
    assert "cells cannot be read (line 3) and count as missing." in added.out
    clinic.source.write_text("\n".join([*lines[:3], *lines[4:]]) + "\n")
    assert "(line 3)" in clinic.run("refresh", "visits").out


def test_init_says_a_path_that_the_schema_can_follow(clinic):
    place = clinic.folder / "schemas"
    place.mkdir()
    run("init", clinic.source, "--unit", "patient", "--output", place / "clinic.toml")
    assert 'source = "../visits.csv"' in (place / "clinic.toml").read_text()


def test_init_overwrites_nothing(clinic):
    before = clinic.schema.read_text()
    outcome = run("init", clinic.source)
    assert outcome.status == 2
    assert "is there already; name another file with --output" in outcome.err
    assert clinic.schema.read_text() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["init", "{folder}/absent.csv"], "does not exist"),
        (["init", "{folder}/visits.csv", "--unit", "pateint", "--output", "{folder}/x.toml"],
         "Did you mean 'patient'?"),
        (["add", "{folder}/absent.toml"], "is not a file; `discreet init FILE`"),
        (["add", "{folder}/visits.csv"], "visits.csv"),
        (["grant", "ana"], "--epsilon"),
        (["grant", "ana", "--epsilon", "lots"], "'lots' is not a number"),
        (["grant", "ana", "--epsilon", "nan"], "must be finite"),
        (["grant", "ana", "--epsilon", "-1"], "above 0"),
        (["grant", "ana", "--epsilon", "1", "--delta", "2"], "delta"),
    ],
)  # fmt: skip
def test_bad_input_is_named(words, message, clinic, monkeypatch):
    monkeypatch.chdir(clinic.folder)  # where a vault may be made
    outcome = run(*[word.format(folder=clinic.folder) for word in words])
    assert outcome.status == 2
    assert message in " ".join(outcome.err.split())


def test_an_unfilled_skeleton_is_refused_with_the_way_out(clinic):
    clinic.schema.unlink()
    run("init", clinic.source, "--unit", "patient")
    outcome = clinic.run("add", clinic.schema)
    assert outcome.status == 2
    assert "FILL-IN" in outcome.err


@pytest.mark.parametrize("how", [[], ["--in-place"]])
def test_add_then_refresh(how, clinic):
    added = clinic.run("add", clinic.schema, *how)
    assert added.status == 0
    assert "everything one patient contributed (at most 2 rows are used)" in added.out
    assert "Budget left of patients: epsilon 30 of 30." in added.out
    assert "discreet grant NAME" in added.out
    clinic.run("grant", "ana", "--epsilon", "1")
    clinic.source.write_text(clinic.source.read_text() + "99,30,north,2024-02-02,new\n")
    question = ("query", "SELECT COUNT(*) AS n FROM visits", "--as", "ana", "--epsilon", "0.1")
    changed = clinic.run(*question)
    assert changed.status == 1
    assert "discreet refresh visits" in changed.err
    refreshed = clinic.run("refresh", "visits")
    assert refreshed.status == 0
    assert "new data is not new budget" in refreshed.out
    assert clinic.run(*question).status == 0


def test_refreshing_an_unknown_table_names_the_known_ones(clinic):
    clinic.run("add", clinic.schema)
    outcome = clinic.run("refresh", "visit")
    assert outcome.status == 2
    assert "visits" in outcome.err


def test_grant_says_what_it_gave(clinic):
    assert "ana has epsilon 1 of 1" in clinic.run("grant", "ana", "--epsilon", "1").out
    with_delta = clinic.run("grant", "bo", "--epsilon", "1", "--delta", "1e-6")
    assert "epsilon 1 of 1 at delta 1e-06 (rho" in with_delta.out
    again = clinic.run("grant", "ana", "--epsilon", "2")
    assert again.status == 2
    assert "has a budget of epsilon=1" in again.err


def test_budgets_are_the_decimals_that_were_typed(clinic):
    clinic.run("grant", "ana", "--epsilon", "0.30000000000000000004")
    accounts = clinic.run("ledger", "--json").json["accounts"]
    assert accounts[0]["exact"]["limit"] == "7500000000000000001/25000000000000000000"


def test_inspect_is_labelled_and_warns(clinic):
    clinic.run("add", clinic.schema)
    outcome = clinic.run("inspect", "visits")
    assert outcome.status == 0
    assert "NOT FOR RELEASE" in outcome.out
    assert "depend on the data" in outcome.out
    found = clinic.run("inspect", "visits", "--json").json
    assert found["not_for_release"] is True
    assert "not for release" in found["warning"]
    assert found["counts"]["rows in the source"] == 120
    assert found["counts"]["rows kept"] == 80
    assert found["counts"]["age: cut to upper"] == 27


def test_the_schema_in_support_is_valid_toml(clinic):
    assert tomllib.loads(clinic.schema.read_text())["table"]["rows_per_unit"] == 2


@pytest.mark.parametrize("how", thinned([["--in-place"], []], 2, "ways of adding tables"))
def test_a_source_without_rows_is_told_to_the_custodian_alone(clinic, how, caplog):
    full = clinic.source.read_text()
    empty = full.partition("\n")[0] + "\n"
    clinic.source.write_text(empty)
    added = clinic.run("add", clinic.schema, *how)
    assert added.status == 0
    assert "The source has no rows (exact, for the custodian's eyes only" in added.out
    assert "Not read" not in added.out
    clinic.source.write_text(full)
    assert "no rows" not in clinic.run("refresh", "visits").out
    clinic.source.write_text(empty)
    assert "The source has no rows" in clinic.run("refresh", "visits").out
    assert clinic.run("grant", "ann", "--epsilon", "1").status == 0
    for words in (
        ["tables", "--as", "ann"],
        ["describe", "visits", "--as", "ann"],
        ["query", "SELECT COUNT(*) AS n FROM visits", "--as", "ann", "--epsilon", "0.1"],
        ["ledger"],
        ["verify"],
    ):
        shown = clinic.run(*words)
        assert shown.status == 0, shown.err
        assert "no rows" not in shown.out + shown.err
    kept = [file.read_bytes() for file in clinic.vault.rglob("*") if file.is_file()]
    assert not any(b"no rows" in each or b"is_empty" in each for each in kept)
    assert "no rows" not in caplog.text


def test_a_schema_of_a_file_without_names_can_be_added(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{n};{n % 50};{n % 27 + 1:02}.02.2024 14:30" for n in range(30)]
    Path("stays.csv").write_text("\n".join(rows) + "\n")
    said = run("init", "stays.csv", "--unit", "column_1")
    assert "line 1 looks like a row" in said.out
    text = Path("stays.toml").read_text()
    assert "p0" not in text + said.out
    assert 'type = "datetime", lower = FILL-IN, upper = FILL-IN }  # DATETIME' in text
    text = re.sub(
        r'("datetime"), lower = FILL-IN, upper = FILL-IN',
        r"\1, lower = 2024-01-01T00:00:00, upper = 2024-12-31T00:00:00",
        text,
    )
    text = text.replace("lower = FILL-IN, upper = FILL-IN", "lower = 0, upper = 99")
    Path("stays.toml").write_text(text.replace("FILL-IN", "1"))
    added = run("add", "stays.toml")
    assert added.status == 0, added.err
    assert "stays: 2 columns" in added.out
    assert "Not read" not in added.out


@pytest.mark.parametrize("line", ["0", "-3", "1000000"])
def test_init_takes_a_line_that_can_be(clinic, line):
    made = clinic.folder / "made.toml"
    refused = run("init", clinic.source, "--first-line", line, "--output", made)
    assert refused.status == 2
    assert "write the number of the line on which the table begins" in refused.err
    assert not made.exists()
    assert run("init", clinic.source, "--first-line", "1", "--output", made).status == 0
