"""A few tables and short ways to write expected questions about them."""

from datetime import date
from fractions import Fraction

from discreet.query.algebra import (
    Aggregate,
    Arithmetic,
    Compare,
    Expression,
    Field,
    Key,
    Literal,
    Output,
    Query,
    Statistic,
)
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table

VISITS = Table(
    "visits",
    unit="patient_id",
    rows_per_unit=10,
    columns=(
        Column("age", "integer", upper=110),
        Column("income", "number", step=Fraction(1, 2), upper=400_000),
        Column("region", "category", upper=3, keys=("north", "south", "east", "West_1")),
        Column("home", "category", upper=3, keys=("north", "south", "east", "West_1")),
        Column("smoker", "boolean"),
        Column("day", "date", lower=19_723, upper=20_453),
        Column("format", "integer", upper=5),
    ),
)
PEOPLE = Table("people", columns=(Column("age", "integer", upper=110),))
STAYS = Table(
    "stays",
    population="visits",
    unit="patient_id",
    rows_per_unit=3,
    columns=(
        Column("age", "integer", upper=110),
        Column("nights", "integer", upper=60),
        Column("code", "integer", upper=999),
        Column("ward", "category", upper=1, keys=("a", "b")),
    ),
)
TRIPS = Table("trips", unit="person", rows_per_unit=2, columns=(Column("km", "integer", upper=9),))
BILLS = Table(
    "bills",
    population="visits",
    unit="payer",
    rows_per_unit=5,
    columns=(Column("amount", "number", step=Fraction(1, 100), upper=10**6),),
)
CODES = Table(
    "codes",
    kind="public",
    key=("code",),
    columns=(
        Column("code", "integer", upper=999),
        Column("title", "category", upper=1, keys=("flu", "cold")),
        Column("age", "number", step=Fraction(1, 2), upper=99),
    ),
)
EVENTS = Table(
    "events",
    unit="patient_id",
    population="visits",
    rows_per_unit=9,
    columns=(
        Column("seen", "datetime", lower=1_704_067_200, upper=1_767_225_599),
        Column("day", "date", lower=19_723, upper=20_453),
        Column("city", "category", lower=0, upper=0, private_keys=True),
        Column("born_in", "category", lower=0, upper=0, private_keys=True),
        Column("ward", "category", upper=1, keys=("a", "b")),
    ),
)
CITIES = Table(
    "cities",
    kind="public",
    columns=(
        Column("city", "category", lower=0, upper=0, private_keys=True),
        Column("coast", "boolean"),
    ),
)
TABLES = {
    "visits": VISITS,
    "people": PEOPLE,
    "stays": STAYS,
    "trips": TRIPS,
    "bills": BILLS,
    "codes": CODES,
    "events": EVENTS,
    "cities": CITIES,
}

AGE, INCOME, REGION = Field("age"), Field("income"), Field("region")
SMOKER, DAY = Field("smoker"), Field("day")
ROWS = Aggregate(Statistic.ROWS, None)
COUNT = (Output("count", ROWS),)


def ask(text: str) -> Query:
    return parse(text, TABLES)


def where(condition: str) -> Expression | None:
    return ask(f"SELECT COUNT(*) FROM visits WHERE {condition}").where


def key(expression: str) -> Key:
    (only,) = ask(f"SELECT COUNT(*) FROM visits GROUP BY {expression}").keys
    return only


def output(expression: str) -> Output:
    (only,) = ask(f"SELECT {expression} FROM visits").outputs
    return only


def number(value: int | str) -> Literal:
    return Literal(Fraction(value))


def on(year: int, month: int, day: int) -> Literal:
    return Literal(date(year, month, day))


def compare(left: Expression, operator: str, right: Expression | int) -> Compare:
    return Compare(operator, left, number(right) if isinstance(right, int) else right)


def combine(left: Expression, operator: str, right: Expression | int) -> Arithmetic:
    return Arithmetic(operator, left, number(right) if isinstance(right, int) else right)
