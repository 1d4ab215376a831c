"""Two curators on two folders with one ledger on a server: both answer, neither overspends."""

import shutil

import duckdb
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.curator.curator import Curator
from discreet.errors import BudgetExceeded, Unavailable

SCHEMA = """
[table]
name = "{name}"
source = "{source}"
population = "people"
[columns]
age = {{ type = "integer", lower = 0, upper = 50 }}
[budget]
epsilon = 1
"""
COUNT = "SELECT COUNT(*) AS n FROM visits"
SUM = "SELECT SUM(age) AS s FROM visits"


@pytest.fixture
def schema(tmp_path):
    source, file = tmp_path / "visits.parquet", tmp_path / "visits.toml"
    duckdb.sql(f"COPY (SELECT i % 40 AS age FROM range(500) t(i)) TO '{source}'")
    file.write_text(SCHEMA.format(name="visits", source=source))
    return file


@pytest.fixture
def curators(tmp_path, ledger_url):
    with Curator.open(ledger_url, folder=tmp_path / "one", price_floor=0) as one:
        one.grant("ana", epsilon=5)
        shutil.copytree(tmp_path / "one.seal", tmp_path / "two.seal")
        with Curator.open(ledger_url, folder=tmp_path / "two", price_floor=0) as two:
            yield one, two


def test_both_answer_and_neither_overspends(curators, schema):
    one, two = curators
    one.add_in_place(schema)
    first = one.session("ana").sql(COUNT, epsilon=0.5, key="july")
    again = two.session("ana").sql(COUNT, epsilon=0.5, key="july")
    assert again.free
    assert again.to_pandas().equals(first.to_pandas())
    assert not two.session("ana").sql(SUM, epsilon=0.5).free
    for curator in curators:
        with pytest.raises(BudgetExceeded, match=r"population 'people' to 1\.1"):
            curator.session("ana").sql(COUNT, epsilon=0.1)
        assert curator.ledger.account("population", "people").spent == 1
        assert curator.ledger.verify().sound


def test_prepared_rows_of_another_folder_are_missed_before_the_charge(curators, schema, tmp_path):
    one, two = curators
    one.add(schema)
    one.session("ana").sql(COUNT, epsilon=0.1)
    with pytest.raises(Unavailable, match=r"not in this vault's folder.*Nothing was run or charg"):
        two.session("ana").sql(SUM, epsilon=0.1)
    assert two.ledger.account("analyst", "ana").spent * 10 == 1
    copied = tmp_path / "two" / "prepared"
    shutil.copytree(tmp_path / "one" / "prepared", copied, dirs_exist_ok=True)
    assert not two.session("ana").sql(SUM, epsilon=0.1).free
    assert one.ledger.account("analyst", "ana").spent * 10 == 2


def test_the_command_line_finds_the_server_by_the_folder(curators, tmp_path):
    found = CliRunner().invoke(app, ["verify", "--vault", str(tmp_path / "two")])
    assert found.exit_code == 0, found.output
    assert "1" in found.output
    assert not (tmp_path / "two" / "vault.db").exists()
    assert curators[0].ledger.verify().entries == 1
