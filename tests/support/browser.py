"""A real browser for tests, and a wire between it and a server on which every byte is read."""

import contextlib
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 240_000  # milliseconds for what should take a moment


def find_browser() -> str:
    """The browser's program; a test that needs one is skipped where there is none."""
    pytest.importorskip("playwright.sync_api", reason="no browser: playwright is not installed")
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed (apt-get install chromium)")


class Script:
    """A bit source that plays back 64-bit words, and counts them."""

    def __init__(self, words: list[int]) -> None:
        self.words = words
        self.used = 0

    def bits(self, count: int) -> int:
        assert count == 64
        self.used += 1
        return self.words[self.used - 1]

    def fill(self, buffer: Any) -> None:
        assert len(buffer) % 8 == 0
        words = [self.bits(64) for _ in range(len(buffer) // 8)]
        buffer[:] = np.array(words, dtype="<u8").view(np.uint8)

    def fresh(self) -> "Script":
        return self


class Wire:
    """A relay to a port that keeps everything sent towards it, connection by connection."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sent: list[bytearray] = []
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def sent(self) -> bytes:
        """Everything so far."""
        return b"".join(bytes(part) for part in self._sent)

    def lead_to(self, port: int) -> None:
        """Carry new connections to another port, and end those that are open."""
        self._target = port
        self._cut(self._open)

    def forget(self) -> None:
        """Begin anew; open connections go on being read."""
        for part in self._sent:
            part.clear()

    def close(self) -> None:
        """Cut all connections and wait for their threads."""
        self._cut([self._listener])
        self._threads[0].join()  # nothing new comes after this
        self._cut(self._open)
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._open):
            each.close()

    @staticmethod
    def _cut(sockets: list[socket.socket]) -> None:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _start(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except OSError:  # between two endpoints: browsers connect ahead of time
                    client.close()
                    continue
                self._open += [client, server]
                self._sent.append(bytearray())
                self._start(_carry, client, server, self._sent[-1])
                self._start(_carry, server, client, bytearray())


def _carry(source: socket.socket, target: socket.socket, record: bytearray) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            record += part
            target.sendall(part)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def requests(sent: bytes) -> Iterator[tuple[str, str, tuple[str, ...], bytes]]:
    """Method, path, headers and body of each request on the wire; anything else fails."""
    rest = sent
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        lines = head.decode("ascii").split("\r\n")
        found = re.fullmatch(r"([A-Z]+) (\S+) HTTP/1\.1", lines[0])
        assert found, lines[0]
        length = [line for line in lines[1:] if line.lower().startswith("content-length:")]
        size = int(length[0].split(":")[1]) if length else 0
        yield found[1], found[2], tuple(lines[1:]), rest[:size]
        rest = rest[size:]


def asset(name: str) -> str:
    """The text of one of the page's files."""
    root = Path(__file__).resolve().parents[2]
    return (root / "src" / "discreet" / "survey" / "assets" / name).read_text()
