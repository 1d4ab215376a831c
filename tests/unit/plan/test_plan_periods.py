"""Groups of periods of dates and datetimes: the public keys are the periods of the declared bounds,
whatever the step, and the engine's codes are theirs.
"""

import json
from datetime import date, datetime, timedelta
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from discreet.curator.curator import Curator
from discreet.curator.replay import replay
from discreet.curator.results.block_record import release_body, release_key
from discreet.ledger.entry import Receipt
from discreet.ledger.releases import Release
from discreet.loss import Pure
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.plan.results.released import Released
from discreet.query.parse import parse
from discreet.schema.column import MIDNIGHT, Column
from discreet.schema.table import Table

UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
STEPS = (1, 7, 60, 90, 900, 3600, 5000, 86_400, 100_000)
STARTS = (
    datetime(2023, 12, 31, 22, 13, 7),
    datetime(1969, 12, 31, 23, 59),
    datetime(2000, 2, 28, 23, 0, 1),
)


def lattice(step: int, start: datetime) -> Column:
    """A few hours around midnight, or a few steps where they are longer."""
    lower = (start - MIDNIGHT) // timedelta(seconds=step)
    return Column(
        "t", "datetime", step=Fraction(step), lower=lower, upper=lower + 10_000 // step + 4
    )


def planned(text: str, column: Column) -> Plan:
    table = Table("v", columns=(column,))
    query = parse(text, {"v": table})
    return plan(Draft(query=query, table=table, price=Pure(epsilon=1), limit=10**6, question=text))


def start_of(unit: str, moment: datetime) -> date:
    """Written without a look at the plan."""
    if unit in ("second", "minute", "hour"):
        zero = {"second": {}, "minute": {"second": 0}, "hour": {"second": 0, "minute": 0}}[unit]
        return moment.replace(**zero)
    day = moment.date()
    return {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "quarter": day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1),
        "year": day.replace(month=1, day=1),
    }[unit]


def test_a_year_of_a_datetime_is_its_own():
    """The days since 1970 were once taken to be as many as the seconds: years above 3000."""
    lower = int((datetime(2024, 1, 1) - MIDNIGHT).total_seconds())
    column = Column("t", "datetime", lower=lower, upper=lower + 2 * 366 * 86_400)
    found = planned("SELECT DATE_TRUNC('year', t) AS y, COUNT(*) FROM v GROUP BY y", column)
    assert found.domains[0].labels == (date(2024, 1, 1), date(2025, 1, 1), date(2026, 1, 1))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("unit", UNITS)
def test_the_groups_are_the_periods_of_the_bounds(unit, step):
    for start in STARTS:
        column = lattice(step, start)
        found = planned(f"SELECT DATE_TRUNC('{unit}', t) AS p, COUNT(*) FROM v GROUP BY p", column)
        moments = [column.decode(k) for k in range(column.lower, column.upper + 1)]
        periods = [start_of(unit, moment) for moment in moments]
        (domain,) = found.domains
        assert set(domain.labels) >= set(periods)
        assert (domain.labels[0], domain.labels[-1]) == (periods[0], periods[-1])
        seconds = {"second": 1, "minute": 60, "hour": 3600}.get(unit)
        if seconds and step % seconds == 0:  # then nothing is cut off
            assert list(domain.labels) == moments
        codes = duckdb.sql(
            f"SELECT t, {domain.sql} FROM range({column.lower}, {column.upper + 1}) AS r(t)"
        ).fetchall()
        called = domain.name_codes(code for _, code in sorted(codes))
        assert called == periods
        assert [type(each) for each in called] == [type(each) for each in periods]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("part", UNITS)
