"""Synopses: errors of many-query mechanisms on real rows, and the speed of their weights.

Data: `../shared/data/adult_bits16.csv.gz` and `adult_conjunctions.npy`; without them only speed is
measured. Errors are shares of all rows, averaged over five runs with fresh noise, at delta = 1e-9.
`--part errors`, `--part ours` or `--part speed` measures a part, `--epsilon 1` at one price;
weights on a GPU are in synopsis_device.py.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from certificate import certified
from discreet.accounting import advanced, zcdp_rho
from discreet.errors import BudgetExceeded
from discreet.loss import Sensitivity
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.streams import (
    Domain,
    Epoch,
    Measured,
    Parities,
    Predicate,
    TextbookWeights,
    Weights,
)
from discreet.streams.hypothesis.fitting import fit_counts
from harness import Report, cpu_seconds

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DELTA = Fraction(1, 10**9)
SEEDS = 5
WANTED = {"0.1": (0.0054, 0.024), "1": (0.0006, 0.0026), "10": (0.0001, 0.0003)}
ONE = Sensitivity.single(1)
TREES = 50_000
TREE_SEED = 20_261  # of the stream, which is fixed; noise is fresh
ALPHA = {"0.1": 0.4, "1": 0.05}
RESERVE = Fraction(1, 4)

Errors = tuple[float, float]


class Rows:
    """The table, its exact answers, and its domain."""

    def __init__(self) -> None:
        bits = np.loadtxt(DATA / "adult_bits16.csv.gz", delimiter=",", skiprows=1, dtype=np.int64)
        self.domain = Domain.binary(bits.shape[1])
        self.places, self.counts = np.unique(bits, axis=0, return_counts=True)
        self.count = len(bits)
        place = np.ravel_multi_index(tuple(bits.T), self.domain.sizes)
        self.exact = Weights.of(self.domain, np.bincount(place, minlength=self.domain.cells))

    def answers(self, stream: Sequence[list[Predicate]]) -> np.ndarray:
        return np.round(shares(self.exact, stream) * self.count).astype(np.int64)


def shares(weights: Weights, stream: Sequence[list[Predicate]]) -> np.ndarray:
    """Each question is a list of conjunctions that exclude each other."""
    return np.array([math.fsum(weights.share(part) for part in question) for question in stream])


def conjunctions(domain: Domain) -> list[list[Predicate]]:
    """The stream of the data folder."""
    rows = np.load(DATA / "adult_conjunctions.npy").tolist()
    return [[Predicate.where(dict(zip(row[:3], row[3:], strict=True)), domain)] for row in rows]


def trees(domain: Domain) -> list[list[Predicate]]:
    """Random decision trees of depth at most 4, as the conjunctions of the leaves that say yes."""
    draw = np.random.default_rng(TREE_SEED)
    known: dict[tuple[tuple[int, int], ...], Predicate] = {}

    def grown(path: dict[int, int]) -> list[Predicate]:
        if len(path) == 4 or (path and draw.random() < 0.25):
            if draw.random() < 0.5:
                return []
            key = tuple(sorted(path.items()))
            known.setdefault(key, Predicate.where(path, domain))
            return [known[key]]
        axis = int(draw.choice([a for a in range(len(domain.sizes)) if a not in path]))
        return grown({**path, axis: 0}) + grown({**path, axis: 1})

    return [grown({}) for _ in range(TREES)]


def measured(noisy: Any, exact: np.ndarray, count: int) -> Errors:
    gaps = np.abs(np.asarray(noisy, dtype=np.float64) - exact) / count
    return float(gaps.mean()), float(gaps.max())


def averaged(run: Callable[[], Errors]) -> Errors:
    found = np.array([run() for _ in range(SEEDS)]).mean(axis=0)
    return float(found[0]), float(found[1])


def laplace_each(epsilon: str, exact: np.ndarray, count: int) -> Errors:
    """Laplace noise on every answer, by advanced composition."""
    low, high = 0.0, float(epsilon)
    for _ in range(60):
        middle = (low + high) / 2
        total = advanced(epsilon=middle, count=len(exact), slack=DELTA).epsilon
        low, high = (middle, high) if total <= Fraction(epsilon) else (low, middle)
    noise = DiscreteLaplace(scale=1 / low)
    return averaged(lambda: measured(noise.release(exact), exact, count))


def gaussian_each(rho: Fraction, exact: np.ndarray, count: int) -> Errors:
    """Gaussian noise on every answer."""
    noise = DiscreteGaussian.of_variance(len(exact) / (2 * rho))
    return averaged(lambda: measured(noise.release(exact), exact, count))


def gaussian_tables(rho: Fraction, rows: Rows, stream: list[list[Predicate]]) -> Errors:
    """Gaussian noise on all tables of three attributes."""
    exact = rows.answers(stream)
    tables = math.comb(len(rows.domain.sizes), 3)
    noise = DiscreteGaussian.of_variance(tables / (2 * rho))

    def run() -> Errors:
        drawn: dict[tuple[int, ...], Any] = {}
        noisy = []
        for (part,), value in zip(stream, exact, strict=True):
            if part.axes not in drawn:
                drawn[part.axes] = noise.release(np.zeros(part.mask.shape, dtype=np.int64).ravel())
            noisy.append(value + int(drawn[part.axes].reshape(part.mask.shape)[part.mask][0]))
        return measured(noisy, exact, rows.count)

    return averaged(run)


def textbook(rho: Fraction, rows: Rows, stream: list[list[Predicate]]) -> Errors:
    """The textbook's algorithm at the alpha that is best of a few; what is left over is 1/2."""
    exact = rows.answers(stream)
    best: Errors = (1.0, 1.0)
    for alpha in (0.2, 0.5):
        book = TextbookWeights.of(rows.domain, alpha=alpha, rows=rows.count, rho=rho)

        def run(book: TextbookWeights = book) -> Errors:
            started, noisy = book.start(), []
            for (part,), value in zip(stream, exact.tolist(), strict=True):
                try:
                    noisy.append(started.answer(part, value))
                except BudgetExceeded:
                    noisy.append(round(rows.count * started.weights.share(part)))
            return measured(np.clip(noisy, 0, rows.count), exact, rows.count)

        found = averaged(run)
        best = min(best, found, key=lambda each: each[1])
    return best


