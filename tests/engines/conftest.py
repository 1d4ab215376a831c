"""Three engines, each started once for all tests that ask for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.engine_houses import (
    INTERPRETED,
    SMALL,
    DuckDBHouse,
    House,
    PostgreSQLHouse,
    SparkHouse,
)


@pytest.fixture(scope="session")
def postgresql(postgresql_folder: Path) -> Iterator[PostgreSQLHouse]:
    """PostgreSQL with raw rows."""
    house = PostgreSQLHouse(str(postgresql_folder))
    yield house
    house.close()


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
def spark(spark_present: None) -> Iterator[SparkHouse]:
    """Spark with raw rows."""
    assert spark_present is None
    house = SparkHouse(SMALL)
    yield house
    house.close()


@pytest.fixture(scope="session")
def interpreted_spark(spark_present: None) -> Iterator[SparkHouse]:
    """Spark with raw rows, for many small statements."""
    assert spark_present is None
    house = SparkHouse(INTERPRETED)
    yield house
    house.close()


@pytest.fixture(scope="session")
def duckdb_house() -> Iterator[DuckDBHouse]:
    """DuckDB with raw rows."""
    house = DuckDBHouse()
    yield house
    house.close()


@pytest.fixture(scope="session")
def houses(
    duckdb_house: DuckDBHouse, postgresql: PostgreSQLHouse, spark: SparkHouse
) -> list[House]:
    """All three."""
    return [duckdb_house, postgresql, spark]


@pytest.fixture(scope="session")
def quick_houses(
    duckdb_house: DuckDBHouse, postgresql: PostgreSQLHouse, interpreted_spark: SparkHouse
) -> list[House]:
    """All three, for many small statements."""
    return [duckdb_house, postgresql, interpreted_spark]
