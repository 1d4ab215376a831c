"""The leading groups of a public list, from a question's text to its stored answer."""

import pytest

from discreet.curator.access import Access
from discreet.noise.bits import SeededBits
from discreet.plan.parts.selection import TopGroups
from support.trips import PURE, WITH_DELTA, riders, trips_of

ORDER = "GROUP BY day ORDER BY COUNT(DISTINCT rider) DESC LIMIT 3"
HIDDEN = f"SELECT day, AVG(age) AS a, MEDIAN(fare) AS m FROM trips {ORDER}"
SHOWN = f"SELECT day, COUNT(DISTINCT rider) AS n FROM trips {ORDER}"
BEST = ["2024-07-07", "2024-02-02", "2024-11-11"]


def rows():
    """Many riders on three days, most on the first, and a few on every other."""
    found = riders(60)
    for place, day in enumerate(BEST):
        for n in range(3000 - 900 * place):
            found.append((1000 + n, 30 + place, 10.0 * place, "north", True, day, "a"))
    return found


@pytest.fixture(scope="module", params=[PURE, WITH_DELTA], ids=["pure", "zcdp"])
def trips(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leading")
    with trips_of(folder, rows(), rows_per_unit=60, budget=request.param) as curator:
        yield curator


@pytest.fixture(scope="module")
def ana(trips):
    return trips.session("ana")


@pytest.mark.parametrize("text", [HIDDEN, SHOWN])
def test_the_leading_groups_come_best_first(ana, text):
    made = ana.explain(text, epsilon=50)
    assert isinstance(made.selection, TopGroups) or text == SHOWN
    answer = ana.run(made)
    assert [str(row["day"]) for row in answer] == BEST
    assert len(answer) == 3


def test_what_stands_beside_them_is_theirs(ana):
    answer = ana.sql(HIDDEN, epsilon=60)
    for interval, truth in zip(answer.intervals(1 - 1e-12), (30, 31, 32), strict=True):
        assert interval["a"][0] <= truth <= interval["a"][1]
        assert interval["a"][1] - interval["a"][0] < 40
    assert [row["m"] for row in answer] == [0.0, 10.0, 20.0]


def test_choosing_is_part_of_the_cost(ana):
    made = ana.explain(HIDDEN, epsilon=1)
    assert isinstance(made.selection, TopGroups)
    assert len(made.prices) == len(made.measures) + len(made.picks) + 1
    assert made.contribution.groups_in_all == 3


def test_the_same_question_again_is_free_and_the_same(ana):
    first = ana.sql(HIDDEN, epsilon=2)
    again = ana.sql(HIDDEN, epsilon=2)
    assert again.free
    assert again.to_dicts() == first.to_dicts() == ana.transcript[-1].to_dicts()
    assert again.intervals() == first.intervals()
    assert again.receipt == first.receipt
    assert any("one-shot top 3" in each for each in first.receipt.mechanisms)


def test_with_hardly_any_budget_any_group_may_lead_and_there_are_three(ana):
    answer = ana.sql(HIDDEN, epsilon=0.0001)
    days = [row["day"] for row in answer]
    assert len(set(days)) == 3
    assert all(day.year == 2024 for day in days)


def test_an_empty_table_has_leading_groups_too(tmp_path):
    with trips_of(tmp_path / "empty", [], rows_per_unit=60) as curator:
        answer = curator.session("ana").sql(HIDDEN, epsilon=1)
        assert len(answer) == 3
        assert len({row["day"] for row in answer}) == 3


def test_the_order_of_source_rows_does_not_matter(tmp_path):
    answers = []
    for name, listed in (("one", rows()), ("other", rows()[::-1])):
        with trips_of(tmp_path / name, listed, rows_per_unit=60) as curator:
            made = curator.session("ana").explain(HIDDEN, epsilon=0.01)
            bits = SeededBits(5)
            answers.append(
                Access(curator._vault, curator._warehouse, "ana").answer(made, bits=bits).to_dicts()
            )
    assert answers[0] == answers[1]
