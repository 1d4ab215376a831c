"""Who comes in and under which name: right tokens among wrong ones, forms of other sites, names
that look alike, tokens that end themselves.
"""

import threading
from itertools import permutations, product

import pytest
from starlette.testclient import TestClient

from discreet.curator.curator import Curator
from discreet.errors import InvalidValue
from discreet.ledger import ledger as sqlite
from discreet.ledger import states
from discreet.server.accounts import Role
from discreet.server.logins import COOKIE, Logins
from support.served_vault import serve_vault
from support.vaults import copied_curator, people

SQL = "SELECT COUNT(*) AS n FROM visits"


def signed_in(served, who):
    """A browser of somebody's, and the token of its forms."""
    made = TestClient(served.client.app, base_url="http://127.0.0.1", follow_redirects=False)
    logins = Logins(served.accounts, hours=1)
    value = logins.cookie(served.accounts.identify(served.tokens[who]))
    made.cookies.set(COOKIE, value)
    return made, logins.read(value).csrf


WAYS = {
    "a bearer": lambda served, token: served.client.get(
        "/api/v1/budget", headers={"Authorization": f"Bearer {token}"}
    ),
    "the form": lambda served, token: served.client.post(
        "/login", data={"token": token}, follow_redirects=False
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("guessed", WAYS)
def test_a_right_token_comes_in_whoever_guesses(tmp_path, guessed, way):
    for served in serve_vault(tmp_path / "h", logins_per_minute=2):
        name, _, _ = served.tokens["ana"].split(".")
        statuses = [
            WAYS[guessed](served, f"{name}.guess.{number}").status_code for number in range(4)
        ]
        assert statuses == [401, 401, 429, 429]
        assert WAYS[way](served, served.tokens["ana"]).status_code in (200, 303)
        assert WAYS[guessed](served, "one more").status_code == 429


OWN = "http://127.0.0.1"
SITES = (None, "none", "same-origin", "same-site", "cross-site")
ORIGINS = (
    None, OWN, "HTTP://127.0.0.1", "null", "", "https://127.0.0.1", "http://127.0.0.1:81",
    "http://evil.example", "http://127.0.0.1.evil.example", "http://evil.example/127.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_forms_of_other_sites_are_refused(served, path):
    """Whichever of the two headers a browser sends: one that names another site is enough."""
    _, csrf = signed_in(served, "ana")
    for site, origin in product(SITES, ORIGINS):
        headers = {"Sec-Fetch-Site": site, "Origin": origin}
        headers = {name: value for name, value in headers.items() if value is not None}
        told = served.client.post(
            path,
            data={"token": served.tokens["ana"], "csrf": csrf},
            headers=headers,
            follow_redirects=False,
        )
        served.client.cookies.clear()
        ours = site in (None, "none", "same-origin") and (
            origin is None or origin.lower() == OWN or (origin == "null" and site == "same-origin")
        )
        assert told.status_code == (303 if ours else 403), (site, origin)
        assert ("set-cookie" in told.headers) == (ours and path == "/login"), (site, origin)


def test_behind_tls_the_own_origin_is_https(tmp_path):
    for served in serve_vault(tmp_path / "h", secure_cookies=True):
        for origin, status in (("https://127.0.0.1", 303), (OWN, 403)):
            told = served.client.post(
                "/login",
                data={"token": served.tokens["ana"]},
                headers={"Origin": origin},
                follow_redirects=False,
            )
            assert told.status_code == status


def test_forms_of_our_own_tell_their_origin(served):
    """Without a referrer browsers send `Origin: null`, as a page of anybody's can."""
    assert served.client.get("/login").headers["referrer-policy"] == "same-origin"


ALIKE = [("ana", "ANA"), ("Straße", "STRASSE"), ("ωmega", "Ωmega"), ("σ", "ς")]
DIFFERENT = [("una", "unna"), ("bob", "bob1"), ("é", "e"), ("ira@x", "ira.x")]


def granted(served, name):
    served.curator.grant(name, epsilon=1)


def issued(served, name):
    served.accounts.issue(name, Role.ANALYST, days=1)


def kept(served, name):
    served.accounts.issue(name, Role.CUSTODIAN, days=1)


def test_names_that_look_alike_cannot_both_be_there(served):
    """Whichever came first, and however each comes: a budget, an analyst, a custodian."""
    ways = (granted, issued, kept)
    pairs = [pair for each in ALIKE for pair in permutations(each)]
    for number, (pair, first, second) in enumerate(product(pairs, ways, ways)):
        left, right = (f"{name}-{number}" for name in pair)
        first(served, left)
        with pytest.raises(InvalidValue, match=r"differs from it in capitals .* only"):
            second(served, right)
        first(served, left)  # once more changes nothing
    for left, right in DIFFERENT:
        granted(served, left)
        granted(served, right)
    assert served.curator.ledger.verify().sound


def test_pages_and_requests_refuse_a_name_that_looks_like_another(served):
    body = {"name": "ANA", "role": "analyst"}
    refused = served.call("cora", "POST", "/custodian/accounts", json=body)
    assert (refused.status_code, "'ana' already" in refused.json()["detail"]) == (400, True)
    browser, csrf = signed_in(served, "cora")
    form = {"csrf": csrf, "name": "CORA", "role": "custodian", "epsilon": "0.7", "delta": "1e-7"}
    page = browser.post("/custodian/accounts", data=form)
    assert page.status_code == 400
    assert "&#39;cora&#39; already" in page.text
    for typed in ('value="CORA"', 'value="0.7"', 'value="1e-7"', '"custodian" selected'):
        assert typed in page.text


def test_of_two_at_once_one_is_made(served):
    names, start, told = ("Zoe", "zoe", "ZOE", "zOE"), threading.Barrier(4), []

    def make(name):
        start.wait(240)
        try:
            served.accounts.issue(name, Role.ANALYST, days=1)
            told.append("made")
        except InvalidValue:
            told.append("refused")

    threads = [threading.Thread(target=make, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert sorted(told) == ["made", "refused", "refused", "refused"]


def test_a_vault_of_old_with_both_goes_on(tmp_path, monkeypatch):
    with copied_curator(tmp_path / "c", people()) as curator, monkeypatch.context() as patches:
        for module in (states, sqlite):
            patches.setattr(module, "check_name", lambda *_: None)
        for name in ("ana", "ANA"):
            curator.grant(name, epsilon=1)
    with Curator.open(tmp_path / "c" / "vault", price_floor=0) as curator:
        assert curator.ledger.verify().sound
        for name in ("ana", "ANA"):
            curator.grant(name, epsilon=1)  # the same again
            curator.session(name).sql(SQL, epsilon=0.5)
        with pytest.raises(InvalidValue):
            curator.grant("aNa", epsilon=1)


def own_token(served):
    return served.accounts.identify(served.tokens["cora"]).token


@pytest.mark.parametrize("which", ["all", "one"])
def test_a_request_that_ends_its_own_token_asks_first(served, which):
    path = "/custodian/accounts/cora/tokens"
    path += "" if which == "all" else f"/{own_token(served)}"
    asked = served.call("cora", "DELETE", path)
    assert (asked.status_code, "?confirm=true" in asked.json()["detail"]) == (409, True)
    assert served.call("cora", "GET", "/custodian/accounts").status_code == 200
    assert served.call("cora", "DELETE", f"{path}?confirm=true").status_code == 204
    assert served.call("cora", "GET", "/custodian/accounts").status_code == 401


def test_others_tokens_and_others_of_ones_own_are_ended_at_once(served):
    other = served.accounts.issue("cora", Role.CUSTODIAN, days=1)
    path = f"/custodian/accounts/cora/tokens/{other.id}"
    assert served.call("cora", "DELETE", path).status_code == 204
    assert served.call("cora", "DELETE", "/custodian/accounts/ana/tokens").status_code == 204
    assert served.call("ana", "GET", "/budget").status_code == 401


def test_a_page_that_ends_its_own_login_asks_first(served):
    browser, csrf = signed_in(served, "cora")
    asked = browser.post("/custodian/accounts/revoke", data={"csrf": csrf, "name": "cora"})
    assert (asked.status_code, "Revoke your own tokens?" in asked.text) == (200, True)
    assert browser.get("/custodian/accounts").status_code == 200
    ended = browser.post("/custodian/accounts/revoke", data={"csrf": csrf, "name": "ana"})
    assert ended.status_code == 303
    assert served.call("ana", "GET", "/budget").status_code == 401
    confirmed = {"csrf": csrf, "name": "cora", "confirm": "yes"}
    assert browser.post("/custodian/accounts/revoke", data=confirmed).status_code == 303
    assert browser.get("/custodian/accounts").status_code == 401
