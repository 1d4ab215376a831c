"""How long an answer may take at most, from a plan and declared facts: when it can be seen.
Never from measured rows; nothing here touches data. What the text of a statement and the rows of
one unit can add is covered several times over: else an analyst could write a statement that is
just in time without a person and late with that person.
"""

from fractions import Fraction
from math import ceil, prod

from discreet.plan.parts.candidates import CandidateQuery
from discreet.plan.parts.keys import KeyDomain
from discreet.query.algebra import Query, scans
from discreet.schema.table import Table

__all__ = ["ENGINE_SECONDS", "GRID_SECONDS", "whole_steps", "working_seconds"]

ENGINE_SECONDS = {
    "prepared": Fraction(1, 20),
    "duckdb": Fraction(2),
    "postgresql": Fraction(2),
    "spark": Fraction(30),
}
"""What one reading of a table may take, where its schema does not say: prepared, or in place."""

GRID_SECONDS = Fraction(1, 20)
"""The step of remote sessions, unless the custodian sets another."""

_FREE_CELLS = 2000
_MOST_CELLS = 10**6
_SECONDS_PER_CELL = Fraction(1, 100_000)
_CANDIDATES_PER_CELL = 16
_PRIVATE_KEYS = Fraction(1)  # how many there are is not public
# DuckDB takes 2 to 3 microseconds to plan a character of a statement, and up to 0.5 nanoseconds to
# evaluate it on a row, in long conditions, lists, cases and select lists alike.
_SECONDS_PER_CHARACTER = Fraction(1, 50_000)
_SECONDS_PER_CHARACTER_AND_ROW = Fraction(1, 250_000_000)
_FREE_SECONDS = Fraction(1, 25)  # of these: one reading of a table has room for a short statement
_MOST_SECONDS = 10  # of these


def whole_steps(seconds: Fraction, step: Fraction) -> Fraction:
    """The whole steps of time that cover so many seconds; at least one.

    >>> whole_steps(Fraction(1, 20), Fraction(2)), whole_steps(Fraction(5), Fraction(2))
    (Fraction(2, 1), Fraction(6, 1))
    """
    return max(1, ceil(seconds / step)) * step


def working_seconds(
    *,
    query: Query,
    tables: tuple[Table, ...],
    domains: tuple[KeyDomain, ...],
    measures: int,
    picks: tuple[CandidateQuery, ...],
    sql: str,
    work: int,
    engine_seconds: Fraction,
) -> Fraction:
    """The seconds of a plan: of the tables it reads, once for its sums and once for each column
    that quantiles are selected from, and as often as joins and subqueries make rows anew; of the
    length of its statement; of what it adds noise to.
    """
    groups = prod(len(domain.codes) for domain in domains if not domain.private)
    candidates = sum(pick.candidates for pick in picks) // _CANDIDATES_PER_CELL
    cells = min(groups * (measures + candidates), _MOST_CELLS)
    readings = max(1, bool(measures) + len(picks))
    passes = _passes(query, tables, work)
    seconds = engine_seconds * readings * passes + _statement_seconds(sql, work)
    seconds += max(0, cells - _FREE_CELLS) * _SECONDS_PER_CELL
    return seconds + _PRIVATE_KEYS if any(domain.private for domain in domains) else seconds


def _passes(query: Query, tables: tuple[Table, ...], work: int) -> Fraction:
    """How many rows of one unit are handled for each that is read."""
    rows = {table.name: table.rows_per_unit or 1 for table in tables if table.kind != "public"}
    read = sum(rows.get(name, 0) for name in scans(query.source))
    return max(Fraction(1), Fraction(work, max(1, read)))


def _statement_seconds(sql: str, work: int) -> Fraction:
    """What planning a long statement, and evaluating it on the rows of one unit, may take."""
    seconds = len(sql) * (_SECONDS_PER_CHARACTER + work * _SECONDS_PER_CHARACTER_AND_ROW)
    return min(max(Fraction(0), seconds - _FREE_SECONDS), Fraction(_MOST_SECONDS))
