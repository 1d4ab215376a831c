"""Where a table's rows come from: a file for DuckDB, a PostgreSQL server, or Spark. Which engine
reads them, what their columns are, whether they changed, what tells them from others.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.files.contents import file_end, text_code, value_codes
from discreet.engines.files.names import path_of, source_files
from discreet.engines.files.sources import describe, table_of
from discreet.engines.postgresql.engine import PostgreSQL
from discreet.engines.postgresql.source import PostgreSQLSource
from discreet.engines.protocol import Engine
from discreet.engines.spark.engine import Spark
from discreet.engines.spark.source import SparkSource
from discreet.errors import SchemaError
from discreet.rationals import Number
from discreet.schema.format import PLAIN, Format

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A source, the dialect of the engine that reads it, and the format of its texts.

    `copy` is a file that the source was rewritten to for one reading, and is read in its place.

    >>> Origin.of("spark:clinic.visits").dialect, Origin.of("visits.csv").dialect
    ('spark', 'duckdb')
    """

    source: str
    dialect: str
    format: Format = PLAIN
    copy: str | None = None

    @classmethod
    def of(cls, source: str, given: Format = PLAIN) -> "Origin":
        """The origin that a schema's source names.

        >>> Origin.of("postgresql://db.example/clinic#visits").dialect
        'postgresql'
        """
        if source.startswith(("postgresql:", "postgres:")):
            PostgreSQLSource.read(source)
            return cls(source, "postgresql", given)
        return cls(source, "spark" if source.startswith("spark:") else "duckdb", given)

    @property
    def read(self) -> str:
        """What is read for the source: its copy, where it has one.

        >>> Origin.of("visits.csv").read
        'visits.csv'
        """
        return self.copy or self.source

    @property
    def file(self) -> Path | None:
        """The file of a DuckDB source; `file.duckdb#table` names a table in one.

        A pattern of several files stays a pattern.

        >>> Origin.of("visits.csv").file
        PosixPath('visits.csv')
        """
        if self.dialect != "duckdb":
            return None
        before, mark, _ = self.source.rpartition("#")
        known = mark and Path(before).exists()
        return Path(before) if known else Path(path_of(self.source))

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of a DuckDB source: one, or those of a pattern, in the order of their names.

        >>> Origin.of("visits.csv").files
        (PosixPath('visits.csv'),)
        """
        if self.file is None:
            return ()
        if self.file.exists() or not any(sign in str(self.file) for sign in "*?["):
            return (self.file,)
        return tuple(map(Path, source_files(self.source).paths))

    def check(self) -> None:
        """Refuse an origin that the curator should not be connected to."""
        if self.dialect == "postgresql":
            PostgreSQLSource.read(self.source).check()

    def types(self, engine: Engine | None = None) -> dict[str, str]:
        """Column names and types; a CSV file is read as text, whatever its rows look like.

        `engine` is one over this origin that is open already.
        """
        if self.dialect == "postgresql":
            return dict(PostgreSQLSource.read(self.source).describe())
        if self.dialect == "spark":
            with Spark({"source": self.source}, time_limit_seconds=600) as engine:
                return dict(engine.describe("source"))
        columns_of = engine.columns if isinstance(engine, DuckDB) else None
        return dict(describe(self.read, self.format, columns_of))

    def stamp(self) -> str:
        """What differs after a change; empty where changes cannot be seen from outside.

        >>> Origin.of("absent.csv").stamp()
        'gone'
        """
        try:
            if self.dialect == "spark":
                return SparkSource.read(self.source).stamp()
            files = self.files
            states = [f"{status.st_size}:{status.st_mtime_ns}" for status in map(os.stat, files)]
        except (OSError, SchemaError):
            return "gone"
        if len(files) < 2:
            return "".join(states)
        named = "\0".join(f"{file}:{state}" for file, state in zip(files, states, strict=True))
        return f"{len(files)} files:{hashlib.sha256(named.encode()).hexdigest()}"

    def content(self) -> Path | Iterable[bytes]:
        """What the fingerprint of the rows is made from.

        It is an exact function of the data: to be keyed, and kept in the vault.
        >>> Origin.of("visits.csv").content()
        PosixPath('visits.csv')
        """
        if self.dialect == "postgresql":
            return [PostgreSQLSource.read(self.source).identity()]
        if self.file is None:
            return SparkSource.read(self.source).content()
        files = self.files
        return files[0] if len(files) == 1 else _pieces(files)  # of a pattern: the real file

    def place(self) -> Path:
        """One path for one origin, however it was written: what a population is tied to.

        >>> Origin.of("spark:clinic.visits").place()
        PosixPath('/spark/clinic.visits')
        """
        if self.dialect == "postgresql":
            words = PostgreSQLSource.read(self.source).identity().decode().split()
            return Path("/", *words)
        if self.file is not None:
            return self.file
        spark = SparkSource.read(self.source)
        return spark.local or Path("/spark", (spark.path or spark.table or "").lstrip("/"))

    def places(self) -> tuple[str, ...]:
        """All that is read, each by one name however it was written: files, a table of a server.

        >>> Origin.of("/data/../data/visits.csv").places()
        ('/data/visits.csv',)
        """
        if self.file is not None:
            return tuple(map(os.path.realpath, self.files))
        if self.dialect == "spark":
            with Spark({"source": self.source}, time_limit_seconds=600) as engine:
                return (str(self.place()), *engine.places("source"))
        return (str(self.place()),)

    def inside(self) -> tuple[str, str] | None:
        """The table that is read, with its schema, where a file holds several; else None.

        Reads the table names of a DuckDB file.
        """
        return None if self.file is None else table_of(self.source)

    def codes(self, engine: Engine, types: Mapping[str, str]) -> list[bytes]:
        """Codes of the values of a file's rows, read by an engine over this origin, which may take
        any time; none of a server.

        They are exact functions of the data: to be keyed, and kept in the vault.
        """
        return value_codes(types, engine.rows_without_limit) if isinstance(engine, DuckDB) else []

    def marks(self, codes: Iterable[bytes]) -> list[bytes]:
        """By what a copy of the rows is known again, besides `content`.

        The end of each Parquet file, the bytes of each text file of some length; for files that
        DuckDB reads, `codes` of the values of all of them together. They are exact functions of
        the data: to be keyed, and kept in the vault.
        >>> Origin.of("spark:clinic.visits").marks([])
        []
        """
        if self.dialect == "postgresql":
            return []
        files = self.files or SparkSource.read(self.source).files()
        marks_of_files = [
            b"end\0" + file_end(file) for file in files if file.suffix in (".parquet", ".pq")
        ]
        if self.file is None:
            return marks_of_files
        if source_files(self.source).kind in ("CSV", "JSON lines"):
            marks_of_files += [b"bytes\0" + code for code in map(text_code, files) if code]
        return [*marks_of_files, *(b"values\0" + code for code in codes)]

    def relation(self, view: str) -> str:
        """The FROM item in statements for `engine`.

        >>> Origin.of("visits.csv").relation("source")
        'source'
        """
        if self.dialect == "postgresql":
            return PostgreSQLSource.read(self.source).relation
        return view

    def engine(self, *, time_limit_seconds: Number, scratch: Path | None = None) -> Engine:
        """An engine that reads this origin in place, as the view `source`. Its rows are exact.

        >>> Origin.of("spark:clinic.visits").engine(time_limit_seconds=30).dialect
        'spark'
        """
        limit = time_limit_seconds
        if self.dialect == "postgresql":
            return PostgreSQL(self.source, time_limit_seconds=limit)
        if self.dialect == "spark":
            return Spark({"source": self.source}, time_limit_seconds=limit)
        return DuckDB.in_place(
            self.read, given=self.format, time_limit_seconds=limit, scratch=scratch
        )


def _pieces(files: Iterable[Path]) -> Iterator[bytes]:
    """The bytes of several files, each behind its length."""
    for file in files:
        yield f"{file.stat().st_size}\0".encode()
        with file.open("rb") as content:
            while piece := content.read(1 << 20):
                yield piece
