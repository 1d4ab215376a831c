"""Nothing of an outcome is seen before its time, through any route: worlds whose engine is fast, is
slow or fails answer every other request with the same bytes until then.
"""

from datetime import UTC, datetime
from functools import partial

import pytest

from discreet.curator.runs.pacing import ResponseGrid
from discreet.ledger.store import book as _book
from discreet.server.application import application
from discreet.server.context import ServerContext
from discreet.server.watch import Watch
from support.fit import rejects
from support.vaults import curator_of, people
from support.worlds import API, COUNT, SPECIFICATION, Going, base_of, routes_of, world_of

pytestmark = pytest.mark.slow("servers")

NEW = "SELECT COUNT(*) AS n FROM visits WHERE age < 50"
NORTH = "SELECT COUNT(*) FROM visits WHERE region = 'north' AND age >= 50"

STARTS = {  # what runs an engine for an analyst: (the route, who, the body)
    "a question": ("POST /api/v1/queries", {"sql": NEW, "epsilon": 0.1}),
    "a question with a key": ("POST /api/v1/queries", {"sql": NEW, "epsilon": 0.1, "key": "k1"}),
    "a job": ("POST /api/v1/queries", {"sql": NEW, "epsilon": 0.1, "wait": False, "key": "k1"}),
    "a question with an error": (
        "POST /api/v1/queries", {"sql": "SELECT AVG(age) AS a FROM visits", "error": 30}),
    "a page's question": ("POST /ask", {"sql": NEW, "epsilon": "0.1", "action": "ask"}),
    "a check": ("POST /api/v1/monitors/{name}/checks", {}),
    "a page's check": ("POST /monitors/{name}/check", {}),
    "points": ("POST /api/v1/counters/{name}/points", {"upto": "2024-03-01"}),
    "a synopsis": (
        "POST /api/v1/synopses",
        {"name": "s1", "table": "visits", "columns": ["region"], "alpha": 0.1, "epsilon": 0.5}),
    "a round": ("POST /api/v1/synopses/{name}/answers", {"sql": NORTH}),
    "a page's round": ("POST /synopses/{name}", {"sql": NORTH}),
    "an end": ("POST /api/v1/synopses/{name}/end", None),
    "a release": ("POST /api/v1/releases", {"name": "r1", "specification": SPECIFICATION}),
}  # fmt: skip

LOOKS = {  # what may be asked meanwhile: who else asks it besides the analyst herself
    "GET /api/v1/openapi.json": (),
    "GET /api/v1/jobs/{name}": (),
    "GET /api/v1/tables": ("bob",),
    "GET /api/v1/tables/{name}": (),
    "GET /api/v1/budget": ("bob",),
    "GET /api/v1/history": ("bob",),
    "GET /api/v1/answers": ("bob",),
    "GET /api/v1/answers/{receipt}": ("bob",),
    "GET /api/v1/answers/{receipt}/csv": (),
    "GET /api/v1/answers/{receipt}/png": (),
    "GET /api/v1/answers/{receipt}/svg": (),
    "GET /api/v1/answers/{receipt}/notebook": (),
    "GET /api/v1/monitors": ("bob",),
    "GET /api/v1/monitors/{name}": ("bob",),
    "GET /api/v1/counters": (),
    "GET /api/v1/counters/{name}": (),
    "GET /api/v1/synopses": (),
    "GET /api/v1/synopses/{name}": (),
    "GET /api/v1/synopses/{name}/file": (),
    "GET /api/v1/releases": ("bob",),
    "GET /api/v1/releases/{name}": (),
    "GET /api/v1/releases/{name}/file": (),
    "POST /api/v1/explain": ("bob",),
    "POST /api/v1/releases/preview": (),
    "POST /api/v1/monitors": (),  # begins and is charged, but reads no row
    "POST /api/v1/monitors/{name}/runs": (),
    "POST /api/v1/counters": (),
    "GET /api/v1/custodian/ledger": ("cora",),
    "GET /api/v1/custodian/accounts": ("cora",),
    "GET /api/v1/custodian/paused": ("cora",),
    "GET /api/v1/custodian/verification": ("cora",),
    "GET /": (None,),
    "GET /login": (None,),
    "GET /static/{name}": (),
    "GET /tables": (),
    "GET /tables/{name}": (),
    "GET /ask": (),
    "POST /ask/preview": (),
    "GET /history": ("bob",),
    "GET /answers/{receipt}": (),
    "GET /answers/{receipt}/{form}": (),
    "GET /services": ("bob",),
    "GET /monitors/{name}": (),
    "GET /synopses/{name}": (),
    "GET /custodian": ("cora",),
    "GET /custodian/accounts": ("cora",),
    "GET /custodian/ledger": ("cora",),
    "GET /custodian/checks": (),
    "GET /custodian/register": ("cora",),
    "GET /custodian/tables/{name}": ("cora",),
    "GET /health": (None,),
    "GET /metrics": (None,),
}
CUSTODIANS = {  # acts of the custodian's, which an analyst does not reach
    "POST /api/v1/custodian/tables",
    "POST /api/v1/custodian/tables/{name}/refresh",
    "GET /api/v1/custodian/tables/{name}/inspect",
    "POST /api/v1/custodian/accounts",
    "PUT /api/v1/custodian/accounts/{name}/budget",
    "POST /api/v1/custodian/accounts/{name}/tokens",
    "DELETE /api/v1/custodian/accounts/{name}/tokens",
    "DELETE /api/v1/custodian/accounts/{name}/tokens/{token}",
    "PUT /api/v1/custodian/paused",
    "POST /api/v1/custodian/audit",
    "POST /custodian/pause",
    "POST /custodian/tables/{name}/inspect",
    "POST /custodian/tables/{name}/refresh",
    "POST /custodian/accounts",
    "POST /custodian/accounts/token",
    "POST /custodian/accounts/revoke",
    "POST /custodian/checks",
    "POST /custodian/register",
}
ENTRANCE = {"POST /login", "POST /logout"}  # these know tokens, and nothing of questions

