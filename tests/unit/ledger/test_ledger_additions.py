"""Vaults of earlier versions get what was added, and keep everything; they are not renumbered, so
that an earlier version opens them as before.
"""

import sqlite3

import pytest

from discreet.ledger.store import tables as _tables
from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.schema.table import Budget


def pay(vault):
    return vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=0.1))


def added(vault):
    with vault._store.reading() as connection:
        rows = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    return {name for (name,) in rows} & set(_tables._ADDITIONS)


@pytest.mark.parametrize("name", _tables._ADDITIONS)
def test_an_earlier_vault_gets_what_was_added(tmp_path, monkeypatch, name):
    rest = {key: text for key, text in _tables._ADDITIONS.items() if key != name}
    with monkeypatch.context() as patched:
        patched.setattr(_tables, "_ADDITIONS", rest)
        with Vault.open(tmp_path / "vault") as vault:
            vault.ledger.add_account("population", "people", Budget(epsilon=1))
            vault.ledger.add_account("analyst", "ana", Budget(epsilon=1))
            paid = pay(vault)
            vault.releases.store("key", paid, b"noisy")
            before = vault.ledger.entries()
            assert added(vault) == set(rest)
    with Vault.open(tmp_path / "vault") as vault:
        assert added(vault) == set(_tables._ADDITIONS)
        assert vault.ledger.verify().sound
        assert vault.ledger.entries() == before
        assert vault.releases.find("key", analyst="ana").body == b"noisy"
        assert [each.receipt for each in vault.history.after(0, analyst="ana")] == [paid]
        pay(vault)
        vault.causes.add("ana", None, "x", "y")
    raw = sqlite3.connect(tmp_path / "vault" / FILE)
    assert raw.execute("PRAGMA user_version").fetchone() == (3,)
    raw.close()
