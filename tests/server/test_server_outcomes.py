"""What is said of runs agrees with what happened: a job's state and its detail, a failure and its
charge, a price and its number; why a run failed, the custodian sees and nobody else.
"""

import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.curator import Curator
from discreet.engines.duckdb import engine as duckdb
from discreet.engines.protocol import FREE_MESSAGE, MESSAGE, cause_of
from discreet.errors import Unavailable
from discreet.server.api import jobs as jobs_module
from discreet.server.api.forms import QueryForm
from discreet.server.logins import COOKIE, Logins
from discreet.streams import Counter, Holdout, Joint, Monitor, Synopsis
from support.served_vault import serve_vault
from support.vaults import copied_curator, people

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age < 45"
DAYS = "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"
SECRET = "a secret row"
ROUNDS = {"alpha": 0.9, "epsilon": 30, "order": 1, "queries": 1, "reserve": 0.9}


@pytest.fixture
def served(tmp_path):
    yield from serve_vault(tmp_path / "h")


def page(served, path, who):
    cookie = Logins(served.accounts, hours=1).cookie(served.accounts.identify(served.tokens[who]))
    return served.client.get(path, headers={"Cookie": f"{COOKIE}={cookie}"})


class Asked:
    """A session that waits until it is told, and then answers or fails as it is told."""

    def __init__(self, fault):
        self.fault, self.begun, self.go_on = fault, threading.Event(), threading.Event()

    def sql(self, *_given, **_options):
        self.begun.set()
        self.go_on.wait()
        raise self.fault


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        (Unavailable("The engine was away."), "The engine was away."),
        (RuntimeError(SECRET), "Something failed here."),
    ],
)
def test_the_state_and_the_detail_of_a_job_agree(served, monkeypatch, fault, detail):
    """Waiting, running, failed by a refusal and by a fault: each says of itself what it is."""
    monkeypatch.setattr(jobs_module, "_RUNNING", 2)  # one of an account
    server, jobs = served.client.app.state.server, jobs_module.Jobs()
    who = served.accounts.identify(served.tokens["ana"])
    asked = Asked(fault)
    monkeypatch.setattr(type(server), "session", lambda *_: asked)
    form = QueryForm(sql=COUNT, epsilon=0.1, wait=False)
    first, second = (jobs.start(server, who, form)["job"] for _ in range(2))
    asked.begun.wait()
    seen = {name: jobs.find("ana", name) for name in (first, second)}
    assert (seen[first]["state"], seen[second]["state"]) == ("running", "waiting")
    for each in seen.values():
        assert "fail" not in each["detail"].lower()
        assert each["progress"] < 1
    asked.go_on.set()
    jobs.close()
    states = {jobs.find("ana", name)["state"] for name in (first, second)}
    assert states == {"failed"}
    said = jobs.find("ana", first)["detail"]
    assert said.startswith(detail)
    assert SECRET not in said
    dropped = jobs.find("ana", second)["detail"]
    assert dropped.startswith(detail) or "Nothing was run or charged" in dropped


def test_a_job_that_is_done_says_nothing_else(served):
    body = {"sql": COUNT, "epsilon": 0.1, "wait": False}
    started = served.call("ana", "POST", "/queries", json=body).json()
    assert "fail" not in started["detail"].lower()
    found = started
    while found["state"] not in ("done", "failed"):
        found = served.call("ana", "GET", f"/jobs/{started['job']}").json()
        assert (found["state"] == "failed") == ("fail" in found["detail"].lower())
    assert (found["state"], found["detail"]) == ("done", "")


PRICES = [
    {"epsilon": Fraction(1, 2)}, {"epsilon": Fraction(1, 3)}, {"epsilon": Fraction(7, 1000)},
    {"rho": Fraction(1, 7)}, {"rho": Fraction(3, 200)},
]  # fmt: skip


@pytest.mark.parametrize("price", PRICES)
def test_the_price_of_a_monitor_is_a_decimal(tmp_path, price):
    budget = "epsilon = 50" if "epsilon" in price else "epsilon = 50\ndelta = 1e-5"
    with copied_curator(tmp_path / "c", people(), budget=budget) as curator:
        curator.grant("ana", epsilon=20, delta=0 if "epsilon" in price else 1e-6)
        session = curator.session("ana")
        monitor = Monitor.open(session, COUNT, threshold=5, name="m", **price)
        ((name, exact),) = price.items()
        shown = monitor.values()["price"]
        assert list(shown) == [name]
        assert "/" not in shown[name]
        assert 0 <= Fraction(shown[name]) - exact < Fraction(1, 10**9)


