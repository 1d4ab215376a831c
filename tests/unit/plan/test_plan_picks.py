"""Candidates: what they are called, how they are counted, and which mechanism chooses one."""

from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UnsafeQuery
from discreet.loss import ZCDP, Pure, Relation, Sensitivity
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.nested_quantiles import NestedQuantiles
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.plan.parts.candidates import (
    MOST_CELLS,
    CandidateQuery,
    bound_moves,
    choice_loss,
    chooser,
    pick,
)
from discreet.plan.parts.measures import Contribution
from discreet.plan.pipeline import Draft, plan
from discreet.plan.target import price_for_error
from discreet.query.algebra import Aggregate, Field, Statistic
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

EPOCH_YEAR = 54 * 365 + 13  # days from 1970 to 2024
COLUMNS = (
    Column("x", "integer", upper=100),
    Column("half", "number", step=Fraction(1, 2), lower=-3, upper=400),
    Column("big", "integer", lower=-(2**53), upper=2**53),
    Column("g", "category", keys=("a", "b"), other=True, upper=2),
    Column("f", "boolean"),
    Column("day", "date", lower=EPOCH_YEAR, upper=EPOCH_YEAR + 365),
    Column("at", "datetime", lower=0, upper=10**9),
    Column("many", "integer", upper=9_999),
    Column("city", "category", private_keys=True, upper=0),
)
PRICES = [Pure(epsilon=Fraction(1, 3)), ZCDP(rho=Fraction(1, 30))]


def made(text, *, relation=Relation.ADD_REMOVE, rows=1, price=None):
    table = Table("t", unit="who", rows_per_unit=rows, neighbours=relation, columns=COLUMNS)
    price = price or ZCDP(rho=1)
    delta = None if isinstance(price, Pure) else Fraction(1, 10**6)
    query = parse(text, {"t": table})
    return plan(Draft(query=query, table=table, price=price, delta=delta, question=text))


bounds = st.tuples(st.integers(-(2**60), 2**60), st.integers(-(2**60), 2**60)).map(sorted)
narrow = st.tuples(st.integers(-40, 40), st.integers(-40, 40)).map(sorted)
groups = st.one_of(st.none(), st.integers(1, 100_000))


def picked(low, high, count, statistic=Statistic.MINIMUM):
    column = Column("v", "integer", lower=low, upper=high)
    aggregate = Aggregate(statistic, Field("v"))
    return pick((aggregate,), {"v": column}, groups=count, sensitivity=Sensitivity.single(1))