def test_the_parts_of_a_datetime_are_those_of_its_calendar(part, step):
    for start in STARTS:
        column = lattice(step, start)
        found = planned(f"SELECT EXTRACT({part} FROM t) AS p, COUNT(*) FROM v GROUP BY p", column)
        (domain,) = found.domains
        moments = [column.decode(k) for k in range(column.lower, column.upper + 1)]
        expected = [
            {"week": moment.isocalendar().week, "quarter": (moment.month + 2) // 3}.get(part)
            or getattr(moment, part)
            for moment in moments
        ]
        codes = duckdb.sql(
            f"SELECT t, {domain.sql} FROM range({column.lower}, {column.upper + 1}) AS r(t)"
        ).fetchall()
        assert domain.name_codes(code for _, code in sorted(codes)) == expected


def test_an_answer_by_month_of_a_datetime_holds_the_rows(tmp_path):
    """Nearly without noise, through the door."""
    rows = "SELECT TIMESTAMP '2024-01-31 23:59:59' + INTERVAL (i) HOUR AS seen FROM range(40) t(i)"
    data = duckdb.sql(rows).to_arrow_table()
    schema = {
        "table": {"name": "events"},
        "columns": {
            "seen": {
                "type": "datetime",
                "lower": datetime(2024, 1, 1),
                "upper": datetime(2024, 3, 31),
                "step": 900,
            }
        },
        "budget": {"epsilon": 1000},
    }
    asked = "SELECT DATE_TRUNC('month', seen) AS m, COUNT(*) AS n FROM events GROUP BY m"
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(schema, data=data)
        curator.grant("ann", epsilon=900)
        answer = curator.session("ann").sql(asked, epsilon=500).to_pandas()
    assert answer["m"].tolist() == [date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1)]
    assert answer["n"].round().tolist() == [1, 39, 0]


KEYS_OF_OLD = {
    "hours": "fb4757cb06efc87b9e6ae64e8a42beb871ddfca8802ebe8a4dbc7f80b86441b9",
    "datetime": "f26680c6bab8e8a67b5292ff9204354a6f2cef4e8bf7c8c53d2c26630ea6e6ee",
    "date": "8e898c40749b8dcd84ec9734f92700560d1076902279906a151be414a843951c",
}
"""Keys of releases as an earlier version made them."""

YEARS = "SELECT DATE_TRUNC('year', t) AS y, COUNT(*) AS n FROM v GROUP BY y"


def stored(found: Plan, noisy: list[int], left_out: str = "") -> Release:
    """A release as it is written down, or as a version that wrote down less did."""
    released = Released(found, found.groups, (np.array(noisy),))
    body = json.loads(release_body(released, (1,)))
    body.pop(left_out, None)
    receipt = Receipt(1, "id", "time", "v", "ann", found.cost, {})
    return Release("key", json.dumps(body).encode(), receipt)


def test_an_answer_of_an_earlier_version_is_shown_as_it_went_out_and_not_given_again():
    hours = Column("t", "datetime", step=Fraction(3600), lower=473_352, upper=475_512)
    found = planned(YEARS, hours)
    assert replay(stored(found, [40])).to_pandas()["y"].tolist() == [date(2024, 1, 1)]
    earlier = replay(stored(found, [0, 3, -1, 0, 0, 2, 0], left_out="periods")).to_pandas()
    assert earlier["y"].tolist() == [date(year, 1, 1) for year in range(3265, 3272)]
    assert earlier["n"].tolist() == [0, 3, -1, 0, 0, 2, 0]
    assert release_key(found, (1,)) != KEYS_OF_OLD["hours"]


@pytest.mark.parametrize(
    "column",
    [
        Column("t", "datetime", step=Fraction(86_400), lower=19_723, upper=19_813),
        Column("t", "date", lower=19_723, upper=19_813),
    ],
)
def test_answers_that_were_right_are_given_again(column):
    """The keys of releases that an earlier version wrote down: the mark is in none of them."""
    found = planned(YEARS, column)
    body = json.loads(stored(found, [40]).body)
    assert "periods" not in body
    assert release_key(found, (1,)) == KEYS_OF_OLD[column.kind]
    assert replay(stored(found, [40])).to_pandas()["y"].tolist() == [date(2024, 1, 1)]
