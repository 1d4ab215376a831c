"""Three real engines with the same raw rows in each: DuckDB in memory, a PostgreSQL server in a
temporary folder, a local Spark. Statements run through the engines of the package.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from discreet.engines.postgresql.engine import PostgreSQL
from discreet.engines.spark.engine import Spark
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.plan.sql.dialects import dialect_of
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import Query
from discreet.schema.table import Table

POSTGRESQL_TYPES = {
    "UBIGINT": "NUMERIC(20,0)",
    "HUGEINT": "NUMERIC(39,0)",
    "UHUGEINT": "NUMERIC",
    "TINYINT": "SMALLINT",
    "DECIMAL(18,2)": "NUMERIC(18,2)",
    "DECIMAL(18,3)": "NUMERIC(18,3)",
    "DOUBLE": "DOUBLE PRECISION",
    "FLOAT": "REAL",
    "VARCHAR": "TEXT",
    "TIMESTAMP": "TIMESTAMP WITHOUT TIME ZONE",
}
SPARK_TYPES = {
    "UBIGINT": "DECIMAL(20,0)",
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "DECIMAL(38,0)",
    "VARCHAR": "STRING",
    "TIMESTAMP": "TIMESTAMP_NTZ",
}
SMALL = {"adaptive.enabled": "false", "shuffle.partitions": "1"}
"""Settings of Spark for a few rows."""

INTERPRETED = {**SMALL, "codegen.factoryMode": "NO_CODEGEN", "codegen.wholeStage": "false"}
"""The same without compiling, which would take most of the time of a small statement."""

LARGEST_DECIMAL = 10**38 - 1


def planned(query: Query, table: Table, dialect: str, limit: int = 3000) -> Plan:
    """The plan of a question at epsilon 1, written for one engine."""
    draft = Draft(query=query, table=table, price=Pure(epsilon=1), limit=limit, dialect=dialect)
    return plan(draft)


class LoadedEngine:
    """One engine with raw rows in the table `source`."""

    def __init__(self, dialect: str, types: Mapping[str, str]) -> None:
        self.dialect = dialect
        self._names = types
        self._types: dict[str, str] = {}

    def run(self, sql: str) -> None:
        """Run a statement for its effect."""
        raise NotImplementedError

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of an emitted statement."""
        raise NotImplementedError

    def value(self, value: Any, kind: str) -> str:
        """A raw value as SQL text."""
        if value is None:
            return f"CAST(NULL AS {kind})"
        return f"CAST({dialect_of(self.dialect).literal(str(value))} AS {kind})"

    def load(self, kinds: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Fill the source; `kinds` are DuckDB's types by column."""
        self._types = {name: self._names.get(kind, kind) for name, kind in kinds.items()}
        lines = [
            ", ".join(self.value(v, k) for v, k in zip(row, self._types.values(), strict=True))
            for row in rows
        ]
        self.fill(self._types, lines)

    def fill(self, types: Mapping[str, str], lines: list[str]) -> None:
        """Make the table `source` of these types and lines."""
        columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        self.run("DROP TABLE IF EXISTS source")
        self.run(f"CREATE TABLE source ({columns})")
        if lines:
            self.run(f"INSERT INTO source VALUES {', '.join(f'({line})' for line in lines)}")

    def lattice(self, table: Table) -> str:
        """The preparation's SELECT."""
        return lattice_rows(table, "source", self._types, self.dialect)

    def prepare(self, table: Table) -> list[tuple[Any, ...]]:
        """Make the table `prepared`; its rows in some order."""
        self.run("DROP TABLE IF EXISTS prepared")
        self.run(f"CREATE TABLE prepared AS {self.lattice(table)}")
        return self.prepared(table)

    def prepared(self, table: Table) -> list[tuple[Any, ...]]:
        """The rows of the prepared table, units and private keys as keys are."""
        names = [f'"{column.name}" AS "$k{place}"' for place, column in enumerate(table.columns)]
        if table.unit is not None:
            names.append('"$unit" AS "$k"')
        return self.rows(f"SELECT {', '.join(names)} FROM prepared")

    def close(self) -> None:
        """End it."""


class LoadedDuckDB(LoadedEngine):
    """DuckDB in memory."""

    def __init__(self) -> None:
        super().__init__("duckdb", {})
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")

    def run(self, sql: str) -> None:
        self._connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        self._connection.close()


class LoadedPostgreSQL(LoadedEngine):
    """A server: made by its superuser, read by a role that can do nothing else."""

    def __init__(self, folder: str) -> None:
        super().__init__("postgresql", POSTGRESQL_TYPES)
        server = f"postgresql://{{role}}@/postgres?host={folder}"
        self.admin = psycopg.connect(server.format(role="postgres"), autocommit=True)
        self.source = f"{server.format(role='reader')}#source"
        self.engine = PostgreSQL(self.source, time_limit_seconds=60)

    def run(self, sql: str) -> None:
        self.admin.execute(sql)
        self.admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")

    def copy(self, sql: str, file: Path) -> None:
        """Run a COPY from a file of this machine."""
        with self.admin.cursor() as cursor, cursor.copy(sql) as stream:
            stream.write(file.read_bytes())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return _answered(self.engine, sql)

    def close(self) -> None:
        self.engine.close()
        self.admin.close()


class LoadedSpark(LoadedEngine):
    """A local Spark; its tables are views of constants, so that small statements are quick."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__("spark", SPARK_TYPES)
        self.engine = Spark({}, time_limit_seconds=300)
        for name, value in settings.items():
            self.session.conf.set(f"spark.sql.{name}", value)

    @property
    def session(self) -> Any:
        """The engine's session."""
        return self.engine._open()

    def run(self, sql: str) -> None:
        self.session.sql(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return _answered(self.engine, sql)

    def value(self, value: Any, kind: str) -> str:
        if kind == "DECIMAL(38,0)" and value is not None:
            value = max(-LARGEST_DECIMAL, min(LARGEST_DECIMAL, value))  # clamped all the same
        return super().value(value, kind)

    def fill(self, types: Mapping[str, str], lines: list[str]) -> None:
        nothing = ", ".join(f"CAST(NULL AS {kind})" for kind in types.values())
        listed = ", ".join(f"({line})" for line in lines or [nothing])
        columns = ", ".join(f'col{n} AS "{name}"' for n, name in enumerate(types, 1))
        some = "" if lines else " WHERE FALSE"
        self.run(
            f"CREATE OR REPLACE TEMP VIEW source AS SELECT {columns} FROM VALUES {listed}{some}"
        )

    def prepare(self, table: Table) -> list[tuple[Any, ...]]:
        frame = self.session.sql(self.lattice(table))
        self.session.createDataFrame(frame.collect(), frame.schema).createOrReplaceTempView(
            "prepared"
        )
        return self.prepared(table)


def _answered(engine: Any, sql: str) -> list[tuple[Any, ...]]:
    """Rows, or the reason why there are none, which no user would see."""
    rows = engine._attempt(sql)
    assert rows is not None, f"{engine.last_failure}\n{sql}"
    return rows
