"""A server in this process, with a custodian and an analyst."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from discreet.curator.curator import Curator
from discreet.curator.runs.pacing import Clock
from discreet.server.accounts import Accounts, Role
from discreet.server.application import application
from discreet.server.settings import Settings
from support.clocks import InstantClock
from support.vaults import Row, copied_curator, people


@dataclass
class ServedVault:
    """A curator, its application and tokens."""

    folder: Path
    curator: Curator
    client: TestClient
    accounts: Accounts
    tokens: dict[str, str] = field(repr=False)

    def call(self, who: str | None, method: str, path: str, **how: Any) -> Any:
        """One request of somebody's."""
        headers = how.pop("headers", {})
        if who is not None:
            headers = {"Authorization": f"Bearer {self.tokens[who]}", **headers}
        return self.client.request(method, f"/api/v1{path}", headers=headers, **how)


def serve_vault(
    folder: Path, *, clock: Clock | None = None, rows: list[Row] | None = None, **settings: Any
) -> Iterator[ServedVault]:
    """A served, closed at the end, in which waiting takes no time."""
    with copied_curator(folder, rows or people(), clock=clock or InstantClock()) as curator:
        curator.grant("ana", epsilon=5)
        accounts = Accounts(curator.vault.states)
        tokens = {
            name: accounts.issue(name, role, days=1).text
            for name, role in (("cora", Role.CUSTODIAN), ("ana", Role.ANALYST))
        }
        app = application(curator, Settings(roots=(folder.resolve(),), **settings))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            yield ServedVault(folder, curator, client, accounts, tokens)


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address of an application that really listens, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(240)
