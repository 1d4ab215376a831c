"""discreet synopsis, its page in the docs, and its example."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from support.command_line import Clinic
from support.surface import ROOT
from support.synopsis_vaults import make_vault, rows_of

PAGE = (ROOT / "docs" / "streams.md").read_text()
SECTION = PAGE[PAGE.index("\n## Synopses\n") :].split("\n## ")[1]
COUNT = "SELECT COUNT(*) FROM answers"
ROWS = rows_of(8000)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    make_vault(folder, ROWS).close()
    made = Clinic(folder)
    words = ("--as", "ana", "--epsilon", "4", "--alpha", "0.1", "--order", "1", "--json")
    opened = made.run("synopsis", "open", "first", "answers", "a, b,c", *words)
    assert opened.status == 0, opened.err
    assert opened.json["columns"] == ["a", "b", "c"]
    assert opened.json["rounds_left"] > 0
    assert opened.json["rho"] > 0
    return made


def test_questions_to_the_service_and_to_its_file(clinic):
    narrow, wide = f"{COUNT} WHERE c = 'x'", f"{COUNT} WHERE a AND b"
    asked = clinic.run("synopsis", "query", "first", narrow, wide, "--as", "ana", "--json")
    assert asked.status == 0, asked.err
    first, second = asked.json
    assert first["source"] == "measured"
    assert first["notes"] == second["notes"] != []
    shown = clinic.run("synopsis", "query", "first", narrow, "--as", "ana")
    assert all(f"Note: {note['text']}" in shown.out for note in first["notes"])
    truth = sum(row[2] == "x" for row in ROWS)
    assert abs(first["value"] - truth) < 5 * first["half_width"]  # nearly ten deviations
    # The columns say a quarter, the rows a half: 1.5 thresholds above it, where the noise of the
    # comparison is once in 10**15.
    assert second["source"] == "round"
    path = clinic.folder / "first.synopsis"
    saved = clinic.run("synopsis", "download", "first", path, "--as", "ana", "--json")
    assert saved.json["bytes"] == path.stat().st_size
    offline = clinic.run("synopsis", "query", path, narrow, wide, "--json").json
    assert [each["source"] for each in offline] == ["measured", "round"]
    assert offline[1]["value"] == pytest.approx(second["value"])
    shown = clinic.run("synopsis", "query", path, narrow)
    assert "measured" in shown.out
    assert "±" in shown.out


def test_refusals_have_their_status(clinic):
    assert clinic.run("synopsis", "query", "nothing", COUNT, "--as", "ana").status == 2
    assert (
        clinic.run("synopsis", "query", "first", "SELECT SUM(d) FROM answers", "--as", "ana").status
        == 1
    )
    assert clinic.run("synopsis", "query", clinic.folder / "no", COUNT).status == 2
    words = ("--as", "ana", "--epsilon", "4", "--alpha", "0.3", "--order", "1")
    other = clinic.run("synopsis", "open", "first", "answers", "a,b,c", *words)
    assert other.status == 2
    assert "choose another name" in other.err


@pytest.mark.slow("examples")
def test_the_page_runs(tmp_path, monkeypatch):
    """Its code, and then its commands on a vault like the one of the code."""
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", SECTION, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "docs/streams.md", "exec"), names)
    assert names["found"].source == "measured"
    lines = re.findall(r"^    discreet (synopsis .*)$", SECTION, flags=re.MULTILINE)
    assert len(lines) == 4
    clinic = Clinic(tmp_path / "many")
    for line in lines:
        words = shlex.split(
            line.replace("open habits", "open other").replace("download habits", "download other")
        )
        outcome = clinic.run(*words)
        assert outcome.status == 0, outcome.err


@pytest.mark.slow("examples")
def test_the_example_runs(tmp_path):
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "synopsis.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    said = dict(
        re.findall(r"^(.+?): (\d+).*\((\w+)\)$", result.stdout, flags=re.MULTILINE)[i][::2]
        for i in range(5)
    )
    assert said["smokes"] == "measured"
    assert said["reads AND cooks AND sings"] == "round"
    learnt = re.search(r"^reads AND cooks AND sings: (\d+)", result.stdout, flags=re.MULTILINE)
    assert abs(int(learnt[1]) - 10_000) < 2500
    assert (tmp_path / "habits.synopsis").is_file()
    assert "From the file:" in result.stdout
