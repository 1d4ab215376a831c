"""An article before a word that only the moment of speaking knows is chosen then: `a analyst` is
said by whoever writes `a {role}`.
"""

import re

import pytest

from support.surface import ROOT

GUESSED = re.compile(r"\b[Aa]n? \{(?!\s)")


def guesses(text: str) -> list[str]:
    """Every article that stands before a value in a formatted text."""
    return [match.group() for match in GUESSED.finditer(text)]


def test_no_article_is_guessed():
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.name == "errors.py":
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            found += [f"{path.relative_to(ROOT)}:{number}: {each}" for each in guesses(line)]
    assert found == [], "write {with_article(word)}, from discreet.errors"


@pytest.mark.parametrize("line", ['f"{name} is a {role}"', 'f"an {kind}"', 'f"A {x!r} is"'])
def test_the_pattern_can_fail(line):
    assert guesses(line)


def test_words_get_the_article_of_their_first_letter():
    from discreet.errors import with_article

    for word in ("analyst", "integer", "Answer", "int"):
        assert with_article(word) == f"an {word}"
    for word in ("custodian", "date", "Pure", "number"):
        assert with_article(word) == f"a {word}"
