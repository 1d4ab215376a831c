"""The end of a login, on every process; and that a guess at a name costs what a guess at a token
costs.
"""

import hmac
from datetime import UTC, datetime

from discreet.curator.curator import Curator
from discreet.ledger.states import States
from discreet.server import accounts as module
from discreet.server.accounts import Accounts, Role
from discreet.server.logins import COOKIE, Logins


def signed_in(served, who="ana"):
    """The cookie of a browser that has signed in, and the token of its forms."""
    page = served.client.post("/login", data={"token": served.tokens[who]}, follow_redirects=False)
    assert page.status_code == 303
    value = page.cookies[COOKIE]
    served.client.cookies.clear()
    return value, Logins(served.accounts, hours=1).read(value).csrf


def with_cookie(served, value, method="GET", path="/api/v1/budget", **how):
    return served.client.request(
        method, path, headers={"Cookie": f"{COOKIE}={value}"}, follow_redirects=False, **how
    )


def test_a_copied_cookie_ends_with_the_logout(served):
    value, csrf = signed_in(served)
    other, _ = signed_in(served)
    assert with_cookie(served, value).status_code == 200
    out = with_cookie(served, value, "POST", "/logout", data={"csrf": csrf})
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert with_cookie(served, value).status_code == 401
    page = with_cookie(served, value, path="/tables")
    assert page.status_code in (303, 401)
    assert "visits" not in page.text
    body = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}
    stolen = served.client.post(
        "/api/v1/queries",
        json=body,
        headers={"Cookie": f"{COOKIE}={value}", "X-CSRF-Token": csrf},
    )
    assert stolen.status_code == 401
    assert with_cookie(served, other).status_code == 200  # another browser of hers goes on
    assert served.call("ana", "GET", "/budget").status_code == 200  # and so does the token


def test_a_logout_without_the_forms_token_ends_nothing(served):
    value, _ = signed_in(served)
    assert with_cookie(served, value, "POST", "/logout", data={"csrf": "x"}).status_code == 403
    assert with_cookie(served, value).status_code == 200


def test_another_process_knows_a_logout(served):
    value, _ = signed_in(served)
    with Curator.open(served.folder / "vault", price_floor=0) as elsewhere:
        there = Logins(Accounts(elsewhere.vault.states), hours=1)
        assert there.read(value).identity.name == "ana"
        Logins(served.accounts, hours=1).end(value)
        assert there.read(value) is None
        there.end(value)  # once more does no harm
        there.end("forged.cookie")
    assert served.accounts.identify(served.tokens["ana"]).name == "ana"


def test_a_new_token_does_not_bring_an_ended_login_back(served):
    logins = Logins(served.accounts, hours=1)
    value = logins.cookie(served.accounts.identify(served.tokens["ana"]))
    logins.end(value)
    served.accounts.issue("ana", Role.ANALYST, days=1)
    assert logins.read(value) is None


def test_few_ended_logins_are_remembered_and_the_rest_end_together(served, monkeypatch):
    monkeypatch.setattr(module, "_MOST_ENDED", 3)
    now = [1000.0]
    accounts = Accounts(
        served.curator.vault.states, now=lambda: datetime.fromtimestamp(now[0], UTC)
    )
    identity = accounts.identify(accounts.issue("dan", Role.ANALYST, days=1).text)
    logins = Logins(accounts, hours=1, clock=lambda: now[0])
    values = []
    for _ in range(6):
        values.append(logins.cookie(identity))
        now[0] += 10
    for value in values[:3]:
        logins.end(value)
    assert [logins.read(value) is None for value in values] == [True] * 3 + [False] * 3
    logins.end(values[4])
    assert [logins.read(value) is None for value in values] == [True] * 5 + [False]
    now[0] += 3600.0
    logins.end(logins.cookie(identity))
    # What is over by its time is forgotten; the body does not grow.
    assert len(accounts._read("dan")["ended"]) == 1


class Counted:
    """How often the parts of identification were used."""

    def __init__(self, monkeypatch):
        self.steps = []
        self._watch(monkeypatch, module, "_hash")
        self._watch(monkeypatch, hmac, "compare_digest")
        self._watch(monkeypatch, States, "standing")

    def _watch(self, monkeypatch, where, name):
        original = getattr(where, name)

        def watched(*given, **named):
            self.steps.append(name)
            return original(*given, **named)

        monkeypatch.setattr(where, name, watched)

    def of(self, accounts, text):
        self.steps.clear()
        accounts.identify(text)
        return list(self.steps)


def other(text):
    """The same but for its last letter."""
    return text[:-1] + ("A" if text[-1] != "A" else "B")


def test_names_tokens_and_secrets_are_guessed_at_the_same_cost(served, monkeypatch):
    accounts = served.accounts
    right = served.tokens["ana"]
    for _ in range(5):
        accounts.issue("cora", Role.CUSTODIAN, days=1)
    name, token, secret = right.split(".")
    unknown = module._encode("nobody.here")
    counted = Counted(monkeypatch)
    way = counted.of(accounts, right)
    assert way == ["standing", *["compare_digest"] * 20, "_hash", "compare_digest"]
    guesses = [
        f"{name}.{token}.{other(secret)}",
        f"{name}.{other(token)}.{secret}",
        f"{unknown}.{token}.{secret}",
        f"{module._encode('cora')}.{token}.{secret}",
        f"{module._encode('ana' + chr(0))}.{token}.{secret}",
        "not a token",
        "",
    ]
    for guess in guesses:
        assert accounts.identify(guess) is None
        assert counted.of(accounts, guess) == way


def test_names_that_cannot_be_are_nobody(served):
    for name in ("\0", "ana\0", "a" * 5000, "(server)", "(nobody)", "../x"):
        token = f"{module._encode(name)}.{served.tokens['ana'].partition('.')[2]}"
        assert served.accounts.identify(token) is None
        headers = {"Authorization": f"Bearer {token}"}
        assert served.call(None, "GET", "/budget", headers=headers).status_code == 401
