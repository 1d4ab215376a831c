"""An error wanted of an average: a noisy count is bought first, shown, charged and given again."""

from fractions import Fraction

import pytest

from discreet.errors import BudgetExceeded, DiscreetError, UnprovableRequest
from discreet.plan.target import assume_count, worth_reusing
from support.vaults import copied_curator, people

AVERAGE = "SELECT AVG(age) AS a FROM visits"


@pytest.fixture
def session(tmp_path):
    with copied_curator(tmp_path / "vault", people(3000), budget="epsilon = 1000000") as curator:
        curator.grant("buyer", epsilon=10**6)
        yield curator.session("buyer")


def spent(session):
    return 10**6 - session.remaining.epsilon


def test_explaining_without_a_count_says_what_would_happen(session):
    with pytest.raises(UnprovableRequest, match="buys a noisy count first"):
        session.explain(AVERAGE, error=20)
    assert spent(session) == 0


def test_the_count_is_a_charge_of_its_own_and_is_shown(session):
    answer = session.sql(AVERAGE, error=10)
    assert answer.bought is not None
    assert answer.bought.plan.cost.epsilon == Fraction(1, 20)
    assert spent(session) == answer.plan.cost.epsilon + Fraction(1, 20)
    assert [each.plan.counts_for for each in session.transcript] == ["a", ""]


def test_the_same_again_is_free_count_and_all(session):
    first = session.sql(AVERAGE, error=10)
    before = spent(session)
    again = session.sql(AVERAGE, error=10)
    assert again.free
    assert again.bought.free
    assert again.to_dicts() == first.to_dicts()
    assert spent(session) == before


def test_a_supposed_count_and_plain_counts_buy_nothing(session):
    assert session.sql(AVERAGE, error=20, count=1000).bought is None
    assert session.sql("SELECT COUNT(*) AS n FROM visits", error=20).bought is None


def test_two_prices_buy_nothing(session):
    clause = AVERAGE.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1)")
    for asked, prices in ((AVERAGE, {"epsilon": 1}), (AVERAGE, {"rho": 1}), (clause, {})):
        with pytest.raises(DiscreetError, match="price"):
            session.sql(asked, error=10, **prices)
    with pytest.raises(DiscreetError, match="Did you mean 'a'"):
        session.sql(AVERAGE, error={"aa": 10})
    assert spent(session) == 0


def test_what_no_count_helps_is_refused_before_one_is_bought(session):
    with pytest.raises(UnprovableRequest, match="the error of r cannot be known in advance"):
        session.sql("SELECT AVG(age) / COUNT(*) AS r, AVG(age) AS a FROM visits", error=1)
    assert spent(session) == 0


def test_a_refusal_after_the_count_says_that_the_count_was_paid(tmp_path):
    with copied_curator(tmp_path / "poor", people(3000)) as curator:
        curator.grant("poor", epsilon=Fraction(1, 10))
        session = curator.session("poor")
        with pytest.raises(
            BudgetExceeded, match=r"^A noisy count was bought first and stays charged"
        ) as refusal:
            session.sql(AVERAGE, error=1)
        bought, _, itself = str(refusal.value).partition(" About the question itself: ")
        assert "charged" in bought
        assert itself.endswith("Nothing was run or charged.")
        assert session.remaining.epsilon == Fraction(1, 20)
        with pytest.raises(BudgetExceeded, match=r"^The question"):  # the count is free by now
            session.sql(AVERAGE, error=1)
        assert session.remaining.epsilon == Fraction(1, 20)


@pytest.mark.parametrize(
    ("intervals", "count"),
    [
        ([(90.0, 110.0)], 90),
        ([(90.0, 110.0), (-12.0, 8.0), (60.0, 80.0)], 60),  # the second may be empty
        ([(1.0, 21.0)], 1),  # 11 in an interval of 20: not clear
        ([(10.0, 30.0)], 10),
        ([(-5.0, 5.0)], 1),
        ([], 1),
    ],
)
def test_nearly_empty_groups_do_not_set_the_price(intervals, count):
    assert assume_count(intervals) == count


def test_a_count_that_was_released_before_buys_nothing(session):
    count = session.sql("SELECT COUNT(age) AS n, SUM(age) AS s FROM visits", epsilon=1)
    before = spent(session)
    answer = session.sql(AVERAGE, error=10)
    assert answer.bought.receipt.id == count.receipt.id
    assert spent(session) == before + answer.plan.cost.epsilon
    assert session.sql(AVERAGE, error=10).free
    low, high = count.intervals()[0]["n"]
    assert count.counted(session.explain("SELECT COUNT(age) AS k FROM visits", epsilon=1)) == [
        (low, high)
    ]


