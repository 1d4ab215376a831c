"""Hypotheses: fitted counts, rounds, the textbook's promise, and the price of parities alone."""

import copy
import itertools
import math
import pickle
import runpy
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.conversion import zcdp_rho
from discreet.accounting.gaussian import gaussian_delta
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights
from discreet.loss import Sensitivity
from discreet.streams.hypothesis.fitting import fit_counts
from discreet.streams.hypothesis.parities import Parities
from discreet.streams.hypothesis.shrinkage import posterior
from discreet.streams.hypothesis.textbook import TextbookWeights
from discreet.streams.svt.run import SvtState
from discreet.streams.synopsis.epochs import Epoch
from support.surface import ROOT

CERTIFICATE = runpy.run_path(str(ROOT / "benchmarks" / "certificate.py"))
certified, discrete_gaussians_delta = (
    CERTIFICATE[name] for name in ("certified", "discrete_gaussians_delta")
)
ONE = Sensitivity.single(1)
EXACT = 10**15
BITS = Domain.binary(8)


def sparse_rows():
    """A thousand rows in few cells, so that most cells are empty."""
    draw = np.random.default_rng(7)
    kinds = draw.integers(0, 2, size=(12, 8))
    return np.unique(kinds[draw.integers(0, 12, size=1000)], axis=0, return_counts=True)


@pytest.fixture(scope="module")
def rows():
    return sparse_rows()


def triples():
    return [
        Predicate.where(dict(zip(axes, values, strict=True)), BITS)
        for axes in itertools.combinations(range(8), 3)
        for values in itertools.product((0, 1), repeat=3)
    ]


def squared(answers, places, counts):
    exact = np.array([counts[each.counts(places)].sum() for each in triples()])
    return float(np.square(np.array(answers) - exact).mean())


def test_without_noise_the_fit_has_the_tables_that_were_measured(rows):
    measured = Parities.of(BITS, order=3, rho=EXACT).release(*rows)
    counts = fit_counts(measured)
    assert (counts >= 0).all()
    assert counts.sum() == pytest.approx(1000)
    weights = Weights.of(BITS, counts)
    answers = [1000 * weights.share(each) for each in triples()]
    assert math.sqrt(squared(answers, *rows)) < 1.5


def test_counts_that_are_not_negative_are_nearer_than_the_unbiased_ones(rows):
    """Most cells are empty: squared errors about halve; of five runs together, within 4%."""
    plain = held = 0.0
    parities = Parities.of(BITS, order=3, rho=Fraction(1, 20))
    for _ in range(5):
        measured = parities.release(*rows)
        weights = Weights.of(BITS, fit_counts(measured))
        plain += squared([measured.answer(each) for each in triples()], *rows)
        held += squared([measured.total * weights.share(each) for each in triples()], *rows)
    assert held < plain * 0.85


def test_mixed_attributes_are_fitted_too():
    domain = Domain(("a", "b", "c", "d"), (2, 5, 1, 3))
    draw = np.random.default_rng(8)
    places, counts = np.unique(
        draw.integers(0, domain.sizes, size=(300, 4)), axis=0, return_counts=True
    )
    measured = Parities.of(domain, order=2, rho=EXACT).release(places, counts)
    weights = Weights.of(domain, fit_counts(measured))
    for axes in itertools.combinations((0, 1, 3), 2):
        shape = tuple(domain.sizes[axis] for axis in axes)
        table = np.zeros(shape)
        np.add.at(table, tuple(places[:, axis] for axis in axes), counts)
        assert np.allclose(weights.table(axes) * 300, table, atol=0.3)


def test_a_universe_that_is_too_large_is_refused():
    domain = Domain.binary(23)
    measured = Parities.of(domain, order=1, rho=1).release(
        np.zeros((1, 23), dtype=np.int64), np.ones(1, dtype=np.int64)
    )
    with pytest.raises(InvalidValue, match="at most 4,194,304"):
        fit_counts(measured)


@pytest.mark.parametrize("moved", [1, 3])
def test_an_epoch_is_as_exact_as_it_says_and_no_dearer(moved):
    sensitivity = Sensitivity.single(moved)
    epoch = Epoch.of(threshold=1000, queries=500, sensitivity=sensitivity)
    assert 400 <= epoch.above.error(0.95, queries=500) <= 500
    assert epoch.noise.error(0.95) <= 250
    run = epoch.above.loss(sensitivity).epsilon
    assert epoch.loss(sensitivity).rho == run**2 / 2 + Fraction(moved**2, 2 * 125**2)


