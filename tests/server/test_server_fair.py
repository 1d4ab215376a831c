"""Whoever asks much keeps nobody else waiting, fills no disk, and is told so: fair turns by the
order in which work begins, limits on requests and on what is stored.
"""

import threading
import time

import pytest

from discreet.errors import QuotaExceeded
from discreet.ledger.quota import Quota
from discreet.ledger.states import Change
from discreet.schema.table import Budget
from discreet.server.accounts import Role
from discreet.server.limits import Workers
from support.served_vault import serve_vault
from support.worlds import COUNTER, MONITOR, SPECIFICATION, SYNOPSIS

SQL = "SELECT COUNT(*) AS n FROM visits"
PATIENCE = 60


def joined(served, name="eve"):
    """One analyst more."""
    served.curator.grant(name, epsilon=5)
    served.tokens[name] = served.accounts.issue(name, Role.ANALYST, days=1).text


class Flood:
    """Requests of one account that are held where their work begins."""

    def __init__(self, served, who):
        server, self.who, self.go_on = served.client.app.state.server, who, threading.Event()
        self.served, self.threads, self.server, self.statuses = served, [], server, []
        real = server.session

        def held(identity):
            if identity.name == who:
                self.go_on.wait(240)
            return real(identity)

        server.session = held

    def send(self, count, path="/explain", **more):
        for number in range(count):
            body = {"sql": SQL, "epsilon": 0.1 + number / 1000, **more}
            thread = threading.Thread(target=self._ask, args=(path, body), daemon=True)
            thread.start()
            self.threads.append(thread)
        while self.server.gate.inside < count:
            time.sleep(0.001)

    def _ask(self, path, body):
        answer = self.served.call(self.who, "POST", path, json=body)
        self.statuses.append(answer.status_code)

    def end(self):
        self.go_on.set()
        for thread in self.threads:
            thread.join(240)


ROUTES = {
    "a question": ("POST", "/queries", {"sql": SQL, "epsilon": 0.1}),
    "an explanation": ("POST", "/explain", {"sql": SQL, "epsilon": 0.1}),
    "tables": ("GET", "/tables", None),
    "a budget": ("GET", "/budget", None),
    "a history": ("GET", "/answers", None),
    "a monitor": ("POST", "/monitors", MONITOR),
}


@pytest.mark.parametrize("workers", [2, 3, 32])
def test_one_account_never_holds_every_worker(tmp_path, workers):
    """As many as it may send are under way and none ends: whatever another asks is answered."""
    for served in serve_vault(tmp_path / "h", most_running=workers, most_waiting=0):
        joined(served)
        flood = Flood(served, "ana")
        flood.send(32 if workers == 32 else workers, "/queries", key=None)
        answers = {}

        def ask(served=served, answers=answers):
            for name, (method, path, body) in ROUTES.items():
                answers[name] = served.call("eve", method, path, json=body).status_code

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(PATIENCE)
        stuck = asking.is_alive()
        flood.end()
        assert not stuck
        assert set(answers.values()) <= {200, 201}, answers
        assert len(flood.statuses) == len(flood.threads)


def test_jobs_of_one_account_do_not_hold_others(tmp_path):
    for served in serve_vault(tmp_path / "h"):
        joined(served)
        begun, go_on = [], threading.Event()
        session_type = type(served.curator.remote_session("ana"))
        real = session_type.sql

        def held(session, *given, real=real, begun=begun, go_on=go_on, **named):
            begun.append(session.name)
            if session.name == "ana":
                go_on.wait(240)
            return real(session, *given, **named)

        with pytest.MonkeyPatch.context() as patches:
            patches.setattr(session_type, "sql", held)
            body = {"sql": SQL, "epsilon": 0.1, "wait": False}
            for _ in range(20):
                assert served.call("ana", "POST", "/queries", json=body).status_code == 202
            made = served.call("eve", "POST", "/queries", json=body)
            path = made.headers["location"].removeprefix("/api/v1")
            until = time.monotonic() + PATIENCE
            while served.call("eve", "GET", path).json()["state"] != "done":
                assert time.monotonic() < until, "the job waits for others' jobs"
                time.sleep(0.01)
            go_on.set()
        assert begun.index("eve") <= 2  # two of ana's, then eve's at once


