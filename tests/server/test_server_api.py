"""The REST interface: questions are charged once, refusals are problem documents, roles hold."""

import json

import pytest

SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


def test_a_question_is_explained_asked_and_given_again(served):
    told = served.call("ana", "POST", "/explain", json={"sql": SQL, "epsilon": 0.5}).json()
    assert told["admitted"]
    first = served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.5})
    assert first.status_code == 200, first.text
    found = first.json()
    assert [row["region"] for row in found["rows"]] == ["north", "south", "east", "empty"]
    again = served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 0.5}).json()
    assert again["free"]
    assert again["rows"] == found["rows"]
    receipt = found["receipt"]["id"]
    assert served.call("ana", "GET", f"/answers/{receipt}").json()["rows"] == found["rows"]
    (listed,) = served.call("ana", "GET", "/answers").json()
    assert listed.pop("number") == 1
    assert listed == {name: found["receipt"][name] for name in listed}
    assert (listed["id"], listed["cost"]) == (receipt, {"epsilon": "0.5"})
    assert served.call("ana", "GET", "/budget").json()["remaining"]["epsilon"] == 4.5


def test_tables_show_public_facts_only(served):
    (table,) = served.call("ana", "GET", "/tables").json()
    assert table["name"] == "visits"
    assert table["columns"][0] == {
        "name": "age", "type": "integer", "null": "drop", "lower": 0, "upper": 110, "step": 1.0,
        "description": "", "use": table["columns"][0]["use"],
    }  # fmt: skip
    assert "source" not in json.dumps(table)
    assert table["remaining"].pop("analyst")["epsilon"] == 5
    other = served.call("cora", "GET", "/tables/visits").json()
    assert other["remaining"].pop("analyst") is None
    assert other == table
    assert served.call("ana", "GET", "/tables/nothing").status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"sql": "SELECT age FROM visits", "epsilon": 1}, 422, "unsafe-query"),
        ({"sql": SQL, "epsilon": 50}, 403, "budget-exceeded"),
        ({"sql": SQL}, 400, "invalid-value"),
        ({"sql": SQL, "epsilon": -1}, 400, "invalid-value"),
        ({"sql": SQL, "epsilon": "1"}, 400, "invalid-value"),
        ({"sql": SQL, "epsilon": True}, 400, "invalid-value"),
        ({"sql": SQL, "epsilon": 1, "more": 1}, 400, "invalid-value"),
        ({"sql": "x" * 20_000, "epsilon": 1}, 400, "invalid-value"),
        ([1], 400, "invalid-value"),
    ],
)
def test_refusals_are_problem_documents_and_charge_nothing(served, body, status, kind):
    before = len(served.curator.ledger.entries())
    answer = served.call("ana", "POST", "/queries", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == f"urn:discreet:problem:{kind}"
    assert problem["status"] == status
    assert len(served.curator.ledger.entries()) == before


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_are_finite(served, text):
    body = f'{{"sql": "{SQL}", "epsilon": {text}}}'
    answer = served.call(
        "ana", "POST", "/queries", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/custodian/ledger"),
        ("GET", "/custodian/accounts"),
        ("POST", "/custodian/tables/visits/refresh"),
        ("GET", "/custodian/tables/visits/inspect"),
        ("PUT", "/custodian/paused"),
    ],
)
def test_what_is_forbidden_looks_absent(served, method, path):
    body = {"json": {"paused": True}} if method == "PUT" else {}
    refused = served.call("ana", method, path, **body)
    absent = served.call("ana", method, "/custodian/nothing")
    assert (refused.status_code, refused.json()) == (404, absent.json())
    assert served.call(None, method, path, **body).status_code == 401


def test_answers_of_others_look_absent(served):
    from discreet.server.accounts import Role

    served.curator.grant("bob", epsilon=1)
    served.tokens["bob"] = served.accounts.issue("bob", Role.ANALYST, days=1).text
    body = {"sql": SQL, "epsilon": 0.5}
    receipt = served.call("ana", "POST", "/queries", json=body).json()["receipt"]["id"]
    for form in ("", "/csv", "/svg", "/png", "/notebook"):
        assert served.call("ana", "GET", f"/answers/{receipt}{form}").status_code == 200
        refused = served.call("bob", "GET", f"/answers/{receipt}{form}")
        absent = served.call("bob", "GET", f"/answers/{'0' * 20}{form}")
        assert refused.status_code == 404
        assert refused.json() == absent.json()


