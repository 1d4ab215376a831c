"""Private GROUP BY COUNT, SUM, AVG on 10 million rows, against the raw statement and OpenDP.

The table is made up in DuckDB: 10 M rows; about 1 M users with zipf-like numbers of rows
(user = floor(1e6 * u^1.7) for uniform u); 50 regions; income v^2 * 200000 with 5% missing.
"raw" is DuckDB's own statement on the original table (a DuckDB file; a Parquet file is printed
beside it). Ours includes parsing, planning, the durable charge, the process hop and the noise;
every run asks at another price, so nothing is answered from a stored release. Sums by small
public keys are read from the totals that preparation keeps. OpenDP 0.16 runs
the same count and sum through its Polars interface, and AVG follows from them. Wall-clock times,
best of several runs; two threads for everybody.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import discreet
from discreet.curator import Session
from harness import Report

ROWS = int(os.environ.get("DISCREET_BENCH_ROWS", "10000000"))
REGIONS = [f"region_{number:02d}" for number in range(50)]
RAW = "SELECT region, COUNT(*), SUM(income), AVG(income) FROM {} GROUP BY region"
ASKED = (
    "SELECT region, COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM visits GROUP BY region"
)
MAKE = f"""
CREATE TABLE visits AS SELECT
    CAST(floor(1000000 * pow(u, 1.7)) AS BIGINT) AS user_id,
    'region_' || lpad(CAST(CAST(floor(r * 50) AS INTEGER) AS VARCHAR), 2, '0') AS region,
    CASE WHEN n >= 0.05 THEN round(v * v * 200000, 2) END AS income
FROM (SELECT random() u, random() r, random() n, random() v FROM range({ROWS}))
"""


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest wall-clock time of a few runs, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def schema(source: Path | str, unit: str | None) -> dict[str, Any]:
    """The public facts of the made-up table."""
    table: dict[str, object] = {"name": "visits", "source": str(source)}
    if unit is not None:
        table |= {"unit": unit, "rows_per_unit": 10}
    return {
        "table": table,
        "columns": {
            "region": {"type": "category", "keys": REGIONS},
            "income": {"type": "number", "lower": 0, "upper": 200_000, "step": 1},
        },
        "budget": {"epsilon": 1000, "delta": 1e-7},
    }


def asked(session: Session) -> Callable[[], object]:
    """The question at a new price each time."""
    prices = iter(range(1, 1000))
    return lambda: session.sql(ASKED, epsilon=1 + next(prices) / 1000)


def peer(file: Path, unit: str | None) -> float | None:
    """OpenDP's time for the same counts and sums."""
    try:
        import opendp.prelude as dp
        import polars as pl
    except ImportError:
        return None
    dp.enable_features("contrib")
    data = pl.scan_parquet(file)
    protected = (
        dp.unit_of(contributions=1)
        if unit is None
        else dp.unit_of(contributions=1, identifier=pl.col(unit))
    )
    keys = pl.LazyFrame({"region": REGIONS})
    margin = dp.polars.Margin(by=["region"], max_length=ROWS, max_groups=50, invariant="keys")

    def run() -> object:
        context = dp.Context.compositor(
            data=data,
            privacy_unit=protected,
            privacy_loss=dp.loss_of(rho=0.1, delta=1e-7),
            split_evenly_over=1,
            margins=[margin],
        )
        query = context.query()
        if unit is not None:
            query = query.truncate_per_group(10)
        amount = pl.col("income").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, 200_000.0))
        grouped = query.group_by("region").agg(dp.len(signed=True), amount)
        if unit is not None:
            grouped = grouped.with_keys(keys)
        return grouped.release().collect()

    return best(run, repeats=1)


