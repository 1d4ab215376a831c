"""What a stopwatch tells: nothing that is not public, since the time of an outcome is fixed before
the engine starts; refusals touch no data and leave at once. And bits after a snapshot: a resumed
copy of a machine draws others.
"""

import os
import threading
import time
from contextlib import contextmanager
from fractions import Fraction

import pytest

from discreet.curator import access
from discreet.curator.curator import Curator
from discreet.curator.runs.lanes import Lanes
from discreet.curator.runs.pacing import Late, ResponseGrid, SystemClock
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable, UnsafeQuery
from discreet.noise import bits
from discreet.noise.bits import SystemBits, system
from discreet.plan.parts.patience import GRID_SECONDS
from support.clocks import InstantClock
from support.vaults import copied_curator, people

pytestmark = pytest.mark.usefixtures("children_from_nothing")

FAR = [(10**9, 10**6, float("inf"), "nowhere", "9999-12-31", 2**53)] * 300


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """With a person who has 300 rows in the source, and without."""
    folder = tmp_path_factory.mktemp("times")
    rows = {"a": people(), "b": [*people(), *FAR]}
    made = [copied_curator(folder / name, rows[name], clock=InstantClock()) for name in rows]
    for curator in made:
        curator.grant("ana", epsilon=9)
    yield made
    for curator in made:
        curator.close()


def test_calls_to_twins_take_the_same_time(twins):
    """The engine takes longer with the person, up to the deadline and far beyond: what is seen is
    seen at the same time, and what is late is not seen.
    """
    clocks = [twin._grid.clock for twin in twins]
    sessions = [twin.remote_session("ana") for twin in twins]
    for number, seconds in enumerate((0.0, 0.001, 0.049, 0.051, 1.0, 59.0)):
        text = f"SELECT SUM(income) AS s FROM visits WHERE age > {number} OR big > 7"
        times = []
        for session, clock, more in zip(sessions, clocks, (0.0, seconds), strict=True):
            with taking(session, clock, more):
                start = clock.now()
                if more > 0.05:
                    with pytest.raises(Unavailable):
                        session.sql(text, epsilon=0.01)
                else:
                    session.sql(text, epsilon=0.01)
                times.append(clock.now() - start)
        assert times == [pytest.approx(0.05, abs=1e-9)] * 2


@contextmanager
def taking(session, clock, seconds):
    """The engines of a session take so long."""
    warehouse = session._warehouse
    kept = warehouse.engines.lanes
    warehouse.engines.lanes = Lanes(lambda names: Taking(warehouse._open(names), clock, seconds))
    try:
        yield
    finally:
        warehouse.engines.lanes.close()
        warehouse.engines.lanes = kept


class Taking:
    """An engine on a clock of the test's own."""

    dialect = "duckdb"

    def __init__(self, engine, clock, seconds):
        self.engine, self.clock, self.seconds = engine, clock, seconds

    def rows(self, sql):
        found = self.engine.rows(sql)
        self.clock.spend(self.seconds)
        return found

    def ready(self):
        self.engine.ready()
        return False

    def stop(self):
        self.engine.stop()

    def close(self):
        self.engine.close()


@pytest.mark.parametrize(("seconds", "left"), [(0, 0.05), (0.05, 0.05), (0.06, 0.1), (2, 2)])
def test_answers_leave_at_steps(seconds, left):
    """Results and failures alike; what is late is discarded, and moves to no later step."""
    for work in (0.0, 0.0001, left - 0.001, left + 0.001, 60.0):
        for error in (None, Unavailable, RuntimeError, KeyboardInterrupt):
            clock = InstantClock()
            start = clock.now()

            def busy(clock=clock, error=error, work=work):
                clock.spend(work)
                if error is not None:
                    raise error("no")
                return "answer"

            grid = ResponseGrid(seconds=0.05, clock=clock)
            if error is None and work <= left:
                assert grid.within(Fraction(str(seconds)), busy) == "answer"
            else:
                with pytest.raises(error or Late):
                    grid.within(Fraction(str(seconds)), busy)
            assert clock.now() - start == pytest.approx(left, abs=1e-9)


