"""Who gets in: tokens, cookies, forgeries, guesses, limits; and what is logged and counted."""

import json
import logging
import time
from datetime import UTC, datetime, timedelta

import pytest

from discreet.errors import InvalidValue
from discreet.server.accounts import Accounts, Identity, Role
from discreet.server.limits import PerMinute
from discreet.server.logins import COOKIE, Logins
from discreet.server.settings import Settings
from support.served_vault import serve_vault

SQL = "SELECT COUNT(*) AS n FROM visits"


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "YW5h.x.y", "é.é.é", "..", "YW5h..", "\x7f"])
def test_wrong_tokens_are_all_alike(served, token):
    headers = {"Authorization": f"Bearer {token}".encode()}
    refused = served.call(None, "GET", "/budget", headers=headers)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json() == served.call(None, "GET", "/budget").json()


def test_a_token_with_one_letter_changed_is_wrong(served):
    text = served.tokens["ana"]
    for place in (3, len(text) // 2, len(text) - 1):
        other = "A" if text[place] != "A" else "B"
        assert served.accounts.identify(text[:place] + other + text[place + 1 :]) is None
    assert served.accounts.identify(text) is not None


def test_tokens_expire_and_are_revoked_for_every_process(served):
    now = [datetime.now(UTC)]
    accounts = Accounts(served.curator.vault.states, now=lambda: now[0])
    text = accounts.issue("dan", Role.ANALYST, days=2).text
    assert accounts.identify(text).name == "dan"
    now[0] += timedelta(days=2)
    assert accounts.identify(text) is None
    other = Accounts(served.curator.vault.states)
    fresh = other.issue("dan", Role.ANALYST, days=2)
    other.revoke("dan")
    assert Accounts(served.curator.vault.states).identify(fresh.text) is None
    with pytest.raises(InvalidValue, match="stays one"):
        other.issue("dan", Role.CUSTODIAN, days=1)


def test_only_hashes_are_kept(served):
    secret = served.tokens["ana"].rpartition(".")[2].encode()
    served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.5})
    for file in (served.folder / "vault").rglob("*"):
        if file.is_file():
            assert secret not in file.read_bytes(), file.name


def test_after_an_adoption_everyone_is_let_in_anew(served):
    served.curator.ledger.adopt({"why": "restored"})
    assert served.call("ana", "GET", "/budget").status_code == 401
    served.tokens["ana"] = served.accounts.issue("ana", Role.ANALYST, days=1).text
    assert served.call("ana", "GET", "/budget").status_code == 200


def test_a_pause_outlives_an_adoption(served):
    assert not served.accounts.paused
    served.accounts.pause()
    served.curator.ledger.adopt({"why": "restored"})
    assert served.accounts.paused
    served.accounts.go_on()
    assert not served.accounts.paused


def test_wrong_tokens_are_throttled(tmp_path):
    for served in serve_vault(tmp_path / "h", logins_per_minute=3):
        served.tokens["guess"] = "YW5h.abc.def"
        statuses = [served.call("guess", "GET", "/budget").status_code for _ in range(5)]
        assert statuses == [401, 401, 401, 429, 429]
        refused = served.call("guess", "GET", "/budget")
        assert refused.headers["retry-after"] == "60"
        # Behind a proxy all share an address: nobody can lock the others out by guessing.
        assert served.call("ana", "GET", "/budget").status_code == 200


def test_guesses_are_forgotten_after_a_minute():
    now = [0.0]
    guesses = PerMinute(most=2, clock=lambda: now[0])
    for _ in range(2):
        guesses.count("a")
    assert guesses.too_many("a")
    now[0] = 61.0
    assert not guesses.too_many("a")


def cookie_of(served, who="ana", role=Role.ANALYST):
    identity = served.accounts.identify(served.tokens[who])
    assert identity.role is role
    logins = Logins(served.accounts, hours=1)
    value = logins.cookie(identity)
    return value, logins.read(value)


def test_a_cookie_reads_and_needs_the_form_token_to_change(served):
    value, login = cookie_of(served)
    assert login.identity.name == "ana"
    cookies = {"Cookie": f"{COOKIE}={value}"}
    assert served.call(None, "GET", "/budget", headers=cookies).status_code == 200
    body = {"sql": SQL, "epsilon": 0.5}
    for csrf in (None, "", "wrong", login.csrf[:-1] + "x", "é"):
        headers = cookies if csrf is None else {**cookies, "X-CSRF-Token": csrf.encode()}
        refused = served.call(None, "POST", "/queries", json=body, headers=headers)
        assert (refused.status_code, refused.json()["type"][-7:]) == (403, "forgery")
    headers = {**cookies, "X-CSRF-Token": login.csrf}
    assert served.call(None, "POST", "/queries", json=body, headers=headers).status_code == 200


