"""The shape of the source: size, `__all__`, names, and what no module may do.

Each lint is one test that lists all failures, and has a planted fault beside it.
"""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

import discreet
from support.surface import (
    ROOT,
    Source,
    exports,
    is_public,
    load,
    module_files,
    public_objects,
    public_sources,
    sources,
)

MOST_LINES = 600

ABBREVIATIONS = {"eps", "sens", "df"}
KEYWORD_ONLY = {"epsilon", "delta", "rho", "sigma"}
NOUNS_TO_AVOID = ("Manager", "Helper", "Utils", "Base")
# Keys and names may come from `secrets`; numbers that could serve as noise may not.
RANDOM = {
    *("random", "uuid", "numpy.random", "np.random", "os.urandom", "secrets.SystemRandom"),
    *("secrets.choice", "secrets.randbelow", "secrets.randbits"),
}
PACKAGES = {name for name, path in module_files().items() if path.name == "__init__.py"}


def too_long(modules: Iterable[Source]) -> Iterator[str]:
    for source in modules:
        lines = len(source.text.splitlines())
        if lines > MOST_LINES:
            yield f"{source.name} has {lines} lines: find the second noun"


def incomplete_exports(modules: Iterable[Source]) -> Iterator[str]:
    for source in modules:
        names = exports(source)
        defined = {
            node.name
            for node in source.tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        if names is None:
            yield f"{source.name} has no __all__"
        elif names != sorted(set(names)):
            yield f"{source.name}.__all__ is not sorted"
        else:
            missing = {name for name in defined if is_public(name)} - set(names)
            yield from (f"{source.name}.__all__ lacks {name}" for name in sorted(missing))


def silent_modules(modules: Iterable[Source]) -> Iterator[str]:
    for source in modules:
        if len(ast.get_docstring(source.tree) or "") <= 30:
            yield f"{source.name} does not say what it owns"


def busy_packages(modules: Iterable[Source]) -> Iterator[str]:
    """Packages that do more than export; a private function may load parts when named."""
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.If)
    for source in modules:
        for node in source.tree.body if source.is_package else []:
            private = isinstance(node, ast.FunctionDef) and node.name.startswith("_")
            if not isinstance(node, allowed) and not private:
                yield f"{source.name}, line {node.lineno}"


