"""Exact integers of an engine against plain SQL on the bounded rows.

Below the door: a plan's own statement is run, and what the noise would be given is compared, group
by group, with sums that plain DuckDB makes of real values; then the groups' names, and what comes
out where the noise is zero. Only public facts of a plan are used to turn values into steps.
"""

import math
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.curator.noising import _histograms, _keep_declared, _measures, _sums
from discreet.loss import ZCDP, Pure
from discreet.plan.parts.candidates import CandidateQuery, fraction_of
from discreet.plan.parts.measures import Chosen, Estimator
from discreet.plan.parts.pairs import PAIRED
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.plan.rules.groups import resolve
from discreet.plan.rules.read import read
from discreet.query.algebra import Aggregate, Expression, Statistic
from discreet.query.parse import parse
from support.oracle_cases import Asked, Case
from support.oracle_tables import EPOCH, MIDNIGHT, TABLES, Plain

Key = tuple[Any, ...]
UNITS = ("visits", "stays")
DELTA = Fraction(1, 10**6)


def planned(case: Case, dialect: str, relations: dict[str, str], kept: str = "") -> Plan:
    """The plan of a question for one engine; `relations` is what stands for each table."""
    query = parse(case.question, TABLES)
    first, *others = query.tables
    draft = Draft(
        query=query,
        table=TABLES[first],
        relation=relations[first],
        others=tuple((TABLES[name], relations[name]) for name in others),
        integer_units=UNITS,
        price=Pure(epsilon=50),
        delta=DELTA,
        dialect=dialect,
        kept=kept,
    )
    if resolve(read(draft)).private:  # which a pure price does not pay
        draft = replace(draft, price=ZCDP(rho=10**8))
    return plan(draft)


def label(found: Any) -> Any:
    """A key so that equal ones are equal: numbers by value, truths apart from them."""
    if isinstance(found, bool) or found is None or isinstance(found, date | str):
        return (type(found).__name__, found)
    return ("number", float(found))


def _exact(found: Any) -> Fraction:
    """A plain sum; over no rows it is 0."""
    if found is None:
        return Fraction(0)
    if isinstance(found, Decimal | int | float):
        return Fraction(found)
    raise AssertionError(f"{found!r} is no sum")


@dataclass(frozen=True)
class Expected:
    """What plain SQL says: the sums of every group for each aggregate, and the values in it."""

    groups: dict[Key, list[tuple[Any, ...]]]
    histograms: dict[str, dict[Key, dict[Any, int]]]


def _sums_of(asked: Asked, unit: str) -> list[str]:
    """Plain sums from which every statistic of the arguments is made; then its own value."""
    value = [asked.plain or "NULL"]
    if not asked.arguments:
        return [asked.asked.format(unit=unit) if not asked.plain else asked.plain]
    if asked.fraction:
        return [f"COUNT({asked.arguments[0]})"]
    y = f"({asked.arguments[0]})"
    if len(asked.arguments) == 1:
        if asked.asked.startswith("COUNT"):
            return [f"COUNT{y}", *value]
        squares = [] if asked.asked.startswith("SUM") else [f"SUM({_wide(y)} * {_wide(y)})"]
        return [f"COUNT{y}", f"SUM{y}", *squares, *value]
    x = f"({asked.arguments[1]})"
    both = f" FILTER (WHERE {y} IS NOT NULL AND {x} IS NOT NULL)"
    products = [(y, x), (x, x), (y, y)]
    sums = [f"COUNT(*){both}", f"SUM{y}{both}", f"SUM{x}{both}"]
    sums += [f"SUM({_wide(one)} * {_wide(two)}){both}" for one, two in products]
    return [*sums, *value]


def _wide(value: str) -> str:
    return f"CAST({value} AS DECIMAL(25,5))"


