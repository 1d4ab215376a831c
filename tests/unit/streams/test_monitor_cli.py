"""monitor new, check, run, renew and list, as people type them."""

import json

import pytest

from support.command_line import copied_clinic, write_clinic

COUNT = "SELECT COUNT(*) FROM visits"
AS = ("--as", "ana")


def registered(folder):
    made = write_clinic(folder)
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ana", "--epsilon", "10").status == 0
    return made


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return registered(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def clinic(prepared, tmp_path):
    return copied_clinic(prepared, tmp_path)


@pytest.fixture(scope="module")
def watched(prepared, tmp_path_factory):
    """The same, with a monitor."""
    made = copied_clinic(prepared, tmp_path_factory.mktemp("watched"))
    assert new(made).status == 0
    return made


def new(clinic, name="busy", *, threshold=10**7, alarms=2, more=("--epsilon", "1")):
    words = ("--threshold", threshold, "--alarms", alarms, *more)
    return clinic.run("monitor", "new", name, COUNT, *AS, *words)


def left(clinic):
    accounts = clinic.run("ledger", "--json").json["accounts"]
    return {each["name"]: each["remaining"]["epsilon"] for each in accounts}["ana"]


def test_new_says_cost_and_error_and_charges_once(clinic):
    outcome = new(clinic, more=("--epsilon", "1", "--explain"))
    assert outcome.status == 0
    assert "A run costs epsilon 1. Nothing was run or charged." in outcome.out
    assert float(left(clinic)) == 10
    outcome = new(clinic)
    assert outcome.status == 0
    assert "Cost: epsilon 1. Left of analyst ana: epsilon 9 of 10." in outcome.out
    assert "With 95% for 100 checks together" in outcome.out
    again = new(clinic)
    assert "Nothing was run or charged" in again.out
    assert float(left(clinic)) == 9


def test_new_as_json(clinic):
    values = new(clinic, more=("--epsilon", "1", "--numbers", "0.25", "--json")).json
    assert values["charged"] is True
    assert values["cost"] == "epsilon 1"
    assert values["form"] == "monotone"
    assert values["number_error"] > 0
    assert values["error"] > 0


def test_check_says_below_and_above_and_stops(clinic):
    new(clinic)
    outcome = clinic.run("monitor", "check", "busy", *AS)
    assert outcome.status == 0
    assert "check 1: below" in outcome.out
    low = ("--threshold", "-10000000", "--json")
    values = clinic.run("monitor", "check", "busy", *AS, *low).json
    assert (values["said"], values["alarms_left"], values["check"]) == ("above", 1, 2)
    other = ("--sql", "SELECT COUNT(*) FROM visits WHERE age > 30")
    assert "below" in clinic.run("monitor", "check", "busy", *AS, *other).out
    assert clinic.run("monitor", "check", "busy", *AS, *low).json["alarms_left"] == 0
    refused = clinic.run("monitor", "check", "busy", *AS)
    assert refused.status == 1
    assert "2 of 2 alarms are used" in refused.err
    assert refused.out == ""


def test_run_checks_until_the_alarms_are_used_and_renew_begins_again(clinic):
    new(clinic, threshold=-(10**7))
    outcome = clinic.run("monitor", "run", "busy", *AS, "--every", "0", "--json")
    assert outcome.status == 0
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert [line["alarms_left"] for line in lines] == [1, 0]
    assert "The alarms of busy are used" in outcome.err
    assert float(left(clinic)) == 9
    renewed = clinic.run("monitor", "renew", "busy", *AS)
    assert "run 2 begins, with 2 alarm(s)" in renewed.out
    assert float(left(clinic)) == 8
    limited = clinic.run("monitor", "run", "busy", *AS, "--every", "0.01", "--checks", "1")
    assert "check 3: above; 1 alarm(s) left" in limited.out
    assert clinic.run("monitor", "renew", "busy", *AS).status == 2
    values = clinic.run("monitor", "list", "--json").json
    assert [each["run"] for each in values] == [2]


def one_more_visit(clinic):
    lines = clinic.source.read_text().splitlines()
    clinic.source.write_text("\n".join([*lines, lines[-1]]) + "\n")


def test_a_changed_source_is_refreshed_where_that_is_asked_for(tmp_path):
    clinic = registered(tmp_path)
    new(clinic)
    assert "below" in clinic.run("monitor", "check", "busy", *AS).out
    one_more_visit(clinic)
    refused = clinic.run("monitor", "check", "busy", *AS)
    assert refused.status == 1
    assert "the source has changed" in refused.err
    versions = []
    for _ in range(2):
        check = clinic.run("monitor", "check", "busy", *AS, "--refresh", "--json").json
        versions.append((check["said"], check["data_version"]))
    assert versions == [("below", "2")] * 2
    one_more_visit(clinic)
    words = ("--every", "0", "--checks", "2", "--refresh", "--json")
    outcome = clinic.run("monitor", "run", "busy", *AS, *words)
    found = [json.loads(line)["data_version"] for line in outcome.out.splitlines()]
    assert found == ["3", "3"]
    assert float(left(clinic)) == 9


def test_run_goes_on_after_a_failure_and_ends_after_three(clinic):
    new(clinic)
    for file in clinic.vault.rglob("*.duckdb"):
        file.write_bytes(b"broken")
    outcome = clinic.run("monitor", "run", "busy", *AS, "--every", "0")
    assert outcome.status == 1
    assert outcome.err.count("Trying again at the next time") == 2
    assert outcome.out == ""


def test_list_shows_everything_public(clinic):
    assert "There are no monitors" in clinic.run("monitor", "list").out
    new(clinic, "first")
    new(clinic, "second", threshold=5)
    clinic.run("monitor", "check", "first", *AS)
    outcome = clinic.run("monitor", "list")
    assert "first" in outcome.out
    assert "2 of 2 (run 1)" in outcome.out
    values = clinic.run("monitor", "list", *AS, "--json").json
    assert [each["name"] for each in values] == ["first", "second"]
    assert [each["checks"] for each in values] == [1, 0]
    assert values[0]["last"]["said"] == "below"
    assert "noise" not in json.dumps(values)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("check", "nobody", *AS), 2),
        (("check", "busy", "--as", "nobody"), 2),
        (("run", "busy", *AS, "--every", "-1"), 2),
        (("run", "busy", *AS, "--every", "nan"), 2),
        (("new", "x", "SELECT AVG(age) FROM visits", *AS, "--threshold", "1", "--epsilon", "1"), 2),
        (("new", "x", COUNT, *AS, "--threshold", "1", "--epsilon", "11"), 1),
        (("new", "x", COUNT, *AS, "--threshold", "1", "--rho", "1"), 1),
        (("new", "../x", COUNT, *AS, "--threshold", "1", "--epsilon", "1"), 2),
    ],
)
def test_refusals_are_one_line_with_a_status(watched, tmp_path, words, status):
    clinic = copied_clinic(watched, tmp_path)
    outcome = clinic.run("monitor", *words)
    assert outcome.status == status
    assert outcome.err.startswith("discreet: ")
    assert "Traceback" not in outcome.err
