"""Where a server listens: known before it is said, refused in words when it is taken."""

import socket
import subprocess
import sys

import pytest

from discreet.curator.curator import Curator
from discreet.errors import Unavailable
from discreet.server.running import _listener
from discreet.server.settings import Settings

pytestmark = pytest.mark.slow("kills and processes")

MAIN = ("-c", "from discreet.cli import main; main()")


def test_a_free_port_is_taken_and_known():
    with _listener(Settings(port=0)) as first, _listener(Settings(port=0)) as second:
        ports = {each.getsockname()[1] for each in (first, second)}
        assert len(ports) == 2
        assert 0 not in ports
        with socket.create_connection(first.getsockname(), 20):
            pass  # it listens already


def test_answers_wait_for_no_receipt():
    """Without it the body of every answer waited 40 ms for the client to acknowledge its head."""
    with (
        _listener(Settings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_port_that_is_taken_is_refused_in_words(tmp_path):
    with _listener(Settings(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match="Nothing was started"):
            _listener(Settings(port=port))

        Curator.open(tmp_path / "vault", price_floor=0).close()
        ended = subprocess.run(
            [sys.executable, *MAIN, "serve", "--port", str(port), "--vault", tmp_path / "vault"],
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert ended.returncode != 0
    assert "Serving on" not in ended.stdout
    assert "cannot be listened on" in ended.stderr.replace("\n", " ")
