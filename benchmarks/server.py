"""The server under load, on loopback only: refused questions, charged questions, health while slow
questions run; and what a guess at a token costs, for names that are and are not there. Bounded in
count and time; prints rates and percentiles, and the goal that each is compared with.
"""

import argparse
import base64
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

_SCHEMA = """
[table]
name = "visits"
source = "visits.csv"
population = "patients"
unit = "patient"
rows_per_unit = 2
[columns]
age    = { type = "integer", lower = 0, upper = 110 }
region = { type = "category", keys = ["north", "south"] }
[budget]
epsilon = 1000000
"""
_SECONDS = 60


def _make_vault(folder: Path, rows: int) -> dict[str, str]:
    from discreet.curator.curator import Curator
    from discreet.server.accounts import Accounts, Role

    lines = ["patient,age,region"]
    lines += [f"{n // 2},{n % 90},{'north' if n % 3 else 'south'}" for n in range(rows)]
    (folder / "visits.csv").write_text("\n".join(lines))
    (folder / "visits.toml").write_text(_SCHEMA)
    with Curator.open(folder / "vault", price_floor=0) as curator:
        curator.add(folder / "visits.toml")
        accounts = Accounts(curator.vault.states)
        tokens = {}
        for n in range(4):
            curator.grant(f"ana{n}", epsilon=100000)
            tokens[f"ana{n}"] = accounts.issue(f"ana{n}", Role.ANALYST, days=1).text
    return tokens


class Load:
    """Clients that ask as fast as they are answered."""

    def __init__(self, port: int, tokens: list[str]) -> None:
        self.port, self.tokens = port, tokens
        self.times: list[float] = []
        self.statuses: dict[int, int] = {}
        self.lock = threading.Lock()

    def run(self, clients: int, each: int, body) -> float:
        """Seconds that all requests took."""
        threads = [
            threading.Thread(target=self._client, args=(client, each, body))
            for client in range(clients)
        ]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_SECONDS * 4)
        return time.perf_counter() - start

    def _client(self, client: int, each: int, body) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        headers = {
            "Authorization": f"Bearer {self.tokens[client % len(self.tokens)]}",
            "Content-Type": "application/json",
        }
        until = time.monotonic() + _SECONDS
        for number in range(each):
            if time.monotonic() > until:
                break
            start = time.perf_counter()
            connection.request("POST", "/api/v1/queries", json.dumps(body(client, number)), headers)
            answer = connection.getresponse()
            json.loads(answer.read())
            with self.lock:
                self.times.append(time.perf_counter() - start)
                self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        connection.close()


def _report(case: str, load: Load, seconds: float, goal: str) -> dict[str, object]:
    times = sorted(load.times)
    rate = len(times) / seconds
    wanted = goal.partition("/s")[0]
    peer = float(wanted) if wanted.isdigit() else None
    return {
        "case": case,
        "ours": round(rate, 1),
        "unit": "requests/s",
        "peer": peer,
        "peer_name": "goal",
        "ratio": None if peer is None else round(rate / peer, 2),
        "p50_ms": round(1000 * statistics.median(times), 1),
        "p99_ms": round(1000 * times[int(0.99 * (len(times) - 1))], 1),
        "statuses": load.statuses,
        "goal": goal,
    }


def _port(server: subprocess.Popen[str]) -> int:
    """Where a server listens: it says so when it does."""
    assert server.stdout is not None
    with server.stdout as said:
        line = said.readline()
    if not line:
        raise SystemExit("the server did not start")
    return int(line.split()[2].rpartition(":")[2])


def _health(port: int, seconds: float) -> float:
    """The slowest of many looks at /health."""
    worst, until = 0.0, time.monotonic() + seconds
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    while time.monotonic() < until:
        start = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        worst = max(worst, time.perf_counter() - start)
        time.sleep(0.05)
    return worst


