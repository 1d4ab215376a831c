"""Keys that are not public, from a question's text to its stored answer."""

import pytest

from discreet.drawing.chart import MOST_BARS, printable
from discreet.errors import BudgetExceeded, InvalidValue, UnprovableRequest, UnsafeQuery
from discreet.plan.parts.selection import OptimalKeys, ThresholdKeys
from support.trips import CITIES, PURE, WITH_DELTA, riders, trips_of

UNITS = "SELECT city, COUNT(DISTINCT rider) AS n FROM trips GROUP BY city"
ROWS = "SELECT city, COUNT(*) AS n FROM trips GROUP BY city"
SUMS = "SELECT city, SUM(fare) AS s, MEDIAN(age) AS m FROM trips GROUP BY city"
BOTH = "SELECT region, city, COUNT(DISTINCT rider) AS n FROM trips GROUP BY region, city"


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    rows = riders(3000)
    rows += [(10_000 + n, 40, 1.0, "north", True, "2024-05-05", None) for n in range(500)]
    rows += [(20_000 + n, 40, 1.0, "north", True, "2024-05-05", f"alone {n}") for n in range(300)]
    with trips_of(tmp_path_factory.mktemp("keys"), rows) as curator:
        yield curator


@pytest.fixture(scope="module")
def ana(trips):
    return trips.session("ana")


def ask(session, text, epsilon=5, delta=1e-15):
    """With so small a delta nobody who is alone is shown by chance."""
    return session.sql(text, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("text", [UNITS, ROWS, SUMS])
def test_keys_in_any_script_come_byte_by_byte_in_the_order_of_their_characters(ana, text):
    answer = ask(ana, text)
    assert [row["city"] for row in answer] == sorted(CITIES)
    assert [row["city"] for row in ana.transcript[-1]] == sorted(CITIES)


def test_a_missing_key_and_keys_of_one_person_are_not_shown(ana):
    shown = {row["city"] for row in ask(ana, UNITS, 6)}
    assert None not in shown
    assert not any(city.startswith("alone") for city in shown)


def test_an_undeclared_public_key_beside_a_private_one_is_dropped(ana):
    answer = ask(ana, BOTH)
    assert {row["region"] for row in answer} == {"north", "south", "other"}
    pairs = [(row["region"], row["city"]) for row in answer]
    codes = {"north": 0, "south": 1, "east": 2, "other": 3}
    assert pairs == sorted(pairs, key=lambda pair: (codes[pair[0]], pair[1]))


def test_which_rule_shows_the_keys(ana):
    assert isinstance(ana.explain(UNITS, epsilon=1).selection, ThresholdKeys)
    assert isinstance(ana.explain(SUMS, epsilon=1).selection, OptimalKeys)


def test_rows_are_units_where_everybody_has_one(ana, tmp_path):
    made = ana.explain(ROWS, epsilon=1)
    assert isinstance(made.selection, ThresholdKeys)
    assert made.cost.rho == made.prices[0].rho
    assert len(made.prices) == 1
    with trips_of(tmp_path / "two", riders(10), rows_per_unit=2) as curator:
        other = curator.session("ana").explain(ROWS, epsilon=1)
        assert isinstance(other.selection, OptimalKeys)
        assert len(other.prices) == 2


def test_delta_is_a_tenth_of_what_is_kept_or_what_is_asked_for(ana):
    made = ana.explain(SUMS, epsilon=1)
    assert float(made.cost.delta) == pytest.approx(9e-4 / 2 / 10)
    assert float(ana.explain(SUMS, epsilon=1, delta=1e-7).cost.delta) == pytest.approx(1e-7)
    assert 0 < ana.explain(UNITS, epsilon=1, delta=1e-7).cost.delta <= 1e-7


def test_a_smaller_delta_has_a_higher_threshold(ana):
    limits = [
        ana.explain(UNITS, epsilon=1, delta=delta).selection.threshold.threshold
        for delta in (1e-4, 1e-6, 1e-9)
    ]
    assert limits == sorted(set(limits))


def test_more_delta_than_the_account_keeps_is_refused(ana):
    before = ana.remaining
    with pytest.raises(BudgetExceeded, match=r"keeps 0\.0005 for steps priced in delta"):
        ana.sql(SUMS, epsilon=1, delta=0.01)
    assert ana.remaining == before


def test_questions_about_public_keys_do_not_depend_on_delta(ana):
    text = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
    first = ana.sql(text, epsilon=1)
    again = ask(ana, text, 1)
    assert again.free
    assert again.to_dicts() == first.to_dicts()
    assert first.plan.delta is None


def test_another_delta_is_another_question(ana):
    assert not ask(ana, UNITS, 2, 1e-9).free
    assert ask(ana, UNITS, 2, 1e-9).free
    assert not ask(ana, UNITS, 2, 2e-9).free


@pytest.mark.parametrize("text", [UNITS, SUMS, BOTH])
def test_the_same_question_again_is_free_and_the_same(ana, text):
    first = ask(ana, text, 3)
    before = ana.remaining
    again = ask(ana, text, 3)
    assert again.free
    assert ana.remaining == before
    assert repr(again.to_dicts()) == repr(first.to_dicts())
    assert again.intervals() == first.intervals()
    assert again.receipt == first.receipt
    assert again._repr_html_() == first._repr_html_()


def test_a_shared_release_is_found_by_others(tmp_path):
    budget = f"{WITH_DELTA}\nsharing = true"
    with trips_of(tmp_path / "shared", riders(600), budget=budget) as curator:
        curator.grant("bo", epsilon=900, delta=9e-4)
        for text in (UNITS, SUMS):
            first = curator.session("ana").sql(text, rho=2)
            second = curator.session("bo").sql(text, rho=2)
            assert second.free
            assert second.to_dicts() == first.to_dicts()


@pytest.mark.parametrize("text", [UNITS, ROWS, SUMS])
def test_a_pure_budget_is_refused_with_the_remedy(tmp_path, text):
    with trips_of(tmp_path / "pure", riders(5), budget=PURE) as curator:
        session = curator.session("ana")
        for price in ({"epsilon": 1}, {"error": 10, "count": 10}):
            with pytest.raises(UnprovableRequest, match="grant with delta, or for declared"):
                session.sql(text, **price)
        with pytest.raises(UnprovableRequest, match="the budget is pure"):
            session.sql(text, epsilon=1, delta=1e-6)
        assert session.transcript == []


def test_an_empty_table_has_an_answer_without_rows(tmp_path):
    with trips_of(tmp_path / "empty", []) as curator:
        session = curator.session("ana")
        for text in (UNITS, SUMS, BOTH, f"{UNITS} HAVING city = 'a' ORDER BY city DESC LIMIT 3"):
            answer = session.sql(text, epsilon=1)
            assert (len(answer), answer.to_dicts(), answer.intervals()) == (0, [], [])
            assert session.sql(text, epsilon=1).free
            assert list(answer.to_pandas().columns) == list(answer.columns)
            assert answer._repr_html_().startswith("<table>")


def test_results_can_be_filtered_and_ordered_by_private_keys(ana):
    chosen = ask(ana, f"{UNITS} HAVING city IN ('a', 'A') OR city = '東京'")
    assert [row["city"] for row in chosen] == ["A", "a", "東京"]
    last = ask(ana, f"{UNITS} ORDER BY city DESC LIMIT 2")
    assert [row["city"] for row in last] == sorted(CITIES)[:-3:-1]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MODE(city) AS n FROM trips",
        "SELECT MAX(city) AS n FROM trips",
        "SELECT COUNT(DISTINCT city) AS n FROM trips",
        "SELECT COUNT(CASE WHEN vip THEN city END) AS n FROM trips",
        "SELECT CASE WHEN vip THEN city END AS c, COUNT(*) AS n FROM trips GROUP BY 1",
        "SELECT COUNT(*) AS n FROM trips WHERE city < 'a'",
        "SELECT COUNT(*) AS n FROM trips WHERE city = region",
        "SELECT COUNT(*) AS n FROM trips WHERE city LIKE 'a%'",
    ],
)
def test_private_text_is_good_for_groups_and_constants_only(ana, text):
    before = ana.remaining
    with pytest.raises(UnsafeQuery):
        ana.sql(text, epsilon=1)
    assert ana.remaining == before


