"""The pages of an analyst's services: what there is, what is left, a check, a question."""

import re

import pytest

from discreet.schema.table import Budget
from discreet.server.accounts import Role
from discreet.server.logins import COOKIE

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age >= 0"
NORTH = "SELECT COUNT(*) FROM visits WHERE region = 'north'"
MONITOR = {"name": "fever", "sql": COUNT, "threshold": -10_000, "alarms": 1, "epsilon": 2}
SYNOPSIS = {
    "name": "s1", "table": "visits", "columns": ["region"], "alpha": 0.1, "epsilon": 1, "order": 1,
}  # fmt: skip


class Reader:
    """Somebody who is signed in, without a browser."""

    def __init__(self, served, who):
        self.served = served
        logins = served.client.app.state.server.logins
        value = logins.cookie(served.accounts.identify(served.tokens[who]))
        self.csrf = logins.read(value).csrf
        self.headers = {"Cookie": f"{COOKIE}={value}", "Accept": "text/html"}

    def get(self, path):
        return self.served.client.get(path, headers=self.headers, follow_redirects=False)

    def post(self, path, **form):
        body = {"csrf": self.csrf, **form}
        return self.served.client.post(
            path, data=body, headers=self.headers, follow_redirects=False
        )


@pytest.fixture
def rich(served):
    """Two analysts whose budgets have a delta."""
    budget = Budget(epsilon=20, delta=1e-6)
    served.curator.ledger.amend("population", "patients", budget, {})
    for name in ("ria", "bob"):
        served.curator.grant(name, epsilon=10, delta=1e-6)
        served.tokens[name] = served.accounts.issue(name, Role.ANALYST, days=1).text
    return served


def charges(served):
    return [each for each in served.curator.ledger.entries() if each.act.value == "charge"]


def test_a_monitor_is_checked_and_says_what_is_left(served):
    ana = Reader(served, "ana")
    assert "None yet." in ana.get("/services").text
    served.call("ana", "POST", "/monitors", json=MONITOR)
    listed = ana.get("/services").text
    assert "1 of 1" in listed
    assert "not checked yet" in listed
    assert "Alarms left: <strong>1</strong>" in ana.get("/monitors/fever").text
    assert ana.post("/monitors/fever/check").headers["location"] == "/monitors/fever"
    page = ana.get("/monitors/fever").text
    assert "Last check: <strong>above</strong>" in page
    assert "Alarms left: <strong>0</strong>" in page
    again = ana.post("/monitors/fever/check")
    assert (again.status_code, 'role="alert"' in again.text) == (422, True)
    assert len(charges(served)) == 1


def test_a_synopsis_is_asked(rich):
    rich.call("ria", "POST", "/synopses", json=SYNOPSIS)
    ria = Reader(rich, "ria")
    assert 'href="/synopses/s1"' in ria.get("/services").text
    page = ria.get("/synopses/s1")
    assert "Rounds left: <strong>" in page.text
    told = ria.post("/synopses/s1", sql=NORTH)
    assert told.status_code == 200
    assert re.search(r"About <strong>-?[\d,]+</strong> rows", told.text)
    for wrong in ("SELECT age FROM visits", "<img src=x onerror=alert(1)>", ""):
        refused = ria.post("/synopses/s1", sql=wrong)
        assert (refused.status_code, 'role="alert"' in refused.text) == (422, True)
        assert "<img src=x" not in refused.text
    assert len(charges(rich)) == 1


def test_pages_of_others_are_absent_and_forms_are_ones_own(rich):
    rich.call("ana", "POST", "/monitors", json=MONITOR)
    rich.call("ria", "POST", "/synopses", json=SYNOPSIS)
    bob, cora = Reader(rich, "bob"), Reader(rich, "cora")
    assert "fever" not in bob.get("/services").text
    assert cora.get("/services").status_code == 404
    for who in (bob, cora):
        for path in ("/monitors/fever", "/synopses/s1", "/monitors/none", "/synopses/none"):
            assert who.get(path).status_code == 404, path
        assert who.post("/monitors/fever/check").status_code == 404
        assert who.post("/synopses/s1", sql=NORTH).status_code == 404
    ana, ria = Reader(rich, "ana"), Reader(rich, "ria")
    assert ana.post("/monitors/fever/check", csrf="x").status_code == 403
    assert ria.post("/synopses/s1", csrf="x", sql=NORTH).status_code == 403
    assert rich.call("ana", "GET", "/monitors/fever").json()["checks"] == 0


def test_services_before_an_adoption_are_closed_and_a_pause_holds(rich):
    rich.call("ana", "POST", "/monitors", json=MONITOR)
    rich.accounts.pause()
    assert Reader(rich, "ana").post("/monitors/fever/check").status_code == 503
    rich.accounts.go_on()
    rich.curator.ledger.adopt({"why": "restored"})
    rich.tokens["ana"] = rich.accounts.issue("ana", Role.ANALYST, days=1).text
    ana = Reader(rich, "ana")
    assert "closed" in ana.get("/services").text
    (listed,) = rich.call("ana", "GET", "/monitors").json()
    assert (listed["name"], "adopted" in listed["unavailable"]) == ("fever", True)
    assert ana.get("/monitors/fever").status_code == 503
