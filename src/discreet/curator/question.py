"""How a question is asked: its text, its one price, what is assumed and its limits. Sessions,
clients, forms of the server and the command line share this one description.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from discreet.ledger.requests import Request
from discreet.query.statement.options import with_limits
from discreet.query.statement.text import check_text
from discreet.rationals import Number, rational

__all__ = ["Question", "TERMS"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and its terms.

    Give one price: `epsilon`, `rho`, or the `error` wanted (a 95% half-width, or one for each
    column). `count` assumes how many rows a group has, for averages, and for the method of a
    quantile. `delta` is what keys that are not public may cost, a tenth of what the
    accounts keep for such steps by default. `max_groups_contributed` and `max_rows_contributed`
    use fewer groups and rows of one unit than the schema allows, for less noise: the same as
    OPTIONS in the question.
    """

    sql: str
    epsilon: Number | None = None
    rho: Number | None = None
    error: Number | Mapping[str, Number] | None = None
    count: int | None = None
    delta: Number | None = None
    max_groups_contributed: int | None = None
    max_rows_contributed: int | None = None

    def __post_init__(self) -> None:
        check_text(self.sql)

    @property
    def needs_count(self) -> bool:
        """Whether only an error is named, so that an average needs to know how many rows it has."""
        return self.error is not None and self.count is self.epsilon is self.rho is None

    def write_limits(self) -> "Question":
        """The question whose text holds its limits, as if the analyst had written them there.

        >>> Question(sql="SELECT COUNT(*) FROM visits", max_rows_contributed=2).write_limits().sql
        'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=2) COUNT(*) FROM visits'
        """
        limits = {
            "max_groups_contributed": self.max_groups_contributed,
            "max_rows_contributed": self.max_rows_contributed,
        }
        return replace(self, sql=with_limits(self.sql, **limits), **dict.fromkeys(limits))

    def request(self, key: str) -> Request:
        """The request that a key of the analyst's own stands for.

        >>> Question(sql="SELECT 1", epsilon=0.5).request("today") == Question(
        ...     sql="SELECT 1", epsilon=0.25
        ... ).request("today")
        False
        """
        options = {} if self.count is None else {"count": str(self.count)}
        for name in _PRICES:
            price = getattr(self, name)
            if isinstance(price, Mapping):
                options |= {f"{name} of {column}": str(rational(price[column])) for column in price}
            elif price is not None:
                options[name] = str(rational(price))
        return Request.of(key, self.sql, options)

    def body(self) -> dict[str, Any]:
        """The question as a request over HTTP carries it.

        >>> Question(sql="SELECT 1", error={"n": 3}, count=10).body()
        {'sql': 'SELECT 1', 'error': {'n': 3.0}, 'count': 10}
        """
        body: dict[str, Any] = {"sql": self.sql}
        for name in TERMS:
            term = getattr(self, name)
            if isinstance(term, Mapping):
                body[name] = {column: float(rational(wanted)) for column, wanted in term.items()}
            elif term is not None:
                body[name] = float(rational(term)) if name in _PRICES else term
        return body


_PRICES = ("epsilon", "rho", "error", "delta")
TERMS = tuple(field.name for field in fields(Question) if field.name != "sql")
"""The terms of a question beside its text, as every surface names them."""
