"""One killable child process with DuckDB in it, and the order it is started with.
Shares no memory with the parent; what it says is either a result or a reason for the custodian.
"""

import contextlib
import importlib.util
import json
import marshal
import os
import select
import struct
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = ["Child", "Failed", "KEY_MARK", "Order", "quote", "text"]

KEY_MARK = "\0key\0"
"""Where the child puts the key into a statement; no path can hold it."""

_HEADER = struct.Struct("<cQ")
_READY, _RESULT, _FAILURE, _PROGRESS = b"S", b"R", b"E", b"P"
_PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of Linux
_START_LIMIT_SECONDS = 60.0
_SAFE = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


class Failed(Exception):
    """The child gave a reason instead of a result, or died: for the custodian only.

    The text may quote rows; it never leaves `discreet.engines`.
    """


def text(value: str) -> str:
    """A string literal of SQL.

    >>> print(text("it's"))
    'it''s'
    """
    return "'" + value.replace("'", "''") + "'"


def quote(name: str) -> str:
    """A quoted identifier of SQL.

    >>> print(quote('a "b"'))
    "a ""b"\""
    """
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Order:
    """What a child opens, which commands it takes, and what it may read besides.

    `statements` run before external access is switched off and the configuration locked; `key`
    stands for KEY_MARK in them. `address_space` limits the process's bytes, if it is not 0.
    """

    database: str
    commands: tuple[str, ...]
    read_only: bool = False
    statements: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    key: str = field(default="", repr=False)
    address_space: int = 0

    def spilling(self, folder: Path) -> "Order":
        """The same order with a folder for rows that outgrow the memory limit.

        >>> Order(database=":memory:", commands=()).spilling(Path("x")).settings["temp_directory"]
        'x'
        """
        return replace(self, settings={**self.settings, "temp_directory": str(folder)})

    def message(self) -> dict[str, Any]:
        """The order as the child reads it.

        >>> Order(database=":memory:", commands=("rows",)).message()["commands"]
        ['rows']
        """
        specification = importlib.util.find_spec("duckdb")
        if specification is None or specification.origin is None:
            raise Failed("duckdb is not installed")
        return {
            "address_space": self.address_space,
            "commands": list(self.commands),
            "database": self.database,
            "key": self.key,
            "key_mark": KEY_MARK,
            "library": str(Path(specification.origin).parent.parent),
            "read_only": self.read_only,
            "settings": {**_SAFE, **self.settings},
            "statements": list(self.statements),
        }


def _environment() -> dict[str, str]:
    """The parent's without its secrets, and in UTC: else the machine's zone would decide on which
    day a time falls.
    """
    passed = {name: value for name, value in os.environ.items() if "DISCREET_DATA_KEY" not in name}
    return {**passed, "TZ": "UTC"}


def _end(process: "subprocess.Popen[bytes]", owner: int) -> None:
    """Kill and reap; in a forked copy of the parent only let go of the pipes."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()
    else:
        process.returncode = 0  # not ours to wait for


class Child:
    """A started child: ask it, or kill it; a child that failed to answer in time is dead.

    Holds exact values only while a reply is on its way.
    >>> with Child(Order(database=":memory:", commands=("rows",))) as child:
    ...     child.ask("rows", "SELECT 2::HUGEINT ** 3, NULL", limit_seconds=30)
    Traceback (most recent call last):
    discreet.engines.process.child.Failed: TypeError: the statement yields ['DOUBLE']; integers only
    """

    __slots__ = ("__weakref__", "_finalizer", "_process", "_ready", "owner")

    def __init__(self, order: Order) -> None:
        message = order.message()
        worker = str(Path(__file__).with_name("worker.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", worker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(),
            start_new_session=True,
        )
        self.owner = os.getpid()
        self._ready = False
        self._finalizer = weakref.finalize(self, _end, self._process, self.owner)
        if sys.platform == "linux":
            import fcntl

            with contextlib.suppress(OSError):
                fcntl.fcntl(self._output(), _SET_PIPE_SIZE, _PIPE_BYTES)
        self._send(message)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def number(self) -> int:
        """The process number."""
        return self._process.pid

    def kill(self) -> None:
        """End the child at once and wait until it is gone; harmless when repeated."""
        self._finalizer()

    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self._finalizer.alive and self._process.poll() is None

    def stop(self) -> None:
        """End the child from another thread than the one that asks it, which is told."""
        if self._finalizer.alive and os.getpid() == self.owner:
            self._process.kill()  # its pipes stay open for whoever reads them

    def ready(self) -> None:
        """Wait until it has started; `Failed` with the reason otherwise."""
        if self._ready:
            return
        try:
            self._expect(_READY, time.monotonic() + _START_LIMIT_SECONDS, None)
            self._ready = True
        except OSError:
            raise Failed("the child process died") from None
        finally:
            if not self._ready:
                self.kill()

    def ask(
        self,
        command: str,
        argument: str,
        *,
        limit_seconds: float | None,
        on_progress: Callable[[float], None] | None = None,
    ) -> Any:
        """The result of one command; `Failed` with the reason otherwise. Results are exact.

        >>> with Child(Order(database=":memory:", commands=("rows",))) as child:
        ...     child.ask("rows", "SELECT 2::HUGEINT << 70, NULL", limit_seconds=30)
        [(2361183241434822606848, None)]
        """
        settled = False
        try:
            self.ready()
            self._send([command, argument])
            deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
            payload = self._expect(_RESULT, deadline, on_progress)
            settled = True
        except OSError:
            raise Failed("the child process died") from None
        except Failed:
            settled = self._ready
            raise
        finally:
            if not settled:
                self.kill()  # else a late reply would answer the next question
        return marshal.loads(payload)

    def _output(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _send(self, message: Sequence[str] | dict[str, Any]) -> None:
        assert self._process.stdin is not None
        payload = json.dumps(message).encode()
        unsent = memoryview(_HEADER.pack(b"Q", len(payload)) + payload)
        while unsent:
            unsent = unsent[os.write(self._process.stdin.fileno(), unsent) :]

    def _expect(
        self, wanted: bytes, deadline: float | None, on_progress: Callable[[float], None] | None
    ) -> bytearray:
        while True:
            tag, length = _HEADER.unpack(self._receive(_HEADER.size, deadline))
            payload = self._receive(length, deadline)
            if tag == wanted:
                return payload
            if tag == _FAILURE:
                raise Failed(payload.decode(errors="replace"))
            if tag != _PROGRESS:
                self.kill()
                raise Failed("the child process broke the protocol")
            if on_progress is not None:
                on_progress(marshal.loads(payload))

    def _receive(self, length: int, deadline: float | None) -> bytearray:
        buffer = bytearray(length)
        unfilled = memoryview(buffer)
        output = self._output()
        poll = select.poll()
        poll.register(output, select.POLLIN)
        while unfilled:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if not poll.poll(wait):
                self.kill()
                raise Failed("the time limit ran out; the child process was killed")
            count = os.readv(output, [unfilled])
            if count == 0:
                self.kill()
                raise Failed("the child process died")
            unfilled = unfilled[count:]
        return buffer
