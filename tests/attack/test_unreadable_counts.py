"""How much of a source cannot be read is exact: the custodian is told, and nobody else. A planted
count and planted lines are in no answer to an analyst, no log, no entry and no file of the vault.
"""

import logging
import re
import struct

import pytest

from discreet.errors import SchemaError
from support.served_vault import serve_vault

GOOD, BAD = 9_000, 1_234_567
WORDS = (
    b"cannot be read",
    b"no records",
    b"not_for_release",
    b"lines_left_out",
    b"is_empty",
    b"has no rows",
    f"line {GOOD + 2}".encode(),
    f"lines {GOOD + 2}".encode(),
)
MOMENT = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+]00:00)?")
SCHEMA = """
[table]
name = "ages"
unreadable_share = 0.995
[columns]
age = { type = "integer", lower = 0, upper = 9 }
[budget]
epsilon = 9
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    yield from serve_vault(tmp_path_factory.mktemp("served"))


def shows(data: bytes) -> list[str]:
    """What of the report is in some bytes; digits inside of longer words are hashes and keys."""
    found = [word.decode() for word in WORDS if word in data]
    spelt = rf"(?<![0-9A-Za-z])({BAD}|{BAD:,})(?![0-9A-Za-z])"
    if re.search(spelt.encode(), data) or struct.pack("<q", BAD) in data:
        found.append(str(BAD))
    return found


def outside(served) -> dict[str, bytes]:
    """Every file around the prepared rows."""
    folder = served.curator.vault.folder
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "prepared" not in file.relative_to(folder).parts
    }


def seen_by_ana(served) -> list[tuple[int, bytes]]:
    """What an analyst gets to see without paying."""
    question = {"sql": "SELECT COUNT(*) AS n, AVG(age) AS a FROM ages", "epsilon": 0.01}
    asked = [
        served.call("ana", "GET", "/tables"),
        served.call("ana", "GET", "/tables/ages"),
        served.call("ana", "POST", "/explain", json=question),
        served.call("ana", "GET", "/budget"),
        served.call("ana", "GET", "/answers"),
        served.call("ana", "POST", "/custodian/tables/ages/refresh"),
        served.call("ana", "GET", "/custodian/tables/ages/inspect"),
        served.call("ana", "GET", "/custodian/ledger"),
    ]
    return [(each.status_code, each.content) for each in asked]


@pytest.mark.slow("servers")
def test_nobody_but_the_custodian_is_told(served, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    file = served.folder / "ages.csv"
    file.write_text("age\n" + "5\n" * GOOD + "x\n" * BAD)
    form = {"schema_text": SCHEMA, "source": "ages.csv"}
    added = served.call("cora", "POST", "/custodian/tables", json=form)
    assert added.status_code == 201, added.text
    assert added.json()["report"]["columns"] == [
        {
            "column": "age",
            "fault": "unreadable",
            "cells": GOOD + BAD,
            "count": BAD,
            "places": [f"line {GOOD + 2}", f"line {GOOD + 3}", f"line {GOOD + 4}"],
        }
    ]
    before = seen_by_ana(served)

    # A refresh that is refused looks like none.
    file.write_text("age\n" + "x\n" * BAD)
    changed = seen_by_ana(served)
    versions = [each.data_version for each in served.curator.vault.catalogue.tables()]
    entries = [each.hash for each in served.curator.ledger.entries()]
    refused = served.call("cora", "POST", "/custodian/tables/ages/refresh")
    assert refused.status_code == 400
    assert f"{BAD} of {BAD} cells" in refused.text  # the custodian's eyes
    assert seen_by_ana(served) == changed
    assert [each.data_version for each in served.curator.vault.catalogue.tables()] == versions
    assert [each.hash for each in served.curator.ledger.entries()] == entries

    for _, body in (*before, *changed):
        assert not shows(body)
    assert {name: shows(data) for name, data in outside(served).items() if shows(data)} == {}
    assert not shows("\n".join(record.getMessage() for record in caplog.records).encode())
    assert not shows("".join(capfd.readouterr()).encode())


def test_the_search_finds_what_is_planted():
    assert shows(f"count={BAD}".encode()) == [str(BAD)]
    assert shows(struct.pack("<q", BAD)) == [str(BAD)]
    assert shows(b"age: 3 of 4 cells cannot be read (line 2)") == ["cannot be read"]
    assert not shows(f"a{BAD}f".encode())


@pytest.mark.slow("servers")  # after the one that adds the table
def test_a_refusal_in_python_is_not_kept(served):
    with pytest.raises(SchemaError) as refused:
        served.curator.refresh("ages")
    assert str(BAD) in str(refused.value)
    assert {name for name, data in outside(served).items() if shows(data)} == set()


@pytest.mark.slow("servers")
def test_a_source_without_rows_is_told_to_nobody_else(tmp_path, caplog, capfd):
    """Twin sources, one of them without rows: analysts see the same bytes of both."""
    caplog.set_level(logging.DEBUG)
    seen = []
    for name, rows in (("full", "5\n" * 20), ("empty", "")):
        for served in serve_vault(tmp_path / name):
            (served.folder / "ages.csv").write_text("age\n" + rows)
            form = {"schema_text": SCHEMA, "source": "ages.csv"}
            added = served.call("cora", "POST", "/custodian/tables", json=form)
            assert added.status_code == 201, added.text
            assert added.json()["report"]["is_empty"] is (name == "empty")
            served.call("cora", "POST", "/custodian/tables/ages/refresh")
            found = seen_by_ana(served)
            assert not any(shows(body) for _, body in found)
            seen.append([(status, MOMENT.sub(b"", body)) for status, body in found])
            kept = outside(served)
            assert {file: shows(data) for file, data in kept.items() if shows(data)} == {}
    assert seen[0] == seen[1]
    assert not shows("\n".join(record.getMessage() for record in caplog.records).encode())
    assert not shows("".join(capfd.readouterr()).encode())
