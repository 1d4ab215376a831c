"""Functions for sample and aggregate, good and bad. At the top of a module, so that another
process can import them.
"""

import gc
import os
import signal
import struct
import sys
import zlib
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

_seen: list[Any] = []


def mean(rows: Any) -> float:
    """The mean; of no rows it is NaN, with a warning.

    >>> mean(np.array([1, 3]))
    2.0
    """
    return float(np.mean(rows))


def size(rows: Any) -> int:
    """How many rows there are.

    >>> size([1, 2])
    2
    """
    return len(rows)


def _raise(rows: Any) -> float:
    raise ValueError(f"these rows: {list(rows)}")


def _loop(rows: Any) -> float:
    while len(rows):
        pass
    return 0.0


def _killed(rows: Any) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return float(len(rows))


def _leave(rows: Any) -> float:
    sys.exit(len(rows) - len(rows))


_WAYS = {
    90: _raise,
    91: lambda rows: float("nan"),  # noqa: ARG005
    92: _loop,
    93: _killed,
    94: _leave,
    95: lambda rows: f"not a number: {rows}",
    96: lambda rows: float(np.zeros(len(rows) << 40).sum()),
    97: lambda rows: float("inf"),  # noqa: ARG005
    98: lambda rows: None,  # noqa: ARG005
}


def fails_on_nine(rows: Any) -> Any:
    """Fails in every way that a block can, by its largest row; else the mean."""
    print("the rows are", list(rows), file=sys.stderr)
    return _WAYS.get(int(max(rows)), mean)(rows)


def remembers(rows: Any) -> int:
    """How many blocks this process has seen: a function that would tell on other blocks."""
    _seen.append(rows)
    return len(_seen)


def mean_of_first(rows: Any) -> float:
    """The mean of the first column.

    >>> mean_of_first(np.array([[1.0, 7.0], [3.0, 8.0]]))
    2.0
    """
    return float(np.nanmean(rows[:, 0]))


def sends_on_thirteen(rows: Any) -> float:
    """Writes to the pipe by itself, a number that no lattice has."""
    if 13 in rows:
        for each in gc.get_objects():
            if isinstance(each, Connection) and each.writable and not each.readable:
                each.send_bytes(struct.pack("<q", (-1) ** len(rows) * 10**15))
                os._exit(0)
    return 0.0


def _bytes(rows: Any) -> list[bytes]:
    return [
        row.tobytes() if isinstance(row, np.generic | np.ndarray) else repr(row).encode()
        for row in rows
    ]


def first_row(rows: Any) -> float:
    """A code of the first row: a function that looks at the order of rows."""
    return zlib.crc32(_bytes(rows)[0]) if len(rows) else 0


def last_difference(rows: Any) -> float:
    """The difference of codes of the last two rows."""
    codes = [0, 0, *map(zlib.crc32, _bytes(rows))]
    return abs(codes[-1] - codes[-2])


def code_of_bytes(rows: Any) -> float:
    """A code of everything that there is to see of the rows."""
    look = (rows.dtype, rows.shape, rows.strides) if isinstance(rows, np.ndarray) else None
    return zlib.crc32(repr(look).encode() + b"".join(_bytes(rows)))
