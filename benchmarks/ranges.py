"""Ranges and prefixes over 4,096 bins: root mean square error a query, computed and seen.

The peers are computed in the same run by the same exact formulas: the hierarchical method with 16
branches and equal shares (Qardaji, Yang, Li 2013), and the binary tree with Gaussian noise and
equal shares. Where OpenDP is installed, its b-ary tree with consistency is run on the same shapes.
The shapes are those of DPBench, in ../shared/data/dpbench1d; without them those rows are left out.
"""

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from discreet.linear.hierarchy import Hierarchy
from discreet.loss import ZCDP, Pure
from discreet.noise.bits import system
from discreet.release.tables.adaptive import Adaptive
from discreet.release.tables.allocation import Counts, Unit, counts_for
from discreet.release.tables.measure import know_tables
from discreet.release.tables.ordered import ordered
from discreet.release.tables.ranges import Trees, binary
from discreet.release.tables.workload import Workload
from harness import Report, cpu_seconds

CELLS = 4096
SHAPES = Path(__file__).parents[2] / "shared" / "data" / "dpbench1d"
LOWER_BOUND = 3.35  # of any factorisation, for prefixes in units of sigma
EPSILON, REPEATS, QUERIES = 0.1, 10, 5_000


def equal_shares(branches: tuple[int, ...], workload: Workload) -> float:
    """The error at epsilon 1 of a tree whose levels, the root among them, have equal shares."""
    hierarchy = Hierarchy(cells=CELLS, branches=branches)
    levels = {((0, level),) if level else (): 1.0 for level in range(hierarchy.depth + 1)}
    made = counts_for(levels, (hierarchy,), epsilon=Fraction(1), unit=Unit())
    return Trees((hierarchy,), workload, made, know_tables(made, (hierarchy,))).rmse()


def equal_gaussian(workload: Workload) -> float:
    """The error at sigma 1 of the binary tree of counts with Gaussian noise and equal shares."""
    hierarchy = binary(CELLS)
    known = know_tables((), (hierarchy,))
    levels = hierarchy.depth + 1
    for level in range(levels):
        known.know_table(((0, level),) if level else (), variance=float(levels))
    return Trees((hierarchy,), workload, (), known).rmse()


def seen(plan: Any, exact: Any) -> float:
    """The root mean square error of random ranges over a few releases."""
    generator = np.random.default_rng(system.bits(64))
    ends = np.sort(generator.integers(0, CELLS + 1, size=(QUERIES, 2)), axis=1)
    ends[:, 1] = np.maximum(ends[:, 1], ends[:, 0])
    truth = np.concatenate([[0], np.cumsum(exact)])
    total = 0.0
    for _ in range(REPEATS):
        found = np.concatenate([[0.0], np.cumsum(plan.release(exact).histogram())])
        off = (found[ends[:, 1]] - found[ends[:, 0]]) - (truth[ends[:, 1]] - truth[ends[:, 0]])
        total += float((off**2).mean())
    return sqrt(total / REPEATS)


class OpenTree:
    """OpenDP's tree with 16 branches and Laplace noise, made consistent."""

    def __init__(self, opendp: Any, epsilon: float) -> None:
        domain = opendp.vector_domain(opendp.atom_domain(T=int))
        space = domain, opendp.l1_distance(T=int)
        tree = opendp.t.make_b_ary_tree(*space, leaf_count=CELLS, branching_factor=16)
        consistent = opendp.t.make_consistent_b_ary_tree(branching_factor=16)
        self._noisy = tree >> opendp.m.then_laplace(scale=4 / epsilon) >> consistent

    def release(self, exact: Any) -> Any:
        found = np.array(self._noisy(exact.tolist()))[:CELLS]
        return type("Found", (), {"histogram": lambda _: found})()


def open_tree(epsilon: float) -> Any:
    """OpenDP's tree, or None where it is not installed or named otherwise."""
    try:
        import opendp.prelude as opendp

        opendp.enable_features("contrib")
        return OpenTree(opendp, epsilon)
    except (ImportError, AttributeError, TypeError):
        return None


def computed(report: Report) -> None:
    """Exact errors."""
    for workload in Workload:
        plan = ordered(CELLS, price=Pure(epsilon=1), workload=workload)
        peer = equal_shares((16, 16, 16), workload)
        name = "hierarchical, b = 16"
        report.faster(f"error of {workload.value} at epsilon 1", plan.rmse(workload), peer, name)
    for workload in Workload:
        plan = ordered(CELLS, price=ZCDP(rho=0.5), workload=workload)
        ours = plan.rmse(workload)
        peer = equal_gaussian(workload)
        report.faster(f"error of {workload.value} in sigma", ours, peer, "binary tree")
        if workload is Workload.PREFIXES:
            report.faster("error of prefixes in sigma", ours, LOWER_BOUND, "lower bound")
    for side in (64, 256):
        plan = Trees.calibrate((side, side), price=ZCDP(rho=0.5))
        report.faster(f"error of rectangles on {side} x {side} in sigma", plan.rmse(), None, "-")
    plan_seconds = cpu_seconds(lambda: ordered(CELLS, price=Pure(epsilon=1)))
    report.faster("CPU seconds to choose a tree", plan_seconds, None, "-")
    exact = np.arange(CELLS)
    chosen = ordered(CELLS, price=Pure(epsilon=1))
    report.faster("CPU seconds of a release", cpu_seconds(lambda: chosen.release(exact)), None, "-")


def empirical(report: Report) -> None:
    """What was seen on real shapes, and where blocks that adapt are better."""
    price = Pure(epsilon=EPSILON)
    trees = ordered(CELLS, price=price)
    assert all(isinstance(each, Counts) for each in trees.measurements)
    claim = trees.rmse(Workload.RANGES)
    peer = open_tree(EPSILON)
    generator = np.random.default_rng(system.bits(64))
    for path in sorted(SHAPES.glob("*.npy")):
        shape, name = np.load(path), path.name.split(".")[0]
        report.faster(f"{name}: seen, the peer is the claim", seen(trees, shape), claim, "claim")
        if peer is not None:
            report.faster(f"{name}: seen", seen(trees, shape), seen(peer, shape), "OpenDP tree")
        for count in (1_000, 10_000, 100_000):
            few = generator.multinomial(count, shape / shape.sum())
            ours = seen(Adaptive(cells=CELLS, price=price), few)
            report.faster(
                f"{name}: adaptive, epsilon n = {EPSILON * count:g}", ours, claim, "trees"
            )


def main() -> None:
    report = Report("Ranges over 4,096 bins: root mean square error a query")
    computed(report)
    if SHAPES.is_dir():
        empirical(report)


if __name__ == "__main__":
    main()
