"""The black-box audit finds each of the four broken variants of the sparse vector technique, and
leaves the mechanisms of the package alone on the same inputs.
"""

import pytest

from discreet.audit import audit, planted
from discreet.loss import Pure, Relation, Sensitivity
from discreet.streams import AboveThreshold, NumericSparse, Sparse
from support import fit

ONE = Sensitivity.single(1)
MIXED = ((-2,) * 4 + (0,) * 5, (-1,) * 9)  # some values rise while the others fall
RISING = ((-1, -1, -1, 0), (0, 0, 0, 1))  # counts: all of them rise
CROSSED = ((0, 1), (1, 0))

BROKEN = {
    "the compared value is released": (planted.sparse_values(1), 1, RISING, 280_000),
    "query noise without the count": (planted.sparse_without_count(2, 5), 2, MIXED, 400_000),
    "no query noise": (planted.sparse_without_query_noise(1), 1, CROSSED, 4_000),
    "no cut-off": (planted.sparse_without_stop(2), 2, MIXED, 400_000),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_variants_are_caught(name):
    mechanism, epsilon, pair, samples = BROKEN[name]
    claim = Pure(epsilon=epsilon)
    verdict = audit(mechanism, claim, pairs=[pair], samples=samples, false_alarm=1e-3)
    assert verdict.violated, str(verdict)


def padded(mechanism, length):
    """Answers as a row of numbers: what was not answered is missing."""

    def draw(exact):
        answers = [None if answer is None else float(answer) for answer in mechanism.release(exact)]
        return (*answers, *[-1.0] * (length - len(answers)))

    return draw


ADD = Relation.ADD_REMOVE
RIGHT = {
    "five alarms": (Sparse.of(epsilon=2, alarms=5, sensitivity=ONE), MIXED),
    "fresh thresholds": (Sparse.textbook(epsilon=2, alarms=5, sensitivity=ONE), MIXED),
    "one alarm": (AboveThreshold.of(epsilon=2, sensitivity=ONE), CROSSED),
    "counts": (AboveThreshold.monotone(epsilon=2, sensitivity=ONE, relation=ADD), RISING),
    "numbers": (NumericSparse.of(epsilon=2, alarms=2, sensitivity=ONE), MIXED),
    "numbers of counts": (
        NumericSparse.monotone(epsilon=2, alarms=2, sensitivity=ONE, relation=ADD),
        RISING,
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_our_mechanisms_are_left_alone(name):
    mechanism, pair = RIGHT[name]
    fit.performed.append(f"audit of {name}")
    verdict = audit(
        padded(mechanism, len(pair[0])),
        Pure(epsilon=2),
        pairs=[pair],
        samples=4_000,
        false_alarm=fit.FALSE_ALARM,
    )
    assert not verdict.violated, str(verdict)


def test_a_tenth_of_the_noise_in_our_own_mechanism_is_caught():
    wrong = Sparse.of(epsilon=20, alarms=1, sensitivity=ONE)  # said to be 2
    pair = ((-1, 0), (0, -1))
    verdict = audit(
        padded(wrong, 2), Pure(epsilon=2), pairs=[pair], samples=2_000, false_alarm=1e-3
    )
    assert verdict.violated, str(verdict)
