"""Oversized and hostile text is refused quickly and clearly."""

import logging
import time

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Junction, Member
from discreet.query.readers.conditions import matches
from discreet.query.statement import text
from support.pace import thinned
from support.questions import ask, where

HEAD = "SELECT COUNT(*) FROM visits WHERE "
SECONDS = 10  # of processor time, for what grows without a limit; refusals take milliseconds

HOSTILE = [
    ("(" * 2000, "nested more than 32 deep"),
    ("(" * 33 + "age = 1" + ")" * 33, "nested more than 32 deep"),
    ("(" * 16_000, "words and signs"),
    ("NOT " * 33 + "smoker", "nested more than 32 deep"),
    ("- " * 33 + "age = 1", "nested more than 32 deep"),
    ("CASE WHEN smoker THEN " * 33 + "1" + " END" * 33, "nested more than 32 deep"),
    ("FLOOR(" * 33 + "age" + ")" * 33, "nested more than 32 deep"),
    ("age" + " + 1" * 100 + " = 1", "more than 64 operations deep"),
    ("age" + "::int" * 100 + " = 1", "more than 64 operations deep"),
    ("age" + " = 1" * 100, "more than 64 operations deep"),
    ("age" + " + 1" * 1480 + " = 1", "more than 64 operations deep"),
    ("age" + " IS NULL" * 100, "more than 64 operations deep"),
    ("DATE(" * 30 + "1" + ")" * 30, "DATE( (line 1) is not supported"),
    ("DECIMAL(" * 30, "DECIMAL( (line 1) is not supported"),
    ("VARCHAR(" * 30, "VARCHAR( (line 1) is not supported"),
    ("FORMAT(" * 30, "FORMAT( (line 1) is not supported"),
    ("age IN (" + ", ".join(["1"] * 1001) + ")", "IN lists 1001 values"),
    (" OR ".join(f"age = {n}" for n in range(760)), "words and signs"),
    ("age = " + "9" * 41, "41 digits"),
    ("age = 0." + "1" * 41, "42 digits"),
    ("age = 1e41", "exponent"),
    ("age = 1e-41", "exponent"),
    ("age = 1e999999999999", "exponent"),
    ("age = " + " * ".join(["1e40"] * 3), "more than 80 digits"),
    ("age = " + " / ".join(["1e40"] * 5), "more than 80 digits"),
    ("region = '" + "a" * 17_000 + "'", "the limit is 16384"),
    ("region = '" + "é" * 8_200 + "'", "the limit is 16384"),
    ("region = 'a\x00b'", "U+0000"),
    ("region = 'a\u202eb'", "U+202E"),
    ("region = 'a\ud800b'", "U+D800"),
    ("age = \x1b[31m1", "U+001B"),
]


def _timed(text: str) -> tuple[str, float]:
    ask("SELECT COUNT(*) FROM visits")  # loads the parser
    start = time.thread_time()
    with pytest.raises(UnsafeQuery) as caught:
        ask(text)
    return str(caught.value), time.thread_time() - start