def test_refusals_and_replays_do_not_wait(twins):
    session, clock = twins[0].remote_session("ana"), twins[0]._grid.clock
    text = "SELECT COUNT(*) AS n FROM visits WHERE age > 77"
    session.sql(text, epsilon=0.01)
    start = clock.now()
    assert session.sql(text, epsilon=0.01).free
    for error, sql, epsilon in (
        (UnsafeQuery, "SELECT age FROM visits", 1), (BudgetExceeded, text, 1000),
        (InvalidValue, text, -1),
    ):  # fmt: skip
        with pytest.raises(error):
            session.sql(sql, epsilon=epsilon)
    assert clock.now() == start


class Sleepless(SystemClock):
    """The machine's clock, which does not wait after the work is done."""

    def wait(self, until):
        """At once."""


def test_the_machines_clock_takes_what_is_done_and_discards_what_is_late():
    clock = Sleepless()
    assert clock.race(lambda: 7, clock.now() + 240) == 7
    with pytest.raises(ZeroDivisionError):
        clock.race(lambda: 1 // 0, clock.now() + 240)
    never, ended = threading.Event(), threading.Event()
    with pytest.raises(Late):
        clock.race(lambda: never.wait(240) and ended.set(), clock.now())
    never.set()
    assert ended.wait(240)
    start = time.monotonic()
    SystemClock().wait(start + 0.01)
    assert time.monotonic() >= start + 0.01


def test_an_engine_that_is_late_is_ended_and_replaced(twins):
    """What runs too long is stopped at its deadline, so that it is in nobody's way."""
    session = twins[0].remote_session("ana")
    warehouse = session._warehouse
    with warehouse.engines.lane(("visits",), (1,), session._grid, "ana") as lane:
        outcome = []
        slow = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"

        def run():
            with pytest.raises(Unavailable):
                lane.engine.rows(slow)
            outcome.append("told")

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            lane.engine.stop()
            thread.join(0.1)
        assert outcome == ["told"]
        lane.lose()
    assert all(
        engine is not lane.engine
        for _, engine in warehouse.engines.lanes._idle.get(("visits",), [])
    )
    session.sql("SELECT COUNT(*) AS n FROM visits WHERE age > 76", epsilon=0.01)


def test_remote_sessions_are_on_the_grid_and_local_ones_are_not(twins):
    assert float(GRID_SECONDS) == 0.05
    assert twins[0].session("ana")._grid is None
    assert twins[0].remote_session("ana")._grid == ResponseGrid(seconds=GRID_SECONDS)


def test_the_grid_is_the_custodians_choice(tmp_path):
    with Curator.open(tmp_path / "vault", grid_seconds=0.25, price_floor=0) as curator:
        curator.grant("ana", epsilon=1)
        assert curator.remote_session("ana")._grid == ResponseGrid(seconds=0.25)
    for wrong in (0, -1, float("nan"), float("inf"), 61, True, "1"):
        with pytest.raises(InvalidValue, match="grid_seconds"):
            Curator.open(tmp_path / "vault", grid_seconds=wrong, price_floor=0)


def _drawn_by_copies(session, monkeypatch):
    """What a machine and its resumed copy draw for two questions: the same state both times."""
    drawn, key = [], system.bits(256).to_bytes(32, "little")

    def add_noise(*parts):
        drawn.append(parts[-1].bits(256))
        raise Unavailable("enough")

    monkeypatch.setattr(access, "add_noise", add_noise)
    for _ in range(2):
        system._stream, system._process = bits._Stream(key, 1 << 20), os.getpid()
        with pytest.raises(Unavailable):
            session.sql("SELECT COUNT(*) AS n FROM visits WHERE age > 1", epsilon=0.01)
    system._stream = None
    return drawn


def test_a_resumed_copy_of_the_machine_draws_other_bits(twins, monkeypatch):
    one, other = _drawn_by_copies(twins[0].session("ana"), monkeypatch)
    assert one != other


def test_a_source_that_keeps_its_key_is_caught(twins, monkeypatch):
    """Planted: without a key of its own the copy's answer has the noise of the original's."""
    monkeypatch.setattr(SystemBits, "fresh", lambda self: self)
    one, other = _drawn_by_copies(twins[0].session("ana"), monkeypatch)
    assert one == other


def test_sources_for_single_releases_are_independent_in_threads():
    source, drawn = SystemBits(), []
    threads = [
        threading.Thread(target=lambda: drawn.append(source.fresh().bits(256))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 8
