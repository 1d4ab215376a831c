"""Sample and aggregate through a curator, on every engine and every kind of unit: it answers, and
neighbouring tables, their rows in another order, differ in as many blocks as the loss is for.
"""

import pickle
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.curator.curator import Curator
from discreet.estimates.blocks import sample_and_aggregate
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.robust.blocks import blocks as module
from discreet.robust.blocks.blocks import SampleAndAggregate
from discreet.robust.blocks.summaries import BlockMean
from support.robust_estimators import code_of_bytes, first_row, last_difference, size

LATTICE = Lattice(step=1, lower=0, upper=1 << 32, missing=0)
BLOCKS = 4
ROWS = [  # place of the unit or None, age, score
    (0, 30, 1.5), (1, 30, 1.5), (0, 31, None), (2, 5, 2.0), (None, 7, 7.0), (3, 5, 2.0),
    (1, 44, 2.5), (4, 81, 0.0),
]  # fmt: skip
STRANGER = [(5, 18, 3.5), (5, 5, 2.0)]
UNITS = {
    "BIGINT": (-7, 7, 0, 10**15, 3, 12),
    "VARCHAR": ("ana", "Ana", "", "7", "ana ", "böse"),
    "UUID": tuple(f"00000000-0000-0000-0000-00000000000{n}" for n in range(6)),
    "DATE": tuple(f"1970-01-0{n}" for n in range(1, 7)),
    "none": (0,) * 6,
}
SCHEMA = """
[table]
name = "visits"
source = "{source}"
{unit}
[columns]
age = {{ type = "integer", lower = 0, upper = 110 }}
score = {{ type = "number", lower = 0, upper = 10, step = 0.5 }}
[budget]
epsilon = 1000000
"""


def select(rows, kind):
    """The rows as SQL that DuckDB and PostgreSQL read alike."""
    column = "BIGINT" if kind == "none" else kind
    lines = ", ".join(
        "({}, {}, {})".format(
            "NULL" if place is None else f"CAST('{UNITS[kind][place]}' AS {column})",
            age,
            "NULL" if score is None else score,
        )
        for place, age, score in rows
    )
    if not lines:
        return f"SELECT CAST(NULL AS {column}) AS who, 1 AS age, 1.0 AS score WHERE 1 = 0"
    return f"SELECT * FROM (VALUES {lines}) AS rows (who, age, score)"


class InFile:
    """Rows in a Parquet file, which DuckDB prepares or reads in place, or Spark reads."""

    def __init__(self, folder, mark=""):
        self._file = folder / "visits.parquet"
        self.source = f"{mark}{self._file}"

    def write(self, rows, kind):
        duckdb.sql(f"COPY ({select(rows, kind)}) TO '{self._file}' (FORMAT parquet)")


class InPostgreSQL:
    """Rows in a table of a server."""

    def __init__(self, loaded):
        self._loaded = loaded
        self.source = loaded.source.replace("#source", "#in_blocks")
        loaded.run("DROP TABLE IF EXISTS in_blocks")

    def write(self, rows, kind):
        column = {"none": "BIGINT", "VARCHAR": "TEXT"}.get(kind, kind)
        made = "CREATE TABLE IF NOT EXISTS in_blocks"
        self._loaded.run(f"{made} (who {column}, age BIGINT, score DOUBLE PRECISION)")
        self._loaded.run(f"TRUNCATE in_blocks; INSERT INTO in_blocks {select(rows, kind)}")


def neighbours(kind):
    """Tables that differ from ROWS in one unit, and in how many blocks at most."""
    if kind == "none":
        for place in range(len(ROWS)):
            rest = ROWS[:place] + ROWS[place + 1 :]
            yield rest[::-1], 1
            yield [STRANGER[0], *rest[3:], *rest[:3]], 2
        return
    yield [row for row in ROWS if row[0] is not None], 0
    for unit in range(5):
        rest = [row for row in ROWS if row[0] != unit]
        yield rest[::-1], 1
        yield [STRANGER[0], *rest[3:], *rest[:3], STRANGER[1]], 2


def ask(curator):
    return sample_and_aggregate(
        curator, "ana", "visits", ("age", "score"), size,
        blocks=BLOCKS, lattice=LATTICE, summary=BlockMean(price=Pure(epsilon=100)),
    )  # fmt: skip


def seen(curator, monkeypatch):
    """What functions that look at the order see in each block, with a key that is always the same;
    in this process, since processes are slow and have tests of their own.
    """
    found = []

    def run(task, parts):
        return [task.lattice.steps(task.estimator(pickle.loads(pickle.dumps(p)))) for p in parts]

    def release(mechanism, _, exact, units, *_others, **_more):
        looks = (first_row, last_difference, code_of_bytes)
        found.extend(mechanism.values(look, exact, units, key=b"key") for look in looks)
        return Fraction(0)

    with monkeypatch.context() as patched:
        patched.setattr(module, "run_blocks", run)
        patched.setattr(SampleAndAggregate, "release", release)
        ask(curator)
    return np.array(found)


def check_neighbours(folder, monkeypatch, loaded, kind, add, every=1):
    loaded.write(ROWS, kind)
    schema = folder / "visits.toml"
    unit = "" if kind == "none" else 'unit = "who"\nrows_per_unit = 2'
    schema.write_text(SCHEMA.format(source=loaded.source, unit=unit))
    with Curator.open(folder / "vault", price_floor=0) as curator:
        add(curator, schema)
        curator.grant("ana", epsilon=10**6)
        before = seen(curator, monkeypatch)
        for rows, most in list(neighbours(kind))[::every]:
            loaded.write(rows, kind)
            curator.refresh("visits")
            differ = (seen(curator, monkeypatch) != before).sum(axis=1)
            assert differ.max() <= most, (rows, most)


WAYS = {"prepared": Curator.add, "in place": Curator.add_in_place}


@pytest.mark.slow("large oracles")
@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("way", WAYS)
def test_duckdb(tmp_path, monkeypatch, way, kind):
    check_neighbours(tmp_path, monkeypatch, InFile(tmp_path), kind, WAYS[way], every=2)


@pytest.mark.parametrize("kind", UNITS)
def test_postgresql(tmp_path, monkeypatch, postgresql, kind):
    check_neighbours(tmp_path, monkeypatch, InPostgreSQL(postgresql), kind, Curator.add, every=2)


@pytest.mark.usefixtures("spark_present")
@pytest.mark.parametrize("kind", ["BIGINT", "VARCHAR", "none"])
def test_spark(tmp_path, monkeypatch, kind):
    check_neighbours(tmp_path, monkeypatch, InFile(tmp_path, "spark:"), kind, Curator.add, every=4)


@pytest.mark.parametrize("kind", ["VARCHAR", "none"])
def test_a_real_release_answers(tmp_path, kind):
    loaded = InFile(tmp_path)
    loaded.write(ROWS * 2, kind)
    unit = "" if kind == "none" else 'unit = "who"\nrows_per_unit = 2'
    schema = tmp_path / "visits.toml"
    schema.write_text(SCHEMA.format(source=loaded.source, unit=unit))
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(schema)
        curator.grant("ana", epsilon=10**6)
        assert ask(curator).receipt.loss == Pure(epsilon=100)
