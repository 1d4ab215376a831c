"""A faster start for the engine's child processes in `make test`: a server of the standard library
loads DuckDB once and forks each child, which runs the same `worker.py` on pipes of its own and is
killed like any other. `make test-slow` starts every child from nothing, as users do.
"""

import multiprocessing
import os
import subprocess
from functools import cache
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

_CONTEXT = multiprocessing.get_context("forkserver")


class ForkedProcess:
    """What `Child` uses of `subprocess.Popen`."""

    def __init__(self, _words: list[str], *, env: dict[str, str], **_: Any) -> None:
        read, theirs = os.pipe()
        ours, write = os.pipe()
        self.stdin, self.stdout = os.fdopen(theirs, "wb", 0), os.fdopen(ours, "rb", 0)
        self._process = _CONTEXT.Process(
            target=_serve, args=(DupFd(read), DupFd(write), dict(env)), daemon=True
        )
        _start_server()
        self._process.start()
        os.close(read)
        os.close(write)
        self.pid = self._process.pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> None:
        self._process.join()

    def kill(self) -> None:
        self._process.kill()


@cache
def _start_server() -> None:
    _CONTEXT.set_forkserver_preload(["support.preloaded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))
        forkserver.ensure_running()


def install(child: Any) -> None:
    """Let `discreet.engines.process.child` fork its children."""
    names = {"PIPE": subprocess.PIPE, "DEVNULL": subprocess.DEVNULL}
    child.subprocess = SimpleNamespace(Popen=ForkedProcess, **names)


def _serve(read: Any, write: Any, environment: dict[str, str]) -> None:
    from support.preloaded import worker

    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place, descriptor in enumerate((read.detach(), write.detach(), nowhere)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    worker._serve()
