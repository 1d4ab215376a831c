"""The layers of the design are held by import-linter, and the contract covers every module."""

import shutil
import subprocess
import sys
import tomllib

import pytest

from support.surface import ROOT, module_files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACT = PYPROJECT["tool"]["importlinter"]["contracts"][0]


def lint(folder) -> subprocess.CompletedProcess[str]:
    script = "import sys; from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", script, "--no-cache", "--config", str(folder / "pyproject.toml")],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contract_holds():
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "line", "blame"),
    [
        ("errors.py", "import discreet.loss", "discreet.errors is not allowed to import"),
        ("loss.py", "import discreet.mechanisms", "discreet.loss is not allowed to import"),
        ("stray.py", "import discreet.errors", "stray"),
    ],
)
def test_a_planted_import_is_caught(module, line, blame, tmp_path):
    shutil.copytree(ROOT / "src" / "discreet", tmp_path / "src" / "discreet")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src" / "discreet" / module).open("a") as file:
        file.write(f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert blame in " ".join(result.stdout.split())


def test_every_top_level_module_has_a_layer():
    top = {name.split(".")[1] for name in module_files() if "." in name}
    assert CONTRACT["exhaustive"] is True
    assert top <= {layer.strip("()") for layer in CONTRACT["layers"]}
