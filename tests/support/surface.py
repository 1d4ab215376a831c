"""What the project consists of: its modules, public names and tracked files, for tests/docs."""

import ast
import importlib
import inspect
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


@cache
def module_files() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted((SOURCE / "discreet").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def is_public(name: str) -> bool:
    """Whether no part of a dotted name is private."""
    return not any(part.startswith("_") for part in name.split("."))


def public_modules() -> list[str]:
    """The modules a user may import."""
    return [name for name in module_files() if is_public(name)]


@cache
def tree(name: str) -> ast.Module:
    """The syntax tree of a module of the package."""
    return ast.parse(module_files()[name].read_text())


def load(name: str) -> ModuleType:
    """The module itself."""
    return importlib.import_module(name)


def public_objects() -> Iterator[tuple[str, Any]]:
    """Every public function and class, and every public method and property of those classes."""
    for name in public_modules():
        module = load(name)
        for public in getattr(module, "__all__", []):
            thing = getattr(module, public, None)
            if getattr(thing, "__module__", None) != name:
                continue  # re-exported: looked at where it is defined
            if inspect.isfunction(thing):
                yield f"{name}.{public}", thing
            elif inspect.isclass(thing):
                yield f"{name}.{public}", thing
                yield from _members(f"{name}.{public}", thing)


def _members(prefix: str, owner: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        if inspect.isfunction(member) or isinstance(member, property):
            yield f"{prefix}.{name}", member


def docstring_nodes(name: str) -> Iterator[tuple[str, str]]:
    """Every docstring in a module, private ones too, with where it stands."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield f"{name}:{getattr(node, 'name', 'module')}", text


@cache
def tracked_files() -> list[Path]:
    """What is, or is about to be, in the repository: text files only."""
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    paths = [ROOT / name for name in listing.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]
