"""Writes in groups: one transaction for many, each admitted or refused by itself, none lost."""

import os
import threading
import time

import pytest

from discreet.errors import BudgetExceeded, InvalidValue, Unavailable
from discreet.ledger.account import Holder
from discreet.ledger.store import group_commit as _groups
from discreet.loss import Pure
from discreet.schema import Budget


@pytest.fixture
def vault(new_vault):
    new_vault.ledger.add_account("population", "people", Budget(epsilon=1))
    for name in ("ana", "bob"):
        new_vault.ledger.add_account("analyst", name, Budget(epsilon=1))
    return new_vault


def pay(vault, epsilon=0.01, analyst="ana"):
    return vault.ledger.charge(population="people", analyst=analyst, loss=Pure(epsilon=epsilon))


class Held:
    """Holds the leader's place until many wait, so that the next transaction is theirs."""

    def __init__(self, vault):
        self._groups = vault._store._groups

    def __enter__(self):
        assert self._groups._lead.acquire()
        return self

    def until(self, count):
        deadline = time.monotonic() + 300
        while len(self._groups._queue) < count:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def __exit__(self, *_):
        self._groups._lead.release()
        self._groups._next_leader()


def together(vault, *works):
    """Run the works in threads, in one group; what each returned or raised."""
    found = [None] * len(works)

    def run(place, work):
        try:
            found[place] = work()
        except BaseException as error:  # noqa: BLE001 (looked at below)
            found[place] = error

    threads = []
    with Held(vault) as held:
        for place, work in enumerate(works):
            threads.append(threading.Thread(target=run, args=(place, work)))
            threads[-1].start()
            held.until(place + 1)
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()
    return found


def commits(vault, monkeypatch):
    """The transactions from now on, counted."""
    counted = []
    writing = vault._store._database.writing
    monkeypatch.setattr(
        vault._store._database, "writing", lambda: (counted.append(1), writing())[1]
    )
    return counted


def test_many_charges_share_one_transaction(vault, monkeypatch):
    counted = commits(vault, monkeypatch)
    receipts = together(vault, *[lambda: pay(vault)] * 12)
    assert len(counted) == 1
    assert [receipt.sequence for receipt in receipts] == list(range(4, 16))
    assert list(vault.ledger.entries()[3:])
    assert vault.ledger.verify().sound
    assert [entry.receipt for entry in vault.ledger.entries()[3:]] == receipts


def test_a_refused_charge_hurts_no_other(vault, monkeypatch):
    counted = commits(vault, monkeypatch)
    found = together(
        vault,
        lambda: pay(vault, 0.4),
        lambda: pay(vault, 0.7),  # too much after the first
        lambda: pay(vault, 0.1, "nobody"),
        lambda: pay(vault, 0.6, "bob"),  # exactly the rest
        lambda: pay(vault, 0.1, "bob"),
    )
    assert len(counted) == 1
    assert [type(each).__name__ for each in found] == [
        "Receipt",
        "BudgetExceeded",
        "InvalidValue",
        "Receipt",
        "BudgetExceeded",
    ]
    assert vault.ledger.account("population", "people").spent == 1
    assert vault.ledger.verify().sound


def test_work_that_fails_half_way_is_undone_and_hurts_no_other(vault):
    def half(error):
        def work(book):
            book.connection.execute("INSERT INTO sources VALUES ('path', ?, 'people')", (b"",))
            book.put(book.account(Holder.ANALYST, "ana").admit(Pure(epsilon=0.5)))
            raise error

        return lambda: vault._store.share(work)

    found = together(
        vault,
        lambda: pay(vault),
        half(InvalidValue("half-way")),
        half(RuntimeError("a bug")),
        lambda: pay(vault),
    )
    assert [type(each).__name__ for each in found] == [
        "Receipt",
        "InvalidValue",
        "RuntimeError",
        "Receipt",
    ]
    assert [found[0].sequence, found[3].sequence] == [4, 5]
    with vault._store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM sources").fetchone() == (0,)
    assert vault.ledger.verify().sound


