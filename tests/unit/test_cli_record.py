"""ledger and verify, on a ledger that is whole and on one that was tampered with."""

import sqlite3

import pytest

from support.command_line import copied_clinic, write_clinic

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("prepared"))
    made.run("add", made.schema)
    made.run("grant", "ana", "--epsilon", "1")
    made.run("query", COUNT, "--as", "ana", "--epsilon", "0.25")
    return made


@pytest.fixture
def clinic(prepared, tmp_path):
    return copied_clinic(prepared, tmp_path)


def test_the_ledger_shows_budgets_and_charges(clinic):
    outcome = clinic.run("ledger")
    assert outcome.status == 0
    for words in ("patients", "epsilon 29.75 of 30", "epsilon 0.75 of 1", "ana, patients", "0.25"):
        assert words in outcome.out
    found = clinic.run("ledger", "--json").json
    assert [entry["act"] for entry in found["entries"]] == ["open", "open", "charge"]
    charge = found["entries"][-1]
    assert charge["event"] == {"loss": "pure", "epsilon": "1/4"}
    assert charge["memo"]["question"] == COUNT
    assert {account["name"]: account["exact"]["spent"] for account in found["accounts"]} == {
        "patients": "1/4",
        "ana": "1/4",
    }


def test_a_whole_record_is_sound(clinic):
    outcome = clinic.run("verify")
    assert outcome.status == 0
    assert "sound: 3 entries" in outcome.out
    found = clinic.run("verify", "--json").json
    assert found["sound"] is True
    assert found["head"] in outcome.out
    assert clinic.run("ledger", "--json").json["entries"][-1]["id"] == found["head"][:20]


def test_a_changed_total_is_found(clinic):
    connection = sqlite3.connect(clinic.vault / "vault.db")
    with connection:
        connection.execute("UPDATE accounts SET spent = '0' WHERE name = 'ana'")
    connection.close()
    outcome = clinic.run("verify")
    assert outcome.status == 1
    assert "the ledger is not sound" in outcome.err
    assert "ana" in outcome.err
    found = clinic.run("verify", "--json")
    assert found.status == 1
    assert found.json["sound"] is False


def tamper(clinic):
    connection = sqlite3.connect(clinic.vault / "vault.db")
    with connection:
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("UPDATE entries SET memo = '{}' WHERE sequence = 3")
    connection.close()


def test_a_record_that_is_not_sound_answers_nothing_until_it_is_adopted(clinic):
    outcome = clinic.run("ledger", "adopt", "--why", "no reason")
    assert outcome.status == 2
    assert "there is nothing to adopt" in outcome.err
    tamper(clinic)
    outcome = clinic.run("verify")
    assert outcome.status == 1
    assert "not sound at entry 3: entry 3 was changed" in outcome.err
    for question in (COUNT, "SELECT COUNT(*) AS m FROM visits"):  # the first one would be free
        outcome = clinic.run("query", question, "--as", "ana", "--epsilon", "0.25")
        assert outcome.status == 1
        assert "the ledger of this vault is not sound" in outcome.err
        assert "entry" not in outcome.err
    outcome = clinic.run("ledger", "adopt", "--why", "the memo was lost")
    assert outcome.status == 0
    for words in ("entry 3 was changed", "in entry 4", "epsilon 0.75 of 1"):
        assert words in outcome.out
    entry = clinic.run("ledger", "--json").json["entries"][-1]
    assert entry["act"] == "adopt"
    assert entry["memo"]["why"] == "the memo was lost"
    assert "as it stood" in clinic.run("ledger").out
    assert clinic.run("verify").status == 0
    assert clinic.run("query", COUNT, "--as", "ana", "--epsilon", "0.25").status == 0


def test_a_key_makes_a_question_safe_to_send_again(clinic):
    asked = ("query", COUNT, "--as", "ana", "--epsilon", "0.5", "--key", "july", "--json")
    first, second = clinic.run(*asked).json, clinic.run(*asked).json
    assert (first["free"], second["free"]) == (False, True)
    assert first["rows"] == second["rows"]
    assert first["remaining"] == second["remaining"]
    other = clinic.run("query", COUNT, "--as", "ana", "--epsilon", "0.1", "--key", "july")
    assert other.status == 2
    assert "'july' was used for another question or price" in other.err
