"""Questions that are answered later: a job is named by its key, so that a lost one can be asked
again without paying twice. Keeps names and receipts only.
"""

import base64
import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import Any

from discreet.errors import DiscreetError
from discreet.noise.bits import system
from discreet.server.accounts import Identity
from discreet.server.api.forms import QueryForm, prices_of
from discreet.server.context import ServerContext
from discreet.server.limits import Workers
from discreet.server.problems import Problem

__all__ = ["Jobs"]

_MOST = 1000
_MOST_OF_ONE = 100
_OVER = ("done", "failed")
_RUNNING = 4
_WAITING = {"state": "waiting", "progress": 0.0, "detail": "It waits for its turn."}
_RUNNING_NOW = {"state": "running", "progress": 0.1, "detail": "It is being answered."}
_DROPPED = {
    "state": "failed",
    "progress": 1.0,
    "detail": "The server was stopped before it began. Nothing was run or charged.",
}
_BROKEN = {
    "state": "failed",
    "progress": 1.0,
    "detail": "Something failed here. Look at your history before you ask again with the same key.",
}


class Jobs:
    """The jobs of one process. Answers go the same way as those that are waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()
        self._workers = Workers(most=_RUNNING, most_of_one=_RUNNING // 2, name="job")

    def start(self, server: ServerContext, who: Identity, form: QueryForm) -> dict[str, Any]:
        """Begin a job and say its name."""
        session = server.session(who)
        bits = system.bits(96).to_bytes(12, "little")
        name = base64.urlsafe_b64encode(bits).decode()
        key = form.key or f"job-{name}"
        status: dict[str, Any] = {"job": name, "key": key, **_WAITING}
        with self._lock:
            self._make_room(who.name)
            self._jobs[who.name, name] = status

        def work() -> None:
            status.update(_RUNNING_NOW)
            try:
                answer = session.sql(form.sql, key=key, **prices_of(form))
            except DiscreetError as refusal:
                status.update(state="failed", progress=1.0, detail=server.tell_analyst(refusal))
                return
            server.count("answers", "free" if answer.free else "charged")
            status.update(state="done", progress=1.0, answer=answer.receipt.id, detail="")

        def mark_failure(future: Future[None]) -> None:
            if future.cancelled():  # it waited when the server was stopped
                status.update(_DROPPED)
            elif future.exception() is not None:
                status.update(_BROKEN)

        self._workers.submit(who.name, work).add_done_callback(mark_failure)
        return dict(status)

    def _make_room(self, account: str) -> None:
        """Forget the oldest jobs that are over; refuse where too many are not."""
        going = [owner for (owner, _), job in self._jobs.items() if job["state"] not in _OVER]
        if going.count(account) >= _MOST_OF_ONE:
            raise Problem(
                "too-many-requests",
                f"{_MOST_OF_ONE} jobs of this account are waiting; wait for one.",
                retry_seconds=10,
            )
        if account in going and len(going) >= _MOST:  # whoever has none is let in
            raise Problem("busy", "Too many jobs are waiting; ask again.", retry_seconds=10)
        over = [place for place, job in self._jobs.items() if job["state"] in _OVER]
        for place in over[: max(0, len(self._jobs) + 1 - _MOST)]:
            del self._jobs[place]

    def find(self, account: str, name: str) -> dict[str, Any] | None:
        """A job of this account, as it stands."""
        with self._lock:
            status = self._jobs.get((account, name))
            return None if status is None else dict(status)

    def close(self) -> None:
        """Finish what runs, drop what waits: a key lets it be asked again."""
        self._workers.close()
