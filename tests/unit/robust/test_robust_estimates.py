"""Location, CoinPress, spectra, histograms, refusals and the tool for thinking: no noise to speak
of, and what must be refused.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.robust.moments.coinpress import CoinPress
from discreet.robust.moments.location import Location, fullest_bins
from discreet.robust.moments.spectrum import AnalyzeGauss, SecondMoments
from discreet.robust.tested.bounding import LocalBound
from discreet.robust.tested.histogram import StabilityHistogram
from discreet.robust.tested.outcome import Refused, Shown
from discreet.robust.tested.property import rows_outside_clusters, rows_that_contradict
from discreet.robust.tested.propose import ProposeTestRelease
from discreet.robust.tested.reaches import QuantileReach, SlopeReach, SpreadReach
from discreet.robust.tested.sampling import estimate_sensitivity
from discreet.robust.tested.stable import DistanceTest, StableValue, mode_distance

SURE = 10**6  # an epsilon that leaves next to no noise


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows_per_unit", [1, 4])
def test_without_noise_the_location_is_the_mean_and_the_variance(relation, rows_per_unit):
    rows = np.arange(-50, 51) + 10**12
    mechanism = Location(epsilon=SURE, delta=1e-6, relation=relation, rows_per_unit=rows_per_unit)
    found = mechanism.release(rows)
    assert abs(found.value.mean - 10**12) < Fraction(1, 2)
    assert abs(found.value.variance - 850) < 5
    assert abs(found.value.count - 101) < 2


def test_one_row_far_out_hardly_matters_to_the_location():
    rows = np.append(np.arange(1000), 2**60)
    found = Location(epsilon=SURE, delta=1e-6).release(rows)
    assert 300 < found.value.mean < 800


def test_bins_are_aligned_and_nested():
    assert fullest_bins([-1, 0, 1])[:3] == [1, 2, 2]
    assert fullest_bins([])[-1] == 0
    held = fullest_bins([2**60, -(2**60), 5])
    assert held == sorted(held)


def test_a_location_of_nothing_is_a_refusal():
    assert Location(epsilon=1, delta=1e-12).release([]) == Refused("the location")


def test_coinpress_starts_far_away_and_ends_near():
    rng = np.random.default_rng()
    rows = np.rint(rng.normal([10**9, -3, 0], 50, (4000, 3))).astype(np.int64)
    found = CoinPress(columns=3, scale=50, radius=2**50, rho=SURE, rounds=6).release(rows)
    assert max(abs(a - b) for a, b in zip(found.mean, (10**9, -3, 0), strict=True)) < 10
    assert found.radius < 100
    assert abs(found.count - 4000) < 5


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_the_rounds_of_coinpress_share_all_of_rho(rounds):
    mechanism = CoinPress(columns=2, scale=1, radius=10, rho=0.3, rounds=rounds)
    assert len(mechanism.shares) == rounds + 1
    assert mechanism.loss().rho == Fraction(3, 10)


def test_coinpress_and_spectra_of_no_rows_answer_too():
    assert len(CoinPress(columns=2, scale=1, radius=10, rho=1).release([]).mean) == 2
    assert AnalyzeGauss(columns=2, radius=5, rho=1).release([]).matrix.shape == (2, 2)


def test_without_noise_the_spectrum_is_that_of_the_rows():
    rows = np.array([[30, 40], [0, 5]] * 100)
    found = AnalyzeGauss(columns=2, radius=50, rho=10**9).release(rows)
    assert np.abs(found.matrix - rows.T @ rows).max() < 5
    centred = AnalyzeGauss(columns=2, radius=50, rho=10**9).release(rows, centre=[15, 22])
    moments = (rows - [15, 22]).T @ (rows - [15, 22])
    assert np.abs(centred.matrix - moments).max() < 5
    mean = rows.mean(axis=0)
    covariance = found.covariance(count=200, offset=mean)
    assert np.allclose(covariance, np.cov(rows.T, bias=True), atol=0.1)


def test_the_spectral_error_covers_the_noise_of_many_matrices():
    mechanism = AnalyzeGauss(columns=6, radius=30, rho=Fraction(1, 2))
    for _ in range(50):
        noise = mechanism.release([]).matrix
        assert np.linalg.norm(noise.astype(float), 2) < mechanism.error(1 - 1e-9)


def test_histograms_show_full_keys_in_order_and_count_in_lots():
    rows = [9] * 3000 + [-4] * 3000 + [2]
    assert list(StabilityHistogram(epsilon=1, delta=1e-12).release(rows)) == [-4, 9]
    lots = StabilityHistogram(epsilon=SURE, delta=1e-6, rows_per_unit=7).release(rows)
    assert lots == {-4: 3003, 9: 3003}


def test_a_refusal_says_what_and_what_to_do():
    assert "the mode: too close to instability" in str(Refused("the mode"))
    assert "charged" in str(Refused("the mode"))
    match StableValue(epsilon=SURE, delta=1e-6).mode([5, 900]):
        case Shown(value):
            assert value == 1
        case _:
            pytest.fail("a clear mode was refused")


def test_a_bound_of_zero_releases_exactly_and_tests_with_all_of_epsilon():
    mechanism = ProposeTestRelease(bound=0, epsilon=1, delta=1e-6)
    assert mechanism.noise is None
    assert mechanism.test.epsilon == 1
    assert mechanism.loss().epsilon == 1
    assert mechanism.error(0.95) == 0
    median = QuantileReach(fraction=0.5, lower=0, upper=10**6)
    assert mechanism.release([77] * 500, median) == Shown(77)


def test_the_spread_of_a_column_on_a_logarithmic_scale():
    query = SpreadReach(lower=0, upper=10**6)
    mechanism = ProposeTestRelease(bound=1, epsilon=20, delta=1e-6)
    found = mechanism.release(list(range(0, 100_000, 10)), query)
    assert 2**14 <= query.distance(found.value) <= 2**17  # the true distance is 50,000
    assert query.distance(0) == query.distance(-3) == 0


def test_a_slope_is_found_and_a_flat_cloud_is_refused():
    rng = np.random.default_rng()
    x = rng.integers(0, 1001, 200_000)
    y = np.clip(2 * x + rng.integers(-5, 6, len(x)), 0, 2000)
    query = SlopeReach(across=(0, 1000), up=(0, 2000), step=Fraction(1, 100), largest=10)
    mechanism = ProposeTestRelease(bound=10, epsilon=2, delta=1e-12)
    found = mechanism.release(np.column_stack([x, y]), query)
    assert abs(found.value * query.step - 2) < 2
    still = np.column_stack([np.full(200_000, 7), y])
    assert isinstance(mechanism.release(still, query), Refused)


def mean(rows):
    return sum(rows) / len(rows) if rows else 0.0


def largest(rows):
    return max(rows, default=0)


def test_samples_tell_a_mean_from_a_maximum():
    calm = [number % 10 for number in range(150)]
    evidence = estimate_sensitivity(mean, mean, [calm], rate=0.3, draws=80)
    assert not evidence.contradicted
    assert "NOT A GUARANTEE" in str(evidence)
    outlier = [*calm, 10**6]
    suspicious = estimate_sensitivity(largest, largest, [outlier], rate=0.3, draws=80)
    assert suspicious.suggested >= 2 * (10**6 - 9)  # most samples miss the outlier
    lucky = estimate_sensitivity(largest, lambda _: 10**6, [outlier], rate=0.3, draws=80)
    assert lucky.contradicted  # an estimator that knew the answer: the change gives it away


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DistanceTest(epsilon=1, delta=0), "delta is 0"),
        (lambda: DistanceTest(epsilon=1, delta=0.1).passes(-1), "Nothing was released"),
        (lambda: DistanceTest(epsilon=1, delta=0.1).error(1), "below 1"),
        (lambda: ProposeTestRelease(bound=1, epsilon=1, delta=0.1, test_share=1), "test_share"),
        (lambda: LocalBound(epsilon=1, delta=0.1, drift=0), "drift is 0"),
        (lambda: LocalBound(epsilon=1, delta=0.1, drift=1).release(1.5, 2), "of type float"),
        (lambda: LocalBound(epsilon=1, delta=0.1, drift=1, bound_share=0), "bound_share"),
        (lambda: QuantileReach(fraction=1, lower=0, upper=1), "fraction is 1"),
        (lambda: QuantileReach(fraction=0.5, lower=2, upper=1), "swap them"),
        (lambda: QuantileReach(fraction=0.5, lower=0, upper=2**61), "2\\*\\*60"),
        (lambda: QuantileReach(fraction=0.5, lower=0, upper=1).around([0.5]), "Lattice.steps"),
        (lambda: SpreadReach(lower=0, upper=1, base=1), "base is 1"),
        (lambda: SpreadReach(lower=0, upper=1, fractions=(0.7, 0.2)), "grow"),
        (lambda: SlopeReach(across=(3, 3), up=(0, 1), step=1, largest=1), "able to vary"),
        (lambda: SlopeReach(across=(0, 2**25), up=(0, 1), step=1, largest=1), "2\\*\\*24"),
        (lambda: mode_distance([]), "empty or negative"),
        (lambda: Location(epsilon=1, delta=1e-6, reach=2000), "reach is 2000"),
        (lambda: CoinPress(columns=300, scale=1, radius=1, rho=1), "columns is 300"),
        (lambda: CoinPress(columns=3, scale=1, radius=2**61, rho=1), "2\\*\\*60"),
        (lambda: CoinPress(columns=3, scale=1, radius=1, rho=1, failure=0), "failure is 0"),
        (lambda: CoinPress(columns=3, scale=1, radius=1, rho=1).release([[1, 2]]), "2 columns"),
        (lambda: AnalyzeGauss(columns=3, radius=2**17, rho=1), "at most 65536"),
        (lambda: SecondMoments(matrix=np.eye(2), error=1.0).principal(3), "2 columns"),
        (lambda: rows_that_contradict([1], []), "differ in number"),
        (lambda: rows_outside_clusters([1], clusters=0, width=1), "clusters is 0"),
        (lambda: estimate_sensitivity(mean, mean, [[1]], rate=0.3, draws=2), "too few"),
        (lambda: estimate_sensitivity(mean, mean, [], rate=0.3), "no data sets"),
        (lambda: estimate_sensitivity(mean, mean, [[1]], rate=1), "rate is 1"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_way_out(make, words):
    with pytest.raises(InvalidValue, match=words):
        make()


def test_exact_rows_are_in_no_repr():
    around = QuantileReach(fraction=0.5, lower=0, upper=10**6).around([424242] * 3)
    spread = SpreadReach(lower=0, upper=10**6).around([424242] * 3)
    slope = SlopeReach(across=(0, 10), up=(0, 10), step=1, largest=1).around([(7, 9)])
    assert all("424242" not in repr(one) for one in (around, spread))
    assert "Fraction" not in repr(slope)
