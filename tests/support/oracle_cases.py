"""The questions of the oracle: every construct that is accepted, on every type of column it takes.

A template says what is asked and, where plain SQL means or spells it differently on purpose, what
a person would write on the bounded rows. To add a construct: add a template. A test compares the
templates with the lists of what is accepted, in both directions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle, product

from discreet.query.statement.options import with_limits

NUMBERS = ("i", "j", "k", "h", "m", "q", "w")
WHOLE, TRUTHS, CATEGORIES, OPEN = ("i", "j", "k"), ("f", "g"), ("c", "e", "o"), ("p",)
DATES, TIMES = ("d", "b"), ("t1", "t60", "t900", "t3600")
ORDERED = (*NUMBERS, *DATES, *TIMES)
KNOWN = (*ORDERED, *TRUTHS, *CATEGORIES)
COLUMNS = (*KNOWN, *OPEN)

CONSTANTS: dict[str, tuple[str, str, str]] = {
    "i": ("7", "20", "6.5"),
    "j": ("2", "5", "2.25"),
    "k": ("10", "20", "12"),
    "h": ("2.5", "7", "2.3"),
    "m": ("0.3", "5.5", "0.35"),
    "q": ("0.5", "4.321", "3.00005"),
    "w": ("50", "100", "60"),
    "f": ("TRUE", "FALSE", "TRUE"),
    "g": ("TRUE", "FALSE", "TRUE"),
    **dict.fromkeys(CATEGORIES, ("'ash'", "'oak'", "'elm'")),
    "p": ("'Köln'", "'Rom'", "'nobody'"),
    "d": ("DATE '2023-11-20'", "DATE '2024-06-30'", "DATE '2030-01-01'"),
    "b": ("DATE '1970-01-01'", "DATE '1970-02-01'", "DATE '1960-01-01'"),
    "t1": (
        "TIMESTAMP '2023-12-31 23:50:00'",
        "TIMESTAMP '2024-01-01 00:07:07'",
        "TIMESTAMP '2023-12-31 23:57:00.5'",
    ),
    "t60": (
        "TIMESTAMP '2023-12-31 08:50:00'",
        "TIMESTAMP '2024-01-01 01:34:00'",
        "TIMESTAMP '2024-01-01 00:00:01'",
    ),
    "t900": (
        "TIMESTAMP '1969-12-27 00:00:00'",
        "TIMESTAMP '1970-01-01 00:00:00'",
        "TIMESTAMP '1969-12-31 23:59:59'",
    ),
    "t3600": (
        "TIMESTAMP '2023-12-30 00:00:00'",
        "TIMESTAMP '2024-02-29 12:00:00'",
        "TIMESTAMP '2024-01-01 00:30:00'",
    ),
}
"""Two constants on the lattice of each column, in order where there is one, and another."""


@dataclass(frozen=True)
class Template:
    """A construct: as it is asked, as plain SQL has it if that differs, and what columns it takes.

    {x} is a column, {y} another of its type, {a}, {b} and {off} are its constants.
    """

    asked: str
    columns: tuple[str, ...]
    plain: str = ""

    def of(self, column: str) -> tuple[str, str]:
        """The construct on a column, as asked and in plain SQL."""
        a, b, off = CONSTANTS[column]
        words = {"x": column, "y": PARTNERS[column], "a": a, "b": b, "off": off}
        return self.asked.format(**words), (self.plain or self.asked).format(**words)


def _partners() -> dict[str, str]:
    """Another column of the same type for each, if there is one."""
    found = {}
    for alike in (NUMBERS, TRUTHS, CATEGORIES, OPEN, DATES, TIMES):
        for place, name in enumerate(alike):
            found[name] = alike[(place + 1) % len(alike)]
    return found


PARTNERS = _partners()
TYPES = {"integer": WHOLE, "number": NUMBERS[3:], "date": DATES, "datetime": TIMES}

CONDITIONS = (
    Template("{x} = {a}", COLUMNS),
    Template("{x} = {off}", COLUMNS),
    Template("{x} <> {b}", COLUMNS),
    Template("{x} != {off}", COLUMNS),
    Template("{x} < {b}", ORDERED),
    Template("{x} < {off}", ORDERED),
    Template("{x} <= {a}", ORDERED),
    Template("{x} <= {off}", ORDERED),
    Template("{x} > {a}", ORDERED),
    Template("{x} > {off}", ORDERED),
    Template("{x} >= {b}", ORDERED),
    Template("{x} >= {off}", ORDERED),
    Template("{b} > {x}", ORDERED),
    Template("{a} <= {x}", ORDERED),
    Template("{x} IN ({a}, {off})", COLUMNS),
    Template("{x} NOT IN ({b}, {off})", COLUMNS),
    Template("{x} BETWEEN {a} AND {b}", ORDERED),
    Template("{x} NOT BETWEEN {off} AND {b}", ORDERED),
    Template("{x} IS NULL", COLUMNS),
    Template("{x} IS NOT NULL", COLUMNS),
    Template("NOT ({x} = {a})", COLUMNS),
    Template("{x} = {a} OR {x} = {b} OR i > 30", COLUMNS),
    Template("{x} <> {a} AND (j > 3 OR NOT f)", COLUMNS),
    Template("{x} = {y}", KNOWN),
    Template("{x} <> {y}", KNOWN),
    Template("{x} < {y}", ORDERED),
    Template("{x} >= {y}", ORDERED),
    Template("{x}", TRUTHS),
    Template("NOT {x}", TRUTHS),
    Template("{x} IS TRUE", TRUTHS),
    Template("{x} IS NOT FALSE", TRUTHS),
    Template("({x} = {a}) IS NOT TRUE", COLUMNS),
    Template("{x} LIKE '%a%'", CATEGORIES),
    Template("{x} LIKE '_t%'", CATEGORIES),
    Template("{x} NOT LIKE 'a%'", CATEGORIES),
    Template("{x} ILIKE 'B%ch'", CATEGORIES),
    Template("CASE WHEN {x} = {a} THEN 1 WHEN {x} = {b} THEN 2 ELSE 3 END <> 2", COLUMNS),
    Template("CASE {x} WHEN {a} THEN TRUE ELSE FALSE END", COLUMNS),
    Template("{x} > '1970-01-15'", (*DATES, *TIMES)),
    Template("{x} < DATE '2024-01-01'", (*DATES, *TIMES)),
    Template("{x} > d", (*DATES, *TIMES)),
    Template("{x} <= t900", (*DATES, *TIMES)),
    Template("CAST({x} AS TIMESTAMP) >= CAST('2024-01-01 00:30' AS TIMESTAMP)", TIMES),
    Template("{x}::DATE <> '2024-01-01'::DATE", (*DATES, *TIMES)),
    Template("CAST({x} AS VARCHAR) = {a}", CATEGORIES),
    Template("CAST({x} AS TEXT) <> {a}", CATEGORIES),
    Template("CAST({x} AS BOOLEAN)", (*NUMBERS, *TRUTHS)),
    Template("{x} IS DISTINCT FROM {a}", COLUMNS),
    Template("{x} IS NOT DISTINCT FROM {y}", KNOWN),
    Template("{x} IS DISTINCT FROM NULL", COLUMNS),
    Template("COALESCE({x}, {b}) = {b}", KNOWN),
    Template("COALESCE({x} = {a}, {x} IS NULL)", COLUMNS),
    Template("NULLIF({x}, {a}) = {b}", KNOWN),
    Template("IF({x} = {a}, TRUE, {x} IS NULL)", COLUMNS),
    Template("UPPER({x}) = 'ASH'", CATEGORIES),
    Template("LOWER({x}) IN ('beech', 'oak')", CATEGORIES),
    Template("LOWER({x}) NOT LIKE 'b%'", CATEGORIES),
    Template("SUBSTR({x}, 1, 1) <> 'a'", CATEGORIES),
    Template("SUBSTR({x}, -2) = 'sh'", CATEGORIES),
    Template("STARTS_WITH({x}, 'B')", CATEGORIES),
    Template("NOT ENDS_WITH({x}, 'h')", CATEGORIES),
    Template("CONTAINS(UPPER({x}), 'A')", CATEGORIES),
    Template("CONCAT({x}, '!') = '!'", CATEGORIES),
    Template("{x} || '!' <> 'ash!'", CATEGORIES),
    Template("TRIM(' ' || {x}) = {a}", CATEGORIES),
    Template("LENGTH({x}) > 3", CATEGORIES),
    Template("{x} < DATE '2023-12-31' + INTERVAL 1 MONTH", (*DATES, *TIMES)),
    Template("{x} >= DATE '2024-02-29' - INTERVAL (1) YEAR", (*DATES, *TIMES)),
    Template("{x} > DATE '1970-01-01' + INTERVAL '-2 weeks'", (*DATES, *TIMES)),
    Template("{x} >= TIMESTAMP '2024-01-01 00:00:00' - INTERVAL '90 minutes'", TIMES),
    Template("{x} - DATE '2024-02-29' > 3", DATES),
    Template("{x} <> MAKE_DATE(2024, 1, 1)", (*DATES, *TIMES)),
    Template("{x} >= TO_DATE('1970-01-05')", (*DATES, *TIMES), "{x} >= DATE '1970-01-05'"),
)
"""What can stand in WHERE; each is also a value of its own, and a key."""

VALUES = (
    Template("{x}", NUMBERS),
    Template("{x} + 1", NUMBERS),
    Template("{x} - {y}", (*NUMBERS, *DATES)),
    Template("{x} * 3", NUMBERS),
    Template("-{x}", NUMBERS),
    Template("{x} * {y}", NUMBERS),
    Template("({x} + 0.25) / 4", NUMBERS, "({x} + 0.25) * 0.25"),
    Template("{x} / -0.5", NUMBERS, "{x} * -2"),
    Template("FLOOR({x})", NUMBERS),
    Template("FLOOR({x} / 4)", NUMBERS, "FLOOR(CAST({x} AS DOUBLE) / 4)"),
    Template("FLOOR({x} / -0.3)", NUMBERS, "FLOOR(CAST({x} * 1000 AS BIGINT) / -300)"),
    Template("10 * FLOOR({x} / 10)", NUMBERS, "10 * FLOOR(CAST({x} AS DOUBLE) / 10)"),
    Template(
        "LEAST({x}, {y}, 4)",
        NUMBERS,
        "CASE WHEN {x} IS NOT NULL AND {y} IS NOT NULL THEN LEAST({x}, {y}, 4) END",
    ),
    Template(
        "GREATEST({x}, {off})", NUMBERS, "CASE WHEN {x} IS NOT NULL THEN GREATEST({x}, {off}) END"
    ),
    Template(
        "WIDTH_BUCKET({x}, 0, 20, 5)",
        NUMBERS,
        "CASE WHEN {x} < 0 THEN 0 WHEN {x} >= 20 THEN 6 "
        "WHEN {x} IS NOT NULL THEN FLOOR(CAST({x} AS DOUBLE) / 4) + 1 END",
    ),
    Template("CASE WHEN {x} > {off} THEN {x} ELSE 0 END", NUMBERS),
    Template("CASE WHEN {x} > {off} THEN {y} END", NUMBERS),
    Template("CASE {x} WHEN {a} THEN 1 WHEN {b} THEN -2 ELSE NULL END", COLUMNS),
    Template("CASE WHEN {x} IS NULL THEN 7.5 ELSE 1 END", COLUMNS),
    Template("CAST({x} AS DOUBLE)", (*NUMBERS, *TRUTHS), "CAST({x} AS DECIMAL(18,3))"),
    Template("CAST({x} AS FLOAT)", (*NUMBERS, *TRUTHS), "CAST({x} AS DECIMAL(18,3))"),
    Template("CAST({x} AS DECIMAL)", (*NUMBERS, *TRUTHS), "CAST({x} AS DECIMAL(18,3))"),
    Template("CAST({x} AS BIGINT)", (*NUMBERS, *TRUTHS)),
    Template("CAST({x} AS INT)", (*NUMBERS, *TRUTHS)),
    Template("CAST({x} AS SMALLINT)", (*NUMBERS, *TRUTHS)),
    Template("CAST({x} = {a} AS INT)", COLUMNS),
    Template("ABS({x})", NUMBERS),
    Template("SIGN({x})", NUMBERS),
    Template("CEIL({x})", NUMBERS),
    Template("CEILING({x} / 4)", NUMBERS, "CEIL(CAST({x} AS DOUBLE) / 4)"),
    Template("ROUND({x})", NUMBERS),
    Template("ROUND({x} / -4)", NUMBERS, "ROUND(CAST({x} AS DOUBLE) / -4)"),
    Template("ROUND({x}, 1)", NUMBERS),
    Template("ROUND({x}, -1)", NUMBERS),
    Template("TRUNC({x})", NUMBERS),
    Template("TRUNC({x} / -4, 1)", NUMBERS, "TRUNC({x} * -0.25, 1)"),
    Template("{x} % 3", NUMBERS),
    Template("MOD({x}, -0.7)", NUMBERS),
    Template("{x} DIV -3", WHOLE, "{x} // -3"),
    Template("COALESCE({x}, {y}, 5)", NUMBERS),
    Template("IFNULL({x}, 2.5)", NUMBERS),
    Template("NVL({x}, {y})", NUMBERS, "COALESCE({x}, {y})"),
    Template("NULLIF({x}, {a})", NUMBERS),
    Template("IIF({x} IS NULL, 3, -1)", COLUMNS, "CASE WHEN {x} IS NULL THEN 3 ELSE -1 END"),
    Template("CHAR_LENGTH({x})", CATEGORIES),
    Template("LEN(RTRIM({x}, 'ha'))", CATEGORIES),
    Template("DATE_DIFF('day', {x}, DATE '2024-02-29')", (*DATES, *TIMES)),
    Template("DATEDIFF('month', {x}, {y})", (*DATES, *TIMES)),
    Template("DATE_DIFF('quarter', {x}, {y})", (*DATES, *TIMES)),
    Template("DATE_DIFF('years', {x}, {y})", (*DATES, *TIMES)),
    Template("DATE_DIFF('hour', {x}, {y})", TIMES),
    Template("DATE_DIFF('minute', {x}, {y})", TIMES),
    Template("DATE_DIFF('second', {x}, {y})", TIMES),
)
"""Numbers of a row: they are summed, averaged, compared and grouped by."""

_EITHER = "CASE WHEN {x} > {a} THEN {x} ELSE {b} END"
_ONE_OF_TWO = "CASE WHEN j > 4 THEN {x} ELSE {y} END"
_OR_ELSE = "COALESCE({x}, {b})"
_CLOCK = ("hour", "minute", "second")
TOO_MANY = {
    *((_EITHER, column) for column in TIMES),  # to the microsecond, as the constant is
    *((_ONE_OF_TWO, column) for column in TIMES[1:]),
    (_ONE_OF_TWO, "q"),
    ("{x} - {y}", "q"),
    ("{x} * {y}", "m"),
    ("({x} + 0.25) / 4", "q"),
    ("GREATEST({x}, {off})", "q"),
    ("COALESCE({x}, {y}, 5)", "q"),
    ("NVL({x}, {y})", "q"),
    *((_OR_ELSE, column) for column in TIMES),
    *((f"DATE_DIFF('{unit}', {{x}}, {{y}})", each) for unit in _CLOCK for each in TIMES),
}
"""Templates that have more public keys on a column than a question may."""

_DAY_UNITS = ("year", "quarter", "month", "week", "day")
_NAMED = ("QUARTER", "MONTH", "WEEK", "DAY", "YEAR")
MOMENTS = (
    *(
        # A start of a day or more is a date, of a datetime too.
        Template(
            f"DATE_TRUNC('{unit}', {{x}})",
            (*DATES, *TIMES),
            f"CAST(DATE_TRUNC('{unit}', {{x}}) AS DATE)",
        )
        for unit in _DAY_UNITS
    ),
    *(Template(f"DATE_TRUNC('{unit}', {{x}})", TIMES) for unit in _CLOCK),
    Template(_EITHER, (*DATES, *TIMES)),
    Template(_OR_ELSE, (*DATES, *TIMES)),
    Template("CAST({x} AS DATE)", (*DATES, *TIMES)),
    Template("DATE({x})", (*DATES, *TIMES), "CAST({x} AS DATE)"),
)
"""Dates and times of a row."""

PARTS = (
    *(
        Template(f"EXTRACT({part} FROM {{x}})", (*DATES, *TIMES))
        for part in (*_NAMED, "DOW", "DAYOFWEEK", "ISODOW", "DOY", "DAYOFYEAR")
    ),
    *(Template(f"EXTRACT({part} FROM {{x}})", TIMES) for part in _CLOCK),
    *(Template(f"{name}({{x}})", (*DATES, *TIMES)) for name in _NAMED),
    *(
        Template(f"{name}({{x}})", (*DATES, *TIMES))
        for name in ("WEEKOFYEAR", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR")
    ),
    *(Template(f"{name}({{x}})", TIMES) for name in ("HOUR", "MINUTE", "SECOND")),
    Template("ISODOW({x})", (*DATES, *TIMES)),
    Template("WEEKDAY({x})", (*DATES, *TIMES)),
    Template("DATE_PART('month', {x})", (*DATES, *TIMES)),
    Template("DATEPART('week', {x})", (*DATES, *TIMES)),
    Template("DATE_PART('hour', {x})", TIMES),
)
"""Parts of dates and times: integers."""

LABELS = (
    Template("{x}", (*KNOWN, *OPEN)),
    Template("{x} = {a}", COLUMNS),
    Template("CASE WHEN {x} = {a} THEN 'ash' WHEN {x} = {b} THEN 'new' END", COLUMNS),
    Template("CASE WHEN j > 4 THEN 'x' ELSE {x} END", CATEGORIES),
    Template(_ONE_OF_TWO, KNOWN),
    Template("{x} IS NULL", COLUMNS),
    Template("NULLIF({x}, {a})", KNOWN),
    Template("COALESCE({x}, 'none')", CATEGORIES),
    Template("IF(j > 4, 'x', {x})", CATEGORIES),
    Template("UPPER({x})", CATEGORIES),
    Template("LCASE(REPLACE({x}, 'h', 'H'))", CATEGORIES),
    Template("UCASE(LTRIM({x}, 'ab'))", CATEGORIES),
    Template("CONCAT('<', {x}, '>')", CATEGORIES),
    Template("'<' || {x} || '>'", CATEGORIES),
    Template("LEFT({x}, 1)", CATEGORIES),
    Template("RIGHT({x}, -2)", CATEGORIES),
    Template("SUBSTRING({x}, 2, 1)", CATEGORIES),
    Template("UPPER(CASE WHEN {x} = {a} THEN 'first' WHEN {x} = {b} THEN 'last' END)", COLUMNS),
)
"""Keys that are no numbers."""


@dataclass(frozen=True)
class Statistic:
    """An aggregate: as asked, and the same of a plain value; `fraction` is that of a quantile."""

    asked: str
    columns: tuple[str, ...]
    plain: str = ""
    fraction: str = ""


STATISTICS = (
    Statistic("COUNT({x})", KNOWN),
    Statistic("SUM({x})", (*NUMBERS, *TRUTHS)),
    Statistic("AVG({x})", (*NUMBERS, *TRUTHS), "AVG(CAST({x} AS DECIMAL(18,5)))"),
    Statistic("VARIANCE({x})", NUMBERS, "VAR_SAMP({x})"),
    Statistic("VAR_SAMP({x})", NUMBERS),
    Statistic("VARIANCE_SAMP({x})", NUMBERS, "VAR_SAMP({x})"),
    Statistic("VAR_POP({x})", NUMBERS),
    Statistic("VARIANCE_POP({x})", NUMBERS, "VAR_POP({x})"),
    Statistic("STDDEV({x})", NUMBERS, "STDDEV_SAMP({x})"),
    Statistic("STDDEV_SAMP({x})", NUMBERS),
    Statistic("STDDEV_POP({x})", NUMBERS),
    Statistic("COVAR_POP({x}, {y})", NUMBERS),
    Statistic("COVAR_SAMP({x}, {y})", NUMBERS),
    Statistic("CORR({x}, {y})", NUMBERS),
    Statistic("REGR_SLOPE({x}, {y})", NUMBERS),
    Statistic("REGR_INTERCEPT({x}, {y})", NUMBERS),
    Statistic("MIN({x})", ORDERED, fraction="0"),
    Statistic("MAX({x})", ORDERED, fraction="1"),
    Statistic("MEDIAN({x})", ORDERED, fraction="1/2"),
    Statistic("QUANTILE({x}, 0.25)", ORDERED, fraction="1/4"),
    Statistic("QUANTILE_CONT({x}, 0.1)", ORDERED, fraction="1/10"),
    Statistic("QUANTILE_DISC({x}, 0.9)", ORDERED, fraction="9/10"),
    Statistic("PERCENTILE_CONT({x}, 0.75)", ORDERED, fraction="3/4"),
    Statistic("PERCENTILE_DISC({x}, 0.3)", ORDERED, fraction="3/10"),
    Statistic("PERCENTILE_CONT(0.2) WITHIN GROUP (ORDER BY {x})", ORDERED, fraction="1/5"),
    Statistic("PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY {x} DESC)", ORDERED, fraction="4/5"),
    Statistic("MODE({x})", (*WHOLE, *TRUTHS, *CATEGORIES), fraction="mode"),
    Statistic("MODE() WITHIN GROUP (ORDER BY {x})", (*WHOLE, *TRUTHS, *CATEGORIES), "", "mode"),
)
"""Aggregates, each of a column and, of those of two numbers, of its partner."""


@dataclass(frozen=True)
class Asked:
    """One aggregate of a question: as asked, its plain value, and its plain arguments."""

    asked: str
    plain: str = ""
    arguments: tuple[str, ...] = ()
    fraction: str = ""


ROWS = Asked("COUNT(*)")
UNITS = Asked("COUNT(DISTINCT {unit})")


def aggregate(statistic: Statistic, x: tuple[str, str], y: tuple[str, str]) -> Asked:
    """A statistic of values that are given as asked and in plain SQL."""
    words = [{"x": each[0], "y": each[1]} for each in zip(x, y, strict=True)]
    plain = "" if statistic.fraction else (statistic.plain or statistic.asked).format(**words[1])
    two = "{y}" in statistic.asked
    arguments = (x[1], y[1]) if two else (x[1],)
    return Asked(statistic.asked.format(**words[0]), plain, arguments, statistic.fraction)


@dataclass(frozen=True)
class Limit:
    """What bounds the rows of a table beyond its schema: `most` rows, or groups of `keys`, of the
    first `rows` of each unit if that is also limited.
    """

    table: str
    most: int
    keys: tuple[str, ...] = ()
    rows: int | None = None


@dataclass(frozen=True)
class Case:
    """One question, and what its parts are in plain SQL."""

    construct: str
    column: str
    aggregates: tuple[Asked, ...]
    source: str = "visits"
    where: tuple[str, str] = ("", "")
    keys: tuple[tuple[str, str], ...] = ()
    before: str = ""
    rest: str = ""
    options: str = ""
    beside: tuple[tuple[str, int], ...] = ()
    limit: Limit | None = None
    unit: str = "who"
    plain_source: str = ""
    after: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return self.question

    @property
    def question(self) -> str:
        """The text of an analyst."""
        listed = [f"{asked} AS k{place}" for place, (asked, _) in enumerate(self.keys)]
        listed += [
            f"{each.asked.format(unit=self.unit)} AS a{place}"
            for place, each in enumerate(self.aggregates)
        ]
        listed += self.after
        clause = f" WITH DIFFERENTIAL_PRIVACY OPTIONS({self.options})" if self.options else ""
        where = f" WHERE {self.where[0]}" if self.where[0] else ""
        group = (
            f" GROUP BY {', '.join(f'k{n}' for n in range(len(self.keys)))}" if self.keys else ""
        )
        text = (
            f"{self.before}SELECT{clause} {', '.join(listed)} FROM {self.source}"
            f"{where}{group}{self.rest}"
        )
        return with_limits(text, **dict(self.beside))


USUAL = (ROWS, UNITS, Asked("SUM(j)", "SUM(j)", ("j",)), Asked("COUNT(h)", "COUNT(h)", ("h",)))
_OF = ("i", "i"), ("h", "h")


def _statistics(x: tuple[str, str], y: tuple[str, str], names: tuple[str, ...]) -> list[Asked]:
    found = [each for each in STATISTICS if each.asked.split("(")[0] in names]
    return [aggregate(each, x, y) for each in found]


def _filtered(name: str, plain: str, *arguments: str, fraction: str = "") -> Asked:
    """An aggregate of the rows where f holds."""
    asked = f"{name} FILTER (WHERE f)"
    values = tuple(f"CASE WHEN f THEN {each} END" for each in arguments)
    return Asked(asked, f"{plain} FILTER (WHERE f)" if plain else "", values, fraction)


def filter_cases() -> Iterator[Case]:
    """FILTER on aggregates of every shape."""
    asked = (
        _filtered("AVG(h)", "AVG(h)", "h"),
        _filtered("VAR_POP(h)", "VAR_POP(h)", "h"),
        _filtered("COVAR_POP(h, j)", "COVAR_POP(h, j)", "h", "j"),
        _filtered("MEDIAN(h)", "", "h", fraction="1/2"),
        _filtered("QUANTILE_CONT(d, 0.1)", "", "d", fraction="1/10"),
        _filtered(
            "PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY t60 DESC)", "", "t60", fraction="4/5"
        ),
        _filtered("MAX(i)", "", "i", fraction="1"),
    )
    mode = (_filtered("MODE(c)", "", "c", fraction="mode"), ROWS)
    for keys in ((), (("c", "c"),), (("p", "p"),), (("o", "o"),)):
        yield Case("FILTER", "f", asked, keys=keys)
        yield Case("FILTER of a mode", "f", mode, keys=keys)
    yield Case("schema", "main", USUAL, "main.visits", keys=(("c", "main.visits.c"),))
    yield Case("schema", "public", USUAL, 'public."visits"', plain_source="visits")


def _batches(asked: list[Asked], construct: str, column: str) -> Iterator[Case]:
    """Many aggregates in few questions."""
    keys = cycle([(), (("g", "g"),), (("o", "o"),), (("p", "p"),)])
    for place in range(0, len(asked), 12):
        yield Case(construct, column, tuple(asked[place : place + 12]), keys=next(keys))


def condition_cases() -> Iterator[Case]:
    """Every condition on every column, in WHERE, and inside of aggregates."""
    keys = cycle([(), (("c", "c"),), (("f", "f"),)])
    counted = cycle(
        (form, "1")
        for form in (
            "COUNT(CASE WHEN {} THEN 1 END)", "COUNT(*) FILTER (WHERE {})", "COUNTIF({})",
            "COUNT_IF({})",
        )
    )  # fmt: skip
    summed = cycle(
        [
            ("SUM(CASE WHEN {} THEN j ELSE 0 END)", "j ELSE 0"),
            ("SUM(j) FILTER (WHERE {})", "j"),
        ]
    )
    inside: dict[str, list[Asked]] = {}
    for template in CONDITIONS:
        for column in template.columns:
            asked, plain = template.of(column)
            yield Case(template.asked, column, USUAL, where=(asked, plain), keys=next(keys))
            words = "CASE WHEN {} THEN {} END"
            inside.setdefault(column, []).extend(
                Asked(form.format(asked), "", (words.format(plain, of),))
                for form, of in (next(counted), next(summed))
            )
    for column, found in inside.items():
        yield from _batches(found, "conditions inside", column)


def value_cases() -> Iterator[Case]:
    """Every value of a row in aggregates, in WHERE and as a key."""
    inside: dict[str, list[Asked]] = {}
    for template in (*VALUES, *PARTS):
        for column in template.columns:
            value = template.of(column)
            names = ("COUNT", "SUM", "AVG", "VAR_POP", "MIN", "COVAR_POP")
            inside.setdefault(column, []).extend(_statistics(value, ("j", "j"), names))
            above = (f"{value[0]} >= 2", f"{value[1]} >= 2")
            yield Case(template.asked, column, USUAL, where=above)
            if (template.asked, column) not in TOO_MANY:
                yield Case(template.asked, column, USUAL, keys=(value,))
    for template in MOMENTS:
        for column in template.columns:
            value = template.of(column)
            inside.setdefault(column, []).extend(
                _statistics(value, value, ("COUNT", "MAX", "MEDIAN"))
            )
            above = tuple(f"{each} >= DATE '2024-01-01'" for each in value)
            yield Case(template.asked, column, USUAL, where=(above[0], above[1]))
            if (template.asked, column) not in TOO_MANY:
                yield Case(template.asked, column, USUAL, keys=(value,))
    for column, found in inside.items():
        yield from _batches(found, "values inside", column)


def key_cases() -> Iterator[Case]:
    """Every kind of key, alone, with another and with private keys."""
    for template in LABELS:
        for column in template.columns:
            value = template.of(column)
            if (template.asked, column) in TOO_MANY:
                continue
            yield Case(template.asked, column, USUAL, keys=(value,))
            if template.asked == "{x}" and column not in ("e", "q", *TIMES):
                yield Case("two keys", column, USUAL, keys=(value, ("e", "e")))
            if template.asked == "{x}" and column not in OPEN:
                yield Case("private and public", column, USUAL, keys=(("p", "p"), value))


def statistic_cases() -> Iterator[Case]:
    """All aggregates of a column together, with keys of some types and without."""
    for column in COLUMNS:
        other = PARTNERS[column]
        made = [
            aggregate(each, (column, column), (other, other))
            for each in STATISTICS
            if column in each.columns
        ]
        ranked = [each for each in made if each.fraction == "mode"]
        usual = [each for each in made if each.fraction != "mode"]
        for keys in ((), (("c", "c"),), (("p", "p"),), (("f", "f"), ("o", "o"))):
            if usual:
                yield Case("every aggregate", column, tuple(usual), keys=keys)
            for each in ranked:
                yield Case("mode", column, (each, ROWS), keys=keys)


def _asked(text: str) -> Asked:
    inner = text[text.index("(") + 1 : -1]
    return Asked(text, text, (inner,))


JOINED = (ROWS, UNITS, _asked("SUM(nights)"), _asked("AVG(nights)"))
COUNTED = (ROWS, UNITS)


def source_cases() -> Iterator[Case]:
    """Joins and subqueries: the same text after FROM on the bounded rows."""
    on = "visits v JOIN stays s ON v.who = s.guest"
    unit = "v.who"
    yield Case("JOIN", "who", JOINED, on, unit=unit)
    inner = 'visits INNER JOIN "stays" AS s ON visits."who" = s.guest AND visits.c = s.c'
    yield Case("INNER JOIN", "c", JOINED, inner, keys=(('visits."c"', "visits.c"),), unit="who")
    for column in (*ORDERED, *TRUTHS, "e", "o"):
        a, _, off = CONSTANTS[column]
        condition = f"{column if column != 'd' else 'v.d'} <> {a}"
        yield Case("JOIN", column, JOINED, on, where=(condition, condition), unit=unit)
        named = column if column != "d" else "v.d"
        yield Case("JOIN key", column, JOINED, on, keys=((named, named),), unit=unit)
        assert off
    same = f"{on} AND v.c = s.c"
    yield Case("JOIN on more", "c", JOINED, same, keys=(("v.c", "v.c"),), unit=unit)
    yield Case("JOIN on more", "c", JOINED, same, keys=(("s.c", "s.c"),), unit=unit)
    yield Case("JOIN on more", "d", JOINED, f"{on} AND v.d = s.d", unit=unit)
    yield Case("JOIN on more", "p", JOINED, f"{on} AND v.p = s.p", unit=unit)
    yield Case("JOIN on more", "i", JOINED, f"{on} AND v.i = s.nights", unit=unit)
    yield Case("JOIN on more", "h", JOINED, f"{on} AND v.h = s.nights", unit=unit)
    dated = ("DATE_TRUNC('month', s.d)", "CAST(DATE_TRUNC('month', s.d) AS DATE)")
    hourly = ("DATE_TRUNC('day', t3600)", "CAST(DATE_TRUNC('day', t3600) AS DATE)")
    yield Case("JOIN key", "s.d", JOINED, on, keys=(dated,), unit=unit)
    yield Case("JOIN key", "t3600", JOINED, on, keys=(hourly,), unit=unit)
    crossed = ("v.d < s.d", "v.c <> s.c", "t3600 < s.d", "v.c = s.c OR v.i < s.nights")
    for condition in crossed:
        yield Case("across", "d", JOINED, on, where=(condition, condition), unit=unit)
    looked = "stays JOIN places ON stays.ward = places.ward"
    beds = (ROWS, Asked("COUNT(DISTINCT guest)"), _asked("SUM(beds)"), _asked("AVG(beds)"))
    opened = ("DATE_TRUNC('quarter', opened)", "CAST(DATE_TRUNC('quarter', opened) AS DATE)")
    for source in (looked, looked.replace("JOIN", "LEFT JOIN"), "stays JOIN places USING (ward)"):
        kind = " ".join(word for word in source.split() if word.isupper() and len(word) > 1)
        yield Case(kind, "ward", beds, source)
        for key in (("stays.ward", "stays.ward"), ("beds", "beds"), opened):
            if "USING" not in source or key[0] != "stays.ward":
                yield Case(f"{kind} key", key[0], beds, source, keys=(key,))
        for condition in ("beds IS NULL", "places.ward <> 'east'", "opened > '2000-06-01'"):
            if "USING" in source:
                condition = condition.replace("places.", "")
            yield Case(f"{kind} where", condition, beds, source, where=(condition, condition))
    chain = f"{on} LEFT OUTER JOIN places ON s.ward = places.ward"
    yield Case("chain", "ward", (*JOINED, _asked("COUNT(beds)")), chain, unit=unit)
    self_join = "stays x JOIN stays y ON x.guest = y.guest AND x.ward = y.ward"
    nights = (ROWS, Asked("COUNT(DISTINCT x.guest)"), _asked("SUM(x.nights)"))
    below = "x.nights < y.nights"
    yield Case("itself", "nights", nights, self_join, where=(below, below))
    flipped = "places JOIN stays USING (ward)"
    yield Case("public first", "ward", beds, flipped, keys=(("beds", "beds"),))


def subquery_cases() -> Iterator[Case]:
    """Rows that are filtered and computed, and one row for each unit and further keys."""
    for column in COLUMNS:
        where = f"{column} <> {CONSTANTS[column][0]}"
        inner = f"(SELECT who, {column} AS z, j FROM visits WHERE {where}) AS s"
        sums = (ROWS, UNITS, _asked("SUM(j)"))
        yield Case("rows", column, sums, inner, keys=(("z", "z"),))
    for template in (*VALUES, *PARTS):
        column = template.columns[0]
        asked, plain = template.of(column)
        sums = (*COUNTED, _asked("SUM(z)"), _asked("VAR_POP(z)"))
        inner = "(SELECT who, {} AS z FROM visits) AS s"
        yield Case(
            "computed rows",
            template.asked,
            sums,
            inner.format(asked),
            plain_source=inner.format(plain),
        )
    for template in MOMENTS:
        for column in template.columns:
            asked, plain = template.of(column)
            if (template.asked, column) in TOO_MANY:
                continue
            inner = "(SELECT who, {} AS z FROM visits) AS s"
            yield Case(
                "computed moments",
                column,
                (*COUNTED, Asked("MEDIAN(z)", "", ("z",), "1/2")),
                inner.format(asked),
                keys=(("MONTH(z)", "MONTH(z)"),),
                plain_source=inner.format(plain),
            )
    units = "WITH u AS (SELECT who, {} FROM visits{} GROUP BY who{}) "
    made = ("SUM", "MIN", "MAX", "COUNT")
    for column in NUMBERS:
        listed = ", ".join(f"{name}({column}) AS {name.lower()}_x" for name in made)
        before = units.format(f"COUNT(*) AS n, {listed}", " WHERE j > 1", "")
        sums = [_asked(f"SUM({name.lower()}_x)") for name in made]
        wider = (*COUNTED, _asked("SUM(n)"), _asked("AVG(max_x)"), *sums)
        yield Case("per unit", column, wider, "u", before=before)
        where = "n > 1 AND sum_x > min_x"
        yield Case("per unit", column, wider, "u", before=before, where=(where, where))
        yield Case("per unit", column, wider, "u", before=before, keys=(("n", "n"),))
    for column in (*DATES, *TIMES):
        before = units.format(f"MIN({column}) AS low, MAX({column}) AS high", "", "")
        month = ("DATE_TRUNC('month', low)", "CAST(DATE_TRUNC('month', low) AS DATE)")
        last = (*COUNTED, Asked("MAX(high)", "", ("high",), "1"))
        yield Case("per unit", column, last, "u", before=before, keys=(month,))
        yield Case("per unit", column, last, "u", before=before, where=("low < high", "low < high"))
    for column in (*WHOLE, *TRUTHS, "c", "e", "o", "p", "d", "b"):
        before = units.format(f"{column} AS z, SUM(j) AS s, COUNT(*) AS n", "", f", {column}")
        yield Case(
            "per unit and key", column, (*COUNTED, _asked("SUM(s)"), _asked("AVG(n)")), "u",
            before=before, keys=(("z", "z"),),
        )  # fmt: skip
    nested = (
        "(SELECT w.who, w.t, s.nights FROM (SELECT who, SUM(j) * 2 AS t FROM visits GROUP BY who) "
        "AS w JOIN (SELECT * FROM stays WHERE nights > 3) AS s ON w.who = s.guest) AS r"
    )
    yield Case("nested", "who", (*JOINED, _asked("SUM(t)")), nested)


STEPS = {"i": "1", "j": "1", "k": "5", "h": "0.5", "m": "0.1", "q": "0.001", "w": "25"}


def average_cases() -> Iterator[Case]:
    """Averages of one unit's rows, rounded to a step; no tie of so few is lost in a float."""
    for column in NUMBERS:
        steps = f"SUM(CAST(ROUND({column} / {STEPS[column]}) AS BIGINT)) / COUNT({column})"
        plain = f"CAST(ROUND({steps}) * {STEPS[column]} AS DECIMAL(18, 3))"
        inner = "(SELECT who, {} AS z FROM visits WHERE j < 12 GROUP BY who{}) AS u"
        for key in ("", ", c"):
            asked = inner.format(f"AVG({column})", key)
            yield Case(
                "average of units", column, (*COUNTED, _asked("SUM(z)"), _asked("COUNT(z)")),
                asked, plain_source=inner.format(plain, key),
            )  # fmt: skip


