"""All 1-, 2- and 3-way marginals of Adult: claimed standard errors against what was seen."""

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from discreet.loss import ZCDP
from discreet.release.tables.marginals import Marginals, every
from discreet.release.tables.measure import tabulate_cells

DATA = Path(__file__).parents[3] / "shared" / "data"


def adult():
    if not (DATA / "adult.csv").is_file():
        pytest.skip("adult.csv is not beside the checkout")
    domain = json.loads((DATA / "adult-domain.json").read_text())
    with (DATA / "adult.csv").open() as file:
        names = file.readline().strip().split(",")
    rows = np.loadtxt(DATA / "adult.csv", delimiter=",", skiprows=1, dtype=np.int64)
    return tuple(domain[name] for name in names), list(rows.T)


@pytest.mark.soak
def test_claimed_errors_are_those_seen_and_tables_agree():
    """Tables of 2,000 cells and more: their mean squares vary by less than 5% around the claim.

    Cells of a table share coarser components, hence 15%, more than six deviations.
    """
    sizes, codes = adult()
    wanted = every(sizes, [1, 2, 3])
    family = Marginals.calibrate(sizes, wanted, price=ZCDP(rho=0.01))
    exact = tabulate_cells(codes, np.ones(len(codes[0]), dtype=np.int64), family.hierarchies)
    found = family.release(exact)
    compared = 0
    for cut in wanted:
        table = found.table(cut)
        if table.size >= 2000:
            seen = sqrt(float(((table - exact(cut)) ** 2).mean()))
            assert seen == pytest.approx(sqrt(family.variance(cut)), rel=0.15)
            compared += 1
    assert compared > 100
    fine, coarse = ((0, 1), (1, 1), (3, 1)), ((0, 1), (3, 1))
    assert np.allclose(found.table(fine).sum(axis=1), found.table(coarse))
