"""SELECT MEDIAN by smooth noise, from a question's text to its stored answer: where the plan takes
it, that no data decide, what is charged, and what an analyst is told.
"""

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.curator.replay import replay
from discreet.errors import InvalidValue
from discreet.estimates.median import median, smooth_median
from discreet.ledger.account import Holder
from discreet.loss import Pure
from discreet.plan.parts.candidates import QuantileMethod
from discreet.report.tables import answer_table, plan_table
from discreet.report.values import answer_values
from support.wages import UPPER, wages_of

MEDIAN = "SELECT MEDIAN(wage) AS m FROM staff"
COUNT = 20_000
SPREAD = (np.arange(COUNT) * 7919) % UPPER
DATA = {
    "spread": SPREAD,
    "one value": np.full(COUNT, 300_000),
    "both ends": np.where(np.arange(COUNT) % 2 == 0, 0, UPPER),
    "nobody": np.zeros(0, dtype=np.int64),
}
FACTS = {"epsilon": 20, "count": COUNT}


@pytest.fixture(scope="module")
def curators(tmp_path_factory):
    opened = {}
    for name, wages in DATA.items():
        opened[name] = wages_of(tmp_path_factory.mktemp("wages"), wages)
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture
def ana(curators):
    return curators["spread"].session("ana")


def test_sql_takes_smooth_noise_where_public_facts_prefer_it_and_nowhere_else(ana):
    assert ana.sql(MEDIAN, **FACTS).plan.ways == (QuantileMethod.SMOOTH,)
    for facts in ({"epsilon": 20}, {"epsilon": 1, "count": COUNT}):
        answer = ana.sql(MEDIAN, **facts)
        assert QuantileMethod.SMOOTH not in answer.plan.ways
        assert list(answer.in_ranks) == ["m"]
    grouped = f"{MEDIAN} GROUP BY place".replace("MEDIAN", "place, MEDIAN", 1)
    assert QuantileMethod.SMOOTH not in ana.sql(grouped, **FACTS).plan.ways
    conditional = ana.sql(f"{MEDIAN} WHERE place = 'here'", **FACTS)
    assert conditional.plan.ways == (QuantileMethod.SMOOTH,)


def test_the_same_plan_whatever_the_data(curators):
    """Three tables that could not be less alike, and an empty one."""
    plans = [curator.session("ana").explain(MEDIAN, **FACTS) for curator in curators.values()]
    answers = [curator.session("ana").sql(MEDIAN, **FACTS) for curator in curators.values()]
    for made, answer in zip(plans, answers, strict=True):
        known = replace(made, table=made.table.public, tables=(made.table.public,))
        assert answer.plan in (made, known)  # one given again has public facts of tables only
        assert (made.ways, made.choices, made.cost) == (plans[0].ways, plans[0].choices, made.cost)
        assert (made.sql, made.error) == (plans[0].sql, {"m": None})
        assert answer.receipt.mechanisms == answers[0].receipt.mechanisms
        assert answer.receipt.cost == {"epsilon": "20"}
        [row], [interval] = answer.to_dicts(), answer.intervals()
        assert isinstance(row["m"], int)
        assert 0 <= row["m"] <= UPPER
        assert interval == {"m": (0.0, float(UPPER))}  # the bounds: nothing else can be promised
    assert len({str(made.ways) for made in plans}) == 1


def test_what_is_charged_is_the_price_and_the_same_question_is_free(curators):
    session = curators["both ends"].session("ana")
    question = f"{MEDIAN} WHERE wage >= 0"
    before = session.remaining.epsilon
    first = session.sql(question, **FACTS)
    assert before - session.remaining.epsilon == 20
    entry = list(curators["both ends"].ledger.entries())[-1]
    assert entry.loss == Pure(epsilon=20)
    assert entry.said["question"] == question
    left = session.remaining
    run = session.run(first.plan)
    for again in (
        session.sql(question, **FACTS),
        session.sql(question, epsilon=20, count=COUNT + 1),
        run,
    ):
        assert (again.free, session.remaining) == (True, left)
        assert again.to_dicts() == first.to_dicts()
        assert again.intervals() == first.intervals()
        assert again.receipt == first.receipt
        assert again.plan.ways == (QuantileMethod.SMOOTH,)
    last = session.transcript[-1]
    assert (last.receipt, last.to_dicts()) == (first.receipt, first.to_dicts())
    other = session.sql(question, epsilon=20)  # promised in ranks: another release
    assert not other.free
    assert session.remaining.epsilon == left.epsilon - 20


def test_medians_take_the_same_way_as_sql(ana):
    taken = median(ana, "staff", "wage", where="wage > 1", **FACTS)
    assert taken.mechanism == "smooth sensitivity"
    asked = ana.sql("SELECT QUANTILE(wage, 0.5) AS q FROM staff WHERE wage > 1", **FACTS)
    assert asked.free
    assert asked.to_dicts() == [{"q": taken.value}]
    ranked = median(ana, "staff", "wage", where="wage > 1", epsilon=20)
    assert ranked.mechanism == "choice by rank"
    insisted = smooth_median(ana, "staff", "wage", where="wage > 2", epsilon=1)
    assert (insisted.mechanism, insisted.cost) == ("smooth sensitivity", Pure(epsilon=1))


