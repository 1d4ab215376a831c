"""How far private answers are from the truth about the population that the rows were drawn from.
Formulas on public numbers; touches no data.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.conversion import zcdp_rho
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.tails import tail
from discreet.rationals import Number, positive, probability, whole

__all__ = ["PopulationError", "population_error"]

_HALVINGS = 60  # of the allowance c, in search of the best


@dataclass(frozen=True, slots=True)
class PopulationError:
    """Half-widths around k answers about fractions of a population, that all hold together.

    `private` holds for adaptively chosen questions; so does `split`, the naive way: every
    question gets rows of its own. `fixed` is what unprotected answers reach when all questions
    are fixed before the rows are drawn; chosen adaptively they have no such guarantee. `sample` is
    the part of `private` that is noise.
    >>> PopulationError(private=0.1, sample=0.05, split=0.3, fixed=0.01).gain
    3.0
    """

    private: float
    sample: float
    split: float
    fixed: float

    @property
    def gain(self) -> float:
        """How many times smaller the private half-width is than that of rows of their own.

        >>> PopulationError(private=0.2, sample=0.1, split=0.1, fixed=0.01).gain
        0.5
        """
        return round(self.split / self.private, 12)


def population_error(
    *, n: int, epsilon: Number, delta: Number, k: int, confidence: Number = 0.95
) -> PopulationError:
    """The error for the population of k adaptively chosen counting questions on n rows.

    All k are answered with Gaussian noise (Laplace if delta is 0) at (epsilon, delta) in all,
    for replacing one row. An answer is then within a + (e^epsilon - 1) + c + 2d of the truth but
    for a probability of b/c + delta/d, where all are within a of the sample but for b; c and d
    are chosen to make the sum least.
    Privacy: [JLNRSS20, Thm. 3.5], a sharper form of [BNSSSU16, Thm. 7.2].
    >>> population_error(n=10**6, epsilon=0.03, delta=1e-9, k=2000).gain > 1
    True
    """
    whole(n, "n")
    whole(k, "k")
    price, slack = positive(epsilon, "epsilon"), probability(delta, "delta")
    missed = tail(confidence)
    noise = _noise(price, slack, k)
    confidence_of_noise, allowed = _allowances(noise, n, k, missed, slack)
    sample = noise.simultaneous_error(k, confidence_of_noise) / n
    fixed, split = _hoeffding(n, k, missed), _hoeffding(max(1, n // k), k, missed)
    private = min(1.0, sample + allowed + math.expm1(float(price)))
    return PopulationError(private=private, sample=min(1.0, sample), split=split, fixed=fixed)


def _allowances(
    noise: DiscreteGaussian | DiscreteLaplace, n: int, k: int, missed: Fraction, delta: Fraction
) -> tuple[Fraction, float]:
    """The confidence 1 - b of the noise and c + 2d that make the sum least, with the textbook's
    width of the noise for the search; what is missed is b/c + delta/d.
    """
    best = (math.inf, Fraction(0), 0.0)
    for part in range(1, 10) if delta else (10,):
        to_noise = missed * part / 10
        rest = float(2 * delta / (missed - to_noise)) if delta else 0.0
        for power in range(_HALVINGS):
            allowance = Fraction(1, 2**power)
            confidence = 1 - to_noise * allowance
            width = noise.accuracy_bound(k, confidence) / n
            allowed = float(allowance) + rest
            best = min(best, (width + allowed, confidence, allowed))
            if float(allowance) < width / 1000:
                break
    return best[1], best[2]


def _noise(epsilon: Fraction, delta: Fraction, count: int) -> DiscreteGaussian | DiscreteLaplace:
    if not delta:
        return DiscreteLaplace(scale=count / epsilon)
    return DiscreteGaussian.of_variance(count / (2 * zcdp_rho(epsilon=epsilon, delta=delta)))


def _hoeffding(rows: int, count: int, missed: Fraction) -> float:
    """A half-width that holds for `count` fixed fractions of `rows` rows together."""
    return min(1.0, math.sqrt(math.log(2 * count / float(missed)) / (2 * rows)))
