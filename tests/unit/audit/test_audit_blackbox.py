"""The black-box audit as a program: what it accepts, counts, reports and refuses."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import Pair, assert_private, audit, vary_numbers, vector_pairs
from discreet.audit.evidence.events import Direction
from discreet.audit.verdict import Evidence, Verdict
from discreet.errors import InvalidValue
from discreet.loss import ZCDP, Approximate, Pure
from support.surface import ROOT

ONE = Pure(epsilon=1)


def identity(exact, count):
    return np.full(count, exact)


def constant(exact, count):
    del exact
    return np.zeros(count, dtype=np.int64)


def identity_from_ten(exact, count):
    """Gives away numbers from ten on, and nothing below."""
    return np.full(count, exact if exact >= 10 else 0)


def test_samples_are_split_and_counted():
    verdict = audit(identity, ONE, pairs=[(0, 1)], samples=1001)
    assert verdict.violated
    assert verdict.outputs_drawn == 2002
    assert verdict.strongest.trials == 501
    assert (verdict.strongest.likely, verdict.strongest.rare) == (501, 0)
    assert verdict.pairs_tried == 1
    assert len(verdict.evidence) == 2
    assert verdict.false_alarm == Fraction(1, 10**6)


def test_a_constant_is_never_accused():
    verdict = audit(constant, Pure(epsilon=0), samples=1000, false_alarm=0.5)
    assert not verdict.violated
    assert verdict.epsilon == 0


def test_the_words_of_a_verdict():
    bad = str(audit(identity, ONE, pairs=[(0, 1)], samples=1000))
    assert bad.startswith("The claim of epsilon 1, delta 0 is false.\nInputs 0 and 1: ")
    assert "500 of 500 times for" in bad
    assert "Tried: 1 pair of inputs, 2000 outputs" in bad
    assert "probability at most 1e-06" in bad
    good = str(audit(constant, ZCDP(rho=0.5), pairs=[(0, 1)], samples=1000))
    assert good.startswith("Nothing was found against the claim of zCDP with rho 0.5")
    assert "no proof" in good


def test_many_pairs_are_scouted_and_the_worst_ones_audited():
    pairs = [(n, n + 1) for n in range(-20, 20)]
    verdict = audit(identity_from_ten, ONE, pairs=pairs, samples=2000)
    assert verdict.violated
    assert verdict.pairs_tried == 40
    assert all(one.pair.right >= 10 for one in verdict.evidence)
    assert verdict.outputs_drawn == 2 * (40 * 250 + 4 * 2000)


def test_inputs_are_varied_towards_the_bad_ones():
    assert not audit(identity_from_ten, ONE, pairs=[(0, 1)], samples=2000).violated
    found = audit(identity_from_ten, ONE, pairs=[(0, 1)], samples=2000, vary=vary_numbers)
    assert found.violated
    assert found.pairs_tried > 5
    still = audit(identity, ONE, pairs=[("a", "b")], samples=1000, vary=vary_numbers)
    assert still.violated  # nothing to vary is no obstacle


def test_a_vary_of_tuples_is_read_too():
    def farther(pair):
        return [(pair.left + 9, pair.right + 9)]

    found = audit(identity_from_ten, ONE, pairs=[(0, 1)], samples=2000, vary=farther, rounds=1)
    assert found.violated


def test_progress_ends_at_the_whole():
    calls = []
    audit(
        identity,
        ONE,
        pairs=[(n, n + 1) for n in range(6)],
        samples=800,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1][0] == calls[-1][1] == 2 * (6 * 100 + 4 * 800)


def test_processes_share_the_drawing():
    verdict = audit(identity, ONE, pairs=[(0, 1)], samples=1001, processes=2)
    assert verdict.violated
    assert verdict.outputs_drawn == 2002


def test_outputs_of_any_kind():
    for leak in (
        lambda exact: f"text {exact}",
        lambda exact: [exact, "x"],
        lambda exact: (None, exact),
        lambda exact: (0,) * exact,
        lambda exact: frozenset({exact}),
        lambda exact: exact + 0.5,
    ):
        assert audit(leak, ONE, pairs=[(0, 1)], samples=1000).violated


@pytest.mark.parametrize(
    "named",
    [
        {"samples": 99},
        {"samples": 1e4},
        {"samples": True},
        {"rounds": 0},
        {"processes": 0},
        {"false_alarm": 0},
        {"false_alarm": 1},
        {"false_alarm": float("nan")},
        {"pairs": []},
    ],
)
def test_nonsense_is_refused(named):
    with pytest.raises(InvalidValue):
        audit(identity, ONE, **named)


def test_a_mechanism_that_gives_too_few_outputs_is_refused():
    with pytest.raises(InvalidValue, match="200 were asked for"):
        audit(lambda exact, count: [exact] * (count - 1), ONE, samples=100)


def test_the_bounds_shrink_with_the_false_alarm_rate_and_the_number_of_events():
    def bound(**named):
        return audit(identity, ONE, samples=1000, **named).epsilon

    assert bound(pairs=[(0, 1)], false_alarm=1e-9) < bound(pairs=[(0, 1)], false_alarm=1e-3)
    assert bound(pairs=[(0, 1), (1, 2)]) < bound(pairs=[(0, 1)])


def evidence(likely_at_least, rare_at_most, statement):
    return Evidence(
        pair=Pair(0, 1),
        direction=Direction.LEFT,
        event="something",
        statement=statement,
        likely=1,
        rare=1,
        trials=2,
        likely_at_least=Fraction(likely_at_least),
        rare_at_most=Fraction(rare_at_most),
    )


def test_the_arithmetic_of_evidence():
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    claim = Approximate(epsilon=1, delta=tenth)
    assert evidence(half, tenth, claim).violated  # 0.5 > 0.1 e + 0.1
    assert evidence(half, tenth, claim).epsilon == pytest.approx(np.log(4), rel=1e-12)
    assert not evidence(half, Fraction(3, 20), claim).violated  # 0.5 < 0.15 e + 0.1
    assert evidence(tenth, tenth, claim).epsilon == 0.0
    assert "at least 1.3862 at delta 0.1, where 1 is claimed" in str(evidence(half, tenth, claim))
    verdict = Verdict(
        claim=claim,
        evidence=(evidence(tenth, tenth, claim), evidence(half, tenth, claim)),
        false_alarm=tenth,
        pairs_tried=1,
        events_tried=1,
        outputs_drawn=1,
    )
    assert verdict.violated


def test_assert_private_fails_with_the_verdict():
    with pytest.raises(AssertionError, match=r"(?s)is false.*Inputs"):
        assert_private(identity, epsilon=1, samples=1000)
    assert assert_private(identity, epsilon=1, delta=1, samples=1000).epsilon == 0
    pairs = vector_pairs(3)
    kept = assert_private(lambda exact: len(exact), epsilon=1, pairs=pairs, samples=200)
    assert not kept.violated


SUITE = """
def test_good(assert_private):
    assert_private(lambda exact: 7, epsilon=1, samples=500)

def test_bad(assert_private):
    assert_private(lambda exact: exact, epsilon=1, samples=500)
"""


def test_the_pytest_plugin(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "discreet.audit.plugin"]
    result = subprocess.run(
        [*command, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in result.stdout, result.stdout + result.stderr
    assert "The claim of epsilon 1, delta 0 is false." in result.stdout
    assert "test_good: epsilon at least 0, 1 claimed" in result.stdout
