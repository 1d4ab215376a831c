"""The least price of a charge: a share of the smaller account, never asked of a replay."""

from fractions import Fraction

import pytest

from discreet.curator.curator import Curator
from discreet.errors import InvalidValue
from discreet.ledger.account import Account, Holder
from discreet.ledger.floor import DEFAULT_FLOOR, NO_FLOOR, PriceFloor
from discreet.loss import ZCDP, Pure
from discreet.schema.table import Budget
from discreet.streams.monitor.monitor import Monitor

COUNT = "SELECT COUNT(*) AS n FROM visits"
SCHEMA = {
    "table": {"name": "visits", "unit": "patient", "rows_per_unit": 1},
    "columns": {"age": {"type": "integer", "lower": 0, "upper": 99}},
    "budget": {"epsilon": 2},
}


def account(epsilon, delta=0, holder=Holder.ANALYST):
    return Account.open(holder, "ana", Budget(epsilon=epsilon, delta=delta))


@pytest.mark.parametrize("share", [-1, 2, float("nan"), "0.1", True])
def test_a_share_is_a_share(share):
    with pytest.raises(InvalidValue, match="price_floor"):
        PriceFloor(share=share)


@pytest.mark.parametrize(
    "accounts",
    [
        (account(1), account(3)),
        (account(1), account(3, 1e-6)),
        (account(1, 1e-6), account(3)),
        (account(2, 1e-6), account(1, 1e-8)),
    ],
)
def test_the_least_price_is_admitted_and_less_is_not(accounts):
    kind = Pure if any(each.pure for each in accounts) else ZCDP
    least = DEFAULT_FLOOR.least(accounts, kind)
    assert DEFAULT_FLOOR.admits(accounts, least)
    half = Pure(epsilon=least.epsilon / 2) if kind is Pure else ZCDP(rho=least.rho / 2)
    assert not DEFAULT_FLOOR.admits(accounts, half)
    with pytest.raises(InvalidValue, match="least price"):
        DEFAULT_FLOOR.check(accounts, half, label="It")
    assert NO_FLOOR.admits(accounts, half)


def test_the_smaller_account_counts():
    small, large = account(1), account(100, holder=Holder.POPULATION)
    assert DEFAULT_FLOOR.least([small, large], Pure) == Pure(epsilon=Fraction(1, 10_000))


@pytest.fixture
def vault(tmp_path):
    import pandas as pd

    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(SCHEMA, data=pd.DataFrame({"patient": range(50), "age": [40] * 50}))
        curator.grant("ana", epsilon=1)
        curator.session("ana").sql(COUNT, epsilon=1e-9)
    return tmp_path / "vault"


def test_new_charges_of_every_kind_have_a_floor_and_replays_none(vault):
    with Curator.open(vault) as curator:
        session = curator.session("ana")
        assert session.sql(COUNT, epsilon=1e-9).free
        before = session.remaining
        with pytest.raises(InvalidValue, match=r"epsilon=0\.0001: 0\.01% of the budget"):
            session.sql(COUNT, epsilon=1e-8)
        with pytest.raises(InvalidValue, match="least price"):
            session.explain(COUNT, epsilon=1e-8)
        with pytest.raises(InvalidValue, match="least price"):
            Monitor.open(session, COUNT, threshold=10, epsilon=1e-20)
        assert session.remaining == before
        assert session.sql(COUNT, epsilon=1e-4).receipt.cost["epsilon"] == "0.0001"


def test_an_error_that_would_cost_less_is_served_at_the_floor(vault):
    with Curator.open(vault) as curator:
        session = curator.session("ana")
        made = session.explain(COUNT, error=10**9)
        assert made.cost == Pure(epsilon=Fraction(1, 10_000))
        assert made.error["n"] < 10**9
        assert not session.sql(COUNT, error=10**9).free
        assert session.sql(COUNT, error=10**9).free


def test_an_answer_below_todays_floor_is_given_again(vault):
    """Also one whose price came of an error: replays have no least price."""
    with Curator.open(vault, price_floor=0) as curator:
        assert not curator.session("ana").sql(COUNT, error=10**9).free
        assert not curator.session("ana").sql("SELECT AVG(age) FROM visits", error=10**6).free
    with Curator.open(vault) as curator:
        session = curator.session("ana")
        before = session.remaining
        assert session.explain(COUNT, error=10**9).cost.epsilon < Fraction(1, 10_000)
        assert session.explain(COUNT, epsilon=1e-9).cost.epsilon < Fraction(1, 10_000)
        assert session.sql(COUNT, error=10**9).free
        assert session.sql("SELECT AVG(age) FROM visits", error=10**6).free
        assert session.remaining == before


def test_a_count_that_is_bought_for_an_average_costs_at_least_the_floor(tmp_path):
    import pandas as pd

    with Curator.open(tmp_path / "vault") as curator:
        schema = {**SCHEMA, "budget": {"epsilon": 100, "delta": 1e-6}}
        curator.add(schema, data=pd.DataFrame({"patient": range(5000), "age": [40] * 5000}))
        curator.grant("ana", epsilon=20, delta=1e-6)
        session = curator.session("ana")
        mean = "SELECT AVG(age) AS a FROM visits"
        with pytest.raises(InvalidValue, match="least price"):
            session.sql(COUNT, epsilon=0.05)
        answer = session.sql(mean, error=2)
        assert answer.bought is not None
        assert session.sql(mean, error=2).free


def test_the_command_line_takes_another_share(vault, monkeypatch):
    from discreet.cli.shared import vault as opened

    monkeypatch.setenv("DISCREET_PRICE_FLOOR", "1e-3")
    with opened(vault) as curator, pytest.raises(InvalidValue, match=r"epsilon=0\.001"):
        curator.session("ana").sql(COUNT, epsilon=5e-4)
    monkeypatch.setenv("DISCREET_PRICE_FLOOR", "a lot")
    with pytest.raises(InvalidValue, match="DISCREET_PRICE_FLOOR"):
        opened(vault)
