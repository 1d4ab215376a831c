"""A served vault in several worlds that differ only in what its engine does: fast, slow or failing,
as one person's rows may make it. And every route of the application.
"""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from discreet.curator.curator import Curator
from discreet.curator.runs.lanes import Lanes
from discreet.engines.protocol import MESSAGE
from discreet.errors import Unavailable
from discreet.ledger.entry import MOMENT
from discreet.server.accounts import Accounts, Role
from discreet.server.application import application
from discreet.server.logins import COOKIE
from discreet.server.settings import Settings
from support.clocks import HeldClock, InstantClock
from support.vaults import people, write_schema, write_source

API = "/api/v1"
OLD = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age >= 0"
DAYS = "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"
MONITOR = {"name": "fever", "sql": COUNT, "threshold": 10_000, "epsilon": 2}
COUNTER = {"name": "months", "sql": DAYS, "versions": 1, "buckets": 12, "rho": 0.01}
SYNOPSIS = {
    "name": "s0", "table": "visits", "columns": ["region", "age"],
    "alpha": 0.9, "epsilon": 30, "order": 1, "queries": 1, "reserve": 0.9,
}  # fmt: skip
SPECIFICATION = """
[release]
table = "visits"
epsilon = 1
[[tables]]
kind = "marginals"
name = "regions"
columns = ["region"]
"""


def routes_of(app: Any) -> Iterator[tuple[str, str]]:
    """Every method and path that the application serves, pages and hidden routes included."""

    def walk(routes: Any, prefix: str) -> Iterator[tuple[str, str]]:
        for each in routes:
            if hasattr(each, "path"):
                for method in sorted(each.methods - {"HEAD"}):
                    yield method, prefix + each.path
            else:
                inside = prefix + each.include_context.prefix
                yield from walk(each.original_router.routes, inside)

    yield from walk(app.routes, "")


class Odd:
    """An engine whose statements take too long, or fail, or do neither."""

    def __init__(self, engine: Any, clock: Any, mode: str) -> None:
        self._engine, self._clock, self._mode = engine, clock, mode
        self.dialect = engine.dialect

    def rows(self, sql: str) -> Any:
        found = self._engine.rows(sql)
        if self._mode == "fails":
            raise Unavailable(MESSAGE)
        if self._mode == "slow":
            self._clock.spend(1e6)
        return found

    def ready(self) -> bool:
        self._engine.ready()
        return False

    def stop(self) -> None:
        self._engine.stop()

    def close(self) -> None:
        self._engine.close()


@dataclass
class World:
    """One world: a client for its server, its clock, and who may come in."""

    client: TestClient
    clock: HeldClock
    curator: Curator
    tokens: dict[str, str] = field(repr=False)
    cookies: dict[str, str] = field(repr=False)
    csrf: dict[str, str] = field(repr=False)
    held: list["Going"] = field(default_factory=list, repr=False)

    def ask(self, who: str | None, method: str, path: str, body: Any = None) -> Any:
        """One request: with a token to the API, with a cookie to pages."""
        headers: dict[str, str] = {}
        how: dict[str, Any] = {}
        if path.startswith(API):
            if who is not None:
                headers["Authorization"] = f"Bearer {self.tokens[who]}"
            how = {} if body is None else {"json": body}
        else:
            if who is not None:
                headers["Cookie"] = f"{COOKIE}={self.cookies[who]}"
            if method == "POST":
                how = {"data": {"csrf": self.csrf.get(who or "", ""), **(body or {})}}
        return self.client.request(method, path, headers=headers, follow_redirects=False, **how)

    def said(self, response: Any) -> tuple[int, dict[str, str], bytes]:
        """Everything a response tells, but for what is random in every world."""
        text = response.content
        for secret in (*self.csrf.values(), *self.cookies.values()):
            text = text.replace(secret.encode(), b"-")
        return response.status_code, dict(response.headers), text


def base_of(folder: Path) -> dict[str, Any]:
    """A vault with something of everything in it, all of it seen already; what it is called."""
    folder.mkdir()
    write_source(folder, people())
    with Curator.open(folder / "vault", clock=InstantClock(), price_floor=0) as curator:
        curator.add(write_schema(folder, budget="epsilon = 200\ndelta = 1e-5"))
        accounts = Accounts(curator.vault.states)
        tokens = {"cora": accounts.issue("cora", Role.CUSTODIAN, days=9999 // 9).text}
        for name in ("ria", "bob"):
            curator.grant(name, epsilon=60, delta=1e-6)
            tokens[name] = accounts.issue(name, Role.ANALYST, days=9999 // 9).text
        with TestClient(application(curator), base_url="http://127.0.0.1") as client:

            def post(path: str, body: Any) -> Any:
                headers = {"Authorization": f"Bearer {tokens['ria']}"}
                found = client.post(API + path, json=body, headers=headers)
                assert found.status_code in (200, 201), found.text
                return found.json()

            old = post("/queries", {"sql": OLD, "epsilon": 0.5})
            post("/monitors", MONITOR)
            post("/counters", COUNTER)
            post("/synopses", SYNOPSIS)
            post("/releases", {"name": "r0", "specification": SPECIFICATION})
    with Curator.open(folder / "vault", price_floor=0) as curator:
        last = max(entry.visible_from or "" for entry in curator.ledger.entries())
    while datetime.now(UTC).strftime(MOMENT) <= last:  # no clock of ours: history asks the real one
        time.sleep(0.01)
    return {"folder": folder, "tokens": tokens, "receipt": old["receipt"]["id"]}


@contextmanager
def world_of(base: dict[str, Any], folder: Path, mode: str) -> Iterator[World]:
    """A copy of the vault in which the engine is fast, slow or fails, and time stands still."""
    shutil.copytree(base["folder"], folder)  # key and anchor lie beside the vault
    clock = HeldClock()
    with Curator.open(folder / "vault", clock=clock, price_floor=0) as curator:
        warehouse = curator._warehouse
        warehouse.engines.lanes = Lanes(lambda names: Odd(warehouse._open(names), clock, mode))
        app = application(curator, Settings(roots=(base["folder"],)))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            server = app.state.server
            cookies, csrf = {}, {}
            for name, token in base["tokens"].items():
                cookies[name] = server.logins.cookie(server.accounts.identify(token))
                csrf[name] = server.logins.read(cookies[name]).csrf
            world = World(client, clock, curator, base["tokens"], cookies, csrf)
            yield world
            clock.go_on()  # whoever still waits goes on
            for each in world.held:
                each.done()


class Going:
    """A request under way in a thread."""

    def __init__(self, work: Any) -> None:
        self.response: Any = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Any) -> None:
        self.response = work()

    def until_held(self, clock: HeldClock) -> None:
        """Return once something waits for its time; fail if the request was answered first."""
        while clock.waiting < 1:
            self._thread.join(0.01)
            held = clock.waiting or self._thread.is_alive() or self.response.status_code == 202
            assert held, self.response.text

    def answered(self, clock: HeldClock, waiting: int) -> bool:
        """Whether it is answered; if not, it waits for its time beside so many others."""
        while self._thread.is_alive() and clock.waiting == waiting:
            self._thread.join(0.002)
        return clock.waiting == waiting

    def done(self) -> Any:
        self._thread.join(240)
        assert not self._thread.is_alive()
        return self.response
