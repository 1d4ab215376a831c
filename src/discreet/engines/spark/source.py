"""A Spark table or a folder of Parquet files as a source: how it is found, whether it changed.
Reads names, types, sizes and times; never a row.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from discreet.engines.files.contents import file_end
from discreet.errors import SchemaError

__all__ = ["SparkSource"]

_PREFIX = "spark:"


@dataclass(frozen=True, slots=True)
class SparkSource:
    """spark:folder/ or spark:file.parquet, or spark:database.table."""

    given: str
    path: str | None
    table: str | None

    @classmethod
    def read(cls, source: str) -> "SparkSource":
        """The parts of a source: what has a slash or ends in .parquet is a path.

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
        """The path, if this machine's own files are meant."""
        return None if self.path is None or "://" in self.path else Path(self.path)

    def stamp(self) -> str:
        """Names, sizes and times of the files, in short; empty for what cannot be listed here.

        >>> SparkSource.read("spark:clinic.visits").stamp()
        ''
        """
        if self.local is None:
            return ""
        digest = hashlib.sha256()
        for file in self.files():
            status = file.stat()
            digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
        return digest.hexdigest()

    def content(self) -> Iterator[bytes]:
        """What tells these rows from others: the ends of all files, or the source's name.

        They are exact functions of the data: to be keyed, and kept in the vault.
        >>> list(SparkSource.read("spark:clinic.visits").content())
        [b'spark:clinic.visits']
        """
        if self.local is None:
            yield self.given.encode()
            return
        # By content, so that a copy under other names is the same.
        yield from sorted(map(file_end, self.files()))

    def places(self) -> tuple[str, ...]:
        """A path as it is really called and all files under it, or one spelling of an address.

        >>> SparkSource.read("spark:HDFS://Cluster//clinic/./visits/").places()
        ('/spark/hdfs://cluster/clinic/visits',)
        """
        if self.path is None:
            return ()
        parts = urlsplit(self.path)
        if self.local is None and parts.scheme != "file":
            path = os.path.normpath(f"/{parts.path}").replace("//", "/")
            return (f"/spark/{parts.scheme}://{parts.netloc.lower()}{path}",)
        here = Path(os.path.realpath(self.local or parts.path))
        return (str(here), *(os.path.realpath(file) for file in _under(here)))

    def files(self) -> list[Path]:
        """This machine's own files that are read; none for what lies elsewhere.

        >>> SparkSource.read("spark:clinic.visits").files()
        []
        """
        if self.local is None:
            return []
        files_there = _under(self.local)
        if not files_there:
            raise SchemaError(f"source {self.given!r} is a folder without files; check the path.")
        return files_there


def _under(place: Path) -> list[Path]:
    """The files that Spark reads there."""
    if place.is_file():
        return [place]
    return sorted(p for p in place.rglob("*") if p.is_file() and p.name[0] not in "._")
