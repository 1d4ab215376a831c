"""SQL text in, Query out. The text is read with sqlglot, checked node by node and thrown away.
Nothing an analyst wrote is ever run or passed on; whatever is not listed is refused.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import UnsafeQuery
from discreet.query.algebra import Field, Key, Query
from discreet.query.readers.typed import Typed, only, refuse, where_in_text
from discreet.query.statement.membership import join_members
from discreet.query.statement.options import cut, options
from discreet.query.statement.ranking import limit, read_order, shorten
from discreet.query.statement.scopes import Results
from discreet.query.statement.select import Made, condition, items, outputs, read_keys, scope
from discreet.query.statement.sources import Known, from_clause
from discreet.query.statement.subqueries import common_tables, subquery
from discreet.query.statement.text import allow, spell, tokens
from discreet.schema.table import Table

if TYPE_CHECKING:
    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

__all__ = ["parse"]

_DEEPEST = 64
_PARTS = ("with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit")


def _tree(words: list["Token"], text: str) -> "Expr":
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError, SqlglotError

    try:
        statements = Dialect.get_or_raise("").parser().parse(words, text)
    except ParseError as error:
        raise UnsafeQuery(_explain_errors(error.errors)) from None
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError):
        raise UnsafeQuery(_explain_errors([])) from None
    if len(statements) != 1 or statements[0] is None:
        raise UnsafeQuery("several statements. Ask one question at a time.")
    for node in statements[0].walk():
        if type(node).__name__ == "Identifier":  # names are declared in this form
            node.set("this", unicodedata.normalize("NFC", str(node.this)))
    return statements[0]


def _explain_errors(errors: list[dict[str, object]]) -> str:
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
                f"an expression is more than {_DEEPEST} operations deep{where_in_text(node)}. "
                "Write it flatter."
            )
        chain = type(node).__name__ in ("And", "Or")
        for child in node.iter_expressions():
            same = chain and type(child) is type(node)
            waiting.append((child, depth if same else depth + 1))


def _query(select: "Expr", tables: Mapping[str, Table], inside: list["Token"]) -> Query:
    if type(select).__name__ != "Select":
        raise refuse(select, "Write SELECT ... FROM a table.")
    only(select, *_PARTS)
    known = Known(tables, common_tables(select.args.get("with_"), tables))
    clause = select.args.get("where")
    rows = join_members(from_clause(select, known, subquery), clause, known, subquery)
    if rows.relation.population is None:
        raise UnsafeQuery(
            "the question reads only public tables: there is nothing to protect. Read them "
            "without the curator, or join them with a private table."
        )
    listed = items(select.expressions)
    grouped = read_keys(select.args.get("group"), listed, rows)
    results = scope(listed, grouped, rows)
    noisy, columns = outputs(listed, results)
    named = _name_results(results, noisy)
    shown = tuple(column.output for column in noisy)
    spelt = {output.expression: output.name for output in reversed(shown)}
    having = condition(select.args.get("having"), named)
    return Query(
        source=rows.relation.source,
        where=condition(clause, rows),
        keys=tuple(Key(_label(key), expression) for expression, key in results.keys.items()),
        outputs=shown,
        columns=columns,
        having=None if having is None else shorten(having, spelt),
        order=read_order(select.args.get("order"), columns, named, spelt),
        limit=limit(select.args.get("limit")),
        options=options(inside, rows.relation),
    )


def _label(key: Typed) -> str:
    assert isinstance(key.expression, Field)
    return key.expression.name


def _name_results(results: Results, noisy: tuple[Made, ...]) -> Results:
    names = {_label(key).casefold(): key for key in results.keys.values()}
    for column in noisy:
        name = column.output.name
        names[name.casefold()] = replace(column.typed, expression=Field(name))
    for expression, key in results.keys.items():
        name = expression.name if isinstance(expression, Field) else ""
        if names.get(name.casefold(), key) != key:
            raise UnsafeQuery(
                f"the alias {name!r} is also a column that is grouped by. Choose another."
            )
    return Results(results.rows, results.keys, names)


def _list_names(table: Table) -> list[str]:
    return [table.name, table.unit or "", *(column.name for column in table.columns)]


def parse(text: str, tables: Mapping[str, Table]) -> Query:
    """Read one question about the tables, or refuse it with UnsafeQuery.

    Equal questions in other spacing, capitals, parentheses or table aliases give equal queries.
    >>> from discreet.schema import Column
    >>> visits = Table("visits", columns=(Column("age", "integer", upper=110),))
    >>> parse("select avg(v.age) from visits v where (age > 17)", {"visits": visits}).columns
    ('avg_age',)
    """
    outside, inside = cut(tokens(text))
    allow([*outside, *inside], (name for table in tables.values() for name in _list_names(table)))
    try:
        tree = _tree(spell(outside), text)
        _check_depth(tree)
        return _query(tree, tables, inside)
    except RecursionError:
        raise UnsafeQuery("the question is nested too deeply. Write it flatter.") from None
    except AttributeError:  # a tree of a shape that nobody writes, such as FROM ..visits
        raise UnsafeQuery(_explain_errors([])) from None
