"""Files under a root are looked at again whenever they are read: a link that was put in place of
one, or of its folder, leads nowhere.
"""

import shutil

import pytest

from discreet.server.pages.register import files_of
from discreet.server.settings import Settings
from support.pace import thinned
from support.vaults import people, write_source

SCHEMA = """
[table]
name = "stays"
population = "guests"
unit = "patient"
rows_per_unit = 2
[columns]
age = { type = "integer", lower = 0, upper = 110 }
[budget]
epsilon = 9
"""
SQL = "SELECT COUNT(*) AS n FROM stays"
VAULTS = ("vault.db", "ledger")


@pytest.fixture
def placed(served, tmp_path):
    """A file in a folder of the root, and a secret outside."""
    folder = served.folder / "open"
    folder.mkdir()
    write_source(folder, people(40), "stays.parquet")
    outside = tmp_path / "secrets"
    outside.mkdir()
    write_source(outside, people(400), "stays.parquet")
    return folder, outside


def register(served, **how):
    body = {"schema_text": SCHEMA, "source": "open/stays.parquet", **how}
    made = served.call("cora", "POST", "/custodian/tables", json=body)
    assert made.status_code == 201, made.text


def swap_file(folder, outside):
    (folder / "stays.parquet").unlink()
    (folder / "stays.parquet").symlink_to(outside / "stays.parquet")


def swap_folder(folder, outside):
    shutil.rmtree(folder)
    folder.symlink_to(outside, target_is_directory=True)


def make_pipe(folder, _):
    import os

    (folder / "stays.parquet").unlink()
    os.mkfifo(folder / "stays.parquet")


def version(served):
    return served.curator.vault.catalogue.table("stays").data_version


@pytest.mark.parametrize("swap", [swap_file, swap_folder, make_pipe])
def test_what_was_put_in_place_of_a_file_is_not_read(served, placed, swap):
    register(served)
    assert served.call("cora", "POST", "/custodian/tables/stays/refresh").status_code == 200
    assert served.call("cora", "GET", "/custodian/tables/stays/inspect").status_code == 200
    before = version(served)
    swap(*placed)
    for method, path in (("POST", "refresh"), ("GET", "inspect")):
        refused = served.call("cora", method, f"/custodian/tables/stays/{path}")
        assert refused.status_code == 400
        assert "Nothing was read" in refused.json()["detail"]
        assert "secrets" not in refused.text
    assert version(served) == before


@pytest.mark.parametrize("swap", thinned([swap_file, swap_folder], 2, "servers"))
def test_without_the_look_the_secret_would_be_read(served, placed, swap):
    """The attack is real: the operator's own command, which trusts the machine, follows it."""
    register(served)
    before = version(served)
    swap(*placed)
    served.curator.refresh("stays")
    assert version(served) == before + 1
    assert served.curator.inspect("stays")["rows kept"] == 400


@pytest.mark.parametrize("swap", [swap_file, swap_folder])
def test_a_question_to_a_table_in_place_does_not_follow_it(served, placed, swap):
    register(served, in_place=True)
    body = {"sql": SQL, "epsilon": 0.5}
    assert served.call("ana", "POST", "/queries", json=body).status_code == 200
    swap(*placed)
    refused = served.call("ana", "POST", "/queries", json={**body, "epsilon": 0.25})
    assert refused.status_code == 503
    assert "Nothing was run or charged" in refused.json()["detail"]
    assert served.call("cora", "POST", "/custodian/tables/stays/refresh").status_code == 400


def test_new_rows_in_the_same_place_are_read(served, placed):
    register(served)
    before = version(served)
    write_source(placed[0], people(50), "stays.parquet")
    assert served.call("cora", "POST", "/custodian/tables/stays/refresh").status_code == 200
    assert version(served) == before + 1


def test_absent_tables_are_absent(served):
    assert served.call("cora", "POST", "/custodian/tables/none/refresh").status_code == 404
    assert served.call("cora", "GET", "/custodian/tables/none/inspect").status_code == 404


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("mark", VAULTS)
def test_a_vault_under_a_root_is_no_source(served, mark, in_place):
    vault = served.folder / "kept"
    (vault / "prepared").mkdir(parents=True)
    (vault / mark).write_text("postgresql://db.example/ledger\n")
    write_source(vault / "prepared", people(40), "rows.parquet")
    (served.folder / "link.parquet").symlink_to(vault / "prepared" / "rows.parquet")
    before = served.curator.vault.catalogue.tables(), served.curator.ledger.accounts()
    for source in ("kept/prepared/rows.parquet", "link.parquet"):
        body = {"schema_text": SCHEMA, "source": source, "in_place": in_place}
        refused = served.call("cora", "POST", "/custodian/tables", json=body)
        assert refused.status_code == 400
        assert "Nothing was added." in refused.text
    assert (served.curator.vault.catalogue.tables(), served.curator.ledger.accounts()) == before
    settings = Settings(roots=(served.folder,))
    assert "kept/prepared/rows.parquet" not in files_of(settings)
