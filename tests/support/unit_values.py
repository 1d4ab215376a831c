"""Texts that some type of some engine reads as equal values, and how rows fall into units: by the
engine's own equality of the raw column, and by the unit of the rows that were prepared from it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from discreet.loss import Relation
from discreet.plan.prepare import lattice_rows
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
    "\\x41", "\\x61", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "0101", "101", "00101", "B", "b", "10.0.0.0/8", "10/8",
    "10.0.0.1", "10.0.0.1/32", "::ffff:10.0.0.1", "::1", "0:0:0:0:0:0:0:1", "08:00:2b:01:02:03",
    "08-00-2B-01-02-03", "0800.2b01.0203",
    # nested values, ranges, shapes, documents
    "{1,2}", "{1, 2}", "{01,2}", "{1.0,1.00}", "{1.00,1.0}", "{-0,0}", "{0,-0}", "{a,A}", "{A,a}",
    "[1,2]", "[1, 2]", "[1,3)", "[1,2)", "(0,3)", "{[1,3)}", "{[1,2],[3,4)}", "{[1,4)}", "empty",
    "(1,a)", "(1,A)", "(1,2)", "(1.0,2)", "((0,0),(1,1))", "((1,1),(0,0))", "<(0,0),1>",
    '{"a": 1, "b": 2}', '{"b":2,"a":1}', '{"a": 1.0}', '{"a": 1.00}', '{"a":1}', "[1, 1.0]",
    "{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "{a=1, b=2}", "cat & dog", "'cat' & 'dog'", "a b",
    "b a", "a:1 b:2", "'a':1 'b':2", "<a/>", "<a></a>", "POINT(1 2)", "POINT (1 2)", "0/16", "00/16",
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
    prepared = lattice_rows(table_of(column, 10**6), relation, types, dialect)
    listed = (
        f'SELECT u.first, r."n" FROM (SELECT "{column}" AS id, min("n") AS first FROM {raw} '
        f'WHERE "{column}" IS NOT NULL GROUP BY "{column}") AS u JOIN {raw} AS r '
        f'ON r."{column}" = u.id'
    )
    expected = groups(rows(listed))
    # Grouping and equality of the raw column agree, and every row is somebody's.
    assert sum(map(len, expected)) == rows(f'SELECT count("{column}") FROM {raw}')[0][0]
    texts = rows(f'SELECT CAST("$unit" AS VARCHAR(999)) AS "$k", "n" FROM ({prepared}) AS p')
    assert groups(texts) == expected
    ((units, most),) = rows(
        f'SELECT count(*), max(many) FROM (SELECT "$unit", count(*) AS many FROM ({prepared}) '
        'AS p GROUP BY "$unit") AS q'
    )
    assert (units, most) == (len(expected), max(map(len, expected)))
    for bound in (1, 2):
        kept = lattice_rows(table_of(column, bound), relation, types, dialect)
        ((units, count),) = rows(f'SELECT count(DISTINCT "$unit"), count(*) FROM ({kept}) AS p')
        assert units == len(expected)
        assert count == sum(min(bound, len(members)) for members in expected)
