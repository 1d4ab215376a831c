"""The ledger on a file and on a server: atomic charges to both accounts, which open once."""

import os
import re
import sqlite3
import stat
import threading
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from discreet.accounting.conversion import zcdp_epsilon
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable, UnprovableRequest
from discreet.ledger.entry import Act
from discreet.ledger.store import book as _book
from discreet.ledger.vault import FILE, Vault
from discreet.loss import ZCDP, Approximate, Pure
from discreet.schema import Budget

FILE_ONLY = pytest.mark.parametrize("new_vault", ["file"], indirect=True)


@pytest.fixture
def vault(new_vault):
    return new_vault


@pytest.fixture
def ledger(vault):
    vault.ledger.add_account("population", "people", Budget(epsilon=1))
    vault.ledger.add_account("analyst", "ana", Budget(epsilon=2))
    return vault.ledger


def pay(ledger, epsilon, analyst="ana"):
    return ledger.charge(population="people", analyst=analyst, loss=Pure(epsilon=epsilon))


def state(ledger):
    return ledger.accounts(), ledger.entries()


def test_both_accounts_are_charged(ledger):
    receipt = pay(ledger, 0.25)
    assert receipt.sequence == 3
    assert ledger.account("population", "people").spent == Fraction(1, 4)
    assert ledger.account("analyst", "ana").spent == Fraction(1, 4)
    assert ledger.entries()[-1].receipt == receipt
    assert ledger.verify().sound


def test_ten_tenths_then_no_more(ledger):
    for _ in range(10):
        pay(ledger, 0.1)
    before = state(ledger)
    with pytest.raises(
        BudgetExceeded, match=r"population 'people' to 1.1; the budget is 1. Ask at a lower"
    ):
        pay(ledger, 0.1)
    assert state(ledger) == before


def test_the_analysts_refusal_leaves_the_population_alone(ledger):
    ledger.add_account("analyst", "bob", Budget(epsilon=0.2))
    before = state(ledger)
    with pytest.raises(BudgetExceeded, match=r"analyst 'bob' to 0.3"):
        pay(ledger, 0.3, "bob")
    with pytest.raises(UnprovableRequest, match="pure budget"):
        ledger.charge(population="people", analyst="ana", loss=ZCDP(rho=0.1))
    assert state(ledger) == before


def test_each_account_prices_the_event_in_its_own_terms(ledger):
    ledger.add_account("analyst", "zoe", Budget(epsilon=1, delta=1e-6))
    pay(ledger, 0.1, "zoe")
    assert ledger.account("population", "people").spent == Fraction(1, 10)
    assert ledger.account("analyst", "zoe").spent == Fraction(1, 200)
    available = ledger.available(population="people", analyst="zoe")
    assert available.epsilon <= Fraction(9, 10)
    assert available.rho is None


def test_unknown_accounts_are_named_with_the_nearest(ledger):
    with pytest.raises(InvalidValue, match=r"no analyst 'anna'. Did you mean 'ana'"):
        pay(ledger, 0.1, "anna")
    with pytest.raises(InvalidValue, match=r"no population 'poeple'. Did you mean 'people'"):
        ledger.charge(population="poeple", analyst="ana", loss=Pure(epsilon=0.1))
    with pytest.raises(InvalidValue, match="write population or analyst"):
        ledger.remaining("custodian", "ana")


def test_an_account_opens_once(ledger):
    pay(ledger, 0.5)
    before = state(ledger)
    ledger.add_account("population", "people", Budget(epsilon=1))
    for other in (Budget(epsilon=2), Budget(epsilon=0.5), Budget(epsilon=1, delta=1e-6)):
        with pytest.raises(InvalidValue, match="has a budget of epsilon=1, delta=0 already"):
            ledger.add_account("population", "people", other)
    for share in (Fraction(1, 2), Fraction(1, 3)):
        other = Budget(epsilon=1, delta=1e-6, delta_for_conversion=share)
        with pytest.raises(InvalidValue) as refusal:
            ledger.add_account("population", "people", other)
        assert ("--delta-for-conversion" in str(refusal.value)) == (share != Fraction(1, 2))
    assert state(ledger) == before


