"""Output to somebody who may stop reading (`discreet ledger | head -1`): then a command goes on to
its end, since what it has paid for is kept, and says no more; one without an end asks whether
anybody still reads. Knows no command.
"""

import io
import os
import sys
from typing import Any, TextIO, cast

__all__ = ["Outlet", "patient_output", "reader_left"]


class Outlet:
    """A stream that falls silent, instead of failing, when its reader has gone.

    >>> import io
    >>> said = io.StringIO()
    >>> Outlet(said).write("seven")
    5
    """

    __slots__ = ("__weakref__", "_stream", "silent")

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.silent = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or drop what nobody reads.

        >>> import io
        >>> Outlet(io.StringIO()).write("")
        0
        """
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._fall_silent()
            return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Bring out what was written."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._fall_silent()

    def _fall_silent(self) -> None:
        """What is still to come, and what the stream holds back, goes nowhere."""
        self.silent = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, self._stream.fileno())
        finally:
            os.close(nowhere)


def patient_output() -> None:
    """Let standard output and error fall silent when their reader goes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = cast(TextIO, Outlet(sys.stdout))
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = cast(TextIO, Outlet(sys.stderr))


def reader_left() -> bool:
    """Whether the reader of standard output has gone."""
    return isinstance(sys.stdout, Outlet) and sys.stdout.silent
