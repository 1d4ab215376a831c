"""docs/sql.md says what the parser does: every example is asked, and nothing is missing."""

import re

import pytest

from discreet.query.algebra import Aggregate, Query, Statistic
from discreet.query.literals import refuse_unknown_values
from discreet.query.readers.hints import FUNCTION_HINTS, TOKEN_HINTS
from discreet.query.statement import text as words
from discreet.upper.reading.split import Statement, read_statement
from support.questions import TABLES, ask
from support.sql_page import ABOVE, ACCEPTED, FUNCTIONS, PAGE, REFUSED, refusal, rendered

EXAMPLES = [text for _, _, cases in ACCEPTED for _, text in cases]
REFUSALS = [text for _, texts in REFUSED for text in texts]


def test_the_page_is_the_one_that_the_tests_make():
    assert PAGE.read_text() == rendered(), "write it again: run tests/support/sql_page.py"


@pytest.mark.parametrize("text", EXAMPLES)
def test_accepted_examples_are_read(text):
    query = ask(text)
    assert isinstance(query, Query)
    refuse_unknown_values(query, [TABLES[name] for name in query.tables])


@pytest.mark.parametrize("text", [text for _, text in ABOVE])
def test_statements_above_are_taken_apart(text):
    statement = read_statement(text, TABLES)
    assert isinstance(statement, Statement)
    assert all(isinstance(block.query, Query) for block in statement.blocks)


@pytest.mark.parametrize(
    "text", [*REFUSALS, *(f"SELECT {c} FROM visits" for c in FUNCTIONS.values())]
)
def test_refusals_name_the_way_out(text):
    reason = refusal(text)
    assert reason.endswith((".", "?"))
    assert 40 < len(reason) < 300


def test_every_function_has_an_example():
    called = {name.upper() for text in EXAMPLES for name in re.findall(r"(\w+)\(", text)}
    assert called >= words._FUNCTIONS
    assert set(FUNCTIONS) == set(FUNCTION_HINTS)
    for name, call in FUNCTIONS.items():
        assert f"{name}(" in call
        assert FUNCTION_HINTS[name] in refusal(f"SELECT {call} FROM visits")


def test_every_statistic_has_an_example():
    outputs = [output.expression for text in EXAMPLES for output in ask(text).outputs]
    asked = {each.statistic for each in outputs if isinstance(each, Aggregate)}
    assert asked == set(Statistic)


def test_every_refused_word_with_advice_has_an_example():
    said = " ".join(refusal(text) for text in REFUSALS)
    assert [kind for kind, hint in TOKEN_HINTS.items() if hint not in said] == []


def test_no_example_is_there_twice():
    assert len({*EXAMPLES, *REFUSALS}) == len(EXAMPLES) + len(REFUSALS)
