"""Docstrings: a sentence, a `Privacy:` line, a runnable example; citations that resolve."""

import ast
import inspect
import re

import pytest

from support.surface import (
    ROOT,
    docstring_nodes,
    load,
    module_files,
    public_modules,
    public_objects,
    tracked_files,
    tree,
)

OBJECTS = dict(public_objects())
KEY = r"[A-Z][A-Za-z]*\d\d[a-z]?"
REFERENCES = ROOT / "docs" / "references.md"


def listed_keys() -> list[str]:
    return re.findall(rf"^- \*\*({KEY})\*\* \S", REFERENCES.read_text(), flags=re.MULTILINE)


def cited_keys(text: str) -> set[str]:
    brackets = re.findall(r"\[([^\[\]]*)\]", text)
    return {key for inside in brackets for key in re.findall(rf"\b{KEY}\b", inside)}


def problems(text: str) -> list[str]:
    """What is missing from a public docstring."""
    found = []
    sentence = text.strip().split("\n\n")[0].split("Privacy:")[0].strip()
    if len(sentence) < 10 or sentence[-1] not in ".:)":
        found.append("no first sentence")
    if not re.search(r"^\s*Privacy: \S.{5,}", text, flags=re.MULTILINE):
        found.append("no Privacy: line")
    if not re.search(r"^\s*>>> \S", text, flags=re.MULTILINE):
        found.append("no runnable example")
    return found


@pytest.mark.parametrize("where", OBJECTS)
def test_public_docstring_form(where):
    assert problems(inspect.getdoc(OBJECTS[where]) or "") == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", 3),
        ("Does a thing.\n\nPrivacy: none (touches no data).", 1),
        ("Does a thing.\n\n>>> 1\n1", 1),
        ("Privacy: none (touches no data).\n>>> 1\n1", 1),
        ("Does a thing.\n\nPrivacy: none (touches no data).\n>>> 1\n1", 0),
    ],
)
def test_the_form_is_really_checked(text, missing):
    assert len(problems(text)) == missing


@pytest.mark.parametrize("name", public_modules())
def test_public_constants_are_described(name):
    public = set(load(name).__all__)
    body = tree(name).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = {target.id for target in targets if isinstance(target, ast.Name)}
        if named & public:
            described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            assert described, f"{name}: {named & public} has no string below it"


def test_references_are_sorted_and_unique():
    keys = listed_keys()
    assert len(keys) > 5
    assert keys == sorted(set(keys), key=str.casefold)


@pytest.mark.parametrize("name", sorted(module_files()))
def test_citations_in_docstrings_resolve(name):
    known = set(listed_keys())
    for where, text in docstring_nodes(name):
        assert cited_keys(text) <= known, f"{where} cites {cited_keys(text) - known}"


def test_citations_in_documents_resolve():
    known = set(listed_keys())
    for path in tracked_files():
        if path.suffix == ".md":
            unknown = cited_keys(path.read_text()) - known
            assert not unknown, f"{path.name} cites {unknown}"


def test_every_reference_is_used():
    used = "\n".join(path.read_text() for path in module_files().values())
    used += "\n".join(path.read_text() for path in (ROOT / "docs" / "proofs").glob("*.md"))
    unused = [key for key in listed_keys() if not re.search(rf"\b{key}\b", used)]
    assert unused == []
