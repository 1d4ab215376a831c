"""What prices mean: sums of epsilon in pure accounts, rho in the others, errors bought cheaply."""

import math
from fractions import Fraction

import pytest

from discreet.accounting import conversion
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidValue,
    SchemaError,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.loss import ZCDP, Pure
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.explain import error_of
from support.vaults import copied_curator, curator_of, people, write_schema, write_source

COUNT = "SELECT COUNT(*) AS n FROM visits"
MIXED = "epsilon = 10\ndelta = 1e-6"


@pytest.fixture
def pure(tmp_path):
    with copied_curator(tmp_path / "pure", people(), budget="epsilon = 10") as curator:
        yield curator


@pytest.fixture
def mixed(tmp_path):
    with copied_curator(tmp_path / "mixed", people(), budget=MIXED) as curator:
        yield curator


def numbered(place):
    """Questions that are all different."""
    return f"SELECT COUNT(*) AS n FROM visits WHERE age > {place}"


def test_ten_charges_of_a_tenth_fit_one_and_an_eleventh_does_not(pure):
    pure.grant("ana", epsilon=1)
    session = pure.session("ana")
    for place in range(10):
        session.sql(numbered(place), epsilon=0.1)
    assert session.remaining.epsilon == 0
    with pytest.raises(BudgetExceeded, match="Nothing was run or charged"):
        session.sql(numbered(10), epsilon=0.1)
    with pytest.raises(BudgetExceeded):
        session.sql(numbered(10), epsilon=1e-9)
    assert len(session.transcript) == 10


def test_the_price_is_of_the_whole_question(pure):
    pure.grant("ana", epsilon=1)
    session = pure.session("ana")
    asked = (
        "SELECT region, COUNT(*) n, SUM(age) s, AVG(age) a, STDDEV(income) d FROM visits GROUP BY 1"
    )
    made = session.explain(asked, epsilon=0.3)
    assert made.cost == Pure(epsilon=Fraction(3, 10))
    session.run(made)
    assert session.remaining.epsilon == Fraction(7, 10)
    assert session.explain("SELECT AVG(age) a, COUNT(age) n FROM visits", epsilon=1).noises == (
        session.explain("SELECT COUNT(age) n, AVG(age) a FROM visits", epsilon=1).noises
    )
    assert len(session.explain("SELECT AVG(age) a, SUM(age) s FROM visits", epsilon=1).noises) == 2


def test_many_small_questions_cost_less_than_their_sum_in_a_mixed_account(mixed):
    mixed.grant("ana", epsilon=1, delta=1e-6)
    session = mixed.session("ana")
    for place in range(25):
        session.sql(numbered(place), epsilon=0.1)
    assert session.remaining.epsilon > Fraction(1, 10)
    assert mixed.ledger.verify().sound


@pytest.mark.parametrize("first", ["0.3", "0.77"])
@pytest.mark.parametrize("grant", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
def test_remaining_is_the_largest_single_further_question(mixed, grant, first):
    mixed.grant("ana", **grant)
    session = mixed.session("ana")
    session.sql(f"SELECT AVG(age) FROM visits WHERE age < {len(first)}", epsilon=float(first))
    left = session.remaining.epsilon
    with pytest.raises(BudgetExceeded):
        session.sql("SELECT COUNT(*), SUM(age) FROM visits", epsilon=left * Fraction(1001, 1000))
    session.sql("SELECT COUNT(*), SUM(age) FROM visits", epsilon=left)
    assert session.remaining.epsilon < left / 100


def test_epsilon_buys_the_most_rho_that_converts_to_it(mixed):
    mixed.grant("ana", epsilon=2, delta=1e-6)
    made = mixed.session("ana").explain(COUNT, epsilon=1)
    assert isinstance(made.cost, ZCDP)
    reserved = Fraction(1, 2_000_000)
    whole = conversion.zcdp_rho(epsilon=1, delta=reserved)
    assert whole * Fraction(999, 1000) <= made.cost.rho <= whole
    assert conversion.zcdp_epsilon(rho=made.cost.rho, delta=reserved) <= 1


def test_a_pure_population_makes_every_price_pure(pure):
    pure.grant("ana", epsilon=1, delta=1e-6)
    session = pure.session("ana")
    assert session.explain(COUNT, epsilon=0.5).cost == Pure(epsilon=Fraction(1, 2))
    with pytest.raises(UnprovableRequest, match="pure budget"):
        session.explain(COUNT, rho=0.1)


@pytest.mark.parametrize(
    "price", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "error": 5}, {"rho": 1, "error": 5}]
)
def test_one_price_is_needed(mixed, price):
    mixed.grant("ana", epsilon=1, delta=1e-6)
    with pytest.raises(InvalidValue, match="give one price"):
        mixed.session("ana").explain(COUNT, **price)


