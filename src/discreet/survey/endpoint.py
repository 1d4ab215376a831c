"""The survey over HTTP: the respondents' page, its scripts, and PUT reports/TOKEN.
Logs nothing, sets no cookie, and sees only what a browser has already randomized.
"""

import json
import math
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

from discreet.errors import InvalidValue, Unavailable
from discreet.survey.form import form_page, form_values
from discreet.survey.question import MOST_EPSILON
from discreet.survey.reports import Arrival, Reports
from discreet.survey.wire import length

__all__ = ["Endpoint"]

_SECONDS = 5.0  # how long a connection may be silent before it is closed
_MOST_CONNECTIONS = 512  # a browser holds several open
_POLL_SECONDS = 0.1  # between looks at whether the endpoint is being closed
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    ("Content-Security-Policy", _POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)
_ASSETS = {
    "randomize.js": "text/javascript; charset=utf-8",
    "survey.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
}
_ARRIVALS = {
    Arrival.FIRST: (HTTPStatus.CREATED, "kept"),
    Arrival.AGAIN: (HTTPStatus.OK, "kept before"),
    Arrival.OTHER: (HTTPStatus.CONFLICT, "this token has reported something else"),
    Arrival.UNINVITED: (HTTPStatus.FORBIDDEN, "this token was not invited"),
}


class Endpoint:
    """A running round of a survey: answers requests from threads of its own until it is closed.

    Refuses a round that the survey does not have, and rounds whose epsilons add up to too much.
    Reports are randomized before they come here.
    """

    __slots__ = ("_server", "_thread", "reports")

    def __init__(self, reports: Reports, *, host: str = "127.0.0.1", port: int = 8650) -> None:
        self.reports = reports
        reports.check_open()
        _check_rounds(reports)
        values = form_values(reports.survey, round_number=reports.round_number)
        values["invited"] = reports.invited is not None
        try:
            self._server = _Server(reports, values, host, port)
        except OSError as error:
            raise InvalidValue(
                f"the survey cannot listen on {host}:{port} ({error.strerror}). "
                "Choose another --host or --port."
            ) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where respondents go."""
        host, port = self._server.server_address[:2]
        name = host.decode() if isinstance(host, bytes) else str(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/"

    def wait(self) -> None:
        """Return when the endpoint is closed, or never."""
        self._thread.join()

    def close(self) -> None:
        """Stop answering; reports that were confirmed are kept."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _check_rounds(reports: Reports) -> None:
    survey = reports.survey
    if not 1 <= reports.round_number <= survey.rounds:
        raise InvalidValue(
            f"round {reports.round_number}: this survey has {survey.rounds}. Set rounds in its "
            "file before the first round, so that respondents know what they agree to. Nothing "
            "was collected."
        )
    for question in survey.questions:
        total = survey.rounds * question.loss
        if total > MOST_EPSILON:
            raise InvalidValue(
                f"{question.name}: {survey.rounds} rounds at epsilon {float(question.loss):g} come "
                f"to {float(total):g}; the most for one question in all rounds is {MOST_EPSILON}. "
                f"Set its epsilon to at most {_floor(MOST_EPSILON / survey.rounds)}, or ask less "
                "often. Nothing was collected."
            )


def _floor(value: float) -> str:
    """Four decimals, rounded down."""
    return f"{math.floor(10_000 * value) / 10_000:g}"


class _Server(ThreadingHTTPServer):
    """What every connection reads: the files of the page, and where reports go."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # respondents come in bursts

    def __init__(self, reports: Reports, values: dict[str, Any], host: str, port: int) -> None:
        folder = resources.files("discreet.survey").joinpath("assets")
        self.files = {
            name: (kind, folder.joinpath(name).read_bytes()) for name, kind in _ASSETS.items()
        }
        self.files[""] = ("text/html; charset=utf-8", form_page(reports.survey).encode())
        self.files["survey.json"] = ("application/json", json.dumps(values).encode())
        self.reports = reports
        self.body_length = length(reports.survey)
        self.places = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__((host, port), _Connection)

    def handle_error(self, *_: object) -> None:
        """A connection that broke off is nobody's concern, and its address is not shown."""


class _Connection(BaseHTTPRequestHandler):
    """The requests of one connection."""

    timeout = _SECONDS
    wbufsize = -1  # a reply leaves in one piece, not in two that wait for each other
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"
    server_version = "survey"
    sys_version = ""
    server: _Server

    def handle(self) -> None:
        with self.server.places:
            super().handle()

    def log_message(self, *_: object) -> None:
        """Nothing is logged: addresses and times say who took part."""

    def do_GET(self) -> None:
        kind, body = self.server.files.get(self.path.removeprefix("/"), ("", None))
        if body is None:
            self._say(HTTPStatus.NOT_FOUND, "not found")
        else:
            self._answer(HTTPStatus.OK, kind, body)

    def do_PUT(self) -> None:
        expected = self.server.body_length
        if self.headers.get("Content-Length") != str(expected):
            self.close_connection = True  # what follows is not read
            self._say(HTTPStatus.BAD_REQUEST, f"a report has {expected} bytes")
            return
        body = self.rfile.read(expected)
        folder, _, token = self.path.removeprefix("/").partition("/")
        if folder != "reports":
            self._say(HTTPStatus.NOT_FOUND, "not found")
            return
        try:
            self._say(*_ARRIVALS[self.server.reports.add(token, body)])
        except InvalidValue as refusal:
            self._say(HTTPStatus.BAD_REQUEST, str(refusal))
        except Unavailable:
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "not kept; send it again")

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._answer(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (*_HEADERS, ("Content-Type", kind)):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
