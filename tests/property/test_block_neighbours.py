"""What one unit can change in sample and aggregate, for functions that look at the order of rows:
every neighbour of small tables, in any order of rows, changes as many blocks as the loss is for.
"""

import pickle
import zlib
from itertools import permutations, product

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import Pure, Relation
from discreet.mechanisms.additive.lattice import Lattice
from discreet.robust.blocks import blocks as module
from discreet.robust.blocks.blocks import SampleAndAggregate
from discreet.robust.blocks.summaries import BlockMean
from support.pace import thinned
from support.robust_estimators import code_of_bytes, first_row, last_difference

LATTICE = Lattice(step=1, lower=0, upper=1 << 32, missing=(1 << 32) - 1)
LOOKS = (first_row, last_difference, code_of_bytes)
KEYS = (b"one key", b"another")
BLOCKS = 3


@pytest.fixture(autouse=True)
def within_this_process(monkeypatch):
    """Blocks one after the other, sent as they would be; processes have tests of their own."""

    def run(task, parts):
        return [task.lattice.steps(task.estimator(pickle.loads(pickle.dumps(p)))) for p in parts]

    monkeypatch.setattr(module, "run_blocks", run)


def values(rows, units, key, look):
    mean = BlockMean(price=Pure(epsilon=1))
    made = SampleAndAggregate(blocks=BLOCKS, lattice=LATTICE, summary=mean)
    return made.values(look, rows, units, key=key)


def found(table):
    """The blocks of a table, (rows, units), for all keys and functions."""
    return [values(*table, key, look) for key, look in product(KEYS, LOOKS)]


def differing(before, after):
    """The most blocks that differ, over keys and functions."""
    return max(int((a != b).sum()) for a, b in zip(before, after, strict=True))


def changed(one, other):
    return differing(found(one), found(other))


def orders(table):
    """Some orders in which a table's rows may come."""
    return [list(each) for each in (table, reversed(table), table[1:] + table[:1])]


CONTAINERS = {
    "numbers": lambda rows: np.array(rows, dtype=np.float64).reshape(-1, 2),
    "one column": lambda rows: np.array([row[0] for row in rows], dtype=np.float32),
    "integers": lambda rows: np.array([[a == 1, -1 if b == 2 else 0] for a, b in rows], np.int16),
    "columns apart": lambda rows: np.array(rows, dtype=np.float64, order="F").reshape(-1, 2),
    "list": lambda rows: [{"a": a, "b": str(b)} for a, b in rows],
}
VALUES = [(0.0, 1.0), (-0.0, 1.0), (1.0, 2.0), (1.0, 2.0), (float("nan"), 2.0), (5.0, 1.0)]
UNITS = {
    "integers": (3, -3, 10**30, 0, 7, 8),
    "texts": ("ana", "bo", "ANA", "", "7", "\x00"),
    "of two types": (7, "7", b"7", 0, "0", "i7"),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("units", UNITS)
def test_a_unit_that_comes_goes_or_is_another_changes_its_blocks_only(kind, units):
    made, names = CONTAINERS[kind], UNITS[units]
    owners = [names[n] for n in (0, 1, 2, 0, 3, 1)]
    full = [*zip(owners, VALUES, strict=True), (None, (9.0, 9.0))]
    stranger = [(names[5], (5.0, 5.0)), (names[5], (6.0, 5.0))]

    def table(rows):
        return made([row for _, row in rows]), [owner for owner, _ in rows]

    before = found(table(full))
    for gone in (*names[:4], None):
        rest = [row for row in full if row[0] != gone]
        for rows in orders(rest):
            assert differing(before, found(table(rows))) <= (gone is not None)
        for rows in orders(rest + stranger):
            assert differing(before, found(table(rows))) <= Relation.REPLACE.steps


@pytest.mark.parametrize("kind", thinned(CONTAINERS, 4, "large oracles"))
def test_without_a_unit_each_row_is_one(kind):
    made = CONTAINERS[kind]
    before = found((made(VALUES), None))
    for rows in permutations(VALUES, len(VALUES) - 1):  # without one of them, in every order
        assert differing(before, found((made(list(rows)), None))) <= 1
    for place in range(len(VALUES)):
        rest = VALUES[:place] + VALUES[place + 1 :]
        for rows in orders([*rest, VALUES[0]]):
            assert differing(before, found((made(rows), None))) <= Relation.REPLACE.steps


def test_the_test_sees_an_order_that_others_change(monkeypatch):
    monkeypatch.setattr(module, "_order", lambda texts, _: list(range(len(texts))))
    rows = CONTAINERS["numbers"](VALUES)
    units = [0, 0, 1, 1, 2, 2]
    assert changed((rows, units), (rows[::-1], units[::-1])) > 1


def test_every_order_of_a_block_is_possible():
    rows = [[1], [2], [3]]
    keys = [b"key %d" % number for number in range(100)]
    firsts = {max(values(rows, ["u"] * 3, key, first_row)) for key in keys}
    assert firsts == {zlib.crc32(repr(row).encode()) for row in rows}


@pytest.mark.parametrize(
    "rows",
    [
        np.array(["a", "longer"]),
        np.array([None, 1], dtype=object),
        np.array([1, 2], dtype=np.longdouble),
        {1: 2, 3: 4},
        "ab",
    ],
)
def test_rows_whose_type_one_of_them_decides_are_refused(rows):
    with pytest.raises(InvalidValue, match=r"Nothing was run\."):
        values(rows, [1, 2], KEYS[0], first_row)
