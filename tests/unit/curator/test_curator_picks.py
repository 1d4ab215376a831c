"""Quantiles, extremes and modes, from a question's text to its stored answer."""

import re
from datetime import date
from itertools import pairwise

import pytest

from discreet.errors import InvalidValue, UnsafeQuery
from support.trips import PURE, WITH_DELTA, riders, trips_of

BUDGETS = {"pure": PURE, "zcdp": WITH_DELTA}
FRACTIONS = ("0.01", "0.25", "0.5", "0.75", "0.99")
MANY = ", ".join(f"QUANTILE_CONT(fare, {q}) AS q{place}" for place, q in enumerate(FRACTIONS))
LADDER = f"SELECT region, MIN(fare) AS low, {MANY}, MAX(fare) AS high FROM trips GROUP BY region"
MODES = "SELECT MODE(region) AS r, MODE(vip) AS v, MODE(age) AS a, MODE(fare > 30) AS f FROM trips"
DAYS = "SELECT MIN(day) AS low, MEDIAN(day) AS mid, MAX(day) AS high FROM trips"


@pytest.fixture(scope="module", params=BUDGETS)
def ana(request, tmp_path_factory):
    rows = riders(4000)
    rows += [(5000 + n, 40, 80.0, "south", False, "2024-06-01", "a") for n in range(2000)]
    folder = tmp_path_factory.mktemp(request.param)
    with trips_of(folder, rows, budget=BUDGETS[request.param]) as curator:
        yield curator.session("ana")


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 5])
def test_quantiles_lie_inside_the_bounds_and_grow_with_their_fractions(ana, epsilon):
    answer = ana.sql(LADDER, epsilon=epsilon)
    assert [row["region"] for row in answer] == ["north", "south", "east", "other"]
    for row in answer:
        values = list(row.values())[1:]
        assert all(isinstance(value, float) for value in values)
        assert all(0 <= value <= 100 and value % 0.5 == 0 for value in values)
        assert all(first <= second for first, second in pairwise(values))


def test_quantiles_of_many_rows_are_right(ana):
    [row] = ana.sql("SELECT MEDIAN(age) AS m, MAX(fare) AS h FROM trips", epsilon=20)
    assert row == {"m": 40, "h": 80.0}
    [row] = ana.sql(DAYS, epsilon=20)
    assert row == {"low": date(2024, 1, 10), "mid": date(2024, 6, 1), "high": date(2024, 12, 10)}


def test_modes_are_called_by_their_names_whatever_their_kind(ana):
    [row] = ana.sql(MODES, epsilon=40)
    assert row == {"r": "south", "v": False, "a": 40, "f": True}
    assert [type(value) for value in row.values()] == [str, bool, int, bool]
    wide = "SELECT region, MODE(region) AS r FROM trips GROUP BY region"
    found = {row["region"]: row["r"] for row in ana.sql(wide, epsilon=40)}
    assert (found["other"], found["north"]) == ("other", "north")


def test_an_empty_group_is_answered_like_any_other(ana):
    text = LADDER.replace("FROM trips", "FROM trips WHERE age > 110")
    answers = [ana.sql(each, epsilon=1) for each in (text, LADDER)]
    assert [len(answer) for answer in answers] == [4, 4]
    kinds = [[list(map(type, row.values())) for row in answer] for answer in answers]
    assert kinds[0] == kinds[1]
    assert answers[0].receipt.mechanisms == answers[1].receipt.mechanisms


@pytest.mark.parametrize("budget", BUDGETS)
def test_an_empty_table_is_answered_with_the_same_shape(tmp_path, budget):
    with trips_of(tmp_path / budget, [], budget=BUDGETS[budget]) as curator:
        session = curator.session("ana")
        [row] = session.sql(MODES, epsilon=1)
        assert [type(value) for value in row.values()] == [str, bool, int, bool]
        [row] = session.sql(DAYS, epsilon=1)
        assert row["low"] <= row["mid"] <= row["high"]
        assert date(2024, 1, 1) <= row["low"] <= row["high"] <= date(2024, 12, 31)
        for row in session.sql(LADDER, epsilon=1):
            values = list(row.values())[1:]
            assert values == sorted(values)


