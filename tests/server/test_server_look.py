"""Looking around over HTTP: the same tables, limits, suggestions and refusals as with a curator."""

import pytest

import discreet
from discreet.errors import InvalidValue, UnsafeQuery
from support.served_vault import listening

SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
WRONG = "SELECT COUNT(*) AS n FROM visits WHERE region = 'nroth'"
LIMITS = {"max_groups_contributed": 1, "max_rows_contributed": 1}


@pytest.fixture
def client(served):
    with listening(served.client.app) as url:
        yield discreet.Client(url, served.tokens["ana"])


def charges(served):
    return [each for each in served.curator.ledger.entries() if each.act.value == "charge"]


def test_a_client_and_a_session_show_the_same_tables(served, client):
    session = served.curator.session("ana")
    assert repr(client.tables) == repr(session.tables)
    assert repr(client.tables["visits"]) == repr(session.tables["visits"])
    assert client.tables["visits"]._repr_html_() == session.tables["visits"]._repr_html_()
    with pytest.raises(InvalidValue, match="Did you mean 'visits'"):
        client.tables["vists"]


@pytest.mark.parametrize("path", ["/tables", "/tables/visits"])
def test_nobody_else_sees_a_table(served, path):
    assert served.call(None, "GET", path).status_code == 401


def test_limits_and_suggestions_over_http(served, client):
    plain, limited = client.explain(SQL, epsilon=1), client.explain(SQL, epsilon=1, **LIMITS)
    assert limited["error"]["n"] < plain["error"]["n"]
    (suggested,) = plain["suggestions"]
    assert suggested["error"] == limited["error"]
    assert limited["suggestions"] == []
    answer = client.sql(SQL, epsilon=1, **LIMITS)
    assert not answer.free
    assert client.sql(SQL, epsilon=1, **LIMITS).free
    assert served.curator.session("ana").sql(SQL, epsilon=1, **LIMITS).free
    assert "max_groups_contributed=1, max_rows_contributed=1" in answer.receipt.question
    assert len(charges(served)) == 1
    for name in LIMITS:
        for value in (0, 1.0, True, "1", 10**10):
            body = {"sql": SQL, "epsilon": 1, name: value}
            assert served.call("ana", "POST", "/queries", json=body).status_code == 400
    assert len(charges(served)) == 1


def test_a_job_keeps_its_limits(served):
    body = {"sql": SQL, "epsilon": 1, "wait": False, "key": "k", **LIMITS}
    assert served.call("ana", "POST", "/queries", json=body).status_code == 202
    kept = {**body, "wait": True}
    found = served.call("ana", "POST", "/queries", json=kept)
    assert "max_rows_contributed=1" in found.json()["receipt"]["question"]
    assert len(charges(served)) == 1


def test_a_constant_that_a_column_cannot_have_is_refused_everywhere(served, client):
    for ask in (client.explain, client.sql):
        with pytest.raises(UnsafeQuery, match="the nearest is 'north'"):
            ask(WRONG, epsilon=1)
    form = {"sql": WRONG, "epsilon": 1, "wait": False, "key": "k"}
    job = served.call("ana", "POST", "/queries", json=form).json()["job"]
    for _ in range(1000):
        found = served.call("ana", "GET", f"/jobs/{job}").json()
        if found["state"] in ("done", "failed"):
            break
    assert "the nearest is 'north'" in found["detail"]
    assert charges(served) == []
