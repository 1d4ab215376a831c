"""docs/library.md names every public mechanism and every function of accounting, and its example
runs; docs/robust.md names every estimate of a session."""

import doctest
import importlib
import re

import pytest

from support.surface import ROOT


def test_the_example_runs():
    assert doctest.testfile(str(ROOT / "docs" / "library.md"), module_relative=False).failed == 0


@pytest.mark.parametrize(
    ("page", "package"),
    [("library", "mechanisms"), ("library", "accounting"), ("robust", "estimates")],
)
def test_every_public_name_stands_on_its_page(page, package):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    names = set(importlib.import_module(f"discreet.{package}").__all__)
    assert names <= set(re.findall(r"\w+", text)), names - set(re.findall(r"\w+", text))
