"""Sample and aggregate: dealing, bad blocks, isolation, and what one unit can change."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Approximate, Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.robust.blocks.blocks import SampleAndAggregate, deal
from discreet.robust.blocks.summaries import BlockMean, BlockMedian, BlockMode, Setting
from discreet.robust.tested.outcome import Refused, Shown
from support.robust_estimators import fails_on_nine, mean, remembers, sends_on_thirteen, size

KEY = b"a key for tests"
LATTICE = Lattice(step=Fraction(1, 2), lower=0, upper=100, missing=40)


def mechanism(blocks, summary=None, **more):
    summary = summary or BlockMean(price=Pure(epsilon=1))
    return SampleAndAggregate(blocks=blocks, lattice=LATTICE, summary=summary, **more)


def test_a_unit_stays_where_it_is_whoever_else_is_there():
    units = [f"unit {number}" for number in range(500)]
    all_of_them = deal(units, blocks=16, key=KEY)
    some = deal(units[::3], blocks=16, key=KEY)
    assert some.tolist() == all_of_them[::3].tolist()
    counts = np.bincount(all_of_them, minlength=16)
    assert counts.min() > 0
    assert deal(units, blocks=16, key=b"another").tolist() != all_of_them.tolist()


def test_units_of_other_types_do_not_meet_and_missing_ones_are_dropped():
    many = deal([*range(64), *map(str, range(64))], blocks=1 << 40, key=KEY)
    assert len(set(many.tolist())) == 128
    assert deal([None, float("nan"), 3], blocks=4, key=KEY).tolist()[:2] == [-1, -1]
    with pytest.raises(InvalidValue, match="of type float"):
        deal([b"x", 1.5], blocks=4, key=KEY)


def test_bad_blocks_count_as_missing_and_say_nothing(capfd):
    worst = [90, 91, 92, 93, 94, 95, 96, 97, 98, 10]
    ran = mechanism(24, processor_seconds=1)
    by_block = {int(deal([unit], blocks=24, key=KEY)[0]): unit for unit in range(200)}
    placed, units = zip(*list(by_block.items())[: len(worst)], strict=True)  # a block for each
    found = ran.values(fails_on_nine, np.array(worst), units, key=KEY)
    missing = 80
    for value, place in zip(worst, placed, strict=True):
        expected = {97: 200, 10: 20}.get(value, missing)  # infinity clamps to the upper bound
        assert found[place] == expected, value
    empty = np.setdiff1d(np.arange(24), placed)
    assert set(found[empty].tolist()) == {missing}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("others", [0, 1])
def test_a_number_outside_the_lattice_is_missing_however_it_was_sent(others):
    rows = np.array([13.0, *[1.0] * others])
    found = mechanism(4).values(sends_on_thirteen, rows, [7] * len(rows), key=KEY)
    assert sorted(found.tolist()) == [0, 0, 0, 80]  # empty blocks give their own value


def test_no_block_knows_of_another():
    found = mechanism(6).values(remembers, np.arange(60), np.arange(60), key=KEY, workers=1)
    assert found.tolist() == [2] * 6  # one block seen, in steps of a half


def test_a_unit_with_many_rows_changes_one_block_only():
    ran = mechanism(8)
    units = np.arange(40)
    before = ran.values(size, np.zeros(40), units, key=KEY)
    heavy = np.concatenate([units, np.full(30, 1000)])
    after = ran.values(size, np.zeros(70), heavy, key=KEY)
    changed = np.flatnonzero(before != after)
    assert changed.tolist() == [int(deal([1000], blocks=8, key=KEY)[0])]


def test_lists_and_arrays_are_dealt_alike():
    ran = mechanism(4)
    rows, units = list(range(20)), [f"u{number % 7}" for number in range(20)]
    from_list = ran.values(mean, rows, units, key=KEY)
    from_array = ran.values(mean, np.array(rows), np.array(units), key=KEY)
    assert from_list.tolist() == from_array.tolist()


def test_what_cannot_be_sent_or_does_not_fit_is_refused():
    ran = mechanism(4)
    with pytest.raises(InvalidValue, match="top of a module"):
        ran.values(lambda rows: len(rows), [1], [1], key=KEY)
    with pytest.raises(InvalidValue, match="differ in number"):
        ran.values(mean, [1, 2], [1], key=KEY)
    fine = Lattice(step=Fraction(1, 10**9), lower=0, upper=100)
    for summary in (BlockMedian(price=Pure(epsilon=1)), BlockMode(epsilon=1, delta=1e-6)):
        with pytest.raises(InvalidValue, match="larger step"):
            SampleAndAggregate(blocks=4, lattice=fine, summary=summary)
    with pytest.raises(InvalidValue, match=r"Pure\(epsilon"):
        BlockMean(price=Approximate(epsilon=1, delta=1e-6))


def test_replacing_a_unit_can_change_two_blocks_and_costs_twice_the_noise():
    once, twice = mechanism(4).setting, mechanism(4, relation="replace").setting
    assert (once.moved, twice.moved) == (1, 2)
    summary = BlockMean(price=Pure(epsilon=1))
    assert summary.noise(twice).scale == 2 * summary.noise(once).scale
    median = BlockMedian(price=ZCDP(rho=0.125))
    assert median.mechanism(twice).scale == 2 * median.mechanism(once).scale
    assert median.loss(twice).rho <= Fraction(1, 8)
    mode = BlockMode(epsilon=1, delta=1e-6)
    assert mode.mechanism(twice).test.scale == 2 * mode.mechanism(once).test.scale


def test_each_summary_finds_a_clear_value_and_the_mode_may_refuse():
    setting = Setting(lattice=LATTICE, blocks=200, moved=1)
    clear = np.full(200, 60)
    for summary in (BlockMean(price=Pure(epsilon=50)), BlockMean(price=ZCDP(rho=50))):
        assert abs(summary.release(clear, setting) - 30) < 5
    assert BlockMedian(price=Pure(epsilon=50)).release(clear, setting) == 30
    mode = BlockMode(epsilon=2, delta=1e-6)
    assert mode.release(clear, setting) == Shown(Fraction(30))
    undecided = np.arange(200)
    strict = BlockMode(epsilon=2, delta=1e-12)  # shows what it must refuse that often
    assert isinstance(strict.release(undecided, setting), Refused)


def test_end_to_end_the_mean_of_a_normal_column():
    ran = SampleAndAggregate(blocks=30, lattice=LATTICE, summary=BlockMedian(price=Pure(epsilon=4)))
    assert ran.loss() == Pure(epsilon=4)
    found = ran.release(mean, np.full(600, 55.5), np.arange(600))
    assert found == Fraction(111, 2)