def test_charges_and_releases_share_a_transaction(vault, monkeypatch):
    receipts = [pay(vault) for _ in range(3)]
    counted = commits(vault, monkeypatch)
    stores = [
        lambda receipt=receipt: vault.releases.store("q", receipt, b"noisy") for receipt in receipts
    ]
    found = together(vault, *stores, lambda: pay(vault), *stores)
    assert len(counted) == 1
    assert len(vault.releases.transcript("ana")) == 6
    assert found[3].sequence == 7


def test_a_failing_flush_is_said_to_all(vault):
    class Page:
        def __init__(self, page):
            self._page = page

        def __getattr__(self, name):
            return getattr(self._page, name)

        def settle(self):
            raise Unavailable("vault.db: the disk failed. Nothing was run; a charge may stand.")

    groups = vault._store._groups
    turn = groups._turn
    groups._turn = lambda connection: Page(turn(connection))
    found = together(vault, *[lambda: pay(vault)] * 3)
    groups._turn = turn
    assert [str(each) for each in found] == [
        "vault.db: the disk failed. Nothing was run; a charge may stand."
    ] * 3
    assert len(set(map(id, found))) == 3
    pay(vault)
    assert vault.ledger.verify().sound


def test_an_interrupted_waiter_takes_its_work_back(vault, monkeypatch):
    groups = vault._store._groups
    with Held(vault):
        finished = []

        def run():
            try:
                pay(vault)
            except KeyboardInterrupt:
                finished.append(len(groups._queue))

        def strike(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(_groups._Item, "wait", strike)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(300)
    assert finished == [0]
    assert pay(vault).sequence == 4


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_leader_leaves_the_others_their_turn(vault, when):
    """Before the commit the others go on; after it they hear that a charge may stand."""
    groups = vault._store._groups
    turn = groups._turn
    struck = []

    class Page:
        def __init__(self, page):
            self._page = page

        def __getattr__(self, name):
            return getattr(self._page, name)

        def strike(self, now):
            if now == when and not struck:
                struck.append(1)
                raise KeyboardInterrupt

        def save(self):
            self.strike("before")
            self._page.save()

        def settle(self):
            self.strike("after")
            self._page.settle()

    groups._turn = lambda connection: Page(turn(connection))
    found = together(vault, *[lambda: pay(vault)] * 4)
    kinds = sorted(type(each).__name__ for each in found)
    if when == "before":
        assert kinds == ["KeyboardInterrupt", "Receipt", "Receipt", "Receipt"]
        assert len(vault.ledger.entries()) == 6
    else:
        assert kinds == ["KeyboardInterrupt", "Unavailable", "Unavailable", "Unavailable"]
        assert "a charge may stand" in str(next(e for e in found if isinstance(e, Unavailable)))
        assert len(vault.ledger.entries()) == 7
    pay(vault)
    assert vault.ledger.verify().sound


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # that is the point
def test_a_child_leaves_the_waiting_to_its_parent(vault):
    with Held(vault) as held:
        threads = [threading.Thread(target=pay, args=(vault,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        held.until(3)
        child = os.fork()
        if not child:
            os._exit(0 if pay(vault, 0.02).sequence == 4 else 1)
        assert os.waitpid(child, 0)[1] == 0
    for thread in threads:
        thread.join(300)
    assert len(vault.ledger.entries()) == 7
    assert vault.ledger.account("analyst", "ana").spent * 100 == 5
    assert vault.ledger.verify().sound


def test_a_closed_vault_refuses_everyone_who_waits(vault):
    with Held(vault):
        found = []

        def run():
            try:
                pay(vault)
            except InvalidValue as error:
                found.append(str(error))

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        vault.close()
    for thread in threads:
        thread.join(300)
    assert len(found) == 3
    assert all("is closed; open it again" in each for each in found)


def test_many_threads_spend_exactly_the_budget(vault):
    granted, refused = [], []

    def work():
        for _ in range(10):
            try:
                granted.append(pay(vault, 0.01).sequence)
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(granted) == list(range(4, 104))
    assert len(refused) == 60
    assert vault.ledger.verify().sound
