"""A longer ledger makes no page and no list slower: what SQLite does for each, step by step, and
how often something is hashed is the same at 1,000 and at 100,000 entries. No clock is looked at.
"""

import hashlib

import pytest
from starlette.testclient import TestClient

from discreet.ledger import entry
from discreet.ledger.store import chain as _chain
from discreet.schema.table import Budget
from discreet.server.accounts import Accounts, Role
from discreet.server.application import application
from discreet.server.logins import COOKIE, Logins
from discreet.server.watch import Watch
from discreet.streams import Monitor
from support.clocks import InstantClock
from support.long_vaults import LOSS, lengthen
from support.vaults import copied_curator, people

pytestmark = pytest.mark.slow("servers")

SHORT, LONG = 1_000, 100_000
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age < 45"
LISTS = {  # whose, and where; {} is the number of an entry in the middle
    "ana": (
        "/api/v1/tables", "/api/v1/tables/visits", "/api/v1/budget", "/api/v1/history",
        "/api/v1/history?limit=100&after=5", "/api/v1/history?after={}", "/api/v1/answers",
        "/api/v1/answers?after=20", "/api/v1/monitors", "/api/v1/monitors/fever",
        "/api/v1/counters", "/api/v1/synopses", "/api/v1/releases", "/tables", "/tables/visits",
        "/ask", "/history", "/history?before={}", "/services", "/monitors/fever",
    ),
    "quin": (  # who asked long ago; all that came since is others'
        "/api/v1/history", "/api/v1/answers", "/api/v1/monitors", "/api/v1/budget", "/history",
        "/services",
    ),
    "cora": (
        "/api/v1/custodian/ledger", "/api/v1/custodian/ledger?after={}&limit=1000",
        "/api/v1/custodian/accounts", "/api/v1/custodian/paused", "/custodian",
        "/custodian?after=population:patients", "/custodian/accounts", "/custodian/ledger",
        "/custodian/ledger?before={}", "/custodian/ledger?before=12", "/custodian/tables/visits",
    ),
}  # fmt: skip


class MeasuredServer:
    """A server over one vault that grows, in one process, and who may come in."""

    def __init__(self, curator, client):
        self.curator, self.client = curator, client
        accounts = Accounts(curator.vault.states)
        roles = {"ana": Role.ANALYST, "quin": Role.ANALYST, "cora": Role.CUSTODIAN}
        self.tokens = {
            name: accounts.issue(name, role, days=1).text for name, role in roles.items()
        }
        logins = Logins(accounts, hours=1)
        self.cookies = {
            name: logins.cookie(accounts.identify(token)) for name, token in self.tokens.items()
        }

    def get(self, who, path):
        headers = {"Cookie": f"{COOKIE}={self.cookies[who]}"}
        if path.startswith("/api"):
            headers = {"Authorization": f"Bearer {self.tokens[who]}"}
        found = self.client.get(path, headers=headers)
        assert found.status_code == 200, (path, found.text[:500])
        return found

    def work(self, monkeypatch, who, path):
        """What one look makes SQLite and the hashes do."""
        self.get(who, path)  # what is remembered is remembered now
        database = self.curator.vault._store._database
        steps, hashed = [0], [0]

        def step():
            steps[0] += 1
            return 0

        class Hashing:
            @staticmethod
            def sha256(*given):
                hashed[0] += 1
                return hashlib.sha256(*given)

        lines = [line.connection for line in database._lines if line.connection is not None]
        for connection in lines:
            connection.set_progress_handler(step, 1)
        with monkeypatch.context() as patched:
            for module in (_chain, entry):
                patched.setattr(module, "hashlib", Hashing)
            self.get(who, path)
        for connection in lines:
            connection.set_progress_handler(None, 0)
        assert steps[0]
        return steps[0], hashed[0]


def measured(folder, lengths, lists, fault=None):
    """The work of pages and lists at several lengths of one ledger."""
    found = {}
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        copied_curator(folder, people(), clock=InstantClock(), budget="epsilon = 1000") as curator,
    ):
        monkeypatch.setattr(Watch, "start", lambda _: None)
        curator.ledger.add_account("population", "quiet", Budget(epsilon=1))
        for name in ("ana", "bob", "quin"):
            curator.grant(name, epsilon=500)
        for session in (curator.session("ana"), curator.session("quin")):
            session.sql(COUNT, epsilon=0.1)
            Monitor.open(session, COUNT, threshold=1000, epsilon=1, name="fever")
        if fault is not None:
            with curator.vault._store._database.writing() as connection:
                connection.execute(fault)
        with TestClient(application(curator), base_url="http://127.0.0.1") as client:
            served = MeasuredServer(curator, client)
            for length in lengths:
                lengthen(curator, analysts=("ana", "bob"), entries=length)
                assert curator.ledger.count() == length
                for who, paths in lists.items():
                    for path in paths:
                        # A page that is full at every length, with the same turns on it.
                        there = path.format(length - 400)
                        found[length, who, path] = served.work(monkeypatch, who, there)
    return found


@pytest.fixture(scope="module")
def works(tmp_path_factory):
    """The work of every page and list at both lengths."""
    return measured(tmp_path_factory.mktemp("long") / "h", (SHORT, LONG), LISTS)


@pytest.mark.parametrize(
    ("index", "who", "path"),
    [
        ("entries_adopted", "cora", "/custodian"),
        ("entries_by_population", "cora", "/custodian/ledger?before=12"),
        ("entries_by_analyst", "quin", "/history"),
        ("releases_by_analyst", "quin", "/api/v1/answers"),
        ("states_begun", "ana", "/services"),
        ("states_by_kind", "cora", "/custodian/accounts"),
    ],
)
def test_a_list_without_its_index_is_noticed(tmp_path, index, who, path):
    """Planted: a list that reads more of a longer ledger."""
    works = measured(tmp_path / "h", (800, 1600), {who: (path,)}, fault=f"DROP INDEX {index}")
    assert works[800, who, path] != works[1600, who, path]


def test_the_writer_leaves_a_sound_record_with_right_totals(tmp_path):
    with copied_curator(tmp_path / "h", people(), budget="epsilon = 1000") as curator:
        curator.grant("ana", epsilon=500)
        for length in (200, 333):
            lengthen(curator, analysts=("ana",), entries=length)
            assert curator.ledger.verify().sound
        assert curator.ledger.account("analyst", "ana").spent == 331 * LOSS.epsilon
        curator.session("ana").sql(COUNT, epsilon=0.1)
        assert curator.ledger.verify().sound
        assert len(curator.session("ana").history()) == 332


@pytest.mark.parametrize(
    ("who", "path"), [(who, path) for who, paths in LISTS.items() for path in paths]
)
def test_a_look_does_the_same_work_at_every_length(works, who, path):
    short, long = works[SHORT, who, path], works[LONG, who, path]
    assert short == long, (path, short, long)
