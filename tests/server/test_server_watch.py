"""The ledger is checked in full in the background: pages check new entries only and say when all of
it was found sound; an old entry that was changed is found, told, and stops answers.
"""

import re
import sqlite3
import threading
from datetime import UTC, datetime

import pytest

from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.ledger import Ledger
from discreet.ledger.store import chain as _chain
from discreet.ledger.vault import FILE, Vault
from discreet.schema.table import Budget
from discreet.server import watch as module
from discreet.server.logins import COOKIE, Logins
from discreet.server.watch import Watch
from support.served_vault import serve_vault

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server whose background check runs when the test says so."""
    monkeypatch.setattr(Watch, "start", lambda _: None)
    yield from serve_vault(tmp_path / "h")


def cookie_of(served, who):
    return Logins(served.accounts, hours=1).cookie(served.accounts.identify(served.tokens[who]))


def page(served, path, who="cora", cookie=None):
    cookie = cookie or cookie_of(served, who)
    return served.client.get(path, headers={"Cookie": f"{COOKIE}={cookie}"})


def changed(served, statement):
    raw = sqlite3.connect(served.curator.vault.folder / FILE)
    with raw:
        raw.execute("DROP TRIGGER IF EXISTS entries_no_update")
        raw.execute(statement)
    raw.close()


def test_pages_check_no_old_entry_again(served, monkeypatch):
    served.call("ana", "POST", "/queries", json={"sql": COUNT, "epsilon": 0.1})

    def verify(_):
        raise AssertionError("a page checked everything")

    monkeypatch.setattr(Ledger, "verify", verify)
    monkeypatch.setattr(Ledger, "entries", verify)
    for path in ("/custodian", "/custodian/ledger", "/custodian/accounts"):
        assert page(served, path).status_code == 200
    for path in ("/history", "/services", "/tables"):
        assert page(served, path, "ana").status_code == 200


def test_a_page_says_when_all_of_it_was_checked(served):
    watch = served.client.app.state.server.watch
    for path in ("/custodian", "/custodian/ledger"):
        assert "are being verified now" in page(served, path).text
    watch._now = lambda: datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert watch.look().found.sound
    for path in ("/custodian", "/custodian/ledger"):
        assert "Verified in full at 2030-01-02 03:04 UTC" in page(served, path).text
        assert f"{served.curator.ledger.count()} entries" in page(served, path).text


def test_an_old_entry_that_was_changed_is_found_told_and_stops_answers(served):
    asked = {"sql": COUNT, "epsilon": 0.1}
    assert served.call("ana", "POST", "/queries", json=asked).status_code == 200
    watch = served.client.app.state.server.watch
    watch._now = lambda: datetime(2030, 1, 1, tzinfo=UTC)
    watch.look()
    (memo,) = (each.memo for each in served.curator.ledger.entries() if each.act == "charge")
    changed(served, "UPDATE entries SET memo = '{}' WHERE act = 'charge'")
    assert "The ledger is sound" in page(served, "/custodian").text  # not looked at again
    watch._now = lambda: datetime(2030, 1, 2, tzinfo=UTC)
    watch.look()
    text = page(served, "/custodian").text
    assert re.search(r"The ledger is not sound: entry \d+ was changed", text)
    assert "Found by the check of 2030-01-02 00:00 UTC" in text
    assert "nothing wrong was at 2030-01-01 00:00 UTC" in text
    entries = served.curator.ledger.count()
    for path, body in (
        ("/queries", asked),
        ("/queries", {"sql": COUNT, "epsilon": 0.2}),
        ("/monitors", {"name": "m", "sql": COUNT, "threshold": 5, "epsilon": 0.1}),
    ):
        refused = served.call("ana", "POST", path, json=body)
        assert refused.status_code == 503
        assert "is not sound" in refused.json()["detail"]
        assert "entry" not in refused.json()["detail"]  # which one is the custodian's to know
    assert served.curator.ledger.count() == entries
    (line,) = served.call("ana", "GET", "/history").json()
    assert served.call("ana", "GET", f"/answers/{line['id']}").status_code == 503
    raw = sqlite3.connect(served.curator.vault.folder / FILE)
    with raw:
        raw.execute("UPDATE entries SET memo = ? WHERE act = 'charge'", (memo,))
    raw.close()
    assert watch._wake.is_set()  # a refusal asks for another look soon
    assert watch.look().found.sound
    assert served.call("ana", "POST", "/queries", json=asked).status_code == 200


def test_a_new_entry_that_is_wrong_is_found_by_the_next_look_at_a_page(served):
    served.call("ana", "POST", "/queries", json={"sql": COUNT, "epsilon": 0.1})
    cookie = cookie_of(served, "cora")
    assert page(served, "/custodian", cookie=cookie).status_code == 200
    raw = sqlite3.connect(served.curator.vault.folder / FILE)
    with raw:
        raw.execute("INSERT INTO seals SELECT max(number) + 1, 'entry', '9', 'x', 'y' FROM seals")
    raw.close()
    assert page(served, "/custodian", cookie=cookie).status_code == 503


def test_others_read_and_charge_while_everything_is_checked(served, monkeypatch):
    """The check stands still in the middle, as a long one would; nobody waits for it."""
    assert served.call("ana", "POST", "/queries", json={"sql": COUNT, "epsilon": 0.1}).is_success
    begun, go_on = threading.Event(), threading.Event()
    take, checking = _chain.Chain._take, []

    def slow(chain, connection, seal):
        if threading.current_thread() in checking:
            begun.set()
            go_on.wait()
        take(chain, connection, seal)

    monkeypatch.setattr(_chain.Chain, "_take", slow)
    watch = served.client.app.state.server.watch
    thread = threading.Thread(target=watch.look)
    checking.append(thread)
    thread.start()
    begun.wait()
    try:
        assert page(served, "/custodian/ledger").status_code == 200
        assert served.call("ana", "GET", "/history").status_code == 200
        asked = served.call("ana", "POST", "/queries", json={"sql": COUNT, "epsilon": 0.2})
        assert asked.status_code == 200
        assert watch.seen is None
    finally:
        go_on.set()
        thread.join()
    assert watch.seen.found.sound


def test_a_vault_is_closed_without_waiting_for_a_check(tmp_path, monkeypatch):
    vault = Vault.open(tmp_path / "vault")
    vault.ledger.add_account("population", "people", Budget(epsilon=1))
    begun, go_on, found = threading.Event(), threading.Event(), []
    take = _chain.Chain._take

    def slow(chain, connection, seal):
        begun.set()
        go_on.wait()
        take(chain, connection, seal)

    monkeypatch.setattr(_chain.Chain, "_take", slow)

    def verify():
        with pytest.raises(InvalidValue, match="closed meanwhile"):
            vault.ledger.verify()
        found.append("halted")

    for number in range(3):
        vault.ledger.add_account("analyst", f"a{number}", Budget(epsilon=1))
    thread = threading.Thread(target=verify)
    thread.start()
    begun.wait()
    closing = threading.Thread(target=vault.close)
    closing.start()
    vault._store._keeper._halt.wait()
    go_on.set()
    closing.join()
    thread.join()
    assert found == ["halted"]


def test_the_background_check_goes_on_until_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(module, "_SHARE", 0)
    with Vault.open(tmp_path / "vault") as vault:
        watch, looks = Watch(vault.ledger), threading.Semaphore(0)
        look = watch.look

        def counted():
            found = look()
            looks.release()
            return found

        watch.look = counted
        watch.start()
        for _ in range(3):
            looks.acquire()
        watch.close()
        watch._thread.join()
        watch.refuse_tampered()
        assert watch.seen.good == watch.seen.when


def test_a_server_that_was_checked_before_it_listened_refuses_at_once(served):
    watch = served.client.app.state.server.watch
    changed(served, 'UPDATE entries SET memo = \'{"x":"y"}\' WHERE sequence = 1')
    watch.look()
    with pytest.raises(Unavailable, match="is not sound"):
        watch.refuse_tampered()
