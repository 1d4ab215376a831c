"""Long lists come in parts, each with a link to the next; nothing is lost or told twice."""

import re

import pytest

import discreet
from discreet.drawing.svg import steps
from discreet.loss import Pure
from discreet.server import paging
from discreet.server.accounts import Role
from discreet.server.logins import COOKIE, Logins
from support.served_vault import listening

COUNT = 23


def pay(served, analyst, number):
    """A release, without an engine: lists look at receipts only."""
    memo = {"label": "x", "question": f"SELECT {number}", "table": "visits", "data_version": "1"}
    charge = served.curator.ledger.charge(
        population="patients", analyst=analyst, loss=Pure(epsilon=0.01), memo=memo
    )
    served.curator.vault.releases.store(f"key{analyst}{number}", charge, b"{}")


@pytest.fixture
def long(served):
    """Two analysts whose releases lie between each other's."""
    served.curator.grant("bob", epsilon=5)
    served.tokens["bob"] = served.accounts.issue("bob", Role.ANALYST, days=1).text
    for number in range(COUNT):
        pay(served, "ana", number)
        pay(served, "bob", 1000 + number)
    return served


def following(answer):
    found = re.fullmatch(r'</api/v1(/[^>]*)>; rel="next"', answer.headers.get("link", ""))
    return None if found is None else found.group(1)


def walk(served, who, path, items):
    """Everything, and how long the parts were."""
    found, lengths = [], []
    while path is not None:
        answer = served.call(who, "GET", path)
        assert answer.status_code == 200, answer.text
        part = items(answer.json())
        found += part
        lengths.append(len(part))
        path = following(answer)
    return found, lengths


def test_a_history_in_parts(long):
    for limit, lengths in ((10, [10, 10, 3]), (23, [23]), (1, [1] * 23)):
        found, seen = walk(long, "ana", f"/answers?limit={limit}", list)
        assert seen == lengths
        assert [each["question"] for each in found] == [f"SELECT {n}" for n in range(COUNT)]
        assert [each["number"] for each in found] == sorted(each["number"] for each in found)
    for after in (10**9, (1 << 63) - 1):
        answer = long.call("ana", "GET", f"/answers?after={after}")
        assert (answer.status_code, answer.json(), following(answer)) == (200, [], None)


def test_an_answer_that_comes_meanwhile_is_not_missed(long):
    first = long.call("ana", "GET", "/answers?limit=20")
    pay(long, "ana", 99)
    rest, _ = walk(long, "ana", following(first), list)
    assert [each["question"] for each in rest] == [
        "SELECT 20",
        "SELECT 21",
        "SELECT 22",
        "SELECT 99",
    ]


def test_the_ledger_in_parts(long):
    whole = long.curator.ledger.entries()
    for limit in (7, 1000):
        path = f"/custodian/ledger?limit={limit}"
        found, lengths = walk(long, "cora", path, lambda body: body["entries"])
        assert [each["sequence"] for each in found] == [each.sequence for each in whole]
        assert max(lengths) == min(limit, len(whole))


def test_parts_that_cannot_be_are_refused(served):
    wrong = ("limit=0", "limit=1001", "limit=x", "after=-1", "after=1.5", f"after={1 << 63}")
    for query in wrong:
        for who, path in (("ana", "/answers"), ("cora", "/custodian/ledger")):
            assert served.call(who, "GET", f"{path}?{query}").status_code == 400


def test_a_client_follows_the_links(long, monkeypatch):
    with listening(long.client.app) as url:
        client = discreet.Client(url, long.tokens["ana"])
        real, paths = client._wire._send, []

        def sent(method, path, body):
            paths.append(path)
            return real(method, path.replace("limit=1000", "limit=5"), body)

        monkeypatch.setattr(type(client._wire), "_send", lambda _, *given: sent(*given))
        found = list(client.history())
    assert [each["question"] for each in found] == [f"SELECT {n}" for n in range(COUNT)]
    assert len(paths) == 5


def read(served, who, path):
    value = Logins(served.accounts, hours=1).cookie(served.accounts.identify(served.tokens[who]))
    page = served.client.get(path, headers={"Cookie": f"{COOKIE}={value}"})
    assert page.status_code == 200
    return page.text


def older(text):
    found = re.search(r'rel="next" href="([^"]+)"', text)
    return None if found is None else found.group(1)


def test_pages_lead_to_older_ones(long, monkeypatch):
    from discreet.server.pages import analyst as analyst_pages
    from discreet.server.pages import custodian as custodian_pages

    for module in (analyst_pages, custodian_pages):
        monkeypatch.setattr(module, "PAGE", 10)
    path, questions = "/history", []
    while path is not None:
        text = read(long, "ana", path)
        questions += re.findall(r"<code>SELECT (\d+)</code>", text)
        assert ("Newest" in text) is (path != "/history")
        path = older(text)
    assert questions == [str(n) for n in reversed(range(COUNT))]
    long.client.app.state.server.watch.look()
    path, sequences = "/custodian/ledger", []
    while path is not None:
        text = read(long, "cora", path)
        sequences += re.findall(r'<td class="number">(\d+)</td>', text)
        assert "Verified" in text
        path = older(text)
    assert sequences == [str(n) for n in range(len(long.curator.ledger.entries()), 0, -1)]


def test_a_page_with_a_strange_address_is_the_first(long):
    for before in ("x", "-1", "9" * 40, "²", "<script>alert(1)</script>"):
        text = read(long, "ana", f"/history?before={before}")
        assert f"<code>SELECT {COUNT - 1}</code>" in text
        assert "<script>alert" not in text


def test_a_long_burn_down_is_drawn_in_few_steps():
    left = [10.0 - n / 10_000 for n in range(50_000)]
    drawn = steps("left", left, 10.0)
    assert len(drawn) < 40_000
    few = steps("left", left[:600], 10.0)
    assert few.count(",") > 1000
    assert paging.PAGE == 100
