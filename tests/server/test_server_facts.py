"""The custodian's facts stay the custodian's: where data and vault lie, hosts, databases and
fingerprints are planted, and every route and message is searched for them, as everyone.
"""

import base64
import json

import pytest

import discreet
from discreet.curator.curator import Curator
from discreet.curator.replay import replay
from discreet.ledger.releases import Release
from discreet.server.accounts import Role
from discreet.server.application import application
from discreet.server.context import ServerContext
from support.clocks import InstantClock
from support.served_vault import listening
from support.vaults import people, write_schema, write_source
from support.worlds import API, SPECIFICATION, base_of, routes_of, world_of

pytestmark = pytest.mark.slow("servers")

SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
NORTH = "SELECT COUNT(*) FROM visits WHERE region = 'north' AND age >= 50"
BODIES = {
    "/queries": [
        {"sql": SQL, "epsilon": 0.1},
        {"sql": SQL, "epsilon": 0.2, "wait": False},
        {"sql": "SELECT AVG(age) AS a FROM visits", "error": 30},
        {"sql": SQL, "epsilon": 1e6},
        {"sql": "SELECT age FROM visits", "epsilon": 1},
        {"sql": "SELECT COUNT(*) FROM prepared", "epsilon": 1},
        {"sql": f"SELECT n * 2 AS m FROM ({SQL}) AS q", "epsilon": 0.1},
        {"sql": f"SELECT wrong FROM ({SQL}) AS q", "epsilon": 0.1},
        {"sql": "SELECT COUNT(*) FROM source", "epsilon": 1},
        {"sql": ""},
    ],
    "/explain": [
        {"sql": SQL, "epsilon": 0.1},
        {"sql": "SELECT * FROM read_csv('x')", "epsilon": 1},
        {"sql": f"SELECT n * 2 AS m FROM ({SQL}) AS q", "epsilon": 0.1},
    ],
    "/monitors": [{"name": "other", "sql": NORTH, "threshold": 5, "epsilon": 0.1}],
    "/monitors/fever/checks": [{}, {"sql": "SELECT 1"}],
    "/counters/months/points": [{"upto": "2024-03-01"}],
    "/synopses/s0/answers": [{"sql": NORTH}, {"sql": "SELECT 1"}],
    "/releases": [{"name": "r1", "specification": SPECIFICATION}],
    "/releases/preview": [{"name": "r1", "specification": SPECIFICATION}, {"name": "r2"}],
    "/ask": [{"sql": SQL, "epsilon": "0.3", "action": "ask"}, {"sql": "x", "action": "ask"}],
    "/ask/preview": [{"sql": SQL, "epsilon": "0.1"}],
    "/synopses/s0": [{"sql": NORTH}],
    "/monitors/fever/check": [{}],
}
NAMED = {
    "monitors": "fever", "counters": "months", "synopses": "s0", "releases": "r0",
    "tables": "visits", "static": "style.css", "accounts": "ria", "jobs": "nothing-here",
}  # fmt: skip


def canaries(base, curator):
    """Everything planted that no analyst may read, in the forms in which it could leave."""
    folder = base["folder"]
    known = curator.vault.catalogue.table("visits")
    assert known.prepared is not None
    assert known.fingerprint
    words = [
        str(folder), folder.name, f"{folder}/visits.parquet", "vault.db", known.prepared,
        known.fingerprint.hex(), base64.b64encode(known.fingerprint).decode(), "worker.py",
    ]  # fmt: skip
    return [word.encode() for word in words]


def check(found, secrets, where):
    for place in (found.content, repr(dict(found.headers)).encode()):
        for secret in secrets:
            assert secret not in place, (where, secret, place[:300])


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return base_of(tmp_path_factory.mktemp("facts") / "canary-folder-7c1f")


