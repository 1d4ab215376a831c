"""Probes of a running curator: many asking at once for the last of a budget, and the time an
answer takes. Beside each stands a naive service, in which the probe finds what it looks for.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from threading import Barrier

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.attacks.curated import ANALYST, open_vault
from discreet.attacks.interfaces import Answers
from discreet.attacks.outcome import Outcome
from discreet.attacks.people import People, made_up
from discreet.curator.curator import Curator
from discreet.errors import BudgetExceeded, InvalidValue

__all__ = ["curator_race", "curator_timing", "naive_race", "naive_timing"]

_PATIENCE = 60.0  # seconds until askers who do not turn up are given up
_ROWS = 200  # of the tables whose answers are timed
_SLOW = 3e-4  # seconds of work that a naive service does for the target only


@dataclass(slots=True)
class _NaiveAccount:
    """Checks, works, then spends: what was checked may be gone by then.

    Here all askers work at the same time, which is what an attacker waits for.
    """

    left: int
    meeting: Barrier

    def ask(self) -> bool:
        granted = self.left >= 1
        self.meeting.wait(_PATIENCE)
        if granted:
            self.left -= 1
        self.meeting.wait(_PATIENCE)
        return granted


def naive_race(*, affordable: int = 10, askers: int = 4) -> Outcome:
    """Ask a naive account for more than it can pay, from many sides at once.

    Right is every answer beyond the budget.
    >>> naive_race(affordable=5, askers=3).attack
    'budget race'
    """
    account = _NaiveAccount(affordable, Barrier(askers))

    def ask(_: int) -> int:
        return sum(account.ask() for _ in range(affordable))

    return _run_race("check, then spend", ask, affordable, askers, None)


def curator_race(*, affordable: int = 10, askers: int = 4) -> Outcome:
    """Ask a curator for more than its budget, each asker with a connection of its own.

    The ledger admits what the budget pays for and nothing beyond.
    >>> curator_race(affordable=2, askers=2).right
    0
    """
    price = Fraction(1, affordable)
    with open_vault(made_up(20), epsilon=1) as (folder, _):

        def ask(asker: int) -> int:
            return sum(_ask_repeatedly(folder, asker, price, affordable))

        return _run_race("a curator at epsilon 1", ask, affordable, askers, 0.0)


def _ask_repeatedly(folder: Path, asker: int, price: Fraction, attempts: int) -> Iterator[bool]:
    with Curator.open(folder, price_floor=0) as curator:
        session = curator.session(ANALYST)
        for attempt in range(attempts):
            text = f"SELECT COUNT(*) FROM people WHERE born < 1940 AND seat - {asker} <> 0"
            text += f" AND seat - {attempt} < 1"
            try:
                yield not session.sql(text, epsilon=price).free
            except BudgetExceeded:
                yield False


def _run_race(
    name: str, asking: Callable[[int], int], affordable: int, askers: int, bound: float | None
) -> Outcome:
    if affordable < 1 or askers < 2:
        raise InvalidValue(
            f"{askers} askers for {affordable} answers; a race takes two askers and one answer."
        )
    with ThreadPoolExecutor(askers) as pool:
        granted = sum(pool.map(asking, range(askers)))
    return Outcome(
        attack="budget race",
        interface=name,
        right=max(0, granted - affordable),
        attempts=affordable * askers - affordable,
        baseline=0.0,
        bound=bound,
        at=float(askers),
        parameters=(("granted", str(granted)), ("affordable", str(affordable))),
    )


def naive_timing(*, probes: int = 200) -> Outcome:
    """Time a service that works longer when the target is among the rows.

    >>> naive_timing(probes=40).attempts
    20
    """

    def answer(present: bool, _: int) -> None:
        stop = time.perf_counter() + (_SLOW if present else 0.0)
        while time.perf_counter() < stop:
            pass

    return _time_answers("works longer for the target", answer, probes)


def curator_timing(*, probes: int = 120) -> Outcome:
    """Time a curator's answers about a table with the target and about one without.

    Epsilon promises nothing about time, so there is no bound; the curator reads the whole table
    and draws noise in the same way for both.
    """
    with _open_twins() as ask:
        return _time_answers("a curator", ask, probes)


@contextmanager
def _open_twins() -> Iterator[Callable[[bool, int], None]]:
    people: People = made_up(_ROWS)
    with (
        open_vault(people, epsilon=1) as (_, present),
        open_vault(people.without(_ROWS // 2), epsilon=1) as (_, absent),
    ):

        def ask(target: bool, number: int) -> None:
            text = f"SELECT COUNT(*) FROM people WHERE secret AND born - {number} < 2000"
            (present if target else absent).sql(text, epsilon=Fraction(1, 1 << 20))

        yield ask


def _time_answers(name: str, answer: Callable[[bool, int], None], probes: int) -> Outcome:
    if probes < 4:
        raise InvalidValue(f"probes is {probes}; take at least 4.")
    present = _draws.coins(probes)
    present[:2] = True, False
    times = np.zeros(probes)
    for number in range(-2, probes):  # two first, to warm up
        start = time.perf_counter()
        answer(bool(present[number]), number + 2)
        if number >= 0:
            times[number] = time.perf_counter() - start
    half = probes // 2
    guesses = _guess_by_time(times[:half], present[:half], times[half:])
    return Outcome(
        attack="timing",
        interface=name,
        right=int((guesses == present[half:]).sum()),
        attempts=probes - half,
        baseline=0.5,
        at=float(probes),
        parameters=(("probes", str(probes)),),
    )


def _guess_by_time(known: Answers, present: NDArray[np.bool_], new: Answers) -> NDArray[np.bool_]:
    """The cut of the known times that tells them apart best, used on new ones."""
    cuts = np.sort(known)
    slower = [(int(((known > cut) == present).sum()), float(cut)) for cut in cuts]
    best, cut = max(slower)
    least, other = min(slower)
    if best >= len(known) - least:
        return new > cut
    return new <= other
