"""Five minutes of load at a fixed rate: memory stays, nothing fails, the ledger equals the answers.
Loopback only; runs with the soak tests.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from discreet.curator.curator import Curator
from discreet.server.accounts import Accounts, Role
from support.vaults import curator_of, people

MAIN = ("-c", "from discreet.cli import main; main()")
SECONDS = int(os.environ.get("DISCREET_SOAK_SECONDS", "300"))
RATE = 50
CLIENTS = 10
WARM = 0.2  # the part of the run after which memory may grow no more
MOST_GROWTH = 1.10


def resident(pid):
    """The memory of a process and its children, in pages."""
    total = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(folder.name) == pid or int(stat[1]) == pid:
                total += int((folder / "statm").read_text().split()[1])
        except (OSError, ValueError):
            continue
    return total


class Rate:
    """Clients that together send so many requests a second, most of them new questions."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.statuses, self.receipts, self.lost, self.late = Counter(), set(), 0, 0
        self.lock = threading.Lock()

    def run(self, seconds):
        start = time.monotonic()
        threads = [
            threading.Thread(target=self._client, args=(client, start, seconds))
            for client in range(CLIENTS)
        ]
        for each in threads:
            each.start()
        return threads

    def _client(self, client, start, seconds):
        step = CLIENTS / RATE
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as line:
            for number in range(int(seconds / step)):
                due = start + client / RATE + number * step
                time.sleep(max(0.0, due - time.monotonic()))
                self._ask(line, client, number)

    def _ask(self, line, client, number):
        if number % 10 == 9:  # refused
            body = {"sql": "SELECT age FROM visits", "epsilon": 1}
        else:
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {1 + number % 100}"
            body = {"sql": sql, "epsilon": 0.001 + 1e-6 * (number + client * 10_000)}
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            line.request("POST", "/api/v1/queries", json.dumps(body), headers)
            answer = line.getresponse()
            found = json.loads(answer.read())
        except OSError:
            with self.lock:
                self.lost += 1
            return
        with self.lock:
            self.statuses[answer.status] += 1
            if answer.status == 200 and not found["free"]:
                self.receipts.add(found["receipt"]["id"])
            if answer.status == 503 and "The charge stays" in found["detail"]:
                self.late += 1  # a machine that is busy with other things is too slow at times


@pytest.mark.soak
def test_five_minutes_of_load(tmp_path):
    with curator_of(tmp_path / "c", people(), budget="epsilon = 1000000") as curator:
        curator.grant("ana", epsilon=100_000)
        token = Accounts(curator.vault.states).issue("ana", Role.ANALYST, days=1).text
    vault = tmp_path / "c" / "vault"
    server = subprocess.Popen(
        [
            sys.executable,
            *MAIN,
            "serve",
            "--port",
            "0",
            "--vault",
            str(vault),
            "--grid-seconds",
            "0.15",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        with server.stdout as said:
            port = int(said.readline().split()[2].rpartition(":")[2])  # it listens when it says so
        load = Rate(port, token)
        threads = load.run(SECONDS)
        time.sleep(SECONDS * WARM)
        sizes = [resident(server.pid)]
        while any(each.is_alive() for each in threads):
            time.sleep(1)
            sizes.append(resident(server.pid))
        print(
            f"statuses {dict(load.statuses)}, memory of the server in pages: {sizes[0]} after the "
            f"warm-up, {sizes[-1]} at the end, {max(sizes)} at most"
        )
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    asked = int(SECONDS * RATE / CLIENTS) * CLIENTS
    assert load.lost == 0
    assert sum(load.statuses.values()) == asked
    assert set(load.statuses) <= {200, 422, 429, 503}
    assert load.statuses[503] == load.late
    assert load.statuses[200] > asked / 2
    assert max(sizes) <= MOST_GROWTH * sizes[0]
    with Curator.open(vault, price_floor=0) as curator:
        assert curator.ledger.verify().sound
        charged = [e for e in curator.ledger.entries() if e.act.value == "charge"]
        kept = {each.receipt.id for each in curator.vault.releases.transcript("ana")}
    assert len(charged) == len(load.receipts) + load.late
    assert kept == load.receipts
