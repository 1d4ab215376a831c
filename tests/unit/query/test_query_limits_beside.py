"""Limits beside a question mean what the same limits mean in its clause, for every question."""

from dataclasses import replace

import pytest

from discreet.errors import InvalidValue, UnsafeQuery
from discreet.query.parse import parse
from discreet.query.statement.options import with_limits
from support.oracle_cases import cases
from support.oracle_tables import TABLES

EVERY = [case.question for case in cases()][::7]  # of thousands
LIMITS = (
    {"max_groups_contributed": 2},
    {"max_rows_contributed": 3},
    {"max_groups_contributed": 1, "max_rows_contributed": 4},
)
WITH = "SELECT WITH DIFFERENTIAL_PRIVACY"
FORMS = {
    "SELECT i AS a": f"{WITH} OPTIONS(max_rows_contributed=3) i AS a",
    f"{WITH} i AS a": f"{WITH} OPTIONS(max_rows_contributed=3) i AS a",
    f"{WITH} OPTIONS() i AS a": f"{WITH} OPTIONS(max_rows_contributed=3) i AS a",
    f"{WITH} OPTIONS(epsilon=1) i": f"{WITH} OPTIONS(max_rows_contributed=3, epsilon=1) i",
    f"{WITH} OPTIONS(max_rows_contributed=3) i": f"{WITH} OPTIONS(max_rows_contributed=3) i",
    "select/* é€ */i": f"select{WITH[6:]} OPTIONS(max_rows_contributed=3)/* é€ */i",
    "WITH v AS (SELECT 'SELECT' AS x) SELECT 'é', i": (
        f"WITH v AS (SELECT 'SELECT' AS x) {WITH} OPTIONS(max_rows_contributed=3) 'é', i"
    ),
}


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_limit_beside_a_question_is_one_of_its_options(limits):
    for text in EVERY:
        query = parse(text, TABLES)
        known = {name: getattr(query.options, name) for name in limits}
        if any(known[name] not in (None, most) for name, most in limits.items()):
            with pytest.raises(InvalidValue, match=r"Give it once\. Nothing was run"):
                with_limits(text, **limits)
            continue
        wanted = replace(query, options=replace(query.options, **limits))
        assert parse(with_limits(text, **limits), TABLES) == wanted, text


@pytest.mark.parametrize("text", FORMS)
def test_the_clause_is_put_where_it_belongs(text):
    assert with_limits(text, max_rows_contributed=3) == FORMS[text]
    assert with_limits(text) == text  # not a letter changes without a limit


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "2", 2.0])
@pytest.mark.parametrize("name", ["max_groups_contributed", "max_rows_contributed"])
def test_only_positive_integers_are_limits(name, value):
    with pytest.raises(InvalidValue, match=f"{name} is .*at least 1. Nothing was run or charged"):
        with_limits("SELECT COUNT(*) FROM visits", **{name: value})


@pytest.mark.parametrize("text", ["", "DROP TABLE visits", "WITH", "SELECT 'a"])
def test_what_is_no_question_is_refused_as_such(text):
    with pytest.raises(UnsafeQuery):
        parse(with_limits(text, max_rows_contributed=1), TABLES)