def test_a_key_makes_a_request_safe_to_repeat(served):
    body = {"sql": SQL, "epsilon": 0.5, "key": "monday"}
    first, second = (served.call("ana", "POST", "/queries", json=body).json() for _ in range(2))
    assert first["rows"] == second["rows"]
    other = served.call("ana", "POST", "/queries", json={**body, "epsilon": 0.25})
    assert other.status_code == 400
    assert served.call("ana", "GET", "/budget").json()["remaining"]["epsilon"] == 4.5


def test_a_job_is_answered_later(served):
    import time

    started = served.call("ana", "POST", "/queries", json={"sql": SQL, "epsilon": 1, "wait": False})
    assert started.status_code == 202
    path = started.headers["location"].removeprefix("/api/v1")
    for _ in range(2400):
        found = served.call("ana", "GET", path).json()
        if found["state"] in ("done", "failed"):
            break
        time.sleep(0.05)
    assert found["state"] == "done"
    assert len(found["answer"]["rows"]) == 4
    assert served.call("cora", "GET", path).status_code == 404


def test_a_custodian_registers_grants_pauses_and_verifies(served):
    schema = (
        '[table]\nname = "more"\npopulation = "patients"\nunit = "patient"\nrows_per_unit = 2\n'
    )
    schema += "[columns]\nage = { type = 'integer', lower = 0, upper = 99 }\n"
    form = {"schema_text": schema, "source": "visits.parquet"}
    added = served.call("cora", "POST", "/custodian/tables", json=form)
    assert added.status_code == 201, added.text
    made = served.call(
        "cora", "POST", "/custodian/accounts", json={"name": "bob", "role": "analyst"}
    )
    assert made.status_code == 201
    served.tokens["bob"] = made.json()["token"]
    granted = served.call("cora", "PUT", "/custodian/accounts/bob/budget", json={"epsilon": 1.0})
    assert granted.json()["epsilon"] == 1
    body = {"sql": "SELECT COUNT(*) AS n FROM more", "epsilon": 0.5}
    assert served.call("bob", "POST", "/queries", json=body).status_code == 200
    served.call("cora", "PUT", "/custodian/paused", json={"paused": True})
    paused = served.call("bob", "POST", "/queries", json=body)
    assert (paused.status_code, paused.json()["type"][-6:]) == (503, "paused")
    assert "retry-after" in paused.headers
    served.call("cora", "PUT", "/custodian/paused", json={"paused": False})
    assert served.call("bob", "POST", "/queries", json=body).status_code == 200
    assert served.call("cora", "GET", "/custodian/verification").json()["sound"]
    shown = served.call("cora", "GET", "/custodian/ledger").json()
    assert shown["entries"][-1]["analyst"] == "bob"
    assert served.tokens["bob"] not in json.dumps(shown)
    listed = served.call("cora", "GET", "/custodian/accounts").json()
    assert served.tokens["bob"] not in json.dumps(listed)
    removed = served.call("cora", "DELETE", f"/custodian/accounts/bob/tokens/{made.json()['id']}")
    assert removed.status_code == 204
    assert served.call("bob", "GET", "/budget").status_code == 401


@pytest.mark.parametrize(
    "source",
    ["/etc/passwd", "../visits.parquet", "https://example.org/a.parquet", "link.parquet", "x.pkl",
     "spark:visits", "postgresql://h/db#t", "", "nothing.parquet", "other#table"],
)  # fmt: skip
def test_only_files_under_a_root_are_registered(served, tmp_path, source):
    outside = tmp_path / "outside.parquet"
    outside.write_bytes((served.folder / "visits.parquet").read_bytes())
    (served.folder / "link.parquet").symlink_to(outside)
    schema = "[table]\nname = 'more'\n[columns]\nage = { type = 'integer', lower = 0, upper = 9 }\n"
    form = {"schema_text": schema, "source": source}
    refused = served.call("cora", "POST", "/custodian/tables", json=form)
    assert refused.status_code == 400
    assert "more" not in served.curator.tables


def test_a_source_inside_the_schema_is_refused(served):
    schema = "[table]\nname = 'more'\nsource = '/etc/passwd'\n[columns]\n"
    form = {"schema_text": schema, "source": "visits.parquet"}
    refused = served.call("cora", "POST", "/custodian/tables", json=form)
    assert "beside the schema" in refused.json()["detail"]
