"""A canary that all the small tables of the tests hold: the names of their people begin with it.
Whatever the suite prints, logs, raises or answers must not show it; conftest.py looks.
"""

PERSON = 730_185_260_000_000
"""What is added to the number of each made-up person; schemas name the column as their unit."""

TEXT = "c4n4ry-b41d-63ee"
"""What stands in a column that no schema names."""

# Eleven digits, which 10,000 people have in common: nine would be among the digits of noise once in
# some 50,000 runs.
_FORMS = (str(PERSON)[:11], f"{PERSON:,}"[:14], TEXT)


def leaks(shown: object) -> list[str]:
    """The forms of the canary that are in a text."""
    text = str(shown)
    return [form for form in _FORMS if form in text]


def check(*shown: object) -> None:
    """Fail if anything shown holds the canary."""
    found = [form for each in shown for form in leaks(each)]
    if found:
        raise AssertionError(f"the canary got out as {sorted(set(found))}")
