"""History adds up: whatever is charged, through every service, is in every list of what an analyst
paid for, and the sum is what was spent, exactly. One analyst sees nothing of another's.
"""

import json
import re
import tomllib
from decimal import Decimal
from fractions import Fraction

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

import discreet
from discreet.accounting.filters import Currency, price, round_total
from discreet.cli import app as command_line
from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.engines.duckdb import engine as duckdb
from discreet.errors import DiscreetError, Unavailable
from discreet.estimates.blocks import sample_and_aggregate
from discreet.estimates.median import median
from discreet.estimates.robust import location
from discreet.ledger.account import Holder, round_up
from discreet.ledger.history import History, Outcome, kind_of
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.release import synthesize
from discreet.release.specification import read_release
from discreet.robust.blocks.summaries import BlockMean
from discreet.schema.table import Budget
from discreet.server.accounts import Accounts, Role
from discreet.server.application import application
from discreet.server.logins import COOKIE, Logins
from discreet.streams import Counter, Holdout, Joint, Monitor, Synopsis
from support.clocks import InstantClock
from support.robust_estimators import size
from support.served_vault import listening
from support.vaults import copied_curator, people
from support.worlds import SPECIFICATION

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age < 45"
DAYS = "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"
BUDGET = "epsilon = 100000\ndelta = 1e-3"


def _question(curator, name):
    return curator.session(name).sql(COUNT, epsilon=Fraction(1, 3))


def _bought_count(curator, name):
    return curator.session(name).sql("SELECT AVG(age) AS a FROM visits", error=30)


def _failing_question(curator, name):
    real = duckdb.DuckDB.rows

    def rows(engine, _sql):
        engine.last_failure = "OutOfMemoryException: at 'a secret row'"
        raise Unavailable(duckdb.MESSAGE)

    duckdb.DuckDB.rows = rows
    try:
        with pytest.raises(Unavailable):
            curator.session(name).sql("SELECT COUNT(*) AS f FROM visits", epsilon=0.1)
    finally:
        duckdb.DuckDB.rows = real


def _monitor(curator, name):
    monitor = Monitor.open(curator.session(name), COUNT, threshold=-10_000, epsilon=7, name="m")
    monitor.check()  # above, but for a probability below exp(-1000)
    monitor.renew()


def _counter(curator, name):
    session = curator.session(name)
    return Counter.open(session, DAYS, rho=Fraction(1, 70), versions=1, buckets=12, name="c")


def _synopsis(curator, name):
    return Synopsis.open(
        curator.session(name), ("region",), table="visits", name="s", alpha=0.5, epsilon=3
    )


def _holdout(curator, name):
    return Holdout.open(
        curator.session(name), table="visits", name="h", threshold=0.1, overfits=2, epsilon=0.7
    )


def _joint(curator, name):
    return Joint.open(curator.session(name), table="visits", name="j", epsilon=0.9, sensitivity=4)


def _release(curator, name):
    document = tomllib.loads(SPECIFICATION, parse_float=Decimal)
    return read_release(document).plan(curator.session(name)).run()


def _synthetic(curator, name):
    return synthesize(curator.session(name), "visits", epsilon=2, columns=["region"])


def _estimate(curator, name):
    return location(curator.session(name), "visits", "age", epsilon=3, delta=1e-5)


def _median(curator, name):
    return median(curator.session(name), "visits", "age", epsilon=0.3)


def _sampled(curator, name):
    lattice = Lattice(step=1, lower=0, upper=110, missing=0)
    summary = BlockMean(price=Pure(epsilon=2))
    return sample_and_aggregate(
        curator, name, "visits", ["age"], size, blocks=2, lattice=lattice, summary=summary
    )


SERVICES = {
    "question": _question,
    "bought count": _bought_count,
    "failing question": _failing_question,
    "monitor": _monitor,
    "counter": _counter,
    "synopsis": _synopsis,
    "holdout": _holdout,
    "joint": _joint,
    "release": _release,
    "synthetic": _synthetic,
    "estimate": _estimate,
    "median": _median,
    "sampled": _sampled,
}
NEED_DELTA = {"synopsis", "synthetic", "estimate", "counter"}  # refused in pure accounts, free
CHARGES = {"bought count": 2, "monitor": 2}  # of one call; every other makes one


@pytest.fixture(scope="module", params=["pure", "rho"])
def curator(request, tmp_path_factory):
    """A curator whose analyst was charged through every service, and another through two."""
    folder = tmp_path_factory.mktemp(request.param)
    with copied_curator(folder / "c", people(600), budget=BUDGET, clock=InstantClock()) as curator:
        delta = 0 if request.param == "pure" else 1e-4
        refused = set()
        for name in ("ana", "bob"):
            curator.grant(name, epsilon=500, delta=delta)
        for name, service in SERVICES.items():
            try:
                service(curator, "ana")
            except DiscreetError:
                refused.add(name)
        assert refused == (NEED_DELTA if request.param == "pure" else set())
        for name in ("question", "holdout"):
            SERVICES[name](curator, "bob")
        yield curator


