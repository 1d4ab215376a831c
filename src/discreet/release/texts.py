"""The SQL texts of a release's specification: each is read alone, as one expression, and what is
made of several must read as just these. Owns that check; no text may change what another means.
"""

from collections.abc import Mapping
from fractions import Fraction

from discreet.curator.session import Session
from discreet.errors import InvalidValue
from discreet.query.algebra import Expression, Key, Output, Query
from discreet.query.parse import parse
from discreet.query.statement.text import tokens
from discreet.rationals import Number, probability
from discreet.schema.column import identifier
from discreet.schema.names import any_name, sql_name

__all__ = ["Texts", "fraction_text"]

_COUNTED = "rows_counted"
_DIGITS = 18


def fraction_text(value: Number, what: str) -> str:
    """A fraction between 0 and 1 as SQL writes it; numbers only, never a text.

    >>> fraction_text(0.25, "a fraction"), fraction_text(1, "a fraction")
    ('0.25', '1')
    """
    scaled = probability(value, what) * Fraction(10) ** _DIGITS
    if scaled.denominator != 1:
        raise InvalidValue(f"{what} is {value}; write at most {_DIGITS} decimals.")
    whole, rest = divmod(scaled.numerator, 10**_DIGITS)
    return f"{whole}.{rest:0{_DIGITS}d}".rstrip("0").rstrip(".")


class Texts:
    """Reads the texts about one table, each by itself.

    Privacy: reads the schema, no row.
    """

    __slots__ = ("_session", "_source", "_table")

    def __init__(self, session: Session, table: str) -> None:
        self._session = session
        self._table = sql_name(any_name(table, "a release's table"))
        self._source = self._read(f"SELECT COUNT(*) AS {_COUNTED} FROM {self._table}").source

    def condition(self, text: str) -> Expression | None:
        """What a WHERE says; None where it is empty."""
        if not text:
            return None
        _check_text(text, "where")
        query = self._read(f"SELECT COUNT(*) AS {_COUNTED} FROM {self._table} WHERE {text}")
        counted = self._read(f"SELECT COUNT(*) AS {_COUNTED} FROM {self._table}").outputs
        expected = Query(self._source, query.where, (), counted, (_COUNTED,))
        return self._check_single(query, expected, "where", text).where

    def key(self, name: str, text: str) -> Key:
        """A column of the release, by its name and its expression."""
        any_name(name, "a column of a release")
        _check_text(text, name)
        count = f"COUNT(*) AS {_COUNTED}"
        query = self._read(
            f"SELECT {text} AS {sql_name(name)}, {count} FROM {self._table} GROUP BY {text}"
        )
        counted = self._read(f"SELECT {count} FROM {self._table}").outputs
        keys = tuple(Key(name, key.expression) for key in query.keys[:1])
        expected = Query(self._source, None, keys, counted, (name, _COUNTED))
        return self._check_single(query, expected, name, text).keys[0]

    def output(self, name: str, text: str) -> Output:
        """A statistic, by its name and its expression."""
        identifier(name, "a statistic")
        _check_text(text, "a statistic")
        query = self._read(f"SELECT {text} AS {sql_name(name)} FROM {self._table}")
        outputs = tuple(Output(name, output.expression) for output in query.outputs[:1])
        expected = Query(self._source, None, (), outputs, (name,))
        return self._check_single(query, expected, "a statistic", text).outputs[0]

    def question(
        self, *, where: str, keys: Mapping[str, str], outputs: Mapping[str, str]
    ) -> tuple[str, Query]:
        """The statement of these texts, and what it has to mean: each of them as read alone.

        Who plans the statement compares its query with this one, by `check_agreement`.
        """
        expected = Query(
            source=self._source,
            where=self.condition(where),
            keys=tuple(self.key(name, text) for name, text in keys.items()),
            outputs=tuple(self.output(name, text) for name, text in outputs.items()),
            columns=(*keys, *outputs),
        )
        listed = [f"{text} AS {sql_name(name)}" for name, text in (*keys.items(), *outputs.items())]
        sql = f"SELECT {', '.join(listed)} FROM {self._table}"
        sql += f" WHERE {where}" if where else ""
        return sql + (f" GROUP BY {', '.join(keys.values())}" if keys else ""), expected

    def _read(self, sql: str) -> Query:
        return parse(sql, self._session.schemas)

    @staticmethod
    def _check_single(query: Query, expected: Query, name: str, text: str) -> Query:
        if query != expected:
            raise InvalidValue(
                f"{name} is {text!r:.200}; write one expression over the columns of the release's "
                "table, without FROM, OPTIONS or further clauses. Nothing was run or charged."
            )
        return query

    @staticmethod
    def check_agreement(query: Query, expected: Query, name: str) -> None:
        """Refuse a statement that does not mean what its texts mean alone."""
        if query != expected:
            raise InvalidValue(
                f"{name}: the texts of the specification mean something else together than each of "
                "them alone, or two columns are the same. Name each column once, and write plain "
                "expressions. Nothing was run or charged."
            )


def _check_text(text: str, name: str) -> None:
    """Refuse what is no text, and comments: they could hide what stands beside them."""
    value: object = text
    if not isinstance(value, str):
        raise InvalidValue(f"{name} is {text!r:.200}; write an SQL expression, as a text.")
    if any(token.comments for token in tokens(f"SELECT {text}")):
        raise InvalidValue(
            f"{name} is {text!r:.200}; leave out the comment. Nothing was run or charged."
        )
