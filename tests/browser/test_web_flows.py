"""Both flows in a real browser, from login to export; what forgers and strangers meet; controls
that a screen reader can name. Screenshots go to DISCREET_SCREENSHOTS, if that names a folder.
"""

import csv
import io
import os
from pathlib import Path

import pytest

from discreet.server.accounts import Role
from support.browser import PATIENCE
from support.served_vault import listening, serve_vault

EVIL = "<img src=x onerror=alert(1)>"
UNNAMED = """() => [...document.querySelectorAll('input, select, textarea, button, a[href]')]
    .filter(e => e.type !== 'hidden' && !e.hidden)
    .filter(e => !(e.innerText || e.getAttribute('aria-label') || (e.labels || []).length))
    .map(e => e.outerHTML)"""


@pytest.fixture
def site(tmp_path):
    for served in serve_vault(tmp_path / "h", login_hours=1):
        with listening(served.client.app) as url:
            served.url = url
            yield served


class Visitor:
    """A browser window that notes errors of scripts and takes pictures."""

    def __init__(self, browser, site, dark=False):
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(color_scheme=scheme, accept_downloads=True)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.site = site
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("dialog", lambda box: (self.errors.append(box.message), box.dismiss()))

    def _said(self, line):
        # A browser also reports pages with a refusal's status; what scripts do wrong is an error.
        if line.type == "error" and "Failed to load resource" not in line.text:
            self.errors.append(line.text)

    def sign_in(self, who):
        self.page.goto(f"{self.site.url}/login")
        self.page.get_by_label("Token").fill(self.site.tokens[who])
        self.page.get_by_role("button", name="Sign in").click()
        return self

    def look(self, name):
        """Every control has a name; a picture for those who want to look."""
        assert self.page.evaluate(UNNAMED) == [], name
        folder = os.environ.get("DISCREET_SCREENSHOTS")
        if folder:
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)

    def close(self):
        self.context.close()
        assert self.errors == []


@pytest.fixture
def visit(browser, site):
    made = []

    def opened(who=None, dark=False):
        made.append(Visitor(browser, site, dark))
        return made[-1].sign_in(who) if who else made[-1]

    yield opened
    for each in made:
        each.close()


def downloaded(page, name):
    with page.expect_download() as waiting:
        page.get_by_role("link", name=name, exact=True).click()
    return Path(waiting.value.path()).read_bytes()


def test_an_analyst_from_login_to_export(visit, site):
    visitor = visit("ana")
    page = visitor.page
    visitor.look("tables")
    page.get_by_role("link", name="visits").click()
    visitor.look("table")
    page.get_by_role("link", name="SELECT region, COUNT(*) AS n").click()
    preview = page.locator("#preview")
    preview.get_by_text("Questions like this one left: 50").wait_for()
    page.get_by_label("Price, epsilon").fill("0.5")
    preview.get_by_text("Questions like this one left: 10").wait_for()
    assert preview.locator("svg polyline").count() == 1
    visitor.look("ask")
    before = site.curator.session("ana").remaining.epsilon
    assert before == 5  # previews cost nothing
    page.get_by_role("button", name="Ask and pay").click()
    page.get_by_role("heading", name="Answer", exact=True).wait_for()
    visitor.look("answer")
    assert site.curator.session("ana").remaining.epsilon == before - 0.5
    assert page.locator("svg rect.bar").count() == 4
    rows = list(csv.reader(io.StringIO(downloaded(page, "CSV").decode())))
    assert rows[0] == ["region", "n", "n_low", "n_high", "notes"]
    (answer,) = site.curator.session("ana").transcript
    assert [row[1] for row in rows[1:]] == [str(row["n"]) for row in answer]
    assert downloaded(page, "PNG").startswith(b"\x89PNG")
    assert b"discreet.Client" in downloaded(page, "Notebook")
    assert answer.receipt.id in page.locator("#citation").inner_text()
    page.get_by_role("link", name="History").click()
    visitor.look("history")
    page.get_by_role("link", name=answer.receipt.time[:10]).click()
    page.get_by_role("link", name="Ask something like it").click()
    page.get_by_label("Price, epsilon").fill("0.5")
    page.get_by_role("button", name="Ask and pay").click()
    page.get_by_text("Asked before: the same answer, nothing charged.").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    page.goto(f"{site.url}/history")
    assert page.url.endswith("/login")