def imported(source: Source) -> Iterator[tuple[str, str]]:
    """What is imported: the module, and the name taken from it."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def strange_randomness(modules: Iterable[Source]) -> Iterator[str]:
    for source in modules:
        if source.name == "discreet.noise.bits":
            continue
        used = {f"{module}.{name}".strip(".") for module, name in imported(source)}
        used |= {module.split(".")[0] for module, _ in imported(source)}
        used |= {
            f"{node.value.id}.{node.attr}"
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        yield from (f"{source.name} uses {tool}" for tool in sorted(used & RANDOM))


def broad_excepts(modules: Iterable[Source]) -> Iterator[str]:
    """A handler of everything; tidying up and raising again is fine."""
    broad = {"Exception", "BaseException"}
    for source in modules:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
                caught = ast.unparse(node.type) if node.type else "BaseException"
                if set(re.findall(r"\w+", caught)) & broad:
                    yield f"{source.name}, line {node.lineno}"


def imports_of_package_roots(modules: Iterable[Source]) -> Iterator[str]:
    inner = set(module_files()) - PACKAGES
    for source in modules:
        if not source.is_package:
            for module, name in imported(source):
                full = f"{module}.{name}"
                if name and module in PACKAGES - {"discreet"} and full not in inner:
                    yield f"{source.name} imports {full} through a package"


def unclear_names(modules: Iterable[Source]) -> Iterator[str]:
    for source in modules:
        nodes = list(ast.walk(source.tree))
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        used |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        unclear = used & ABBREVIATIONS | {one for one in classes if one.endswith(NOUNS_TO_AVOID)}
        yield from (f"{source.name}: {name}" for name in sorted(unclear))


MODULE_LINTS = {
    too_long: Source("discreet.planted", "\n" * 601),
    silent_modules: Source("discreet.planted", '"""Says little."""'),
    busy_packages: Source("discreet.planted", "class Work: ...", is_package=True),
    strange_randomness: Source("discreet.planted", "import random"),
    broad_excepts: Source("discreet.planted", "try: ...\nexcept Exception: ..."),
    imports_of_package_roots: Source("discreet.planted", "from discreet.noise import BitSource"),
    unclear_names: Source("discreet.planted", "def work(eps): ..."),
}


@pytest.mark.parametrize("lint", MODULE_LINTS)
def test_modules(lint):
    faults = list(lint(sources()))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("lint", "fault"), MODULE_LINTS.items())
def test_a_planted_fault_is_found(lint, fault):
    assert len(list(lint([fault]))) == 1


@pytest.mark.parametrize(
    ("lint", "text"),
    [
        (strange_randomness, "from os import urandom"),
        (strange_randomness, "import numpy as np\nnp.random.normal()"),
        (strange_randomness, "import secrets\nsecrets.choice([1])"),
        (broad_excepts, "try: ...\nexcept: ..."),
        (broad_excepts, "try: ...\nexcept (OSError, Exception): ..."),
        (unclear_names, "class WorkManager: ..."),
    ],
)
def test_other_forms_of_a_fault_are_found(lint, text):
    assert len(list(lint([Source("discreet.planted", text)]))) == 1


def test_exports_are_sorted_and_complete():
    faults = list(incomplete_exports(public_sources()))
    faults += [
        f"{source.name}.{name}"
        for source in public_sources()
        for name in exports(source) or []
        if not hasattr(load(source.name), name)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    "text", ["SIZE = 3", "__all__ = ['b', 'a']", "__all__ = []\ndef work(): ..."]
)
def test_faulty_exports_are_found(text):
    assert len(list(incomplete_exports([Source("discreet.planted", text)]))) == 1


def positional_privacy_parameters(objects: Mapping[str, Any]) -> Iterator[str]:
    for where, thing in objects.items():
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            continue
        function = getattr(thing, "__func__", thing)
        if not (inspect.isfunction(function) or inspect.isclass(function)):
            continue
        for one in inspect.signature(function).parameters.values():
            if one.name in KEYWORD_ONLY and one.kind is not one.KEYWORD_ONLY:
                yield f"{where}({one.name})"


def boolean_modes(objects: Mapping[str, Any]) -> Iterator[str]:
    for where, thing in objects.items():
        function = getattr(thing, "__func__", thing)
        if inspect.isfunction(function):
            modes = {
                name for name, kind in function.__annotations__.items() if kind in (bool, "bool")
            }
            yield from (f"{where}({name})" for name in sorted(modes - {"return"}))


def inheritance(objects: Mapping[str, Any]) -> Iterator[str]:
    for where, thing in objects.items():
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            ours = [base for base in thing.__bases__ if base.__module__.startswith("discreet")]
            if not all(getattr(base, "_is_protocol", False) for base in ours):
                yield where


def _mode(rows: int, *, quick: bool) -> bool:
    return quick and rows > 0


OBJECT_LINTS = {
    positional_privacy_parameters: lambda delta: delta,
    boolean_modes: _mode,
    inheritance: type("Planted", (discreet.loss.Pure,), {}),
}


@pytest.mark.parametrize("lint", OBJECT_LINTS)
def test_public_objects(lint):
    faults = list(lint(public_objects()))
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("lint", "fault"), OBJECT_LINTS.items())
def test_a_planted_object_is_found(lint, fault):
    assert len(list(lint({"planted": fault}))) == 1


def test_the_version_is_written_once_more_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert discreet.__version__ == project["version"]


def test_parts_load_when_named():
    for part in ("accounting", "errors", "loss", "mechanisms", "noise"):
        assert getattr(discreet, part).__name__ == f"discreet.{part}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = discreet.nothing