def measure(report: Report, folder: Path) -> None:
    """All cases."""
    original, file = folder / "visits.duckdb", folder / "visits.parquet"
    with duckdb.connect(str(original)) as connection:
        connection.execute(MAKE)
        connection.execute(f"COPY visits TO '{file}' (FORMAT parquet)")
    with duckdb.connect(str(original), read_only=True) as connection:
        raw = best(lambda: connection.execute(RAW.format("visits")).fetchall())
        scan = best(lambda: connection.execute(RAW.format(f"'{file}'")).fetchall())
    report.faster("raw statement on the Parquet file, s", scan, raw, "raw, DuckDB file")
    for unit in (None, "user_id"):
        kind = "row-level" if unit is None else "user-level"
        with discreet.Curator.open(folder / f"vault-{kind}", price_floor=0) as curator:
            start = time.perf_counter()
            curator.add(schema(original, unit))
            prepared = time.perf_counter() - start
            report.faster(f"{kind}: preparation, s", prepared, 15.0, "limit")
            curator.grant("ana", epsilon=1000, delta=1e-7)
            ours = best(asked(curator.session("ana")))
            report.faster(f"{kind}: prepared, s", ours, raw, "raw, DuckDB file")
            report.faster(f"{kind}: prepared, s", ours, scan, "raw, Parquet file")
            report.faster(f"{kind}: prepared, s", ours, peer(file, unit), "OpenDP 0.16")
    for source, plain in ((original, raw), (file, scan)):
        kind = "DuckDB" if source == original else "Parquet"
        with discreet.Curator.open(folder / f"vault-{kind}", price_floor=0) as curator:
            curator.add_in_place(schema(source, None))
            curator.grant("ana", epsilon=1000, delta=1e-7)
            ours = best(asked(curator.session("ana")))
            report.faster(f"row-level: in place, {kind} file, s", ours, plain, f"raw, {kind} file")


MORE = f"""
CREATE TABLE users AS SELECT user_id, CAST(floor(random() * 100) AS BIGINT) AS age
FROM range(1000000) r(user_id);
ALTER TABLE visits ADD COLUMN town VARCHAR;
UPDATE visits SET town = 'town ' || CAST(CAST(floor({ROWS} * pow(random(), 3) / 10) AS BIGINT)
    AS VARCHAR);
"""


def peer_median(file: Path) -> float | None:
    """OpenDP's time for a median over 201 candidates."""
    try:
        import opendp.prelude as dp
        import polars as pl
    except ImportError:
        return None
    data = pl.scan_parquet(file)
    steps = [float(1000 * place) for place in range(201)]

    def run() -> object:
        context = dp.Context.compositor(
            data=data,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(by=(), max_length=ROWS)],
        )
        amount = pl.col("income").fill_null(0.0).fill_nan(0.0)
        return context.query().select(amount.dp.median(candidates=steps)).release().collect()

    return best(run, repeats=1)


def surface(report: Report, folder: Path) -> None:
    """Quantiles, keys that are not public, joins and distinct units, against raw statements."""
    original, file = folder / "visits.duckdb", folder / "visits.parquet"
    with duckdb.connect(str(original)) as connection:
        connection.execute(MORE)
    with discreet.Curator.open(folder / "vault-surface", price_floor=0) as curator:
        facts = schema(f"{original}#visits", "user_id")
        facts["table"]["population"] = "people"
        facts["columns"]["town"] = {"type": "category", "keys": "private"}
        curator.add(facts)
        users = {"name": "users", "source": f"{original}#users", "population": "people"}
        users |= {"unit": "user_id", "rows_per_unit": 1}
        age = {"type": "integer", "lower": 0, "upper": 110}
        curator.add({"table": users, "columns": {"age": age}})
        curator.grant("ana", epsilon=1000, delta=1e-7)
        session = curator.session("ana")
        for case, ours, raw in CASES:
            with duckdb.connect(str(original), read_only=True) as connection:
                plain = best(lambda sql=raw: connection.execute(sql).fetchall(), repeats=3)
            prices = iter(range(1, 1000))
            time_of = best(
                lambda sql=ours, prices=prices: session.sql(sql, epsilon=1 + next(prices) / 1000),
                repeats=3,
            )
            report.faster(f"{case}, s", time_of, plain, "raw, DuckDB file")
            if case.startswith("median"):
                report.faster(f"{case}, s", time_of, peer_median(file), "OpenDP 0.16")


