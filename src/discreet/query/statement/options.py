"""BigQuery's clause WITH DIFFERENTIAL_PRIVACY OPTIONS(...), cut out of the tokens, or put into a
text for limits that came beside it. Knows its option names; every other one is refused by name.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidValue, UnsafeQuery
from discreet.query.algebra import Options
from discreet.query.statement.relations import Relation
from discreet.query.statement.text import tokens
from discreet.schema.names import sql_name

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

__all__ = ["Shared", "cut", "cut_shared", "options", "with_limits"]

_NAMES = (
    "epsilon",
    "delta",
    "max_groups_contributed",
    "max_rows_contributed",
    "privacy_unit_column",
)
_SHAPE = "Write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) ... FROM a table."


def _kinds(words: list["Token"], start: int, count: int) -> list[str]:
    return [token.token_type.name for token in words[start : start + count]]


def cut(words: list["Token"]) -> tuple[list["Token"], list["Token"]]:
    """The tokens without the clause, and those between its parentheses.

    >>> from discreet.query.statement.text import tokens
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) a"
    >>> [[each.text for each in part] for part in cut(tokens(text))]
    [['SELECT', 'a'], ['epsilon', '=', '1']]
    """
    start = _main(words)
    head, rest = words[: start + 1], words[start + 1 :]
    if _kinds(rest, 0, 1) != ["WITH"]:
        return words, []
    name = rest[1].text.upper() if len(rest) > 1 else ""
    if name != "DIFFERENTIAL_PRIVACY":
        raise UnsafeQuery(f"SELECT WITH {name[:60]} is not supported. {_SHAPE}")
    if len(rest) < 4 or rest[2].text.upper() != "OPTIONS":
        return [*head, *rest[2:]], []
    if _kinds(rest, 3, 1) != ["L_PAREN"]:
        raise UnsafeQuery(f"OPTIONS without parentheses (line {rest[2].line}). {_SHAPE}")
    for place in range(4, len(rest)):
        if rest[place].token_type.name == "R_PAREN":
            return [*head, *rest[place + 1 :]], rest[4:place]
        if rest[place].token_type.name == "L_PAREN":
            break
    raise UnsafeQuery(
        f"OPTIONS( is not closed, or holds parentheses (line {rest[2].line}). {_SHAPE}"
    )


def _main(words: list["Token"]) -> int:
    """The place of the SELECT that stands in no parentheses."""
    depth = 0
    for place, token in enumerate(words):
        kind = token.token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if kind == "SELECT" and depth == 0:
            return place
    return 0


def _settings(inside: list["Token"]) -> dict[str, list["Token"]]:
    settings: dict[str, list[Token]] = {}
    parts: list[list[Token]] = [[]]
    for token in inside:
        if token.token_type.name == "COMMA":
            parts.append([])
        else:
            parts[-1].append(token)
    for part in parts:
        if len(part) < 3 or part[1].token_type.name != "EQ":
            raise UnsafeQuery(f"an option is written name=value. {_SHAPE}")
        name = part[0].text.lower()
        if name not in _NAMES:
            raise UnsafeQuery(f"the option {name[:60]} is not supported; {', '.join(_NAMES)} are.")
        if name in settings:
            raise UnsafeQuery(f"the option {name} is given twice. Keep one.")
        settings[name] = part[2:]
    return settings


def _number(name: str, value: list["Token"]) -> Fraction:
    if [token.token_type.name for token in value] != ["NUMBER"]:
        shown = "".join(token.text for token in value)[:60]
        raise UnsafeQuery(f"{name} is {shown!r}; it must be a positive number.")
    try:
        return Fraction(value[0].text)
    except ValueError:
        raise UnsafeQuery(f"{name} is {value[0].text[:60]!r}; it must be a number.") from None


def _apply(result: Options, name: str, value: Fraction) -> Options:
    if name == "epsilon" and value > 0:
        return replace(result, epsilon=value)
    if name == "delta" and 0 <= value < 1:
        return replace(result, delta=value)
    if name == "max_groups_contributed" and value >= 1 and value.denominator == 1:
        return replace(result, max_groups_contributed=int(value))
    if name == "max_rows_contributed" and value >= 1 and value.denominator == 1:
        return replace(result, max_rows_contributed=int(value))
    limits = {"epsilon": "above 0", "delta": "at least 0 and below 1"}
    raise UnsafeQuery(
        f"{name} is {float(value):g}; it must be {limits.get(name, 'an integer of at least 1')}."
    )


def _unit(value: list["Token"], relation: Relation) -> None:
    unit = value[-1].text
    if relation.unit is None:
        raise UnsafeQuery(
            f"privacy_unit_column is {unit[:60]!r}, but each row of this table is one person. "
            "Leave the option out."
        )
    names = [relation.unit, *(unit.name for unit in relation.units)]
    if unit.casefold() not in {name.casefold() for name in names} or len(value) == 2:
        raise UnsafeQuery(
            f"privacy_unit_column is {unit[:60]!r}; the unit of this table is {relation.unit!r} "
            "and is fixed by its custodian."
        )


def options(inside: list["Token"], relation: Relation) -> Options:
    """What the clause says, checked against the unit of what is read.

    >>> from discreet.query.statement.text import tokens
    >>> from discreet.schema import Table
    >>> options(tokens("SELECT epsilon=0.5")[1:], Relation.of(Table("t"), "t")).epsilon
    Fraction(1, 2)
    """
    result = Options()
    if not inside:
        return result
    for name, value in _settings(inside).items():
        if name == "privacy_unit_column":
            _unit(value, relation)
        else:
            result = _apply(result, name, _number(name, value))
    return result


@dataclass(frozen=True, slots=True)
class Shared:
    """The clause of a statement with several private blocks: what is said of the whole, and, as
    text, what is said of each block.
    """

    options: Options
    limits: str


def cut_shared(words: list["Token"]) -> tuple[list["Token"], Shared]:
    """The tokens without the clause, and what it said.

    >>> from discreet.query.statement.text import tokens
    >>> text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=2) a"
    >>> cut_shared(tokens(text))[1].limits
    'max_rows_contributed=2'
    """
    outside, inside = cut(words)
    result, limits = Options(), []
    for name, value in (_settings(inside) if inside else {}).items():
        if name in ("epsilon", "delta"):
            result = _apply(result, name, _number(name, value))
        else:
            limits.append(f"{name}={_write_value(name, value)}")
    return outside, Shared(result, ", ".join(limits))


def _write_value(name: str, value: list["Token"]) -> str:
    """A number or a name, as it may stand in a clause; nothing else is passed on."""
    kinds = [token.token_type.name for token in value]
    if kinds == ["NUMBER"]:
        return str(_number(name, value))
    if kinds[::2] and set(kinds[::2]) <= {"VAR", "IDENTIFIER"} and set(kinds[1::2]) <= {"DOT"}:
        return ".".join(sql_name(token.text) for token in value[::2])
    shown = "".join(token.text for token in value)[:60]
    raise UnsafeQuery(f"{name} is {shown!r}; it must be a number or a name.")


def with_limits(
    text: str, *, max_groups_contributed: int | None = None, max_rows_contributed: int | None = None
) -> str:
    """The question with these limits in its clause, as if the analyst had written them there.

    So receipts, transcripts and stored answers say the whole question, and one that was asked
    with the clause is the same question.
    >>> with_limits("SELECT COUNT(*) AS n FROM visits", max_rows_contributed=2)
    'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=2) COUNT(*) AS n FROM visits'
    """
    limits = {
        "max_groups_contributed": max_groups_contributed,
        "max_rows_contributed": max_rows_contributed,
    }
    limits = {name: _limit(name, value) for name, value in limits.items() if value is not None}
    if not limits:
        return text
    words = tokens(text)
    start = _main(words)
    if _kinds(words, start, 1) != ["SELECT"]:
        return text  # no question, and refused as such
    inside = cut(words)[1]
    known = _settings(inside) if inside else {}
    for name, most in limits.items():
        if name in known and _number(name, known[name]) != most:
            raise InvalidValue(
                f"{name} is {most}, and {_number(name, known[name])} in the question's OPTIONS. "
                "Give it once. Nothing was run or charged."
            )
    listed = ", ".join(f"{name}={most}" for name, most in limits.items() if name not in known)
    return _with_listed(text, words[start:], listed, inside) if listed else text


def _with_listed(text: str, words: list["Token"], listed: str, inside: list["Token"]) -> str:
    """The text with these options at the begin of its clause; `words` begins with its SELECT."""
    if _kinds(words, 1, 1) != ["WITH"]:
        place, new = words[0], f" WITH DIFFERENTIAL_PRIVACY OPTIONS({listed})"
    elif words[3:4] and words[3].text.upper() == "OPTIONS":
        place, new = words[4], f"{listed}, " if inside else listed
    else:
        place, new = words[2], f" OPTIONS({listed})"
    return f"{text[: place.end + 1]}{new}{text[place.end + 1 :]}"


def _limit(name: str, value: int) -> int:
    raw: object = value
    if isinstance(raw, bool) or not isinstance(raw, int) or raw < 1:
        raise InvalidValue(
            f"{name} is {value!r:.40}; it must be an integer of at least 1. Nothing was run or "
            "charged."
        )
    return value
