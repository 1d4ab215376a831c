"""Public tables end to end, through a curator: Adult against the goal at epsilon 1, one and a half
million soldiers, and flights with missing values under a unit of many rows.
"""

import itertools
import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

from discreet.curator.curator import Curator
from discreet.release.synth.compare import distances
from discreet.release.synth.service import exact_codes, synthesize
from discreet.schema.column import Column
from discreet.schema.table import Budget, Table

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.soak


def source(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data is not beside the checkout: ../shared/data/{name}")
    return path


def category(name, keys, other=False):
    return Column(name, "category", upper=len(keys) - 1 + other, keys=tuple(keys), other=other)


def keys_of(path, column, most=100):
    found = duckdb.sql(
        f"SELECT {column} FROM '{path}' WHERE {column} IS NOT NULL "
        f"GROUP BY 1 ORDER BY count(*) DESC LIMIT {most}"
    ).fetchall()
    return [str(each[0]) for each in found]


def made(folder, table, epsilon):
    with Curator.open(folder / "vault", price_floor=0) as curator:
        curator.add(table)
        curator.grant("ana", epsilon=20, delta=1e-6)
        found = synthesize(curator.session("ana"), table.name, epsilon=epsilon)
        return found, exact_codes(curator, found)


def mean_distance(found, exact, order):
    sizes = tuple(each.attribute.size for each in found.fields)
    return np.mean(list(distances(found.model.codes(len(exact)), exact, sizes, order).values()))


def test_military(tmp_path):
    path = tmp_path / "military.parquet"
    duckdb.sql(
        f"COPY (SELECT grade, branch, gender, race, hisp, rank FROM "
        f"read_csv('{source('military.csv.gz')}')) TO '{path}'"
    )
    columns = [
        category(name, keys_of(path, name)) for name in ("grade", "branch", "gender", "race")
    ]
    table = Table(
        "military",
        source=str(path),
        columns=(*columns, Column("hisp", "boolean"), Column("rank", "integer", lower=1, upper=11)),
        budget=Budget(epsilon=20, delta=1e-6),
    )
    found, exact = made(tmp_path, table, 1)
    assert len(exact) == 1_414_593
    assert abs(found.model.total - len(exact)) < 1000
    assert mean_distance(found, exact, 3) < 0.005


def test_flights(tmp_path):
    path = tmp_path / "flights.parquet"
    duckdb.sql(
        "COPY (SELECT month, hour, carrier, origin, dest, tailnum, dep_delay, air_time, distance "
        f"FROM read_csv('{source('flights.csv.gz')}', nullstr=['NA', ''])) TO '{path}'"
    )
    table = Table(
        "flights",
        source=str(path),
        unit="tailnum",
        rows_per_unit=20,
        columns=(
            Column("month", "integer", lower=1, upper=12),
            Column("hour", "integer", lower=0, upper=23),
            category("carrier", keys_of(path, "carrier")),
            category("origin", keys_of(path, "origin")),
            category("dest", keys_of(path, "dest", 40), other=True),
            Column("dep_delay", "number", lower=-60, upper=300),
            Column("air_time", "number", lower=0, upper=700),
            Column("distance", "number", lower=0, upper=5000),
        ),
        budget=Budget(epsilon=20, delta=1e-6),
    )
    found, exact = made(tmp_path, table, 5)
    assert found.unit == "tailnum"
    assert abs(found.model.total - len(exact)) < 0.05 * len(exact)
    assert mean_distance(found, exact, 1) < 0.1
    rows = found.rows(20_000)
    missing = sum(each is None for each in rows["dep_delay"]) / 20_000
    place = found.columns.index("dep_delay")
    assert abs(missing - (exact[:, place] == 0).mean()) < 0.03


def test_adult_reaches_its_goal(tmp_path):
    names = source("adult.csv").read_text().split("\n", 1)[0].split(",")
    sizes = json.loads((DATA / "adult-domain.json").read_text())
    plain = [name.replace("-", "_").replace(">", "_over_") for name in names]
    numbers = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
    path = tmp_path / "adult.csv"
    rest = (DATA / "adult.csv").read_text().split("\n", 1)[1]
    path.write_text(",".join(plain) + "\n" + rest)
    columns = [
        Column(new, "integer", upper=sizes[old] - 1, null=0)
        if old in numbers
        else category(new, [str(code) for code in range(sizes[old])])
        for old, new in zip(names, plain, strict=True)
    ]
    budget = Budget(epsilon=20, delta=2e-9)
    table = Table("adult", source=str(path), columns=tuple(columns), budget=budget)
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(table)
        curator.grant("ana", epsilon=20, delta=2e-9)  # half of it converts: 1e-9
        found = synthesize(curator.session("ana"), "adult", epsilon=1)
        exact = exact_codes(curator, found)
    error = mean_distance(found, exact, 3)
    assert error <= 0.093
    three = found.model.marks[2]
    assert abs(three.distance - error) < 0.005 + 5 * three.deviation
    assert len(list(itertools.combinations(names, 3))) == 364
