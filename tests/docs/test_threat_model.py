"""docs/threat_model.md names tests that exist, and all that attack."""

import ast
import re

from support.surface import ROOT

PAGE = (ROOT / "docs" / "threat_model.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)


def missing(named):
    """References to files or functions that are not there."""
    found = []
    for path, function in named:
        file = ROOT / path
        if not file.is_file():
            found.append(path)
        elif function:
            functions = [
                node.name
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, ast.FunctionDef)
            ]
            found += [] if function in functions else [f"{path}::{function}"]
    return found


def test_every_named_test_exists():
    assert len(NAMED) > 40
    assert missing(NAMED) == []


def test_every_attack_is_named():
    files = [
        str(path.relative_to(ROOT))
        for folder in ("attack", "faults")
        for path in (ROOT / "tests" / folder).rglob("test_*.py")
    ]
    assert sorted(set(files) - {path for path, _ in NAMED}) == []


def test_a_reference_to_nothing_is_seen():
    assert missing([("tests/attack/test_nothing.py", "")]) == ["tests/attack/test_nothing.py"]
    assert missing([("tests/docs/test_threat_model.py", "test_x")])
    assert not missing([("tests/docs/test_threat_model.py", "test_every_named_test_exists")])
