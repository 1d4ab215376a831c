"""Pages and lists of the server by the length of the ledger: 1,000, 30,000 and 100,000 entries.
The middle of a few requests over loopback, in milliseconds; the peer is the same page at 1,000
entries, so a ratio near 1 says that its cost does not grow. Records are written in bulk.
"""

import http.client
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn

from discreet.server.accounts import Accounts, Role
from discreet.server.application import application
from discreet.server.logins import COOKIE, Logins
from discreet.streams import Monitor
from harness import Report

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.long_vaults import lengthen
from support.vaults import curator_of, people

LENGTHS = (1_000, 30_000, 100_000)
REPEATS = 15
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age < 45"
PATHS = {
    "ana": (
        "/tables",
        "/ask",
        "/history",
        "/services",
        "/api/v1/history",
        "/api/v1/answers",
        "/api/v1/monitors",
        "/api/v1/budget",
    ),
    "cora": (
        "/custodian",
        "/custodian/accounts",
        "/custodian/ledger",
        "/api/v1/custodian/ledger",
        "/api/v1/custodian/accounts",
    ),
}


def _seconds(port: int, path: str, headers: dict[str, str]) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    start = time.perf_counter()
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    took = time.perf_counter() - start
    connection.close()
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}")
    return took


def main() -> None:
    """Measure every page at every length."""
    report = Report("pages and lists, milliseconds, by the length of the ledger")
    first: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        curator_of(Path(name) / "h", people(), budget="epsilon = 1000") as curator,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        for analyst in ("ana", "bob"):
            curator.grant(analyst, epsilon=500)
        session = curator.session("ana")
        session.sql(COUNT, epsilon=0.1)
        Monitor.open(session, COUNT, threshold=1000, epsilon=1, name="fever")
        accounts = Accounts(curator.vault.states)
        tokens = {
            "ana": accounts.issue("ana", Role.ANALYST, days=1).text,
            "cora": accounts.issue("cora", Role.CUSTODIAN, days=1).text,
        }
        logins = Logins(accounts, hours=1)
        app = application(curator)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = listener.getsockname()[1]
        for length in LENGTHS:
            lengthen(curator, analysts=("ana", "bob"), entries=length)
            start = time.perf_counter()
            app.state.server.watch.look()
            whole = 1000 * (time.perf_counter() - start)
            report.faster(f"a check of everything (background), {length:,}", whole, None, "-")
            for who, paths in PATHS.items():
                cookie = logins.cookie(accounts.identify(tokens[who]))
                for path in paths:
                    headers = {"Authorization": f"Bearer {tokens[who]}"}
                    if not path.startswith("/api"):
                        headers = {"Cookie": f"{COOKIE}={cookie}"}
                    _seconds(port, path, headers)
                    times = [_seconds(port, path, headers) for _ in range(REPEATS)]
                    middle = 1000 * statistics.median(times)
                    peer = first.setdefault(path, middle)
                    report.faster(f"{path}, {length:,} entries", middle, peer, "at 1,000 entries")
        server.should_exit = True
        thread.join(60)


if __name__ == "__main__":
    main()
