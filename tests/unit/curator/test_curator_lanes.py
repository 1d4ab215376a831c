"""Engines of one run's own, and questions that are asked twice at once."""

import threading

import pytest

from discreet.curator.runs import lanes
from discreet.curator.runs.lanes import Lanes
from discreet.curator.runs.turns import Turns
from discreet.errors import InvalidValue, Unavailable

NAMES = ("visits",)


class Fake:
    """An engine that remembers what was done to it."""

    def __init__(self):
        self.stopped, self.closed = threading.Event(), threading.Event()

    def stop(self):
        self.stopped.set()

    def close(self):
        self.closed.set()


@pytest.fixture
def made():
    return []


@pytest.fixture
def pool(made):
    def opened(_names):
        made.append(Fake())
        return made[-1]

    return Lanes(opened)


def test_an_engine_is_one_runs_own_and_is_used_again(pool, made):
    with pool.take(NAMES, (1,), "ana") as first, pool.take(NAMES, (1,), "ana") as second:
        assert first.engine is not second.engine
    with pool.take(NAMES, (1,), "ana") as third:
        assert third.engine in made[:2]
    assert len(made) == 2


def test_another_state_of_the_data_has_another_engine(pool, made):
    with pool.take(NAMES, (1,), "ana"):
        pass
    with pool.take(NAMES, (2,), "ana") as lane:
        assert lane.engine is made[1]
    assert made[0].closed.is_set()


def test_one_that_is_late_is_ended_and_not_used_again(pool, made):
    with pool.take(NAMES, (1,), "ana") as lane:
        lane.lose()
    assert made[0].closed.wait(240)
    assert made[0].stopped.is_set()
    with pool.take(NAMES, (1,), "ana") as lane:
        assert lane.engine is made[1]


def test_a_run_that_finds_none_free_waits(pool, made, monkeypatch):
    monkeypatch.setattr(lanes, "_MOST", 1)
    got = threading.Event()

    def wait():
        with pool.take(NAMES, (1,), "ana"):
            got.set()

    with pool.take(NAMES, (1,), "ana"):
        thread = threading.Thread(target=wait)
        thread.start()
        with pool.take(("other",), (1,), "ana"):  # of other tables there is one
            assert not got.is_set()
    assert got.wait(240)
    thread.join(240)
    assert len(made) == 2


def test_a_lane_that_comes_back_wakes_who_waits_for_its_tables(pool, monkeypatch):
    """Also where somebody has waited longer for the lane of other tables, which is not free."""
    monkeypatch.setattr(lanes, "_MOST", 1)
    got = {"visits": threading.Event(), "stays": threading.Event()}

    def wait(name):
        with pool.take((name,), (1,), "ana"):
            got[name].set()

    threads = [threading.Thread(target=wait, args=(name,)) for name in got]
    with pool.take(("visits",), (1,), "ana"):
        with pool.take(("stays",), (1,), "ana"):
            for number, thread in enumerate(threads, 1):
                thread.start()
                while sum(each.inside() for each in pool._lines.values()) < 2 + number:
                    thread.join(0.001)  # in this order
        assert got["stays"].wait(20)
        assert not got["visits"].is_set()
    for thread in threads:
        thread.join(240)
    assert got["visits"].is_set()


class Runs:
    """Runs in threads, each of which ends when it is told."""

    def __init__(self, pool):
        self.pool, self.begun, self.ends, self.threads = pool, [], {}, []

    def start(self, asker, count):
        """So many runs of one asker, in order; all of them hold a lane or wait."""
        for number in range(count):
            self.ends[asker, number] = threading.Event()
            before = self.inside()
            thread = threading.Thread(target=self._run, args=(asker, number), daemon=True)
            thread.start()
            self.threads.append(thread)
            while self.inside() == before:
                thread.join(0.001)

    def inside(self):
        return sum(each.inside() for each in self.pool._lines.values())

    def _run(self, asker, number):
        with self.pool.take(NAMES, (1,), asker):
            self.begun.append((asker, number))
            self.ends[asker, number].wait(240)

    def until(self, count):
        """Who has begun, once so many have."""
        while len(self.begun) < count:
            self.threads[0].join(0.001)
        return [asker for asker, _ in self.begun]


def test_who_asks_much_takes_part_of_the_lanes_and_turns_alternate(pool, monkeypatch):
    monkeypatch.setattr(lanes, "_MOST", 3)
    monkeypatch.setattr(lanes, "_MOST_OF_ONE", 2)
    runs = Runs(pool)
    runs.start("ana", 6)
    assert runs.until(2) == ["ana"] * 2  # a third lane is free, but not for her
    runs.start("bob", 3)
    assert runs.until(3) == ["ana", "ana", "bob"]  # at once
    order = []
    for _ in range(6):
        asker, number = next(each for each in runs.begun if each not in order)
        order.append((asker, number))
        runs.ends[asker, number].set()
        runs.until(min(9, 3 + len(order)))
    assert runs.until(9)[3:] == ["ana", "bob", "ana", "bob", "ana", "ana"]
    for each in runs.ends.values():
        each.set()
    for thread in runs.threads:
        thread.join(240)


def test_who_is_interrupted_while_waiting_holds_nothing(pool, monkeypatch):
    monkeypatch.setattr(lanes, "_MOST", 1)

    class Interrupted(threading.Event().__class__):
        def wait(self, _=None):
            raise KeyboardInterrupt

    with pool.take(NAMES, (1,), "ana"):
        with monkeypatch.context() as patches:
            patches.setattr(lanes.threading, "Event", Interrupted)
            with pytest.raises(KeyboardInterrupt), pool.take(NAMES, (1,), "bob"):
                pass
        assert pool._lines[NAMES].inside() == 1
    with pool.take(NAMES, (1,), "bob"):
        assert pool._lines[NAMES].inside() == 1


def test_an_engine_that_cannot_be_opened_takes_no_place(monkeypatch):
    monkeypatch.setattr(lanes, "_MOST", 1)

    def opened(_names):
        raise Unavailable("no")

    pool = Lanes(opened)
    for _ in range(3):
        with pytest.raises(Unavailable), pool.take(NAMES, (1,), "ana"):
            pass


def test_closed_lanes_end_what_comes_back(pool, made):
    with pool.take(NAMES, (1,), "ana"):
        with pool.take(NAMES, (1,), "ana"):
            pass
        pool.close()
        assert made[1].closed.is_set()
        assert not made[0].closed.is_set()
    assert made[0].closed.is_set()


@pytest.mark.parametrize("failure", [Unavailable("lost"), InvalidValue("refused"), None])
def test_who_asks_the_same_meanwhile_gets_the_same(failure):
    """A failure after the charge; a refusal is made again, and so is the look at an answer."""
    turns, inside, entered, told = Turns(), threading.Event(), threading.Event(), []

    def first():
        with turns.of("q"):
            inside.set()
            assert entered.wait(240)
            if failure is not None:
                raise failure

    def ask(work):
        try:
            work()
        except (Unavailable, InvalidValue) as refusal:
            told.append(str(refusal))

    def second():
        with turns.of("q"):
            told.append("looked")

    threads = [threading.Thread(target=ask, args=(first,))]
    threads[0].start()
    assert inside.wait(240)
    threads.append(threading.Thread(target=ask, args=(second,)))
    threads[1].start()
    while turns._going["q"].users < 2:
        threads[1].join(0.001)
    entered.set()
    for thread in threads:
        thread.join(240)
    assert told[-1] == ("lost" if isinstance(failure, Unavailable) else "looked")
    assert turns._going == {}
