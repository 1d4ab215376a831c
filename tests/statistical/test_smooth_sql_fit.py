"""SELECT MEDIAN by smooth noise has the law of its mechanism: asked of a session again and again,
and drawn from the rows that an engine counted, under both relations.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.curator.noising import add_noise
from discreet.loss import Pure, Relation
from discreet.noise.bits import system
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.parts.smoothed import Smoothed
from discreet.robust.smooth.growth import smooth_bound
from discreet.robust.smooth.quantile import SmoothQuantile
from support.fit import check_fit, rejects
from support.smooth_laws import lattice_cdf, student
from support.wages import wages_of

UPPER, MOVED = 1000, 50  # steps, and rows that come or go between neighbours
WAGES = (np.arange(200) * 377) % (UPPER + 1)
FACTS = {"epsilon": 20, "count": len(WAGES)}


def law_of(choice):
    """What a median of the wages becomes, from the sorted rows themselves."""
    assert choice.query == SmoothQuantile(
        fraction=0.5, lower=0, upper=UPPER, rows_per_unit=MOVED, relation=Relation.ADD_REMOVE
    )
    growth = choice.query.growth(WAGES)
    bound = float(smooth_bound(growth, smoothing=choice.noise.smoothing).bounds(20)[1])
    scale = bound / float(choice.noise.sliding)
    exact = Fraction(int(np.sort(WAGES)[len(WAGES) // 2 - 1]))
    cdf = lattice_cdf(student(choice.noise.shape.degrees), exact, scale)
    law = {value: cdf(value) - cdf(value - 1) for value in range(1, UPPER)}
    return {**law, 0: cdf(0), UPPER: 1 - cdf(UPPER - 1)}


def test_answers_of_a_session_have_the_law_of_the_mechanism(tmp_path):
    """Each time in other words, because the same question is not drawn again."""
    with wages_of(tmp_path / "vault", WAGES, rows_per_unit=MOVED, upper=UPPER) as curator:
        session = curator.session("ana")
        answers = [
            session.sql(
                f"SELECT MEDIAN(wage) AS m FROM staff WHERE wage + 0 < {UPPER + n}", **FACTS
            )
            for n in range(1, 161)
        ]
    plans = [answer.plan for answer in answers]
    assert {plan.ways for plan in plans} == {(QuantileMethod.SMOOTH,)}
    assert {plan.cost for plan in plans} == {Pure(epsilon=20)}
    noisy = [answer.to_dicts()[0]["m"] for answer in answers]
    check_fit(noisy, law_of(plans[0].choices[0]), name="SELECT MEDIAN by smooth noise")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_plan_has_the_law_of_its_mechanism_under_both_relations(tmp_path, neighbours):
    rows_per_unit = MOVED if neighbours == "add-remove" else MOVED // 2
    facts = {"rows_per_unit": rows_per_unit, "neighbours": neighbours, "upper": UPPER}
    with wages_of(tmp_path / "vault", WAGES, **facts) as curator:
        session = curator.session("ana")
        made = session.explain("SELECT MEDIAN(wage) AS m FROM staff", **FACTS)
        rows = session._warehouse.engine(("staff",), data_versions=(1,)).rows(made.sql)
    assert made.ways == (QuantileMethod.SMOOTH,)
    samples = [int(add_noise(made, rows, system).noisy[0][0]) for _ in range(700)]
    check_fit(samples, law_of(made.choices[0]), name=f"a smooth median, {neighbours}")
    careless = Smoothed.of_price(
        fraction=0.5, candidates=UPPER + 1, moved=1, price=Pure(epsilon=20)
    )
    counts = np.bincount(WAGES, minlength=UPPER + 1)
    planted = [careless.release(counts)[0] for _ in range(700)]
    assert rejects(check_fit, planted, law_of(made.choices[0]), name="one row a unit")
