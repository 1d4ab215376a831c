"""The example of monitors runs, and does what it says."""

import subprocess
import sys

import pytest

from support.surface import ROOT

pytestmark = pytest.mark.slow("examples")


def test_the_example_watches_until_its_alarms_are_used(tmp_path):
    script = ROOT / "examples" / "monitor.py"
    result = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert "A run costs epsilon 1, however many weeks it takes." in lines
    assert "Left: epsilon 1." in lines
    # Every week of the wave is 600 or more from the threshold: the noise errs once in 10**20.
    assert [line.split(":")[1].split(",")[0].strip() for line in lines if "week " in line[:6]] == [
        *["below"] * 5,
        *["above"] * 2,
    ]
    assert (tmp_path / "vault").is_dir()
