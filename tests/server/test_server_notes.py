"""The notes of an answer on every surface of a server and on the command line: two vaults with one
schema and different data show the same, byte for byte.
"""

import csv
import html
import io
import json
import re
from contextlib import ExitStack, contextmanager

import pytest

import discreet
from discreet.plan.parts.remarks import Note
from discreet.server.logins import COOKIE
from support.command_line import run
from support.served_vault import listening, serve_vault

pytestmark = pytest.mark.slow("servers")

QUESTIONS = [
    "SELECT region, COUNT(*) AS n, SUM(income) AS s FROM visits GROUP BY region",
    "SELECT MEDIAN(age) AS m, MODE(region) AS r FROM visits WHERE age >= 0",
    "SELECT QUANTILE(income, 0.9) AS q FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1) region, AVG(age) AS a "
    "FROM visits GROUP BY region",
    "SELECT COUNT(DISTINCT patient) AS n FROM visits",
]
FAR = [(7, 10**9, -1e300, "nowhere", "9999-12-31", None)] * 500


@pytest.fixture
def twins(tmp_path):
    with ExitStack() as stack:
        make = contextmanager(serve_vault)
        yield [
            stack.enter_context(make(tmp_path / name, rows=rows))
            for name, rows in (("people", None), ("far", FAR))
        ]


def _surfaces(served, question):
    """What each surface says beside the numbers."""
    body = {"sql": question, "epsilon": 0.1}
    found = served.call("ana", "POST", "/queries", json=body).json()
    receipt = found["receipt"]["id"]
    again = served.call("ana", "GET", f"/answers/{receipt}").json()

    def export(form):
        return served.call("ana", "GET", f"/answers/{receipt}/{form}")

    (first, *rest) = csv.DictReader(io.StringIO(export("csv").text))
    assert all(not row.get("notes") for row in rest)
    cells = json.loads(export("notebook").text)["cells"]
    listed = [line[3:-1] for line in cells[0]["source"] if line.startswith("\n- ")]
    logins = served.client.app.state.server.logins
    cookie = logins.cookie(served.accounts.identify(served.tokens["ana"]))
    page = served.client.get(f"/answers/{receipt}", headers={"Cookie": f"{COOKIE}={cookie}"})
    words = re.findall(r"<text.*?</text>", export("svg").text, re.DOTALL)
    drawn = " ".join(re.sub(r"<[^>]*>", " ", each) for each in words)
    shown = run("query", question, "--epsilon", "0.1", "--as", "ana",
                "--vault", served.folder / "vault")  # fmt: skip
    typed = run("query", question, "--epsilon", "0.1", "--as", "ana", "--json",
                "--vault", served.folder / "vault")  # fmt: skip
    with listening(served.client.app) as url:
        client = discreet.Client(url, served.tokens["ana"])
        fetched = [str(note) for note in client.sql(question, epsilon=0.1).notes]
    return {
        "rest": _texts(found["notes"]),
        "rest again": _texts(again["notes"]),
        "csv": first.get("notes", "").splitlines(),
        "notebook": [line.replace("`", "") for line in listed],
        "page": _page(page.text),
        "client": fetched,
        "--json": _texts(json.loads(typed.out)["notes"]),
    }, {"chart": html.unescape(drawn), "terminal": " ".join(shown.out.split())}


def _texts(listed):
    return [str(Note(each["text"], each["ask"] or "")) for each in listed]


def _page(text):
    found = re.search(r'<div class="card" id="notes">(.*?)</div>', text, re.DOTALL)
    if found is None:
        return []
    lines = re.findall(r"<p>(.*?)</p>", found[1], re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]*>", "", line)) for line in lines]


def _plain(text):
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_surface_has_the_notes_and_twins_the_same(twins, question):
    told = []
    for served in twins:
        notes = served.curator.session("ana").explain(question, epsilon=0.1).notes
        exact, loose = _surfaces(served, question)
        expected = [str(note) for note in notes]
        assert {name: each for name, each in exact.items() if each != expected} == {}
        for note in notes:
            assert note.text in loose["terminal"]
            assert _plain(note.text) in _plain(loose["chart"])
        told.append(expected)
    assert told[0] == told[1]
    assert bool(told[0]) == ("DISTINCT" not in question)


def test_an_error_in_ranks_is_shown_by_notebooks_charts_pages_and_files(twins):
    question = "SELECT region, MEDIAN(age) AS m FROM visits GROUP BY region"
    for served in twins:
        session = served.curator.session("ana")
        answer = session.sql(question, epsilon=0.1)
        (off,) = {high for row in answer.intervals() for _, high in row.values()}
        words = f"± {-(-off // 1):,.0f} ranks"
        assert words in answer._repr_html_()
        assert answer.chart()["title"]["text"] == f"m, {words} with 95%"
        assert words in str(answer)
        assert set(answer.to_pandas(intervals=True)["m_off"]) == {off}
        found = served.call("ana", "POST", "/queries", json={"sql": question, "epsilon": 0.1})
        receipt = found.json()["receipt"]["id"]
        logins = served.client.app.state.server.logins
        cookie = logins.cookie(served.accounts.identify(served.tokens["ana"]))
        page = served.client.get(f"/answers/{receipt}", headers={"Cookie": f"{COOKIE}={cookie}"})
        assert page.text.count(words) >= len(answer)
        text = served.call("ana", "GET", f"/answers/{receipt}/csv").text
        assert {float(row["m_off"]) for row in csv.DictReader(io.StringIO(text))} == {off}


MONITOR = {
    "name": "fever", "sql": "SELECT SUM(income) AS s FROM visits WHERE region = 'north'",
    "threshold": 10**9, "alarms": 1, "epsilon": 0.2, "numbers": 0.5,
}  # fmt: skip


def test_services_have_their_notes_wherever_they_say_a_number(twins):
    """Opened, listed, read and asked, over HTTP and on the command line: the same of both vaults,
    and what is offered keeps the condition.
    """
    told = []
    for served in twins:
        found = {
            "opened": served.call("ana", "POST", "/monitors", json=MONITOR).json(),
            "listed": served.call("ana", "GET", "/monitors").json()[0],
            "read": served.call("ana", "GET", "/monitors/fever").json(),
            "checked": served.call("ana", "POST", "/monitors/fever/checks", json={}).json(),
        }
        folder = ("--vault", served.folder / "vault")
        (found["list"],) = run("monitor", "list", "--as", "ana", "--json", *folder).json
        found["check"] = run("monitor", "check", "fever", "--as", "ana", "--json", *folder).json
        notes = {name: each["notes"] for name, each in found.items()}
        assert {name: each for name, each in notes.items() if each != notes["opened"]} == {}
        asks = [each["ask"] for each in notes["opened"] if each["ask"]]
        assert len(asks) == 2
        assert all("region = 'north'" in ask for ask in asks)
        typed = run("bounds", "visits", "age", "--as", "ana", "--epsilon", "0.1", "--json", *folder)
        told.append([notes, typed.json["notes"]])
        assert typed.json["notes"]
    assert told[0] == told[1]