@pytest.mark.parametrize("city", ["a", "東京", "a ", "e\u0301", "nobody's", "\\", "${env:HOME}"])
def test_a_constant_finds_its_own_key_and_no_other(ana, city):
    quoted = city.replace("'", "''")
    answer = ask(ana, f"SELECT COUNT(*) AS n FROM trips WHERE city = '{quoted}'", 40)
    [interval] = answer.intervals(1 - 1e-12)
    assert interval["n"][0] <= (250 if city in CITIES else 0) <= interval["n"][1]
    assert interval["n"][1] - interval["n"][0] < 100


def test_control_characters_of_keys_reach_no_chart_and_no_page(ana):
    answer = ask(ana, UNITS)
    shown = [row["group"] for row in answer.chart()["data"]["values"]]
    assert shown == [printable(city) for city in sorted(CITIES)]
    page = answer._repr_html_()
    assert "<svg" in page
    assert not {"\x00", "\x1b"} & set(page)
    assert "\\x1b[2J" in page


def test_an_answer_of_very_many_rows_is_cut_on_a_page_and_has_no_chart(tmp_path):
    cities = tuple(f"city {n}" for n in range(MOST_BARS + 50))
    with trips_of(tmp_path / "many", riders(60 * len(cities), cities)) as curator:
        answer = ask(curator.session("ana"), UNITS, 100)
        assert len(answer) == len(cities)
        with pytest.raises(InvalidValue, match="ORDER BY and LIMIT"):
            answer.chart()
        assert f"The first {MOST_BARS:,} of {len(cities):,} rows" in answer._repr_html_()


def test_an_error_of_an_average_by_private_keys_buys_no_count(ana):
    before = ana.remaining
    text = "SELECT city, AVG(fare) AS a FROM trips GROUP BY city"
    with pytest.raises(UnprovableRequest, match="Assume a number with count="):
        ana.sql(text, error=5)
    assert ana.remaining == before
    assert ana.sql(text, error=5, count=200).bought is None
