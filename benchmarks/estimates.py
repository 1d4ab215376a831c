"""Estimates that need no worst case: errors against noise at the global sensitivity, and times.

Propose-test-release for medians (a refusal counts as a guess in the middle of the range), means
without bounds against a clipped mean with declared bounds a thousand times too wide, CoinPress
against one round, a covariance by Analyze Gauss against Laplace noise on every entry, pairs that
agree against the sensitivity that a public limit on the number of rows allows, sample and
aggregate against no privacy. Peers are this package's mechanisms at the same price.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Pure, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.additive.lattice import Lattice
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.robust import (
    AgreeingPairs,
    AnalyzeGauss,
    BlockMedian,
    CoinPress,
    LocalBound,
    Location,
    ProposeTestRelease,
    QuantileReach,
    Refused,
    SampleAndAggregate,
)
from harness import Report, cpu_seconds

DRAWS, UPPER, HALF = 40, 10**6, Fraction(1, 2)
Integers = NDArray[np.int64]


def typical(once: Callable[[], float], draws: int = DRAWS) -> float:
    """The median absolute error of several releases."""
    return float(np.median([abs(once()) for _ in range(draws)]))


def normal(rows: int, centre: float, scale: float, seed: int = 7) -> Integers:
    """Made-up rows."""
    drawn = np.random.default_rng(seed).normal(centre, scale, rows)
    return np.rint(drawn).astype(np.int64)


def proposed_error(data: Integers, epsilon: float) -> float:
    """A proposed bound of a thousandth of the range; a refusal is a guess in the middle."""
    query = QuantileReach(fraction=HALF, lower=0, upper=UPPER)
    mechanism = ProposeTestRelease(bound=UPPER // 1000, epsilon=epsilon, delta=1e-6)
    exact = query.around(data).reach(0)[0]

    def once() -> float:
        found = mechanism.release(data, query)
        return (UPPER // 2 if isinstance(found, Refused) else found.value) - exact

    return max(0.5, typical(once))


def laplace_error(exact: int, scale: float, *, lower: int, upper: int) -> float:
    """Noise of this scale, held within a public range."""
    noise = DiscreteLaplace(scale=scale)
    return typical(lambda: min(max(noise.release(exact), lower), upper) - exact)


def exponential_error(data: Integers, epsilon: float) -> float:
    """The exponential mechanism on ranks over all lattice points."""
    counts = np.bincount(data, minlength=UPPER + 1)
    exact = int(np.sort(data)[-(-len(data) // 2) - 1])
    mechanism = Quantiles.of_price(
        fractions=(HALF,), sensitivity=Sensitivity.single(1), price=Pure(epsilon=epsilon)
    )
    return max(0.5, typical(lambda: mechanism.release(counts)[0] - exact, 10))


def medians(report: Report) -> None:
    """Against the whole range, and against the exponential mechanism, which knows no refusal."""
    for rows in (200, 2000, 20_000):
        data = np.clip(normal(rows, 400_000, 50_000), 0, UPPER)
        for epsilon in (0.1, 0.5, 2.0):
            ours = proposed_error(data, epsilon)
            case = f"median, proposed bound, {rows:,} rows, epsilon {epsilon}"
            peer = laplace_error(int(np.median(data)), UPPER / epsilon, lower=0, upper=UPPER)
            report.faster(case, ours, peer, "global Laplace")
            report.faster(case, ours, exponential_error(data, epsilon), "exponential quantile")


def location_error(data: Integers, epsilon: float) -> float:
    """Mean without bounds; a refusal counts as the whole range."""
    mechanism, mean = Location(epsilon=epsilon, delta=1e-6), float(data.mean())

    def once() -> float:
        found = mechanism.release(data)
        return 10**9 if isinstance(found, Refused) else float(found.value.mean) - mean

    return typical(once)


def locations(report: Report) -> None:
    """The declared bounds are plus and minus a million standard deviations."""
    for rows in (1000, 10_000, 100_000):
        data = normal(rows, 123_456_789, 1000)
        widest = rows * 10**9
        for epsilon in (0.5, 1.0):
            scale = 10**9 / epsilon
            off = laplace_error(int(data.sum()), scale, lower=-widest, upper=widest)
            case = f"mean without bounds, {rows:,} rows, epsilon {epsilon}"
            ours = location_error(data, epsilon)
            report.faster(case, ours, off / rows, "Laplace within wide bounds")


def press_error(data: Integers, rounds: int) -> float:
    """The Euclidean distance from the mean of the rows."""
    mean = data.mean(axis=0)
    mechanism = CoinPress(columns=len(mean), scale=1000, radius=10**9, rho=0.5, rounds=rounds)

    def once() -> float:
        found = np.array([float(value) for value in mechanism.release(data).mean])
        return float(np.linalg.norm(found - mean))

    return typical(once, 10)


def presses(report: Report) -> None:
    """Several columns: four rounds against one."""
    for rows, columns in ((2000, 5), (20_000, 10), (100_000, 20)):
        centre = np.random.default_rng(7).integers(-(10**8), 10**8, columns)
        drawn = np.random.default_rng(8).normal(centre, 1000, (rows, columns))
        data = np.rint(drawn).astype(np.int64)
        case = f"mean of {columns} columns, {rows:,} rows, rho 0.5"
        report.faster(case, press_error(data, 4), press_error(data, 1), "one round")


def spectra(report: Report) -> None:
    """The spectral error of a covariance of 20 columns, at rho 0.5 and epsilon 1."""
    rows, columns, radius = 20_000, 20, 1000
    data = np.rint(np.random.default_rng(7).normal(0, 100, (rows, columns))).astype(np.int64)
    exact = data.T @ data
    mechanism = AnalyzeGauss(columns=columns, radius=radius, rho=0.5)

    def ours() -> float:
        return float(np.linalg.norm((mechanism.release(data).matrix - exact).astype(float), 2))

    # In L1 norm the entries on and above the diagonal of x x^T reach (|x|_1^2 + |x|^2)/2.
    laplace = DiscreteLaplace(scale=radius**2 * (columns + 1) // 2)
    upper = np.triu_indices(columns)

    def peer() -> float:
        noise = np.zeros((columns, columns))
        noise[upper] = laplace.release(np.zeros(len(upper[0]), dtype=np.int64))
        return float(np.linalg.norm(noise + np.triu(noise, 1).T, 2))

    case = f"spectral error, {columns} columns, {rows:,} rows"
    report.faster(case, typical(ours, 10), typical(peer, 10), "Laplace on each entry")


def pairs(report: Report) -> None:
    """Keys of a hundred rows each; the peer knows that there are at most a million rows."""
    query, most = AgreeingPairs(), 10**6
    for rows in (1000, 100_000):
        exact, sensitivity = query.around(np.arange(rows) % (rows // 100))
        ours = pairs_error(exact, sensitivity, query.drift)
        peer = laplace_error(exact, 2 * most + 1, lower=0, upper=most**2)
        report.faster(f"pairs that agree, {rows:,} rows, epsilon 1", ours, peer, "global Laplace")


def pairs_error(exact: int, sensitivity: int, drift: int) -> float:
    """Noise for a noisy bound."""
    mechanism = LocalBound(epsilon=1, delta=1e-6, drift=drift)
    return typical(lambda: mechanism.release(exact, sensitivity).noisy - exact)


def blocks(report: Report) -> None:
    """The median of a skewed column as a black box."""
    data = np.exp(np.random.default_rng(7).normal(10, 0.7, 20_000))
    exact, upper = int(np.median(data)), 200_000
    lattice = Lattice(step=10, lower=0, upper=upper, missing=0)
    summary = BlockMedian(price=Pure(epsilon=1))
    mechanism = SampleAndAggregate(blocks=60, lattice=lattice, summary=summary)

    def once() -> float:
        values = mechanism.release(np.median, data, np.arange(len(data)))
        assert isinstance(values, Fraction)
        return float(values) - exact

    peer = laplace_error(exact, upper, lower=0, upper=upper)
    case = "median as a black box, 60 blocks, epsilon 1"
    report.faster(case, typical(once, 5), peer, "global Laplace")


def times(report: Report) -> None:
    """A million rows."""
    data = normal(10**6, 500_000, 100_000)
    query = QuantileReach(fraction=HALF, lower=0, upper=UPPER)
    propose = ProposeTestRelease(bound=1000, epsilon=1, delta=1e-6)
    location = Location(epsilon=1, delta=1e-6)
    seconds = cpu_seconds(lambda: propose.release(data, query))
    report.faster("seconds, proposed median, a million rows", seconds, None, "")
    seconds = cpu_seconds(lambda: location.release(data))
    report.faster("seconds, location, a million rows", seconds, None, "")


def main() -> None:
    """All of it."""
    report = Report("estimates beyond global sensitivity (errors in lattice steps)")
    for part in (medians, locations, presses, spectra, pairs, blocks, times):
        part(report)


if __name__ == "__main__":
    main()