def test_an_epoch_that_has_ended_says_nothing_more():
    epoch = Epoch.of(threshold=1000, queries=10, sensitivity=ONE)
    with pytest.raises(InvalidValue, match="has ended"):
        epoch.step(SvtState(noise=0, used=1), 5, predicted=5)
    with pytest.raises(InvalidValue):
        epoch.step(epoch.above.begin(), 0.5, predicted=5)
    with pytest.raises(InvalidValue, match="threshold"):
        Epoch.of(threshold=0, queries=10, sensitivity=ONE)


def test_the_textbook_keeps_its_promise():
    """All answers within 2 alpha and at most so many updates, whenever the promise is given."""
    domain = Domain.binary(6)
    draw = np.random.default_rng(9)
    places, counts = np.unique(
        np.repeat(draw.integers(0, 2, size=(5, 6)), 200_000, axis=0), axis=0, return_counts=True
    )
    book = TextbookWeights.of(domain, alpha=0.1, rows=10**6, rho=1)
    assert book.updates == math.ceil(4 * math.log(64) / 0.01)
    # Once in 1e15 something else than what is promised may happen.
    assert book.accuracy(queries=2000, confidence=1 - Fraction(1, 10**15)) == 0.2
    run = book.start()
    farthest = 0
    for _ in range(2000):
        axes = tuple(sorted(draw.choice(6, size=3, replace=False).tolist()))
        predicate = Predicate(axes, draw.random((2, 2, 2)) < 0.5)
        exact = int(counts[predicate.counts(places)].sum())
        farthest = max(farthest, abs(run.answer(predicate, exact) - exact))
    assert farthest <= 0.2 * 10**6
    assert 0 < book.updates - run.left < book.updates


def test_the_textbook_promises_nothing_it_cannot_keep():
    domain = Domain.binary(6)
    poor = TextbookWeights.of(domain, alpha=0.1, rows=1000, rho=Fraction(1, 100))
    assert poor.accuracy(queries=1000, confidence=0.95) is None
    with pytest.raises(InvalidValue, match="alpha"):
        TextbookWeights.of(domain, alpha=2, rows=1000, rho=1)
    assert 0 < 1 - poor.loss(ONE).rho * 100 < 1e-9


def test_the_textbook_stops_when_its_updates_are_used():
    domain = Domain.binary(1)
    book = TextbookWeights.of(domain, alpha=1, rows=10**6, rho=10**6)
    run = book.start()
    always = Predicate.where({0: 1}, domain)
    for turn in range(book.updates):
        run.answer(always, 10**8 * (-1) ** turn)  # far off, so always an update
    assert run.left == 0
    with pytest.raises(BudgetExceeded, match="answers no more"):
        run.answer(always, 0)


def test_a_run_of_the_textbook_is_neither_copied_nor_set_back():
    """Copies would tell more noisy counts than there are updates paid for."""
    run = TextbookWeights.of(Domain.binary(1), alpha=1, rows=1000, rho=1).start()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidValue, match="cannot be copied or pickled"):
            copied(run)
    with pytest.raises(AttributeError):
        run.left = 100
    with pytest.raises(AttributeError):
        run.weights = Weights.uniform(Domain.binary(1))


def test_an_update_is_used_before_its_count_is_told(monkeypatch):
    """A run that is interrupted as it updates has used the update."""
    domain = Domain.binary(1)
    book = TextbookWeights.of(domain, alpha=1, rows=10**6, rho=10**6)
    run = book.start()

    def stops(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Weights, "scale", stops)
    for turn in range(book.updates):
        with pytest.raises(KeyboardInterrupt):
            run.answer(Predicate.where({0: 1}, domain), 10**8)
        assert run.left == book.updates - turn - 1
    with pytest.raises(BudgetExceeded):
        run.answer(Predicate.where({0: 1}, domain), 10**8)


