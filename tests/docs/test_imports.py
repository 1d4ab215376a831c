"""What importing costs: little time, and none of the heavy packages."""

import subprocess
import sys

import pytest

LIMIT_SECONDS, LIMIT_RATIO = 0.3, 3  # the second for slow machines: as many times numpy's own
PARTS = "import discreet.mechanisms, discreet.accounting, discreet.noise"
HEAVY = ["scipy", "rich", "typer", "click", "vl_convert", "pydantic", "hypothesis", "pytest"]


def run(script: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return result.stdout.strip()


@pytest.mark.parametrize("statement", ["import discreet", PARTS])
def test_import_adds_little_to_numpy(statement):
    script = (
        "import time; before = time.process_time(); import numpy; start = time.process_time(); "
        f"{statement}; print(start - before, time.process_time() - start)"
    )
    runs = [[float(part) for part in run(script).split()] for _ in range(5)]
    numpy, ours = (min(parts) for parts in zip(*runs, strict=True))
    assert ours <= max(LIMIT_SECONDS, LIMIT_RATIO * numpy)


@pytest.mark.parametrize("statement", ["import discreet", PARTS])
def test_import_loads_nothing_heavy(statement):
    loaded = set(run(f"{statement}; import sys; print(*sys.modules)").split())
    assert [name for name in HEAVY if name in loaded] == []
    assert "discreet" in loaded


def test_the_root_alone_loads_no_numerics():
    loaded = set(run("import discreet, sys; print(*sys.modules)").split())
    assert not loaded & {"numpy", "cryptography"}
