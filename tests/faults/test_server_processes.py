"""Servers as processes of their own: the client, kill -9 under load, two servers with one ledger,
a rolling restart. Loopback only, bounded in count and time.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

import discreet
from discreet.curator.curator import Curator
from discreet.errors import BudgetExceeded, DiscreetError, InvalidValue, Unavailable, UnsafeQuery
from discreet.server.accounts import Accounts, Role
from support.vaults import curator_of, people, write_schema, write_source

pytestmark = pytest.mark.slow("kills and processes")

MAIN = ("-c", "from discreet.cli import main; main()")
SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
PATIENCE = 240  # seconds for what should take a moment
GRID = "2"  # an answer that a busy machine makes later would be charged and not given


class Server:
    """A server process that can be killed and started again."""

    def __init__(self, folder):
        self.folder, self.port = folder, 0
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """On its port, or on another one if somebody has taken that meanwhile."""
        if not self._listens():
            self.port = 0
            assert self._listens(), "the server ended"

    def _listens(self):
        self.process = subprocess.Popen(
            [
                sys.executable,
                *MAIN,
                "serve",
                "--port",
                str(self.port),
                "--vault",
                str(self.folder),
                "--grid-seconds",
                GRID,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with self.process.stdout as said:
            line = said.readline()  # it listens when it says so; the line is empty if it ended
        if not line:
            self.process.wait(PATIENCE)
            return False
        self.port = int(line.split()[2].rpartition(":")[2])
        return True

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self):
        self.process.terminate()
        return self.process.wait(PATIENCE)


@contextmanager
def serving(folder):
    server = Server(folder)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


@pytest.fixture
def tokens(tmp_path):
    with curator_of(tmp_path / "c", people(), budget="epsilon = 50") as curator:
        curator.grant("ana", epsilon=40)
        accounts = Accounts(curator.vault.states)
        return {"ana": accounts.issue("ana", Role.ANALYST, days=1).text}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "c" / "vault"


def test_a_client_is_like_a_session(folder, tokens):
    with serving(folder) as server:
        client = discreet.Client(server.url, tokens["ana"])
        assert list(client.tables) == ["visits"]
        told = client.explain(SQL, epsilon=0.5)
        assert told["admitted"]
        answer = client.sql(SQL, epsilon=0.5, key="one")
        again = client.sql(SQL, epsilon=0.5)
        assert (answer.free, again.free) == (False, True)
        assert answer.to_dicts() == again.to_dicts() == client.transcript[0].to_dicts()
        assert float(client.remaining.epsilon) == 39.5
        averaged = client.sql("SELECT AVG(age) AS a FROM visits", error=30)
        assert averaged.bought is not None
        with pytest.raises(UnsafeQuery, match="charged"):
            client.sql("SELECT age FROM visits", epsilon=1)
        with pytest.raises(BudgetExceeded, match="Nothing was run or charged"):
            client.sql(SQL, epsilon=100)
        with pytest.raises(InvalidValue):
            client.sql(SQL)
        with pytest.raises(Unavailable):
            discreet.Client(server.url, "wrong").sql(SQL, epsilon=1)
        assert server.stop() == 0
    with Curator.open(folder, price_floor=0) as curator:
        local = curator.session("ana")
        assert local.transcript[0].to_dicts() == answer.to_dicts()
        assert local.transcript[0].receipt == answer.receipt
        assert local.transcript[0].intervals() == answer.intervals()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://example.org", "nothing", ""])
def test_a_client_sends_its_token_nowhere_in_the_clear(url):
    with pytest.raises(InvalidValue):
        discreet.Client(url, "token")


class Askers:
    """Clients that ask one question after the other until told to stop."""

    def __init__(self, servers, token, count):
        self.servers, self.token = servers, token
        self.received, self.refusals = [], []
        self.going = threading.Event()
        self.going.set()
        self.threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def _ask(self, asker):
        number = 0
        while self.going.is_set():
            number += 1
            server = self.servers[(asker + number) % len(self.servers)]
            client = discreet.Client(server.url, self.token, seconds=60)
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {1 + asker}"
            try:
                epsilon = 0.001 + number * 0.00001
                self.received.append(client.sql(sql, epsilon=epsilon, key=f"{asker}-{number}"))
            except DiscreetError as refusal:
                self.refusals.append(str(refusal))
                time.sleep(0.02)

    def wait_for(self, more):
        """Until so many answers more have come."""
        enough, until = len(self.received) + more, time.monotonic() + PATIENCE
        while len(self.received) < enough:
            assert time.monotonic() < until, self.refusals[-3:]
            time.sleep(0.02)

    def stop(self):
        self.going.clear()
        for thread in self.threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self.threads), "a client is stuck"


@contextmanager
def asking(servers, token, count):
    askers = Askers(servers, token, count)
    try:
        yield askers
    finally:
        askers.stop()


def check_record(curator, received):
    """The ledger is sound, and every answer that arrived was charged, once."""
    assert curator.ledger.verify().sound
    entries = curator.ledger.entries()
    charged = {entry.hash[:20] for entry in entries if entry.act == "charge"}
    assert {answer.receipt.id for answer in received} <= charged
    spent = sum(entry.loss.epsilon for entry in entries if entry.act == "charge")
    assert curator.ledger.account("analyst", "ana").spent == spent


def test_killed_under_load_it_restarts_and_nothing_was_given_unpaid(folder, tokens):
    with serving(folder) as server, asking([server], tokens["ana"], 6) as askers:
        for _ in range(3):
            askers.wait_for(10)
            server.kill()
            server.start()
        askers.wait_for(5)
    with Curator.open(folder, price_floor=0) as curator:
        check_record(curator, askers.received)


def test_two_servers_share_a_ledger_and_a_rolling_restart_loses_nothing(tmp_path, ledger_url):
    folders = [tmp_path / "one", tmp_path / "two"]
    source = tmp_path / "s"
    source.mkdir()
    write_source(source, people())
    schema = write_schema(source, budget="epsilon = 50")
    with Curator.open(ledger_url, folder=folders[0], price_floor=0) as curator:
        curator.add_in_place(schema)
        curator.grant("ana", epsilon=40)
        token = Accounts(curator.vault.states).issue("ana", Role.ANALYST, days=1).text
    shutil.copytree(folders[0].with_name("one.seal"), folders[1].with_name("two.seal"))
    with Curator.open(ledger_url, folder=folders[1], price_floor=0) as curator:
        assert curator.ledger.verify().sound
    with (
        serving(folders[0]) as first,
        serving(folders[1]) as second,
        asking([first, second], token, 4) as askers,
    ):
        for server in (first, second):
            askers.wait_for(8)
            assert server.stop() == 0
            server.start()
    with Curator.open(ledger_url, folder=folders[0], price_floor=0) as curator:
        check_record(curator, askers.received)