def test_a_refused_question_says_why_and_costs_nothing(visit, site):
    page = visit("ana").page
    page.goto(f"{site.url}/ask")
    page.get_by_label("Question, in SQL").fill("SELECT age FROM visits")
    page.locator("#preview").get_by_text("Nothing was run or charged").wait_for()
    page.goto(f"{site.url}/ask")
    page.get_by_label("Question, in SQL").fill("SELECT COUNT(*) AS n FROM visits")
    page.get_by_label("Price, epsilon").fill("50")
    page.locator("#preview").get_by_text("The budget does not admit it.").wait_for()
    assert site.curator.session("ana").remaining.epsilon == 5


def test_a_custodian_from_registration_to_the_ledger(visit, site):
    visitor = visit("cora", dark=True)
    page = visitor.page
    visitor.look("overview")
    page.get_by_role("link", name="Register", exact=True).click()
    visitor.look("register-1")
    page.get_by_role("radio", name="visits.parquet").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Name of the table").fill("clinic")
    page.get_by_label("Population: whose budget this is").fill("patients")
    page.get_by_label("Privacy unit: who is protected").select_option("patient")
    page.get_by_label("Rows that one person may have").fill("2")
    for name in ("patient", "income", "day", "big", "note"):
        page.get_by_label(f"Use {name} as").select_option("leave out")
    page.get_by_label("Lower bound of age").fill("0")
    page.get_by_label("Upper bound of age").fill("110")
    page.get_by_label("Keys of region").fill("north, south, east")
    page.get_by_label("Budget, epsilon").fill("10")
    visitor.look("register-2")
    page.get_by_role("button", name="Next").click()
    page.get_by_role("heading", name="A dry run on made-up rows").wait_for()
    visitor.look("register-3")
    assert "clinic" not in site.curator.tables
    page.get_by_role("button", name="Publish the table").click()
    page.get_by_role("heading", name="What could not be read").wait_for()
    assert site.curator.tables["clinic"].rows_per_unit == 2
    page.get_by_role("button", name="Show exact counts").click()
    page.get_by_role("columnheader", name="Exact count").wait_for()
    visitor.look("inspect")
    page.get_by_role("link", name="Accounts").click()
    page.get_by_label("Name", exact=True).fill("bob")
    page.get_by_label("Budget, epsilon (analysts)").fill("1")
    page.get_by_role("button", name="Create the account").click()
    site.tokens["bob"] = page.locator("#token").inner_text()
    visitor.look("accounts")
    assert site.accounts.identify(site.tokens["bob"]).role is Role.ANALYST
    page.reload()
    page.goto(f"{site.url}/custodian/accounts")
    assert page.locator("#token").count() == 0
    site.call(
        "bob", "POST", "/queries", json={"sql": "SELECT COUNT(*) AS n FROM clinic", "epsilon": 0.5}
    )
    page.get_by_role("link", name="Ledger").click()
    page.get_by_text("chain and totals agree").wait_for()
    assert page.locator("svg polyline").count() >= 3
    visitor.look("ledger")
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("button", name="Pause all questions").click()
    page.get_by_text("The custodian has paused all questions.").wait_for()
    assert (
        site.call("bob", "POST", "/queries", json={"sql": "SELECT 1", "epsilon": 1}).status_code
        == 503
    )
    page.get_by_role("button", name="Let questions go on").click()
    page.get_by_role("link", name="Audits and attacks").click()
    page.get_by_role("button", name="Audit", exact=True).click()
    page.get_by_text("not contradicted").wait_for()
    page.get_by_role("button", name="Attack", exact=True).click()
    page.locator("section[role=status] p").first.wait_for()
    visitor.look("checks")
    page.goto(f"{site.url}/custodian/accounts")
    page.get_by_role("button", name="Revoke all tokens of bob").click()
    page.get_by_text("none valid").wait_for()
    assert site.accounts.identify(site.tokens["bob"]) is None


