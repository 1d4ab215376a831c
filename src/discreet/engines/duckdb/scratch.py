"""Private folders for half-made files and spilled rows; what a killed process leaves is swept.
A folder belongs to whoever holds the lock on it, and locks end with their process.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["Scratch", "sweep"]

_PREFIX = ".scratch-"


def _lock(folder: Path) -> int | None:
    """A descriptor that owns the folder, or None if another process does or it is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(folder).st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove(folder: Path, descriptor: int, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(descriptor)


def sweep(folder: Path) -> int:
    """Remove the scratch folders that no living process owns; return how many.

    >>> sweep(Path("no such folder"))
    0
    """
    removed = 0
    for leftover in folder.glob(f"{_PREFIX}*"):
        descriptor = _lock(leftover)
        if descriptor is not None:
            _remove(leftover, descriptor, os.getpid())
            removed += 1
    return removed


class Scratch:
    """A folder of mode 0700 inside another, removed when closed or with its last reference.

    Holds exact data; nobody but the owner of the vault can read it.
    >>> with tempfile.TemporaryDirectory() as vault, Scratch(Path(vault)) as scratch:
    ...     oct(scratch.path.stat().st_mode)[-3:]
    '700'
    """

    __slots__ = ("__weakref__", "_finalizer", "path")

    def __init__(self, folder: Path) -> None:
        sweep(folder)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
            descriptor = _lock(self.path)
            if descriptor is not None:  # else another sweep took it between the two steps
                break
        self._finalizer = weakref.finalize(self, _remove, self.path, descriptor, os.getpid())

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and all in it; harmless when repeated."""
        self._finalizer()
