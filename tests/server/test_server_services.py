"""Monitors, counters, synopses and releases over HTTP: charged as in the library, once; others'
look absent; what is downloaded can be read without a curator.
"""

import io
import json
import zipfile
from urllib.parse import unquote

import pytest

from discreet.release import check_folder
from discreet.server.accounts import Role
from discreet.streams import Synopsis
from support.served_vault import serve_vault

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age >= 0"
DAYS = "SELECT date_trunc('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"
MONITOR = {"name": "fever", "sql": COUNT, "threshold": 30, "alarms": 1, "epsilon": 2}
SPECIFICATION = """
[release]
table = "visits"
epsilon = 1
[[tables]]
kind = "marginals"
name = "regions"
columns = ["region"]
"""


@pytest.fixture
def rich(served):
    """An analyst whose budget has a delta, and another with nothing of his own."""
    served.curator.ledger.amend("population", "patients", budget(20, "1e-6"), {})
    for name in ("ria", "bob"):
        served.curator.grant(name, epsilon=10, delta=1e-6)
        served.tokens[name] = served.accounts.issue(name, Role.ANALYST, days=1).text
    return served


def budget(epsilon, delta):
    from fractions import Fraction

    from discreet.schema.table import Budget

    return Budget(epsilon=epsilon, delta=Fraction(delta))


def charges(served):
    return [each for each in served.curator.ledger.entries() if each.act.value == "charge"]


def test_checks_of_monitors_are_rationed_for_each_account(tmp_path):
    for served in serve_vault(tmp_path / "h", checks_per_minute=2):
        served.call("ana", "POST", "/monitors", json={**MONITOR, "alarms": 5})
        high = {"threshold": 10_000}
        said = [served.call("ana", "POST", "/monitors/fever/checks", json=high) for _ in range(4)]
        assert [each.status_code for each in said] == [200, 200, 429, 429]
        assert said[3].headers["Retry-After"] == "60"
        assert served.call("ana", "GET", "/monitors/fever").json()["checks"] == 2


def test_a_monitor_is_paid_once_and_alarms(served):
    made = served.call("ana", "POST", "/monitors", json=MONITOR)
    assert made.status_code == 201, made.text
    assert made.json()["alarms_left"] == 1
    assert made.json()["cost"]
    assert served.call("ana", "POST", "/monitors", json=MONITOR).status_code == 201
    assert len(charges(served)) == 1
    checked = served.call("ana", "POST", "/monitors/fever/checks", json={"threshold": -10_000})
    assert checked.json()["said"] == "above"
    refused = served.call("ana", "POST", "/monitors/fever/checks", json={})
    assert refused.status_code == 403
    assert len(charges(served)) == 1
    (listed,) = served.call("ana", "GET", "/monitors").json()
    assert listed == served.call("ana", "GET", "/monitors/fever").json()
    assert listed["alarms"][0]["said"] == "above"
    for secret in ("noise", "standing", "threshold_scale"):
        assert secret not in json.dumps(listed)
    renewed = served.call("ana", "POST", "/monitors/fever/runs")
    assert (renewed.status_code, renewed.json()["alarms_left"]) == (201, 1)
    assert len(charges(served)) == 2


def test_another_question_under_an_old_name_is_refused(served):
    served.call("ana", "POST", "/monitors", json=MONITOR)
    other = served.call("ana", "POST", "/monitors", json={**MONITOR, "threshold": 31})
    assert (other.status_code, len(charges(served))) == (400, 1)


def test_checks_are_seen_at_their_time(served):
    """The session of a check is a remote one: its outcome waits for its time."""
    served.call("ana", "POST", "/monitors", json=MONITOR)
    clock = served.curator._grid.clock
    start = clock.now()
    served.call("ana", "POST", "/monitors/fever/checks", json={})
    assert clock.now() - start >= 0.05


