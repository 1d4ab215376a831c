"""Analyst text to tokens, within limits: size, nesting, numbers, and an allow-list of tokens.
The text goes no further than this: it is never rewritten, run or passed on.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.readers.hints import FUNCTION_HINTS, TOKEN_HINTS
from discreet.query.readers.spans import DIFFERENCE
from discreet.schema.column import nearest

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

__all__ = [
    "allow",
    "check_calls",
    "check_text",
    "merge_slashes",
    "spell",
    "tokens",
]

_LARGEST_TEXT = 16_384
_MOST_TOKENS = 3000
_LARGEST_DIGITS = 40
_LARGEST_EXPONENT = 40
_MOST_NESTED = 32
_MOST_SELECTS = 16


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALLOWED = _words(
    "ALIAS AND ANTI ASC BETWEEN BIGINT BOOLEAN CASE COMMA DATE DASH DCOLON DECIMAL DESC DISTINCT "
    "DIV DOT DOUBLE DPIPE ELSE END EQ EXISTS FALSE FILTER FLOAT FROM GROUP_BY GT GTE HAVING "
    "IDENTIFIER ILIKE IN INNER INT INTERVAL IS JOIN LEFT LIKE LIMIT LT LTE L_PAREN MOD NEQ NOT "
    "NULL NUMBER ON OR ORDER_BY OUTER OVER PARTITION_BY PLUS QUALIFY RANGE ROW ROWS R_PAREN SELECT "
    "SEMI SLASH SMALLINT STAR STRING TEXT THEN TIMESTAMP TRUE USING VAR VARCHAR WHEN WHERE WITH"
)
_CLAUSES = _words("ANTI EXISTS OVER PARTITION_BY QUALIFY RANGE ROW ROWS SEMI")  # no names either
_AS_FUNCTIONS = _words("LEFT REPLACE RIGHT")  # words of clauses that are functions before (

# sqlglot's time doubles with every level of TYPE( or of some functions, so neither gets that far;
# DATE( does where it holds one name or text, so that none stands in another.
_BEFORE_PARENTHESIS = (_ALLOWED | _AS_FUNCTIONS) - _words(
    "ANTI BIGINT BOOLEAN DATE DECIMAL DOUBLE END FALSE FLOAT IDENTIFIER INNER INT NULL NUMBER "
    "OUTER PARTITION_BY RANGE ROW ROWS R_PAREN SEMI SMALLINT STRING TEXT TIMESTAMP TRUE VARCHAR "
    "WITH"
)
_IN_DATE = (["STRING", "R_PAREN"], ["VAR", "R_PAREN"], ["IDENTIFIER", "R_PAREN"])
_FUNCTIONS = _words(
    "ABS AVG CAST CEIL CEILING CHAR_LENGTH COALESCE CONCAT CONTAINS CORR COUNT COUNTIF COUNT_IF "
    "COVAR_POP COVAR_SAMP DATE DATEDIFF DATEPART DATE_DIFF DATE_PART DATE_TRUNC DAY DAYOFMONTH "
    "DAYOFWEEK DAYOFYEAR DENSE_RANK DP_INTERVAL_HIGH DP_INTERVAL_LOW ENDS_WITH EXTRACT "
    "FIRST_VALUE FLOOR GREATEST HOUR IF IFNULL IIF ISODOW LAG LAST_VALUE LCASE LEAD LEAST LEFT "
    "LEN LENGTH LOWER LTRIM MAKE_DATE MAX MEDIAN MIN MINUTE MOD MODE MONTH NULLIF NVL "
    "PERCENTILE_CONT PERCENTILE_DISC QUANTILE QUANTILE_CONT QUANTILE_DISC QUARTER RANK "
    "REGR_INTERCEPT REGR_SLOPE REPLACE RIGHT ROUND ROW_NUMBER RTRIM SECOND SIGN STARTS_WITH "
    "STDDEV STDDEV_POP STDDEV_SAMP SUBSTR SUBSTRING SUM TO_DATE TRIM TRUNC UCASE UPPER VARIANCE "
    "VARIANCE_POP VARIANCE_SAMP VAR_POP VAR_SAMP WEEK WEEKDAY WEEKOFYEAR WIDTH_BUCKET YEAR"
)
_AFTER_NUMBER = _words("COMMA DASH DCOLON DPIPE EQ GT GTE LT LTE MOD NEQ PLUS R_PAREN SLASH STAR")

_DIFFERENCES = _words("DATEDIFF DATE_DIFF")
_AS_ALIAS = _words("JOIN SELECT WITH")  # on the allow-list, but no names
_AS_BARE_ALIAS = _words("FROM IN") | _AS_ALIAS

_BEFORE_SUBQUERY = _words("ALIAS EXISTS FROM IN JOIN")
_TWO_SIZES = ["NUMBER", "COMMA", "NUMBER", "R_PAREN"]
_BEGINS = _words("L_PAREN SELECT VALUES WITH")  # of what UNION adds

_TYPES = "Write types without a size, and dates as DATE '2024-01-31'."


def check_text(text: str) -> None:
    """Refuse a question that is no text at all."""
    raw: object = text
    if not isinstance(raw, str):
        raise UnsafeQuery(f"a question is text, not {type(raw).__name__}.")


def _check_size(text: str) -> None:
    check_text(text)
    size = len(text) if len(text) > _LARGEST_TEXT else len(text.encode("utf-8", "replace"))
    if size > _LARGEST_TEXT:
        raise UnsafeQuery(
            f"the question has {size} bytes; the limit is {_LARGEST_TEXT}. Ask a shorter one."
        )
    for character in text:
        if character not in " \t\r\n" and not character.isprintable():
            raise UnsafeQuery(
                f"the question holds the unprintable character U+{ord(character):04X}. Remove it."
            )


def _tokenize(text: str) -> list["Token"]:
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    try:
        return list(Dialect.get_or_raise("").tokenize(text))
    except (SqlglotError, RecursionError, ValueError, IndexError, TypeError) as error:
        raise UnsafeQuery(
            "the question cannot be read: a quote or comment is not closed."
        ) from error


def _number(token: "Token") -> None:
    mantissa, _, exponent = token.text.lower().partition("e")
    digits = mantissa.replace(".", "")
    if not digits.isascii() or not digits.isdigit():
        raise UnsafeQuery(f"{token.text[:60]!r} (line {token.line}) is not a decimal number.")
    if len(digits) > _LARGEST_DIGITS:
        raise UnsafeQuery(
            f"a number of {len(digits)} digits (line {token.line}); the limit is {_LARGEST_DIGITS}."
        )
    if exponent and (len(exponent) > 3 or abs(int(exponent)) > _LARGEST_EXPONENT):
        raise UnsafeQuery(
            f"the exponent of {token.text[:60]} (line {token.line}) is beyond {_LARGEST_EXPONENT}."
        )


def _nesting(words: list["Token"]) -> None:
    depth = 0
    prefixes = 0
    for token in words:
        kind = token.token_type.name
        if kind in ("L_PAREN", "CASE"):
            depth += 1
        elif kind in ("R_PAREN", "END"):
            depth = max(0, depth - 1)
        prefixes = prefixes + 1 if kind in ("NOT", "DASH", "PLUS", "L_PAREN", "CASE") else 0
        if max(depth, prefixes) > _MOST_NESTED:
            raise UnsafeQuery(
                f"the question is nested more than {_MOST_NESTED} deep (line {token.line}). "
                "Write it flatter."
            )


def _joins(words: list["Token"]) -> None:
    # sqlglot's time doubles with every JOIN that waits for its ON, so none waits for another.
    waiting: list[Token | None] = [None]
    before = ""
    for token in [*words, None]:
        kind = "END_OF_TEXT" if token is None else token.token_type.name
        open_join = waiting[-1]
        if open_join is not None and kind in ("END_OF_TEXT", "JOIN", "R_PAREN"):
            raise UnsafeQuery(
                f"JOIN (line {open_join.line}) without ON or USING pairs every row with every row. "
                "Write JOIN ... ON a.x = b.x."
            )
        if kind == "L_PAREN":
            waiting.append(None)
        elif kind == "R_PAREN":
            waiting = waiting[:-1] or [None]
        elif kind in ("JOIN", "ON", "USING"):
            waiting[-1] = token if kind == "JOIN" and before != "CROSS" else None
        before = kind


def _check_truncation(words: list["Token"], place: int) -> None:
    # sqlglot reads DATE_TRUNC(d, MONTH) as truncation of "month" to the unit "d".
    following = [token.token_type.name for token in words[place + 1 : place + 4]]
    if following[1:] != ["STRING", "COMMA"]:
        raise UnsafeQuery(
            f"DATE_TRUNC (line {words[place].line}) takes the unit as text first. "
            "Write DATE_TRUNC('month', column)."
        )


def _check_call(words: list["Token"], place: int) -> None:
    token = words[place]
    name = token.text.upper()
    if words[place + 1 : place + 2] == [] or words[place + 1].token_type.name != "L_PAREN":
        return
    following = [word.token_type.name for word in words[place + 2 : place + 4]]
    if token.token_type.name == "DATE" and following in _IN_DATE:
        return
    if token.token_type.name not in _BEFORE_PARENTHESIS:
        hint = FUNCTION_HINTS.get(name, TOKEN_HINTS.get(token.token_type.name, _TYPES))
        raise UnsafeQuery(f"{name[:60]}( (line {token.line}) is not supported here. {hint}")
    following = [word.token_type.name for word in words[place + 2 : place + 3]]
    if token.token_type.name == "EXISTS" and following != ["SELECT"]:
        raise UnsafeQuery(
            f"EXISTS (line {token.line}) takes a SELECT. Write EXISTS (SELECT 1 FROM b WHERE "
            "b.unit = a.unit AND ...)."
        )
    if name == "GROUP" and place > 0 and words[place - 1].text.upper() == "WITHIN":
        return
    if token.token_type.name == "VAR" and name not in _FUNCTIONS:
        hint = FUNCTION_HINTS.get(name) or nearest(name[:60], _FUNCTIONS)
        raise UnsafeQuery(f"{name[:60]}() (line {token.line}) is not supported here. {hint}")
    if name == "DATE_TRUNC":
        _check_truncation(words, place)


def _check_glued(before: "Token", token: "Token") -> None:
    kinds = before.token_type.name, token.token_type.name
    if kinds[0] == "NUMBER" and kinds[1] not in _AFTER_NUMBER and token.start == before.end + 1:
        raise UnsafeQuery(
            f"{(before.text + token.text)[:60]!r} (line {token.line}) is not a decimal number."
        )


def _check_place(words: list["Token"], place: int) -> None:
    token, before = (
        words[place],
        [word.token_type.name for word in words[max(0, place - 2) : place]],
    )
    if token.token_type.name == "WITH":
        raise UnsafeQuery(
            f"a second WITH (line {token.line}) is not supported. Write WITH once, at the start."
        )
    subquery = before[-1] == "L_PAREN" and before[0] in _BEFORE_SUBQUERY
    main = (
        before[-1] == "R_PAREN" and words[0].token_type.name == "WITH" and _is_outside(words, place)
    )
    if subquery or main:
        return
    raise UnsafeQuery(
        f"a second SELECT (line {token.line}) is not supported here. A subquery stands after FROM "
        "or JOIN, in WITH, or in WHERE as unit IN (SELECT ...) or EXISTS (SELECT ...)."
    )


def _is_outside(words: list["Token"], place: int) -> bool:
    kinds = [token.token_type.name for token in words[:place]]
    return kinds.count("L_PAREN") == kinds.count("R_PAREN")


def _other_hint(text: str) -> str:
    listed = "See the list of supported SQL in the documentation."
    if not text.isidentifier():
        return listed
    return f'{listed} A name that is a word of SQL stands in double quotes: "{text[:60]}".'


def _in_cast(words: list["Token"], place: int) -> bool:
    """Whether the innermost parenthesis around a token is that of CAST(... AS type)."""
    depth = 0
    for inside in range(place - 1, 0, -1):
        kind = words[inside].token_type.name
        if kind == "R_PAREN":
            depth += 1
        elif kind == "L_PAREN" and depth:
            depth -= 1
        elif kind == "L_PAREN":
            return "CAST" in words[inside - 1].text.upper()
    return False


def _alias(words: list["Token"], place: int, names: frozenset[str]) -> None:
    """Refuse a word of SQL that stands where a result gets its name."""
    kinds = [token.token_type.name for token in words[place - 1 : place + 2]]
    token, ends = words[place], kinds[2:] in (["FROM"], ["COMMA"], [])
    bare = kinds[0] == "R_PAREN" and ends and len(kinds) > 2
    if not token.text.isidentifier() or not (kinds[0] == "ALIAS" or bare):
        return
    allowed = kinds[1] in _ALLOWED - _CLAUSES or token.text.casefold() in names
    if allowed and not (ends and kinds[1] in (_AS_BARE_ALIAS if bare else _AS_ALIAS)):
        return
    if not _in_cast(words, place):
        raise UnsafeQuery(
            f"{token.text[:60]} (line {token.line}) is a word of SQL; as a name it stands in "
            f'double quotes. Write AS "{token.text[:60]}".'
        )


def _check_allowed(words: list["Token"], place: int, names: frozenset[str]) -> None:
    token = words[place]
    kind = token.token_type.name
    if kind in _ALLOWED or token.text.casefold() in names:
        return
    following = [word.token_type.name for word in words[place + 1 : place + 2]]
    if kind in _AS_FUNCTIONS and following == ["L_PAREN"]:
        return
    if kind == "ALL" and words[place - 1].token_type.name == "GROUP_BY":
        return
    hint = TOKEN_HINTS.get(kind, _other_hint(token.text))
    raise UnsafeQuery(f"{token.text[:60]} (line {token.line}) is not supported here. {hint}")


def _check_nulls(words: list["Token"], place: int) -> None:
    # The tree says the same of an ascending order with NULLS FIRST and of one without.
    if [token.text.upper() for token in words[place : place + 2]] == ["NULLS", "FIRST"]:
        raise UnsafeQuery(
            f"NULLS FIRST (line {words[place].line}) is not supported beside a window. Missing "
            "values come last."
        )


def allow(words: list["Token"], names: Iterable[str]) -> None:
    """Refuse tokens that are neither on the allow-list nor one of the names.

    >>> allow(tokens("SELECT a FROM t CROSS JOIN u"), ())
    Traceback (most recent call last):
    discreet.errors.UnsafeQuery: CROSS (line 1) is not supported here. It pairs rows of \
