"""Callers ask a price what it buys, and never which class it is."""

import ast
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent
ALLOWED = {"loss.py"}
KINDS = {"Pure", "ZCDP"}


def branches_on_kind(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        tested = node.args[1:] if node.func.id in {"isinstance", "issubclass"} else []
    else:
        tested = [node.cls] if isinstance(node, ast.MatchClass) else []
    names = (part.id for each in tested for part in ast.walk(each) if isinstance(part, ast.Name))
    return not KINDS.isdisjoint(names)


def test_no_caller_branches_on_the_class_of_a_price():
    """Currency, amount, share and total are methods of a price; mechanisms.priced says the rest."""
    found = [
        f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', '?')}"
        for path in sorted(SOURCE.rglob("*.py"))
        if str(path.relative_to(SOURCE)) not in ALLOWED
        for node in ast.walk(ast.parse(path.read_text()))
        if branches_on_kind(node)
    ]
    assert not found


def test_the_check_finds_a_branch():
    for text in ("isinstance(x, Pure)", "isinstance(x, Loss | ZCDP)", "match x:\n case Pure(): 1"):
        assert any(map(branches_on_kind, ast.walk(ast.parse(text))))
    assert not any(map(branches_on_kind, ast.walk(ast.parse("isinstance(x, Price)"))))
