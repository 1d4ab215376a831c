"""A canary that all the small tables of the tests hold: the names of their people begin with it.
Whatever the suite prints, logs, raises or answers must not show it; conftest.py looks.
"""

PERSON = 730_185_260_000_000
"""What is added to the number of each made-up person; schemas name the column as their unit."""

TEXT = "c4n4ry-b41d-63ee"
"""What stands in a column that no schema names."""

_FORMS = (str(PERSON)[:9], f"{PERSON:,}"[:11], TEXT)


def leaks(shown: object) -> list[str]:
    """The forms of the canary that are in a text."""
    text = str(shown)
    return [form for form in _FORMS if form in text]


def check(*shown: object) -> None:
    """Fail if anything shown holds the canary."""
    found = [form for each in shown for form in leaks(each)]
    if found:
        raise AssertionError(f"the canary got out as {sorted(set(found))}")
