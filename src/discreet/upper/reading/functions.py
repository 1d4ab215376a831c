"""The functions that an outer query may call, each a name that DuckDB knows by the same meaning.
All are functions of their arguments alone: none reads a file, a clock, a setting or chance.
"""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["AGGREGATES", "RANKED", "SCALARS", "WINDOWS", "spell"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES = _words(
    "ANY_VALUE ARG_MAX ARG_MIN ARRAY_AGG AVG BOOL_AND BOOL_OR CORR COUNT COUNTIF COVAR_POP "
    "COVAR_SAMP FIRST GEOMEAN KURTOSIS LAST MAX MEDIAN MIN MODE PRODUCT QUANTILE "
    "QUANTILE_CONT QUANTILE_DISC REGR_AVGX REGR_AVGY REGR_COUNT REGR_INTERCEPT REGR_R2 "
    "REGR_SLOPE REGR_SXX REGR_SXY REGR_SYY SKEWNESS STDDEV STDDEV_POP STDDEV_SAMP STRING_AGG "
    "SUM VARIANCE VAR_POP VAR_SAMP"
)
"""Functions of several rows."""

RANKED = _words("MODE PERCENTILE_CONT PERCENTILE_DISC")
"""Functions whose rows stand in WITHIN GROUP (ORDER BY ...)."""

WINDOWS = _words(
    "CUME_DIST DENSE_RANK FIRST_VALUE LAG LAST_VALUE LEAD NTH_VALUE NTILE PERCENT_RANK RANK "
    "ROW_NUMBER"
)
"""Functions that need OVER."""

SCALARS = _words(
    "ABS ACOS AGE ASIN ATAN ATAN2 BIT_LENGTH CBRT CEIL CEILING CHR COALESCE CONCAT CONCAT_WS "
    "CONTAINS COS COT DATEDIFF DATEPART DATETRUNC DATE_ADD DATE_DIFF DATE_PART DATE_SUB "
    "DATE_TRUNC DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DEGREES ENDS_WITH EPOCH EXP FLOOR "
    "GREATEST GROUPING GROUPING_ID HOUR IF IFNULL INSTR ISFINITE ISINF ISNAN ISODOW ISOYEAR "
    "LAST_DAY LCASE LEAST LEFT LEN LENGTH LN LOG LOG10 LOG2 LOWER LTRIM MAKE_DATE "
    "MAKE_TIMESTAMP MINUTE MOD MONTH MONTHNAME NULLIF PI POW POWER PREFIX QUARTER RADIANS "
    "REPLACE REVERSE RIGHT ROUND ROUND_EVEN RTRIM SECOND SIGN SIN SPLIT_PART SQRT "
    "STARTS_WITH STRFTIME STRIP_ACCENTS STRPOS STRPTIME SUBSTR SUBSTRING SUFFIX TAN TO_DAYS "
    "TO_HOURS TO_MINUTES TO_MONTHS TO_YEARS TRANSLATE TRIM TRUNC UCASE UNICODE UPPER WEEK "
    "WEEKDAY WEEKOFYEAR YEAR YEARWEEK"
)
"""Functions of one row."""

_SPELLINGS: Mapping[str, str] = MappingProxyType(
    {
        "APPROX_QUANTILE": "QUANTILE_CONT",
        "BOOLAND_AGG": "BOOL_AND",
        "BOOLOR_AGG": "BOOL_OR",
        "CHARACTER_LENGTH": "LENGTH",
        "CHAR_LENGTH": "LENGTH",
        "COUNT_IF": "COUNTIF",
        "EVERY": "BOOL_AND",
        "GROUP_CONCAT": "STRING_AGG",
        "IIF": "IF",
        "ISNULL": "IFNULL",
        "LISTAGG": "STRING_AGG",
        "MAX_BY": "ARG_MAX",
        "MIN_BY": "ARG_MIN",
        "NVL": "IFNULL",
        "VAR": "VAR_SAMP",
    }
)


def spell(name: str) -> str:
    """How DuckDB spells a function that others call differently; the name itself for all others.

    >>> spell("nvl"), spell("Sum"), spell("read_csv")
    ('IFNULL', 'SUM', 'READ_CSV')
    """
    upper = name.upper()
    return _SPELLINGS.get(upper, upper)