OTHERS = (
    ("GET", "/monitors/fever", None),
    ("POST", "/monitors/fever/checks", {}),
    ("POST", "/monitors/fever/runs", None),
    ("GET", "/synopses/fever", None),
    ("GET", "/synopses/fever/file", None),
    ("POST", "/synopses/fever/answers", {"sql": COUNT}),
    ("POST", "/synopses/fever/end", None),
    ("GET", "/counters/fever", None),
    ("POST", "/counters/fever/points", {"upto": "2024-03-01"}),
    ("GET", "/releases/fever", None),
    ("GET", "/releases/fever/file", None),
)


def test_services_of_others_look_absent(rich):
    rich.call("ana", "POST", "/monitors", json=MONITOR)
    for method, path, body in OTHERS:
        given = {} if body is None else {"json": body}
        refused = rich.call("bob", method, path, **given)
        absent = rich.call("bob", method, path.replace("fever", "nothing"), **given)
        assert refused.status_code == absent.status_code == 404, path
        assert refused.json() == absent.json()
        assert rich.call(None, method, path, **given).status_code == 401
        assert rich.call("cora", method, path, **given).status_code == 404


def test_a_counter_advances(rich):
    form = {"name": "monthly", "sql": DAYS, "epsilon": 1, "versions": 2}
    made = rich.call("ria", "POST", "/counters", json=form)
    assert made.status_code == 201, made.text
    assert made.json()["points"] == []
    new = rich.call("ria", "POST", "/counters/monthly/points", json={"upto": "2024-03-31"})
    assert [each["start"] for each in new.json()] == ["2024-01-01", "2024-02-01", "2024-03-01"]
    again = rich.call("ria", "POST", "/counters/monthly/points", json={"upto": "2024-03-31"})
    assert again.json() == []
    assert rich.call("ria", "GET", "/counters/monthly").json()["points"] == new.json()
    assert rich.call("ria", "GET", "/counters").json() == [{"name": "monthly"}]
    assert len(charges(rich)) == 1
    free = rich.call("ria", "POST", "/counters", json={"name": "other", "sql": DAYS})
    assert (free.status_code, len(charges(rich))) == (400, 1)


def test_a_synopsis_answers_and_is_downloaded(rich, tmp_path):
    form = {
        "name": "s1",
        "table": "visits",
        "columns": ["region"],
        "alpha": 0.1,
        "epsilon": 1,
        "order": 1,
    }
    made = rich.call("ria", "POST", "/synopses", json=form)
    assert made.status_code == 201, made.text
    assert made.json()["columns"] == ["region"]
    assert made.json()["notes"][0]["text"].startswith("visits: at most 2 rows of one patient")
    sql = "SELECT COUNT(*) FROM visits WHERE region = 'north'"
    told = [rich.call("ria", "POST", "/synopses/s1/answers", json={"sql": sql}) for _ in range(2)]
    assert told[0].json() == told[1].json()
    assert told[0].json()["source"] == "measured"
    assert len(charges(rich)) == 1
    file = rich.call("ria", "GET", "/synopses/s1/file")
    assert file.headers["content-disposition"] == 'attachment; filename="s1.npz"'
    (tmp_path / "s1.npz").write_bytes(file.content)
    assert Synopsis.load(tmp_path / "s1.npz").query(sql).value == pytest.approx(
        told[0].json()["value"], rel=1e-9
    )
    assert rich.call("ria", "POST", "/synopses/s1/end").json()["rounds_left"] == 0
    assert rich.call("ria", "GET", "/synopses").json() == [{"name": "s1"}]
    pure = rich.call("ana", "POST", "/synopses", json={**form, "name": "s2"})
    assert pure.status_code == 422


def test_a_release_is_made_once_and_checks_out(rich, tmp_path):
    form = {"name": "july", "specification": SPECIFICATION}
    shown = rich.call("ria", "POST", "/releases/preview", json=form)
    assert shown.status_code == 200, shown.text
    assert charges(rich) == []
    made = rich.call("ria", "POST", "/releases", json=form)
    assert made.status_code == 201, made.text
    assert len(charges(rich)) == 1
    again = rich.call("ria", "POST", "/releases", json=form)
    assert (again.status_code, len(charges(rich))) == (400, 1)
    assert rich.call("ria", "GET", "/releases/july").json() == made.json()
    file = rich.call("ria", "GET", "/releases/july/file")
    with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
        archive.extractall(tmp_path / "july")
    check_folder(tmp_path / "july")
    assert rich.call("ria", "GET", "/releases").json() == [{"name": "july"}]
    assert rich.curator.ledger.verify().sound


