"""Synopses end to end: two curators whose tables differ in one row. The empirical epsilon stays
under the charge; less noise than is charged for, and a direction taken from the data, are caught.
"""

from contextlib import ExitStack
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import Approximate, Pure, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.streams.synopsis.epochs import Epoch
from discreet.streams.synopsis.synopsis import Synopsis
from support import fit
from support.synopsis_vaults import make_vault

pytestmark = pytest.mark.slow("black-box audits")

# Each column says a half; that both are equal makes a gap of a quarter, just the alpha below.
WITHOUT = [(True, True, "x", 1), (False, False, "y", 2)] * 400
WITH = [*WITHOUT, (True, False, "z", 4)]
COUNT = "SELECT COUNT(*) FROM answers"
ASKED = (f"{COUNT} WHERE a AND NOT b", f"{COUNT} WHERE NOT b")


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    with ExitStack() as stack:
        made = []
        for rows in (WITHOUT, WITH):
            curator = stack.enter_context(make_vault(tmp_path_factory.mktemp("audit"), rows))
            made.append(curator.session("ana"))
        yield made


def asking(sessions, epsilon, word):
    """A whole life: opened, asked what it spans and what it does not, finished, asked again."""

    def draw(side, count):
        found = []
        for turn in range(count):
            synopsis = Synopsis.open(
                sessions[side],
                ("a", "b"),
                table="answers",
                name=f"{word}-{turn}",
                alpha=0.25,
                epsilon=epsilon,
                order=1,
                queries=2,
                reserve=0.5,
            )
            answers = [synopsis.query(sql) for sql in ASKED]
            final = synopsis.finish()
            found.append(
                (
                    *(each.value for each in answers),
                    float(answers[0].source == "round"),
                    float(len(final.updates)),
                    final.query(ASKED[1]).value,
                    final.total,
                )
            )
        return np.array(found)

    return draw


def examined(sessions, epsilon, claim, samples, false_alarm, word):
    return audit(
        asking(sessions, epsilon, word),
        claim,
        pairs=[(0, 1)],
        samples=samples,
        false_alarm=false_alarm,
    )


def check_synopses(sessions, samples, word):
    before = [session.remaining.rho for session in sessions]
    fit.performed.append("audit of a synopsis")
    # Conversion at half of the grant's delta of 1e-6.
    claim = Approximate(epsilon=2, delta=Fraction(1, 2 * 10**6))
    verdict = examined(sessions, 2, claim, samples, fit.FALSE_ALARM, word)
    assert not verdict.violated, str(verdict)
    assert verdict.epsilon <= 2
    for session, had in zip(sessions, before, strict=True):
        body = Synopsis.resume(session, f"{word}-0")._body
        paid = had - session.remaining.rho
        assert body.rho * samples * Fraction(999, 1000) < paid <= body.rho * samples
        used = [len(Synopsis.resume(session, f"{word}-{n}")._body.updates) for n in range(60)]
        assert 0 < sum(used) < 120  # some comparisons end a round and some do not


def test_a_synopsis_keeps_its_charge(sessions):
    check_synopses(sessions, 100, "short")


@pytest.mark.soak
def test_a_synopsis_keeps_its_charge_for_long(sessions):
    check_synopses(sessions, 1500, "long")


def test_a_charge_that_is_too_small_is_caught(sessions):
    """A synopsis of epsilon 60, said to cost 1: its contrasts alone give it away."""

    def draw(side, count):
        asked = {"table": "answers", "alpha": 0.25, "epsilon": 60, "order": 1, "reserve": 0}
        opened = (
            Synopsis.open(sessions[side], ("b",), name=f"dear-{turn}", **asked)
            for turn in range(count)
        )
        return np.array([each.query(ASKED[1]).value for each in opened])

    verdict = audit(draw, Pure(epsilon=1), pairs=[(0, 1)], samples=100, false_alarm=1e-3)
    assert verdict.violated, str(verdict)


ONE = Sensitivity.single(1)
EPOCH = Epoch.of(threshold=40, queries=2, sensitivity=ONE)


def test_the_noise_of_a_round_is_what_its_loss_says():
    assert EPOCH.noise == DiscreteGaussian(sigma=5)
    assert EPOCH.loss(ONE).rho == EPOCH.above.loss(ONE).epsilon ** 2 / 2 + Fraction(1, 50)