def broken(monkeypatch, reason):
    def rows(engine, _sql):
        engine.last_failure = reason
        raise Unavailable(MESSAGE)

    monkeypatch.setattr(duckdb.DuckDB, "rows", rows)


def _question(session):
    return lambda: session.sql("SELECT COUNT(*) AS m FROM visits", epsilon=0.1)


def _monitor(session):
    return Monitor.open(session, COUNT, threshold=5, epsilon=0.5, name="m").check


def _counter(session):
    from datetime import date

    counter = Counter.open(session, DAYS, rho=0.01, versions=1, buckets=12, name="c")
    return lambda: counter.advance(upto=date(2024, 3, 1))


def _synopsis(session):
    made = Synopsis.open(session, ("region", "age"), table="visits", name="s", **ROUNDS)
    return lambda: made.query("SELECT COUNT(*) FROM visits WHERE region = 'north' AND age >= 50")


def _holdout(session):
    made = Holdout.open(session, table="visits", name="h", threshold=0.1, overfits=2, epsilon=1)
    return lambda: made.mean("SELECT COUNT(*) AS n FROM visits WHERE age < 45", training=0.5)


def _joint(session):
    made = Joint.open(session, table="visits", name="j", epsilon=1, sensitivity=4)
    return lambda: made.ask(COUNT)


PAID_AHEAD = {"synopsis"}  # a round begins with a charge that pays for several comparisons
RUNS = {
    "question": _question,
    "monitor": _monitor,
    "counter": _counter,
    "synopsis": _synopsis,
    "holdout": _holdout,
    "joint": _joint,
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_fails_says_whether_it_was_charged(tmp_path, monkeypatch, name):
    """Every service whose engine fails: the words agree with the ledger, and have their cause."""
    with copied_curator(tmp_path / "c", people(), budget="epsilon = 50\ndelta = 1e-5") as curator:
        curator.grant("ana", epsilon=40, delta=1e-6)
        run = RUNS[name](curator.session("ana"))
        before = curator.ledger.count()
        broken(monkeypatch, f"ConversionException: Could not convert {SECRET!r} to INT32")
        with pytest.raises(Unavailable) as failure:
            run()
        charged = curator.ledger.count() > before and name not in PAID_AHEAD
        assert str(failure.value) == (MESSAGE if charged else FREE_MESSAGE)
        assert failure.value.__context__ is None
        (cause,) = curator.vault.causes.newest(limit=10)
        assert cause.analyst == "ana"
        assert cause.entry == (curator.ledger.count() if charged else None)
        assert cause.cause.startswith("the engine refused the statement (Conversion)")
        assert curator.ledger.verify().sound


def test_the_custodian_sees_why_and_nobody_else(served, monkeypatch):
    broken(monkeypatch, f"OutOfMemoryException: while {SECRET} was read")
    refused = served.call("ana", "POST", "/queries", json={"sql": COUNT, "epsilon": 0.1})
    assert refused.status_code == 503
    assert "the custodian can see why" in refused.json()["detail"]
    overview = page(served, "/custodian", "cora").text
    assert "Runs that failed" in overview
    assert "ran out of memory" in overview
    assert SECRET not in overview
    for path in ("/history", "/services", "/tables"):
        assert "memory" not in page(served, path, "ana").text
    entry = served.call("cora", "GET", "/custodian/ledger").text
    assert "memory" not in entry  # not in the chain
    assert served.curator.ledger.verify().sound


@given(
    kind=st.sampled_from(["ConversionException", "OperationalError", "TypeError", "", "Odd"]),
    text=st.text(max_size=60),
)
def test_a_cause_has_no_word_of_the_engine_s_own_text(kind, text):
    """Only what is in a short list, and a kind that is a type's name."""
    plain, told = cause_of(f"{kind}: x"), cause_of(f"{kind}: '{text}'")
    assert told == plain
    known = {cause_of(f"{kind}: {words}") for words in ("timeout", "permission denied")}
    assert all("'" not in each for each in known)


def test_few_causes_are_kept(tmp_path):
    with Curator.open(tmp_path / "vault") as curator:
        causes = curator.vault.causes
        for number in range(3):
            causes.add("ana", None, "The monitor m", str(number))
        assert [each.cause for each in causes.newest(limit=2)] == ["2", "1"]
