"""CONTRIBUTING.md lists every folder, and the way of a question names what exists."""

import ast
import re

from support.surface import ROOT, module_files

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
SOURCE = ROOT / "src" / "discreet"


def folders(text: str) -> list[str]:
    """The folders that a page lists, one row each, below the package itself."""
    part = text.partition("## Where things are")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z_/]+)` \| \S", part, flags=re.MULTILINE)


def missing(text: str) -> list[str]:
    """The files and functions of a page, written `file`: `name`, that do not exist."""
    part = text.partition("## How a question is answered")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w/]+\.py)`: `([\w.]+)`", part)
    assert len(named) > 12
    return [f"{file}: {name}" for file, name in named if not _defines(file, name)]


def _defines(file: str, name: str) -> bool:
    path = SOURCE / file
    body = ast.parse(path.read_text()).body if path.is_file() else []
    kinds = (ast.FunctionDef, ast.ClassDef)
    for part in name.split("."):
        inside = [node for node in body if isinstance(node, kinds) and node.name == part]
        if not inside:
            return False
        body = inside[0].body
    return True


def test_every_folder_is_listed_once():
    packages = [path.parent for path in module_files().values() if path.name == "__init__.py"]
    names = [path.relative_to(SOURCE).as_posix() for path in packages]
    wanted = ["src/discreet" if name == "." else name for name in names]
    assert sorted(folders(TEXT)) == sorted(wanted)


def test_the_way_of_a_question_names_what_exists():
    assert missing(TEXT) == []


def test_a_name_that_is_gone_is_noticed():
    assert missing(TEXT.replace("`Access.answer`", "`Access.gone`")) != []
    assert missing(TEXT.replace("`query/parse.py`", "`query/gone.py`")) != []
