"""Running counts: the error of the square-root factorisation against that of the binary tree.

Both are Gaussian at the same rho, for one row in one step, with exact discrete noise. First the
standard deviations by formula, the worst and the root mean square over all steps; then a year of
days, counted many times over by both. Also against a fresh noisy total every step, and what it
costs that a person may have a row in every version of the data.
"""

import math
from typing import Any

import numpy as np

from discreet.noise import discrete_gaussian, system
from discreet.streams import RunningSums, Track
from harness import Report, cpu_seconds

TREE, TOTALS = "binary tree", "a noisy total every step"
RHO = 0.5
LENGTHS = (16, 64, 365, 1024, 4096)
DAYS, RUNS = 365, 200


def levels(steps: int) -> int:
    """How many nodes of the tree over the steps one row is in."""
    return (steps - 1).bit_length() + 1


def tree_deviations(steps: int) -> Any:
    """The standard deviation of every running count from the tree: as many nodes as binary ones."""
    nodes = np.array([step.bit_count() for step in range(1, steps + 1)])
    return np.sqrt(nodes * levels(steps) / (2 * RHO))


def tree_counts(exact: Any) -> Any:
    """Running counts from a tree of noisy sums."""
    steps, height = len(exact), levels(len(exact))
    padded = np.zeros(1 << (height - 1), dtype=np.int64)
    padded[:steps] = exact
    found = np.zeros(steps)
    for level in range(height):
        sums = padded.reshape(-1, 1 << level).sum(axis=1)
        variance = height / (2 * RHO)
        noisy = sums + discrete_gaussian(variance=variance, size=len(sums))
        for step in range(1, steps + 1):
            if step >> level & 1:  # the node that ends where the lower digits of the step begin
                found[step - 1] += noisy[(step >> level) - 1]
    return found


def by_formula(report: Report) -> None:
    """Standard deviations over all steps."""
    for steps in LENGTHS:
        running = RunningSums.at_price(rho=RHO, steps=steps, per_step=1, touched=1)
        ours, tree = running.standard_deviations(), tree_deviations(steps)
        name = f"{steps} steps, rho={RHO}"
        report.faster(f"{name}: worst deviation", float(ours.max()), float(tree.max()), TREE)
        squares = [float(np.sqrt((each**2).mean())) for each in (ours, tree)]
        report.faster(f"{name}: root mean square", squares[0], squares[1], TREE)
        total = math.sqrt(steps / (2 * RHO))
        report.faster(f"{name}: worst deviation", float(ours.max()), total, TOTALS)


def by_counting(report: Report) -> None:
    """Errors of a year of days."""
    rng = np.random.default_rng(system.bits(128))
    exact = rng.poisson(40, DAYS)
    truth = np.cumsum(exact)
    running = RunningSums.at_price(rho=RHO, steps=DAYS, per_step=1, touched=1)
    stream = [int(each) for each in exact]
    errors: dict[str, list[Any]] = {"ours": [], "tree": []}
    for _ in range(RUNS):
        errors["ours"].append(np.abs(running.sums(running.extend(Track(), stream)) - truth))
        errors["tree"].append(np.abs(tree_counts(exact) - truth))
    ours, tree = (np.array(errors[name]) for name in ("ours", "tree"))
    name = f"{DAYS} days counted {RUNS} times"
    report.faster(f"{name}: mean absolute error", float(ours.mean()), float(tree.mean()), TREE)
    largest = [float(each.max(axis=1).mean()) for each in (ours, tree)]
    report.faster(f"{name}: mean of the largest error", largest[0], largest[1], TREE)
    seconds = cpu_seconds(lambda: running.extend(Track(), stream))
    other = cpu_seconds(lambda: tree_counts(exact))
    report.faster(f"{DAYS} days: CPU seconds of a stream", seconds, other, TREE)


def over_versions(report: Report) -> None:
    """What it costs that one person may have a row in each of several versions of the data."""
    total = math.sqrt(DAYS / (2 * RHO))
    for versions in (1, 4, 12, 52, DAYS):
        most = -(-DAYS // versions)
        running = RunningSums.at_price(rho=RHO / versions, steps=most, per_step=1, touched=1)
        worst = float(running.standard_deviations().max())
        case = f"{DAYS} days, {most} of each of {versions} versions: worst"
        report.faster(case, worst, total, TOTALS)


def main() -> None:
    """Print every case."""
    report = Report("Running counts")
    by_formula(report)
    by_counting(report)
    over_versions(report)


if __name__ == "__main__":
    main()