def test_a_count_that_is_none_is_refused_and_nothing_is_charged(ana):
    before = ana.remaining
    for count in (0, -1, 10**19, True, "many", 2.5):
        with pytest.raises(InvalidValue, match="count is"):
            ana.sql(MEDIAN, epsilon=20, count=count)
    assert ana.remaining == before


def test_a_forged_plan_is_refused(ana):
    before = ana.remaining
    made = ana.explain(MEDIAN, **FACTS)
    cheap = ana.explain(MEDIAN, epsilon=1).cost
    loud = ana.explain(MEDIAN, epsilon=40, count=COUNT)
    grouped = ana.explain("SELECT place, MEDIAN(wage) AS m FROM staff GROUP BY place", epsilon=20)
    for forged in (
        replace(made, cost=cheap),
        replace(made, choices=loud.choices),
        replace(grouped, ways=(QuantileMethod.SMOOTH,)),
        replace(grouped, ways=(QuantileMethod.SMOOTH,), choices=made.choices, picks=made.picks),
    ):
        with pytest.raises(InvalidValue, match="not the plan"):
            ana.run(forged)
    assert ana.remaining == before


def test_releases_of_old_were_chosen_by_rank(curators):
    """Their bodies name no way; what they hold are candidates of the usual list."""
    curator = curators["one value"]
    session = curator.session("ana")
    first = session.sql(MEDIAN, epsilon=30)
    stored = session._vault.releases.transcript("ana")[-1]
    body = json.loads(stored.body)
    assert body.pop("ways") == ["ranked"]
    assert body.pop("supposed") is None
    old = replay(replace(stored, body=json.dumps(body).encode()))
    assert (old.plan.ways, old.plan.picks) == ((QuantileMethod.RANKED,), first.plan.picks)
    assert old.to_dicts() == first.to_dicts()


def test_what_analysts_see_has_no_error_that_nobody_can_promise(curators):
    curator = curators["spread"]
    session = curator.session("ana")
    answer = session.sql(MEDIAN, **FACTS)
    assert answer.in_ranks == {}
    values = answer_values(answer)
    assert values["in_ranks"] == []
    assert values["intervals"] == [{"m": [0.0, float(UPPER)]}]
    assert "smooth sensitivity" in values["receipt"]["mechanisms"][0]
    assert answer_table(answer).row_count == 1
    shown = plan_table(answer.plan, curator.ledger.account(Holder.ANALYST, "ana"), COUNT)
    assert any("smooth sensitivity" in str(cell) for cell in shown.columns[1].cells)
    assert "[0, 1,000,000]" in answer._repr_html_()
    assert answer.to_pandas().shape == (1, 1)


def test_what_analysts_see_of_a_bucket_is_the_bucket_and_its_ranks(curators):
    """Everyone has the wage 300,000, which is not the middle of its bucket: no rank of the middle
    is promised anywhere, and the bucket that is told holds the median.
    """
    curator = curators["one value"]
    session = curator.session("ana")
    answer = session.sql(MEDIAN, epsilon=20)
    [row], [within] = answer.to_dicts(), answer.buckets()
    bucket, width = within["m"], answer.plan.picks[0].width
    assert width > 1
    assert bucket.low <= 300_000 <= bucket.high == bucket.low + width - 1
    assert bucket.low < row["m"] < bucket.high
    assert answer.plan.error == {"m": None}
    assert answer.intervals() == [{"m": (-np.inf, np.inf)}]
    values = json.loads(json.dumps(answer_values(answer)))
    assert values["intervals"] == [{"m": [None, None]}]
    told = {"low": bucket.low, "high": bucket.high, "ranks": bucket.ranks}
    assert values["buckets"] == [{"m": told}]
    shown = [str(cell) for column in answer_table(answer).columns for cell in column.cells]
    assert any(f"in [{bucket.low:,}, {bucket.high:,}]: ± " in cell for cell in shown)
    said = plan_table(answer.plan, curator.ledger.account(Holder.ANALYST, "ana"))
    cells = [str(cell) for cell in said.columns[1].cells]
    assert any("not promised for the middle of a bucket" in cell for cell in cells)
    assert any("some value's rank is off by at most" in cell for cell in cells)
    assert not any(cell.startswith("m ±") for cell in cells)


def test_smooth_answers_can_filter_and_be_combined(ana):
    text = "SELECT MEDIAN(wage) + 1 AS more FROM staff"
    answer = ana.sql(text, **FACTS)
    [row], [interval] = answer.to_dicts(), answer.intervals()
    assert 1 <= row["more"] <= UPPER + 1
    assert interval["more"] == (1.0, UPPER + 1.0)
    assert len(ana.sql(f"{MEDIAN} HAVING MEDIAN(wage) >= 0", **FACTS)) == 1
