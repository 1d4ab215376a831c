"""The examples of counters, joint questions and holdouts run, and do what they say."""

import re
import subprocess
import sys

import pytest

from support.surface import ROOT

pytestmark = pytest.mark.slow("examples")


def lines_of(name, folder):
    script = ROOT / "examples" / f"{name}.py"
    result = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert (folder / "vault").is_dir()
    return result.stdout.splitlines()


def test_the_counter_counts_two_years(tmp_path):
    lines = lines_of("counter", tmp_path)
    points = [re.findall(r"-?\d+", line.split(":")[1]) for line in lines if line[:5] == "up to"]
    assert len(points) == 24
    # 5,500 patients have some 27,000 visits; the last point is off by 10 half-widths once in 1e80.
    value, width = map(int, points[-1])
    assert abs(value - 27_000) < 1000 + 10 * width
    assert lines[0].startswith("Protected is, unit-level: all rows of one patient_id")


def test_joint_questions_refine_until_they_are_refused(tmp_path):
    lines = lines_of("joint", tmp_path)
    assert lines[0].startswith("Refused: with this question one row could add more than 5")
    assert lines[-1] == "Joint sensitivity 100 of 100, exact: True."
    ages = [tuple(map(int, re.findall(r"\d+", line.split(":")[0]))) for line in lines[1:-1]]
    assert ages[0][0] == 0
    assert ages[-1][1] == 110
    assert len(ages) >= 10  # 20 or so; fewer than 16 once in 10**5, than 10 once in 10**20


def test_the_holdout_is_not_fooled(tmp_path):
    lines = lines_of("holdout", tmp_path)
    training, holdout = (float(each) for each in re.findall(r"([\d.]+)%", " ".join(lines)))
    assert training > 57
    assert "the holdout says" in lines[1]
    assert abs(holdout - 50) < 5  # the coins are fixed; noise of scale 2 in 2,000 rows
    assert lines[2].startswith("Disagreements left: 2.")
