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
        for option in self.options:
            if option not in known:
                raise InvalidValue(
                    f"{self.name}: {option!r} is not an option. {nearest(option, known)}"
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


def _read_names(options: Options, name: str = "columns") -> list[str]:
    value = options.get(name, [])
    listed = list(value) if isinstance(value, list | tuple) else [value]
    if not listed or not all(isinstance(column, str) for column in listed):
        raise InvalidValue(f"{name} is {value!r}; write a list of column names.")
    return [any_name(column, f"one of {name}") for column in listed]


def _read_sets(options: Options) -> dict[tuple[str, ...], float]:
    """The wanted sets of columns: those listed, or all of some orders."""
    if "sets" in options:
        sets = {tuple(names): 1.0 for names in options["sets"]}
    else:
        columns = _read_names(options)
        orders = options.get("orders", [len(columns)])
        if any(not isinstance(order, int) or not 0 <= order <= len(columns) for order in orders):
            raise InvalidValue(
                f"orders is {orders!r}; write numbers of columns, 0 to {len(columns)}."
            )
        sets = {chosen: 1.0 for order in orders for chosen in combinations(columns, order)}
    if not sets or len(sets) > _MOST_SETS:
        raise InvalidValue(f"{len(sets):,} sets of columns; 1 to {_MOST_SETS:,} can be released.")
    return sets


def _marginal_needs(options: Options) -> tuple[list[str], list[str]]:
    return list(dict.fromkeys(column for columns in _read_sets(options) for column in columns)), []


def _build_marginals(frame: Frame, name: str, options: Options, price: Price) -> Part:
    finish = options.get("finish", "least-squares")
    return MarginalPart.build(frame, name, _read_sets(options), price=price, finish=finish)


def _build_ranges(frame: Frame, name: str, options: Options, price: Price) -> Part:
    chosen = {key: options[key] for key in ("workload", "method", "finish") if key in options}
    return RangePart.build(frame, name, _read_names(options), price=price, **chosen)


def _read_by(options: Options) -> list[str]:
    return _read_names(options, "by") if options.get("by") else []


def _read_select(options: Options) -> dict[str, str]:
    select = options.get("select", {})
    if not isinstance(select, Mapping) or not select:
        raise InvalidValue('select is empty; write names and aggregates, { mean = "AVG(age)" }.')
    for name, sql in select.items():
        if not isinstance(sql, str):
            raise InvalidValue(f"{name} is {sql!r:.200}; write an SQL aggregate, as a text.")
    return {identifier(name, "a statistic"): sql for name, sql in select.items()}


def _statistics_needs(options: Options) -> tuple[list[str], list[str]]:
    return _read_by(options), list(_read_select(options).values())


def _build_statistics(frame: Frame, name: str, options: Options, price: Price) -> Part:
    select = _read_select(options)
    return StatisticsPart.build(frame, name, select, by=_read_by(options), price=price)


def _quantile_needs(options: Options) -> tuple[list[str], list[str]]:
    return [*_read_by(options), *_read_names(options, "column")], []


def _build_quantiles(frame: Frame, name: str, options: Options, price: Price) -> Part:
    column, *others = _read_names(options, "column")
    fractions = options.get("fractions", [0.25, 0.5, 0.75])
    if others or not isinstance(fractions, list | tuple) or not fractions:
        raise InvalidValue(f"{name}: write one column and a list of fractions, [0.25, 0.5].")
    texts = [fraction_text(fraction, f"{name}: a fraction") for fraction in fractions]
    select = {
        f"q{place}": f"QUANTILE({sql_name(column)}, {text})" for place, text in enumerate(texts, 1)
    }
    return StatisticsPart.build(frame, name, select, by=_read_by(options), price=price)


def _read_target(options: Options) -> str:
    return any_name(options["target"], "the target") if options.get("target") else ""


def _moment_needs(options: Options) -> tuple[list[str], list[str]]:
    target = _read_target(options)
    listed = [column for column in _read_names(options) if column != target] + (
        [target] if target else []
    )
    return [], list(aggregates_for(listed).values())


def _build_regression(frame: Frame, name: str, options: Options, price: Price) -> Part:
    target = _read_target(options)
    return RegressionPart.build(frame, name, _read_names(options), target=target, price=price)


def _query_needs(options: Options) -> tuple[list[str], list[str]]:
    queries = options.get("queries", {})
    if not isinstance(queries, Mapping) or not queries:
        raise InvalidValue("queries is empty; write names and conditions.")
    return list(dict.fromkeys(column for query in queries.values() for column in query)), []


def _build_counts(frame: Frame, name: str, options: Options, price: Price) -> Part:
    return CountingPart.build(frame, name, options["queries"], price=price)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "counting": Kind(frozenset({"queries"}), _query_needs, _build_counts),
        "covariance": Kind(frozenset({"columns"}), _moment_needs, _build_regression),
        "marginals": Kind(
            frozenset({"columns", "finish", "orders", "sets"}), _marginal_needs, _build_marginals
        ),
        "quantiles": Kind(
            frozenset({"by", "column", "fractions"}), _quantile_needs, _build_quantiles
        ),
        "ranges": Kind(
            frozenset({"columns", "finish", "method", "workload"}),
            lambda options: (_read_names(options), []),
            _build_ranges,
        ),
        "regression": Kind(frozenset({"columns", "target"}), _moment_needs, _build_regression),
        "statistics": Kind(frozenset({"by", "select"}), _statistics_needs, _build_statistics),
    }
)
"""Every kind of table by its name."""