@pytest.mark.parametrize("text", [LADDER, MODES, DAYS])
def test_the_same_question_again_is_free_and_the_same(ana, text):
    first = ana.sql(text, epsilon=2)
    before = ana.remaining
    again = ana.sql(text, epsilon=2)
    assert (again.free, ana.remaining) == (True, before)
    last = next(each for each in ana.transcript if each.receipt.id == first.receipt.id)
    for other in (again, last):
        assert repr(other.to_dicts()) == repr(first.to_dicts())
        assert other.intervals() == first.intervals()
        assert other.receipt == first.receipt
        assert other.plan.cost == first.plan.cost


def test_columns_in_ranks_have_intervals_around_zero(ana):
    answer = ana.sql("SELECT COUNT(*) AS n, MEDIAN(age) AS m, MODE(vip) AS v FROM trips", epsilon=2)
    assert list(answer.in_ranks) == ["m", "v"]
    [narrow], [wide] = answer.intervals(0.5), answer.intervals(0.99)
    for name in ("m", "v"):
        assert narrow[name][0] == -narrow[name][1]
        assert 0 <= narrow[name][1] < wide[name][1]
    assert answer.plan.error["m"] == answer.intervals()[0]["m"][1]
    [row] = answer.to_dicts()
    assert wide["n"][0] <= row["n"] <= wide["n"][1]


def test_picked_values_can_filter_order_and_be_combined(ana):
    text = "SELECT region, MODE(vip) AS v FROM trips GROUP BY region HAVING MODE(region) = 'south'"
    shown = {row["region"] for row in ana.sql(text, epsilon=60)}
    assert shown - {"east"} == {"south"}  # nobody is in the east, so its mode may be any
    text = "SELECT region, MAX(fare) AS h FROM trips GROUP BY region ORDER BY MAX(fare) DESC"
    values = [row["h"] for row in ana.sql(text, epsilon=60)]
    assert values == sorted(values, reverse=True)
    answer = ana.sql("SELECT MAX(fare) - MIN(fare) AS span FROM trips", epsilon=60)
    [row], [interval] = answer.to_dicts(), answer.intervals()
    assert 60 <= row["span"] <= 100
    assert interval["span"] == (-100.0, 100.0)
    assert answer.plan.error["span"] is None


def test_values_become_columns_of_other_libraries(ana):
    answer = ana.sql(MODES, epsilon=40)
    assert answer.to_arrow().column_names == ["r", "v", "a", "f"]
    assert answer.to_pandas()["r"].tolist() == ["south"]
    assert answer.to_polars()["a"].to_list() == [40]


def test_a_chart_needs_a_number(ana):
    with pytest.raises(InvalidValue, match="not a number"):
        ana.sql("SELECT MODE(region) AS r FROM trips", epsilon=1).chart()
    chart = ana.sql("SELECT region, MEDIAN(age) AS m FROM trips GROUP BY region", epsilon=1).chart()
    assert re.fullmatch(r"m, ± \d+ ranks with 95%", chart["title"]["text"])
    assert {row["low"] - row["value"] for row in chart["data"]["values"]} == {0.0}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MEDIAN(region) AS m FROM trips",
        "SELECT MAX(vip) AS m FROM trips",
        "SELECT QUANTILE_CONT(age, 1.5) AS m FROM trips",
        "SELECT QUANTILE_CONT(age, age) AS m FROM trips",
        "SELECT MODE(rider) AS m FROM trips",
        "SELECT MAX(rider) AS m FROM trips",
        "SELECT MEDIAN(DISTINCT age) AS m FROM trips",
        "SELECT MODE(age * 1000) AS m FROM trips",
        "SELECT MODE(region) + 1 AS m FROM trips",
    ],
)
def test_what_has_no_meaning_is_refused(ana, text):
    before = ana.remaining
    with pytest.raises(UnsafeQuery):
        ana.sql(text, epsilon=1)
    assert ana.remaining == before


def test_private_keys_leave_enough_candidates(tmp_path):
    with trips_of(tmp_path / "keys", riders(10)) as curator:
        session = curator.session("ana")
        text = "SELECT city, MEDIAN(fare) AS m, MODE(age) AS a FROM trips GROUP BY city"
        made = session.explain(text, epsilon=1)
        assert [pick.candidates for pick in made.picks] == [201, 111]
        days = "SELECT day, MEDIAN(fare) AS m FROM trips GROUP BY day"
        assert session.explain(days, epsilon=1).picks[0].candidates == 101  # 366 groups