def fold(losses, account):
    """What charges take from an account, one after the other, as the ledger adds them."""
    currency = Currency.EPSILON if account.pure else Currency.RHO
    total, deltas = Fraction(0), Fraction(0)
    for loss in losses:
        cost, delta = price(loss, currency)
        total, deltas = round_total(total + cost), round_total(deltas + delta)
    return total, deltas


def told(lines):
    """The same from what lists say."""
    amounts = [(each["spent"].get("epsilon") or each["spent"]["rho"]) for each in lines]
    total, deltas = Fraction(0), Fraction(0)
    for amount, each in zip(amounts, lines, strict=True):
        total = round_total(total + Fraction(amount))
        deltas = round_total(deltas + Fraction(each["spent"]["delta"]))
    return total, deltas


def account_of(curator, name):
    return curator.ledger.account(Holder.ANALYST, name)


def spent(curator, name):
    account = account_of(curator, name)
    return account.spent, account.spent_delta


def sequences(curator, name):
    entries = curator.ledger.entries()
    return [each.sequence for each in entries if each.act == "charge" and each.analyst == name]


@pytest.mark.parametrize("name", ["ana", "bob"])
def test_the_history_of_a_session_adds_up(curator, name):
    charges = curator.session(name).history()
    assert [each.receipt.sequence for each in charges] == sequences(curator, name)
    assert {each.receipt.analyst for each in charges} == {name}
    assert fold([each.receipt.loss for each in charges], account_of(curator, name)) == spent(
        curator, name
    )
    if name == "ana":
        pure = account_of(curator, name).pure
        assert len(charges) == sum(
            CHARGES.get(service, 1) for service in SERVICES if not pure or service not in NEED_DELTA
        )


def test_every_service_is_named(curator):
    kinds = {each.kind for each in curator.session("ana").history()}
    assert "other" not in kinds
    if not account_of(curator, "ana").pure:
        assert kinds == {
            "counter", "estimate", "holdout", "joint questions", "monitor", "question",
            "release", "synopsis", "synthetic data",
        }  # fmt: skip


@pytest.mark.parametrize("name", ["ana", "bob"])
def test_the_transcript_has_each_charge_once(curator, name):
    session = curator.session(name)
    transcript, charges = session.transcript, session.history()
    assert [each.receipt.id for each in transcript] == [each.receipt.id for each in charges]
    for item, charge in zip(transcript, charges, strict=True):
        assert isinstance(item, Answer) is (charge.outcome is Outcome.ANSWER)
        if isinstance(item, Answer):
            assert round_up(item.plan.cost) == charge.receipt.loss
        else:
            assert item == charge


@pytest.mark.parametrize("name", ["ana", "bob"])
def test_the_command_line_adds_up(curator, name):
    folder = str(curator.vault.folder)
    command = ["transcript", "--as", name, "--vault", folder]
    found = CliRunner().invoke(command_line, [*command, "--json"])
    assert found.exit_code == 0, found.output
    shown = json.loads(found.stdout)
    assert [each["number"] for each in shown["charges"]] == sequences(curator, name)
    assert told(shown["charges"]) == spent(curator, name)
    assert Fraction(shown["account"]["exact"]["spent"]) == spent(curator, name)[0]
    parts, after = [], 0
    while True:
        step = [*command, "--json", "--limit", "3", "--after", str(after)]
        part = json.loads(CliRunner().invoke(command_line, step).stdout)["charges"]
        if not part:
            break
        parts, after = parts + part, part[-1]["number"]
    assert parts == shown["charges"]
    words = CliRunner().invoke(command_line, command).stdout
    assert "Spent so far" in words


@pytest.fixture(scope="module")
def served(curator):
    """Its server, with the tokens of both."""
    accounts = Accounts(curator.vault.states)
    issued = {name: accounts.issue(name, Role.ANALYST, days=1).text for name in ("ana", "bob")}
    app = application(curator)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client, accounts, issued


@pytest.mark.parametrize("name", ["ana", "bob"])
def test_rest_and_the_client_add_up(curator, served, name):
    client, _, tokens = served
    headers = {"Authorization": f"Bearer {tokens[name]}"}
    lines, path = [], "/api/v1/history?limit=4"
    while path:
        answer = client.get(path, headers=headers)
        assert answer.status_code == 200
        lines += answer.json()
        found = re.fullmatch(r'<([^>]+)>; rel="next"', answer.headers.get("link", ""))
        path = found.group(1) if found else None
    assert [each["number"] for each in lines] == sequences(curator, name)
    assert told(lines) == spent(curator, name)
    with listening(client.app) as url:
        remote = discreet.Client(url, tokens[name])
        assert list(remote.history()) == lines
        transcript = remote.transcript
    ids = [each.receipt.id if isinstance(each, Answer) else each["id"] for each in transcript]
    assert ids == [each["id"] for each in lines]


