"""What every dialect has to say so that raw values become lattice integers, and the rules that are
the same in all of them: what NULL, NaN and infinities become, exact rounding. Never sees data.
"""

from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import SchemaError
from discreet.plan.sql.dialects import Dialect
from discreet.plan.sql.preparation.words import FALSE, TRUE
from discreet.schema.column import AS_NULL, Column

__all__ = [
    "EXACT_LIMIT",
    "Reader",
    "Reading",
    "apply_rules",
    "clamp",
    "exclude_nan",
    "half_even",
    "kind_refusal",
    "match_keys",
    "match_truth",
    "scale_exactly",
    "text_refusal",
    "unit_refusal",
]

EXACT_LIMIT = 10**37
"""Products of decimals stay below this, which DuckDB's and Spark's widest integers hold."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One raw value as SQL: its integer, and conditions for what the rules speak of.

    `code` is NULL for NULL, for NaN and for what cannot be read; infinities are clamped.
    """

    code: str
    nan: str | None = None
    infinite: str | None = None
    below: str | None = None
    above: str | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """How one dialect reads raw values.

    `readings` are functions of a column, its value and the source's type, one for each of KINDS;
    `text` is the value of a type as text, distinguished byte by byte; `unit` a unit as an integer,
    a UUID or such a text, one for all values that the type itself calls equal, or a refusal;
    `widths` are integer types with the power of two they end at; `first_rows` keeps the first
    `rows_per_unit` rows of each unit: it takes the rows, the columns, the order and the number.
    """

    dialect: Dialect
    widths: tuple[tuple[int, str], ...]
    readings: tuple[Callable[[Column, str, str], Reading], ...]
    text: Callable[[str, str, str], str]
    unit: Callable[[str, str, str], str]
    first_rows: Callable[[str, str, str, int], str]


def unit_refusal(what: str, kind: str, accepted: str, example: str) -> SchemaError:
    """The error for a unit of a type that is not on its dialect's list.

    Only types whose equality becomes equality of integers or bytes are on it: a unit that is
    split contributes more rows than its bound.
    >>> print(unit_refusal("t.id", "CITEXT", "integer or text", "lower(id::text)"))
    t.id: a unit of the type citext is refused, because values that are equal in the source could \
become several units. A unit may be of the types integer or text. Make it one of these in a view, \
so that equal values are one, such as lower(id::text), and name the view as the source. Nothing \
was added, run or charged.
    """
    return SchemaError(
        f"{what}: a unit of the type {kind.lower()} is refused, because values that are equal in "
        f"the source could become several units. A unit may be of the types {accepted}. Make it "
        f"one of these in a view, so that equal values are one, such as {example}, and name the "
        "view as the source. Nothing was added, run or charged."
    )


def kind_refusal(column: Column, kind: str) -> SchemaError:
    """The error for a type that is not read as the column's kind."""
    return SchemaError(
        f"{column.name}: the source has the type {kind.lower()}, which is not read as a "
        f"{column.kind}. Cast it in a view, and name the view as the source."
    )


def text_refusal(what: str, kind: str, target: str) -> SchemaError:
    """The error for a type whose text depends on the engine; `target` is what to cast it to."""
    return SchemaError(
        f"{what}: the source has the type {kind.lower()}, whose text is not the same in all "
        f"engines. Cast it to {target} in a view, and name the view as the source."
    )


def match_keys(column: Column, text: str, dialect: Dialect) -> Reading:
    """The code of a text among the declared keys.

    >>> from discreet.plan.sql.dialects import SPARK
    >>> match_keys(Column("a", "category", upper=0, keys=("x",)), "t", SPARK).code
    "CASE t WHEN 'x' THEN 0 END"
    """
    arms = " ".join(
        f"WHEN {dialect.literal(key)} THEN {code}" for code, key in enumerate(column.keys)
    )
    return Reading(f"CASE {text} {arms} END")


