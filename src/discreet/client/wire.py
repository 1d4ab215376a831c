"""Requests to one server with the standard library only: JSON out and in, refusals as errors.
Keeps the token to itself, and sends it nowhere else.
"""

import http.client
import json
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from discreet import errors
from discreet.errors import DiscreetError, InvalidValue, Unavailable

__all__ = ["Wire", "quote"]

_ERRORS = {
    "invalid-value": "InvalidValue",
    "unsafe-query": "UnsafeQuery",
    "unprovable-request": "UnprovableRequest",
    "budget-exceeded": "BudgetExceeded",
    "quota-exceeded": "QuotaExceeded",
    "unanswered": "Unanswered",
}
_PREFIX = "/api/v1"
_NEXT = re.compile(r'<(/api/v1/[^<>"\s]*)>; rel="next"')


class Wire:
    """The way to one server. What arrives has been released.

    >>> Wire("http://127.0.0.1:8642", "token", seconds=60, context=None)
    Wire('http://127.0.0.1:8642')
    """

    __slots__ = ("_context", "_seconds", "_token", "url")

    def __init__(
        self, url: str, token: str, *, seconds: float, context: ssl.SSLContext | None
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidValue(f"{url!r:.200} is not the address of a server; write https://...")
        if parts.scheme == "http" and not local:
            raise InvalidValue(
                f"{url!r:.200} would send the token in the clear; use https. Nothing was sent."
            )
        self.url = url.rstrip("/")
        self._token = token
        self._seconds = seconds
        self._context = context

    def __repr__(self) -> str:
        return f"Wire({self.url!r})"

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON of one answer."""
        return self._read(self._send(method, path, body)[0])

    def content(self, path: str) -> bytes:
        """The bytes of a file that the server gives."""
        return self._send("GET", path, None)[0]

    def list_all(self, path: str) -> Iterator[dict[str, Any]]:
        """Everything in a list, part by part, as the server's links lead on."""
        following: str | None = path
        while following is not None:
            body, link = self._send("GET", following, None)
            yield from self._read(body)
            following_link = _NEXT.search(link)
            following = (
                None if following_link is None else following_link.group(1).removeprefix(_PREFIX)
            )

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[bytes, str]:
        """What one request brings: the body, and the links beside it."""
        request = urllib.request.Request(
            f"{self.url}{_PREFIX}{path}",
            method=method,
            data=None if body is None else json.dumps(body, allow_nan=False).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Accept": "application/json",
            },
        )
        try:
            with self._opener().open(request, timeout=self._seconds) as response:
                return response.read(), response.headers.get("Link", "")
        except urllib.error.HTTPError as refusal:
            raise _refusal(refusal) from None
        except (OSError, ValueError, http.client.HTTPException) as failure:
            raise self._explain_loss(failure) from None

    def _opener(self) -> urllib.request.OpenerDirector:
        """What opens addresses, without what follows redirections: the token would follow too."""
        known = urllib.request.getproxies()
        proxies = {name: known[name] for name in known if name == "https"}
        opener = urllib.request.OpenerDirector()
        opener.add_handler(urllib.request.ProxyHandler(proxies))  # through a tunnel, or not at all
        opener.add_handler(urllib.request.HTTPHandler())
        opener.add_handler(urllib.request.HTTPSHandler(context=self._context))
        opener.add_handler(urllib.request.HTTPErrorProcessor())
        opener.add_handler(urllib.request.HTTPDefaultErrorHandler())
        return opener

    def _read(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except ValueError as failure:
            raise self._explain_loss(failure) from None

    def _explain_loss(self, failure: Exception) -> Unavailable:
        return Unavailable(
            f"{self.url} cannot be reached ({type(failure).__name__}); a question that was "
            "sent may have been charged: ask again with the same key."
        )


def quote(name: str) -> str:
    """A name as a part of an address.

    >>> quote("a/b")
    'a%2Fb'
    """
    return urllib.parse.quote(name, safe="")


def _refusal(refusal: urllib.error.HTTPError) -> DiscreetError:
    try:
        with refusal:
            problem = json.load(refusal)
        kind, detail = problem["type"].rpartition(":")[2], problem["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        kind, detail = "", f"the server answered {refusal.code}."
    error: type[DiscreetError] = getattr(errors, _ERRORS.get(kind, "Unavailable"))
    return error(detail)