def test_work_begins_in_turns():
    workers, begun, held = Workers(most=1, most_of_one=1, name="w"), [], threading.Event()
    first = workers.submit("ana", lambda: held.wait(240))
    rest = []
    for name in ("ana", "ana", "ana", "bob", "bob", "eve"):
        rest.append(workers.submit(name, lambda name=name: begun.append(name)))
    assert workers.inside("ana") == 4
    held.set()
    for each in (first, *rest):
        each.result(240)
    assert begun == ["bob", "eve", "ana", "bob", "ana", "ana"]
    assert workers.inside() == 0
    workers.close()


def test_work_that_fails_or_is_dropped_leaves_its_place():
    workers, held = Workers(most=1, most_of_one=1, name="w"), threading.Event()
    for error in (ValueError, KeyboardInterrupt, SystemExit):

        def fails(error=error):
            raise error("no")

        with pytest.raises(error):
            workers.submit("ana", fails).result(240)
    assert workers.submit("ana", lambda: 7).result(240) == 7
    going = workers.submit("ana", lambda: held.wait(240))
    dropped = workers.submit("bob", lambda: 7)
    threading.Timer(0.01, held.set).start()
    workers.close()
    assert going.result(240)
    assert dropped.cancelled()


def test_work_let_in_while_the_threads_close_is_finished():
    """A thread that still tells of its last work is not free: what was let in waits in the pool."""
    workers = Workers(most=1, most_of_one=1, name="w")
    asked, told, go_on = threading.Event(), threading.Event(), threading.Event()
    first = workers.submit("ana", lambda: asked.wait(240))
    first.add_done_callback(lambda _: (told.set(), go_on.wait(240)))
    second = workers.submit("bob", lambda: 7)
    asked.set()
    assert told.wait(240)  # the second has its place, and the only thread is still busy
    closing = threading.Thread(target=workers.close)
    closing.start()
    while not workers._pool._shutdown:
        time.sleep(0.001)
    closing.join(0.1)
    go_on.set()
    assert second.result(60) == 7
    closing.join(60)


def test_requests_of_an_account_are_limited_and_others_go_on(tmp_path):
    for served in serve_vault(tmp_path / "h", requests_per_minute=3):
        joined(served)
        statuses = [served.call("ana", "GET", "/budget").status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        refused = served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.1})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
        assert "--requests-per-minute" in refused.json()["detail"]
        assert "Nothing was run or charged" in refused.json()["detail"]
        assert served.call("eve", "GET", "/budget").status_code == 200


STORING = {  # every way in which an analyst leaves something in the ledger
    "a question": ("/queries", {"sql": SQL, "epsilon": 0.1}),
    "a question with a key": ("/queries", {"sql": SQL, "epsilon": 0.1, "key": "k"}),
    "a key for an old answer": ("/queries", {"sql": SQL, "epsilon": 0.5, "key": "k"}),
    "a monitor": ("/monitors", {**MONITOR, "name": "other"}),
    "a check": ("/monitors/fever/checks", {}),
    "a counter": ("/counters", {**COUNTER, "name": "other-counter"}),
    "a point of a counter": (f"/counters/{COUNTER['name']}/points", {"upto": "2024-03-31"}),
    "a synopsis": ("/synopses", {**SYNOPSIS, "name": "other-synopsis"}),
    "the end of a synopsis": (f"/synopses/{SYNOPSIS['name']}/end", {}),
    "a release": ("/releases", {"name": "r1", "specification": SPECIFICATION}),
}


def written(served):
    with served.curator.vault._store.reading() as connection:
        tables = ("entries", "releases", "states", "requests", "seals")
        return [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables
        ]