def expected(case: Case, plain: Plain) -> Expected:
    """Ask plain DuckDB."""
    source = case.plain_source or case.source
    if case.limit is not None:
        rows = plain.bounded[case.limit.table]
        rows = rows if case.limit.rows is None else rows.first(case.limit.rows)
        rows = (
            rows.first_groups(case.limit.keys, case.limit.most)
            if case.limit.keys
            else rows.first(case.limit.most)
        )
        plain.hold("limited", rows)
        source = "limited"
    where = f" WHERE {case.where[1]}" if case.where[1] else ""
    rest = f" FROM {source}{where}"
    keys = [each for _, each in case.keys]
    group = f" GROUP BY {', '.join(str(place + 1) for place in range(len(keys)))}" if keys else ""
    listed, places = list(keys), []
    for asked in case.aggregates:
        sums = _sums_of(asked, case.unit)
        places.append((len(listed), len(listed) + len(sums)))
        listed += sums
    groups: dict[Key, list[tuple[Any, ...]]] = {}
    for row in plain.rows(f"{case.before}SELECT {', '.join(listed)}{rest}{group}"):
        key = tuple(map(label, row[: len(keys)]))
        groups[key] = [row[first:last] for first, last in places]
    picked = {each.arguments[0] for each in case.aggregates if each.fraction}
    histograms = {value: _histogram(case, plain, keys, value, rest) for value in picked}
    present = {key: found for key, found in groups.items() if ("NoneType", None) not in key}
    return Expected(present, histograms)


def _histogram(
    case: Case, plain: Plain, keys: list[str], value: str, rest: str
) -> dict[Key, dict[Any, int]]:
    found: dict[Key, dict[Any, int]] = {}
    group = ", ".join(str(place + 1) for place in range(len(keys) + 1))
    listed = ", ".join([*keys, value, "COUNT(*)"])
    for row in plain.rows(f"{case.before}SELECT {listed}{rest} GROUP BY {group}"):
        if row[-2] is not None:
            found.setdefault(tuple(map(label, row[: len(keys)])), {})[row[-2]] = row[-1]
    return found


def differences(case: Case, made: Plan, rows: list[tuple[Any, ...]], wanted: Expected) -> list[str]:
    """Everything in which an engine's integers differ from plain SQL; nothing if all is right."""
    found = _sums(made, rows)
    private = any(domain.private for domain in made.domains)
    groups = _keep_declared(made, list(found)) if private else list(made.groups)
    keys = _keys(made, groups)
    known = set(keys)
    wrong = [f"no group {key}" for key in wanted.groups if key not in known]
    if len(known) != len(keys):
        wrong.append("two groups have one name")
    measures = _measures(made, found, groups)
    estimators = dict(made.estimators)
    noisy = [*measures, *(np.zeros(len(groups), dtype=np.int64) for _ in range(_picked(made)))]
    values = estimates(Released(made, tuple(groups), tuple(noisy))) if groups else {}
    outputs = {output.name: output.expression for output in made.query.outputs}
    for place, asked in enumerate(case.aggregates):
        expression = outputs[f"a{place}"]
        estimator = estimators.get(expression) if isinstance(expression, Aggregate) else None
        plain = [wanted.groups[key][place] if key in wanted.groups else () for key in keys]
        if isinstance(estimator, Estimator):
            columns = [measures[each].tolist() for each in estimator.positions]
            for key, sums, *got in zip(keys, plain, *columns, strict=True):
                if got != _integers(estimator, sums):
                    wrong.append(f"{asked.asked} in {key}: {got}, not {_integers(estimator, sums)}")
        if groups and not asked.fraction and (asked.plain or not asked.arguments):
            column = values[f"a{place}"].value.tolist()
            wrong += [
                f"{asked.asked} in {key}: {value}, not {sums[-1]}"
                for key, sums, value in zip(keys, plain, column, strict=True)
                if sums and not _close(value, sums[-1])
            ]
        if isinstance(estimator, Chosen):
            histogram = wanted.histograms[asked.arguments[0]]
            wrong += _misnamed(expression, asked)
            wrong += _misplaced(made, estimator, rows, groups, keys, histogram)
    return wrong


def _misnamed(expression: Expression, asked: Asked) -> list[str]:
    """Whether another quantile is picked than the one that was asked for."""
    assert isinstance(expression, Aggregate)
    mode = expression.statistic is Statistic.MODE
    fraction = "mode" if mode else str(fraction_of(expression))
    return [f"{asked.asked}: the fraction {fraction}"] if fraction != asked.fraction else []


