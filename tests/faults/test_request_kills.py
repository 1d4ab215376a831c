"""A server that is killed at named points of a request with a key: started again, every key reaches
an end that stays, every question is charged once, and the sum is right. Loopback only.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from fractions import Fraction

import pytest

from discreet.curator.curator import Curator
from discreet.server.accounts import Accounts, Role
from support.vaults import curator_of, people

pytestmark = pytest.mark.slow("kills and processes")

PATIENCE = 240  # seconds for what should take a moment
GRID = "2"  # an answer that a busy machine makes later would be charged and not given
FINAL = (200, 410)
SERVER = """
import os, signal
from discreet.cli import main
from discreet.engines.duckdb.engine import DuckDB
from discreet.ledger.requests import Requests
from discreet.ledger.ledger import Ledger
from discreet.server.context import ServerContext

places = {"charge": (Ledger, "charge"), "rows": (DuckDB, "rows"), "settle": (Requests, "settle"),
          "shown": (ServerContext, "shown")}
name, _, when = os.environ["CUT"].partition(":")
if name:
    where, method = places[name]
    real = getattr(where, method)

    def cut(*given, **named):
        if when == "after":
            real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(where, method, cut)
main()
"""
FEW = ("charge:after", "rows:after", "settle:after")
ALL = ("charge:before", "rows:before", "settle:before", "shown:before", "shown:after", *FEW)


@contextmanager
def serving(folder, cut=""):
    """The port of a server that ends where it is told."""
    words = ["serve", "--port", "0", "--vault", str(folder), "--grid-seconds", GRID]
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, *words],
        env={**os.environ, "CUT": cut},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        with process.stdout as said:
            yield int(said.readline().split()[2].rpartition(":")[2]), process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE)


def ask(port, token, number):
    """The status and the body of one request with a key; None where the server ended."""
    sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {10 + number}"
    body = {"sql": sql, "epsilon": 0.01, "key": f"key-{number}"}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line:
        try:
            line.request("POST", "/api/v1/queries", json.dumps(body), headers)
            answer = line.getresponse()
            return answer.status, json.loads(answer.read()), answer.headers.get("Retry-After")
        except (OSError, http.client.HTTPException):
            return None, None, None


def ended(port, token, number, ends):
    """Ask until the outcome is final, then once more."""
    until = time.monotonic() + PATIENCE
    while (found := ask(port, token, number))[0] not in FINAL:
        assert time.monotonic() < until, found
        time.sleep(0.1)
    ends[number] = found, ask(port, token, number)


def kill_at_each(tmp_path, cuts):
    """The requests that came to an end, each cut off at its point before."""
    with curator_of(tmp_path / "c", people(), budget="epsilon = 50") as curator:
        curator.grant("ana", epsilon=40)
        token = Accounts(curator.vault.states).issue("ana", Role.ANALYST, days=1).text
    folder = tmp_path / "c" / "vault"
    for number, cut in enumerate(cuts):
        with serving(folder, cut) as (port, process):
            assert ask(port, token, number) == (None, None, None)
            assert process.wait(PATIENCE) == -signal.SIGKILL, cut
    ends = {}
    with serving(folder) as (port, _):
        threads = [
            threading.Thread(target=ended, args=(port, token, number, ends), daemon=True)
            for number in range(len(cuts))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2 * PATIENCE)
    for (status, body, retry), (again, same, _) in ends.values():
        assert status == again
        assert retry is None
        if status == 200:
            assert {**same, "free": None} == {**body, "free": None}  # the rows too: one draw
        else:  # where this machine was too slow after all, it says so for good
            assert "stays charged, there is no answer" in body["detail"]
            assert same == body
    with Curator.open(folder, price_floor=0) as curator:
        assert curator.ledger.verify().sound
        charges = [entry for entry in curator.ledger.entries() if entry.act == "charge"]
        asked = [entry.said["question"] for entry in charges]
        assert sorted(asked) == sorted(set(asked))  # each once
        assert len(asked) == len(cuts)
        assert curator.ledger.account("analyst", "ana").spent == Fraction(len(cuts), 100)
        paid = [each.receipt.id for each in curator.vault.releases.transcript("ana")]
        assert len(paid) == len(set(paid))
    return sorted(ends)


def test_a_server_killed_on_the_way_finishes_every_key(tmp_path):
    assert kill_at_each(tmp_path, FEW) == list(range(len(FEW)))


@pytest.mark.soak
def test_a_server_killed_at_every_point_finishes_every_key(tmp_path):
    assert kill_at_each(tmp_path, ALL * 2) == list(range(2 * len(ALL)))