@pytest.mark.parametrize(
    "other",
    [
        "SELECT COUNT(age) AS n FROM visits WHERE age > 3",
        "SELECT region, COUNT(age) AS n FROM visits GROUP BY region",
        "SELECT COUNT(*) AS n FROM visits",
    ],
)
def test_a_count_of_other_rows_does_not_serve(session, other):
    old = session.sql(other, epsilon=1)
    answer = session.sql(AVERAGE, error=10)
    assert answer.bought.receipt.id != old.receipt.id
    assert not answer.bought.free


def test_a_cheap_average_does_not_make_the_next_one_dear(session):
    """Its count is useless: reckoned with, the error wanted would cost hundreds of epsilon."""
    session.sql(AVERAGE, epsilon=Fraction(1, 10**5))
    before = spent(session)
    answer = session.sql(AVERAGE, error=10)
    # The noise of the bought count, of scale 40, stays below 1200 but for a chance of 1e-13.
    most = session.explain(AVERAGE, error=10, count=3000 - 1200 - 120).cost.epsilon
    assert spent(session) - before <= Fraction(1, 20) + most < Fraction(1, 2)
    paid = spent(session)
    again = session.sql(AVERAGE, error=10)
    assert again.free
    assert again.to_dicts() == answer.to_dicts()
    assert spent(session) == paid


def test_the_same_question_stays_the_same_whatever_is_released_in_between(session):
    session.sql(AVERAGE, epsilon=Fraction(1, 10**5))
    answer = session.sql(AVERAGE, error=10)
    for epsilon in (Fraction(1, 1000), 1, 100):  # counts that are worse, better and nearly exact
        session.sql("SELECT COUNT(age) AS n, SUM(age) AS s FROM visits", epsilon=epsilon)
        before = spent(session)
        again = session.sql(AVERAGE, error=10)
        assert again.free
        assert again.to_dicts() == answer.to_dicts()
        assert spent(session) == before
    # Another question takes the count with which it is cheapest: the nearly exact one.
    other = session.sql(AVERAGE, error=9)
    assert other.bought.plan.cost.epsilon == 100


def test_what_was_paid_for_stays_free_though_buying_would_be_cheaper(session):
    """An answer of an earlier version, which reckoned with the oldest count, however poor."""
    session.sql(AVERAGE, epsilon=Fraction(1, 10**5))
    [poor] = session.transcript
    counted = session.explain("SELECT COUNT(age) AS k FROM visits", epsilon=1)
    old = session.sql(AVERAGE, error=50, count=assume_count(poor.counted(counted)))
    before = spent(session)
    assert session.sql(AVERAGE, error=50).to_dicts() == old.to_dicts()
    assert spent(session) == before


def test_twice_an_average_buys_the_count_of_its_values(session):
    answer = session.sql("SELECT 2 * AVG(age) - 1 AS a FROM visits", error=20)
    assert answer.bought is not None
    low, high = answer.bought.intervals()[0]["count behind"]
    assert low < high
    assert session.sql("SELECT 2 * AVG(age) - 1 AS a FROM visits", error=20).free
    assert [each.plan.counts_for for each in session.transcript] == ["a", ""]


ROWS = 20_000


@pytest.mark.parametrize("error", [1, 5, 20])
@pytest.mark.parametrize("luck", [-1, -0.5, 0, 0.5, 1])
def test_a_reused_count_never_costs_more_than_a_bought_one(session, luck, error):
    """For released counts of any precision, wherever in its interval the truth is."""
    wanted = session.explain("SELECT COUNT(age) AS k FROM visits", epsilon=Fraction(1, 20))
    bought = wanted.noises[0].error(Fraction(95, 100))

    def priced(count):
        return session.explain(AVERAGE, error=error, count=count)

    def cost_at(count):
        return priced(max(1, int(count))).cost.epsilon

    reused = set()
    for width in (1, 0.9 * bought, bought, 2 * bought, 50 * bought, 10**6):
        noisy = ROWS + luck * width
        intervals = [(noisy - width, noisy + width)]
        made = priced(assume_count(intervals))
        if worth_reusing(intervals, wanted, made, priced):
            reused.add(width)
            # A bought count whose own noise is bad luck, within its interval.
            assert made.cost.epsilon <= Fraction(1, 20) + cost_at(ROWS - 2 * bought)
    assert {1, 0.9 * bought, bought} <= reused
    assert 10**6 not in reused


@pytest.mark.parametrize("luck", [-1.5, -2, -4])
def test_a_poor_count_with_bad_luck_is_not_reckoned_with(session, luck):
    """One count in forty is too small by more than half of its interval."""
    wanted = session.explain("SELECT COUNT(age) AS k FROM visits", epsilon=Fraction(1, 20))

    def priced(count):
        return session.explain(AVERAGE, error=10, count=count)

    for width in (10 * ROWS, 10**6):
        noisy = ROWS + luck * width
        intervals = [(noisy - width, noisy + width)]
        assert not worth_reusing(intervals, wanted, priced(assume_count(intervals)), priced)
