"""What the project consists of: its modules, public names and tracked files, for tests/docs."""

import ast
import importlib
import inspect
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

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


@dataclass(frozen=True)
class Source:
    """A module's dotted name and text; a lint can be given a planted one."""

    name: str
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)


@dataclass(frozen=True)
class Definition:
    """A function, a class or a member of a class, with its dotted name."""

    where: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

    @property
    def docstring(self) -> str:
        """Its docstring, or nothing."""
        return ast.get_docstring(self.node) or ""


@cache
def sources() -> tuple[Source, ...]:
    """Every module of the package."""
    return tuple(
        Source(name, path.read_text(), path.name == "__init__.py")
        for name, path in module_files().items()
    )


def public_sources() -> list[Source]:
    """The modules a user may import."""
    return [source for source in sources() if is_public(source.name)]


def definitions(source: Source) -> Iterator[Definition]:
    """Functions, classes and members of classes of a module, private ones too."""
    for node in source.tree.body:
        if _is_definition(node):
            yield Definition(f"{source.name}.{node.name}", node)
            if isinstance(node, ast.ClassDef):
                for member in filter(_is_definition, node.body):
                    yield Definition(f"{source.name}.{node.name}.{member.name}", member)


def _is_definition(node: ast.stmt) -> TypeGuard[Any]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return not any(ast.unparse(one).endswith("overload") for one in node.decorator_list)
    return isinstance(node, ast.ClassDef)


def exports(source: Source) -> list[str] | None:
    """`__all__`, which the module of the whole package computes; none where there is none."""
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
        if [ast.unparse(one) for one in targets] == ["__all__"]:
            if isinstance(node.value, ast.List):
                return [str(one) for one in ast.literal_eval(node.value)]
            return list(load(source.name).__all__)
    return None


def load(name: str) -> ModuleType:
    """The module itself."""
    return importlib.import_module(name)


@cache
def public_objects() -> dict[str, Any]:
    """Every public function and class, and every public method and property of those classes."""
    found = {}
    for source in public_sources():
        module = load(source.name)
        for definition in definitions(source):
            if is_public(definition.where):
                path = definition.where.removeprefix(f"{source.name}.").split(".")
                owner = module if len(path) == 1 else getattr(module, path[0])
                found[definition.where] = inspect.getattr_static(owner, path[-1])
    return found


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
