"""tables and describe, limits, suggestions, and the steps that messages offer, as people type."""

import json
import re
import shlex

import pytest

from support.command_line import copied_clinic, run, write_clinic

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("prepared"))
    text = made.schema.read_text()
    text = text.replace('name = "visits"', 'name = "visits"\ndescription = "Every visit."')
    made.schema.write_text(text.replace("upper = 50 }", 'upper = 50, description = "in years" }'))
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ana", "--epsilon", "5").status == 0
    return made


@pytest.fixture
def clinic(prepared, tmp_path):
    return copied_clinic(prepared, tmp_path)


def test_tables_lists_what_there_is(clinic):
    outcome = clinic.run("tables")
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        "visits  3 columns; protects each patient, at most 2 rows  Every visit.",
        f"Next: discreet describe TABLE --vault {clinic.vault}",
    ]
    (table,) = clinic.run("tables", "--json").json
    assert table == clinic.run("describe", "visits", "--json").json
    assert str(clinic.folder) not in json.dumps(table)
    assert table["columns"][0]["description"] == "in years"


def test_describe_shows_everything_public(clinic):
    outcome = clinic.run("describe", "visits", "--as", "ana")
    for part in ("visits: Every visit.", "0 to 50", "in years", "north, south", "Note: At most 2",
                 "Budget left of population patients: epsilon 30 of 30.",
                 "Budget left of analyst ana: epsilon 5 of 5.", "SELECT COUNT(*) AS n FROM visits",
                 ):  # fmt: skip
        assert part in outcome.out, part
    assert "analyst ana" not in clinic.run("describe", "visits").out


def test_every_question_that_describe_offers_is_answered(clinic):
    offered = clinic.run("describe", "visits", "--json").json["examples"]
    assert len(offered) == 4
    for sql in offered:
        assert clinic.run("query", sql, "--as", "ana", "--epsilon", "0.1").status == 0, sql


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("describe", "vists"), "Did you mean 'visits'?"),
        (("describe", "visits", "--as", "anna"), "no analyst 'anna'"),
        (("tables", "--as", "anna"), "no analyst 'anna'"),
    ],
)
def test_a_name_that_is_not_there_is_refused(clinic, words, near):
    outcome = clinic.run(*words)
    assert outcome.status in (1, 2)
    assert near in outcome.err
    assert outcome.out == ""


def test_an_empty_vault_says_what_to_do(tmp_path):
    folder = tmp_path / "vault"
    assert run("grant", "ana", "--epsilon", "1", "--vault", folder).status == 0
    assert run("tables", "--vault", folder).out.splitlines() == [
        "No table is registered yet.", f"Next: discreet add SCHEMA --vault {folder}"]  # fmt: skip


def test_explain_suggests_a_limit_that_query_takes(clinic):
    words = (COUNT, "--as", "ana", "--epsilon", "0.5")
    shown = clinic.run("explain", *words).out
    assert "suggestion" in shown
    facts = clinic.run("explain", *words, "--json").json
    (offered,) = facts["suggestions"]
    option = "--" + offered["option"].replace("_", "-")
    limited = clinic.run("explain", *words, option, offered["value"], "--json").json
    assert limited["error"] == offered["error"]
    assert limited["error"]["n"] < facts["error"]["n"]
    answer = clinic.run("query", *words, option, offered["value"], "--json").json
    assert f"{offered['option']}={offered['value']}" in answer["receipt"]["question"]
    assert clinic.run("query", *words, option, offered["value"], "--json").json["free"] is True
    assert clinic.run("query", *words, "--json").json["free"] is False


@pytest.mark.parametrize("option", ["--max-rows-contributed", "--max-groups-contributed"])
def test_a_limit_is_at_least_one(clinic, option):
    outcome = clinic.run("query", COUNT, "--as", "ana", "--epsilon", "1", option, "0")
    assert outcome.status == 2
    assert "at least 1. Nothing was run or charged." in outcome.err


@pytest.mark.parametrize("command", ["explain", "query"])
def test_a_constant_that_a_column_cannot_have_is_refused(clinic, command):
    before = clinic.run("ledger", "--json").json
    for condition, near in (("region = 'nroth'", "'north'"), ("age > 60", "50"),
                            ("day = '2023-12-31'", "2024-01-01")):  # fmt: skip
        sql = f"SELECT COUNT(*) AS n FROM visits WHERE {condition}"
        outcome = clinic.run(command, sql, "--as", "ana", "--epsilon", "1")
        assert outcome.status == 1
        assert f"the nearest is {near}. Nothing was run or charged." in outcome.err
    assert clinic.run("ledger", "--json").json == before


@pytest.mark.parametrize("more", [(), ("--delta", "1e-06")])
@pytest.mark.parametrize("name", ["ana", "ana.b@clinic+1"])
def test_the_command_that_a_refused_grant_names_works(clinic, name, more):
    clinic.run("grant", name, "--epsilon", "5")
    refused = clinic.run("grant", name, "--epsilon", "7.5", *more)
    assert refused.status == 2
    offered = re.search(r"run `discreet (.*)`\. Nothing was changed", refused.err).group(1)
    outcome = clinic.run(*shlex.split(offered.replace("TEXT", "'second year'")))
    assert outcome.status == 0, outcome.err
    assert "epsilon 7.5 of 7.5" in outcome.out
    assert clinic.run("grant", name, "--epsilon", "7.5", *more).status == 0  # the same now
    assert clinic.run("verify").status == 0


def test_the_command_that_a_refused_schema_names_works(clinic):
    text = clinic.schema.read_text()
    clinic.schema.write_text(text.replace("epsilon = 30", "epsilon = 40"))
    refused = clinic.run("add", clinic.schema)
    offered = re.search(r"run `discreet (.*)`\. Nothing was", refused.err).group(1)
    assert clinic.run(*shlex.split(offered)).status == 0
    assert clinic.run("add", clinic.schema).status == 0
