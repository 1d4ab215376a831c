"""Ctrl-C while a question runs: before the charge it stops at once; after it the answer is finished
and stored first, so that asking again is free. A second Ctrl-C stops all the same. While what was
paid for is shown, it stops at once and says that it is kept.
"""

import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

__all__ = ["Interrupted", "STORED", "charging", "finishing", "handing_over", "keeping", "telling"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

STORED = "interrupted after the charge: what it paid for is finished and stored."
"""What is said of work that was finished although Ctrl-C was pressed."""

_STDERR = 2  # written to directly: a stream may be closed, or in the middle of a write

_NOTICE = (
    "\ndiscreet: a charge has begun, so what it pays for is finished and kept first. "
    "Ctrl-C again stops it unfinished; a charge stays.\n"
)
_FREE = f"{STORED} The same question again is free."
_HELD = (
    "interrupted after the charge: what it paid for is finished. It is stored nowhere, so take it "
    "from this exception: its `answer`, or sys.last_value.answer at a prompt."
)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came after the charge: what was paid for is finished.

    Its message says where that is: stored, and free when asked again, or here as `answer`.
    """

    answer: Any = None


class _Turn:
    """Whether a charge has begun, and how often Ctrl-C was pressed since."""

    def __init__(self) -> None:
        self.charging = False
        self.pressed = 0

    def press(self, *_: Any) -> None:
        if not self.charging or self.pressed:
            raise KeyboardInterrupt
        self.pressed += 1
        with suppress(OSError):
            os.write(_STDERR, _NOTICE.encode())


_turns: list[_Turn] = []  # of the main thread, where signals arrive
_kept: list[str] = []  # what Ctrl-C says of the last work that was charged and finished, if any


@contextmanager
def finishing(*, words: str = _FREE) -> Iterator[None]:
    """Within it, Ctrl-C waits for the end once something is being charged; `words` say so then.

    Does nothing in other threads, and where a program handles Ctrl-C itself.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or _turns or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    turn = _Turn()
    try:
        _turns.append(turn)
        signal.signal(signal.SIGINT, turn.press)
        yield
        if turn.charging:
            keeping(words)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _turns.clear()
    if turn.pressed:
        raise Interrupted(words)


def charging() -> None:
    """Say that a charge begins: from here on, what it pays for is finished."""
    if _turns and threading.current_thread() is threading.main_thread():
        _turns[0].charging = True
        _kept.clear()  # what this charge pays for is not finished yet


def keeping(words: str) -> None:
    """Say that what was paid for is finished and stored; `words` say so if Ctrl-C comes later."""
    _kept[:] = [words]


@contextmanager
def telling() -> Iterator[None]:
    """Within it, Ctrl-C after work that was charged and finished says that it is kept.

    For a command that shows what it has paid for: it stops at once, and nothing is lost.
    >>> try:
    ...     with telling():
    ...         keeping("interrupted: the rows are stored.")
    ...         raise KeyboardInterrupt
    ... except Interrupted as stop:
    ...     print(stop)
    interrupted: the rows are stored.
    """
    _kept.clear()
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        if _kept:
            raise Interrupted(_kept[0]) from None
        raise
    finally:
        _kept.clear()


def handing_over(work: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The work, finished once it has charged; what came of it goes with the interruption.

    For releases that are stored nowhere: nothing that was paid for is lost.
    """

    @functools.wraps(work)
    def to_its_end(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        results: list[_Result] = []
        try:
            with finishing(words=_HELD):
                results.append(work(*arguments, **options))
        except Interrupted as stop:
            if results:
                stop.answer = results[0]
            raise
        _kept.clear()  # it is handed over here, and a later Ctrl-C cannot do it
        return results[0]

    return to_its_end