def test_markup_in_names_stays_text(visit, site):
    schema = f"""
[table]
name = "odd"
population = "patients"
unit = "patient"
rows_per_unit = 2
[columns]
region = {{ type = "category", keys = ["north", "{EVIL}"] }}
"""
    form = {"schema_text": schema, "source": "visits.parquet"}
    assert site.call("cora", "POST", "/custodian/tables", json=form).status_code == 201
    visitor = visit("ana")
    page = visitor.page
    page.goto(f"{site.url}/tables/odd")
    page.get_by_text(EVIL).first.wait_for()
    page.goto(f"{site.url}/ask?sql=SELECT region, COUNT(*) AS n FROM odd GROUP BY region")
    page.get_by_label("Price, epsilon").fill("0.5")
    page.get_by_role("button", name="Ask and pay").click()
    page.get_by_role("cell", name=EVIL).wait_for()
    page.goto(f"{site.url}/ask?sql={EVIL}")
    page.locator("#preview .notice").wait_for()
    keeper = visit("cora").page
    keeper.goto(f"{site.url}/custodian/ledger")
    keeper.get_by_role("cell", name="FROM odd").wait_for()
    for each in (page, keeper):
        assert each.locator("main img").count() == 0


def test_forged_forms_strangers_and_wrong_roles(visit, site):
    visitor = visit("ana")
    page = visitor.page
    page.goto(f"{site.url}/ask?sql=SELECT COUNT(*) AS n FROM visits")
    page.eval_on_selector("form[data-preview] input[name=csrf]", "e => { e.value = 'forged'; }")
    with page.expect_response("**/ask") as waiting:
        page.get_by_role("button", name="Ask and pay").click()
    assert waiting.value.status == 403
    assert site.curator.session("ana").remaining.epsilon == 5
    assert page.goto(f"{site.url}/custodian").status == 404
    assert page.goto(f"{site.url}/custodian/accounts").status == 404
    stranger = visit().page
    stranger.goto(f"{site.url}/custodian/ledger")
    assert stranger.url.endswith("/login")
    stranger.get_by_label("Token").fill("nothing")
    stranger.get_by_role("button", name="Sign in").click()
    stranger.get_by_role("alert").wait_for()


def test_a_login_ends_with_its_token(visit, site):
    visitor = visit("ana")
    visitor.page.get_by_role("heading", name="Tables").wait_for()
    (cookie,) = visitor.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    site.accounts.revoke("ana")
    visitor.page.goto(f"{site.url}/tables")
    assert visitor.page.url.endswith("/login")


def test_an_analyst_s_services(visit, site):
    count = "SELECT COUNT(*) AS n FROM visits WHERE age >= 0"
    form = {"name": "fever", "sql": count, "threshold": -10_000, "epsilon": 2}
    assert site.call("ana", "POST", "/monitors", json=form).status_code == 201
    visitor = visit("ana")
    page = visitor.page
    page.get_by_role("link", name="Services").click()
    page.get_by_role("cell", name="not checked yet").wait_for()
    visitor.look("services")
    page.get_by_role("link", name="fever").click()
    page.get_by_text("Alarms left: 1 of 1").wait_for()
    page.get_by_role("button", name="Check now").click()
    page.get_by_text("Last check: above the threshold").wait_for()
    page.get_by_text("Alarms left: 0 of 1").wait_for()
    visitor.look("monitor")
    page.get_by_role("button", name="Check now").click()
    page.get_by_role("alert").wait_for()
    page.get_by_role("link", name="All services").click()
    page.get_by_role("cell", name="0 of 1").wait_for()