def member_cases() -> Iterator[Case]:
    """Groups of one unit that fulfil a condition, people with rows elsewhere, and without any."""
    for column in (*NUMBERS, *DATES, *TIMES):
        a, b, _ = CONSTANTS[column]
        having = f"COUNT(*) > 1 AND MAX({column}) >= {a} OR MIN({column}) < {b}"
        inner = f"(SELECT who, COUNT(*) AS n FROM visits GROUP BY who HAVING {having}) AS u"
        yield Case("HAVING of units", column, (*COUNTED, _asked("SUM(n)")), inner)
    for column in (*KNOWN, "p"):
        inner = f"(SELECT DISTINCT who, {column} AS z FROM visits) AS u"
        yield Case("DISTINCT of units", column, COUNTED, inner, keys=(("z", "z"),))
    sums = (*COUNTED, _asked("SUM(i)"))
    for column in KNOWN:
        inside = f"SELECT who FROM visits WHERE {column} = {CONSTANTS[column][0]}"
        for test in (f"who IN ({inside})", f"who NOT IN ({inside})", f"i > 9 OR who IN ({inside})"):
            yield Case("IN of units", column, sums, "visits", where=(test, test), unit="who")
    for name, inside in (("nights", "s.nights > 9"), ("c", "s.c = 'oak'"), ("p", "s.p <> 'Rom'")):
        exists = f"EXISTS (SELECT 1 FROM stays s WHERE s.guest = v.who AND {inside})"
        for test in (exists, f"NOT {exists}", f"j > 3 AND {exists}"):
            yield Case("EXISTS", name, sums, "visits v", where=(test, test), unit="v.who")
    for kind in ("SEMI", "ANTI"):
        yield Case(kind, "who", sums, f"visits {kind} JOIN stays ON who = guest")
        yield Case(kind, "c", sums, f"visits {kind} JOIN stays ON who = guest", keys=(("c", "c"),))
    left = "visits v LEFT JOIN stays s ON v.who = s.guest"
    wider = (*JOINED, _asked("COUNT(guest)"), _asked("COUNT(s.c)"), _asked("SUM(i)"))
    for condition in ("", "guest IS NULL", "guest IS NOT NULL OR i > 9", "s.c IS NULL"):
        yield Case("LEFT JOIN of people", condition, wider, left, where=(condition, condition))
    yield Case("LEFT JOIN of people", "c", wider, f"{left} AND v.c = s.c", keys=(("v.c", "v.c"),))
    for key in (("s.c", "s.c"), ("s.d", "s.d"), ("s.nights", "s.nights")):
        yield Case("LEFT JOIN of people", key[0], wider, left, keys=(key,))
    one = "(SELECT guest, COUNT(*) AS n, SUM(nights) AS t FROM stays GROUP BY guest) AS s"
    each = f"visits v LEFT JOIN {one} ON v.who = s.guest"
    totals = (*COUNTED, _asked("SUM(n)"), _asked("COUNT(t)"), _asked("AVG(t)"))
    yield Case("LEFT JOIN of units", "n", totals, each)
    yield Case("LEFT JOIN of units", "n", totals, each, where=("n IS NULL", "n IS NULL"))