different people. Write JOIN ... ON a.unit = b.unit.
    """
    known = frozenset(name.casefold() for name in names)
    windows = any(token.token_type.name == "OVER" for token in words)
    for place, token in enumerate(words):
        if windows:
            _check_nulls(words, place)
        if place > 0:
            _check_glued(words[place - 1], token)
            _alias(words, place, known)
        if token.token_type.name in ("SELECT", "WITH") and place > 0:
            _check_place(words, place)
        if token.token_type.name == "NUMBER":
            _number(token)
        _check_allowed(words, place, known)
        _check_call(words, place)
    _joins(words)


def check_calls(words: list["Token"]) -> None:
    """Refuse numbers that are none, and types as functions, whose nesting takes long to parse.

    What else may stand in such a text is decided by its tree.
    """
    from sqlglot.parser import Parser

    for place, token in enumerate(words):
        if place > 0:
            _check_glued(words[place - 1], token)
        if token.token_type.name == "NUMBER":
            _number(token)
        inside = [word.token_type.name for word in words[place + 1 : place + 6]]
        if token.token_type not in Parser.TYPE_TOKENS or inside[:1] != ["L_PAREN"]:
            continue
        sized = inside[1:3] == ["NUMBER", "R_PAREN"] or inside[1:] == _TWO_SIZES
        if not sized and not (token.text.upper() == "UNION" and inside[1] in _BEGINS):
            raise UnsafeQuery(
                f"{token.text[:60]}( (line {token.line}) is not supported here. "
                f"{FUNCTION_HINTS.get(token.text.upper(), _TYPES)}"
            )
    _joins(words)


def merge_slashes(words: list["Token"]) -> list["Token"]:
    """The tokens with // as one sign.

    >>> [each.token_type.name for each in merge_slashes(tokens("SELECT a // 2"))]
    ['SELECT', 'VAR', 'DIV', 'NUMBER']
    """
    from sqlglot.tokenizer_core import Token, TokenType

    merged: list[Token] = []
    for token in words:
        before = merged[-1] if merged else token
        both = {token.token_type.name, before.token_type.name} == {"SLASH"}
        if both and token.start == before.end + 1:
            merged[-1] = Token(
                TokenType.DIV, "//", before.line, before.col, before.start, token.end
            )
        else:
            merged.append(token)
    return merged


def spell(words: list["Token"]) -> list["Token"]:
    """Allowed tokens as the parser understands them: // is one sign, and DATE_DIFF is no function
    that it knows, since it would take a third argument for a unit.

    >>> [each.text for each in spell(tokens("SELECT DATEDIFF('day', a, b)"))][1]
    'DATE_DIFFERENCE'
    """
    from sqlglot.tokenizer_core import Token, TokenType

    spelt = merge_slashes(words)
    for place, token in enumerate(spelt):
        following = [word.token_type.name for word in spelt[place + 1 : place + 2]]
        if token.text.upper() in _DIFFERENCES and following == ["L_PAREN"]:
            spelt[place] = Token(
                TokenType.VAR, DIFFERENCE, token.line, token.col, token.start, token.end
            )
    return spelt


def _single(words: list["Token"], most_selects: int, begins: tuple[str, ...]) -> list["Token"]:
    while words and words[-1].token_type.name == "SEMICOLON":
        words = words[:-1]
    if not words:
        raise UnsafeQuery("the question is empty. Write SELECT ... FROM a table.")
    first = words[0]
    if first.token_type.name not in begins:
        raise UnsafeQuery(
            f"a question starts with SELECT or WITH, not with {first.text[:60]}. "
            "Nothing but SELECT is answered."
        )
    for token in words:
        if token.token_type.name == "SEMICOLON":
            raise UnsafeQuery(
                f"a second statement (line {token.line}). Ask one question at a time."
            )
    selects = [token.token_type.name for token in words].count("SELECT")
    if selects > most_selects:
        raise UnsafeQuery(
            f"the question has {selects} SELECTs; the limit is {most_selects}. Ask a simpler one."
        )
    return words


def tokens(
    text: str, *, most_selects: int = _MOST_SELECTS, begins: tuple[str, ...] = ("SELECT", "WITH")
) -> list["Token"]:
    """The tokens of one statement that starts with SELECT or WITH and keeps to the limits.

    >>> [each.text for each in tokens("SELECT COUNT(*) -- all")]
    ['SELECT', 'COUNT', '(', '*', ')']
    """
    _check_size(text)
    words = _tokenize(text)
    if len(words) > _MOST_TOKENS:
        raise UnsafeQuery(
            f"the question has {len(words)} words and signs; the limit is {_MOST_TOKENS}. "
            "Ask a shorter one."
        )
    words = _single(words, most_selects, begins)
    _nesting(words)
    return words
