"""Benchmarks that need no peer still run: a measurement that stops half-way tells nothing."""

import json
import subprocess
import sys

import pytest

from support.surface import ROOT


@pytest.mark.slow("examples")
@pytest.mark.parametrize("name", ["counter", "marginals", "sparse"])
def test_a_benchmark_prints_its_rows(name):
    words = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), "--json"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) > 5
    assert all(row["ours"] > 0 for row in rows)
