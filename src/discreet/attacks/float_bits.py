"""The low-order bits of textbook Laplace noise: floats that only one of two answers can give.
Owns the textbook sampler, which protects nobody, and the test of what it can put out [Mir12].
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.attacks.curated import Curated
from discreet.attacks.interfaces import Answers
from discreet.attacks.outcome import Outcome, member_bound
from discreet.attacks.people import made_up
from discreet.attacks.reconstruction import table_attack
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.rationals import Number, positive, whole

__all__ = ["curator_bits", "float_bits", "possible", "textbook_laplace", "whole_bits"]

_GRID = 2.0**53
_NEAR = 3  # grid points on each side that can round to the same output


def _noise(uniform: Answers, scale: float) -> Answers:
    return np.asarray(-scale * np.log(uniform))


def textbook_laplace(exact: Answers, *, scale: float) -> Answers:
    """The exact answer plus or minus scale times log of a uniform float.

    Privacy: NONE, though the real numbers it imitates are (1/scale)-DP [Mir12, Sec. 4].
    >>> len(textbook_laplace(np.zeros(3), scale=1.0))
    3
    """
    signs = np.where(_draws.coins(len(exact)), 1.0, -1.0)
    return np.asarray(exact + signs * _noise(_draws.floats(len(exact)), scale))


def possible(answers: Answers, *, exact: float, scale: float) -> NDArray[np.bool_]:
    """Which of the released floats can come from this exact answer at all.

    Privacy: NONE: floating-point noise gives the exact answer away [Mir12, Sec. 4].
    >>> possible(textbook_laplace(np.zeros(3), scale=1.0), exact=0.0, scale=1.0).tolist()
    [True, True, True]
    """
    reachable = np.zeros(len(answers), dtype=np.bool_)
    distance = answers - exact
    nearest = np.rint(np.exp(-np.abs(distance) / scale) * _GRID)
    # Where 1 + noise was rounded, several noises make the same sum: look further on the grid.
    width = np.spacing(np.abs(answers) + 1.0) / scale * np.exp(-np.abs(distance) / scale) * _GRID
    reach = int(min(64, _NEAR + np.ceil(width.max(initial=0.0))))
    for step in range(-reach, reach + 1):
        uniform = np.clip(nearest + step, 1.0, _GRID) / _GRID
        noise = _noise(uniform, scale)
        reachable |= (exact + noise == answers) | (exact - noise == answers)
    return reachable


def float_bits(*, epsilon: Number, answers: int = 2_000) -> Outcome:
    """Tell counts of 0 from counts of 1 by whether the released float can come from each.

    The bound is that of the noise in real numbers.
    >>> float_bits(epsilon=0.1, answers=400).accuracy > 0.6
    True
    """
    level = positive(epsilon, "epsilon")
    scale = float(1 / level)
    whole(answers, "answers")
    bits = _draws.coins(answers)
    released = textbook_laplace(bits.astype(np.float64), scale=scale)
    zero = possible(released, exact=0.0, scale=scale)
    one = possible(released, exact=1.0, scale=scale)
    guesses = np.where(zero == one, released > 0.5, one)
    certain = str(int((zero != one).sum()))
    return _outcome("textbook Laplace in floats", guesses == bits, level, ("certain", certain))


def whole_bits(*, epsilon: Number, answers: int = 2_000) -> Outcome:
    """The same counts with discrete Laplace noise, as a curator adds it: nothing to see.

    Costs epsilon for each answer [DMNS06, Prop. 3.3].
    >>> whole_bits(epsilon=0.1, answers=400).accuracy < 0.7
    True
    """
    level = positive(epsilon, "epsilon")
    whole(answers, "answers")
    bits = _draws.coins(answers)
    released = DiscreteLaplace(scale=1 / level).release(bits.astype(np.int64))
    guesses = np.asarray(released) > 0.5
    return _outcome("noise in whole numbers, as a curator's", guesses == bits, level)


def _outcome(
    interface: str, right: NDArray[np.bool_], epsilon: Fraction, *parameters: tuple[str, str]
) -> Outcome:
    return Outcome(
        attack="low-order bits",
        interface=interface,
        right=int(right.sum()),
        attempts=len(right),
        baseline=0.5,
        bound=member_bound(epsilon=epsilon),
        at=float(epsilon),
        parameters=(*parameters, ("answers", str(len(right)))),
    )


def curator_bits(*, epsilon: Number, answers: int = 1_000) -> Outcome:
    """The same counts asked of a curator: one table with a count of 0 or 1 for each person.

    Costs epsilon in all; the counts are about different people [DMNS06, Prop. 3.3].
    >>> curator_bits(epsilon=0.1, answers=400).accuracy < 0.7
    True
    """
    return replace(
        table_attack(made_up(answers), Curated(epsilon=epsilon)),
        attack="low-order bits",
        interface="a curator",
        bound=member_bound(epsilon=epsilon),
        parameters=(("answers", str(answers)),),
    )