def ours(parities: Parities, rows: Rows, stream: list[list[Predicate]]) -> Errors:
    """All contrasts of at most three attributes, and the hypothesis that fits them."""
    exact = rows.answers(stream)

    def run() -> Errors:
        found = parities.release(rows.places, rows.counts)
        weights = Weights.of(rows.domain, fit_counts(found))
        return measured(found.total * shares(weights, stream), exact, rows.count)

    return averaged(run)


def online(epsilon: str, rho: Fraction, rows: Rows, stream: list[list[Predicate]]) -> Any:
    """As the service does it: the stream is not known; then deferred answers; and rounds used."""
    exact = rows.answers(stream)
    parities = Parities.of(rows.domain, order=3, rho=rho * (1 - RESERVE))
    results = []
    for _ in range(SEEDS):
        found = parities.release(rows.places, rows.counts)
        weights = Weights.of(rows.domain, fit_counts(found))
        epoch = Epoch.of(
            threshold=round(ALPHA[epsilon] * found.total), queries=TREES, sensitivity=ONE
        )
        left, standing, moved, answers = rho * RESERVE, None, [], []
        for question, value in zip(stream, exact.tolist(), strict=True):
            guess = found.total * math.fsum(weights.share(part) for part in question)
            answers.append(guess)
            if standing is None:
                if epoch.loss(ONE).rho > left:
                    continue
                left -= epoch.loss(ONE).rho
                standing = epoch.above.begin()
            noisy, standing = epoch.step(standing, value, predicted=round(guess))
            if noisy is not None:
                standing, answers[-1] = None, noisy
                moved.append((Predicate.any_of(question, rows.domain), noisy))
                weights.move(*moved[-1][:1], noisy / found.total)
        again = Parities.of(rows.domain, order=3, rho=left)
        final = Measured.combine([found, again.release(rows.places, rows.counts)])
        last = Weights.of(rows.domain, fit_counts(final))
        for predicate, noisy in moved:
            last.move(predicate, noisy / final.total)
        results.append(
            (
                *measured(answers, exact, rows.count),
                *measured(final.total * shares(last, stream), exact, rows.count),
                len(moved),
            )
        )
    return np.array(results).mean(axis=0)


