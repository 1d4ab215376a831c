"""Services of `discreet.streams` end to end: real curators on tables that differ in one person,
everything an analyst gets to see, and what the ledger was charged as the claim. Beside each the
same service with far less noise than it is charged for. Owns questions, prices and sample sizes.
"""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.services.vault_pair import VaultPair, service_with_bug, visits
from discreet.audit.subject import Subject
from discreet.loss import ZCDP, Approximate, Pure
from discreet.rationals import Number
from discreet.streams.counter.counter import Counter
from discreet.streams.counter.factorisation import ONE, Factorisation
from discreet.streams.holdout.holdout import Holdout
from discreet.streams.joint.joint import Joint
from discreet.streams.monitor.monitor import Monitor
from discreet.streams.synopsis.synopsis import Synopsis

__all__ = ["stream_services"]

_COUNT = "SELECT COUNT(*) AS n FROM visits"
_MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
_HALF = Fraction(1, 2)
_plant = partial(service_with_bug, "services")


def stream_services(stack: ExitStack) -> tuple[Subject, ...]:
    """Monitors, joint questions, counters, holdouts and synopses, and the bug beside each.

    >>> with ExitStack() as stack:
    ...     [one.name for one in stream_services(stack)][::2]
    ['Monitor', 'Joint', 'Counter', 'Holdout', 'Synopsis']
    """
    pure, mixed = visits(stack, delta=0), visits(stack, delta=Fraction(1, 10**6))
    conversion = Fraction(1, 2 * 10**6)  # half of the grant's delta
    return (
        *_plant("Monitor", lambda e: _monitor(pure, e), Pure(epsilon=_HALF), _HALF, 200),
        *_plant("Joint", lambda e: _joint(pure, e), Pure(epsilon=_HALF), _HALF, 200),
        *_plant(
            "Counter",
            lambda e: _counter(mixed, e),
            ZCDP(rho=Fraction(1, 50)),
            Fraction(1),
            200,
            factor=100,
        ),
        *_plant("Holdout", lambda e: _holdout(pure, e), Pure(epsilon=_HALF), _HALF, 200),
        *_plant(
            "Synopsis",
            lambda e: _synopsis(mixed, e),
            Approximate(epsilon=_HALF, delta=conversion),
            _HALF,
            100,
        ),
    )


def _monitor(vaults: VaultPair, epsilon: Number) -> Callable[[int, int], NDArray[Any]]:
    """Runs of two checks: the place of the first alarm, or 2."""

    def draw(side: int, count: int) -> NDArray[Any]:
        monitor = Monitor.open(
            vaults.session(side), _COUNT, threshold=-(10**7), epsilon=epsilon, name=vaults.name()
        )
        first_alarms = []
        for _ in range(count):
            if not monitor.alarms_left:
                monitor.renew()
            alarms = (monitor.check(threshold=threshold).above for threshold in (82, 80))
            first_alarms.append(next((place for place, above in enumerate(alarms) if above), 2))
            if first_alarms[-1] == 2:
                monitor.check()  # ends the run: the threshold of the monitor itself is far below
        return np.array(first_alarms)

    return draw


def _joint(vaults: VaultPair, epsilon: Number) -> Callable[[int], float]:
    def draw(side: int) -> float:
        opened = Joint.open(
            vaults.session(side),
            table="visits",
            name=vaults.name(),
            epsilon=epsilon,
            sensitivity=4,
            columns=("age", "region"),
        )
        asked = (f"{_COUNT} WHERE age < {limit}" for limit in (40, 41))
        counts: list[Any] = [opened.ask(sql).rows[0]["n"] for sql in asked]
        return float(sum(counts))

    return draw


def _counter(vaults: VaultPair, epsilon: Number) -> Callable[[int], float]:
    """How far along what the person changes: two rows in January."""
    encoder = np.array(Factorisation(12).encoder) / ONE

    def draw(side: int) -> float:
        opened = Counter.open(
            vaults.session(side),
            _MONTHS,
            name=vaults.name(),
            rho=Fraction(epsilon) ** 2 / 50,
            versions=1,
        )
        points = [point.value for point in opened.advance(upto=date(2024, 12, 31))]
        noisy = np.diff(np.array(points), prepend=0.0)
        return float(np.round(np.convolve(encoder, noisy)[:12] @ encoder))

    return draw


def _holdout(vaults: VaultPair, epsilon: Number) -> Callable[[int], tuple[float, float]]:
    def draw(side: int) -> tuple[float, float]:
        opened = Holdout.open(
            vaults.session(side),
            table="visits",
            name=vaults.name(),
            threshold=0.02,
            overfits=1,
            epsilon=epsilon,
        )
        mean = opened.mean(f"{_COUNT} WHERE smokes AND NOT coughs", training=0.0)
        return round(200 * mean.value), float(mean.source.value == "holdout")

    return draw


def _synopsis(vaults: VaultPair, epsilon: Number) -> Callable[[int], tuple[float, ...]]:
    """A whole life: opened, asked what it spans and what it does not, finished, asked again."""
    asked = (f"{_COUNT} WHERE smokes AND NOT coughs", f"{_COUNT} WHERE NOT coughs")

    def draw(side: int) -> tuple[float, ...]:
        opened = Synopsis.open(
            vaults.session(side),
            ("smokes", "coughs"),
            table="visits",
            name=vaults.name(),
            alpha=0.25,
            epsilon=epsilon,
            order=1,
            queries=2,
            reserve=0.5,
        )
        answers = [opened.query(sql) for sql in asked]
        final = opened.finish()
        return (
            *(answer.value for answer in answers),
            float(answers[0].source == "round"),
            float(len(final.updates)),
            final.query(asked[1]).value,
            final.total,
        )

    return draw
