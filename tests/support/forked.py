"""A faster start for the engine's child processes in `make test`: a server of the standard library
loads DuckDB once and forks each child, which runs the same `worker.py` on pipes of its own and is
killed like any other. `make test-slow` starts every child from nothing, as users do.
"""

import multiprocessing
import os
import subprocess
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import discreet

_CONTEXT = multiprocessing.get_context("forkserver")
_FOLDERS = (Path(__file__).parents[1], Path(discreet.__file__).parents[1])  # tests, and the source


class _Descriptor:
    """A descriptor that travels with the request to fork, and is a number again in the child."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> Any:
        return _detach, (DupFd(self._number),)


def _detach(sent: Any) -> int:
    number: int = sent.detach()
    return number


class ForkedProcess:
    """What `Child` uses of `subprocess.Popen`."""

    def __init__(self, words: list[str], *, env: dict[str, str], **_: Any) -> None:
        read, theirs = os.pipe()
        ours, write = os.pipe()
        self.stdin, self.stdout = os.fdopen(theirs, "wb", 0), os.fdopen(ours, "rb", 0)
        pipes = _Descriptor(read), _Descriptor(write)
        self._process = _CONTEXT.Process(
            target=_serve, args=(words[-1], *pipes, dict(env)), daemon=True
        )
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


def install(child: Any) -> None:
    """Let `discreet.engines.process.child` fork its children."""
    _CONTEXT.set_forkserver_preload(["support.preloaded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, _FOLDERS)))
        forkserver.ensure_running()
    names = {"PIPE": subprocess.PIPE, "DEVNULL": subprocess.DEVNULL}
    child.subprocess = SimpleNamespace(Popen=ForkedProcess, **names)


def _serve(script: str, read: int, write: int, environment: dict[str, str]) -> None:
    from support.preloaded import worker

    assert worker.__file__ == script  # the file that is tested, not an installed one
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place, descriptor in enumerate((read, write, nowhere)):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    worker._serve()