@given(narrow | bounds.map(lambda pair: [each // 2**8 for each in pair]), groups)
def test_candidates_cover_the_bounds_and_are_called_by_values_inside_them(pair, count):
    low, high = pair
    found = picked(low, high, count)
    assert found.first * found.width <= low
    assert high < (found.first + found.candidates) * found.width
    assert found.candidates <= max(32, MOST_CELLS // (count or 64))
    ends = [0, found.candidates // 2, found.candidates - 1]
    values = [found.lattice(end) for end in ends]
    assert values == sorted(values)
    assert all(low <= value <= high for value in values)
    assert found.width & (found.width - 1) == 0
    if high - low < 32:
        assert [found.lattice(place) for place in range(found.candidates)] == [
            *range(low, high + 1)
        ]


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=20), groups)
def test_the_engine_counts_as_python_divides(values, count):
    found = picked(-(2**53), 2**53, count)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE v(v BIGINT)")
        connection.executemany("INSERT INTO v VALUES (?)", [(each,) for each in values])
        rows = connection.execute(f"SELECT v, {found.sql} FROM v").fetchall()
    assert all(code == value // found.width for value, code in rows)


def test_however_many_groups_a_median_has_something_to_choose_from():
    for count in (1, 1000, 100_000, None):
        assert picked(0, 10**6, count).candidates >= 16
    assert picked(0, 10**6, None).candidates > 500


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("MEDIAN(x)", 0),
        ("MEDIAN(half)", -1.5),
        ("MEDIAN(day)", date(2024, 1, 1)),
        ("MIN(day)", date(2024, 1, 1)),
        ("MODE(g)", "a"),
        ("MODE(f)", False),
        ("MODE(x > 5)", False),
        ("MODE(x)", 0),
        ("MODE(FLOOR(x / 10))", 0),
        ("MODE(CASE WHEN f THEN 'yes' ELSE g END)", "yes"),
    ],
)
def test_values_have_the_kind_of_what_they_are_picked_from(text, value):
    [found] = made(f"SELECT {text} AS o FROM t").picks
    assert found.value(0) == value
    kinds = {type(found.value(place)) for place in range(found.candidates)}
    assert kinds == {type(value)}


def test_moments_are_moments():
    [found] = made("SELECT MEDIAN(at) AS o FROM t").picks
    value = found.value(found.candidates - 1)
    assert isinstance(value, datetime)
    assert value.year == 2001


def test_a_mode_may_be_the_group_of_other_values():
    [found] = made("SELECT MODE(g) AS o FROM t").picks
    assert [found.value(place) for place in range(found.candidates)] == ["a", "b", "other"]


def test_quantiles_of_one_expression_are_picked_together_and_each_is_paid_once():
    text = (
        "SELECT MEDIAN(x) AS a, QUANTILE_CONT(x, 0.5) AS b, MIN(x) AS c, MAX(x) AS d, "
        "MODE(x) AS e, MEDIAN(half) AS f FROM t"
    )
    found = made(text)
    assert [each.fractions for each in found.picks] == [
        (Fraction(0), Fraction(1, 2), Fraction(1)),
        (),
        (Fraction(1, 2),),
    ]
    places = {each.position for _, each in found.estimators}
    assert places == {0, 1, 2, 3, 4}


def test_many_inner_quantiles_are_chosen_by_recursion_and_extremes_are_not():
    many = ", ".join(f"QUANTILE_CONT(x, {n / 20}) AS q{n}" for n in range(1, 20))
    for price in PRICES:
        [choice] = made(f"SELECT {many} FROM t", price=price).choices
        assert isinstance(choice, NestedQuantiles)
        [choice] = made(f"SELECT {many}, MAX(x) AS m FROM t", price=price).choices
        assert isinstance(choice, Quantiles)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("by", ["", " GROUP BY g", " GROUP BY g, f"])
def test_one_person_moves_twice_as_many_counts_when_replaced(relation, rows, by):
    found = made(f"SELECT MEDIAN(x) AS a, MODE(x) AS b FROM t{by}", relation=relation, rows=rows)
    assert {each.sensitivity.l1 for each in found.picks} == {relation.steps * rows}


def test_groups_do_not_lower_what_one_person_moves():
    for in_all in (1, 2, None):
        assert bound_moves(Contribution(5, 1, in_all, Relation.REPLACE)).l1 == 10


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("fractions", [(), (Fraction(1, 2),), (Fraction(0), Fraction(1, 3))])
@pytest.mark.parametrize("moved", [1, 2, 7])
def test_a_choice_costs_its_price_and_no_more(price, fractions, moved):
    sensitivity = Sensitivity(groups=moved, per_group=moved, total=moved)
    one = CandidateQuery("x", "", "number", Fraction(1), 0, 99, 1, (), fractions, sensitivity)
    choice = chooser(one, price)
    if fractions:
        assert isinstance(choice, Quantiles)
    else:
        assert isinstance(choice, PermuteAndFlip if isinstance(price, Pure) else Exponential)
    paid = choice_loss(one, choice, price).zcdp() if isinstance(price, ZCDP) else None
    if paid is None:
        assert choice_loss(one, choice, price).epsilon == price.epsilon
    else:
        assert price.rho * Fraction(999_999, 10**6) < paid.rho <= price.rho


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT MODE(big) AS o FROM t", "public values in each group"),
        ("SELECT MODE(many) AS o FROM t", "the limit is 4,096"),
        ("SELECT x, half, MODE(x) AS o FROM t GROUP BY x, half", "with so many groups"),
    ],
)
def test_a_mode_of_too_many_values_names_the_limit_and_the_way_out(text, words):
    with pytest.raises(UnsafeQuery, match=words):
        made(text)


def test_one_candidate_is_a_question_like_any_other():
    """A column whose bounds are one value: the error is 0 and any wanted error is reached."""
    only = Column("only", "integer", lower=5, upper=5)
    table = Table("t", columns=(only, COLUMNS[0]))
    text = "SELECT MEDIAN(only) AS m, MODE(only) AS o, MEDIAN(x) AS x FROM t"
    draft = Draft(query=parse(text, {"t": table}), table=table, price=ZCDP(rho=1), question=text)
    assert plan(draft).error["m"] == plan(draft).error["o"] == 0
    found = price_for_error(draft, 3, ZCDP, None)
    assert found.error["x"] <= 3


def test_picks_of_filtered_and_private_groups_ask_for_one_statement():
    text = "SELECT city, MEDIAN(x) AS m, COUNT(*) AS n FROM t WHERE f AND x > 3 GROUP BY city"
    sql = made(text, rows=2).sql
    assert sql.count("UNION ALL") == 1
    assert sql.count("WHERE") == 2