@pytest.mark.parametrize("delta", [1, 7, 0, -1, float("nan")])
def test_a_delta_that_protects_nobody_is_refused_where_it_would_buy_nothing_too(mixed, delta):
    mixed.grant("ana", epsilon=1, delta=1e-6)
    with pytest.raises(InvalidValue, match="delta"):
        mixed.session("ana").explain(COUNT, epsilon=0.5, delta=delta)


@pytest.mark.parametrize("text", [["SELECT 1"], {"sql": "SELECT 1"}, None, 7, b"SELECT 1"])
def test_a_question_that_is_no_text_is_refused(mixed, text):
    mixed.grant("ana", epsilon=1, delta=1e-6)
    session = mixed.session("ana")
    said = f"a question is text, not {type(text).__name__}"
    for ask, more in ((session.sql, {}), (session.sql, {"key": "k"}), (session.explain, {})):
        with pytest.raises(UnsafeQuery, match=said):
            ask(text, epsilon=0.5, **more)
    assert session.remaining.epsilon == 1


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "0.1"])
@pytest.mark.parametrize("name", ["epsilon", "rho", "error"])
def test_prices_that_are_no_numbers_are_refused(mixed, name, value):
    mixed.grant("ana", epsilon=1, delta=1e-6)
    session = mixed.session("ana")
    with pytest.raises(InvalidValue):
        session.sql(COUNT, **{name: value})
    assert session.remaining.epsilon == 1


@pytest.mark.parametrize("value", [Fraction(1, 10**400), 5e-324, 1e-41, 1e41, Fraction(10**400)])
@pytest.mark.parametrize("name", ["epsilon", "rho"])
@pytest.mark.parametrize("grant", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}])
def test_prices_that_no_float_can_follow_are_refused_uncharged(mixed, grant, name, value):
    """The noise of 1e-400 was drawn and charged, and then its size could not be said."""
    mixed.grant("ana", **grant)
    session = mixed.session("ana")
    with pytest.raises((InvalidValue, UnprovableRequest), match=r"between|pure budget"):
        session.sql(COUNT, **{name: value})
    assert "charge" not in [entry.act.value for entry in mixed.ledger.entries()]
    least = {"epsilon": 1e-40}
    asked = "SELECT region, SUM(big) AS s, VAR_SAMP(income) AS v FROM visits GROUP BY 1"
    answer = session.sql(asked, **least)
    low, high = answer.intervals()[0]["s"]
    assert -math.inf < low < high < math.inf
    assert session.transcript[0].to_dicts() == answer.to_dicts()


def cheaper(made, share):
    """The same question at a little less."""
    prices = tuple(
        Pure(epsilon=price.epsilon * share)
        if isinstance(price, Pure)
        else ZCDP(rho=price.rho * share)
        for price in made.prices
    )
    return plan(Draft(query=made.query, table=made.table, price=prices, question=made.question))


TARGETS = [
    (COUNT, 20, None),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", 7, None),
    ("SELECT SUM(income) AS s FROM visits", 1e6, None),
    ("SELECT COUNT(*) AS n, SUM(age) AS s FROM visits", {"n": 10, "s": 4000}, None),
    ("SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low FROM visits", 15, None),
    ("SELECT AVG(age) AS a FROM visits", 2, 5000),
    ("SELECT STDDEV(age) AS d, VAR_POP(age) AS v FROM visits", {"v": 500}, 50_000),
    ("SELECT AVG(age) AS a, COUNT(*) AS n FROM visits", {"a": 3, "n": 100}, 2000),
]


@pytest.mark.parametrize("grant", [{"epsilon": 5}, {"epsilon": 5, "delta": 1e-6}])
@pytest.mark.parametrize(("asked", "error", "count"), TARGETS)
def test_an_error_is_reached_at_the_least_price(mixed, grant, asked, error, count):
    mixed.grant("ana", **grant)
    made = mixed.session("ana").explain(asked, error=error, count=count)
    targets = error if isinstance(error, dict) else {made.query.outputs[0].name: error}
    reached = error_of(made, count)
    assert all(reached[name] <= width for name, width in targets.items())
    missed = error_of(cheaper(made, Fraction(9989, 10_000)), count)
    if len(targets) == len(made.measures):
        assert any(missed[name] > width for name, width in targets.items())
    assert all(missed[name] > width for name, width in targets.items()) or len(targets) > 1


