"""The kinds of tables a release can declare: what each needs of the statement, and the part that it
becomes at a price. Adding a kind means adding an entry here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from types import MappingProxyType
from typing import Any

from discreet.errors import InvalidValue
from discreet.loss import Price
from discreet.rationals import positive
from discreet.release.frame import Frame
from discreet.release.parts.counting import CountingPart
from discreet.release.parts.counts import MarginalPart
from discreet.release.parts.ranges import RangePart
from discreet.release.parts.regression import RegressionPart, aggregates_for
from discreet.release.parts.values import StatisticsPart
from discreet.release.sheets import Part
from discreet.release.texts import fraction_text
from discreet.schema.column import identifier, nearest
from discreet.schema.names import any_name, sql_name

__all__ = ["Declared", "KINDS", "Kind"]

Options = Mapping[str, Any]
_MOST_SETS = 1 << 13


@dataclass(frozen=True, slots=True)
class Kind:
    """How declarations of one kind are read.

    >>> sorted(KINDS["ranges"].options)
    ['columns', 'finish', 'method', 'workload']
    """

    options: frozenset[str]
    needs: Callable[[Options], tuple[list[str], list[str]]]  # columns to group by, aggregates
    part: Callable[[Frame, str, Options, Price], Part]


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared table, or family of tables, and how much of the price it gets."""

    kind: str
    name: str
    options: Options = field(default_factory=lambda: MappingProxyType({}))
    weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        identifier(self.name, "a table of a release")
        if self.kind not in KINDS:
            raise InvalidValue(f"{self.name}: kind is {self.kind!r}. {nearest(self.kind, KINDS)}")
        object.__setattr__(self, "weight", positive(self.weight, f"{self.name}: weight"))
        known = KINDS[self.kind].options
        for each in self.options:
            if each not in known:
                raise InvalidValue(
                    f"{self.name}: {each!r} is not an option. {nearest(each, known)}"
                )

    def needs(self) -> tuple[list[str], list[str]]:
        """The columns it groups by and the aggregates it reads.

        >>> Declared("marginals", "by_region", {"columns": ["region"]}).needs()
        (['region'], [])
        """
        return KINDS[self.kind].needs(self.options)

    def part(self, frame: Frame, price: Price) -> Part:
        """The part it becomes at a price."""
        return KINDS[self.kind].part(frame, self.name, self.options, price)


def _names(options: Options, name: str = "columns") -> list[str]:
    given = options.get(name, [])
    listed = list(given) if isinstance(given, list | tuple) else [given]
    if not listed or not all(isinstance(each, str) for each in listed):
        raise InvalidValue(f"{name} is {given!r}; write a list of column names.")
    return [any_name(each, f"one of {name}") for each in listed]


def _sets(options: Options) -> dict[tuple[str, ...], float]:
    """The wanted sets of columns: those listed, or all of some orders."""
    if "sets" in options:
        sets = {tuple(each): 1.0 for each in options["sets"]}
    else:
        columns = _names(options)
        orders = options.get("orders", [len(columns)])
        if any(not isinstance(order, int) or not 0 <= order <= len(columns) for order in orders):
            raise InvalidValue(
                f"orders is {orders!r}; write numbers of columns, 0 to {len(columns)}."
            )
        sets = {each: 1.0 for order in orders for each in combinations(columns, order)}
    if not sets or len(sets) > _MOST_SETS:
        raise InvalidValue(f"{len(sets):,} sets of columns; 1 to {_MOST_SETS:,} can be released.")
    return sets


def _marginal_needs(options: Options) -> tuple[list[str], list[str]]:
    return list(dict.fromkeys(each for columns in _sets(options) for each in columns)), []


def _marginals(frame: Frame, name: str, options: Options, price: Price) -> Part:
    finish = options.get("finish", "least-squares")
    return MarginalPart.planned(frame, name, _sets(options), price=price, finish=finish)


def _ranges(frame: Frame, name: str, options: Options, price: Price) -> Part:
    chosen = {each: options[each] for each in ("workload", "method", "finish") if each in options}
    return RangePart.planned(frame, name, _names(options), price=price, **chosen)


def _selected(options: Options) -> dict[str, str]:
    given = options.get("select", {})
    if not isinstance(given, Mapping) or not given:
        raise InvalidValue('select is empty; write names and aggregates, { mean = "AVG(age)" }.')
    for name, sql in given.items():
        if not isinstance(sql, str):
            raise InvalidValue(f"{name} is {sql!r:.200}; write an SQL aggregate, as a text.")
    return {identifier(name, "a statistic"): sql for name, sql in given.items()}


def _statistics_needs(options: Options) -> tuple[list[str], list[str]]:
    by = _names(options, "by") if options.get("by") else []
    return by, list(_selected(options).values())


def _statistics(frame: Frame, name: str, options: Options, price: Price) -> Part:
    by = _names(options, "by") if options.get("by") else []
    return StatisticsPart.planned(frame, name, _selected(options), by=by, price=price)


def _quantile_needs(options: Options) -> tuple[list[str], list[str]]:
    by = _names(options, "by") if options.get("by") else []
    return [*by, *_names(options, "column")], []


def _quantiles(frame: Frame, name: str, options: Options, price: Price) -> Part:
    column, *others = _names(options, "column")
    fractions = options.get("fractions", [0.25, 0.5, 0.75])
    if others or not isinstance(fractions, list | tuple) or not fractions:
        raise InvalidValue(f"{name}: write one column and a list of fractions, [0.25, 0.5].")
    select = {
        f"q{place}": f"QUANTILE({sql_name(column)}, {fraction_text(each, f'{name}: a fraction')})"
        for place, each in enumerate(fractions, 1)
    }
    by = _names(options, "by") if options.get("by") else []
    return StatisticsPart.planned(frame, name, select, by=by, price=price)


def _target(options: Options) -> str:
    return any_name(options["target"], "the target") if options.get("target") else ""


def _moment_needs(options: Options) -> tuple[list[str], list[str]]:
    target = _target(options)
    listed = [each for each in _names(options) if each != target] + ([target] if target else [])
    return [], list(aggregates_for(listed).values())


def _regression(frame: Frame, name: str, options: Options, price: Price) -> Part:
    target = _target(options)
    return RegressionPart.planned(frame, name, _names(options), target=target, price=price)


def _query_needs(options: Options) -> tuple[list[str], list[str]]:
    queries = options.get("queries", {})
    if not isinstance(queries, Mapping) or not queries:
        raise InvalidValue("queries is empty; write names and conditions.")
    return list(dict.fromkeys(each for query in queries.values() for each in query)), []


def _queries(frame: Frame, name: str, options: Options, price: Price) -> Part:
    return CountingPart.planned(frame, name, options["queries"], price=price)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "counting": Kind(frozenset({"queries"}), _query_needs, _queries),
        "covariance": Kind(frozenset({"columns"}), _moment_needs, _regression),
        "marginals": Kind(
            frozenset({"columns", "finish", "orders", "sets"}), _marginal_needs, _marginals
        ),
        "quantiles": Kind(frozenset({"by", "column", "fractions"}), _quantile_needs, _quantiles),
        "ranges": Kind(
            frozenset({"columns", "finish", "method", "workload"}),
            lambda options: (_names(options), []),
            _ranges,
        ),
        "regression": Kind(frozenset({"columns", "target"}), _moment_needs, _regression),
        "statistics": Kind(frozenset({"by", "select"}), _statistics_needs, _statistics),
    }
)
"""Every kind of table by its name."""
