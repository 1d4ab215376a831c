"""Keys that are not public, audited exactly: laws on neighbours keep (epsilon, delta), and planted
variants do not. A factor 2 stands for e^epsilon of one step of noise.
"""

from fractions import Fraction
from itertools import pairwise, product

import pytest

from discreet.audit.exact import enumerate_loss
from support.mechanism_laws import laplace_pmf, partition_chances

HALF = Fraction(1, 2)
FAR = 12  # noisy counts are told apart up to here above the threshold
HIDDEN = "hidden"


def threshold_law(units, threshold, ratio=HALF):
    """What one key of this many units shows; 0 units is a key that does not exist."""
    if not units:
        return {HIDDEN: Fraction(1)}
    law = {count: laplace_pmf(ratio, count - units) for count in range(threshold, threshold + FAR)}
    end = threshold + FAR - units
    law["far"] = ratio**end / (1 + ratio)  # end > 0
    law[HIDDEN] = 1 - sum(law.values())
    return law


def joint(laws):
    """Independent keys together."""
    result = {}
    for outcome in product(*(law.items() for law in laws)):
        chance = Fraction(1)
        for _, share in outcome:
            chance *= share
        result[tuple(name for name, _ in outcome)] = chance
    return result


def delta_between(first, second, factor, **named):
    laws = [joint([threshold_law(units, **named) for units in side]) for side in (first, second)]
    return enumerate_loss(*laws).delta_at(factor)


THRESHOLD = 5
ALONE = HALF ** (THRESHOLD - 1) / (1 + HALF)  # one unit alone reaches the threshold


@pytest.mark.parametrize("others", list(product(range(5), repeat=2)))
def test_threshold_when_a_unit_with_two_keys_is_added(others):
    more = [count + 1 for count in others]
    found = delta_between(others, more, 2**2, threshold=THRESHOLD)
    assert found <= 2 * ALONE
    if others == (0, 0):
        assert found == 1 - (1 - ALONE) ** 2  # nearly all of it is used


@pytest.mark.parametrize("others", list(product(range(4), repeat=2)))
def test_threshold_when_a_unit_is_replaced(others):
    """It leaves one key and enters the other: two keys move, and delta counts both."""
    first, second = (others[0] + 1, others[1]), (others[0], others[1] + 1)
    assert delta_between(first, second, 2**2, threshold=THRESHOLD) <= 2 * ALONE
    stay = delta_between((0, 1), (1, 0), 2**2, threshold=THRESHOLD)
    assert stay > 0


def test_planted_thresholds_are_caught():
    lower = delta_between((0, 0), (1, 1), 2**2, threshold=THRESHOLD - 1)
    assert lower > 2 * ALONE  # cut off instead of rounded up
    rows = delta_between((0, 0), (3, 3), 2**6, threshold=THRESHOLD)
    assert rows > 2 * ALONE  # rows counted for units, the noise priced right
    assert delta_between((3,), (4,), Fraction(3, 2), threshold=THRESHOLD) > ALONE  # noise unpriced


FACTORS = [Fraction(2), Fraction(5, 4), Fraction(9)]
DELTAS = [Fraction(1, 1000), Fraction(1, 10), Fraction(2, 5)]


def largest_delta(chances, factor):
    return max(
        enumerate_loss({1: one, 0: 1 - one}, {1: two, 0: 1 - two}).delta_at(factor)
        for one, two in pairwise(chances)
    )


@pytest.mark.parametrize(("factor", "delta"), list(product(FACTORS, DELTAS)))
def test_the_optimal_rule_uses_delta_at_every_count_and_no_more(factor, delta):
    chances = partition_chances(factor, delta, 60)
    assert chances[0] == 0  # an absent key is never shown
    assert largest_delta(chances, factor) == delta
    for place, (one, two) in enumerate(pairwise(chances)):
        if two == 1:
            break
        found = enumerate_loss({1: one, 0: 1 - one}, {1: two, 0: 1 - two}).delta_at(factor)
        assert found == delta, place


@pytest.mark.parametrize(("factor", "delta"), list(product(FACTORS, DELTAS[:2])))
def test_planted_rules_are_caught(factor, delta):
    chances = partition_chances(factor, delta, 60)
    early = [chances[0], *chances[2:]]  # one unit ahead
    assert largest_delta(early, factor) > delta
    grown = [min(Fraction(1), delta * sum(factor**i for i in range(n))) for n in range(60)]
    assert largest_delta(grown, factor) > delta  # growth all the way: hidden becomes impossible


@pytest.mark.parametrize("keys", [2, 3])
def test_the_keys_of_one_unit_share_epsilon_and_delta(keys):
    factor, delta = Fraction(2), Fraction(1, 50)
    chances = partition_chances(factor, delta, 20)

    def law(counts):
        return joint([{1: chances[n], 0: 1 - chances[n]} for n in counts])

    worst = max(
        enumerate_loss(law(counts), law([n + 1 for n in counts])).delta_at(factor**keys)
        for counts in product(range(6), repeat=keys)
    )
    assert delta < worst <= keys * delta  # so a delta that is not shared is caught