def test_the_error_of_an_average_needs_a_count(mixed):
    mixed.grant("ana", epsilon=1)
    session = mixed.session("ana")
    asked = "SELECT AVG(age) AS a FROM visits"
    assert session.explain(asked, epsilon=1).error == {"a": None}
    with pytest.raises(UnprovableRequest, match="Assume one with count="):
        session.explain(asked, error=1)
    for count in (0, -1, True, 2.5, "many", 10**400):
        with pytest.raises(InvalidValue, match="count is"):
            session.sql(asked, error=1, count=count)
    with pytest.raises(InvalidValue, match="Did you mean 'a'"):
        session.sql(asked, error={"aa": 1}, count=100)
    with pytest.raises(InvalidValue, match="no column"):
        session.sql(asked, error={})
    with pytest.raises(BudgetExceeded):
        session.sql(COUNT, error=1e-9)
    assert session.remaining.epsilon == 1


def test_the_same_again_is_free_and_flagged(mixed):
    mixed.grant("ana", epsilon=1)
    mixed.grant("bo", epsilon=1)
    ana, bo = mixed.session("ana"), mixed.session("bo")
    first = ana.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", epsilon=0.5)
    again = ana.sql("select v.region, count(*) n from visits v group by 1", epsilon=0.5)
    assert (first.free, again.free) == (False, True)
    assert again.to_dicts() == first.to_dicts()
    assert again.intervals() == first.intervals()
    assert again.receipt == first.receipt
    assert ana.remaining.epsilon == Fraction(1, 2)
    other = bo.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", epsilon=0.5)
    assert not other.free
    assert bo.remaining.epsilon == Fraction(1, 2)
    dearer = ana.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", epsilon=0.25)
    assert not dearer.free
    assert [each.free for each in ana.transcript] == [True, True]


def test_sharing_makes_a_release_free_for_everyone(tmp_path):
    with copied_curator(tmp_path / "s", people(), budget="epsilon = 1\nsharing = true") as curator:
        curator.grant("ana", epsilon=1)
        curator.grant("bo", epsilon=1)
        first = curator.session("ana").sql(COUNT, epsilon=1)
        second = curator.session("bo").sql(COUNT, epsilon=1)
        assert second.free
        assert second.to_dicts() == first.to_dicts()
        assert curator.session("bo").remaining.epsilon == 1


def test_new_data_pays_again_and_a_changed_source_waits_for_refresh(tmp_path):
    folder = tmp_path / "r"
    with curator_of(folder, people()) as curator:
        curator.grant("ana", epsilon=1)
        session = curator.session("ana")
        session.sql(COUNT, epsilon=0.25)
        write_source(folder, people(80))
        with pytest.raises(DiscreetError, match="the source has changed"):
            session.sql(COUNT, epsilon=0.25)
        assert session.remaining.epsilon == Fraction(3, 4)
        curator.refresh("visits")
        assert not session.sql(COUNT, epsilon=0.25).free
        assert session.remaining.epsilon == Fraction(1, 2)
        assert [each.receipt.data_version for each in session.transcript] == ["1", "2"]


def test_the_same_people_under_another_name_have_no_new_budget(tmp_path):
    folder = tmp_path / "p"
    with curator_of(folder, people()) as curator:
        text = write_schema(folder).read_text()
        other = folder / "other.toml"
        other.write_text(text.replace('"visits"', '"again"').replace("patients", "others"))
        with pytest.raises(SchemaError, match="population"):
            curator.add(other)
        write_source(folder, people(), "copy.parquet")
        other.write_text(other.read_text().replace("visits.parquet", "copy.parquet"))
        with pytest.raises(SchemaError, match="population"):
            curator.add(other)
        assert set(curator.tables) == {"visits"}
        prepared = list((folder / "vault" / "prepared").iterdir())
        assert len(prepared) == 1


def test_refused_questions_charge_nothing(mixed):
    mixed.grant("ana", epsilon=1)
    session = mixed.session("ana")
    for text in (
        "SELECT * FROM visits",
        "SELECT age FROM visits",
        "DROP TABLE visits",
        "",
        ";",
    ):
        with pytest.raises(UnsafeQuery):
            session.sql(text, epsilon=0.5)
    for text in (
        "SELECT big, COUNT(*) FROM visits GROUP BY big",
        "SELECT SUM(big * big) FROM visits",
        "SELECT VAR_POP(big) FROM visits",
        "SELECT age, day, FLOOR(income), COUNT(*) FROM visits GROUP BY 1, 2, 3",
    ):
        with pytest.raises(UnsafeQuery, match=r"limit is|Nothing was"):
            session.sql(text, epsilon=0.5)
    assert session.remaining.epsilon == 1
    assert session.transcript == []
    entries = [entry.act.value for entry in mixed.ledger.entries()]
    assert "charge" not in entries