@pytest.mark.parametrize(("condition", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_quickly(condition: str, message: str) -> None:
    refusal, seconds = _timed(HEAD + condition)
    assert message in refusal
    assert len(refusal) < 300
    assert seconds < SECONDS


FRAGMENTS = [
    "(", "(1,", "CASE ", "CASE WHEN age=1 THEN ", "NOT ", "- ", "FLOOR(", "age.", "::INT", "age::",
    " IS NOT ", " BETWEEN 1 AND ", " LIKE 'a'", "EXTRACT(YEAR FROM ", "CAST(", "CAST(age AS ", ",1",
    "COUNT(", "COUNT(DISTINCT ", "age<", "* ", "'a' ", "DATE ", "DATE '2024-01-01' ", "INT ",
    "AS a ", "age IN (", "FROM visits ", "GROUP BY ", "DATE_TRUNC('month', ", "STRUCT<", "STRUCT(",
    "[", "{", "IF(", "INTERVAL ", "COLLATE a ", "DATE(", "VARCHAR(", "DECIMAL(", "format(",
    "format ", "LEAST(", "GREATEST(1, ", "MODE(", "MIN(", "QUANTILE_CONT(", "QUANTILE(1, ",
    "(SELECT ", "(SELECT 1 FROM ", "(SELECT age FROM visits JOIN ", "JOIN ", "JOIN visits ON ",
    "JOIN visits USING (age) ", "visits, ", "visits a JOIN ", "WITH p AS (", "p AS (SELECT ",
    "LEFT JOIN (", "AS (SELECT 1 FROM ", "JOIN (SELECT 1 FROM ", "visits LEFT ", "ON (", "USING (",
    "PERCENTILE_CONT(", "CORR(", "MODE() WITHIN GROUP (ORDER BY ", "INTERVAL (",
    "INTERVAL 1 DAY + ",
    "COUNT(*) FILTER (WHERE ", "age % ", "age // ", "age DIV ", "region || ", "GROUP BY ALL ",
    "age IS DISTINCT FROM ", "age IS NOT DISTINCT FROM ", "main.", "IF age = 1 THEN ", "DATE(day) ",
    "LEFT(region, ", "RIGHT(", "REPLACE(", "TRIM(BOTH 'a' FROM ", "SUBSTRING(region FROM ",
    *(f"{name}(" for name in sorted(text._FUNCTIONS)),
]  # fmt: skip


@pytest.mark.parametrize("fragment", FRAGMENTS)
@pytest.mark.parametrize(
    "start",
    thinned([HEAD, "SELECT ", "WITH p AS (", "SELECT COUNT(*) FROM ", "WITH "], 2, "large oracles"),
)
def test_repeated_fragments_are_refused_quickly(start: str, fragment: str) -> None:
    for count in (15, 31, 200):
        for end in ("", "1", "visits", "visits" + ")" * count):
            refusal, seconds = _timed(start + fragment * count + end)
            assert len(refusal) < 300
            assert seconds < SECONDS


DEEP = [
    ("ABS(", ")"), ("CEIL(", ")"), ("ROUND(", ", 1)"), ("ROUND(", ", -1)"), ("TRUNC(", ", 1)"),
    ("SIGN(", ")"), ("MOD(", ", 3)"), ("(", " % 3.5)"), ("(", " // 3)"), ("COALESCE(", ", 1.5)"),
    ("NULLIF(", ", 3)"), ("IF(smoker, ", ", 1)"), ("(", " IS DISTINCT FROM 1)::INT"),
    ("CASE ", " WHEN 1 THEN 2 WHEN 2 THEN 3 END"), ("(", " BETWEEN 1 AND 2)::INT"),
    ("DATE_DIFF('day', DATE '2024-01-01' + 1, IF(age = ", ", day, NULL))"),
    ("LENGTH(UPPER(IF(age = ", ", region, home)))"), ("CAST(CAST(", " AS BOOLEAN) AS INT)"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), DEEP)
def test_what_is_written_several_times_stays_small(before: str, after: str) -> None:
    """Doubled at each level, an expression of a few words would fill the memory."""
    ask("SELECT COUNT(*) FROM visits")
    for depth in (6, 15, 30):
        text = f"SELECT SUM({before * depth}age{after * depth}) FROM visits"
        start = time.thread_time()
        try:
            ask(text)
        except UnsafeQuery as refusal:
            said = str(refusal)
            assert "operations" in said or "nested" in said or "digits" in said
        assert time.thread_time() - start < 2


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM visits", ["SELECT"]])
def test_a_question_is_text(text: str) -> None:
    with pytest.raises(UnsafeQuery, match="a question is text"):
        ask(text)


def test_long_but_flat_questions_are_read() -> None:
    assert isinstance(where(" OR ".join(f"age = {n}" for n in range(700))), Junction)
    assert isinstance(where("(" * 28 + "smoker AND age = 1" + ")" * 28), Junction)
    member = where(f"age IN ({', '.join(str(n) for n in range(1000))})")
    assert isinstance(member, Member)
    assert len(member.values) == 1000


def test_a_deep_caller_gets_a_refusal_or_an_answer() -> None:
    text = HEAD + "(" * 30 + "age = 1" + ")" * 30

    def call(depth: int) -> None:
        if depth:
            call(depth - 1)
            return
        try:
            ask(text)
        except UnsafeQuery as refusal:
            refusals.append(str(refusal))

    refusals: list[str] = []
    for depth in range(0, 800, 50):
        call(depth)
    assert refusals
    assert all("nested too deeply" in refusal for refusal in refusals)


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in (
            "CALL f()",
            "SHOW TABLES",
            "SELECT COUNT(*) FROM visits",
            "SELECT 'x",
            "PRAGMA x",
        ):
            try:
                ask(text)
            except UnsafeQuery:
                continue
    assert caplog.records == []


def test_a_pattern_with_many_wildcards_is_matched_quickly() -> None:
    start = time.thread_time()
    assert not matches("a" * 5000 + "b", "%a" * 128 + "c")
    assert matches("a" * 5000 + "b", "%a" * 127 + "%b")
    assert time.thread_time() - start < 2
