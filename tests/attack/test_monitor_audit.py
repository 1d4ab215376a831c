"""Monitors end to end: two curators whose tables differ in one person. What is said follows its
exact law, the empirical epsilon stays under the charge, and a charge that is too small is caught.
"""

from contextlib import ExitStack

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import Pure
from discreet.streams import Monitor
from support import fit
from support.fit import check_fit, rejects
from support.sparse_laws import law_of_one
from support.vaults import copied_curator, people

pytestmark = pytest.mark.slow("black-box audits")

COUNT = "SELECT COUNT(*) FROM visits"
WITHOUT, WITH = people(58), people(60)  # one person has two rows
THRESHOLDS = (60, 58)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    with ExitStack() as stack:
        made = []
        for rows in (WITHOUT, WITH):
            folder = tmp_path_factory.mktemp("audit")
            curator = stack.enter_context(copied_curator(folder, rows, budget="epsilon = 1000000"))
            curator.grant("ana", epsilon=10**6)
            made.append(curator.session("ana"))
        yield made


def asking(sessions, epsilon):
    """Runs of two checks: the place of the first alarm, or 2."""

    def draw(side, count):
        monitor = Monitor.open(
            sessions[side], COUNT, threshold=-(10**7), epsilon=epsilon, name=f"audited-{epsilon}"
        )
        found = []
        for _ in range(count):
            if not monitor.alarms_left:
                monitor.renew()
            said = (monitor.check(threshold=each).above for each in THRESHOLDS)
            found.append(next((place for place, above in enumerate(said) if above), 2))
            if found[-1] == 2:
                monitor.check()  # ends the run: the threshold of the monitor itself is far below
        return np.array(found)

    return draw


def law(rows, epsilon):
    """The same from the definition: two rows of one person, the monotone split in halves."""
    scale = 2 / (epsilon / 2)
    said = law_of_one([rows - each for each in THRESHOLDS], scale, scale, 1)
    return {said.index(True) if any(said) else 2: chance for said, chance in said.items()}


def examined(sessions, epsilon, claim, samples, false_alarm):
    drawn = {0: [], 1: []}
    ask = asking(sessions, epsilon)

    def draw(side, count):
        found = ask(side, count)
        drawn[side] += found.tolist()
        return found

    verdict = audit(
        draw, Pure(epsilon=claim), pairs=[(0, 1)], samples=samples, false_alarm=false_alarm
    )
    return verdict, drawn


def check_monitor(sessions, samples):
    before = sessions[0].remaining.epsilon
    fit.performed.append("audit of a monitor")
    verdict, drawn = examined(sessions, 2, 2, samples, fit.FALSE_ALARM)
    assert not verdict.violated, str(verdict)
    assert verdict.epsilon <= 2
    runs = (before - sessions[0].remaining.epsilon) / 2
    assert samples <= runs <= samples + 1  # every run was charged, and nothing else
    for side, rows in enumerate((58, 60)):
        assert check_fit(drawn[side], law(rows, 2), name=f"a monitor of {rows} rows") > 0
        assert rejects(check_fit, drawn[side], law(rows - 12, 2), name="six people fewer")


def test_a_monitor_keeps_its_charge(sessions):
    check_monitor(sessions, 120)


def test_a_charge_that_is_too_small_is_caught(sessions):
    verdict, _ = examined(sessions, 40, 1, 100, 1e-3)
    assert verdict.violated, str(verdict)


@pytest.mark.soak
def test_a_monitor_keeps_its_charge_for_long(sessions):
    check_monitor(sessions, 3_000)
