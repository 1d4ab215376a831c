"""What an attacker would try against the server itself: other sites' forms, floods of names and
jobs, numbers that take for ever, addresses in headers, bodies that are not what they seem.
"""

import json
import time

import pytest
from starlette.testclient import TestClient

from discreet.errors import InvalidValue
from discreet.server.accounts import Role
from discreet.server.logins import COOKIE, Logins
from discreet.server.pages.shared import number_of

SQL = "SELECT COUNT(*) AS n FROM visits"
MONITOR = {"name": "service", "sql": SQL, "threshold": 30, "epsilon": 0.5}


def browser(served, who=None):
    """A browser, signed in or not; redirects are looked at."""
    made = TestClient(served.client.app, base_url="http://127.0.0.1", follow_redirects=False)
    if who is None:
        return made, None
    logins = Logins(served.accounts, hours=1)
    value = logins.cookie(served.accounts.identify(served.tokens[who]))
    made.cookies.set(COOKIE, value)
    return made, logins.read(value).csrf


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_other_site_signs_a_visitor_in_or_out(served, site):
    visitor, csrf = browser(served)
    form = {"token": served.tokens["ana"]}
    refused = visitor.post("/login", data=form, headers={"Sec-Fetch-Site": site})
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
    out = visitor.post("/logout", headers={"Sec-Fetch-Site": site})
    assert (out.status_code, "set-cookie" in out.headers) == (403, False)
    # A browser that does not say where a form is from sends no strict cookie: nothing is removed.
    assert "set-cookie" not in visitor.post("/logout").headers
    for own in ({"Sec-Fetch-Site": "same-origin"}, {}):
        assert visitor.post("/login", data=form, headers=own).status_code == 303
    signed, csrf = browser(served, "ana")
    assert signed.post("/logout", data={"csrf": "guess"}).status_code == 403
    assert "Max-Age=0" in signed.post("/logout", data={"csrf": csrf}).headers["set-cookie"]


def test_a_login_makes_a_cookie_of_its_own(served):
    """A cookie that somebody planted is not the one that is signed in afterwards."""
    visitor, _ = browser(served)
    visitor.cookies.set(COOKIE, "planted.cookie")
    made = visitor.post("/login", data={"token": served.tokens["ana"]}).headers["set-cookie"]
    assert "planted" not in made
    for flag in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert flag in made


def test_numbers_that_take_for_ever_are_refused_at_once(served):
    signed, csrf = browser(served, "ana")
    for text in ("1e999999999", "1e-999999999", "9" * 60_000, "1/" + "9" * 50_000, "nan", "1/0"):
        form = {"csrf": csrf, "sql": SQL, "epsilon": text, "action": "ask"}
        assert signed.post("/ask", data=form).status_code == 422
        assert signed.post("/ask/preview", data=form).status_code == 200
        with pytest.raises(InvalidValue):
            number_of(text)
    form = {"csrf": csrf, "sql": SQL, "epsilon": "1", "count": "9" * 5000, "action": "ask"}
    assert signed.post("/ask", data=form).status_code == 422
    keeper, csrf = browser(served, "cora")
    form = {"csrf": csrf, "name": "dan", "role": "analyst", "epsilon": "1e999999999"}
    assert keeper.post("/custodian/accounts", data=form).status_code == 400
    assert served.call("ana", "GET", "/budget").json()["remaining"]["epsilon"] == 5


@pytest.mark.parametrize(
    "body",
    [b"[" * 30_000, b'{"sql":' * 8_000, b"\xff\xfe", b"{", b"", b'{"epsilon":' + b"9" * 50_000,
     b'{"sql": "\\ud800", "epsilon": 1}', b'{"sql": "a\\u0000b", "epsilon": 1}'],
)  # fmt: skip
def test_bodies_that_are_not_questions_are_refused(served, body):
    headers = {"Content-Type": "application/json"}
    refused = served.call("ana", "POST", "/queries", content=body, headers=headers)
    assert 400 <= refused.status_code < 500
    assert refused.headers["content-type"] == "application/problem+json"


def test_invented_methods_do_not_fill_the_memory(served):
    server = served.client.app.state.server
    for number in range(50):
        served.client.request(f"METHOD{number}", "/health")
    names = {label for name, label in server.counts if name == "requests"}
    assert names == {"other 405"}
    assert "METHOD" not in served.client.get("/metrics").text