def _warming(client: int, number: int) -> dict[str, object]:
    sql = "SELECT COUNT(*) AS n FROM visits"
    return {"sql": sql, "epsilon": 0.001 + 0.0001 * number + 0.000001 * client}


def _guesses(scale: int) -> dict[str, object]:
    """What a wrong token costs the server, in microseconds: a name that is there, one that is not.

    In this process and interleaved, so that only the way through the code differs.
    """
    from discreet.curator.curator import Curator
    from discreet.server.accounts import Accounts, Role

    with (
        tempfile.TemporaryDirectory() as name,
        Curator.open(Path(name) / "vault", price_floor=0) as curator,
    ):
        accounts = Accounts(curator.vault.states)
        issued = [accounts.issue("ana", Role.ANALYST, days=1).text for _ in range(5)]
        there, token, secret = issued[0].split(".")
        absent = base64.urlsafe_b64encode(b"zoe").decode()
        wrong = {
            "known name, known token": f"{there}.{token}.{secret[::-1]}",
            "known name, unknown token": f"{there}.{token[::-1]}.{secret}",
            "unknown name": f"{absent}.{token}.{secret}",
        }
        times: dict[str, list[float]] = {case: [] for case in wrong}
        for _ in range(500 * scale):
            for case, text in wrong.items():
                start = time.perf_counter()
                accounts.identify(text)
                times[case].append(time.perf_counter() - start)
    found = {case: statistics.median(each) * 1e6 for case, each in times.items()}
    ours, peer = found["unknown name"], found["known name, unknown token"]
    return {
        "case": "wrong tokens",
        "ours": round(ours, 1),
        "unit": "microseconds, median",
        "peer": round(peer, 1),
        "peer_name": "a name that is there",
        "ratio": round(ours / peer, 3),
        "all": {case: round(each, 1) for case, each in found.items()},
        "goal": "the same within what a network hides",
    }


def measure(rows: int, scale: int) -> list[dict[str, object]]:
    """All cases, against one server process."""
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = list(_make_vault(folder, rows).values())
        command = ("-c", "from discreet.cli import main; main()", "serve", "--port", "0")
        server = subprocess.Popen(
            [
                sys.executable,
                *command,
                "--vault",
                str(folder / "vault"),
                "--requests-per-minute",  # what is measured is the server, not its limits
                "1000000",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            port = _port(server)
            Load(port, tokens).run(4, 5, _warming)  # the engine has started when it is measured
            load = Load(port, tokens)
            seconds = load.run(
                8, 50 * scale, lambda *_: {"sql": "SELECT age FROM visits", "epsilon": 1}
            )
            found.append(_report("refused", load, seconds, "300/s, p99 under 100 ms"))

            def charged(client: int, number: int) -> dict[str, object]:
                sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {1 + number % 100}"
                return {"sql": sql, "epsilon": 0.01 + 0.0001 * number + 0.000001 * client}

            load = Load(port, tokens)
            seconds = load.run(16, 25 * scale, charged)
            found.append(_report("charged, 16 clients", load, seconds, "150/s, p99 under 250 ms"))

            def other(client: int, number: int) -> dict[str, object]:
                return {
                    **charged(client, number),
                    "epsilon": 0.02 + 0.0001 * number + 1e-6 * client,
                }

            load = Load(port, tokens)
            worst: list[float] = []
            watch = threading.Thread(target=lambda: worst.append(_health(port, 3.0)))
            watch.start()
            seconds = load.run(64, 6 * scale, other)
            watch.join()
            report = _report("charged, 64 clients", load, seconds, "200, 429 and 503 only")
            found.append({**report, "health_ms": round(1000 * worst[0], 1)})
        finally:
            server.terminate()
            server.wait(60)
    found.append(_guesses(scale))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--scale", type=int, default=4)
    options = parser.parse_args()
    for case in measure(options.rows, options.scale):
        if options.json:
            print(json.dumps(case))
        else:
            print(", ".join(f"{name} {value}" for name, value in case.items()))


if __name__ == "__main__":
    main()
