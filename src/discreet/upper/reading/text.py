"""A statement's text as a parsed tree in which every function keeps the name that was written.
The tree is only looked at: private blocks are read again as questions, the rest is checked.
"""

import re
import unicodedata
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.statement.options import Shared, cut_shared
from discreet.query.statement.text import check_calls, check_text, merge_slashes, tokens
from discreet.upper.reading.spelling import spell_tree

if TYPE_CHECKING:
    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

__all__ = ["read_tree"]

_MOST_SELECTS = 64
_DEEPEST = 64
_BEGINS = ("SELECT", "WITH", "L_PAREN", "FROM")
_QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/)""", re.DOTALL)
_IN_BACKQUOTES = re.compile(r'`([^`"\\]{1,63})`')
_PARSED = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION")


def read_tree(text: str) -> "tuple[Shared, Expr]":
    """What the options of one statement say, and its tree, within the limits of size and depth.

    >>> read_tree("SELECT nvl(1, 2)")[1].expressions[0].sql()
    'NVL(1, 2)'
    """
    text = _quote_backquoted(text)
    words, shared = cut_shared(tokens(text, most_selects=_MOST_SELECTS, begins=_BEGINS))
    check_calls(words)
    words, top = _cut_top(merge_slashes(words))
    try:
        tree = _parse(words, text)
        _check_depth(tree)
    except RecursionError:
        raise UnsafeQuery("the question is nested too deeply. Write it flatter.") from None
    return shared, spell_tree(_keep(tree, top))


def _quote_backquoted(text: str) -> str:
    """The text with names in backquotes in double quotes, as standard SQL writes them."""
    check_text(text)
    parts = _QUOTED.split(text)
    names = [
        _IN_BACKQUOTES.sub(r'"\1"', part) if at % 2 == 0 else part for at, part in enumerate(parts)
    ]
    return "".join(names)


def _cut_top(words: "list[Token]") -> "tuple[list[Token], str]":
    """The tokens without the TOP n of the first SELECT, and its number."""
    kinds = [token.token_type.name for token in words[:4]]
    at = 2 if kinds[1:2] == ["DISTINCT"] else 1
    if kinds[:1] != ["SELECT"] or len(words) < at + 3 or words[at].text.upper() != "TOP":
        return words, ""
    counted = words[at + 1 :]
    closed = counted[0].token_type.name == "L_PAREN" and counted[2].token_type.name == "R_PAREN"
    number = counted[1] if closed else counted[0]
    if number.token_type.name != "NUMBER":
        return words, ""
    return [*words[:at], *counted[3 if closed else 1 :]], number.text


def _keep(tree: "Expr", top: str) -> "Expr":
    if not top:
        return tree
    if tree.args.get("limit") is not None:
        raise UnsafeQuery("TOP and LIMIT say the same. Keep LIMIT.")
    if not top.isdigit() or not hasattr(tree, "limit"):
        raise UnsafeQuery("TOP takes an integer. Write LIMIT 10 at the end.")
    limited: Expr = tree.limit(int(top), copy=False)
    return limited


def _parse(words: "list[Token]", text: str) -> "Expr":
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError, SqlglotError

    dialect = Dialect.get_or_raise("")
    dialect.NULL_ORDERING = "nulls_are_last"
    parser = dialect.parser()
    kept = {name: parser.FUNCTION_PARSERS[name] for name in _PARSED}
    case = {"CASE": parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    own = {"FUNCTIONS": {}, "FUNCTION_PARSERS": kept, "NO_PAREN_FUNCTION_PARSERS": case}
    for name, value in own.items():  # of this parser alone: every call keeps its name
        setattr(parser, name, value)
    try:
        statements = parser.parse(words, text)
    except ParseError as error:
        raise UnsafeQuery(_explain(error.errors)) from None
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError):
        raise UnsafeQuery(_explain([])) from None
    if len(statements) != 1 or statements[0] is None:
        raise UnsafeQuery("several statements. Ask one question at a time.")
    for node in statements[0].walk():
        if type(node).__name__ == "Identifier":
            node.set("this", unicodedata.normalize("NFC", str(node.this)))
    return statements[0]


def _explain(errors: list[dict[str, object]]) -> str:
    place = ""
    if errors and errors[0].get("line") is not None:
        near = str(errors[0].get("highlight") or "")[:60]
        place = f" near {near!r} (line {errors[0]['line']}, column {errors[0]['col']})"
    return (
        f"the question cannot be read as SQL{place}. Check commas, quotes and parentheses. A name "
        'that is a word of SQL, or has spaces or signs, stands in double quotes: "order".'
    )


def _check_depth(tree: "Expr") -> None:
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise UnsafeQuery(
                f"an expression is more than {_DEEPEST} operations deep. Write it flatter."
            )
        chain = type(node).__name__ in ("And", "Or", "Union")
        for child in node.iter_expressions():
            same = chain and type(child) is type(node)
            waiting.append((child, depth if same else depth + 1))