def test_threads_share_the_updates_of_a_run(monkeypatch):
    """All ask while the first is between its comparison and its update."""
    domain = Domain.binary(1)
    book = TextbookWeights.of(domain, alpha=1, rows=10**6, rho=10**6)
    run, half, honest = book.start(), Predicate.where({0: 1}, domain), Weights.scale

    def slowly(self, predicate, factor):
        time.sleep(0.005)
        honest(self, predicate, factor)

    def ask(_):
        try:
            run.answer(half, 10**8)
        except BudgetExceeded:
            return 0
        return 1

    monkeypatch.setattr(Weights, "scale", slowly)
    with ThreadPoolExecutor(8) as pool:
        told = sum(pool.map(ask, range(book.updates + 16)))
    assert told == book.updates
    assert run.left == 0


def test_the_direction_of_an_update_is_that_of_the_noisy_answer():
    """Noise as large as the data: where it lies decides, whatever the exact count says."""
    domain = Domain.binary(1)
    book = TextbookWeights.of(domain, alpha=1, rows=10, rho=Fraction(1, 10**4))
    half = Predicate.where({0: 1}, domain)
    seen = set()
    while len(seen) < 2:  # each way has a chance of about a half
        run = book.start()
        noisy = run.answer(half, 5)
        if run.left < book.updates:
            grew = run.weights.share(half) > 0.5
            assert grew == (noisy >= 5)
            seen.add(grew)


def test_the_price_of_parities_alone_is_that_of_the_continuous_gaussian():
    for sigma, epsilon in ((5, 1), (1, 6), (40, Fraction(1, 10))):
        spread = Fraction(697) * sigma**2
        found = discrete_gaussians_delta({spread: 697}, epsilon=epsilon)
        expected = float(gaussian_delta(sigma=sigma, epsilon=epsilon))
        assert expected * 0.999 <= found <= expected * 1.01 + 2e-12


def test_the_price_of_parities_alone_is_brute_force_for_one():
    variance, epsilon = Fraction(16), 0.4
    z = np.arange(-200, 201)
    chance = np.exp(-(z**2) / 32.0)
    chance /= chance.sum()
    loss = (2 * z + 1) / 32
    exact = float((chance * np.maximum(0, -np.expm1(epsilon - loss))).sum())
    assert exact <= discrete_gaussians_delta({variance: 1}, epsilon=epsilon) <= exact * 1.001


def test_certified_parities_cost_no_more_and_have_less_noise():
    for epsilon in (Fraction(1, 10), 1, 10):
        made, cost = certified(Domain.binary(16), order=3, epsilon=epsilon, delta=1e-9)
        assert (cost.epsilon, cost.delta) == (epsilon, Fraction(1, 10**9))
        rho = zcdp_rho(epsilon=epsilon, delta=Fraction(1, 10**9))
        assert 1.05 < made.loss().rho / rho < 1.15
    with pytest.raises(InvalidValue, match="more than two values"):
        certified(Domain(("a",), (3,)), order=1, epsilon=1, delta=1e-9)
    with pytest.raises(UnprovableRequest, match="proved from 10"):
        discrete_gaussians_delta({Fraction(2): 3}, epsilon=1)


def test_deviations_are_judged_by_all_of_them_together():
    """Pure noise is drawn to nothing; what is far above the noise stays as it is."""
    draw = np.random.default_rng(10)
    noise = draw.normal(size=2000) * 3
    mean, variance = posterior(noise, np.full(2000, 9.0))
    assert np.abs(mean).max() < 1
    assert np.median(variance) < 1
    far = draw.normal(size=2000) * 1000
    mean, variance = posterior(far + noise, np.full(2000, 9.0))
    assert np.abs(mean - far - noise).max() < 1.5
    assert np.square(mean - far).mean() < 9.3
    few = np.where(np.arange(2000) < 40, 100.0, 0.0)  # rare and large among nothing
    mean, _ = posterior(few + noise, np.full(2000, 9.0))
    assert np.square(mean - few).mean() < 9 / 10


@pytest.mark.parametrize("order", [1, 2, 3])
def test_what_is_measured_without_noise_is_not_drawn_anywhere(rows, order):
    measured = Parities.of(BITS, order=order, rho=EXACT).release(*rows)
    weights = Weights.of(BITS, fit_counts(measured))
    for axes in itertools.combinations(range(8), order):
        part = Predicate.where(dict.fromkeys(axes, 1), BITS)
        exact = rows[1][part.counts(rows[0])].sum()
        assert 1000 * weights.share(part) == pytest.approx(exact, abs=4)
