"""The choice of blocks audited exactly on all small neighbours; marginals, ranges and adaptive
histograms as black boxes stand in the catalogue of audits. Planted variants are caught.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.audit.blackbox import audit
from discreet.audit.exact import enumerate_loss
from discreet.linear.hierarchy import Hierarchy
from discreet.rationals import ceil_decimal, log_bounds
from discreet.release.tables.allocation import Contrast, Unit, contrasts_for
from discreet.release.tables.measure import measure_tables
from support.release_laws import blocks_law

HALF = Fraction(1, 2)  # stands for exp(-epsilon/2): then epsilon is 2 ln 2
EPSILON = ceil_decimal(2 * log_bounds(Fraction(2))[1])
COUNTS = [counts for counts in product(range(3), repeat=4) if sum(counts) <= 4]
FALSE_ALARM = 1e-10


def neighbours(rows=1):
    for counts in COUNTS:
        for place in range(4):
            more = list(counts)
            more[place] += rows
            yield counts, tuple(more)


def widest(badness=None):
    """The largest epsilon, and the largest range of the loss, over all neighbours."""
    arguments = () if badness is None else (badness,)
    largest, spread = Fraction(0), Fraction(1)
    for one, other in neighbours():
        first, second = blocks_law(one, HALF, *arguments), blocks_law(other, HALF, *arguments)
        largest = max(largest, enumerate_loss(first, second).epsilon)
        ratios = [first[choice] / second[choice] for choice in first]
        spread = max(spread, max(ratios) / min(ratios))
    return largest, spread


def test_the_choice_of_blocks_keeps_its_price_on_all_small_neighbours():
    epsilon, spread = widest()
    assert epsilon <= EPSILON
    assert spread <= 4  # e^epsilon: bounded range
    assert epsilon > EPSILON / 4  # so the check could fail


def test_squared_distances_are_caught():
    """A badness that one row can move by more than one."""
    epsilon, _ = widest(lambda values: sum(v * v for v in values) * len(values) - sum(values) ** 2)
    assert epsilon > EPSILON


@pytest.mark.slow("black-box audits")
def test_a_contrast_priced_as_if_it_were_divided_is_caught():
    """Noise for counts on scaled integers: the scale of a contrast forgotten."""
    hierarchies = (Hierarchy.flat(8),)
    (right,) = contrasts_for({((0, 1),): 1.0}, hierarchies, rho=Fraction(1, 8), unit=Unit())
    wrong = Contrast(right.cut, type(right.noise).of_variance(4), right.loss)

    def draw(exact):
        parts = measure_tables([wrong], hierarchies, lambda _: np.array(exact))
        parts.add_contrast((), np.zeros(()), variance=1.0)
        return float(parts.table(((0, 1),))[0])

    pair = ((5, 0, 0, 0, 0, 0, 0, 0), (6, 0, 0, 0, 0, 0, 0, 0))
    verdict = audit(draw, right.loss, pairs=[pair], samples=1_500, false_alarm=FALSE_ALARM)
    assert verdict.violated
