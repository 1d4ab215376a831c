"""Measurements: charged before a row is read, exact values seen by their release only, pinned to
data where they ask for it."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.curator.measurement import Measurement
from discreet.errors import BudgetExceeded, InvalidValue, Stale, Unavailable, UnsafeQuery
from discreet.ledger.states import Change
from discreet.loss import ZCDP, Pure
from support.clocks import InstantClock
from support.vaults import copied_curator, curator_of, people, write_source

BY_REGION = "SELECT region, COUNT(*) AS n, SUM(age) AS a FROM visits GROUP BY region"
QUARTER = Pure(epsilon=Fraction(1, 4))


@pytest.fixture
def curator(request, tmp_path):
    open_curator = getattr(request, "param", copied_curator)
    with open_curator(tmp_path / "c", people()) as made:
        made.grant("ana", epsilon=1)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


def measurement(session, release, cost=QUARTER, sql=BY_REGION, **plan):
    made = session.prepare(sql, **plan)
    return Measurement(plan=made, cost=cost, label="The test", release=release)


def change(version):
    return Change(analyst="ana", name="s", kind="test", version=version, body=b"")


def test_a_release_sees_dense_measures_and_sparse_cells(session):
    seen = []

    def release(exact, _):
        seen.append((exact.measures(), exact.cells()))
        return "released"

    receipt, result = session.measure(measurement(session, release))
    (counts, ages), (places, (some, _)) = seen[0]
    assert result == "released"
    assert counts.tolist() == [20, 20, 20, 0]
    assert ages.sum() == sum(row[1] for row in people())
    assert places.tolist() == [[0], [1], [2]]
    assert some.tolist() == [20, 20, 20]
    assert receipt.loss == QUARTER
    assert receipt.memo["label"] == "The test"
    assert session.remaining.epsilon == Fraction(3, 4)


def test_domains_too_large_to_list_are_read_as_cells(session):
    sql = "SELECT age, region, day, COUNT(*) AS n FROM visits GROUP BY age, region, day"
    with pytest.raises(UnsafeQuery, match="162,504 groups"):
        session.prepare(sql)
    made = measurement(session, lambda exact, _: exact.cells(), sql=sql, most_groups=10**9)
    _, (places, (counts,)) = session.measure(made)
    assert counts.sum() == 60
    assert places.shape == (len(counts), 3)


def test_it_is_charged_before_a_row_is_read_and_a_failure_keeps_the_charge(session, curator):
    def fails(exact, _):
        assert curator.ledger.entries()[-1].loss == QUARTER
        raise ValueError(f"secret {exact.measures()}")

    with pytest.raises(Unavailable) as raised:
        session.measure(measurement(session, fails), state=change(1))
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert session.remaining.epsilon == Fraction(3, 4)
    assert session.states.newest("s").version == 1


def test_a_refused_charge_reads_nothing(session):
    def release(*_):
        raise AssertionError

    with pytest.raises(BudgetExceeded, match=r"^The test would bring"):
        session.measure(measurement(session, release, cost=Pure(epsilon=2)))
    session.states.put(change(1))
    for cost in (None, QUARTER):
        with pytest.raises(Stale):
            session.measure(measurement(session, release, cost=cost), state=change(1))
    assert session.remaining.epsilon == 1


def test_a_run_is_paid_ahead_and_goes_on_without_a_charge(session, curator):
    made = measurement(session, lambda exact, _: int(exact.measures()[0].sum()), cost=None)
    begun = session.prepay(
        made.plan, cost=Pure(epsilon=Fraction(1, 2)), label="A run", state=change(1)
    )
    assert begun.memo["data_version"] == "1"
    before = len(curator.ledger.entries())
    assert session.measure(made) == (None, 60)
    assert len(curator.ledger.entries()) == before
    assert session.remaining.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_a_pinned_measurement_refuses_other_data(session, curator, tmp_path):
    made = measurement(session, lambda exact, _: int(exact.measures()[0].sum()), cost=None)
    pinned = session.read_versions(made.plan)
    assert session.measure(made, versions=pinned)[1] == 60
    write_source(tmp_path / "c", people(80))
    curator.refresh("visits")
    with pytest.raises(Unavailable, match=r"new data \(version 2\) and this stays with version 1"):
        session.measure(made, versions=pinned)
    assert session.measure(made)[1] == 80


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MEDIAN(age) AS m FROM visits",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n DESC LIMIT 1",
    ],
)
def test_what_is_no_sum_over_public_groups_is_refused(session, sql):
    with pytest.raises(InvalidValue, match="needs sums and counts over public groups"):
        session.prepare(sql)


def test_a_price_is_in_the_terms_of_the_accounts(session, tmp_path):
    made = session.prepare(BY_REGION)
    assert session.price(made, epsilon=1) == Pure(epsilon=1)
    budget = "epsilon = 10\ndelta = 1e-6"
    with copied_curator(tmp_path / "d", people(), budget=budget) as other:
        other.grant("ana", epsilon=1, delta=1e-6)
        there = other.session("ana")
        assert isinstance(there.price(there.prepare(BY_REGION), epsilon=1), ZCDP)


def test_a_remote_session_releases_at_the_time_of_its_plan(tmp_path):
    """And of what the measurement adds to it; a local one at once."""
    clock = InstantClock()
    with copied_curator(tmp_path / "c", people(), clock=clock) as curator:
        curator.grant("ana", epsilon=5)
        start = clock.now()
        assert (
            curator.session("ana").measure(measurement(curator.session("ana"), lambda *_: 1))[1]
            == 1
        )
        assert clock.now() == start
        remote = curator.remote_session("ana")
        longer = replace(measurement(remote, lambda *_: 1), seconds=Fraction(2))
        for made, seconds in ((measurement(remote, lambda *_: 1), 0.05), (longer, 2.05)):
            with curator._warehouse.engines.lane(("visits",), (1,), curator._grid, "ana"):
                pass  # it has started
            start = clock.now()
            assert remote.measure(made)[1] == 1
            assert clock.now() - start == pytest.approx(seconds, abs=1e-9)
