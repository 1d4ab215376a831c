"""Statements above several blocks over HTTP and on the pages: the same answer as at hand, its price
and its blocks before it is asked, and each of its forms.
"""

import pytest

import discreet
from discreet.server.accounts import Role
from discreet.server.logins import COOKIE, Logins
from support.served_vault import listening

SHARES = (
    "SELECT region, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY region"
)
TWO = "SELECT (SELECT COUNT(*) FROM visits) - (SELECT COUNT(*) FROM visits WHERE age > 30) AS d"


def cookie_of(served, who="ana"):
    made = Logins(served.accounts, hours=1).cookie(served.accounts.identify(served.tokens[who]))
    return {"Cookie": f"{COOKIE}={made}"}


def test_a_client_gets_the_answer_that_the_server_keeps(served):
    token = served.accounts.issue("ana", Role.ANALYST, days=1).text
    with listening(served.client.app) as url:
        client = discreet.Client(url, token)
        first = client.sql(SHARES, epsilon=2)
        again = client.sql(SHARES, epsilon=2)
        kept = client.answer(first.receipt.id)
    assert (first.free, again.free) == (False, True)
    assert first.to_dicts() == again.to_dicts() == kept.to_dicts()
    assert first.intervals() == kept.intervals()
    assert first.simulated == kept.simulated == ("share",)
    assert first.receipt == kept.receipt


def test_explain_shows_every_block_and_charges_nothing(served):
    told = served.call("ana", "POST", "/explain", json={"sql": TWO, "epsilon": 1}).json()
    assert [block["cost"] for block in told["blocks"]] == [{"epsilon": "0.5"}] * 2
    assert told["cost"] == {"epsilon": "1"}
    assert told["error"]["d"] > 0
    assert served.call("ana", "GET", "/history").json() == []


def test_the_reply_says_what_is_simulated(served):
    reply = served.call("ana", "POST", "/queries", json={"sql": SHARES, "epsilon": 2}).json()
    assert reply["simulated"] == ["share"]
    assert set(reply["intervals"][0]) == {"share"}


@pytest.mark.parametrize("text", [f"{SHARES} LIMIT x", SHARES.replace("region,", "nothing,")])
def test_what_cannot_run_is_refused_before_a_charge(served, text):
    reply = served.call("ana", "POST", "/queries", json={"sql": text, "epsilon": 1})
    assert reply.status_code == 422
    assert served.call("ana", "GET", "/history").json() == []


def test_pages_show_and_export_a_statement(served):
    reply = served.call("ana", "POST", "/queries", json={"sql": SHARES, "epsilon": 2}).json()
    receipt, headers = reply["receipt"]["id"], cookie_of(served)
    shown = served.client.get(f"/answers/{receipt}", headers=headers)
    assert shown.status_code == 200
    assert "share" in shown.text
    assert "simulated" in shown.text
    exported = served.client.get(f"/answers/{receipt}/csv", headers=headers)
    assert exported.status_code == 200
    assert exported.text.splitlines()[0].startswith("region,share,share_low,share_high")
