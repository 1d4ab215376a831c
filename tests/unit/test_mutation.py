"""The mutation check plants what it says, leaves messages alone, and knows a weak test."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from mutation.__main__ import Coverage, examine, files
from mutation.operators import mutants

PARTS = ("file", "function", "before", "after")
CHANGES = {
    "x = a < b": "a <= b",
    "x = a <= b < c": "a < b < c",
    "x = a == b": "a != b",
    "x = a is None": "a is not None",
    "x = a in b": "a not in b",
    "x = a + b": "a - b",
    "x = a * b": "a + b",
    "x = a // b": "a * b",
    "x = a and b": "a or b",
    "x = not a": "a",
    "x = -a": "a",
    "x = True": "False",
    "x = 7": "8",
    "x = min(a, b)": "max(a, b)",
    "x = math.ceil(a)": "math.floor(a)",
    "if a:\n    raise E": "False",
}


@pytest.mark.parametrize("source", CHANGES)
def test_a_fault_of_every_kind(source):
    (mutant,) = mutants("file", source)
    assert mutant.after == CHANGES[source]
    changed = mutant.apply(source)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        '__all__ = ["a" * 2]',
        "raise E(1 + 2)",
        'x = f"{1 + 2}"',
        "def f(a: int | None) -> 3: pass",
        "x: int | None",
        "x = int | None",
        '"""Two and 2."""',
        "for a, b in zip(c, d, strict=True): pass",
    ],
)
def test_what_no_test_has_to_notice_is_left_alone(source):
    assert mutants("file", source) == []


def test_other_signs_than_ascii_before_a_fault():
    (mutant,) = mutants("file", 'x = ("ö", 1)')
    assert mutant.apply('x = ("ö", 1)') == 'x = ("ö", (2))'


def test_the_shortest_tests_that_cover_the_line_come_first():
    (mutant,) = mutants("a.py", "x = 1")
    lines = {"a.py": {1: {"slow", "many[1]", "many[2]", ""}, 2: {"other"}}}
    seconds = {"slow": 5.0, "many[1]": 1.0, "many[2]": 1.1, "other": 0.1}
    assert Coverage(lines, seconds).covering(mutant) == ["many[1]", "slow", "many[2]"]
    at_import = {"a.py": {1: {""}, 2: {"other"}}}
    assert Coverage(at_import, seconds).covering(mutant) == ["other"]
    only_at_import = {"a.py": {1: {""}, 2: {""}}}
    assert Coverage(only_at_import, {"any": 1.0}).covering(mutant) == ["any"]
    assert Coverage({}, seconds).covering(mutant) == []


def test_every_part_that_privacy_rests_on_has_faults_and_explanations_are_of_faults():
    root = Path(__file__).parents[2]
    planted = [each for file in files() for each in mutants(file, (root / file).read_text())]
    for part in ("loss.py", "filters.py", "laplace.py", "measures.py", "noising.py", "book.py"):
        assert sum(each.file.endswith(f"/{part}") for each in planted) > 5, part
    entries = tomllib.loads((root / "tests/mutation/explained.toml").read_text()).get("mutant", [])
    places = Counter((each.file, each.function, each.before, each.after) for each in planted)
    for entry in entries:  # of one fault each: another may be meant by the same words
        assert places[*(entry[name] for name in PARTS)] == 1, entry
        assert entry["reason"]


@pytest.mark.slow("kills and processes")
def test_a_weak_test_is_told_from_a_good_one(tmp_path):
    (tmp_path / "part.py").write_text("def double(a):\n    return a * 2\n")
    test = "from part import double\ndef test_{0}():\n    assert double({1}) == {2}\n"
    for name, argument, value in (("weak", 2, 4), ("good", 3, 6)):
        (tmp_path / f"test_{name}.py").write_text(test.format(name, argument, value))
    times, two = mutants("part.py", (tmp_path / "part.py").read_text())
    assert examine(times, ["test_weak.py"], tmp_path, 60) == "survived"  # 2 + 2 == 2 * 2
    assert examine(times, ["test_good.py"], tmp_path, 60) == "killed"
    assert examine(two, ["test_weak.py"], tmp_path, 60) == "killed"
    assert examine(two, [], tmp_path, 60) == "uncovered"
    endless = "import time\ndef test_endless():\n    time.sleep(60)\n"
    (tmp_path / "test_endless.py").write_text(endless)
    assert examine(two, ["test_endless.py"], tmp_path, 3) == "slow"
    assert "a * 2" in (tmp_path / "part.py").read_text()
    (tmp_path / "conftest.py").write_text("import part\nassert part.double(1) == 2\n")
    assert examine(two, ["test_weak.py"], tmp_path, 60) == "killed"  # no test could be collected
