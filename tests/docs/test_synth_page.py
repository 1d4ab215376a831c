"""docs/synth.md: its command runs on a small clinic, and it names what there is."""

import re

import pytest

from discreet.release.synth import _METHODS
from support.command_line import write_desk
from support.surface import ROOT

PAGE = (ROOT / "docs" / "synth.md").read_text()


@pytest.fixture
def desk(tmp_path):
    made = write_desk(tmp_path, patients=60)
    made.schema.write_text(
        made.schema.read_text().replace("epsilon = 30", "epsilon = 9\ndelta = 1e-6")
    )
    assert made.run("add", made.schema).status == 0
    return made


def test_the_command_runs(desk, monkeypatch):
    monkeypatch.chdir(desk.folder)
    (line,) = re.findall(r"^    discreet (synth .*)$", PAGE, flags=re.MULTILINE)
    assert desk.run(*line.replace("10000", "100").split()).status == 0
    assert (desk.folder / "rows.csv").exists()
    assert (desk.folder / "pages" / "public.html").exists()


def test_the_page_names_the_methods_and_the_benchmark():
    assert all(method in PAGE or method == "marginals" for method in _METHODS)
    assert (ROOT / "benchmarks" / "synth.py").exists()
    assert "benchmarks/synth.py" in PAGE
