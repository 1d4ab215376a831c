"""The white-box audit: the privacy loss of two distributions that can be written down, with
rational arithmetic and no doubt. Owns exact divergences on small domains.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.audit.claims import Claim, statements
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.rationals import Number, ceil_decimal, exp_bounds, log_bounds, nonnegative, rational

__all__ = ["ExactLoss", "enumerate_loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactLoss:
    """Two distributions side by side: the probabilities of every outcome, left and right.

    Privacy: the divergences of this pair of inputs; a mechanism has the largest over all pairs.
    >>> enumerate_loss({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}).ratio
    Fraction(3, 1)
    """

    outcomes: tuple[tuple[Fraction, Fraction], ...]

    @property
    def ratio(self) -> Fraction | None:
        """e^epsilon exactly: the largest ratio in either direction; None where it is infinite.

        The max divergence of the pair [DR14, Def. 3.6].
        >>> enumerate_loss({0: 1}, {1: 1}).ratio is None
        True
        """
        both = [pair for pair in self.outcomes if any(pair)]
        if any(not left or not right for left, right in both):
            return None
        return max(max(left / right, right / left) for left, right in both)

    @property
    def epsilon(self) -> Fraction:
        """The smallest epsilon of pure privacy for this pair, rounded up in the 18th digit.

        The max divergence of the pair [DR14, Def. 3.6].
        >>> float(enumerate_loss({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}).epsilon)
        1.0986122886681098
        """
        if self.ratio is None:
            raise UnprovableRequest(
                "an outcome is possible for one input only, so no epsilon is enough; "
                "ask for delta(epsilon=...)."
            )
        return ceil_decimal(log_bounds(self.ratio)[1]) if self.ratio > 1 else Fraction(0)

    def delta(self, *, epsilon: Number) -> Fraction:
        """The smallest delta at this epsilon, in the worse direction, rounded up.

        Privacy: the hockey-stick divergence sum of max(P - e^epsilon Q, 0) [DKMMN06, Def. 1].
        >>> enumerate_loss({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}).delta(epsilon=0)
        Fraction(1, 2)
        """
        level = nonnegative(epsilon, "epsilon")
        # A factor rounded down gives a delta rounded up.
        return self.delta_at(exp_bounds(level)[0] if level else Fraction(1))

    def delta_at(self, ratio: Number) -> Fraction:
        """The same, exactly, with e^epsilon given instead of epsilon.

        The hockey-stick divergence [DKMMN06, Def. 1].
        >>> enumerate_loss({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}).delta_at(2)
        Fraction(1, 4)
        """
        factor, zero = rational(ratio, "ratio"), Fraction(0)
        forward = sum((max(p - factor * q, zero) for p, q in self.outcomes), zero)
        backward = sum((max(q - factor * p, zero) for p, q in self.outcomes), zero)
        return max(forward, backward)

    def violates(self, claim: Claim) -> bool:
        """Whether this pair contradicts a claim, with all roundings in the claim's favour.

        A zCDP or Gaussian claim is tested at points of the curve that it implies. The statement
        fails for this pair [DKMMN06, Def. 1].
        >>> from discreet.loss import Pure
        >>> enumerate_loss({0: 0.75, 1: 0.25}, {0: 0.25, 1: 0.75}).violates(Pure(epsilon=1))
        True
        """
        for one in statements(claim):
            factor = exp_bounds(one.epsilon)[1] if one.epsilon else Fraction(1)
            if self.delta_at(factor) > one.delta:
                return True
        return False


def enumerate_loss(
    pmf_left: Mapping[Hashable, Number], pmf_right: Mapping[Hashable, Number]
) -> ExactLoss:
    """The exact privacy loss between two distributions given outcome by outcome.

    Outcomes that are not listed have probability 0; each side must sum to exactly 1, so write
    thirds as fractions.
    >>> loss = enumerate_loss({"yes": 1, "no": 0}, {"yes": 0.5, "no": 0.5})
    >>> loss.ratio, loss.delta(epsilon=0)
    (None, Fraction(1, 2))
    """
    left, right = _law(pmf_left, "left"), _law(pmf_right, "right")
    keys = dict.fromkeys([*left, *right])
    zero = Fraction(0)
    return ExactLoss(outcomes=tuple((left.get(key, zero), right.get(key, zero)) for key in keys))


def _law(pmf: Mapping[Hashable, Number], side: str) -> dict[Hashable, Fraction]:
    law = {key: nonnegative(value, f"a probability of the {side}") for key, value in pmf.items()}
    total = sum(law.values(), Fraction(0))
    if total != 1:
        raise InvalidValue(
            f"the {side} probabilities sum to {float(total)!r} (off by {float(total - 1):.3g}); "
            "they must sum to exactly 1: give fractions, or an outcome for the rest."
        )
    return law
