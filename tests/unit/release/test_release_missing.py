"""Synthetic rows and marginals have missing values only where the schema lets a value be missing:
every type of column with every rule for NULL, NaN and infinities.
"""

import math
from datetime import date, datetime
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.curator import Curator
from discreet.errors import InvalidValue
from discreet.release.frame import MISSING, Frame
from discreet.release.specification import read_release
from discreet.release.synth.columns import CodedColumn
from discreet.release.synth.service import synthesize

NULLS = ("drop", "error", "constant")
NUMBERS = list(product(NULLS, ("null", "drop", "error", "constant"), ("clamp", "drop", "error")))
OTHERS = list(product(NULLS, ("clamp", "drop", "error")))
KINDS = {
    "integer": ({"lower": 0, "upper": 4}, 2, NUMBERS, pa.float64(), 3.0),
    "number": ({"lower": 0, "upper": 4, "step": 0.5}, 2, NUMBERS, pa.float64(), 1.5),
    "boolean": ({}, True, [(null,) for null in NULLS], pa.bool_(), True),
    "category": ({"keys": ["a", "b"]}, "b", [(null,) for null in NULLS], pa.string(), "a"),
    "date": (
        {"lower": date(2024, 1, 1), "upper": date(2024, 1, 9)},
        date(2024, 1, 2), OTHERS, pa.date32(), date(2024, 1, 5),
    ),
    "datetime": (
        {"lower": datetime(2024, 1, 1), "upper": datetime(2024, 1, 1, 9), "step": 3600},
        datetime(2024, 1, 1, 2), OTHERS, pa.timestamp("s"), datetime(2024, 1, 1, 4),
    ),
}  # fmt: skip


def _columns():
    """Name, type, rules and a source column for every rule of every type."""
    for kind, (facts, constant, rules, arrow, value) in KINDS.items():
        for number, given in enumerate(rules):
            names = {1: ("null",), 2: ("null", "infinity"), 3: ("null", "nan", "infinity")}
            rule = dict(zip(names[len(given)], given, strict=True))
            told = {name: constant if word == "constant" else word for name, word in rule.items()}
            yield f"{kind}_{number}", kind, rule, {"type": kind, **facts, **told}, arrow, value


def may_be_missing(rule):
    """By the schema's own words: something is dropped, and nothing stands for it."""
    nan = rule.get("nan", "null")
    dropped = rule["null"] == "drop"  # also NaN, where it counts as NULL
    return dropped or nan == "drop" or rule.get("infinity", "clamp") == "drop"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Forty rows; NULL, NaN and infinity wherever no rule refuses them."""
    schema, data = {}, {}
    for name, kind, rule, facts, arrow, value in _columns():
        schema[name] = facts
        odd = []
        if rule["null"] != "error":
            odd.append(None)
        floats = kind in ("integer", "number")
        # NaN counts as NULL where no rule of its own is given.
        if floats and rule["nan"] != "error" and (rule["nan"] != "null" or None in odd):
            odd.append(math.nan)
        if floats and rule["infinity"] != "error":
            odd.append(math.inf)
        data[name] = pa.array([*odd, *[value] * (40 - len(odd))], arrow, from_pandas=False)
    table = {"name": "t", "neighbours": "add-remove"}
    budget = {"epsilon": 10**6, "delta": 1e-6}
    with Curator.open(tmp_path_factory.mktemp("missing") / "vault", price_floor=0) as curator:
        curator.add({"table": table, "columns": schema, "budget": budget}, data=pa.table(data))
        curator.grant("ana", epsilon=10**6, delta=1e-6)
        yield curator.session("ana"), data


@pytest.mark.parametrize(
    ("name", "kind", "rule"), [each[:3] for each in _columns()], ids=[e[0] for e in _columns()]
)
def test_a_place_for_what_is_missing_only_where_it_may_be(session, name, kind, rule):
    session, _ = session
    (axis,) = Frame.of(session, "t", {"x": name}).axes
    assert axis.missing == (kind in ("integer", "number") and may_be_missing(rule))
    assert (MISSING in axis.labels) == axis.missing
    (computed,) = Frame.of(session, "t", {"x": _computed(name, kind)}).axes
    assert computed.missing == axis.missing
    column = session._warehouse.tables()["t"].column(name)
    try:
        field = CodedColumn.of(column)
    except InvalidValue:  # datetimes have no place in synthetic data
        assert kind == "datetime"
        return
    assert may_be_missing(rule) or [None] not in field.labels()
    assert may_be_missing(rule) or None not in field.read(np.arange(field.attribute.size))


def _computed(name, kind):
    return f"2 * {name}" if kind in ("integer", "number") else name


def test_released_marginals_count_what_is_missing_where_it_may_be(session):
    """Of all number columns, by the data itself: the noise at this price moves no count."""
    session, data = session
    names = [name for name, kind, *_ in _columns() if kind in ("integer", "number")]
    tables = [{"kind": "marginals", "name": f"by_{name}", "columns": [name]} for name in names]
    declared = read_release(
        {"release": {"table": "t", "epsilon": 9 * 10**5}, "tables": tables[::5]}
    )
    found = declared.plan(session).run().tables
    rules = {name: rule for name, _, rule, *_ in _columns()}
    for name in names[::5]:
        counts = dict(
            zip(*(found[f"by_{name}"].columns[each] for each in (name, "count")), strict=True)
        )
        assert (MISSING in counts) == may_be_missing(rules[name])
        gone = sum(_gone(value, rules[name]) for value in data[name].to_pylist())
        assert round(counts.get(MISSING, 0)) == gone
        assert sum(map(round, counts.values())) == 40


def _gone(value, rule):
    """Whether nothing stands for a raw value, by the schema's words."""
    if value is None:
        return rule["null"] == "drop"
    if math.isnan(value):
        return rule["null" if rule["nan"] == "null" else "nan"] == "drop"
    return math.isinf(value) and rule["infinity"] == "drop"


def test_synthetic_rows_have_no_missing_value_where_none_is_allowed(session):
    """Columns that refuse NULL, beside ones that drop it: little budget, so that noise decides."""
    session, _ = session
    rules = {name: rule for name, kind, rule, *_ in _columns() if kind != "datetime"}
    firm = [name for name, rule in rules.items() if not may_be_missing(rule)]
    loose = [name for name, rule in rules.items() if may_be_missing(rule)]
    columns = [*firm[::4], *loose[::8]]
    rows = synthesize(session, "t", rho=0.001, columns=columns).rows(400)
    for name in columns:
        assert rules[name]["null"] == "drop" or None not in rows[name], name
