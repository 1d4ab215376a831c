"""docs/synth.md: its command and examples run on a small clinic, and it names what there is."""

import re
from dataclasses import fields

import pytest

from discreet.release.synth.service import _METHODS
from discreet.release.synth.stages import Stages
from support.command_line import write_clinic
from support.surface import ROOT

PAGE = (ROOT / "docs" / "synth.md").read_text()


@pytest.fixture
def clinic(tmp_path):
    made = write_clinic(tmp_path, patients=60)
    made.schema.write_text(
        made.schema.read_text().replace("epsilon = 30", "epsilon = 9\ndelta = 1e-6")
    )
    assert made.run("add", made.schema).status == 0
    return made


def test_the_command_runs(clinic, monkeypatch):
    monkeypatch.chdir(clinic.folder)
    (line,) = re.findall(r"^    discreet (synth .*)$", PAGE, flags=re.MULTILINE)
    assert clinic.run(*line.replace("10000", "100").split()).status == 0
    assert (clinic.folder / "rows.csv").exists()
    assert (clinic.folder / "pages" / "public.html").exists()


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block, names)
    assert len(names["rows"]["age"]) == 1000
    assert names["north"].error > 0
    assert names["other"].receipt != names["made"].receipt
    said = names["other"].method
    assert all(stage in said for stage in ("with_region", "laplace", "proportional", "shuffled"))
    ages = [-1 if age is None else age for age in names["other"].rows(50)["age"]]
    assert ages == sorted(ages)


def test_every_stage_is_on_the_page():
    for each in fields(Stages):
        assert re.search(rf"^\| `{each.name}` \|", PAGE, flags=re.MULTILINE)
        assert f"{each.name}=" in PAGE


def test_the_peers_are_pinned_and_name_no_source():
    lines = (ROOT / "requirements-peers.lock").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line)] == []
    assert "dpmm==0.1.9" in lines


def test_the_page_names_the_methods_and_the_benchmark():
    assert all(method in PAGE or method == "marginals" for method in _METHODS)
    assert (ROOT / "benchmarks" / "synth.py").exists()
    assert "benchmarks/synth.py" in PAGE
