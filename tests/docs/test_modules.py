"""The shape of the source: size, `__all__`, names, and what no module may do."""

import ast
import inspect
import tomllib

import pytest

import discreet
from support.surface import ROOT, load, module_files, public_modules, public_objects, tree

MOST_LINES = 600

ABBREVIATIONS = {"eps", "sens", "df"}
KEYWORD_ONLY = {"epsilon", "delta", "rho", "sigma"}
NOUNS_TO_AVOID = ("Manager", "Helper", "Utils", "Base")


@pytest.mark.parametrize("name", sorted(module_files()))
def test_module_size(name):
    lines = len(module_files()[name].read_text().splitlines())
    assert lines <= MOST_LINES, f"{name} has {lines} lines: find the second noun"


@pytest.mark.parametrize("name", public_modules())
def test_all_is_sorted_and_every_name_exists(name):
    module = load(name)
    names = getattr(module, "__all__", None)
    assert names is not None, f"{name} has no __all__"
    assert list(names) == sorted(set(names)), f"{name}.__all__ is not sorted"
    assert [public for public in names if not hasattr(module, public)] == []


@pytest.mark.parametrize("name", public_modules())
def test_every_public_definition_is_in_all(name):
    module = load(name)
    defined = {
        node.name
        for node in tree(name).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert defined <= set(module.__all__)


@pytest.mark.parametrize("name", sorted(module_files()))
def test_module_says_what_it_owns(name):
    text = ast.get_docstring(tree(name)) or ""
    assert len(text) > 30, f"{name} does not say what it owns"


@pytest.mark.parametrize("name", sorted(module_files()))
def test_packages_only_re_export(name):
    if module_files()[name].name != "__init__.py":
        return
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.If)
    strangers = [
        node
        for node in tree(name).body
        if not isinstance(node, allowed)
        and not (isinstance(node, ast.FunctionDef) and node.name.startswith("_"))
    ]
    assert strangers == []


def _imports(name: str) -> list[str]:
    found = []
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("name", sorted(module_files()))
def test_randomness_is_drawn_in_one_place(name):
    if name == "discreet.noise.bits":
        return
    parts = {part for full in _imports(name) for part in [full, full.split(".")[0]]}
    attributes = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    forbidden = {"random", "uuid", "numpy.random", "np.random", "os.urandom"}
    # Keys and names may come from `secrets`; numbers that could serve as noise may not.
    forbidden |= {f"secrets.{tool}" for tool in ("SystemRandom", "choice", "randbelow", "randbits")}
    assert not forbidden & (parts | attributes)


@pytest.mark.parametrize("name", sorted(module_files()))
def test_no_bare_or_broad_except(name):
    broad = {"Exception", "BaseException"}
    handlers = [node for node in ast.walk(tree(name)) if isinstance(node, ast.ExceptHandler)]
    lines = [
        node.lineno
        for node in handlers
        if (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in broad))
        and not isinstance(node.body[-1], ast.Raise)  # tidying up and raising again is fine
    ]
    assert lines == [], f"{name}: too broad an except on lines {lines}"


@pytest.mark.parametrize("name", sorted(module_files()))
def test_nothing_inside_imports_a_package_root(name):
    if module_files()[name].name == "__init__.py":
        return
    packages = {
        package for package, path in module_files().items() if path.name == "__init__.py"
    } - {"discreet"}
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom) and node.module in packages:
            taken = [f"{node.module}.{alias.name}" for alias in node.names]
            strangers = [full for full in taken if full not in set(module_files()) - packages]
            assert strangers == [], f"{name} imports {strangers} through a package"


@pytest.mark.parametrize("name", sorted(module_files()))
def test_names_are_whole_words(name):
    used = {node.id for node in ast.walk(tree(name)) if isinstance(node, ast.Name)}
    used |= {node.arg for node in ast.walk(tree(name)) if isinstance(node, ast.arg)}
    assert not used & ABBREVIATIONS
    classes = [node.name for node in ast.walk(tree(name)) if isinstance(node, ast.ClassDef)]
    assert [noun for noun in classes if noun.endswith(NOUNS_TO_AVOID)] == []


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("where", OBJECTS)
def test_privacy_parameters_are_keyword_only(where):
    thing = OBJECTS[where]
    if isinstance(thing, property) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        return
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.name in KEYWORD_ONLY:
            assert parameter.kind is parameter.KEYWORD_ONLY, f"{where}({parameter.name})"


@pytest.mark.parametrize("where", OBJECTS)
def test_no_boolean_mode_arguments(where):
    thing = OBJECTS[where]
    if inspect.isfunction(thing):
        modes = [name for name, kind in thing.__annotations__.items() if kind in (bool, "bool")]
        assert [name for name in modes if name != "return"] == []


@pytest.mark.parametrize("where", OBJECTS)
def test_no_inheritance_between_our_own_classes(where):
    thing = OBJECTS[where]
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        ours = [base for base in thing.__bases__ if base.__module__.startswith("discreet")]
        assert all(getattr(base, "_is_protocol", False) for base in ours)


def test_the_version_is_written_once_more_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert discreet.__version__ == project["version"]


def test_parts_load_when_named():
    for part in ("accounting", "errors", "loss", "mechanisms", "noise"):
        assert getattr(discreet, part).__name__ == f"discreet.{part}"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = discreet.nothing