def test_an_account_that_is_full_stores_nothing_more(tmp_path):
    for served in serve_vault(tmp_path / "h"):
        joined(served)
        for holder, name in (("analyst", "ana"), ("population", "patients")):
            budget = Budget(epsilon=100, delta=1e-5)  # for Gaussian noise
            served.curator.ledger.amend(holder, name, budget, {"why": "all services"})
        first = served.call(
            "ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.5, "key": "o"}
        )
        begun = {"/monitors": MONITOR, "/counters": COUNTER, "/synopses": SYNOPSIS}
        for path, body in begun.items():
            assert served.call("ana", "POST", path, json=body).status_code == 201
        served.curator.ledger.quota = Quota(most=1000)
        before, told = written(served), {}
        for name, (path, body) in STORING.items():
            refused = served.call("ana", "POST", path, json=body)
            told[name] = refused.status_code, refused.json().get("type", "")[-14:]
        assert set(told.values()) == {(403, "quota-exceeded")}, told
        assert written(served) == before
        detail = refused.json()["detail"]
        assert "the limit of an account is 1,000" in detail
        assert "--account-megabytes" in detail
        assert "Nothing was run or charged" in detail
        # What there is can be read and asked again, and others go on.
        for path in ("/answers", f"/answers/{first.json()['receipt']['id']}", "/budget"):
            assert served.call("ana", "GET", path).status_code == 200
        for key in ({}, {"key": "o"}):
            body = {"sql": SQL, "epsilon": 0.5, **key}
            assert served.call("ana", "POST", "/queries", json=body).json()["free"]
        body = {"sql": SQL, "epsilon": 0.5}
        assert served.call("eve", "POST", "/queries", json=body).status_code == 200
        served.curator.ledger.quota = Quota(most=1 << 20)
        body = {"sql": SQL, "epsilon": 0.1}
        assert served.call("ana", "POST", "/queries", json=body).status_code == 200


def test_a_job_of_a_full_account_says_so(tmp_path):
    for served in serve_vault(tmp_path / "h", account_bytes=1):
        body = {"sql": SQL, "epsilon": 0.1, "wait": False}
        path = served.call("ana", "POST", "/queries", json=body).headers["location"]
        while (found := served.call("ana", "GET", path.removeprefix("/api/v1")).json())[
            "state"
        ] not in ("failed", "done"):
            time.sleep(0.01)
        assert "limit of an account is 1" in found["detail"]


def test_a_wide_question_cannot_be_asked_for_ever(tmp_path):
    """The size of what is stored, not the price, is what ends it."""
    wide = (
        "SELECT day, age, COUNT(*) AS n FROM visits WHERE day < DATE '2024-03-01' GROUP BY day, age"
    )
    for served in serve_vault(tmp_path / "h", account_bytes=100_000):
        statuses = []
        while not statuses or statuses[-1] == 200:
            assert len(statuses) < 50
            body = {"sql": wide, "epsilon": 1e-6 * (1 + len(statuses))}
            statuses.append(served.call("ana", "POST", "/queries", json=body).status_code)
        assert statuses[-1] == 403


def test_what_is_counted_is_what_is_stored_step_by_step(served):
    """Counted as it grows, from scratch, and summed by hand: the same."""
    vault, quota = served.curator.vault, Quota(most=1)
    joined(served)
    reading = vault._store.reading

    def by_hand(name):
        with reading() as connection:
            total = 0
            for query in (
                "SELECT length(memo) FROM entries WHERE act = 'charge' AND analyst = ?",
                "SELECT length(body) FROM releases WHERE analyst = ?",
                "SELECT length(body) FROM states WHERE analyst = ?",
                "SELECT 512 FROM requests WHERE analyst = ?",
            ):
                total += sum(row[0] for row in connection.execute(query, (name,)).fetchall())
        return total

    for number in range(6):
        who = ("ana", "eve")[number % 2]
        key = {"key": f"{who}:{number}"} if number % 3 else {}
        body = {"sql": SQL, "epsilon": 0.1 + number / 100, **key}
        assert served.call(who, "POST", "/queries", json=body).status_code == 200
        if number == 3:
            assert served.call(who, "POST", "/monitors", json=MONITOR).status_code == 201
        for name in ("ana", "eve", "nobody"):
            counted = quota.count_bytes(name, reading)
            assert counted == Quota(most=1).count_bytes(name, reading) == by_hand(name)
    with pytest.raises(QuotaExceeded):
        quota.check("ana", reading)


def test_the_length_of_an_old_state_does_not_show(served):
    """Earlier versions kept secrets as short as they are: such states all count the same."""
    states, reading = served.curator.vault.states, served.curator.vault._store.reading
    used = []
    for name, size in (("a", 1), ("b", 10), ("c", 5000)):
        before = Quota(most=1).count_bytes("ana", reading)
        body = b"x" * size
        states.put(Change(analyst="ana", name=name, kind="monitor", version=1, body=body))
        used.append(Quota(most=1).count_bytes("ana", reading) - before)
    assert len(set(used)) == 1