def _keys(made: Plan, groups: list[Key]) -> list[Key]:
    """What an analyst reads in the columns of keys, for each group."""
    if not made.domains:
        return [() for _ in groups]
    codes = zip(*groups, strict=True)
    named = [domain.name_codes(each) for domain, each in zip(made.domains, codes, strict=False)]
    return [tuple(map(label, each)) for each in zip(*named, strict=True)]


def _picked(made: Plan) -> int:
    return sum(pick.columns for pick in made.picks)


def _close(value: float, plain: Any) -> bool:
    """Equal up to rounding; plain SQL has NULL or NaN where a value has no meaning."""
    if plain is None or math.isnan(float(plain)):
        return True
    return math.isclose(value, float(plain), rel_tol=1e-6, abs_tol=1e-6)


def _integers(estimator: Estimator, plain: tuple[Any, ...]) -> list[int]:
    """The measures in lattice steps that these plain sums are; all zero without rows."""
    if not plain:
        return [0 for _ in estimator.positions]
    sums = [_exact(each) for each in plain[:-1]] or [_exact(plain[0])]
    if estimator.statistic in PAIRED:
        return [_whole(each) for each in _paired(estimator, sums)]
    n = sums[0]
    if estimator.statistic in (Statistic.ROWS, Statistic.VALUES, Statistic.UNITS):
        return [_whole(n)]
    step, centre = estimator.step, estimator.centre
    first = sums[1] / step - centre * n
    if estimator.statistic is Statistic.SUM:
        return [_whole(first)]
    second = sums[2] / step**2 - 2 * centre * sums[1] / step + centre**2 * n
    return [_whole(each) for each in (n, first, second)[: len(estimator.positions)]]


def _paired(estimator: Estimator, sums: list[Fraction]) -> list[Fraction]:
    n, y, x, xy, xx, yy = sums
    assert estimator.second is not None
    b, a = estimator.centre, estimator.second.centre
    y, yy = y / estimator.step, yy / estimator.step**2
    x, xx = x / estimator.second.step, xx / estimator.second.step**2
    xy /= estimator.step * estimator.second.step
    centred = {
        "n": n,
        "y": y - b * n,
        "x": x - a * n,
        "xy": xy - a * y - b * x + a * b * n,
        "xx": xx - 2 * a * x + a**2 * n,
        "yy": yy - 2 * b * y + b**2 * n,
    }
    return [centred[name] for name in PAIRED[estimator.statistic]]


def _whole(found: Fraction) -> int:
    assert found.denominator == 1, f"{found} is no whole number of steps"
    return int(found)


def _code(pick: CandidateQuery, value: Any) -> int:
    """A plain value as a lattice integer of what is picked from."""
    if pick.kind == "category":
        return pick.labels.index(value)
    if isinstance(value, datetime):
        return _whole(Fraction((value - MIDNIGHT) / _SECOND) / pick.step)
    if isinstance(value, date):
        return (value - EPOCH).days
    return _whole(Fraction(value) / pick.step)


_SECOND = datetime(1970, 1, 1, 0, 0, 1) - MIDNIGHT


def _misplaced(
    made: Plan,
    chosen: Chosen,
    rows: list[tuple[Any, ...]],
    groups: list[Key],
    keys: list[Key],
    wanted: dict[Key, dict[Any, int]],
) -> list[str]:
    """Where the counts by candidate differ, or a candidate has another name than its value."""
    pick = made.picks[chosen.pick]
    counted = [row[1:] for row in rows if row[0] == chosen.pick + 1]
    wrong = []
    for key, counts in zip(keys, _histograms(pick, counted, groups), strict=True):
        expected = np.zeros(pick.candidates, dtype=np.int64)
        for value, count in wanted.get(key, {}).items():
            place = _code(pick, value) // pick.width - pick.first
            expected[place] += count
            if pick.width == 1 and label(pick.value(place)) != label(value):
                wrong.append(f"{pick.name}: {value} is called {pick.value(place)}")
        if counts.tolist() != expected.tolist():
            wrong.append(f"{pick.name} in {key}: {counts.tolist()}, not {expected.tolist()}")
    return wrong