def errors(report: Report, epsilons: Sequence[str], part: str) -> None:
    """The table of mechanisms, and the stream of trees."""
    rows = Rows()
    stream, second = conjunctions(rows.domain), trees(rows.domain)
    exact, others = rows.answers(stream), rows.answers(second)
    for epsilon in epsilons:
        rho = zcdp_rho(epsilon=Fraction(epsilon), delta=DELTA)
        alone, _ = certified(rows.domain, order=3, epsilon=Fraction(epsilon), delta=DELTA)
        found = ours(alone, rows, stream)
        peers = {"wanted": WANTED[epsilon]}
        if part != "ours":
            by_rho = Parities.of(rows.domain, order=3, rho=rho)
            peers |= {
                "ours by rho": ours(by_rho, rows, stream),
                "Laplace, advanced composition": laplace_each(epsilon, exact, rows.count),
                "Gaussian per query, zCDP": gaussian_each(rho, exact, rows.count),
                "Gaussian on all 3-way marginals": gaussian_tables(rho, rows, stream),
                "textbook multiplicative weights": textbook(rho, rows, stream),
            }
        for name, peer in peers.items():
            for word, mine, theirs in zip(("mean", "max"), found, peer, strict=True):
                report.faster(f"epsilon {epsilon}: {word} error, conjunctions", mine, theirs, name)
        if epsilon in ALPHA and part != "ours":
            peer = gaussian_each(rho, others, rows.count)
            now = online(epsilon, rho, rows, second)
            name = "Gaussian per query, zCDP"
            report.faster(f"epsilon {epsilon}: max error, trees, online", now[1], peer[1], name)
            report.faster(f"epsilon {epsilon}: max error, trees, deferred", now[3], peer[1], name)
            report.faster(f"epsilon {epsilon}: mean error, trees, deferred", now[2], peer[0], name)
            report.faster(f"epsilon {epsilon}: rounds used, trees", now[4], None, "-")


def speed(report: Report) -> None:
    """Queries and updates of an eighth of the cells, on one core."""
    source, target = np.ones(1 << 24), np.empty(1 << 24)
    copied = 2 * source.nbytes / cpu_seconds(lambda: np.copyto(target, source), 7)
    for bits in (16, 18, 20, 22, 24):
        domain = Domain.binary(bits)
        weights = Weights.uniform(domain)
        for name, axes in {"first": (0, 1, 2), "spread": (0, bits // 2, bits - 1)}.items():
            part = Predicate.where(dict.fromkeys(axes, 1), domain)
            near = Predicate.where({axes[0]: 0, axes[1]: 1, axes[2]: 1}, domain)
            case = f"2^{bits}, {name} attributes"

            def cold(weights: Weights = weights, part: Predicate = part) -> None:
                weights.scale(part, 1.0000001)
                weights.share(part)

            update = cpu_seconds(lambda w=weights, p=part: w.scale(p, 1.0000001), 7)
            weights.share(part)
            warm = cpu_seconds(lambda w=weights, p=near: [w.share(p) for _ in range(100)], 3) / 100
            both = cpu_seconds(cold, 7)
            goal = (1.0, 5.0) if bits == 20 else (None, None)
            report.faster(f"query, ms, table kept, {case}", warm * 1e3, goal[0], "goal of 1 ms")
            report.faster(
                f"update and first query, ms, {case}", both * 1e3, goal[1], "goal of 5 ms"
            )
            report.faster(f"update, ms, {case}", update * 1e3, goal[1], "goal of 5 ms")
            rate = 3 * 8 * domain.cells / 8 / update  # the slice is read twice and written once
            report.greater(f"update, bytes moved a second, {case}", rate, copied, "copy, one core")


def main() -> None:
    """Print every case."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--part", default="all", choices=("all", "errors", "ours", "speed"))
    parser.add_argument("--epsilon", nargs="*", default=list(WANTED), choices=list(WANTED))
    chosen, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    report = Report("Synopses")
    if chosen.part != "speed":
        if (DATA / "adult_bits16.csv.gz").exists():
            errors(report, chosen.epsilon, chosen.part)
        else:
            print("the table of Adult is not here; its errors are not measured", file=sys.stderr)
    if chosen.part in ("all", "speed"):
        speed(report)


if __name__ == "__main__":
    main()