APART = "q, t1, t60, i, h"
"""Columns in which no two rows of a unit are equal: plain SQL leaves the order of equals open."""
OVER = f"OVER (PARTITION BY who ORDER BY {{}}, {APART}{{}})"
WINDOW = "(SELECT who, {} AS z, c, f FROM visits) AS r"


def window_cases() -> Iterator[Case]:
    """Windows over the rows of one unit."""
    sums = (ROWS, _asked("SUM(z)"), _asked("VAR_POP(z)"))
    for column in ORDERED:
        for call in ("ROW_NUMBER()", "RANK()", "LAG(j)", "LEAD(i, 2)"):
            for order in (column, f"{column} DESC"):
                inner = WINDOW.format(f"{call} {OVER.format(order, '')}")
                yield Case("window", column, sums, inner, keys=(("c", "c"),))
        for call in (
            "RANK()",
            "DENSE_RANK()",
            "COUNT(*)",
            "COUNT(i)",
            "SUM(j)",
            "MAX(h)",
            "MIN(k)",
        ):
            inner = WINDOW.format(f"{call} OVER (PARTITION BY who ORDER BY {column})")
            yield Case("window with peers", column, sums, inner)
    for column in NUMBERS:
        inner = WINDOW.format(f"{column} - LAG({column}) {OVER.format(column, '')}")
        yield Case("gap", column, sums, inner, keys=(("f", "f"),))
        for frame in ("", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"):
            inner = WINDOW.format(f"SUM({column}) {OVER.format('d', frame)}")
            yield Case("running sum", column, sums, inner, keys=(("c", "c"),))
    for column in (*KNOWN, "p"):
        inner = WINDOW.format(f"COUNT(*) OVER (PARTITION BY who, {column})")
        yield Case("window of keys", column, sums, inner, keys=(("z", "z"),))
    whole = "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    frames = (("FIRST", ""), ("LAST", f" ROWS {whole}"), ("LAST", f" RANGE {whole}"))
    for column, (end, frame) in product(KNOWN, frames):
        inner = WINDOW.format(f"{end}_VALUE({column}) {OVER.format('j', frame)}")
        yield Case("first and last", column, COUNTED, inner, keys=(("z", "z"),))


def first_cases() -> Iterator[Case]:
    """Rows that are chosen by windows, and the days between rows."""
    sums = (*COUNTED, _asked("SUM(i)"))
    for order in ("d", "h DESC", "j"):
        firsts = f"SELECT DISTINCT ON (who) who, i, c FROM visits ORDER BY who, {order}, {APART}"
        yield Case("DISTINCT ON", order, sums, f"({firsts}) AS r", keys=(("c", "c"),))
    firsts = f"SELECT DISTINCT ON (who, c) who, i, c FROM visits ORDER BY {{}}i DESC, {APART}"
    for asked in ("who, ", "who, c, "):
        plain = f"({firsts.format('who, c, ')}) AS r"
        yield Case("DISTINCT ON", "c", sums, f"({firsts.format(asked)}) AS r", plain_source=plain)
    numbered = f"ROW_NUMBER() {OVER.format('d DESC', '')}"
    shown = f"SELECT who, i, c, {numbered} AS n FROM visits WHERE j > 1 QUALIFY n <= 2 AND i > 3"
    yield Case("QUALIFY", "c", sums, f"({shown}) AS r", keys=(("c", "c"),))
    counted = "COUNT(*) OVER (PARTITION BY who) = 2"
    hidden = f"SELECT who, i FROM visits QUALIFY {numbered} = 1 OR {counted}"
    yield Case("QUALIFY", "i", sums, f"({hidden}) AS r")
    gap = f"SELECT who, DATE_DIFF('day', LAG(d) {OVER.format('d', '')}, d) AS z FROM visits"
    for inner in (gap, f"SELECT who, MAX(z) AS z FROM ({gap}) GROUP BY who"):
        yield Case("days between", "d", (*COUNTED, _asked("SUM(z)")), f"({inner}) AS r")


def result_cases() -> Iterator[Case]:
    """What is computed from noisy results leaves the exact integers as they are."""
    n = "a0"
    rests = (
        f" HAVING {n} > 3 AND AVG(i) < 30 AND k0 <> 'ash' OR SUM(j) IN (1, 2)",
        f" HAVING NOT ({n} BETWEEN 1 AND 5)",
        " HAVING k0 LIKE 'a%' OR k0 ILIKE 'b%' OR k0 = 'oak'",
        f" ORDER BY {n} DESC, 1 LIMIT 2",
        " ORDER BY k0",
        " ORDER BY SUM(h) ASC LIMIT 1",
    )
    for rest in rests:
        yield Case(rest, "c", USUAL, keys=(("c", "c"),), rest=rest)
    yield Case(
        "count of results", "c", (ROWS,), keys=(("c", "c"),), rest=" ORDER BY a0 DESC LIMIT 1"
    )
    yield Case(
        "units of results", "c", (UNITS,), keys=(("k", "k"),), rest=" ORDER BY a0 DESC LIMIT 2"
    )
    ends = ("DP_INTERVAL_LOW(a0) AS low", "DP_INTERVAL_HIGH(a1) AS high")
    yield Case("interval of results", "c", USUAL, keys=(("c", "c"),), after=ends)
    computed = tuple(
        Asked(text, text)
        for text in (
            "SUM(i) / COUNT(*)",
            "COUNT(*) / 2",
            "SUM(j) - SUM(i) + 1",
            "2 * AVG(h) - 0.5",
            "-COUNT(i)",
            "(MAX(j) * 0 + COUNT(*)) * 3",
            "CAST(COUNT(*) AS DOUBLE) / COUNT(DISTINCT who)",
            "COALESCE(SUM(i), 0) + 1",
            "SUM(i) / NULLIF(COUNT(*), 0)",
        )
    )
    yield Case("arithmetic of results", "c", computed, keys=(("c", "c"),))
    yield Case("arithmetic of all", "", computed)


def option_cases() -> Iterator[Case]:
    """Bounds that a question asks for; the bounded rows are those of the plain side too."""
    for column in (*KNOWN, *OPEN):
        keys = ((column, column),)
        for most in (1, 2):
            yield Case(
                "max_groups_contributed", column, USUAL, keys=keys,
                options=f"epsilon=1, max_groups_contributed={most}",
                limit=Limit("visits", most, (column,)),
            )  # fmt: skip
    yield Case(
        "max_groups_contributed", "c and p", USUAL, keys=(("c", "c"), ("p", "p")),
        options="max_groups_contributed=1", limit=Limit("visits", 1, ("c", "p")),
    )  # fmt: skip
    for most in (1, 2, 3, 9):
        for keys in ((), (("c", "c"),)):
            yield Case(
                "max_rows_contributed", str(most), USUAL, keys=keys, where=("j > 1", "j > 1"),
                options=f"delta=1e-6, privacy_unit_column=who, max_rows_contributed={most}",
                limit=Limit("visits", most),
            )  # fmt: skip
    for column in ("c", "p", "g"):
        for rows, groups in ((2, 1), (3, 2), (3, 1)):
            yield Case(
                "limits beside the question", column, USUAL, keys=((column, column),),
                beside=(("max_groups_contributed", groups), ("max_rows_contributed", rows)),
                limit=Limit("visits", groups, (column,), rows),
            )  # fmt: skip
    yield Case(
        "limits beside the question", "2", USUAL, options="epsilon=1",
        beside=(("max_rows_contributed", 2),), limit=Limit("visits", 2),
    )  # fmt: skip
    single = (ROWS, _asked("SUM(x)"), _asked("STDDEV_POP(x)"))
    yield Case("no unit", "x", single, "singles")
    yield Case("no unit", "x", single, "singles", keys=(("c", "c"),), where=("x > 3", "x > 3"))


def cases() -> list[Case]:
    """All of them."""
    found = [
        *condition_cases(),
        *value_cases(),
        *key_cases(),
        *statistic_cases(),
        *filter_cases(),
        *source_cases(),
        *subquery_cases(),
        *average_cases(),
        *member_cases(),
        *window_cases(),
        *first_cases(),
        *result_cases(),
        *option_cases(),
    ]
    return list({each.question: each for each in found}.values())


def covering(every: list[Case], each: int = 1) -> list[Case]:
    """A part in which every construct stands, on so many columns, and every column often."""
    seen: dict[str, int] = {}
    columns: dict[str, int] = {}
    found = []
    by_use = sorted(every, key=lambda case: case.construct)
    for construct in dict.fromkeys(case.construct for case in by_use):
        alike = [case for case in by_use if case.construct == construct]
        while alike and seen.get(construct, 0) < each:
            case = min(alike, key=lambda one: columns.get(one.column, 0))
            columns[case.column] = columns.get(case.column, 0) + 1
            seen[construct] = seen.get(construct, 0) + 1
            found += [one for one in alike if one.column == case.column]
            alike = [one for one in alike if one.column != case.column]
    return found


__all__ = ["Asked", "Case", "Limit", "Template", "cases", "covering", "replace"]
