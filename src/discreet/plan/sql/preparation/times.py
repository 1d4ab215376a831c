"""How DuckDB reads texts as days and moments: wholly or not at all, and in UTC where they have an
offset. The engine's own casts and patterns drop or guess parts of a text, so none of them sees one
that a regular expression has not matched as a whole. Every expression is total. Never sees data.
"""

import re
from collections.abc import Sequence

from discreet.plan.sql.dialects import DUCKDB
from discreet.plan.sql.preparation.words import DAY, LOCAL_MOMENT, OFFSET, UTC, YEAR, ZONED_MOMENT

__all__ = ["day_of", "match_day", "match_moment", "moment_of"]

_TOKEN = re.compile(r"%(.)|([^%]+)", re.DOTALL)
_MARKS = re.compile(r"([\\.+*?()|\[\]{}^$])")
_DIGITS = {"Y": 4, "y": 2, "m": 2, "d": 2, "j": 3, "H": 2, "I": 2, "M": 2, "S": 2, "f": 6}
_ALWAYS = {"Y": YEAR, "y": "[0-9]{2}", "%": "%"}
_BLANKS = "trim({}, ' ')"  # as the other engines do
_Pieces = list[tuple[str, str]]


def day_of(text: str) -> str:
    """The day of an ISO date, or of an ISO moment without an offset or in UTC.

    With another offset it is NULL: the day in UTC may not be the one that is written.
    >>> day_of("x").endswith("THEN TRY_CAST(left(trim(x, ' '), 10) AS DATE) END")
    True
    """
    words = _BLANKS.format(text)
    return f"CASE WHEN {_matches(words, DAY)} THEN TRY_CAST(left({words}, 10) AS DATE) END"


def moment_of(text: str) -> str:
    """The moment, in UTC, of an ISO date or moment.

    >>> moment_of("x").endswith("% 100) END")
    True
    """
    words = _BLANKS.format(text)
    behind = f"substr({words}, 12)"  # the time and the offset
    clock = f"left(regexp_extract({behind}, '[0-9:.]*'), 15)"  # to the microsecond
    local = f"TRY_CAST(left({words}, 10) || ' ' || {clock} AS TIMESTAMP)"
    ahead = _ahead(f"regexp_extract({behind}, '[+-].*')")
    return (
        f"CASE WHEN {_matches(words, LOCAL_MOMENT)} THEN TRY_CAST(left({words}, 26) AS TIMESTAMP) "
        f"WHEN {_matches(words, ZONED_MOMENT)} THEN {local} - {ahead} END"
    )


def match_day(text: str, patterns: Sequence[str]) -> str:
    """The day of a text by the first pattern that it has; an offset has to be that of UTC.

    >>> match_day("x", ["%Y"]).endswith("THEN try_strptime(trim(x), '%Y') END AS DATE)")
    True
    """
    words = f"trim({text})"
    days = [_local(words, pattern, _pieces(pattern, UTC)) for pattern in patterns]
    return f"CAST({_first(days)} AS DATE)"


def match_moment(text: str, patterns: Sequence[str]) -> str:
    """The moment, in UTC, of a text by the first pattern that it has.

    >>> match_moment("x", ["%Y", "%Y %z"]).count("to_minutes")
    1
    """
    words = f"trim({text})"
    moments = []
    for pattern in patterns:
        pieces = _pieces(pattern, OFFSET)
        moment = _local(words, pattern, pieces)
        if "z" in dict(pieces):
            moment = f"{moment} - {_ahead(_piece(words, pieces, 'z'))}"
        moments.append(moment)
    return _first(moments)


def _matches(words: str, form: str) -> str:
    return f"regexp_full_match({words}, {DUCKDB.literal(form)})"


def _ahead(offset: str) -> str:
    """The interval of +02, +0200 and +02:00; none for Z and for nothing."""
    digits = f"TRY_CAST(rpad(translate({offset}, ':Z', ''), 5, '0') AS INTEGER)"
    return f"to_minutes({digits} // 100 * 60 + {digits} % 100)"


def _first(moments: Sequence[str]) -> str:
    return moments[0] if len(moments) == 1 else f"coalesce({', '.join(moments)})"


def _local(words: str, pattern: str, pieces: _Pieces) -> str:
    """What is written, without regard to its offset."""
    spelt, text = pattern.strip(" "), words
    if "z" in dict(pieces):
        place = [sign for sign, _ in pieces].index("z")
        before, after = (_join_pieces(part) for part in (pieces[:place], pieces[place + 1 :]))
        form = DUCKDB.literal(f"^({before}){pieces[place][1]}({after})$")
        text = rf"trim(regexp_replace({words}, {form}, '\1 \2'))"
        tokens = [match.group() for match in _TOKEN.finditer(spelt)]
        tokens[place] = " "
        spelt = "".join(tokens).strip(" ")
    moment = f"try_strptime({text}, {DUCKDB.literal(spelt)})"
    tests = [_matches(words, _join_pieces(pieces))]
    for sign in dict(pieces):
        if sign == "j":  # the engine takes day 366 of any year
            tests.append(
                f"TRY_CAST({_piece(words, pieces, sign)} AS INTEGER) = dayofyear({moment})"
            )
        if sign in ("a", "A"):  # the engine takes any day's name
            name = f"left({_piece(words, pieces, sign)}, 3)"
            tests.append(f"lower({name}) = lower(strftime({moment}, '%a'))")
    return f"CASE WHEN {' AND '.join(tests)} THEN {moment} END"


def _pieces(pattern: str, offset: str) -> _Pieces:
    """Regular expressions for the specifiers of a pattern, by their signs, and for what is between.

    Numbers that stand side by side have all of their digits.
    """
    tokens = _TOKEN.findall(pattern.strip(" "))
    signs = ["", *(sign for sign, _ in tokens), ""]
    pieces = []
    for place, (sign, between) in enumerate(tokens):
        tight = signs[place] in {*_DIGITS, "z"} or signs[place + 2] in _DIGITS
        if not sign:
            form = re.sub(" +", " +", _MARKS.sub(r"\\\1", between))
        elif sign in _ALWAYS:
            form = _ALWAYS[sign]
        elif sign == "z":
            form = offset
        elif sign in _DIGITS:
            form = f"[0-9]{{{'' if tight else '1,'}{_DIGITS[sign]}}}"
        else:
            form = "[A-Za-z]+"
        pieces.append((sign, form if not sign else form.replace("(", "(?:")))
    return pieces


def _join_pieces(pieces: _Pieces) -> str:
    return "".join(form for _, form in pieces)


def _piece(words: str, pieces: _Pieces, wanted: str) -> str:
    """The part of a text that one specifier stands for."""
    forms = [f"({form})" if sign == wanted else form for sign, form in pieces]
    return f"regexp_extract({words}, {DUCKDB.literal('^' + ''.join(forms) + '$')}, 1)"
