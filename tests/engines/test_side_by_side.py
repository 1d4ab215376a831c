"""Statements to one table run side by side: how many are in the engine at once, not how long."""

import threading

import pytest

from discreet.engines.process.child import Child
from discreet.errors import DiscreetError
from support.clocks import InstantClock
from support.vaults import copied_curator, people

AT_ONCE = 6  # more than the cores of a small machine; slower there, not one after the other
PATIENCE = 60


class Meeting:
    """Statements that end only when so many are running."""

    def __init__(self, monkeypatch, count):
        self.barrier = threading.Barrier(count)
        real = Child.ask

        def ask(child, command, argument, **how):
            if "prepared" in argument and "age" in argument:
                self.barrier.wait(PATIENCE)
            return real(child, command, argument, **how)

        monkeypatch.setattr(Child, "ask", ask)


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path / "c", people(), clock=InstantClock()) as made:
        for name in ("ana", "bob"):
            made.grant(name, epsilon=5)
        yield made


def ask_at_once(sessions):
    outcomes = []

    def ask(number, session):
        sql = f"SELECT COUNT(*) AS n FROM visits WHERE age < {20 + number}"
        try:
            session.sql(sql, epsilon=0.01)
            outcomes.append("answered")
        except (DiscreetError, threading.BrokenBarrierError) as failure:
            outcomes.append(str(failure))

    threads = [threading.Thread(target=ask, args=each) for each in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
    return outcomes


@pytest.mark.parametrize("askers", [("ana",), ("ana", "bob")])
@pytest.mark.parametrize("kind", ["session", "remote_session"])
def test_statements_of_one_table_run_side_by_side(curator, monkeypatch, askers, kind):
    Meeting(monkeypatch, AT_ONCE)
    names = [askers[number % len(askers)] for number in range(AT_ONCE)]
    sessions = [getattr(curator, kind)(name) for name in names]
    assert ask_at_once(sessions) == ["answered"] * AT_ONCE
    monkeypatch.undo()
    assert curator.session("ana").sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.01).to_dicts()
    assert not curator._warehouse.engines._busy
