"""What may not stand in a tracked file, and what must."""

import re
import tomllib

import pytest

from support.surface import ROOT, tracked_files

MACHINE_PATH = re.compile(
    r"(?:^|[^A-Za-z0-9_.*/-])(?:/(?:work|farm|root|opt|mnt|tmp|private|Users|home/[a-z]+)/"
    r"|[A-Z]:\\)"
)
INDEX_ADDRESS = re.compile(r"pypi\.org|pythonhosted|(?<!no-emit)-index-url|(?<!no-emit)-find-links")
LOCAL_SOURCE = re.compile(r"file:|@ |://|^-|\.whl|\\$", flags=re.MULTILINE)


def test_no_machine_paths_and_no_index_addresses():
    faults = []
    for path in tracked_files():
        text, name = path.read_text(), str(path.relative_to(ROOT))
        if name == "tests/docs/test_files.py":
            text = text[text.index("\ndef test_no_machine") : text.index("\nBAD_LINES")]
        for pattern in (MACHINE_PATH, INDEX_ADDRESS):
            faults += [f"{name}: {match.group()}" for match in pattern.finditer(text)]
    assert faults == []


BAD_LINES = [
    (MACHINE_PATH, "open('/home/someone/data.csv')"),
    (MACHINE_PATH, "see /root/notes"),
    (MACHINE_PATH, "C:\\data"),
    (INDEX_ADDRESS, "--extra-index-url somewhere"),
    (INDEX_ADDRESS, "pip install --find-links folder"),
    (LOCAL_SOURCE, "numpy @ something"),
    (LOCAL_SOURCE, "-e ."),
]


@pytest.mark.parametrize(("pattern", "line"), BAD_LINES)
def test_the_patterns_can_fail(pattern, line):
    assert pattern.search(line)


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-bench.lock"])
def test_locks_pin_every_dependency_and_name_no_source(name):
    text = (ROOT / name).read_text()
    assert not LOCAL_SOURCE.search(text)
    lines = text.splitlines()
    assert [line for line in lines if not re.match(r"[a-z0-9-]+==\S+( ; .+)?$", line)] == []
    pinned = {line.split("==")[0] for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = list(project["dependencies"])
    for extra in extras:
        if (extra == "bench") == ("bench" in name):
            wanted += extras[extra]
    assert {re.split(r"[<>=\[]", line)[0].strip() for line in wanted} <= pinned


def test_the_changelog_has_a_privacy_heading_for_the_newest_version():
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    assert "\n### Privacy\n" in newest


def test_the_licence_is_the_one_in_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert len(text) == 11_358


def test_decision_records_are_numbered_and_short():
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    assert len(records) >= 3
    for path in records:
        text = path.read_text()
        assert text.startswith(f"# {path.name[:4]} ")
        assert len(text.splitlines()) <= 60
