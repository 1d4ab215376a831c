"""Constants that a column cannot have, in every place of a question: refused exactly where no value
of the column's public lattice could meet them, with the nearest one named; and never where keys are
private. What the lattice holds is listed here value by value.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest

from discreet.errors import UnsafeQuery
from discreet.query.literals import refuse_unknown_values
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

REGIONS = ("north", "south", "east side")
DAY, HOUR = date(2024, 1, 30), datetime(2024, 1, 31, 22)
FIRST = (DAY - date(1970, 1, 1)).days
BEGIN = (HOUR - datetime(1970, 1, 1)) // timedelta(hours=1)
COLUMNS = (
    Column("age", "integer", lower=-2, upper=5),
    Column("fives", "integer", step=Fraction(5), lower=0, upper=4),
    Column("income", "number", step=Fraction(1, 2), lower=-1, upper=6),
    Column("day", "date", lower=FIRST, upper=FIRST + 3),
    Column("moment", "datetime", step=Fraction(3600), lower=BEGIN, upper=BEGIN + 4),
    Column("region", "category", upper=2, keys=REGIONS),
    Column("ward", "category", upper=3, keys=REGIONS, other=True),
    Column("city", "category", lower=0, upper=0, private_keys=True),
    Column("ill", "boolean"),
)
VISITS = Table("visits", unit="who", rows_per_unit=3, columns=COLUMNS)
WARDS = Table("wards", kind="public", key=("name",), columns=(
    Column("name", "category", upper=2, keys=REGIONS), Column("beds", "integer", upper=9),
))  # fmt: skip
TABLES = {"visits": VISITS, "wards": WARDS}

PLACES = {
    "where": "SELECT COUNT(*) FROM visits WHERE {}",
    "negated": "SELECT COUNT(*) FROM visits WHERE NOT ({})",
    "beside others": "SELECT COUNT(*) FROM visits WHERE ill AND (age = 1 OR {})",
    "in a case": "SELECT COUNT(*) FROM visits WHERE CASE WHEN {} THEN 1 ELSE 2 END = 1",
    "in an aggregate": "SELECT SUM(CASE WHEN {} THEN 1 ELSE 0 END) AS s FROM visits",
    "in a key": "SELECT CASE WHEN {} THEN 1 ELSE 0 END AS k, COUNT(*) FROM visits GROUP BY k",
    "in a subquery": "SELECT COUNT(*) FROM (SELECT age AS a FROM visits WHERE {}) AS s",
    "above a subquery": "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE ill) AS s WHERE {}",
    "of one unit": "SELECT COUNT(*) FROM (SELECT who, MAX(age) AS a FROM visits WHERE {} "
                   "GROUP BY who) AS s",
    "of each unit": "SELECT SUM(n) AS n FROM (SELECT who, SUM(CASE WHEN {} THEN 1 ELSE 0 END) "
                    "AS n FROM visits GROUP BY who) AS s",
    "with a common table": "WITH v AS (SELECT * FROM visits WHERE {}) SELECT COUNT(*) FROM v",
    "in a join": "SELECT COUNT(*) FROM visits JOIN wards ON region = name WHERE {}",
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A column's values, one step beyond either end, and constants to try."""

    name: str
    values: tuple
    step: object
    tried: tuple

    def inside(self, constant, operator):
        """Whether a question may have the constant."""
        if operator in ("=", "<>"):
            return self.values[0] <= constant <= self.values[-1]
        return self.values[0] - self.step <= constant <= self.values[-1] + self.step


def written(constant):
    if isinstance(constant, datetime):
        return f"TIMESTAMP '{constant}'"
    return f"DATE '{constant}'" if isinstance(constant, date) else f"{float(constant):g}"


DAYS = tuple(DAY + timedelta(days=n) for n in range(4))
HOURS = tuple(HOUR + timedelta(hours=n) for n in range(5))
ORDERED = (
    Kind("age", tuple(map(Fraction, range(-2, 6))), Fraction(1),
         tuple(Fraction(n, 2) for n in range(-8, 16))),
    Kind("fives", tuple(Fraction(5 * n) for n in range(5)), Fraction(5),
         tuple(map(Fraction, (-6, -5, -4, 0, 1, 20, 21, 25, 26, 1000)))),
    Kind("income", tuple(Fraction(n, 2) for n in range(-1, 7)), Fraction(1, 2),
         tuple(Fraction(n, 4) for n in range(-6, 18))),
    Kind("day", DAYS, timedelta(days=1), tuple(DAY + timedelta(days=n) for n in range(-3, 8))),
    Kind("moment", HOURS, timedelta(hours=1),
         tuple(HOUR + timedelta(minutes=30 * n) for n in range(-4, 14))),
)  # fmt: skip


def refusal(sql):
    """What is said of a question; it is about public schemas, so there is no data here at all."""
    query = parse(sql, TABLES)
    try:
        refuse_unknown_values(query, [TABLES[name] for name in query.tables])
    except UnsafeQuery as found:
        return str(found)
    return ""