@pytest.mark.parametrize("name", ["ana", "bob"])
def test_the_page_adds_up(curator, served, name, monkeypatch):
    from discreet.server.pages import analyst as analyst_pages

    monkeypatch.setattr(analyst_pages, "PAGE", 4)
    client, accounts, tokens = served
    cookie = Logins(accounts, hours=1).cookie(accounts.identify(tokens[name]))
    amounts, path = [], "/history"
    while path:
        page = client.get(path, headers={"Cookie": f"{COOKIE}={cookie}"})
        assert page.status_code == 200
        amounts += re.findall(r'<td title="(?:epsilon|rho) (\S+) delta (\S+)">', page.text)
        found = re.search(r'rel="next" href="([^"]+)"', page.text)
        path = found.group(1) if found else None
    lines = [{"spent": {"rho": cost, "delta": delta}} for cost, delta in reversed(amounts)]
    assert told(lines) == spent(curator, name)
    assert len(lines) == len(sequences(curator, name))


def test_a_failure_has_a_cause_that_only_the_custodian_sees(curator, served):
    failed = [each for each in curator.session("ana").history() if each.outcome is Outcome.FAILURE]
    assert len(failed) == 1
    (cause,) = curator.vault.causes.newest(limit=10)
    assert (cause.analyst, cause.entry) == ("ana", failed[0].receipt.sequence)
    assert cause.cause == "the engine ran out of memory; raise memory_limit"
    content = (curator.vault.folder / "vault.db").read_bytes()
    content += (curator.vault.folder / "vault.db-wal").read_bytes()
    assert b"a secret row" not in content
    client, _, tokens = served
    for path in ("history", "answers"):
        headers = {"Authorization": f"Bearer {tokens['ana']}"}
        assert "memory" not in client.get(f"/api/v1/{path}", headers=headers).text


def test_an_outcome_is_not_listed_before_its_time(tmp_path):
    """Whatever is stored already: a look in between says what it said before."""
    from datetime import UTC, datetime

    with copied_curator(tmp_path / "c", people(), clock=InstantClock()) as curator:
        curator.grant("ana", epsilon=5)
        curator.remote_session("ana").sql(COUNT, epsilon=0.1)
        store = curator.vault.history._store
        for year, outcome in ((2000, Outcome.PENDING), (9999, Outcome.ANSWER)):
            clock = History(store, now=lambda year=year: datetime(year, 1, 1, tzinfo=UTC))
            (line,) = clock.after(0, analyst="ana")
            assert line.outcome is outcome
            assert line.visible_from is not None


def test_after_an_adoption_the_charges_since_are_added_to_what_was_adopted(tmp_path):
    """Totals that were taken over, charges that cannot be read any more, and an amendment."""
    import sqlite3

    with copied_curator(tmp_path / "c", people()) as curator:
        curator.grant("ana", epsilon=5)
        for place in range(3):
            curator.session("ana").sql(f"{COUNT} AND age > {place}", epsilon=Fraction(1, 3 + place))
        before = spent(curator, "ana")[0]
    raw = sqlite3.connect(tmp_path / "c" / "vault" / "vault.db")
    with raw:
        raw.execute("DROP TRIGGER entries_no_update")
        raw.execute("UPDATE entries SET event = 'x' WHERE sequence = 4")
    raw.close()
    with Curator.open(tmp_path / "c" / "vault", price_floor=0) as curator:
        curator.ledger.adopt({"why": "a test"})
        curator.session("ana").sql(f"{COUNT} AND age > 20", epsilon=Fraction(1, 7))
        curator.ledger.amend("analyst", "ana", Budget(epsilon=6), {"why": "more"})
        curator.session("ana").sql(f"{COUNT} AND age > 21", epsilon=Fraction(1, 9))
        adopted = curator.vault.history.find_adoption("ana")
        charges = curator.session("ana").history()
        assert [each.receipt.sequence for each in charges] == [3, 5, 7, 9]
        since = [each.receipt.loss for each in charges if each.receipt.sequence > adopted.entry]
        total = adopted.spent + fold(since, account_of(curator, "ana"))[0]
        assert (total, adopted.spent) == (spent(curator, "ana")[0], before)
        assert curator.vault.history.find_adoption("nobody").spent == 0


def test_kinds_of_labels():
    assert kind_of("The question about visits") == "question"
    assert kind_of("") == "other"
