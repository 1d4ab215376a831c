"""All 1-, 2- and 3-way marginals of Adult, released together and consistent with each other.

CPU time, and the error against measuring every marginal by itself with Gaussian noise at the same
total rho (which is also inconsistent). The claimed standard error of a cell is held against what
was seen. The data is ../shared/data/adult.csv; without it the benchmark says so and ends.
"""

import json
from math import sqrt
from pathlib import Path

import numpy as np

from discreet.accounting.conversion import zcdp_rho
from discreet.linear.consistency import make_consistent
from discreet.loss import ZCDP
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.measure import tabulate_cells
from harness import Report, cpu_seconds

DATA = Path(__file__).parents[2] / "shared" / "data"
DELTA = 1e-9


def read() -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The sizes of the columns and their codes."""
    domain = json.loads((DATA / "adult-domain.json").read_text())
    path = DATA / "adult.csv"
    with path.open() as file:
        names = file.readline().strip().split(",")
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    return tuple(domain[name] for name in names), list(rows.T)


def main() -> None:
    report = Report("Marginals of Adult: all of 1, 2 and 3 columns")
    if not (DATA / "adult.csv").is_file():
        print("adult.csv is not beside the checkout; nothing was measured")
        return
    sizes, codes = read()
    wanted = every(sizes, [1, 2, 3])
    counts = np.ones(len(codes[0]), dtype=np.int64)
    for epsilon in (0.1, 1, 10):
        rho = zcdp_rho(epsilon=epsilon, delta=DELTA)
        alone = sqrt(len(wanted) / (2 * float(rho)))  # every marginal by itself
        family = Marginals.calibrate(sizes, wanted, price=ZCDP(rho=rho))
        claims = np.array([sqrt(family.variance(cut)) for cut in wanted])
        mean = float(np.sqrt((claims**2).mean()))
        report.faster(f"error of a cell at epsilon {epsilon}", mean, alone, "one by one")
    exact = tabulate_cells(codes, counts, family.hierarchies)
    found = {}

    def release() -> None:
        made = Marginals.calibrate(sizes, wanted, price=ZCDP(rho=rho))
        parts = made.release(exact)
        found.update({cut: parts.table(cut) for cut in wanted})

    report.faster("CPU seconds, plan to tables", cpu_seconds(release, 1), 10.0, "the promise")
    ratios = [
        float(np.sqrt(((found[cut] - exact(cut)) ** 2).mean())) / claim
        for cut, claim in zip(wanted, claims, strict=True)
        if found[cut].size >= 1000
    ]
    report.faster("seen over claimed error, least", min(ratios), 1.0, "claim")
    report.faster("seen over claimed error, most", max(ratios), 1.0, "claim")
    cells = sum(table.size for table in found.values())
    report.greater("million cells", cells / 1e6, None, "-")
    rho = zcdp_rho(epsilon=1, delta=DELTA)
    parts = Marginals.calibrate(sizes, wanted, price=ZCDP(rho=rho)).release(exact)
    seconds = cpu_seconds(lambda: found.update(make_consistent(parts, wanted, rounds=10).tables), 1)
    report.faster("CPU seconds of ten rounds without negative cells", seconds, None, "-")
    before, after, cells = 0.0, 0.0, 0
    for cut in [cut for cut in wanted if len(cut) == 3]:
        table = exact(cut)
        before += float(((parts.table(cut) - table) ** 2).sum())
        after += float(((found[cut] - table) ** 2).sum())
        cells += table.size
    name = "least squares"
    report.faster(
        "error at epsilon 1, no negative cells", sqrt(after / cells), sqrt(before / cells), name
    )


if __name__ == "__main__":
    main()