def test_a_cookie_ends_with_its_token_its_time_or_a_forged_letter(served):
    value, _ = cookie_of(served)
    now = [0.0]
    logins = Logins(served.accounts, hours=1, clock=lambda: now[0])
    identity = served.accounts.identify(served.tokens["ana"])
    old = logins.cookie(identity)
    assert logins.read(old) is not None
    now[0] = 3601.0
    assert logins.read(old) is None
    assert (
        Logins(served.accounts, hours=1).read(value[:-1] + ("0" if value[-1] != "0" else "1"))
        is None
    )
    assert Logins(served.accounts, hours=1).read("é.é") is None
    forged = Logins(served.accounts, hours=1).cookie(Identity("ana", Role.CUSTODIAN, "none"))
    assert Logins(served.accounts, hours=1).read(forged) is None
    served.accounts.revoke("ana")
    assert Logins(served.accounts, hours=1).read(value) is None


def test_large_and_chunked_bodies_are_refused(tmp_path):
    for served in serve_vault(tmp_path / "h", body_bytes=2048):
        for content in (b"x" * 3000, (b"x" * 1000 for _ in range(3))):
            refused = served.call("ana", "POST", "/queries", content=content)
            assert refused.status_code == 413


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"most_per_account": 2}, 429), ({"most_running": 1, "most_waiting": 1}, 503)],
)
def test_too_many_at_once_are_told_to_wait(tmp_path, limits, status):
    import threading

    for served in serve_vault(tmp_path / "h", **limits):
        server, go_on = served.client.app.state.server, threading.Event()
        real = server.session

        def slow(identity, real=real, go_on=go_on):
            go_on.wait(240)
            return real(identity)

        server.session = slow
        results = []
        body = {"sql": SQL, "epsilon": 0.1}

        def ask(results=results, served=served, body=body):
            results.append(served.call("ana", "POST", "/queries", json=body).status_code)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for each in threads:
            each.start()
        while server.gate.inside < 2:
            time.sleep(0.001)
        third = served.call("ana", "POST", "/queries", json=body)
        assert served.client.get("/health").json() == {"status": "ok"}
        go_on.set()
        for each in threads:
            each.join()
        assert (third.status_code, third.headers["retry-after"]) == (status, "1")
        assert results == [200, 200]


def test_every_answer_has_the_safe_headers(served):
    for path in ("/health", "/metrics", "/api/v1/tables", "/nothing"):
        headers = served.client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_logs_and_metrics_show_no_question_token_or_name(served, caplog):
    literal = "secret_literal_417"
    with caplog.at_level(logging.INFO, logger="discreet.server"):
        served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.5})
        refused = {"sql": f"SELECT '{literal}' FROM visits", "epsilon": 0.5}
        served.call("ana", "POST", "/queries", json=refused)
        served.call("ana", "GET", "/tables/visits")
    own = [record.message for record in caplog.records if record.name == "discreet.server"]
    lines = [json.loads(message) for message in own]
    routes = [line["route"] for line in lines]
    assert routes == ["/queries"] * 2 + ["/tables/{name}"]
    assert [line["status"] for line in lines] == [200, 422, 200]
    metrics = served.client.get("/metrics").text
    assert 'discreet_answers_total{paid="charged"} 1' in metrics
    for secret in (literal, served.tokens["ana"], "visits", "ana", "SELECT"):
        assert secret not in "".join(own)
        assert secret not in metrics


def test_an_unforeseen_failure_says_nothing(served, monkeypatch):
    from starlette.testclient import TestClient

    def fails(*_):
        raise RuntimeError("secret 417")

    monkeypatch.setattr(served.client.app.state.server, "session", fails)
    client = TestClient(served.client.app, raise_server_exceptions=False)
    body = {"sql": SQL, "epsilon": 1}
    headers = {"Authorization": f"Bearer {served.tokens['ana']}"}
    answer = client.post("/api/v1/queries", json=body, headers=headers)
    assert answer.status_code == 503
    assert "417" not in answer.text


@pytest.mark.parametrize(
    "wrong", [{"port": -1}, {"body_bytes": 1}, {"most_running": True}, {"token_days": 1.5}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        Settings(**wrong)


def test_the_server_logs_a_failure_without_its_text(caplog):
    from discreet.server.running import without_traceback

    logger = logging.getLogger("uvicorn.error.test")
    for shown in (True, False):
        caplog.clear()
        try:
            raise RuntimeError("secret 417")
        except RuntimeError:
            logger.exception("Exception in ASGI application")
        assert ("417" in caplog.text) is shown
        logger.addFilter(without_traceback)
