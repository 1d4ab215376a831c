"""Reference values that lie next to the repository; every closed form to 1e-9 relative."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting import (
    advanced,
    basic,
    gaussian_epsilon,
    gaussian_sigma,
    optimal,
    zcdp,
)
from discreet.loss import Pure

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "accounting.json"
pytestmark = pytest.mark.skipif(
    not VECTORS.exists(), reason="the reference vectors are not next to this checkout"
)
DELTA = Fraction(1, 10**6)


@pytest.fixture(scope="module")
def vectors():
    # Numbers are kept as text, to know how many digits the reference was printed with.
    return json.loads(VECTORS.read_text(), parse_float=str)


def assert_agrees(found, printed):
    """Within 1e-9 relative, or half a unit of the last digit where fewer are printed."""
    text = str(printed)
    digits = len(text.partition(".")[2]) if "e" not in text else 0
    expected = Fraction(text)
    allowed = max(expected / 10**9, Fraction(1, 2 * 10**digits))
    assert abs(found - expected) <= allowed, (float(found), text)


def test_homogeneous_pure_losses(vectors):
    rows = vectors["homogeneous_laplace"]
    count = rows["count"]
    assert len(rows["epsilon0"]) == 4
    for place, text in enumerate(rows["epsilon0"]):
        each = Fraction(text)
        batch = [Pure(epsilon=each)] * count
        assert basic(batch).epsilon == Fraction(rows["basic"][place])
        classic = advanced(epsilon=each, count=count, slack=DELTA, form="dwork-roth")
        assert_agrees(classic.epsilon, rows["advanced_dwork_roth_3_20"][place])
        concentrated = zcdp(batch, delta=DELTA).epsilon
        assert_agrees(concentrated, rows["zcdp_cks_conversion_rho_half_eps_squared"][place])
        best = optimal(epsilon=each, count=count, target_delta=DELTA).epsilon
        assert_agrees(best, rows["kov_optimal_pure_dp"][place])


def test_optimal_composition(vectors):
    rows = vectors["kov_optimal_pure_dp"]
    assert rows
    for row in rows:
        found = optimal(epsilon=Fraction(row["epsilon0"]), count=row["count"], target_delta=DELTA)
        assert_agrees(found.epsilon, row["epsilon"])


def test_heterogeneous_batch(vectors):
    row = next(one for one in vectors["heterogeneous"] if "basic" in one)
    losses = [
        Pure(epsilon=Fraction(1, 1000) + Fraction(9, 1000) * Fraction(place, 9999))
        for place in range(10_000)
    ]
    assert basic(losses).epsilon == row["basic"]
    assert_agrees(zcdp(losses, delta=DELTA).epsilon, row["zcdp_cks"])
    best = optimal(losses, target_delta=DELTA).epsilon
    assert Fraction(row["pure_dp_lower"]) <= best <= Fraction(row["pure_dp_upper"])


def test_composed_gaussian(vectors):
    for row in vectors["homogeneous_gaussian"]:
        found = gaussian_epsilon(
            sigma=row["sigma"], sensitivity=row["sensitivity"], count=row["count"], delta=DELTA
        )
        assert_agrees(found, row["epsilon_exact"])


def test_analytic_gaussian(vectors):
    rows = vectors["analytic_gaussian_sigma"]
    assert rows
    for row in rows:
        found = gaussian_sigma(epsilon=Fraction(row["epsilon"]), delta=Fraction(row["delta"]))
        assert_agrees(found, row["sigma"])
