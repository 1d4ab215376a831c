"""Texts that some type of some engine reads as equal values, and how rows fall into units: by the
engine's own equality of the raw column, and by the unit of the rows that were prepared from it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.errors import SchemaError
from discreet.loss import Relation
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.schema.column import Column
from discreet.schema.table import Table

SPELLINGS = (
    # letters, blanks, accents; composed and decomposed; sharp s; dotless i; width; soft hyphen
    "a", "A", "a ", "a  ", " a", "\u00e1", "a\u0301", "\u00c1", "\u00df", "ss", "SS", "I", "i",
    "\u0130", "\u0131", "\uff41", "a\u00ad", "", "ann", "ANN", "Ann",
    # numbers
    "0", "-0", "+0", "00", "0.0", "-0.0", "0e5", "1", "1.0", "1.00", "01", "+1", "1e0", "10e-1",
    "1.50", "1.5", "-1", "-1.0", "9007199254740993", "9007199254740992", "9007199254740992.0",
    "1e20", "100000000000000000000", "1e300", "5e-324", "0.1", "0.10", "0.1000000000000000055",
    "NaN", "nan", "+nan", "-nan", "Infinity", "inf", "-inf", "$1.00", "$1", "170141183460469231",
    # truth
    "true", "TRUE", "t", "yes", "on", "false", "f", "no", "off",
    # days, times, zones, lengths of time
    "2020-01-01", "2020-1-1", "01.01.2020", "Jan 1, 2020", "2020-01-01 00:00:00",
    "2020-01-01 00:00:00+00", "2020-01-01 01:00:00+01", "2019-12-31T19:00:00-05:00",
    "2020-01-01 00:00:00.000", "2020-01-01 00:00:00.5", "2020-01-01 00:00:00.500", "infinity",
    "-infinity", "0044-03-15 (BC)", "0044-03-15 BC",
    "00:00:00", "24:00:00", "12:00:00", "12:00:00+00", "13:00:00+01", "12:00", "12:00:00.0",
    "1 day", "24 hours", "1440 minutes", "30 days", "1 month", "1 mon", "360 days", "1 year",
    "12 months", "P1D", "PT24H", "-1 month", "0 days", "0 months",
    # bytes, bits, identifiers, addresses
    "\\x41", "\\x61", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "0101", "101", "00101", "B", "b", "10.0.0.0/8", "10/8",
    "10.0.0.1", "10.0.0.1/32", "::ffff:10.0.0.1", "::1", "0:0:0:0:0:0:0:1", "08:00:2b:01:02:03",
    "08-00-2B-01-02-03", "0800.2b01.0203",
    # nested values, ranges, shapes, documents
    "{1,2}", "{1, 2}", "{01,2}", "{1.0,1.00}", "{1.00,1.0}", "{-0,0}", "{0,-0}", "{a,A}", "{A,a}",
    "[1,2]", "[1, 2]", "[1,3)", "[1,2)", "(0,3)", "{[1,3)}", "{[1,2],[3,4)}", "{[1,4)}", "empty",
    "(1,a)", "(1,A)", "(1,2)", "(1.0,2)", "((0,0),(1,1))", "((1,1),(0,0))", "<(0,0),1>",
    '{"a": 1, "b": 2}', '{"b":2,"a":1}', '{"a": 1.0}', '{"a": 1.00}', '{"a":1}', "[1, 1.0]",
    "{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "{a=1, b=2}", "cat & dog", "'cat' & 'dog'", "a b",
    "b a", "a:1 b:2", "'a':1 'b':2", "<a/>", "<a></a>", "POINT(1 2)", "POINT (1 2)", "0/16",
    "00/16",
    "happy", "Happy", "HAPPY",
)  # fmt: skip
"""Each is tried as a value of every type."""


def table_of(unit: str, rows_per_unit: int) -> Table:
    """A schema with a number of its own for every raw row."""
    numbers = Column("n", "integer", lower=0, upper=10**6)
    return Table("every", None, "every", unit, rows_per_unit, Relation.ADD_REMOVE, (numbers,), None)


def groups(pairs: list[tuple[Any, ...]]) -> set[frozenset[int]]:
    """The rows that share a first cell."""
    found: dict[Any, set[int]] = {}
    for unit, number in pairs:
        found.setdefault(unit, set()).add(number)
    return {frozenset(numbers) for numbers in found.values()}


def check_units(
    rows: Callable[[str], list[tuple[Any, ...]]],
    raw: str,
    relation: str,
    types: Mapping[str, str],
    dialect: str,
    column: str,
) -> None:
    """Prepared rows fall into units as the engine's own GROUP BY says, and no unit has too many.

    `raw` is the relation as the engine's owner sees it; SchemaError where the unit is refused.
    """
    bounds = (10**6, 1, 2)
    prepared = [lattice_rows(table_of(column, each), relation, types, dialect) for each in bounds]
    listed = rows(
        f'SELECT u.first, r."n", (SELECT count("{column}") FROM {raw}) AS total FROM '
        f'(SELECT "{column}" AS id, min("n") AS first FROM {raw} WHERE "{column}" IS NOT NULL '
        f'GROUP BY "{column}") AS u JOIN {raw} AS r ON r."{column}" = u.id'
    )
    expected = groups([(first, number) for first, number, _ in listed])
    # Grouping and equality of the raw column agree, and every row is somebody's.
    assert len(listed) == sum(map(len, expected)) == listed[0][2]
    texts = rows(f'SELECT CAST("$unit" AS VARCHAR(999)) AS "$k", "n" FROM ({prepared[0]}) AS p')
    assert groups(texts) == expected
    counted = " UNION ALL ".join(
        f"SELECT {bound}, count(*), count(DISTINCT unit), sum(many), max(many) FROM "
        f'(SELECT "$unit" AS unit, count(*) AS many FROM ({kept}) AS p GROUP BY "$unit") AS q'
        for bound, kept in zip(bounds, prepared, strict=True)
    )
    for bound, units, distinct, total, most in rows(counted):
        members = [min(bound, len(each)) for each in expected]
        assert (units, distinct) == (len(members), len(members))
        assert (total, most) == (sum(members), max(members))


def column(name: str) -> str:
    """A column's name for a type's."""
    return re.sub(r"\W+", "_", name.replace("[]", " array")).strip("_")


def proved(
    columns: Iterable[str], types: Mapping[str, str], check: Callable[[str], None]
) -> list[str]:
    """The columns whose type is accepted and proved, one for each type."""
    known: dict[str, bool] = {}
    accepted = []
    for name in columns:
        if types[name] not in known:
            known[types[name]] = False
            try:
                check(name)
                known[types[name]] = True
            except SchemaError as refusal:
                if "a unit of the type" not in str(refusal):
                    raise
        if known[types[name]]:
            accepted.append(name)
    return accepted
