"""Privacy accounting: our CPU time for a two-sided bracket of epsilon against dp-accounting's.

The same question for both: epsilon at delta = 1e-6 of a composition. We return a certified
bracket at most 1e-4 wide, relative; the peer an upper value on a grid of 1e-4. Nothing is kept
between runs. Rows that end in 'limit' are measured against the time this project allows.
"""

import sys
from collections.abc import Callable

from discreet.accounting.composition import optimal
from discreet.accounting.pld.distribution import Distribution
from harness import Report, cpu_seconds

DELTA = 1e-6
GRID = 1e-4
PEER = "dp-accounting 0.6"


def _peer_losses() -> object | None:
    """The peer's module, or None where it is not installed."""
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError:
        text = "dp-accounting is not installed: its column stays empty (make bench installs it)"
        print(text, file=sys.stderr)
        return None
    return privacy_loss_distribution


def _homogeneous(losses: object | None) -> dict[str, tuple[Callable, Callable | None]]:
    """Cases of one mechanism, many times: ours and the peer's."""
    cases: dict[str, tuple[Callable, Callable | None]] = {}
    for epsilon in (0.01, 0.02, 0.05, 0.1):
        cases[f"1000 Laplace at epsilon {epsilon}"] = (
            lambda e=epsilon: 1000 * Distribution.laplace(epsilon=e),
            losses
            and (
                lambda e=epsilon: losses.from_laplace_mechanism(
                    1 / e, value_discretization_interval=GRID
                ).self_compose(1000)
            ),
        )
    cases["1000 Gaussian at sigma 30"] = (
        lambda: 1000 * Distribution.gaussian(sigma=30),
        losses
        and (
            lambda: losses.from_gaussian_mechanism(
                30, value_discretization_interval=GRID
            ).self_compose(1000)
        ),
    )
    cases["10,000 subsampled Gaussian, rate 0.01, sigma 1"] = (
        lambda: 10_000 * Distribution.subsampled_gaussian(rate=0.01, sigma=1),
        losses
        and (
            lambda: losses.from_gaussian_mechanism(
                1, value_discretization_interval=GRID, sampling_prob=0.01
            ).self_compose(10_000)
        ),
    )
    return cases


def _peer_distinct(losses: object, epsilons: list[float]) -> object:
    total = None
    for epsilon in epsilons:
        one = losses.from_laplace_mechanism(1 / epsilon, value_discretization_interval=GRID)
        total = one if total is None else total.compose(one)
    return total


def _distinct(epsilons: list[float], kind: Callable[..., Distribution]) -> Distribution:
    return Distribution.compose(*(kind(epsilon=epsilon) for epsilon in epsilons))


def main() -> None:
    """Print every case."""
    report = Report("Epsilon at delta 1e-6, CPU seconds")
    losses = _peer_losses()
    for case, (ours, peer) in _homogeneous(losses).items():
        mine = cpu_seconds(lambda ours=ours: ours().epsilon(delta=DELTA), repeats=7)
        theirs = peer and cpu_seconds(lambda peer=peer: peer().get_epsilon_for_delta(DELTA))
        report.faster(case, mine, theirs, PEER)
    some = [0.01 + 0.09 * place / 399 for place in range(400)]
    mine = cpu_seconds(lambda: _distinct(some, Distribution.laplace).epsilon(delta=DELTA))
    theirs = losses and cpu_seconds(
        lambda: _peer_distinct(losses, some).get_epsilon_for_delta(DELTA), repeats=1
    )
    report.faster("400 distinct Laplace", mine, theirs, PEER)
    many = [0.001 + 0.009 * place / 9999 for place in range(10_000)]
    for name, kind in (("Laplace", Distribution.laplace), ("pure", Distribution.pure)):
        mine = cpu_seconds(lambda kind=kind: _distinct(many, kind).epsilon(delta=DELTA))
        report.faster(f"10,000 distinct {name}", mine, 3.0, "limit")
    mine = cpu_seconds(lambda: optimal(epsilon=0.01, count=10_000, target_delta=DELTA))
    report.faster("optimal composition of 10,000 equal pure losses", mine, 0.02, "limit")


if __name__ == "__main__":
    main()
