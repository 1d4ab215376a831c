"""SELECT MEDIAN by smooth noise, audited through a session, and the laws of all small neighbours
with the noise that a plan takes: a replaced person may come back with fewer rows or more.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest

from discreet.audit.blackbox import audit
from discreet.loss import Pure, Relation
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.parts.smoothed import Smoothed
from discreet.plan.pipeline import Draft, plan
from discreet.query.parse import parse
from discreet.robust.smooth.growth import smooth_bound
from discreet.schema.column import Column
from discreet.schema.table import Table
from support import fit
from support.growth_brute import added_or_removed, data_sets, removed
from support.median_subject import EPSILON, smooth_medians
from support.smooth_laws import lattice_pmf, student

VALUES, STEP, MOST = 3, 20, 5  # rows are 0, 20 or 40, at most five of them
UPPER = STEP * (VALUES - 1)
FAR = np.unique(np.concatenate([np.arange(-400, 440), np.arange(-40_000, 40_001, 997)]))


@pytest.mark.slow("black-box audits")
def test_a_session_is_audited_and_the_planted_bug_is_caught(tmp_path):
    fit.performed.append("audit of a smooth median")
    asked = {"claim": Pure(epsilon=EPSILON), "pairs": [(0, 1)], "false_alarm": 1e-12}
    with smooth_medians(tmp_path) as (median, planted):
        assert not audit(median, samples=100, **asked).violated
        assert audit(planted, samples=400, **asked).violated


def noise_of(relation, rows_per_unit, epsilon=1):
    column = Column("x", "integer", upper=UPPER)
    table = Table(
        "t", unit="who", rows_per_unit=rows_per_unit, neighbours=relation, columns=(column,)
    )
    text = "SELECT MEDIAN(x) AS m FROM t"
    made = plan(
        Draft(
            query=parse(text, {"t": table}),
            table=table,
            price=Pure(epsilon=epsilon),
            question=text,
            ways=(QuantileMethod.SMOOTH,),
        )
    )
    assert made.cost == Pure(epsilon=epsilon)
    return made.choices[0]


def neighbours_of(rows, relation, unit):
    """One person added or removed, or taken out and put back with other rows, as many or not."""
    if relation is Relation.ADD_REMOVE:
        return added_or_removed(rows, VALUES, unit, MOST)
    found = set()
    for rest, new in product(removed(rows, unit), data_sets(VALUES, unit)):
        if len(rest) + len(new) <= MOST:
            found.add(tuple(sorted(rest + new)))
    return found - {rows}


def worst(choice, relation, unit):
    """The largest log ratio of the released laws over all small neighbours."""

    @cache
    def law(rows):
        counts = np.bincount(np.array(rows, dtype=np.int64) * STEP, minlength=UPPER + 1)
        growth = choice.query.growth_of_counts(counts)
        bound = float(smooth_bound(growth, smoothing=choice.noise.smoothing).bounds(20)[1])
        scale = max(bound, 1e-9) / float(choice.noise.sliding)
        shape = student(choice.noise.shape.degrees)
        return np.log(np.maximum(lattice_pmf(shape, growth.exact, scale, FAR), 1e-300))

    return max(
        float((law(one) - law(two)).max())
        for one in data_sets(VALUES, MOST)
        for two in neighbours_of(one, relation, unit)
    )


@pytest.mark.parametrize("unit", [1, 2])
@pytest.mark.parametrize("relation", Relation)
def test_the_noise_of_a_plan_keeps_its_price_on_all_small_neighbours(relation, unit):
    choice = noise_of(relation, unit)
    assert worst(choice, relation, unit) <= 1 + 1e-6
    if relation.steps * unit > 1:
        careless = Smoothed.of_price(
            fraction=0.5, candidates=UPPER + 1, moved=1, price=Pure(epsilon=1)
        )
        assert worst(careless, relation, unit) > 1.2
