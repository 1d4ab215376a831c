"""What the door refuses to those who hold a session: rows without a charge, names that are no
columns, and the states of others.
"""

from fractions import Fraction

import pytest

from discreet.curator.measurement import Measurement
from discreet.errors import InvalidValue, SchemaError, UnprovableRequest
from discreet.ledger.states import Change
from discreet.streams import Joint, Monitor
from support.vaults import copied_curator, people

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=5)
        yield curator


def entries(curator):
    return len(curator.ledger.entries())


def test_single_rows_are_not_read_without_a_charge(curator):
    session, before = curator.session("ana"), entries(curator)
    assert not hasattr(session, "prepare_rows")
    rows = curator.prepare_rows("visits", ["age"], question="all of it")
    measurement = Measurement(
        plan=rows, cost=None, label="", release=lambda exact, _: exact.rows(), seconds=Fraction(0)
    )
    with pytest.raises(UnprovableRequest, match="charge of their own"):
        session.measure(measurement)
    assert entries(curator) == before


@pytest.mark.parametrize("name", ["nothing", 'age", "$unit" AS "u', "age, 1", ""])
def test_only_declared_columns_are_read_row_by_row(curator, name):
    with pytest.raises(SchemaError, match="has no column"):
        curator.prepare_rows("visits", [name], question="x")


def test_a_session_has_states_of_its_own_only(curator):
    curator.grant("bob", epsilon=5)
    ana, bob = curator.session("ana"), curator.session("bob")
    Monitor.open(ana, COUNT, threshold=10**6, epsilon=1, name="mine")
    assert ana.states.newest("mine") is not None
    assert bob.states.newest("mine") is None
    change = Change(analyst="ana", name="mine", kind="monitor", version=2, body=b"")
    with pytest.raises(InvalidValue, match="cannot be written by 'bob'"):
        bob.states.put(change)
    assert ana.states.newest("mine").version == 1


def test_settings_that_no_name_can_be_made_of_are_refused_free(curator):
    session, before = curator.session("ana"), entries(curator)
    with pytest.raises(InvalidValue, match="no lasting name can be made of a dict_keys"):
        Joint.open(session, table="visits", columns={"age": 1}.keys(), epsilon=1, sensitivity=4)
    assert entries(curator) == before


def test_an_overtaken_check_leaves_nothing_of_what_it_drew(curator, monkeypatch):
    from discreet.errors import Stale
    from discreet.streams.service import Service

    monitor = Monitor.open(curator.session("ana"), COUNT, threshold=0, epsilon=1, name="mine")

    def overtaken(*_):
        raise Stale("somebody else was first.")

    monkeypatch.setattr(Service, "put", overtaken)
    with pytest.raises(Stale, match="overtaken") as refused:
        monitor.check()
    assert refused.value.__context__ is None
    assert refused.value.__cause__ is None
