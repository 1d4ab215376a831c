"""Monitors, counters and synopses of an analyst on a server: each is a name there and the calls
that it takes. Keeps no state; what is said here the server has released.
"""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from discreet.client.wire import Wire, quote
from discreet.rationals import Number, rational

__all__ = ["RemoteCounter", "RemoteMonitor", "RemoteSynopsis"]


@dataclass(frozen=True, slots=True)
class RemoteMonitor:
    """A monitor on a server, which compares a number with its threshold at each check.

    The run was charged when it began; what it says is post-processing.
    >>> wire = Wire("http://127.0.0.1:8642", "token", seconds=60, context=None)
    >>> RemoteMonitor(wire, "fever")
    RemoteMonitor(name='fever')
    """

    _wire: Wire = field(repr=False)
    name: str

    @property
    def values(self) -> dict[str, Any]:
        """Settings, alarms so far, how many are left, the last check."""
        return dict(self._wire.call("GET", self._path()))

    @property
    def alarms_left(self) -> int:
        """How many alarms the run has left."""
        return int(self.values["alarms_left"])

    def check(self, sql: str | None = None, *, threshold: Number | None = None) -> dict[str, Any]:
        """Compare now; another question or threshold of the same run, where one is given.

        Paid for by the run; see `discreet.streams.Monitor`.
        """
        body: dict[str, Any] = {} if sql is None else {"sql": sql}
        if threshold is not None:
            body["threshold"] = float(rational(threshold))
        return dict(self._wire.call("POST", self._path("/checks"), body))

    def renew(self) -> dict[str, Any]:
        """Begin and pay for the next run, once the alarms are used.

        The price of a run, charged once more.
        """
        return dict(self._wire.call("POST", self._path("/runs")))

    def _path(self, rest: str = "") -> str:
        return f"/monitors/{quote(self.name)}{rest}"


@dataclass(frozen=True, slots=True)
class RemoteCounter:
    """A counter on a server, which goes on day by day.

    It was charged when it began; its points are what it paid for.
    >>> wire = Wire("http://127.0.0.1:8642", "token", seconds=60, context=None)
    >>> RemoteCounter(wire, "visits")
    RemoteCounter(name='visits')
    """

    _wire: Wire = field(repr=False)
    name: str

    @property
    def values(self) -> dict[str, Any]:
        """The question, whom it protects, and the points so far."""
        return dict(self._wire.call("GET", f"/counters/{quote(self.name)}"))

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points so far."""
        return list(self.values["points"])

    def advance(self, *, upto: date) -> list[dict[str, Any]]:
        """Go on up to a day; the new points.

        Paid for when it began; see `discreet.streams.Counter`.
        """
        path = f"/counters/{quote(self.name)}/points"
        return list(self._wire.call("POST", path, {"upto": upto.isoformat()}))


@dataclass(frozen=True, slots=True)
class RemoteSynopsis:
    """A synopsis on a server, which answers counts about its columns.

    The server's charge; see `discreet.streams.Synopsis`.
    >>> wire = Wire("http://127.0.0.1:8642", "token", seconds=60, context=None)
    >>> RemoteSynopsis(wire, "s1")
    RemoteSynopsis(name='s1')
    """

    _wire: Wire = field(repr=False)
    name: str

    @property
    def values(self) -> dict[str, Any]:
        """The table and columns, what was spent, how many rounds are left."""
        return dict(self._wire.call("GET", self._path()))

    @property
    def rounds_left(self) -> int:
        """How many rounds the price still pays for."""
        return int(self.values["rounds_left"])

    def query(self, sql: str) -> dict[str, Any]:
        """How many rows a condition holds for: SELECT COUNT(*) FROM table WHERE ...

        Paid for by the synopsis.
        """
        return dict(self._wire.call("POST", self._path("/answers"), {"sql": sql}))

    def finish(self) -> dict[str, Any]:
        """Spend the rest and end."""
        return dict(self._wire.call("POST", self._path("/end")))

    def save(self, path: str | Path) -> None:
        """Write the public file, which `Synopsis.load` reads without a server."""
        Path(path).write_bytes(self._wire.content(self._path("/file")))

    def _path(self, rest: str = "") -> str:
        return f"/synopses/{quote(self.name)}{rest}"
