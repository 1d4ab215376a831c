"""A session over HTTP: the same questions, prices and answers as with a curator at hand.
Speaks to one server with the standard library only; keeps the token to itself.
"""

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from discreet import errors
from discreet.curator.answer import Answer
from discreet.curator.recall import recall
from discreet.errors import DiscreetError, InvalidValue, Unavailable
from discreet.ledger.account import Remaining
from discreet.ledger.entry import Receipt, loss_of
from discreet.ledger.releases import Release
from discreet.rationals import Number, rational

__all__ = ["Client"]

_ERRORS = {
    "invalid-value": "InvalidValue",
    "unsafe-query": "UnsafeQuery",
    "unprovable-request": "UnprovableRequest",
    "budget-exceeded": "BudgetExceeded",
}


class Client:
    """An analyst's conversation with a server.

    Privacy: the server's; what arrives here has been released.
    >>> Client("http://127.0.0.1:8642", "token")
    Client('http://127.0.0.1:8642')
    """

    __slots__ = ("_context", "_seconds", "_token", "_url")

    def __init__(
        self,
        url: str,
        token: str,
        *,
        seconds: float = 60,
        context: ssl.SSLContext | None = None,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidValue(f"{url!r:.200} is not the address of a server; write https://...")
        if parts.scheme == "http" and not local:
            raise InvalidValue(
                f"{url!r:.200} would send the token in the clear; use https. Nothing was sent."
            )
        self._url = url.rstrip("/")
        self._token = token
        self._seconds = seconds
        self._context = context

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    @property
    def remaining(self) -> Remaining:
        """What the analyst's own budget still admits.

        Privacy: none (touches no data).
        >>> Client.remaining.fget is not None
        True
        """
        left = self._call("GET", "/budget")["remaining"]
        rho = None if left["rho"] is None else rational(left["rho"])
        return Remaining(epsilon=rational(left["epsilon"]), delta=rational(left["delta"]), rho=rho)

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
    ) -> dict[str, Any]:
        """What a question would cost and how exact it would be. Costs nothing.

        Privacy: none (touches no data).
        >>> Client.explain.__name__
        'explain'
        """
        prices = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta}
        return dict(self._call("POST", "/explain", _body(sql, prices, count)))

    def sql(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        error: Number | Mapping[str, Number] | None = None,
        count: int | None = None,
        delta: Number | None = None,
        key: str | None = None,
    ) -> Answer:
        """Ask a question and pay for it; the same question again is free.

        Privacy: `explain` with the same arguments shows the guarantee and its cost.
        >>> Client.sql.__name__
        'sql'
        """
        prices = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta}
        body = _body(sql, prices, count)
        if key is not None:
            body["key"] = key
        found = self._call("POST", "/queries", body)
        answer = _answer(found)
        if found.get("bought"):
            answer.bought = self.answer(found["bought"])
        return answer

    def answer(self, receipt: str) -> Answer:
        """An answer that was paid for before, by the id of its receipt.

        Privacy: post-processing.
        >>> Client.answer.__name__
        'answer'
        """
        return _answer(self._call("GET", f"/answers/{urllib.parse.quote(receipt, safe='')}"))

    @property
    def transcript(self) -> list[Answer]:
        """Everything this analyst paid for, in order.

        Privacy: post-processing.
        >>> Client.transcript.fget is not None
        True
        """
        return [self.answer(each["id"]) for each in self._call("GET", "/answers")]

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The public facts of every table.

        Privacy: none (touches no data).
        >>> Client.tables.fget is not None
        True
        """
        return list(self._call("GET", "/tables"))

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self._url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body, allow_nan=False).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(
                request, timeout=self._seconds, context=self._context
            ) as response:
                return json.load(response)
        except urllib.error.HTTPError as refusal:
            raise _refusal(refusal) from None
        except (OSError, ValueError, http.client.HTTPException) as failure:
            raise Unavailable(
                f"{self._url} cannot be reached ({type(failure).__name__}); a question that was "
                "sent may have been charged: ask again with the same key."
            ) from None


def _body(
    sql: str, prices: Mapping[str, Number | Mapping[str, Number] | None], count: int | None
) -> dict[str, Any]:
    made: dict[str, Any] = {"sql": sql}
    for name, price in prices.items():
        if isinstance(price, Mapping):
            made[name] = {column: float(rational(each)) for column, each in price.items()}
        elif price is not None:
            made[name] = float(rational(price))
    if count is not None:
        made["count"] = count
    return made


def _answer(found: Mapping[str, Any]) -> Answer:
    release = found["release"]
    if release is None:
        raise Unavailable("the server gave an answer of another analyst, without its release.")
    receipt = release["receipt"]
    answer = recall(
        Release(
            key=release["key"],
            body=release["body"].encode(),
            receipt=Receipt(**{**receipt, "loss": loss_of(receipt["loss"])}),
        )
    )
    answer.free = bool(found["free"])
    return answer


def _refusal(refusal: urllib.error.HTTPError) -> DiscreetError:
    try:
        with refusal:
            problem = json.load(refusal)
        kind, detail = problem["type"].rpartition(":")[2], problem["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        kind, detail = "", f"the server answered {refusal.code}."
    made: type[DiscreetError] = getattr(errors, _ERRORS.get(kind, "Unavailable"))
    return made(detail)
