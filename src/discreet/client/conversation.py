"""A session over HTTP: the same questions, prices and answers as with a curator at hand, and the
analyst's services. What arrives here has been released.
"""

import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.client.services import RemoteCounter, RemoteMonitor, RemoteSynopsis
from discreet.client.wire import Wire, quote
from discreet.curator.answer import Answer
from discreet.curator.question import Question
from discreet.curator.replay import from_facts
from discreet.errors import Unavailable
from discreet.ledger.account import Remaining
from discreet.ledger.entry import Receipt, loss_of
from discreet.rationals import Number, rational
from discreet.schema.described import Tables

__all__ = ["Client"]


class Client:
    """An analyst's session with a server.

    Privacy: the server's; what arrives here has been released.
    >>> Client("http://127.0.0.1:8642", "token")
    Client('http://127.0.0.1:8642')
    """

    __slots__ = ("_wire",)

    def __init__(
        self, url: str, token: str, *, seconds: float = 60, context: ssl.SSLContext | None = None
    ) -> None:
        self._wire = Wire(url, token, seconds=seconds, context=context)

    def __repr__(self) -> str:
        return f"Client({self._wire.url!r})"

    @property
    def remaining(self) -> Remaining:
        """What the analyst's own budget still admits."""
        own = self._wire.call("GET", "/budget")["remaining"]
        rho = None if own["rho"] is None else rational(own["rho"])
        return Remaining(epsilon=rational(own["epsilon"]), delta=rational(own["delta"]), rho=rho)

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
        max_groups_contributed: int | None = None,
        max_rows_contributed: int | None = None,
    ) -> dict[str, Any]:
        """What a question would cost and how exact it would be. Costs nothing."""
        question = Question(
            sql=sql,
            epsilon=epsilon,
            rho=rho,
            error=error,
            count=count,
            delta=delta,
            max_groups_contributed=max_groups_contributed,
            max_rows_contributed=max_rows_contributed,
        )
        return dict(self._wire.call("POST", "/explain", question.body()))

    def sql(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
        max_groups_contributed: int | None = None,
        max_rows_contributed: int | None = None,
        key: str | None = None,
    ) -> Answer:
        """Ask a question and pay for it; the same question again is free.

        Privacy: `explain` with the same arguments shows the guarantee and its cost.
        """
        body = Question(
            sql=sql,
            epsilon=epsilon,
            rho=rho,
            error=error,
            count=count,
            delta=delta,
            max_groups_contributed=max_groups_contributed,
            max_rows_contributed=max_rows_contributed,
        ).body()
        if key is not None:
            body["key"] = key
        reply = self._wire.call("POST", "/queries", body)
        answer = _answer(reply)
        if reply.get("bought"):
            answer.bought = self.answer(reply["bought"])
        return answer

    def answer(self, receipt: str) -> Answer:
        """An answer that was paid for before, by the id of its receipt."""
        return _answer(self._wire.call("GET", f"/answers/{quote(receipt)}"))

    @property
    def transcript(self) -> list[Answer | dict[str, Any]]:
        """Everything this analyst paid for, in order: its answer where one is kept, else its line
        of `history`.
        """
        return [
            self.answer(charge["id"]) if charge["outcome"] == "answer" else charge
            for charge in self.history()
        ]

    def history(self) -> Iterator[dict[str, Any]]:
        """Every charge to this analyst, whatever it paid for, oldest first; asked for part by part.

        What they have `spent` adds up to what the account has.
        """
        return self._wire.list_all("/history?limit=1000")

    @property
    def tables(self) -> Tables:
        """The tables by name: columns, bounds, keys, notes, what may be asked, budget left."""
        return Tables(self._wire.call("GET", "/tables"))

    @property
    def monitors(self) -> list[RemoteMonitor]:
        """The analyst's monitors."""
        return list(map(self.monitor, self._names("monitors")))

    def _names(self, services: str) -> list[str]:
        return [service["name"] for service in self._wire.list_all(f"/{services}?limit=1000")]

    def monitor(self, name: str) -> RemoteMonitor:
        """A monitor that was begun before, by its name.

        >>> Client("http://127.0.0.1:8642", "token").monitor("fever")
        RemoteMonitor(name='fever')
        """
        return RemoteMonitor(self._wire, name)

    def open_monitor(
        self,
        name: str,
        sql: str,
        *,
        threshold: Number,
        alarms: int = 1,
        epsilon: Number | None = None,
        rho: Number | None = None,
        numbers: Number | None = None,
    ) -> RemoteMonitor:
        """Begin a monitor and pay for its first run; with the same settings: go on with it.

        Privacy: the price of a run; see `discreet.streams.Monitor.open`.
        """
        numeric = {"threshold": threshold, "epsilon": epsilon, "rho": rho, "numbers": numbers}
        body = {"name": name, "sql": sql, "alarms": alarms, **_floats(numeric)}
        self._wire.call("POST", "/monitors", body)
        return self.monitor(name)

    @property
    def counters(self) -> list[RemoteCounter]:
        """The analyst's counters."""
        return list(map(self.counter, self._names("counters")))

    def counter(self, name: str) -> RemoteCounter:
        """A counter that was begun before, by its name.

        >>> Client("http://127.0.0.1:8642", "token").counter("visits")
        RemoteCounter(name='visits')
        """
        return RemoteCounter(self._wire, name)

    def open_counter(
        self,
        name: str,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        versions: int | None = None,
        buckets: int | None = None,
    ) -> RemoteCounter:
        """Begin a counter and pay for it; with the same settings: go on with it.

        Privacy: its price, charged once; see `discreet.streams.Counter.open`.
        """
        whole = {"versions": versions, "buckets": buckets}
        body = {"name": name, "sql": sql, **_floats({"epsilon": epsilon, "rho": rho})}
        body |= {key: value for key, value in whole.items() if value is not None}
        self._wire.call("POST", "/counters", body)
        return self.counter(name)

    @property
    def synopses(self) -> list[RemoteSynopsis]:
        """The analyst's synopses."""
        return list(map(self.synopsis, self._names("synopses")))

    def synopsis(self, name: str) -> RemoteSynopsis:
        """A synopsis that was begun before, by its name.

        >>> Client("http://127.0.0.1:8642", "token").synopsis("s1")
        RemoteSynopsis(name='s1')
        """
        return RemoteSynopsis(self._wire, name)

    def open_synopsis(
        self,
        name: str,
        table: str,
        columns: Sequence[str],
        *,
        alpha: Number,
        epsilon: Number,
        **more: Number,
    ) -> RemoteSynopsis:
        """Begin a synopsis of some columns and pay for it; `order`, `queries`, `reserve` as there.

        Privacy: its price, charged as it goes; see `discreet.streams.Synopsis.open`.
        """
        whole = {key: value for key, value in more.items() if isinstance(value, int)}
        rest = {key: value for key, value in more.items() if key not in whole}
        body = {"name": name, "table": table, "columns": list(columns), **whole}
        body |= _floats({"alpha": alpha, "epsilon": epsilon, **rest})
        self._wire.call("POST", "/synopses", body)
        return self.synopsis(name)


def _floats(terms: Mapping[str, Number | None]) -> dict[str, Any]:
    return {key: float(rational(value)) for key, value in terms.items() if value is not None}


def _answer(reply: Mapping[str, Any]) -> Answer:
    release = reply["release"]
    if release is None:
        raise Unavailable("the server gave an answer of another analyst, without its release.")
    receipt = release["receipt"]
    charge = Receipt(**{**receipt, "loss": loss_of(receipt["loss"])})
    answer = from_facts(json.loads(release["body"]), charge)
    answer.free = bool(reply["free"])
    return answer
