"""`discreet.Client` and an analyst's services: the same calls as the library's, over HTTP."""

from datetime import date

import pytest

import discreet
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable
from discreet.schema.table import Budget
from discreet.server.accounts import Role
from discreet.streams import Synopsis
from support.served_vault import listening

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age >= 0"
DAYS = "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"
NORTH = "SELECT COUNT(*) FROM visits WHERE region = 'north'"


@pytest.fixture
def client(served):
    """An analyst whose budget has a delta, speaking to a server that listens."""
    budget = Budget(epsilon=20, delta=1e-6)
    served.curator.ledger.amend("population", "patients", budget, {})
    served.curator.grant("ria", epsilon=10, delta=1e-6)
    token = served.accounts.issue("ria", Role.ANALYST, days=1).text
    with listening(served.client.app) as url:
        yield discreet.Client(url, token)


def charges(served):
    return [each for each in served.curator.ledger.entries() if each.act.value == "charge"]


def test_a_monitor(served, client):
    assert client.monitors == []
    monitor = client.open_monitor("fever", COUNT, threshold=30, epsilon=2)
    assert monitor.alarms_left == 1
    assert client.open_monitor("fever", COUNT, threshold=30, epsilon=2) == monitor
    assert len(charges(served)) == 1
    assert monitor.check(threshold=-10_000)["said"] == "above"
    with pytest.raises(BudgetExceeded):
        monitor.check()
    assert (monitor.values["alarms_left"], monitor.values["alarms_in_all"]) == (0, 1)
    assert monitor.renew()["alarms_left"] == 1
    assert [each.name for each in client.monitors] == ["fever"]
    assert len(charges(served)) == 2
    with pytest.raises(Unavailable, match="nothing here for you"):
        client.monitor("none").check()
    with pytest.raises(InvalidValue):
        client.open_monitor("fever", COUNT, threshold=31, epsilon=2)


def test_a_counter(served, client):
    counter = client.open_counter("monthly", DAYS, epsilon=1, versions=2)
    assert counter.points == []
    new = counter.advance(upto=date(2024, 3, 31))
    assert [each["start"] for each in new] == ["2024-01-01", "2024-02-01", "2024-03-01"]
    assert counter.points == new
    assert counter.values["question"] == DAYS
    assert client.counters == [counter]
    assert len(charges(served)) == 1


def test_a_synopsis(client, tmp_path):
    synopsis = client.open_synopsis("s1", "visits", ["region"], alpha=0.1, epsilon=1, order=1)
    told = synopsis.query(NORTH)
    assert told["source"] == "measured"
    assert synopsis.query(NORTH)["value"] == told["value"]
    assert synopsis.values["columns"] == ["region"]
    synopsis.save(tmp_path / "s1.npz")
    loaded = Synopsis.load(tmp_path / "s1.npz").query(NORTH)
    assert loaded.value == pytest.approx(told["value"], rel=1e-9)
    assert synopsis.finish()["rounds_left"] == synopsis.rounds_left == 0
    assert client.synopses == [synopsis]
    assert "token" not in repr(synopsis)
