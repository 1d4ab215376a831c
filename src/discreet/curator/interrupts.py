"""Ctrl-C while a question runs: before the charge it stops at once; after it the answer is finished
and stored first, so that asking again is free. A second Ctrl-C stops all the same.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["Interrupted", "STORED", "charging", "finishing"]

STORED = "interrupted after the charge: what it paid for is finished and stored."
"""What is said of work that was finished although Ctrl-C was pressed."""

_STDERR = 2  # written to directly: a stream may be closed, or in the middle of a write

_NOTICE = (
    "\ndiscreet: a charge has begun, so what it pays for is finished and stored first. "
    "Ctrl-C again stops it unfinished; a charge stays.\n"
)
_FREE = f"{STORED} The same question again is free."


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came after the charge: all is stored, and the same question again is free.

    Privacy: none (touches no data).
    >>> issubclass(Interrupted, KeyboardInterrupt)
    True
    """


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


@contextmanager
def finishing(*, words: str = _FREE) -> Iterator[None]:
    """Within it, Ctrl-C waits for the end once something is being charged; `words` say so then.

    Does nothing in other threads, and where a program handles Ctrl-C itself.
    Privacy: none (touches no data).
    >>> with finishing():
    ...     charging()
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
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _turns.clear()
    if turn.pressed:
        raise Interrupted(words)


def charging() -> None:
    """Say that a charge begins: from here on, what it pays for is finished.

    Privacy: none (touches no data).
    >>> charging()
    """
    if _turns and threading.current_thread() is threading.main_thread():
        _turns[0].charging = True
