"""SQL as Spark reads it in ANSI mode: BIGINT, and DECIMAL beyond, where an overflow is an error
and never another number. Knows SQL, never data.
"""

from discreet.plan.sql.dialects.form import Dialect, joined, paired_in_full

__all__ = ["SPARK"]

_SMALL = 1 << 62
_SHORT = 1 << 24  # sums of these fit BIGINT up to 2**39 rows


def _quotient(dividend: str, divisor: int, reach: int) -> str:
    if reach < _SMALL:
        return f"({dividend} div {divisor})"  # BIGINT, whatever goes in
    whole = f"({dividend} - {dividend} % {divisor})"
    return f"CAST({whole} / {divisor} AS DECIMAL(38,0))"  # exact: nothing is left over


def _date(day: str) -> str:
    return f"date_add(DATE '1970-01-01', CAST({day} AS INT))"


def _part(part: str, day: str) -> str:
    if part == "dayofweek":
        return f"(dayofweek({_date(day)}) - 1)"  # Sunday is 1 here
    return f"{'weekofyear' if part == 'week' else part}({_date(day)})"


def _start(unit: str, day: str) -> str:
    return f"unix_date(trunc({_date(day)}, '{unit}'))" if unit != "day" else day


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SPARK = Dialect(
    name="spark",
    wide="DECIMAL(38,0)",
    string="STRING",
    null="CAST(NULL AS BIGINT)",
    unknown="CAST(NULL AS BOOLEAN)",
    boolean="INT",
    quotient=_quotient,
    date_part=_part,
    date_start=_start,
    # A sum of BIGINT is BIGINT; of DECIMAL(28,0) it is DECIMAL(38,0).
    sum_type=lambda reach: "BIGINT" if reach < _SHORT else "DECIMAL(28,0)",
    hash_of=lambda text: f"md5(CAST({text} AS BINARY))",
    literal=_literal,
    derived=lambda select, name: f"({select}) AS {name}",
    looked_up=joined,  # the rows of each public key are cut first, for which all of them are read
    paired=paired_in_full,  # the engine's sessions do without the rule that would undo it
)
"""The dialect of Spark."""