def shown(value):
    return f"{float(value):g}" if isinstance(value, Fraction) else str(value)


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">=", "IN", "BETWEEN"])
@pytest.mark.parametrize("kind", ORDERED, ids=lambda kind: kind.name)
def test_what_lies_outside_of_the_bounds_is_refused_with_the_nearest_bound(kind, operator):
    middle = written(kind.values[1])
    for constant in kind.tried:
        text = written(constant)
        asked = {
            "IN": f"{kind.name} IN ({middle}, {text})",
            "BETWEEN": f"{kind.name} BETWEEN {middle} AND {text}",
        }.get(operator, f"{kind.name} {operator} {text}")
        said = refusal(PLACES["where"].format(asked))
        compared = {"IN": "=", "BETWEEN": "<="}.get(operator, operator)
        assert bool(said) != kind.inside(constant, compared), (asked, said)
        if said:
            near = kind.values[0] if constant < kind.values[0] else kind.values[-1]
            assert f"the bounds of {kind.name}, " in said
            assert f"; the nearest is {shown(near)}. Nothing was run or charged." in said


@pytest.mark.parametrize("mirrored", ["age = {}", "{} = age", "CASE age WHEN {} THEN TRUE END"])
def test_the_sides_of_a_comparison_do_not_matter(mirrored):
    assert not refusal(PLACES["where"].format(mirrored.format(5)))
    assert "the nearest is 5" in refusal(PLACES["where"].format(mirrored.format(6)))


KEYS = {
    "north": None, "east side": None, "nroth": "north", "North": "north", "sout": "south",
    "east": "east side", "x%": "", "north ": "north", "": "",
}  # fmt: skip


@pytest.mark.parametrize("form", ["{} = {!r}", "{} <> {!r}", "{} IN ('north', {!r})",
                                  "CASE {} WHEN {!r} THEN TRUE ELSE FALSE END"])  # fmt: skip
@pytest.mark.parametrize(("constant", "near"), KEYS.items())
def test_what_is_no_declared_key_is_refused_with_the_nearest_key(form, constant, near):
    for column in ("region", "ward"):
        said = refusal(PLACES["where"].format(form.format(column, constant)))
        assert bool(said) == (constant not in REGIONS), said
        if said:
            assert f"{column} has no declared key {constant!r}; the nearest is '" in said
            assert f"is '{near}" in said
    assert not refusal(PLACES["where"].format(form.format("city", constant)))  # private keys


def test_other_is_a_key_where_it_is_declared():
    assert not refusal(PLACES["where"].format("ward = 'other'"))
    assert refusal(PLACES["where"].format("region = 'other'"))


@pytest.mark.parametrize(("pattern", "fits"), [("n%", True), ("%th", True), ("z%", False)])
def test_a_pattern_that_fits_no_key_is_refused(pattern, fits):
    for like in ("LIKE", "NOT LIKE", "ILIKE"):
        said = refusal(PLACES["where"].format(f"region {like} '{pattern}'"))
        assert bool(said) != fits
        if said:
            words = f"region has no declared key that matches the pattern '{pattern}'; the nearest"
            assert said.startswith(words)


def test_a_pattern_without_a_key_names_the_nearest():
    said = refusal(PLACES["where"].format("region LIKE 'nroth%'"))
    assert said.endswith("the nearest is 'north'. Nothing was run or charged.")
    said = refusal(PLACES["where"].format("region LIKE 'nroth'"))
    assert said.startswith("region has no declared key 'nroth'; the nearest is 'north'")


@pytest.mark.parametrize("place", PLACES)
def test_every_place_of_a_question_is_looked_at(place):
    """And nothing else in the question is taken for a wrong constant."""
    text = PLACES[place]
    assert refusal(text.format("region = 'nroth'")).startswith("region has no declared key 'nroth'")
    assert refusal(text.format("day < '2025-01-01'")).startswith("2025-01-01 lies outside")
    assert not refusal(text.format("region = 'north' AND day < '2024-02-03' AND city = 'Oz'"))


def test_keys_are_looked_at_after_grouping():
    text = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region HAVING {}"
    assert refusal(text.format("region = 'nroth'"))
    assert not refusal(text.format("region = 'north' AND n > 1000"))


def test_a_public_table_is_looked_at_too():
    text = "SELECT COUNT(*) FROM visits v JOIN wards w ON v.region = w.name WHERE beds > {}"
    assert not refusal(text.format(10))
    assert "the bounds of beds, 0 to 9" in refusal(text.format(11))


@pytest.mark.parametrize("computed", ["age + 1 = 100", "FLOOR(income / 2) = 77", "age = fives",
                                      "age * age > 1000", "EXTRACT(month FROM day) = 13",
                                      "LEAST(age, 3) = 9"])  # fmt: skip
def test_what_is_computed_has_no_declared_bounds(computed):
    assert not refusal(PLACES["where"].format(computed))


def test_the_nearest_of_very_many_keys_is_found_soon():
    keys = tuple(f"town {n:05d}" for n in range(100_000))
    town = Column("town", "category", upper=len(keys) - 1, keys=keys)
    table = Table("visits", columns=(town,))
    listed = ", ".join(f"'town {n:05d}'" for n in range(900))
    query = parse(f"SELECT COUNT(*) FROM visits WHERE town IN ({listed})", {"visits": table})
    refuse_unknown_values(query, [table])
    query = parse("SELECT COUNT(*) FROM visits WHERE town = 'town 7777'", {"visits": table})
    with pytest.raises(UnsafeQuery, match=r"the nearest is 'town .*777"):
        refuse_unknown_values(query, [table])