def test_jobs_that_failed_make_room_and_nobody_fills_them_alone(served, monkeypatch):
    from discreet.server.api import jobs

    monkeypatch.setattr(jobs, "_MOST", 4)
    monkeypatch.setattr(jobs, "_MOST_OF_ONE", 3)
    refused = {"sql": "SELECT age FROM visits", "epsilon": 1, "wait": False}
    for _ in range(10):  # every one fails; none may stay in the way of the next
        made = served.call("ana", "POST", "/queries", json=refused)
        assert made.status_code == 202
        path = made.headers["location"].removeprefix("/api/v1")
        while served.call("ana", "GET", path).json()["state"] != "failed":
            time.sleep(0.01)
    server, kept = served.client.app.state.server, jobs.Jobs()
    kept.close()
    monkeypatch.setattr(kept, "_workers", _Idle())
    form = jobs.QueryForm(sql=SQL, epsilon=0.1, wait=False)
    ana = served.accounts.identify(served.tokens["ana"])
    for _ in range(3):
        kept.start(server, ana, form)
    with pytest.raises(jobs.Problem, match="of this account") as told:
        kept.start(server, ana, form)
    assert told.value.status == 429


class _Idle:
    """Takes work and never does it."""

    def submit(self, _, __):
        from concurrent.futures import Future

        return Future()


def test_no_address_comes_from_a_header(served):
    """Neither redirects nor notebooks repeat the Host that a request names."""
    evil = {"Host": "evil.example"}
    receipt = served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.5}).json()
    path = f"/answers/{receipt['receipt']['id']}/notebook"
    told = served.call("ana", "GET", path, headers=evil)
    assert told.status_code == 200
    assert "evil" not in told.text + json.dumps(dict(told.headers))
    visitor, _ = browser(served)
    for path in ("/", "/health/", "/login/", "//evil.example/", "/tables/", "/%2f%2fevil.example"):
        answer = visitor.get(path, headers=evil)
        assert "evil" not in answer.headers.get("location", ""), path


def test_the_server_s_own_states_are_out_of_reach(served):
    """An analyst called service, with services called like the switch and the key."""
    served.curator.grant("service", epsilon=5)
    served.tokens["service"] = served.accounts.issue("service", Role.ANALYST, days=1).text
    key = served.accounts.key()
    for name in ("service", "login-key"):
        made = served.call("service", "POST", "/monitors", json={**MONITOR, "name": name})
        assert made.status_code == 201, made.text
    assert served.accounts.key() == key
    assert not served.accounts.paused
    served.accounts.pause()
    assert (
        served.call("ana", "POST", "/explain", json={"sql": SQL, "epsilon": 1}).status_code == 503
    )
    taken = served.call("ana", "POST", "/monitors", json={**MONITOR, "name": "account"})
    assert taken.status_code == 503
    served.accounts.go_on()
    taken = served.call("ana", "POST", "/monitors", json={**MONITOR, "name": "account"})
    assert taken.status_code == 400


def test_headers_of_a_page_for_somebody_else_say_nothing(served):
    """A wrong role, a stranger and a name that is not there: the same words."""
    signed, _ = browser(served, "ana")
    html = {"Accept": "text/html"}
    refused = signed.get("/custodian/ledger", headers=html)
    absent = signed.get("/custodian/nothing", headers=html)
    assert (refused.status_code, refused.text) == (404, absent.text)
    stranger, _ = browser(served)
    assert stranger.get("/custodian", headers=html).headers["location"] == "/login"


def test_drawing_and_starting_jobs_leave_the_loop_free(served, monkeypatch):
    """What takes a moment runs in the bounded pool, or one visitor's chart stops all others."""
    import threading

    from discreet.server.api import analysts, jobs

    seen = []
    draw, start = analysts.picture_of, jobs.Jobs.start

    def drawn(*given):
        seen.append(threading.current_thread().name)
        return draw(*given)

    def started(*given):
        seen.append(threading.current_thread().name)
        return start(*given)

    monkeypatch.setattr(analysts, "picture_of", drawn)
    monkeypatch.setattr(jobs.Jobs, "start", started)
    body = {"sql": SQL, "epsilon": 0.5}
    receipt = served.call("ana", "POST", "/queries", json=body).json()["receipt"]["id"]
    assert served.call("ana", "GET", f"/answers/{receipt}/svg").status_code == 200
    again = served.call("ana", "POST", "/queries", json={**body, "wait": False})
    assert again.status_code == 202
    assert len(seen) == 2
    assert all(name.startswith("question") for name in seen)
