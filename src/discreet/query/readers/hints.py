"""What to write instead of the constructs that are refused. Words only; decides nothing."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["FUNCTION_HINTS", "NODE_HINTS", "NODE_NAMES", "PART_HINTS", "TOKEN_HINTS"]

_NOISY = "Noise is added for you."
_QUANTILE = "Write QUANTILE_CONT(x, 0.25), once for each quantile."
_TODAY = "Write the date itself, as in DATE '2024-01-31'."
_SUBQUERY = "A subquery stands after FROM or JOIN, or in WITH; write a join with it."
_MEMBER = "It stands in WHERE: unit IN (SELECT ...) or EXISTS (SELECT ...)."
_WINDOW = "Over rows it stands in a subquery without GROUP BY: OVER (PARTITION BY unit ORDER BY x)."
_INTERVAL = "Write an interval beside a constant: DATE '2024-01-31' + INTERVAL 7 DAY."
_SETS = "Aggregate the rows of people on each side first: COUNT(*), SUM(x)."
_KEPT = "Which rows it keeps would depend on the rows of other people. Filter with WHERE."

FUNCTION_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "ANY_VALUE": "Group by the column and count.",
        "APPROX_COUNT_DISTINCT": "Write COUNT(DISTINCT unit) with the table's unit column.",
        "APPROX_PERCENTILE": _QUANTILE,
        "APPROX_QUANTILE": _QUANTILE,
        "APPROX_QUANTILES": _QUANTILE,
        "ARG_MAX": "Write MAX(x).",
        "ARG_MIN": "Write MIN(x).",
        "DATE": "Write DATE(column), CAST(... AS DATE) or DATE '2024-01-31'.",
        "DATE_ADD": _INTERVAL,
        "DATE_SUB": _INTERVAL,
        "DAYNAME": "Write DAYOFWEEK(column); Sunday is 0.",
        "EPOCH": "Write DATE_DIFF('second', TIMESTAMP '1970-01-01 00:00:00', column).",
        "MONTHNAME": "Write MONTH(column).",
        "NOW": _TODAY,
        "PERCENTILE": _QUANTILE,
        "POSITION": "Write CONTAINS(x, 'text') or LIKE.",
        "POWER": "Write x * x.",
        "RAND": _NOISY,
        "RANDOM": _NOISY,
        "REGEXP_MATCHES": "Write LIKE, CONTAINS or STARTS_WITH.",
        "SAFE_CAST": "Leave the cast out.",
        "SQRT": "Write STDDEV(x) for a deviation, or take roots of the result.",
        "STRFTIME": "Write DATE_TRUNC('month', column), or YEAR(column) and MONTH(column).",
        "TRY_CAST": "Leave the cast out.",
    }
)
"""What to write instead of a function, by its name in capitals."""

PART_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "distinct": "Write GROUP BY the columns.",
        "offset": "Write ORDER BY and LIMIT.",
        "qualify": "It stands in a subquery, beside windows over the rows of one unit.",
        "query": _MEMBER,
        "recursive": "Write WITH name AS (SELECT ...), each using only earlier ones.",
        "with_": "Write WITH once, at the start of the question.",
    }
)
"""What to write instead of a part of a clause."""

NODE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "Add": "+",
        "CTE": "WITH",
        "Anonymous": "this function",
        "Coalesce": "COALESCE",
        "CountIf": "COUNT_IF",
        "CurrentDate": "CURRENT_DATE",
        "DPipe": "||",
        "IntDiv": "//",
        "Join": "JOIN",
        "Mod": "the remainder %",
        "NullSafeEQ": "IS NOT DISTINCT FROM",
        "NullSafeNEQ": "IS DISTINCT FROM",
        "Pow": "a power",
        "Rand": "RANDOM()",
        "Star": "*",
        "Sub": "-",
        "Subquery": "a subquery",
        "Select": "a subquery",
        "TryCast": "TRY_CAST",
        "Tuple": "a list in parentheses",
        "Window": "a window function (OVER)",
    }
)
"""What analysts call a class of parsed node."""

NODE_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "AnyValue": "Group by the column and count.",
        "ApproxDistinct": "Write COUNT(DISTINCT unit) with the table's unit column.",
        "CurrentDate": "Write the date itself, as in DATE '2024-01-31'.",
        "CurrentTimestamp": "Write the date itself, as in DATE '2024-01-31'.",
        "Distinct": "Only COUNT(DISTINCT unit) with the table's unit column is answered.",
        "Escape": "List the categories with IN.",
        "Exists": _MEMBER,
        "Join": "Write JOIN ... ON a.unit = b.unit.",
        "Pow": "Write x * x.",
        "Rand": "Noise is added for you.",
        "Select": _SUBQUERY,
        "SetOperation": "Ask one question at a time.",
        "Star": "Rows of people are not shown: ask for COUNT(*), SUM(x), AVG(x) with GROUP BY.",
        "Subquery": _SUBQUERY,
        "TryCast": "Leave the cast out.",
        "Tuple": "Compare the columns one by one.",
        "Window": _WINDOW,
    }
)
"""What to write instead of a class of parsed node."""


TOKEN_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "ALL": "Leave ALL out.",
        "ANY": "Use IN with a list of constants.",
        "ASOF": "Write JOIN ... ON with equalities.",
        "CROSS": "It pairs rows of different people. Write JOIN ... ON a.unit = b.unit.",
        "CURRENT_TIMESTAMP": _TODAY,
        "DELETE": "Nothing but questions is answered.",
        "ESCAPE": "List the categories with IN.",
        "EXCEPT": _SETS,
        "FETCH": _KEPT,
        "INTERSECT": _SETS,
        "FULL": "Write JOIN, or LEFT JOIN with a public table.",
        "NATURAL": "Write JOIN ... USING (columns).",
        "RECURSIVE": "Write WITH name AS (SELECT ...), each using only earlier ones.",
        "VALUES": "Ask about a registered table.",
        "OFFSET": _KEPT,
        "RIGHT": "Put the private table first and write LEFT JOIN with a public table.",
        "TABLE_SAMPLE": "Questions are about the whole table.",
        "DATETIME": "Write TIMESTAMP '2024-01-31 12:00:00'.",
        "TIMESTAMPTZ": "Write TIMESTAMP '2024-01-31 12:00:00', without a zone.",
        "UNION": _SETS,
        "UNKNOWN": "Names are quoted as \"name\" and text as 'text'.",
        "XOR": "Write a <> b of two conditions.",
    }
)
"""What to write instead of a kind of token."""