BODIES = {
    "POST /api/v1/explain": {"sql": NEW, "epsilon": 0.1},
    "POST /api/v1/releases/preview": {"name": "r1", "specification": SPECIFICATION},
    "POST /api/v1/monitors": {"name": "other", "sql": COUNT, "threshold": 5, "epsilon": 0.1},
    "POST /api/v1/counters": {
        "name": "c9", "versions": 1, "buckets": 12, "rho": 0.001,
        "sql": "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m",
    },
    "POST /ask/preview": {"sql": NEW, "epsilon": "0.1"},
}  # fmt: skip


class Fixed(datetime):
    """The time of every entry that is written."""

    @classmethod
    def now(cls, tz=None):  # noqa: ARG003
        return datetime(2200, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def unwatched(monkeypatch):
    """No check in the background: when it ends is another thing than what the engine does."""
    monkeypatch.setattr(Watch, "start", lambda _: None)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return base_of(tmp_path_factory.mktemp("visible") / "base")


def _path(route, base, job=""):
    names = {"/monitors/": "fever", "/counters/": "months", "/synopses/": "s0", "/releases/": "r0",
             "/tables/": "visits", "/static/": "style.css", "/jobs/": job or "nothing-here",
             "/accounts/": "ria"}  # fmt: skip
    path = route.partition(" ")[2].replace("{receipt}", base["receipt"])
    name = next((value for mark, value in names.items() if mark in path), "")
    return path.replace("{name}", name).replace("{form}", "csv").replace("{token}", "x")


def test_every_route_has_a_case(tmp_path):
    with curator_of(tmp_path / "c", people()) as curator:
        there = {f"{method} {path}" for method, path in routes_of(application(curator))}
    cases = {route for route, _ in STARTS.values()} | set(LOOKS) | CUSTODIANS | ENTRANCE
    assert there == cases


SLOW_LOOKS = {  # the same whatever runs, and slow to make: looked at beside a question only
    "GET /api/v1/openapi.json",
    "GET /api/v1/answers/{receipt}/png",
    "GET /api/v1/answers/{receipt}/svg",
    "GET /static/{name}",
    "GET /custodian/register",
}


def _looked(world, base, job, looks):
    """What every route tells everyone, while something runs; a few begin something themselves."""
    seen = {}
    for route, others in looks.items():
        path, body = _path(route, base, job), BODIES.get(route)
        for who in ("ria", *others):
            waiting = world.clock.waiting
            going = Going(partial(world.ask, who, route.partition(" ")[0], path, body))
            if going.answered(world.clock, waiting):
                seen[route, who] = world.said(going.done())
            else:
                seen[route, who] = (0, {}, b"waits")
                world.held.append(going)
    return seen


def _started(world, base, start):
    """Begin something; return while it waits for its time, with the name of its job."""
    route, body = start
    going = Going(lambda: world.ask("ria", "POST", _path(route, base), body))
    going.until_held(world.clock)
    job = going.done().json()["job"] if body and body.get("wait") is False else ""
    return going, job


def check_all_worlds_say_the_same(name, looks, base, folder):
    """Fast, slow and failing engines: the same bytes from every route until the outcome's time,
    and then the outcome. Jobs have random names, which are left out.
    """
    seen, ends = {}, {}
    for mode in ("fast", "slow", "fails"):
        with world_of(base, folder / mode, mode) as world:
            going, job = _started(world, base, STARTS[name])
            looked = _looked(world, base, job, looks)
            seen[mode] = {
                key: (status, headers, body.replace(job.encode(), b"-") if job else body)
                for key, (status, headers, body) in looked.items()
            }
            world.clock.go_on()
            ends[mode] = going.done().status_code
    for key, first in seen["fast"].items():
        assert first[0] < 500, key
        assert first == seen["slow"][key], (key, "slow")
        assert first == seen["fails"][key], (key, "fails")
    assert ends["slow"] == ends["fails"]
    if not STARTS[name][1] or STARTS[name][1].get("wait") is not False:
        assert ends["fast"] != ends["slow"]


@pytest.mark.parametrize("name", STARTS)
def test_before_its_time_every_route_says_the_same_in_all_worlds(name, base, tmp_path, monkeypatch):
    monkeypatch.setattr(_book, "datetime", Fixed)
    few = {route: LOOKS[route] for route in LOOKS if route not in SLOW_LOOKS}
    check_all_worlds_say_the_same(name, LOOKS if name == "a question" else few, base, tmp_path)


@pytest.mark.parametrize("name", ["a question", "a check", "a round", "a release"])
def test_an_outcome_that_is_told_when_it_is_ready_is_noticed(name, base, tmp_path, monkeypatch):
    """The fault that was found, planted again: the list of answers knows what waits."""
    monkeypatch.setattr(_book, "datetime", Fixed)
    ready, history = [], ServerContext.history

    def within(grid, seconds, work):
        until = grid.clock.now() + float(grid.deadline(seconds))

        def done():
            result = work()
            if grid.clock.now() <= until:
                ready.append(grid.clock)  # one for each world
            return result

        return grid.clock.race(done, until)

    def told(server, who, **page):
        known = {"number": 10**6} if server.curator._grid.clock in ready else {"number": 10**5}
        return [*history(server, who, **page), known]

    looks = {"GET /api/v1/history": ("bob",)}
    check_all_worlds_say_the_same(name, looks, base, tmp_path / "sound")
    monkeypatch.setattr(ResponseGrid, "within", within)
    monkeypatch.setattr(ServerContext, "history", told)
    assert rejects(check_all_worlds_say_the_same, name, looks, base, tmp_path / "planted")


def test_the_custodians_acts_are_not_for_analysts(base, tmp_path):
    with world_of(base, tmp_path / "w", "fast") as world:
        for route in sorted(CUSTODIANS):
            method = route.partition(" ")[0]
            refused = world.ask("ria", method, _path(route, base), {})
            assert refused.status_code == 404, route


def test_the_same_question_again_waits_and_gets_the_same(base, tmp_path):
    """Also under its key, from a job, and on a page: one charge, one outcome, one time."""
    body = {"sql": NEW, "epsilon": 0.1, "key": "k1"}
    for mode, status in (("fast", 200), ("fails", 503)):
        with world_of(base, tmp_path / mode, mode) as world:
            charged = len(world.curator.ledger.entries())
            first = Going(lambda: world.ask("ria", "POST", f"{API}/queries", body))
            first.until_held(world.clock)
            again = Going(lambda: world.ask("ria", "POST", f"{API}/queries", body))
            other = Going(lambda: world.ask("ria", "POST", f"{API}/queries", {**body, "key": "k2"}))
            assert world.ask("ria", "GET", f"{API}/budget").status_code == 200
            world.clock.go_on()
            ended = [each.done() for each in (first, again, other)]
            assert [each.status_code for each in ended] == [status] * 3
            told = [each.json().get("rows", each.json().get("detail")) for each in ended]
            assert told[0] == told[1] == told[2]
            assert len(world.curator.ledger.entries()) == charged + 1


def test_what_is_late_is_a_failure_for_good(base, tmp_path):
    """The charge stays, the late result is never stored, and its key gives the failure again."""
    body = {"sql": NEW, "epsilon": 0.1, "key": "k1"}
    with world_of(base, tmp_path / "slow", "slow") as world:
        before = world.ask("ria", "GET", f"{API}/budget").json()
        going = Going(lambda: world.ask("ria", "POST", f"{API}/queries", body))
        going.until_held(world.clock)
        assert world.ask("ria", "GET", f"{API}/budget").json() != before  # moves at the charge
        world.clock.go_on()
        assert going.done().status_code == 503
        again = world.ask("ria", "POST", f"{API}/queries", body)
        assert again.status_code == 410  # and says that it is final
        assert again.json()["detail"].startswith(f"{going.done().json()['detail']} This is final")
        assert world.ask("ria", "POST", f"{API}/queries", body).json() == again.json()
        assert len(world.ask("ria", "GET", f"{API}/answers").json()) == 1
        assert b'paid="charged"' not in world.ask(None, "GET", "/metrics").content
        entry = world.curator.ledger.entries()[-1]
        assert entry.said["answer_seconds"] == "0.05"
        ledger = world.ask("cora", "GET", f"{API}/custodian/ledger").json()["entries"]
        assert ledger[-1]["visible_from"] == entry.visible_from > entry.time
        assert world.curator.vault.requests._releases.paid_by(entry.sequence) is None
