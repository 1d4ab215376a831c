"""A refused page keeps its frame and what was typed, on every page and for every refusal."""

import html

import pytest
from starlette.testclient import TestClient

from discreet.errors import InvalidValue, Unavailable, UnsafeQuery
from discreet.server.logins import COOKIE, Logins
from discreet.server.pages.shared import Here
from discreet.server.problems import Problem
from support.worlds import routes_of

TYPED = {
    "sql": "SELECT COUNT(*) AS my_own FROM visits\nWHERE age < 7 AND region = '<b>'",
    "name": "no_such_name",
    "epsilon": "0.1234",
    "source": "no such file.csv",
}
FAILURES = {
    "busy": Problem("busy", "Too many.", retry_seconds=1),
    "unavailable": Unavailable("It is away."),
    "invalid": InvalidValue("It is -1."),
    "unsafe": UnsafeQuery("It is not safe."),
    "unforeseen": RuntimeError("a secret of ours"),
}
PEOPLE = {
    "ana": ("/tables", "/ask", "/history"),
    "cora": ("/custodian/register", "/custodian/ledger"),
}
OURS = ("/login", "/logout", "/static/{name}", "/", "/health", "/metrics")
HTML = {"Accept": "text/html"}


def pages(served, method):
    """The pages of a method, and whose they are."""
    for verb, path in routes_of(served.client.app):
        if verb == method and not path.startswith("/api/") and path not in OURS:
            yield path.replace("{name}", "visits"), "cora" if "/custodian" in path else "ana"


def browser(served, who):
    made = TestClient(
        served.client.app,
        base_url="http://127.0.0.1",
        follow_redirects=False,
        raise_server_exceptions=False,
    )
    logins = Logins(served.accounts, hours=1)
    value = logins.cookie(served.accounts.identify(served.tokens[who]))
    made.cookies.set(COOKIE, value)
    return made, logins.read(value).csrf


def framed(page, who):
    return all(f'href="{link}"' in page.text for link in PEOPLE[who])


def shown(page):
    return [
        name
        for name, value in TYPED.items()
        if html.escape(value) not in page.text.replace("&#39;", "&#x27;")
    ]


@pytest.fixture
def failing(monkeypatch):
    def fail(failure):
        async def run(*_):
            raise failure

        monkeypatch.setattr(Here, "run", run)

    return fail


@pytest.mark.parametrize("failure", FAILURES)
def test_a_refused_form_keeps_the_frame_and_what_was_typed(served, failing, failure):
    visitors = {who: browser(served, who) for who in PEOPLE}
    failing(FAILURES[failure])
    tried = 0
    for path, who in pages(served, "POST"):
        visitor, csrf = visitors[who]
        form = {"csrf": csrf, "action": "ask", **TYPED}
        page = visitor.post(path, data=form, headers=HTML)
        assert page.status_code >= 400, path
        assert framed(page, who), path
        assert shown(page) == [], path
        assert f'action="{path}"' in page.text  # one press sends it again
        assert "a secret of ours" not in page.text
        tried += 1
    assert tried > 8


@pytest.mark.parametrize("failure", FAILURES)
def test_a_page_that_cannot_be_shown_keeps_the_frame(served, failing, failure):
    visitors = {who: browser(served, who) for who in PEOPLE}
    failing(FAILURES[failure])
    for path, who in pages(served, "GET"):
        page = visitors[who][0].get(path.replace("{receipt}", "0" * 20), headers=HTML)
        if page.status_code == 404:  # a form of export that there is not
            continue
        assert page.status_code >= 400, path
        assert framed(page, who), path
    lost = visitors["ana"][0].get("/no/such/page", headers=HTML)
    assert (lost.status_code, framed(lost, "ana")) == (404, True)


def test_what_was_typed_outlives_a_login(served):
    """It can be copied, but is not a form: nobody is signed in who could send it."""
    visitor, csrf = browser(served, "ana")
    served.accounts.revoke("ana")
    page = visitor.post("/ask", data={"csrf": csrf, **TYPED}, headers=HTML)
    assert (page.status_code, shown(page)) == (401, [])
    assert 'href="/login"' in page.text
    assert "Send it again" not in page.text
    assert csrf not in page.text
    assert visitor.get("/ask", headers=HTML).headers["location"] == "/login"


def test_a_forged_form_is_shown_and_cannot_be_sent_on(served):
    """Else one press would do what another site wrote."""
    visitor, csrf = browser(served, "cora")
    for forged in ("", "guess"):
        page = visitor.post("/custodian/accounts", data={"csrf": forged, **TYPED}, headers=HTML)
        assert (page.status_code, framed(page, "cora"), shown(page)) == (403, True, [])
        assert "Send it again" not in page.text
        assert page.text.count(csrf) == 1  # of the button that signs out


def test_a_token_is_never_shown_again(served):
    secret = "ana.secret.token"
    page = served.client.post(
        "/login", data={"token": secret}, headers={**HTML, "Origin": "http://evil.example"}
    )
    assert page.status_code == 403
    assert secret not in page.text


def test_a_page_too_large_is_refused_in_its_frame(served):
    visitor, csrf = browser(served, "ana")
    page = visitor.post("/ask", data={"csrf": csrf, "sql": "x" * 100_000}, headers=HTML)
    assert (page.status_code, framed(page, "ana")) == (413, True)
    document = visitor.post("/api/v1/queries", content="x" * 100_000, headers=HTML)
    assert document.headers["content-type"] == "application/problem+json"


def test_a_source_that_cannot_be_read_stays_picked(served):
    (served.folder / "broken.parquet").write_text("not one")
    visitor, csrf = browser(served, "cora")
    form = {"csrf": csrf, "step": "2", "source": "broken.parquet"}
    page = visitor.post("/custodian/register", data=form, headers=HTML)
    assert page.status_code == 400
    assert 'value="broken.parquet" checked' in page.text
