"""What surrounds every request: sizes and time limits, headers, counts and log lines.
Logs methods, routes, statuses and times; never a body, a query, a token or a value.
"""

import asyncio
import json
import logging
import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.server.context import ServerContext
from discreet.server.problems import BODY, Problem
from discreet.server.refusals import answer_problem

__all__ = ["HEADERS", "LOGGER", "Middleware", "metrics_text"]

LOGGER = logging.getLogger("discreet.server")
"""Where requests are logged, one JSON object a line."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",  # without one, forms of our own have no origin
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every answer carries."""

_BODY_SECONDS = 10.0
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class Middleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, server: ServerContext) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.monotonic(), 500

        async def answer_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                known = {name.lower() for name, _ in message["headers"]}
                extra = [
                    (name.lower().encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.lower().encode() not in known
                ]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        try:
            body = await self._body(scope, receive)
        except Problem as problem:
            told = await run_in_threadpool(answer_problem, Request(scope), problem)
            await told(scope, receive, answer_with_headers)
        else:
            scope[BODY] = body
            await self._app(scope, _replay(body, receive), answer_with_headers)
        finally:
            self._record(scope, status, time.monotonic() - start)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, within its limits of size and time."""
        most = self._server.settings.body_bytes
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > most):
                raise Problem("too-large", f"The body may have {most:,} bytes.")
        parts: list[bytes] = []
        size = 0
        until = time.monotonic() + _BODY_SECONDS
        while True:
            try:
                message = await asyncio.wait_for(receive(), max(until - time.monotonic(), 0.001))
            except TimeoutError:
                raise Problem("too-slow") from None
            if message["type"] != "http.request":
                return b""
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise Problem("too-large", f"The body may have {most:,} bytes.")
            if not message.get("more_body", False):
                return b"".join(parts)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        path = getattr(route, "path", "-")  # the pattern: names and receipts stay out
        # Anybody can invent methods: counted by name they would fill the memory.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._server.count("requests", f"{method} {status}")
        line = {
            "method": method,
            "route": path,
            "status": status,
            "milliseconds": round(1000 * seconds),
        }
        LOGGER.info(json.dumps(line))


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


def metrics_text(server: ServerContext) -> str:
    """Counts of requests and answers as Prometheus reads them.

    Nothing by table, analyst or value.
    """
    with server.lock:
        counts: dict[tuple[str, str], Any] = dict(server.counts)
    lines = [
        "# HELP discreet_requests_total Requests by method and status.",
        "# TYPE discreet_requests_total counter",
    ]
    for (name, label), value in sorted(counts.items()):
        if name == "requests":
            method, _, status = label.partition(" ")
            lines.append(f'discreet_requests_total{{method="{method}",status="{status}"}} {value}')
    lines += [
        "# HELP discreet_answers_total Answers, charged or replayed for free.",
        "# TYPE discreet_answers_total counter",
    ]
    lines += [
        f'discreet_answers_total{{paid="{label}"}} {value}'
        for (name, label), value in sorted(counts.items())
        if name == "answers"
    ]
    lines += [
        "# HELP discreet_questions_inside Questions that are running or waiting.",
        "# TYPE discreet_questions_inside gauge",
        f"discreet_questions_inside {server.gate.inside}",
    ]
    return "\n".join(lines) + "\n"
