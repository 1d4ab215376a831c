"""The demo: five questions, released values only, a second run from the ledger, no surprises."""

import importlib.util
import os
import re
import shlex

import pytest

from discreet.curator import access
from discreet.demo import clinic, tour
from discreet.noise.bits import SystemBits
from discreet.noise.bits import system as system_bits
from support.command_line import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def runs(folder):
    """Two runs in the same folder, and the seconds that each took of processors."""
    found = []
    for _ in range(2):
        start = os.times()
        outcome = run("demo", "--output", folder)
        found.append((outcome, sum(os.times()[:4]) - sum(start[:4])))
    assert [outcome.status for outcome, _ in found] == [0, 0]
    return found


@pytest.fixture(scope="module")
def printed(runs) -> list[str]:
    """What two runs in the same folder print."""
    return [outcome.out for outcome, _ in runs]


def test_five_questions_with_cost_answer_and_what_is_left(printed):
    first = printed[0]
    for number in range(1, 6):
        assert re.search(rf"^{number}\. \w.*\?", first, flags=re.MULTILINE)
    assert first.count("offered: ") == 5
    assert first.count("   cost: epsilon ") == 3
    assert first.count("left of ana: epsilon ") == 5
    assert first.count("REFUSED.") == 2
    assert "the budget is 1. Ask at a lower price" in " ".join(first.split())
    assert "is the privacy unit" in first


def test_prices_add_up_to_what_is_left(printed):
    costs = [float(cost) for cost in re.findall(r"   cost: epsilon ([\d.]+)", printed[0])]
    left = [float(left) for left in re.findall(r"left of ana: epsilon ([\d.]+)", printed[0])]
    assert left[0] == pytest.approx(1 - costs[0])
    assert left[2] == pytest.approx(1 - sum(costs), abs=1e-4)
    assert left[2] == left[3] == left[4]


def test_the_region_table_has_an_interval_around_every_average(printed):
    rows = re.findall(
        r"(north|east|south|west|coast|hills)\W+([\d.]+) │ +\[([\d.]+), ([\d.]+)\]", printed[0]
    )
    assert [row[0] for row in rows] == ["north", "east", "south", "west", "coast", "hills"]
    for _, value, low, high in rows:
        assert float(low) <= float(value) <= float(high)


def test_a_second_run_is_answered_from_the_record(printed):
    first, second = printed
    assert "earlier run" in second
    assert "earlier run" not in first
    assert second.count("free: it had cost epsilon ") == 3
    tables = [re.findall(r"^ +[┃│].*$", text, flags=re.MULTILINE) for text in printed]
    assert tables[0] == tables[1]


def test_the_folder_holds_what_was_promised(printed, folder):
    assert (folder / "bill_by_region.svg").read_text().startswith("<svg")
    for name in ("visits.parquet", "visits.toml", "vault/vault.db"):
        assert (folder / name).is_file()
        assert str(folder) in printed[0]


def test_what_to_type_next_can_be_typed(printed):
    lines = re.findall(r"^  (discreet .*)$", printed[0], flags=re.MULTILINE)
    (served,) = [line for line in lines if " --serve " in line]
    assert run(*shlex.split(served)[1:], "--help").status == 0  # it would serve for ever
    lines.remove(served)
    assert len(lines) == 6
    outcomes = [run(*shlex.split(line)[1:]) for line in lines]
    assert [outcome.status for outcome in outcomes] == [0] * 6
    assert "Free" in outcomes[2].out
    assert "sound" in outcomes[4].out


def test_exact_counts_are_not_printed(printed, folder):
    import duckdb

    with duckdb.connect(":memory:") as connection:
        source = connection.read_parquet(str(folder / "visits.parquet"))
        assert source.columns[0] == "patient_id"
        rows = connection.execute("SELECT count(*) FROM source").fetchone()[0]
        people = connection.execute("SELECT count(DISTINCT patient_id) FROM source").fetchone()[0]
        most = connection.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM source GROUP BY patient_id)"
        ).fetchone()[0]
    assert people == clinic.PATIENTS
    assert 480_000 < rows < 520_000
    assert most > 20  # the bound on rows has something to do
    assert f"{rows:,}" not in printed[0]


def test_the_clinic_is_the_same_everywhere(tmp_path):
    import duckdb

    digests = []
    for name in ("one.parquet", "two.parquet"):
        clinic.write_clinic(tmp_path / name, patients=500)
        rows = duckdb.read_parquet(str(tmp_path / name)).fetchall()
        digests.append(rows)
    assert digests[0] == digests[1]
    assert digests[0][0][2] in ("north", "east", "south", "west", "coast", "hills")
    clinic.write_clinic(tmp_path / "three.parquet", patients=500, seed="other")
    assert duckdb.read_parquet(str(tmp_path / "three.parquet")).fetchall() != digests[0]


def test_two_fresh_runs_differ_because_the_noise_is_fresh(tmp_path, capsys):
    tables = []
    for name in ("one", "two"):
        tour(tmp_path / name, patients=100)
        tables.append(re.findall(r"^ +│.*$", capsys.readouterr().out, flags=re.MULTILINE))
    assert tables[0] != tables[1]


def test_the_demo_draws_on_the_system_source():
    assert isinstance(system_bits, SystemBits)
    assert access.release_rows.__defaults__ == (system_bits,)


def test_without_the_plots_extra_the_tour_goes_on(tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    without = lambda name, *more: None if name == "vl_convert" else find(name, *more)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", without)
    tour(tmp_path, patients=50)
    assert "Chart" not in capsys.readouterr().out


def test_the_tour_takes_seconds(runs):
    outcome, seconds = runs[0]
    assert 0 < seconds < 30  # of processors, which others do not lengthen
    assert "Type next" in outcome.out
