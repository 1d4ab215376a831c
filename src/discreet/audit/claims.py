"""What a mechanism says of itself, as the (epsilon, delta) statements that the claim implies.
Owns the reading of claims; draws nothing and judges nothing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.conversion import zcdp_delta
from discreet.accounting.gaussian import gaussian_delta
from discreet.loss import ZCDP, Approximate, BoundedRange, Currency, Pure
from discreet.rationals import Number, nonnegative, positive

__all__ = ["Claim", "GaussianClaim", "statements"]

_POINTS = 16  # places of a curve that are looked at
_SMALLEST_DELTA = 1e-4  # events this rare need more samples than an audit draws


@dataclass(frozen=True, slots=True)
class GaussianClaim:
    """The claim to be no worse than one Gaussian release with this noise.

    The trade-off curve of the continuous Gaussian [BW18, Thm. 8], tighter than the zCDP that it
    implies.
    """

    sigma: Fraction
    sensitivity: Fraction

    def __init__(self, *, sigma: Number, sensitivity: Number = 1) -> None:
        object.__setattr__(self, "sigma", positive(sigma, "sigma"))
        object.__setattr__(self, "sensitivity", nonnegative(sensitivity, "sensitivity"))


Claim = Pure | BoundedRange | ZCDP | Approximate | GaussianClaim
"""What an audit can be asked to contradict."""


def statements(claim: Claim) -> tuple[Approximate, ...]:
    """The (epsilon, delta) statements to test: one, or points of the curve that is implied.

    Contradicting any of them contradicts the claim.
    Privacy: rho-zCDP implies delta(epsilon) as in [CKS20, Cor. 13]; a Gaussian has exactly its
    own [BW18, Thm. 8].
    >>> statements(Pure(epsilon=1))
    (Approximate(epsilon=Fraction(1, 1), delta=Fraction(0, 1)),)
    >>> len(statements(ZCDP(rho=0.5)))
    16
    """
    if isinstance(claim, GaussianClaim):
        rho = float(claim.sensitivity / claim.sigma) ** 2 / 2
    elif claim.currency is Currency.RHO:
        rho = float(claim.rho)
    else:
        return (claim.approximate(),)
    highest = rho + 2 * math.sqrt(rho * math.log(1 / _SMALLEST_DELTA))
    levels = [Fraction(round(highest * step / _POINTS, 6)) for step in range(_POINTS)]
    return tuple(Approximate(epsilon=level, delta=_delta(claim, level)) for level in levels)


def _delta(claim: ZCDP | GaussianClaim, level: Fraction) -> Fraction:
    if isinstance(claim, GaussianClaim):
        return gaussian_delta(sigma=claim.sigma, sensitivity=claim.sensitivity, epsilon=level)
    return min(Fraction(1), zcdp_delta(rho=claim.rho, epsilon=level) + claim.delta)