def match_truth(word: str) -> Reading:
    """The code of a text in lower case that is a word for true or false."""
    return Reading(f"CASE WHEN {word} IN {TRUE} THEN 1 WHEN {word} IN {FALSE} THEN 0 END")


def exclude_nan(reading: Reading, nan: str, infinite: str) -> Reading:
    """The reading of what is not NaN, where NaN would pass for a large number."""
    code = f"CASE WHEN NOT {nan} THEN {reading.code} END"
    return Reading(code, nan, infinite, reading.below, f"{reading.above} AND NOT {nan}")


def apply_rules(column: Column, reading: Reading) -> str:
    """The integer of a value after the column's rules for NULL, NaN and infinities.

    >>> apply_rules(Column("a", "integer", null=0), Reading('"a"'))
    'coalesce("a", 0)'
    """
    code = reading.code
    if isinstance(column.null, int):
        code = f"coalesce({code}, {column.null})"
    arms = ""
    if reading.nan is not None and column.nan != AS_NULL:
        constant = column.nan if isinstance(column.nan, int) else "NULL"
        arms += f" WHEN {reading.nan} THEN {constant}"
    if reading.infinite is not None and column.infinity != "clamp":
        arms += f" WHEN {reading.infinite} THEN NULL"
    return f"CASE{arms} ELSE {code} END" if arms else code


def clamp(column: Column, value: str, low: str, high: str, inside: str) -> Reading:
    """A value between two limits of its own type, and `inside` for what lies between them.

    >>> clamp(Column("a", "integer", upper=9), '"a"', "0", "9", '"a"').code
    'CASE WHEN "a" <= 0 THEN 0 WHEN "a" >= 9 THEN 9 ELSE "a" END'
    """
    code = (
        f"CASE WHEN {value} <= {low} THEN {column.lower} "
        f"WHEN {value} >= {high} THEN {column.upper} ELSE {inside} END"
    )
    return Reading(code, below=f"{value} < {low}", above=f"{value} > {high}")


def scale_exactly(column: Column, value: str, digits: int, dialect: Dialect) -> Reading | None:
    """The exact reading of an integer that counts 10**-digits; None where it would not fit.

    Ties go to the even neighbour. The limits are integers, so comparing with them is exact.
    >>> from discreet.plan.sql.dialects import DUCKDB
    >>> from fractions import Fraction
    >>> cents = Column("a", "number", step=Fraction(1, 100), upper=900)
    >>> scale_exactly(cents, "u", 2, DUCKDB).code
    'CASE WHEN u <= 0 THEN 0 WHEN u >= 900 THEN 900 ELSE u END'
    """
    ratio = 1 / (column.step * 10**digits)
    factor, divisor = ratio.numerator, ratio.denominator
    reach = max(abs(column.lower), abs(column.upper), 1)
    if 4 * reach * divisor >= EXACT_LIMIT:
        return None
    low = column.lower * divisor // factor
    high = -(-column.upper * divisor // factor)
    product = value if factor == 1 else f"({value} * {factor})"
    inside = product
    if divisor != 1:
        inside = half_even(f"({product} - {column.lower * divisor})", divisor, column, dialect)
    return clamp(column, value, str(low), str(high), inside)


def half_even(above_lower: str, divisor: int, column: Column, dialect: Dialect) -> str:
    """lower + above_lower / divisor, rounded to the nearest integer and ties to the even one.

    >>> from discreet.plan.sql.dialects import DUCKDB
    >>> half_even("m", 2, Column("a", "integer", upper=9), DUCKDB).startswith("(0 + m // 2) + CASE")
    True
    """
    quotient = dialect.quotient(above_lower, divisor, column.upper - column.lower)
    floor = f"({column.lower} + {quotient})"
    whole = f"CAST({quotient} AS {dialect.wide}) * {divisor}"
    twice = f"2 * ({above_lower} - {whole})"
    return (
        f"{floor} + CASE WHEN {twice} > {divisor} THEN 1 "
        f"WHEN {twice} = {divisor} AND {floor} % 2 <> 0 THEN 1 ELSE 0 END"
    )
