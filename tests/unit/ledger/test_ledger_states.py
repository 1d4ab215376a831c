"""States of services: each follows the one before, moves with its charge, and cannot be rolled
back unseen."""

import shutil
import sqlite3
import threading

import pytest

from discreet.errors import BudgetExceeded, InvalidValue, Stale, Unavailable
from discreet.ledger.states import Change
from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.schema import Budget


def accounts(vault):
    vault.ledger.add_account("population", "people", Budget(epsilon=1))
    vault.ledger.add_account("analyst", "ana", Budget(epsilon=1))
    return vault


@pytest.fixture
def vault(new_vault):
    return accounts(new_vault)


def change(version, body=b"secret 7", name="fever"):
    return Change(analyst="ana", name=name, kind="monitor", version=version, body=body)


def pay(vault, epsilon, state):
    return vault.ledger.charge(
        population="people", analyst="ana", loss=Pure(epsilon=epsilon), state=state
    )


def test_a_state_follows_the_one_before(vault):
    vault.states.put(change(1))
    vault.states.put(change(2, b"secret 8"))
    found = vault.states.newest("fever", analyst="ana")
    assert (found.version, found.body, found.kind) == (2, b"secret 8", "monitor")
    assert vault.states.newest("fever", analyst="bob") is None
    for version in (0, 1, 2, 4):
        with pytest.raises(Stale, match="is at version 2 already"):
            vault.states.put(change(version))
    assert vault.states.newest("fever", analyst="ana") == found
    assert vault.states.put(found.next(b"secret 9")).version == 3
    assert vault.ledger.verify().sound


def test_secrets_are_not_shown(vault):
    made = vault.states.put(change(1))
    assert "secret" not in repr(made) + repr(change(1)) + str(made.next(b"secret"))


def test_a_charge_and_its_state_are_one(vault):
    receipt = pay(vault, 0.5, change(1))
    assert vault.states.newest("fever", analyst="ana").entry == receipt.sequence
    with pytest.raises(Stale):
        pay(vault, 0.1, change(1))
    with pytest.raises(BudgetExceeded):
        pay(vault, 0.6, change(2))
    assert float(vault.ledger.remaining("analyst", "ana").epsilon) == 0.5
    assert vault.states.newest("fever", analyst="ana").version == 1
    assert [entry.sequence for entry in vault.ledger.entries()][-1] == receipt.sequence


def test_of_many_who_move_at_once_one_does(vault):
    outcomes: list[str] = []

    def move():
        try:
            pay(vault, 0.01, change(1))
            outcomes.append("moved")
        except Stale:
            outcomes.append("stale")

    threads = [threading.Thread(target=move) for _ in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(outcomes) == ["moved"] + ["stale"] * 11
    assert float(vault.ledger.remaining("analyst", "ana").epsilon) == 0.99


def test_a_name_keeps_its_kind(vault):
    vault.states.put(change(1))
    other = Change(analyst="ana", name="fever", kind="account", version=2, body=b"")
    with pytest.raises(InvalidValue, match="is a monitor, not an account"):
        vault.states.put(other)
    assert vault.states.newest("fever", analyst="ana").version == 1


def test_names_are_listed_in_order(vault):
    for name in ("b", "a"):
        vault.states.put(change(1, name=name))
    assert vault.states.names(analyst="ana", kind="monitor") == ("b", "a")
    assert vault.states.names(analyst="ana", kind="synopsis") == ()


@pytest.mark.parametrize("name", ["", ".x", "a b", "x" * 65, None, "a/b"])
def test_names_are_plain(name):
    with pytest.raises(InvalidValue, match="cannot be used"):
        change(1, name=name)


@pytest.mark.parametrize(
    "script",
    [
        "DELETE FROM states WHERE version = 2",
        "UPDATE states SET body = x'00' WHERE version = 2",
        "INSERT INTO states VALUES (3, 'ana', 'fever', 'monitor', 3, 2, x'00')",
    ],
)
def test_tampering_with_a_state_is_found(tmp_path, script):
    folder = tmp_path / "vault"
    with Vault.open(folder) as vault:
        accounts(vault).states.put(change(1))
        vault.states.put(change(2))
    with sqlite3.connect(folder / FILE) as raw:
        for name in ("states_no_update", "states_no_delete"):
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute(script)
    raw.close()
    with Vault.open(folder) as vault:
        assert not vault.ledger.verify().sound
        with pytest.raises(Unavailable, match="not sound"):
            vault.states.newest("fever", analyst="ana")


def test_an_older_copy_is_refused_even_after_it_was_adopted(tmp_path):
    folder, copy = tmp_path / "vault", tmp_path / "copy.db"
    with Vault.open(folder) as vault:
        accounts(vault).states.put(change(1))
    shutil.copy(folder / FILE, copy)
    with Vault.open(folder) as vault:
        vault.states.put(change(2))
    for each in folder.glob(f"{FILE}*"):
        each.unlink()
    shutil.copy(copy, folder / FILE)
    with Vault.open(folder) as vault:
        with pytest.raises(Unavailable, match="not sound"):
            vault.states.newest("fever", analyst="ana")
        vault.ledger.adopt({"why": "restored"})
        with pytest.raises(Unavailable, match="before the ledger was adopted"):
            vault.states.newest("fever", analyst="ana")
        vault.states.put(change(1, name="other"))
        assert vault.states.newest("other", analyst="ana").version == 1


def test_a_vault_of_the_second_version_gets_the_table(tmp_path):
    folder = tmp_path / "vault"
    with Vault.open(folder) as vault:
        accounts(vault)
    with sqlite3.connect(folder / FILE) as raw:
        raw.execute("DROP TABLE states")
        raw.execute("PRAGMA user_version = 2")
    raw.close()
    with Vault.open(folder) as vault:
        vault.states.put(change(1))
        assert vault.ledger.verify().sound