def test_an_amendment_is_recorded_and_prices_the_past_again(ledger):
    for _ in range(4):
        pay(ledger, 0.1)
    ledger.amend("population", "people", Budget(epsilon=1, delta=1e-4), {"why": "Gaussian noise"})
    account = ledger.account("population", "people")
    assert account.spent == 4 * Fraction(1, 200)
    assert ledger.entries()[-1].act is Act.AMEND
    pay(ledger, 0.1)
    assert ledger.verify().sound
    with pytest.raises(BudgetExceeded, match=r"has spent more than epsilon=0\.1"):
        ledger.amend("population", "people", Budget(epsilon=0.1), {})
    assert ledger.account("population", "people").epsilon == 1
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.amend("population", "people", Budget(epsilon=0.1, delta=1e-4), {})
    account = ledger.account("population", "people")
    least = zcdp_epsilon(rho=account.spent, delta=account.conversion_delta)
    (offered,) = re.findall(r"at least epsilon ([\d.]+)\. Nothing was changed", str(refusal.value))
    assert least <= Fraction(offered) <= least * (1 + Fraction(1, 10**5))
    ledger.charge(population="people", analyst="ana", loss=Approximate(epsilon=0.1, delta=0))
    assert ledger.verify().sound


def test_an_amendment_that_cannot_price_the_past_is_refused(vault):
    ledger = vault.ledger
    for holder, name in (("population", "people"), ("analyst", "ana")):
        ledger.add_account(holder, name, Budget(epsilon=1, delta=1e-6))
    ledger.charge(population="people", analyst="ana", loss=ZCDP(rho=0.001))
    with pytest.raises(UnprovableRequest):
        ledger.amend("population", "people", Budget(epsilon=10), {})
    assert ledger.verify().sound


def test_time_never_runs_backwards(ledger, monkeypatch):
    class Clock:
        hours = iter([12, 11, 13])

        @classmethod
        def now(cls, zone):
            return datetime(2100, 1, 1, next(cls.hours), tzinfo=zone)

    monkeypatch.setattr(_book, "datetime", Clock)
    times = [pay(ledger, 0.1).time for _ in range(3)]
    assert [time[11:13] for time in times] == ["12", "12", "13"]
    assert all(time.endswith("Z") for time in times)
    assert UTC is _book.UTC


@FILE_ONLY
def test_entries_cannot_be_changed_or_removed_or_replaced(ledger, vault):
    pay(ledger, 0.1)
    raw = sqlite3.connect(vault.folder / FILE)
    for statement in (
        "UPDATE entries SET event = '{}'",
        "DELETE FROM entries",
        "REPLACE INTO entries SELECT 1, time, act, population, analyst, event, memo, previous, 'h' "
        "FROM entries WHERE sequence = 3",
        "INSERT INTO entries VALUES (9, '', 'open', '', '', '', '', '', '')",
        "DELETE FROM accounts",
        "UPDATE meta SET value = x''",
        "DELETE FROM head",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(statement)
    raw.close()
    assert ledger.verify().sound


@FILE_ONLY
def test_settings_of_the_file(vault):
    connection = vault._store._database._writer.own_connection()
    values = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    }
    assert values["journal_mode"] == "wal"
    assert values["synchronous"] == 2
    assert values["foreign_keys"] == 1
    assert values["busy_timeout"] >= 10_000
    tables = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'table'").fetchall()
    assert tables
    assert all("STRICT" in row[0] for row in tables)


@FILE_ONLY
def test_only_the_owner_may_look(vault):
    old = os.umask(0)
    try:
        with Vault.open(vault.folder / "inner" / "deep") as inner:
            inner.ledger.add_account("analyst", "ana", Budget(epsilon=1))
            paths = [inner.folder, *inner.folder.iterdir()]
            modes = [stat.S_IMODE(path.stat().st_mode) for path in paths]
    finally:
        os.umask(old)
    assert len(modes) == 4  # the folder, the file, its log and its index
    assert modes[0] == 0o700
    assert set(modes[1:]) == {0o600}


def test_threads_share_a_vault(ledger):
    refused = []

    def work():
        for _ in range(10):
            try:
                pay(ledger, 0.05)
            except BudgetExceeded as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 20
    assert ledger.account("population", "people").spent == 1
    assert ledger.verify().sound


def test_a_vault_opens_again_with_everything_in_it(vault, ledger):
    pay(ledger, 0.1)
    before = state(ledger)
    vault.close()
    with pytest.raises(InvalidValue, match="is closed; open it again"):
        pay(ledger, 0.1)
    with Vault.open(vault.folder) as again:
        assert state(again.ledger) == before


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 9, None])
def test_another_file_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / FILE
    if content is None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE something (x)")
        other.commit()
        other.close()
    else:
        path.write_bytes(content)
    with pytest.raises(Unavailable, match=r"^vault\.db"):
        Vault.open(tmp_path)
    if content:
        assert path.read_bytes() == content


@FILE_ONLY
def test_a_newer_vault_is_refused(vault):
    vault.close()
    raw = sqlite3.connect(vault.folder / FILE)
    raw.execute("PRAGMA user_version = 4")
    raw.close()
    with pytest.raises(Unavailable, match="not a vault of version 3 or before"):
        Vault.open(vault.folder)
