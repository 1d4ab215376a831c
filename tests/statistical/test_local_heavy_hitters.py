"""Frequent answers of a huge domain are found, in order, and a broken search is caught."""

import numpy as np
import pytest

from discreet.local import PrefixExtension
from discreet.local.randomizers.hashing import LocalHashing
from discreet.noise.bits import system
from support.fit import check_rate, rejects

WIDTH = 48
HEAVY = ((1 << WIDTH) - 5, (4 << 30) - 5)  # alike in the last 30 bits


def people():
    """80,000, 50,000 and 30,000 people: two frequent answers, and one for each of the others."""
    scattered = [system.bits(WIDTH) for _ in range(30_000)]
    return np.concatenate([np.repeat(HEAVY, [80_000, 50_000]), scattered])


def found():
    """Whether both are found in order, and nothing else comes near.

    At epsilon 4 a report moves an estimated share by 2.1/n. Each of 8 groups has more than 15,000
    people but with probability e^-600; an estimate is 0.08 off with probability below
    2 exp(-2 * 15,000 * (0.08/2.1)^2) < 3e-19, over 8 * 256 candidates below 1e-15. Shares are
    0.5, 0.31 and at most 0.01 else, so within 0.08 the order is right.
    """
    question = PrefixExtension(epsilon=4, width=WIDTH, first=6, step=6)
    hitters = question.find(question.release(people()), keep=4)
    return (
        tuple(hitter.value for hitter in hitters[:2]) == HEAVY
        and abs(hitters[0].share - 0.5) <= 0.08
        and abs(hitters[1].share - 50 / 160) <= 0.08
        and hitters[2].share <= 0.09
    )


def test_heavy_hitters_are_found_in_a_huge_domain():
    assert check_rate(int(found()), 1, 1.0, name="heavy hitters") > 0


@pytest.mark.parametrize("bug", ["one multiplier for all bits", "no hash at all"])
def test_broken_hashes_are_caught(bug, monkeypatch):
    def broken(self, function, values):
        part = values & ((1 << 30) - 1) if bug.startswith("one") else values
        slope = function[..., 0] if bug.startswith("one") else 0
        return (slope * part + function[..., -1]) % ((1 << 31) - 1) % self.sides

    monkeypatch.setattr(LocalHashing, "_hash", broken)
    assert rejects(check_rate, int(found()), 1, 1.0, name=bug)
