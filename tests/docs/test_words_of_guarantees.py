"""What a guarantee means is worded in one module, and every page takes its sentences from there."""

import ast
import re

from support.surface import ROOT, module_files

SOURCE = ROOT / "src" / "discreet"
ONE_PLACE = "discreet.accounting.meaning"
WORDS = re.compile(
    r"\bodds (?:of|change)\b|\bbelief\b|times as likely|false alarms (?:finds|detects)|"
    r"equally likely beforehand|factor of at most|"
    r"e\^\(?(?:2 )?epsilon|e<sup>|computes? for ever|need hold|expected harm",
    re.IGNORECASE,
)
FORMULAS = {  # evaluated by test_the_formulas_of_the_readme_are_those_of_the_sentences
    "discreet.cli.commands.attack": (
        "at most e^(2 epsilon)/(1 + e^(2 epsilon)) of them in expectation"
    ),
    "discreet.survey.recipe": "tosses coins of e^epsilon, which is irrational",
}


def said(text: str) -> list[str]:
    """Strings of a module that a user may read: all but docstrings."""
    tree = ast.parse(text)
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, owners)]
    docs = {
        id(each.value)
        for body in bodies
        for each in body
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


def test_no_module_words_a_guarantee_of_its_own():
    found = {
        name: [each for each in said(path.read_text()) if WORDS.search(each)]
        for name, path in module_files().items()
        if name != ONE_PLACE
    }
    strangers = {
        name: strings
        for name, strings in found.items()
        if any(FORMULAS.get(name, "?" * 99) not in each for each in strings)
    }
    assert strangers == {}
    assert {name for name, strings in found.items() if strings} == set(FORMULAS)


def test_no_template_or_script_words_a_guarantee_of_its_own():
    files = [path for path in SOURCE.rglob("*") if path.suffix in {".html", ".js", ".css"}]
    assert len(files) > 10
    assert [path.name for path in files if WORDS.search(path.read_text())] == []


def test_the_words_are_really_looked_for():
    text = '"""The odds."""\ndef f():\n    """The odds."""\n    return "The odds change."'
    assert said(text) == ["The odds change."]
    assert [each for each in said(text) if WORDS.search(each)]
    assert WORDS.search("with a factor of at most e<sup>1</sup>")


def test_readme_says_what_follows_and_nothing_more():
    text = (ROOT / "README.md").read_text()
    promise = text[text.index("## What is guaranteed") : text.index("## What is not")]
    assert "compute for ever" not in text
    assert "any conclusion" not in promise
    assert "with everybody else's data fixed" in promise
    assert "delta times the largest harm" in promise
    assert "AES-256" in text
