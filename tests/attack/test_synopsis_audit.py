"""Synopses end to end: two curators whose tables differ in one row. The empirical epsilon stays
under the charge; less noise than is charged for, and a direction taken from the data, are caught.
"""

from contextlib import ExitStack
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import Approximate, Pure, Sensitivity
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.streams.epochs import Epoch
from discreet.streams.parities import Parities
from discreet.streams.predicates import Predicate
from discreet.streams.synopsis import Synopsis
from discreet.streams.textbook import TextbookWeights
from discreet.streams.universe import Universe
from discreet.streams.weights import Weights
from support import fit
from support.synopsis_houses import house

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
            curator = stack.enter_context(house(tmp_path_factory.mktemp("audit"), rows))
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


BITS = Universe.binary(3)
PLACES = np.array(list(np.ndindex(2, 2, 2)))
PAIR = (tuple([3] * 8), tuple([3] * 7 + [4]))  # one row more in the last cell


def contrasts(parities):
    """Everything that is released of the contrasts."""

    def draw(exact, count):
        counts = np.array(exact)
        return np.array(
            [
                np.concatenate(
                    [np.ravel(n) for n in parities.release(PLACES, counts).noisy.values()]
                )
                for _ in range(count)
            ]
        )

    return draw


def test_contrasts_keep_their_loss():
    parities = Parities.of(BITS, order=2, rho=Fraction(1, 8))
    fit.performed.append("audit of contrasts")
    claim = parities.loss()
    verdict = audit(
        contrasts(parities), claim, pairs=[PAIR], samples=1500, false_alarm=fit.FALSE_ALARM
    )
    assert not verdict.violated, str(verdict)


def test_contrasts_priced_as_if_they_were_one_are_caught():
    """Each contrast at the price of all: the noise forgets how many there are."""
    one = Parities.of(BITS, order=2, rho=4)
    claim = type(one.loss())(rho=Fraction(4, one.count * 16))
    verdict = audit(contrasts(one), claim, pairs=[PAIR], samples=1500, false_alarm=1e-3)
    assert verdict.violated, str(verdict)


ONE = Sensitivity.single(1)
EPOCH = Epoch.of(threshold=40, queries=2, sensitivity=ONE)


def rounds(step):
    """Two questions of one epoch: which of them ended it, and the number that it told."""

    def draw(exact):
        standing, said = EPOCH.above.begin(), []
        for value in exact:
            noisy, standing = step(standing, value)
            said.append(-100.0 if noisy is None else float(noisy))
            if noisy is not None:
                break
        return (*said, *[-200.0] * (len(exact) - len(said)))

    return draw


def right(standing, value):
    return EPOCH.step(standing, value, predicted=0)


def exact_number(standing, value):
    """The planted bug: the round ends as it should, and then the number has no noise."""
    noisy, after = EPOCH.step(standing, value, predicted=0)
    return (None if noisy is None else value), after


def test_rounds_keep_their_loss():
    fit.performed.append("audit of rounds")
    verdict = audit(
        rounds(right),
        EPOCH.loss(ONE),
        pairs=[((39, 41), (40, 40)), ((41, 39), (40, 40))],
        samples=2000,
        false_alarm=fit.FALSE_ALARM,
    )
    assert not verdict.violated, str(verdict)


def test_a_round_that_tells_the_exact_number_is_caught():
    verdict = audit(
        rounds(exact_number),
        EPOCH.loss(ONE),
        pairs=[((39, 41), (40, 40))],
        samples=2000,
        false_alarm=1e-3,
    )
    assert verdict.violated, str(verdict)


def updated(direction):
    """One question of the textbook's algorithm: the direction of the update it makes."""
    universe = Universe.binary(1)
    book = TextbookWeights.of(universe, alpha=1, rows=10, rho=Fraction(1, 20))
    yes = Predicate.where({0: 1}, universe)

    def draw(exact):
        run = book.start()
        noisy = run.answer(yes, exact)
        if run.left == book.updates:
            return 0.0
        return direction(run.weights, yes, exact, noisy)

    return draw, book


def by_the_noise(weights: Weights, yes, _exact, _noisy):
    return 1.0 if weights.share(yes) > 0.5 else -1.0


def by_the_data(_weights, _yes, exact, _noisy):
    """As printed in the lecture: compare with the exact answer."""
    return 1.0 if exact > 5 else -1.0


def test_the_printed_direction_is_caught_and_ours_is_not():
    fit.performed.append("audit of the textbook")
    for direction, broken in ((by_the_noise, False), (by_the_data, True)):
        draw, book = updated(direction)
        claim = book.above.loss(ONE).epsilon + book.noise.loss(ONE).epsilon  # of one epoch
        verdict = audit(
            draw,
            Pure(epsilon=claim),
            pairs=[(5, 6)],
            samples=2500,
            false_alarm=1e-3 if broken else fit.FALSE_ALARM,
        )
        assert verdict.violated is broken, str(verdict)


def test_the_noise_of_a_round_is_what_its_loss_says():
    assert EPOCH.noise == DiscreteGaussian(sigma=5)
    assert EPOCH.loss(ONE).rho == EPOCH.above.loss(ONE).epsilon ** 2 / 2 + Fraction(1, 50)
