"""Tests that could not fail, skip without a reason or depend on a lucky seed."""

import ast
import tomllib
from collections.abc import Callable
from pathlib import Path

from support import fit
from support.surface import ROOT

FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
VERDICTS = ("raises", "warns", "fail", "check_", "assert_", "expect", "verify", "rejects")
MARKS = {"skip", "skipif", "xfail", "importorskip"}


def called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def judges(function: ast.AST) -> bool:
    """Whether a test function contains something that can fail."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call) and called(node).startswith(VERDICTS):
            return True
    return False


def without_reason(tree: ast.AST) -> list[int]:
    """Lines that skip, or expect a failure, and do not say why."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in MARKS:
            reasons = [word for word in node.keywords if word.arg == "reason"]
            if not reasons and not (called(node) == "skip" and node.args):
                lines.append(node.lineno)
        for mark in getattr(node, "decorator_list", []):
            if isinstance(mark, ast.Attribute) and mark.attr in MARKS:
                lines.append(mark.lineno)
    return lines


def test_every_test_can_fail():
    faults = []
    for name in FILES:
        tests = [
            node
            for node in ast.walk(ast.parse((ROOT / name).read_text()))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        ]
        faults += [f"{name}::{node.name}" for node in tests if not judges(node)]
        faults += [] if tests else [f"{name} holds no test"]
    assert faults == []


def lines_found(scanner: Callable[[ast.AST], list[int]], names: list[str]) -> list[str]:
    """Every place that a scanner finds in some files, as file:line."""
    trees = ((name, ast.parse((ROOT / name).read_text())) for name in names)
    return [f"{name}:{line}" for name, tree in trees for line in scanner(tree)]


def test_skips_have_reasons():
    marked = [name for name in FILES if any(mark in (ROOT / name).read_text() for mark in MARKS)]
    assert lines_found(without_reason, marked) == []


def chosen_seeds(tree: ast.AST) -> list[int]:
    """Lines that draw from a seed somebody picked."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            fixed = bool(node.args) and isinstance(node.args[0], ast.Constant)
            if called(node) in {"SeededBits", "seed", "RandomState"} or (
                called(node) in {"default_rng", "Random"} and fixed
            ):
                lines.append(node.lineno)
    return lines


def test_statistical_tests_use_fresh_bits():
    assert lines_found(chosen_seeds, [name for name in FILES if "/statistical/" in name]) == []


def test_file_names_are_unique():
    stems = [Path(name).stem for name in FILES]
    assert sorted(set(stems)) == sorted(stems)


def test_the_scanners_see_planted_faults():
    assert not judges(ast.parse("def test_nothing():\n    x = 1"))
    assert judges(ast.parse("def test_something():\n    assert x"))
    assert without_reason(ast.parse("import pytest\n@pytest.mark.skip\ndef test(): pass")) == [2]
    assert without_reason(ast.parse("pytest.importorskip('numpy')")) == [1]
    assert without_reason(ast.parse("pytest.mark.xfail(reason='x')")) == []
    assert chosen_seeds(ast.parse("np.random.default_rng(7)")) == [1]
    assert chosen_seeds(ast.parse("SeededBits(seed)")) == [1]
    assert chosen_seeds(ast.parse("np.random.default_rng(system.bits(128))")) == []


def test_pytest_is_strict_and_reports_skips():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["filterwarnings"] == ["error"]
    assert options["xfail_strict"] is True
    for flag in ("--doctest-modules", "--strict-markers", "--strict-config", "-ra"):
        assert flag in options["addopts"].split()


def test_the_false_alarm_budget_is_the_promised_one():
    assert fit.FALSE_ALARM == 1e-12
    assert fit.SUITE_FALSE_ALARM == 1e-9
