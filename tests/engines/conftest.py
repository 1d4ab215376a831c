"""Three engines, each started once for all tests that ask for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.loaded_engines import (
    INTERPRETED,
    SMALL,
    LoadedDuckDB,
    LoadedEngine,
    LoadedPostgreSQL,
    LoadedSpark,
)


@pytest.fixture(scope="session")
def postgresql(postgresql_folder: Path) -> Iterator[LoadedPostgreSQL]:
    """PostgreSQL with raw rows."""
    loaded = LoadedPostgreSQL(str(postgresql_folder))
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def spark_present() -> None:
    """Skips where there is no Java or no Spark; else Spark runs, which a busy machine may take
    longer to start than an engine gives to a statement.
    """
    from discreet.engines.spark.session import java, new_session
    from discreet.errors import InvalidValue

    try:
        java()
    except InvalidValue as reason:
        pytest.skip(f"no Spark: {reason}")
    pytest.importorskip("pyspark", reason="no Spark: the package pyspark is not installed")
    new_session().sql("SELECT id % 2, COUNT(*) FROM range(9) GROUP BY 1").collect()


@pytest.fixture(scope="session")
def spark(spark_present: None) -> Iterator[LoadedSpark]:
    """Spark with raw rows."""
    assert spark_present is None
    loaded = LoadedSpark(SMALL)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def interpreted_spark(spark_present: None) -> Iterator[LoadedSpark]:
    """Spark with raw rows, for many small statements."""
    assert spark_present is None
    loaded = LoadedSpark(INTERPRETED)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def loaded_duckdb() -> Iterator[LoadedDuckDB]:
    """DuckDB with raw rows."""
    loaded = LoadedDuckDB()
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def loaded_engines(
    loaded_duckdb: LoadedDuckDB, postgresql: LoadedPostgreSQL, spark: LoadedSpark
) -> list[LoadedEngine]:
    """All three."""
    return [loaded_duckdb, postgresql, spark]


@pytest.fixture(scope="session")
def quick_engines(
    loaded_duckdb: LoadedDuckDB, postgresql: LoadedPostgreSQL, interpreted_spark: LoadedSpark
) -> list[LoadedEngine]:
    """All three, for many small statements."""
    return [loaded_duckdb, postgresql, interpreted_spark]
