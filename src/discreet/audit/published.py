"""Bugs that were published, planted in small mechanisms, each with the samples for each input that
are known to suffice. Owns their claims, inputs and sizes; the mechanisms are in `planted`.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.audit import planted
from discreet.audit.claims import Claim, GaussianClaim
from discreet.audit.subject import Subject
from discreet.loss import ZCDP, Approximate, Pure

__all__ = ["MIXED", "RISING", "bugs"]

MIXED = ((-2,) * 4 + (0,) * 5, (-1,) * 9)
"""Neighbouring answers of which some rise while the others fall."""

RISING = ((-1, -1, -1, 0), (0, 0, 0, 1))
"""Neighbouring counts: all of them rise."""


def bugs() -> tuple[Subject, ...]:
    """The published bugs.

    >>> bugs()[0].samples
    3000
    """
    one, two = Pure(epsilon=1), Pure(epsilon=2)
    zcdp, normal = ZCDP(rho=Fraction(1, 8)), GaussianClaim(sigma=2)
    small = Approximate(epsilon=1, delta=0.01)
    unmoved, exchanged = ((0,) * 4, (1,) * 4), ((0, 1), (1, 0))
    rows: tuple[tuple[str, Callable[..., Any], Claim, Any, int], ...] = (
        ("half the noise", planted.laplace(0.5), one, (0, 1), 3_000),
        ("a fifth too little noise", planted.laplace(0.8), one, (0, 1), 28_000),
        ("sensitivity doubled", planted.laplace(1, factor=2), one, (0, 1), 4_000),
        ("sparse vector with its value", planted.sparse_values(1), one, RISING, 280_000),
        ("query noise without c", planted.sparse_without_count(2, 5), two, MIXED, 400_000),
        ("no query noise", planted.sparse_without_query_noise(1), one, exchanged, 4_000),
        ("no cut-off", planted.sparse_without_stop(2), two, MIXED, 400_000),
        ("noisy max with its value", planted.noisy_max_with_value(1), one, unmoved, 120_000),
        ("noise in floats", planted.float_laplace(1.0), one, (0, 1), 3_000),
        ("half the Gaussian noise, as zCDP", planted.gaussian(1), zcdp, (0, 1), 40_000),
        ("half the Gaussian noise", planted.gaussian(1), normal, (0, 1), 40_000),
        ("a delta too large", planted.response(0.5, delta=0.05), small, (0, 1), 10_000),
        ("the lottery of a sample", planted.lottery(0.05), small, (0, 1), 10_000),
    )
    return tuple(
        Subject(
            name=name,
            mechanism=draw,
            claim=claim,
            pairs=(pair,),
            samples=samples,
            part="published bugs",
            bug=name,
        )
        for name, draw, claim, pair, samples in rows
    )
