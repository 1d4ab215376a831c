"""Imports point one way: between layers and inside every package, which import-linter holds, and
never at what another module keeps to itself. Folders stay small enough to be read at a glance.
"""

import ast
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator

import pytest

from support.surface import ROOT, module_files, sources

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
        (
            "plan/model.py",
            "import discreet.plan.pipeline",
            "No cycles are allowed in discreet.plan",
        ),
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


def _private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def _owner(full: str) -> str | None:
    """Whose a dotted name is, if a part of it is private: what stands before that part."""
    parts = full.split(".")
    place = next((at for at, part in enumerate(parts) if _private(part)), None)
    return None if place is None else ".".join(parts[:place])


def _reached(module: ast.Module) -> Iterator[str]:
    """What a module imports from the package, and takes of what it imported, as dotted names."""
    names: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("discreet.") and alias.asname:
                    names[alias.asname] = alias.name
    yield from names.values()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base = names.get(node.value.id)
            yield from () if base is None else (f"{base}.{node.attr}",)


def strangers(name: str, module: ast.Module) -> list[str]:
    """The private modules and names of others that a module reaches for."""
    owners = {full: _owner(full) for full in _reached(module)}
    return [
        f"{name} reaches for {full}"
        for full, owner in owners.items()
        if owner is not None and name != owner and not name.startswith(f"{owner}.")
    ]


def test_nobody_reaches_for_what_another_package_keeps_private():
    found = [line for source in sources() for line in strangers(source.name, source.tree)]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "from discreet.attacks._draws import anything",
        "from discreet.loss import _rounded",
        "from discreet.plan.sql import calendar; calendar._days",
    ],
)
def test_a_private_name_of_another_is_noticed(line):
    assert strangers("discreet.cli.shared", ast.parse(line)) != []


def test_a_package_may_use_its_own_private_modules():
    inside = ast.parse("from discreet.attacks._draws import anything")
    assert strangers("discreet.attacks.tracing", inside) == []


MOST_MODULES = 16  # side by side in one folder
MOST_ALIKE = 9  # with the same first word
FEWEST_LINES = 30
SHORT: dict[str, str] = {}  # modules that may be shorter, each with the reason


def test_folders_are_small():
    folders: dict[str, list[str]] = {}
    for name, path in module_files().items():
        if path.name != "__init__.py":
            folder, _, own = name.rpartition(".")
            folders.setdefault(folder, []).append(own)
    crowded = {folder: len(own) for folder, own in folders.items() if len(own) > MOST_MODULES}
    alike = {
        (folder, word): count
        for folder, own in folders.items()
        for word, count in Counter(each.split("_")[0] for each in own).items()
        if count > MOST_ALIKE
    }
    assert (crowded, alike) == ({}, {})


def test_no_module_is_a_fragment():
    short = {
        name
        for name, path in module_files().items()
        if path.name != "__init__.py" and len(path.read_text().splitlines()) < FEWEST_LINES
    }
    assert short == SHORT.keys()
