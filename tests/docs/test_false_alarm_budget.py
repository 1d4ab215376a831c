"""A run that makes more statistical checks than the budget allows fails, on any worker count."""

import os
import shutil
import subprocess
import sys

import pytest

from support.surface import ROOT

SUITE = """
import pytest
from support.fit import check_rate

@pytest.mark.parametrize("part", range(4))
def test_many(part):
    for step in range({checks}):
        assert check_rate(50, 100, 0.5, name=f"{{part}}-{{step}}") > 0
"""


@pytest.mark.parametrize(
    ("checks", "status", "verdict", "options"),
    [
        (250, 0, "within", ()),
        pytest.param(251, 1, "OVER", ("-n", "2"), marks=pytest.mark.slow("kills and processes")),
        (126, 1, "OVER", ("-m", "not slow")),  # each part of the suite has half of the budget
    ],
)
def test_the_count_is_held_to_the_budget(checks, status, verdict, options, tmp_path):
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_many.py").write_text(SUITE.format(checks=checks))
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 passed" in result.stdout
    assert f"{4 * checks} statistical checks" in result.stdout
    assert verdict in result.stdout
    assert result.returncode == status