@pytest.mark.parametrize(
    ("who", "mode"),
    [
        *(("ria", mode) for mode in ("fast", "fails", "changed", "gone", "unanchored")),
        *(("bob", mode) for mode in ("fast", "gone")),
        (None, "fast"),
    ],
)
def test_no_route_tells_where_anything_is(base, tmp_path, who, mode):
    """In good order, with a failing engine, a changed source, lost rows and a lost anchor."""
    with world_of(
        base, tmp_path / "canary-folder-7c1f", "fails" if mode == "fails" else "fast"
    ) as w:
        secrets = canaries(base, w.curator)
        secrets.append(str(tmp_path).encode())
        w.clock.go_on()
        if mode == "gone":
            prepared = w.curator.vault.catalogue.table("visits").prepared
            (w.curator.vault.folder / "prepared" / prepared).unlink()
        if mode == "unanchored":
            next((tmp_path / "canary-folder-7c1f").rglob("anchor")).unlink()
        if mode == "changed":
            w.curator._warehouse.current = _changed
        walked = 0
        for method, route in sorted(routes_of(w.client.app)):
            path = route
            for mark, name in NAMED.items():
                path = path.replace(f"/{mark}/{{name}}", f"/{mark}/{name}")
            path = path.replace("{receipt}", base["receipt"]).replace("{form}", "csv")
            for body in BODIES.get(path.removeprefix(API), [None]):
                found = w.ask(who, method, path.replace("{token}", "x"), body)
                check(found, secrets, (method, path, body))
                walked += 1
                if found.status_code == 202:
                    check(w.ask(who, "GET", found.headers["location"]), secrets, path)
        assert walked > 80


def _changed(name):
    raise discreet.errors.InvalidValue(f"source '/else/canary-folder-7c1f/{name}' cannot be read.")


def test_the_plant_is_found_where_a_surface_forgets(base, tmp_path, monkeypatch):
    """Planted: messages as they are, as before."""
    monkeypatch.setattr(ServerContext, "tell_analyst", lambda _, refusal: str(refusal))
    with world_of(base, tmp_path / "w", "fast") as world:
        world.curator._warehouse.current = _changed
        found = world.ask("ria", "POST", f"{API}/queries", {"sql": SQL, "epsilon": 0.7})
        with pytest.raises(AssertionError):
            check(found, [b"canary-folder-7c1f"], "planted")


def test_what_is_sent_and_stored_holds_no_source(base, tmp_path):
    """The regression: the body of a release had the absolute path of the file."""
    with world_of(base, tmp_path / "w", "fast") as world:
        answer = world.ask("ria", "GET", f"{API}/answers/{base['receipt']}").json()
        schemas = json.loads(answer["release"]["body"])["schemas"]
        assert [json.loads(each)["source"] for each in schemas] == [None]
        assert [json.loads(each)["budget"] for each in schemas] == [None]
        stored = world.curator.vault.releases.find_cited(base["receipt"], analyst="ria")
        assert b"visits.parquet" not in stored.body
        for state in ("s0", "r0", "fever", "months"):
            body = world.curator.vault.states.newest(state, analyst="ria").body
            assert b"visits.parquet" not in body, state


def test_bodies_of_earlier_versions_are_read_and_not_sent(tmp_path):
    """A vault that was filled before: its answers replay for free, and leave without a source."""
    folder = tmp_path / "canary-folder-7c1f"
    folder.mkdir()
    write_source(folder, people())
    with Curator.open(folder / "vault", clock=InstantClock(), price_floor=0) as curator:
        curator.add(write_schema(folder))
        curator.grant("ana", epsilon=5)
        first = curator.session("ana").sql(SQL, epsilon=0.5)
        made = curator.vault.releases.find_cited(first.receipt.id, analyst="ana")
        table = curator.tables["visits"]
        body = {**json.loads(made.body), "schemas": [table.to_json()]}
        assert "visits.parquet" in json.dumps(body)
        old = Release(key=made.key, body=json.dumps(body).encode(), receipt=made.receipt)
        assert replay(old).receipt == first.receipt
        curator.vault.releases.store(made.key, made.receipt, old.body)  # the newest under its key
        desk_of = application(curator)
        token = desk_of.state.server.accounts.issue("ana", Role.ANALYST, days=1).text
        with listening(desk_of) as url:
            client = discreet.Client(url, token)
            again = client.sql(SQL, epsilon=0.5)
            sent = client._wire.content(f"/answers/{first.receipt.id}")
        assert (again.free, again.to_dicts()) == (True, first.to_dicts())
        assert (again.receipt, again.intervals()) == (first.receipt, first.intervals())
        assert b"canary-folder-7c1f" not in sent
