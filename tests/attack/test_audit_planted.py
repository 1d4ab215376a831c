"""The audit catches planted bugs with the sample sizes known to suffice, and leaves mechanisms
alone that keep their word.

A planted bug is looked for with a false-alarm rate of 1e-3, so that it is missed with a
probability far below the suite's; a correct mechanism is audited at a rate of 1e-12.
"""

import math
import time
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import (
    GaussianClaim,
    audit,
    blackbox,
    number_pairs,
    planted,
    vary_numbers,
    vector_pairs,
)
from discreet.audit.published import MIXED, RISING, bugs
from discreet.audit.subject import examine
from discreet.loss import ZCDP, Approximate, Pure
from support import fit
from support.fit import check_rate_at_most, rejects

ONE, TWO = Pure(epsilon=1), Pure(epsilon=2)

RIGHT = {
    "laplace": (planted.laplace(1), ONE, (0, 1), 28_000),
    "sparse vector": (planted.sparse(2, 5), TWO, MIXED, 100_000),
    "sparse vector of counts": (planted.sparse_counts(1), ONE, RISING, 100_000),
    "noisy max": (planted.noisy_max(1), ONE, ((0, 1, 0), (1, 1, 1)), 50_000),
    "gaussian as zCDP": (planted.gaussian(2), ZCDP(rho=Fraction(1, 8)), (0, 1), 30_000),
    "wide gaussian": (
        planted.gaussian(20),
        GaussianClaim(sigma=20, sensitivity=10),
        (0, 10),
        30_000,
    ),
    "response": (planted.response(0.73), ONE, (0, 1), 30_000),
    "response with a delta": (
        planted.response(0.73, delta=0.01),
        Approximate(epsilon=1, delta=0.01),
        (0, 1),
        30_000,
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_correct_mechanisms_are_left_alone(name):
    mechanism, claim, pair, samples = RIGHT[name]
    fit.performed.append(f"audit of {name}")
    verdict = audit(mechanism, claim, pairs=[pair], samples=samples, false_alarm=fit.FALSE_ALARM)
    assert not verdict.violated, str(verdict)


def test_the_bound_comes_close_to_the_truth():
    """The audit of a tight mechanism proves most of its epsilon, and never more than it."""
    fit.performed.append("the bound for laplace")
    verdict = audit(planted.laplace(1), ONE, pairs=[(0, 1)], samples=100_000, false_alarm=1e-12)
    assert 0.85 < verdict.epsilon <= 1


def test_published_bugs_are_caught_in_less_than_a_minute_of_processor_time():
    """With the samples that are known to suffice; together they take about four seconds."""
    start = time.process_time()
    for bug in bugs():
        found = examine(bug, false_alarm=1e-3)
        assert found.verdict.violated, f"{bug.name}: {found.verdict}"
        assert found.verdict.outputs_drawn == 2 * bug.samples
    assert time.process_time() - start < 60


def test_built_in_families_find_the_bugs_without_being_told_where():
    verdict = audit(
        planted.sparse_without_query_noise(1),
        ONE,
        pairs=vector_pairs(2),
        samples=20_000,
        false_alarm=1e-3,
    )
    assert verdict.violated
    noisy_max = planted.noisy_max_with_value(1)
    assert audit(noisy_max, ONE, pairs=vector_pairs(4), samples=40_000, false_alarm=1e-3).violated


def test_a_bug_at_some_inputs_only_is_found_by_searching():
    small, right = planted.laplace(0.25), planted.laplace(1)

    def mechanism(exact, count):
        return (small if 105 <= exact < 112 else right)(exact, count)

    named = {"pairs": number_pairs(), "samples": 20_000, "false_alarm": 1e-3}
    assert audit(mechanism, ONE, vary=vary_numbers, **named).violated


def alarms(rate, runs):
    """How many audits of a mechanism that uses all of its epsilon end in an alarm."""
    mechanism = planted.response(math.e / (1 + math.e))
    claim = Pure(epsilon=Fraction(1) + Fraction(1, 10**9))
    return sum(
        audit(mechanism, claim, pairs=[(0, 1)], samples=2_000, false_alarm=rate).violated
        for _ in range(runs)
    )


def test_the_rate_of_false_alarms_is_the_stated_one():
    assert check_rate_at_most(alarms(0.2, 150), 150, 0.2, name="audit false alarms") > 0


def test_an_audit_without_confidence_bounds_would_be_noticed(monkeypatch):
    def share(successes, trials, *, failure):
        del failure
        return Fraction(successes, trials)

    monkeypatch.setattr(blackbox, "lower_bound", share)
    monkeypatch.setattr(blackbox, "upper_bound", share)
    assert rejects(check_rate_at_most, alarms(0.2, 150), 150, 0.2, name="point estimates")


def test_an_event_must_be_counted_on_other_outputs_than_it_was_chosen_by():
    """The same outputs twice look like evidence; fresh ones of the same mechanism do not."""
    fit.performed.append("audit of labels")
    generator = np.random.default_rng()

    def labels(exact, count):
        del exact
        return generator.integers(0, 800, count)

    def twice(exact, count):
        return np.tile(labels(exact, count // 2), 2)

    claim = Pure(epsilon=Fraction(1, 10))
    named = {"pairs": [(0, 1)], "samples": 4_000, "false_alarm": 1e-12}
    assert audit(twice, claim, **named).violated
    assert not audit(labels, claim, **named).violated


@pytest.mark.soak
def test_no_alarm_in_800_runs():
    """800 audits at a rate of 1e-15 each make one check of the suite's 1e-12; at a rate of one in
    twenty, alarms stay below it.
    """
    fit.performed.append("800 audits")
    for run in range(800):
        name = list(RIGHT)[run % len(RIGHT)]
        mechanism, claim, pair, samples = RIGHT[name]
        verdict = audit(mechanism, claim, pairs=[pair], samples=samples // 5, false_alarm=1e-15)
        assert not verdict.violated, str(verdict)
    assert check_rate_at_most(alarms(0.05, 800), 800, 0.05, name="audit rate") > 0
