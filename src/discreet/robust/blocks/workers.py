"""Runs one function on each of several blocks of rows, each block in a process of its own that
knows nothing of the others. Whatever a block does, the caller gets one whole number for it within
public limits. Never lets a block's output, message or error through.
"""

import multiprocessing
import os
import pickle
import resource
import signal
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np

from discreet.errors import InvalidValue, Unavailable
from discreet.mechanisms.additive.lattice import Lattice

__all__ = ["Estimator", "Task", "check_sendable", "run_blocks"]

_WORD = struct.Struct("<q")
_PATIENCE = 30  # seconds of the clock that a block gets beyond four times its processor time

Estimator = Callable[[Any], Any]
"""A function of the rows of one block."""


@dataclass(frozen=True, slots=True)
class Task:
    """The function, where its values lie, and what one block may use."""

    estimator: Estimator
    lattice: Lattice
    processor_seconds: int
    memory_bytes: int
    workers: int


def run_blocks(task: Task, blocks: Sequence[Any]) -> list[int]:
    """For each block the function's value in lattice steps, or the lattice's `missing`."""
    check_sendable(task.estimator)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    nursery = context.Process(target=_run_nursery, args=(task, len(blocks), there))
    _start_undisturbed(nursery)
    there.close()
    try:
        for block in blocks:  # each is read when its turn comes
            here.send_bytes(pickle.dumps(block))
        values: list[int] = here.recv()
    except (BrokenPipeError, ConnectionResetError, EOFError):
        raise Unavailable(
            "the process that runs the blocks did not finish. Whatever was charged stays charged."
        ) from None
    finally:
        here.close()
        nursery.kill()
        nursery.join()
        nursery.close()
    return values


def _start_undisturbed(process: BaseProcess) -> None:
    """Start a process that Ctrl-C does not reach: a terminal sends it to all at once, and what
    comes of blocks that are paid for is the caller's to decide.
    """
    resource_tracker.ensure_running()  # it would unblock signals as it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_sendable(estimator: Estimator) -> None:
    """Refuse a function that another process could not import."""
    try:
        pickle.dumps(estimator)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise InvalidValue(
            "the estimator cannot be sent to another process; define it at the top of a module, "
            "not as a lambda or inside a function. Nothing was run."
        ) from None


@dataclass(slots=True)
class _Running:
    place: int
    process: BaseProcess
    receiver: Connection
    until: float


def _run_nursery(task: Task, count: int, parent: Connection) -> None:
    """In a fresh process that never opens a block itself, only forks for each."""
    _silence_streams()
    ends = (float("nan"), float("-inf"), float("inf"))
    missing, lowest, highest = (task.lattice.steps(end) for end in ends)
    values, started = [missing] * count, 0
    running: list[_Running] = []
    while started < count or running:
        while started < count and len(running) < task.workers:
            running.append(_start(task, started, parent.recv_bytes()))
            started += 1
        soonest = min(one.until for one in running) - time.monotonic()
        wait([one.process.sentinel for one in running], timeout=max(0.0, soonest))
        for one in list(filter(_end_if_late, running)):
            running.remove(one)
            steps = _read_result(one)
            # Whatever the block sent: a function that writes to its pipe moves one value at most.
            known = steps is not None and lowest <= steps <= highest
            values[one.place] = steps if known else missing
    parent.send(values)


def _start(task: Task, place: int, block: bytes) -> _Running:
    context = multiprocessing.get_context("fork")  # one thread, and no other block in memory
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_estimate, args=(task, block, sender), daemon=True)
    process.start()
    sender.close()
    until = time.monotonic() + 4 * task.processor_seconds + _PATIENCE
    return _Running(place, process, receiver, until)


def _end_if_late(one: _Running) -> bool:
    if one.process.is_alive() and time.monotonic() >= one.until:
        one.process.kill()
        return True
    return not one.process.is_alive()


def _read_result(one: _Running) -> int | None:
    """What the block sent, if it ended well and sent anything."""
    one.process.join()
    done = one.process.exitcode == 0
    try:
        sent = one.receiver.recv_bytes(_WORD.size) if done and one.receiver.poll() else b""
    except EOFError:
        sent = b""
    one.receiver.close()
    one.process.close()
    return int(_WORD.unpack(sent)[0]) if len(sent) == _WORD.size else None


def _silence_streams() -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)


def _estimate(task: Task, block: bytes, sender: Connection) -> None:
    """In the block's own process: a failure ends it, silently and without a core file."""
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, task.processor_seconds),
        (resource.RLIMIT_AS, task.memory_bytes),
    ):
        resource.setrlimit(what, (most, most))
    value = task.estimator(pickle.loads(block))
    if isinstance(value, np.generic):
        value = value.item()
    sender.send_bytes(_WORD.pack(task.lattice.steps(value)))