CASES = (
    (
        "median (raw: histogram of 200 bins)",
        "SELECT MEDIAN(income) AS m FROM visits",
        "SELECT floor(income / 1000), COUNT(*) FROM visits GROUP BY 1",
    ),
    (
        "median where income > 1000 (raw: histogram of 200 bins)",
        "SELECT MEDIAN(income) AS m FROM visits WHERE income > 1000",
        "SELECT floor(income / 1000), COUNT(*) FROM visits WHERE income > 1000 GROUP BY 1",
    ),
    (
        "three quartiles by region (raw: histograms)",
        "SELECT region, QUANTILE_CONT(income, 0.25) AS a, MEDIAN(income) AS b, "
        "QUANTILE_CONT(income, 0.75) AS c FROM visits GROUP BY region",
        "SELECT region, floor(income / 1000), COUNT(*) FROM visits GROUP BY 1, 2",
    ),
    (
        "towns with their numbers of people, a million unknown keys",
        "SELECT town, COUNT(DISTINCT user_id) AS n FROM visits GROUP BY town",
        "SELECT town, COUNT(DISTINCT user_id) FROM visits GROUP BY town",
    ),
    (
        "join with 1 M users: visits and income by region over 40",
        "SELECT v.region, COUNT(*) AS n, SUM(v.income) AS s FROM visits v JOIN users u "
        "ON v.user_id = u.user_id WHERE u.age > 40 GROUP BY v.region",
        "SELECT v.region, COUNT(*), SUM(v.income) FROM visits v JOIN users u "
        "ON v.user_id = u.user_id WHERE u.age > 40 GROUP BY v.region",
    ),
    (
        "distinct people by region",
        "SELECT region, COUNT(DISTINCT user_id) AS n FROM visits GROUP BY region",
        "SELECT region, COUNT(DISTINCT user_id) FROM visits GROUP BY region",
    ),
    (
        "a filter on a column that no totals hold",
        "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM visits WHERE income > 777 "
        "GROUP BY region",
        "SELECT region, COUNT(*), SUM(income) FROM visits WHERE income > 777 GROUP BY region",
    ),
    (
        "a window above: shares and ranks of regions, with simulated intervals",
        "SELECT region, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share, "
        "RANK() OVER (ORDER BY SUM(income) DESC) AS place FROM visits GROUP BY region",
        "SELECT region, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share, "
        "RANK() OVER (ORDER BY SUM(income) DESC) AS place FROM visits GROUP BY region",
    ),
)
"""Our question and the raw statement beside it."""


def planning(report: Report, folder: Path) -> None:
    """What reading and planning takes, each time with another constant."""
    with discreet.Curator.open(folder / "vault-surface", price_floor=0) as curator:
        session = curator.session("ana")
        whole = "SELECT region, COUNT(*) AS n FROM visits WHERE income > {} GROUP BY region"
        parts = ", ".join(
            f"(SELECT COUNT(*) FROM visits WHERE income > {{}} AND income < {150_000 + place})"
            for place in range(20)
        )
        texts = {
            "planning a question, s": (whole, 0.005),
            "planning a statement, s": (f"SELECT * FROM ({whole}) AS q ORDER BY n LIMIT 3", 0.005),
            "planning a statement of 20 blocks, s": (f"SELECT {parts}", 0.1),
        }
        for case, (text, limit) in texts.items():
            constants = iter(range(1, 1000))
            time_of = best(
                lambda text=text, constants=constants: session.explain(
                    text.replace("{}", str(next(constants))), epsilon=1
                ),
                repeats=20,
            )
            report.faster(case, time_of, limit, "limit")


def main() -> None:
    """Measure in a folder that is removed afterwards."""
    report = Report("Private GROUP BY COUNT, SUM, AVG")
    folder = Path(tempfile.mkdtemp())
    try:
        measure(report, folder)
        surface(report, folder)
        planning(report, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
