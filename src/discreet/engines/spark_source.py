"""A Spark table or a folder of Parquet files as a source: how it is found, whether it changed.
Reads names, types, sizes and times; never a row.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import SchemaError

__all__ = ["SparkSource"]

_PREFIX = "spark:"
_TAIL_BYTES = 1 << 16  # holds a Parquet footer, or the end of one: sizes, offsets, statistics


@dataclass(frozen=True, slots=True)
class SparkSource:
    """spark:folder/ or spark:file.parquet, or spark:database.table.

    Privacy: none (touches no data).
    >>> SparkSource.read("spark:clinic.visits").path is None
    True
    """

    given: str
    path: str | None
    table: str | None

    @classmethod
    def read(cls, source: str) -> "SparkSource":
        """The parts of a source: what has a slash or ends in .parquet is a path.

        Privacy: none (touches no data).
        >>> SparkSource.read("spark:hdfs://cluster/visits").path
        'hdfs://cluster/visits'
        """
        if not source.startswith(_PREFIX):
            raise SchemaError(f"source {source!r}: a Spark source begins with spark:.")
        name = source.removeprefix(_PREFIX)
        if not name:
            raise SchemaError(f"source {source!r} names no table and no path.")
        if "/" not in name and not name.endswith(".parquet"):
            return cls(source, None, name)
        if any(sign in name for sign in "*?[]{}"):
            raise SchemaError(f"source {source!r} has one of * ? [ ] {{ }} in its path; rename it.")
        if "://" not in name and not os.path.exists(name):
            raise SchemaError(f"source {source!r} does not exist; check the path.")
        return cls(source, name if "://" in name else os.path.realpath(name), None)

    @property
    def local(self) -> Path | None:
        """The path, if this machine's own files are meant.

        Privacy: none (touches no data).
        >>> SparkSource.read("spark:clinic.visits").local is None
        True
        """
        return None if self.path is None or "://" in self.path else Path(self.path)

    def stamp(self) -> str:
        """Names, sizes and times of the files, in short; empty for what cannot be listed here.

        Privacy: none: looks at files from outside.
        >>> SparkSource.read("spark:clinic.visits").stamp()
        ''
        """
        if self.local is None:
            return ""
        digest = hashlib.sha256()
        for file in self._files():
            status = file.stat()
            digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
        return digest.hexdigest()

    def content(self) -> Iterator[bytes]:
        """What tells these rows from others: the ends of all files, or the source's name.

        Privacy: exact functions of the data: to be keyed, and kept in the vault.
        >>> list(SparkSource.read("spark:clinic.visits").content())
        [b'spark:clinic.visits']
        """
        if self.local is None:
            yield self.given.encode()
            return
        ends = []
        for file in self._files():
            with file.open("rb") as content:
                size = content.seek(0, os.SEEK_END)
                content.seek(max(0, size - _TAIL_BYTES))
                ends.append(f"{size}\0".encode() + content.read())
        yield from sorted(ends)  # by content, so that a copy under other names is the same

    def _files(self) -> list[Path]:
        assert self.local is not None
        if self.local.is_file():
            return [self.local]
        found = sorted(p for p in self.local.rglob("*") if p.is_file() and p.name[0] not in "._")
        if not found:
            raise SchemaError(f"source {self.given!r} is a folder without files; check the path.")
        return found