def test_a_specification_that_cannot_be_read_is_refused(rich):
    for text in ("", "[release", "[release]\n", "x = " + "[" * 3000, "a = 1"):
        refused = rich.call("ria", "POST", "/releases", json={"name": "r", "specification": text})
        assert (refused.status_code, charges(rich)) == (400, [])


def test_a_pause_stops_services_too(served):
    served.call("ana", "POST", "/monitors", json=MONITOR)
    served.call("cora", "PUT", "/custodian/paused", json={"paused": True})
    for path, body in (
        ("/monitors", {**MONITOR, "name": "x"}),
        ("/monitors/fever/checks", {}),
        ("/releases", {"name": "r", "specification": SPECIFICATION}),
    ):
        refused = served.call("ana", "POST", path, json=body)
        assert refused.json()["type"] == "urn:discreet:problem:paused"


def test_names_of_the_server_cannot_be_taken(served):
    """A service under the name of the account's own state would change who may come in."""
    taken = served.call("ana", "POST", "/monitors", json={**MONITOR, "name": "account"})
    assert (taken.status_code, charges(served)) == (400, [])
    assert served.call("ana", "GET", "/budget").status_code == 200


def test_services_of_every_script_over_http(rich):
    """Opened, listed, read by their paths, and downloaded under their own names."""
    for name in ("Fieber-März", "年齢", "नाम.2"):
        monitor = {"name": name, "sql": "SELECT COUNT(*) AS n FROM visits", "threshold": 9,
                   "alarms": 1, "epsilon": 0.2}  # fmt: skip
        assert rich.call("ria", "POST", "/monitors", json=monitor).status_code == 201
        assert rich.call("ria", "GET", f"/monitors/{name}").json()["name"] == name
        synopsis = {"name": f"{name}-s", "columns": ["region"], "table": "visits", "alpha": 0.5,
                    "epsilon": 0.5}  # fmt: skip
        opened = rich.call("ria", "POST", "/synopses", json=synopsis)
        assert opened.status_code == 201, opened.text
        found = rich.call("ria", "GET", f"/synopses/{name}-s/file")
        assert found.status_code == 200
        said = found.headers["content-disposition"]
        assert unquote(said.removeprefix("attachment; filename*=UTF-8''")) == f"{name}-s.npz"
    listed = rich.call("ria", "GET", "/monitors").json()
    assert {"Fieber-März", "年齢", "नाम.2"} <= {each["name"] for each in listed}
    for name in ("a b", "a%2Fb", "_a"):
        assert rich.call("ria", "GET", f"/monitors/{name}").status_code in (400, 404)


NO_NAMES = ["", "_a", "a b", "a/b", "cafe\u0301", "a\u200db", "a\u203fb", "\u00b2x", "\ufb01le",
            "\uff21", "\u3164", "a\u115f", "a\ufe0f", "a\u034f", "a" * 65]  # fmt: skip
NEW = {
    "/monitors": {"sql": "SELECT COUNT(*) AS n FROM visits", "threshold": 9, "epsilon": 0.2},
    "/counters": {"sql": DAYS, "epsilon": 1, "versions": 2},
    "/synopses": {"columns": ["region"], "table": "visits", "alpha": 0.5, "epsilon": 0.5},
    "/releases": {"specification": SPECIFICATION},
}


@pytest.mark.parametrize("path", NEW)
def test_a_name_that_is_none_is_refused_before_anything_is_paid(rich, path):
    before = rich.curator.ledger.count()
    for name in NO_NAMES:
        refused = rich.call("ria", "POST", path, json={**NEW[path], "name": name})
        assert refused.status_code in (400, 422), (name, refused.text)
    assert rich.curator.ledger.count() == before
    assert (
        rich.call("ria", "POST", path, json={**NEW[path], "name": "caf\u00e9"}).status_code == 201
    )
    assert rich.curator.ledger.count() > before
