"""What a stopwatch tells: nothing within a step of the grid, and refusals that touch no data leave
at once. And bits after a snapshot: a resumed copy of a machine draws others.
"""

import math
import os
import threading
import time

import numpy as np
import pytest

from discreet.curator import running
from discreet.curator.pacing import GRID_SECONDS, Grid
from discreet.curator.service import Curator
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable, UnsafeQuery
from discreet.noise import bits
from discreet.noise.bits import SystemBits, system
from support.fit import rejects
from support.vaults import curator_of, people

CALLS = 200
FAR = [(10**9, 10**6, float("inf"), "nowhere", "9999-12-31", 2**53)] * 300


def check_alike(first, second, *, name):
    """Fail when Mann and Whitney's test tells two samples of times apart: p below 1e-9.

    That is as rare as a false alarm of all other checks of the suite together. The exact law of
    the rank sum is replaced by its normal limit.
    """
    both = np.concatenate([first, second])
    ranks = np.empty(len(both))
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks[:] = ((ends - counts + 1 + ends) / 2)[inverse]
    n, m = len(first), len(second)
    ties = float((counts.astype(float) ** 3 - counts).sum())
    variance = n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1)))
    centred = ranks[:n].sum() - n * (n + m + 1) / 2
    probability = math.erfc(abs(centred) / math.sqrt(2 * variance)) if variance else 1.0
    assert probability > 1e-9, f"{name}: p = {probability:.3g}"
    return probability


def test_the_test_of_times_sees_a_difference_and_no_difference():
    generator = np.random.default_rng(system.bits(128))
    one, two = generator.normal(size=(2, CALLS))
    assert check_alike(one, two, name="the same law") > 0
    assert rejects(check_alike, one, two + 3, name="a shifted law")
    assert check_alike(np.zeros(CALLS), np.zeros(CALLS), name="all tied") == 1


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """With a person who has 300 rows in the source, and without."""
    folder = tmp_path_factory.mktemp("times")
    made = [curator_of(folder / "a", people()), curator_of(folder / "b", [*people(), *FAR])]
    for curator in made:
        curator.grant("ana", epsilon=9)
    yield made
    for curator in made:
        curator.close()


def test_calls_to_twins_take_the_same_time(twins):
    """On a grid, in alternation, each first in half of the pairs."""
    step = 0.02
    sessions = [twin.remote_session("ana") for twin in twins]
    for session in sessions:
        session._grid = Grid(seconds=step)
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.001)
    times = [[], []]
    for call in range(CALLS):
        text = f"SELECT SUM(income) AS s FROM visits WHERE age > {call % 100} OR big > {call}"
        for side in (call % 2, 1 - call % 2):
            start = time.monotonic()
            sessions[side].sql(text, epsilon=0.01)
            times[side].append(time.monotonic() - start)
    assert check_alike(*times, name="times of twins") > 0
    assert min(map(min, times)) >= step


def test_answers_leave_at_steps(monkeypatch):
    """On a clock of its own: work takes what it takes, the answer leaves at the next step."""
    clock = Clock()
    monkeypatch.setattr("discreet.curator.pacing.time", clock)
    grid = Grid(seconds=0.05)
    for work, left in ((0.0, 0.05), (0.0001, 0.05), (0.049, 0.05), (0.0501, 0.10), (0.32, 0.35)):
        start = clock.now

        def busy(work=work):
            clock.now += work
            return "answer"

        assert grid.held(busy) == "answer"
        assert clock.now - start == pytest.approx(left, abs=1e-6)


def test_failures_after_the_charge_leave_at_steps_and_refusals_at_once(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("discreet.curator.pacing.time", clock)
    for error, left in (
        (Unavailable, 0.05), (RuntimeError, 0.05), (KeyboardInterrupt, 0.05),
        (UnsafeQuery, 0.0), (BudgetExceeded, 0.0), (InvalidValue, 0.0),
    ):  # fmt: skip
        start = clock.now

        def fail(error=error):
            raise error("no")

        with pytest.raises(error):
            Grid(seconds=0.05).held(fail)
        assert clock.now - start == pytest.approx(left, abs=1e-6)


class Clock:
    """A clock that only sleeping moves, with a timer that wakes a little too early at times."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += max(seconds * 0.75, 1e-12)


def test_remote_sessions_are_on_the_grid_and_local_ones_are_not(twins):
    assert float(GRID_SECONDS) == 0.05
    assert twins[0].session("ana")._grid is None
    assert twins[0].remote_session("ana")._grid == Grid(seconds=GRID_SECONDS)
    start = time.monotonic()
    twins[0].remote_session("ana").sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.002)
    assert time.monotonic() - start >= 0.05


def test_the_grid_is_the_custodians_choice(tmp_path):
    with Curator.open(tmp_path / "vault", grid_seconds=0.25, price_floor=0) as curator:
        curator.grant("ana", epsilon=1)
        assert curator.remote_session("ana")._grid == Grid(seconds=0.25)
    for wrong in (0, -1, float("nan"), float("inf"), 61, True, "1"):
        with pytest.raises(InvalidValue, match="grid_seconds"):
            Curator.open(tmp_path / "vault", grid_seconds=wrong, price_floor=0)


def _drawn_by_copies(session, monkeypatch):
    """What a machine and its resumed copy draw for two questions: the same state both times."""
    drawn, key = [], system.bits(256).to_bytes(32, "little")

    def noised(*parts):
        drawn.append(parts[-1].bits(256))
        raise Unavailable("enough")

    monkeypatch.setattr(running, "noised", noised)
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
