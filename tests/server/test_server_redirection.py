"""A client's token goes to the server it was made for, also where that server points elsewhere."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from discreet.client import Client
from discreet.errors import Unavailable


class Quiet(BaseHTTPRequestHandler):
    """Answers everything in the way of its server, and remembers who came with what."""

    def answer(self):
        self.server.seen.append(self.headers.get("Authorization"))
        status, headers, body = self.server.said
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def serving():
    """Starts servers on ports of their own."""
    started = []

    def start(status, headers, body):
        server = HTTPServer(("127.0.0.1", 0), Quiet)
        server.said, server.seen = (status, headers, body), []
        started.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_does_not_follow_a_redirection(serving, status):
    other = serving(200, {}, b"[]")
    address = {"Location": f"http://localhost:{other.server_port}/api/v1/tables"}
    server = serving(status, address, b"")
    client = Client(f"http://127.0.0.1:{server.server_port}", "secret")
    with pytest.raises(Unavailable, match=f"answered {status}"):
        _ = client.tables
    with pytest.raises(Unavailable, match=f"answered {status}"):
        client.explain("SELECT COUNT(*) AS n FROM t", epsilon=1)
    assert server.seen == ["Bearer secret"] * 2
    assert other.seen == []


def test_a_proxy_sees_no_token_in_the_clear(serving, monkeypatch):
    proxy, server = serving(200, {}, b"[]"), serving(200, {}, b"[]")
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
    monkeypatch.delenv("no_proxy", raising=False)
    assert Client(f"http://127.0.0.1:{server.server_port}", "secret").tables == {}
    assert (server.seen, proxy.seen) == (["Bearer secret"], [])
