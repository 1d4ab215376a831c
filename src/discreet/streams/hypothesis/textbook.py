"""Private multiplicative weights as in [Tut16, Alg. 2], its update repaired: it looks at the
noisy answer, never at the exact one. For its theorem; the service's own hybrid is more exact.
"""

import math
import threading
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BudgetExceeded, InvalidValue
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights
from discreet.loss import ZCDP, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import (
    Number,
    ceil_float,
    log_bounds,
    positive,
    probability,
    sqrt_down,
    whole,
)
from discreet.streams.svt.above_threshold import AboveThreshold
from discreet.streams.svt.values import whole_number

__all__ = ["TextbookRun", "TextbookWeights"]


@dataclass(frozen=True, slots=True)
class TextbookWeights:
    """Answers counting questions to within 2 alpha of all rows, from at most `updates` accesses.

    Starts from the uniform hypothesis. A question whose answer is nearer to the data's than about
    3/2 alpha is answered by the hypothesis, another by a noisy count, and the weights of the rows
    it counts, or of the others, shrink by 1 - alpha/2.
    Privacy: see `loss`, one count moving by at most the sensitivity that is given there.
    >>> book = TextbookWeights.of(Domain.binary(4), alpha=0.2, rows=10**6, rho=1)
    >>> book.updates
    278
    """

    domain: Domain
    alpha: Fraction
    rows: int
    above: AboveThreshold
    noise: DiscreteLaplace

    @classmethod
    def of(
        cls,
        domain: Domain,
        *,
        alpha: Number,
        rows: int,
        rho: Number,
        sensitivity: Sensitivity | None = None,
    ) -> "TextbookWeights":
        """All updates together cost rho; half of an epoch's share goes to its threshold run.

        `rows` is the public number of rows, or a noisy one that was paid for.
        Privacy: costs at most rho [BS16, Prop. 1.4 and Lemma 1.7].
        >>> book = TextbookWeights.of(Domain.binary(4), alpha=0.2, rows=10**6, rho=1)
        >>> book.loss(Sensitivity.single(1)).rho <= 1
        True
        """
        step = positive(alpha, "alpha")
        if step > 1:
            raise InvalidValue(f"alpha is {alpha}; it is a share of all rows, at most 1.")
        moved = sensitivity or Sensitivity.single(1)
        whole(rows, "rows")
        share = positive(rho, "rho") / _updates(domain, step) / 2
        epsilon = sqrt_down(2 * share)  # epsilon^2/2 of each half
        above = AboveThreshold.of(epsilon=epsilon, sensitivity=moved)
        return cls(domain, step, rows, above, DiscreteLaplace(scale=moved.linf / epsilon))

    @property
    def updates(self) -> int:
        """How many updates there are at most, where no noise exceeds alpha/2 of all rows.

        Each lowers the relative entropy between data and hypothesis, ln(cells) at first, by
        alpha^2/4. See [HR10], [DR14, Sec. 4.2].
        >>> TextbookWeights.of(Domain.binary(4), alpha=1, rows=10, rho=1).updates
        12
        """
        return _updates(self.domain, self.alpha)

    def loss(self, sensitivity: Sensitivity) -> ZCDP:
        """The cost of all epochs together.

        Privacy: `updates` threshold runs [DR14, Thm. 3.23] and Laplace measurements, as zCDP
        [BS16, Prop. 1.4 and Lemma 1.7].
        >>> book = TextbookWeights.of(Domain.binary(4), alpha=0.2, rows=10**6, rho=1)
        >>> float(book.loss(Sensitivity.single(1)).rho) > 0.999
        True
        """
        epoch = self.above.loss(sensitivity).zcdp() + self.noise.loss(sensitivity).zcdp()
        return ZCDP(rho=self.updates * epoch.rho)

    def accuracy(self, *, queries: int, confidence: Number) -> float | None:
        """The share of all rows that no answer is off by more than, or None: no promise.

        Holds for all questions together with this probability: every comparison and measurement is
        off by less than alpha/2 of all rows then, so below means at most 2 alpha, and above at
        least alpha, in the direction that the noisy answer shows. See [HR10], [DR14, Thm. 3.24];
        the proof is in docs/proofs/streams.md.
        >>> book = TextbookWeights.of(Domain.binary(4), alpha=0.2, rows=10**6, rho=1)
        >>> book.accuracy(queries=1000, confidence=0.95)
        0.4
        """
        missed = (1 - probability(confidence, "confidence")) / (2 * self.updates)
        compared = self.above.error(1 - missed, queries=whole(queries, "queries"))
        measured = self.noise.error(1 - missed)
        room = self.alpha * self.rows / 2 - 1  # predictions are rounded
        fits = max(compared, measured) <= room
        return ceil_float(2 * self.alpha) if fits else None

    def start(self, bits: BitSource = system) -> "TextbookRun":
        """A run in this process.

        Privacy: none yet; the run costs `loss`.
        >>> book = TextbookWeights.of(Domain.binary(4), alpha=0.2, rows=10**6, rho=1)
        >>> book.start().left
        278
        """
        return TextbookRun(self, bits)


class TextbookRun:
    """A run of the textbook's algorithm: ask with `answer` until its updates are used.

    Privacy: the loss of its mechanism, for any number of questions, adaptively chosen [HR10].
    >>> book = TextbookWeights.of(Domain.binary(1), alpha=0.5, rows=10**6, rho=1)
    >>> run = book.start()
    >>> yes = Predicate.where({0: 1}, book.domain)
    >>> run.answer(yes, 500_000)
    500000
    """

    __slots__ = ("_bits", "_book", "_left", "_lock", "_standing", "_weights")

    def __init__(self, book: TextbookWeights, bits: BitSource = system) -> None:
        self._book = book
        self._bits = bits
        self._lock = threading.Lock()
        self._standing = book.above.begin(bits)
        self._left = book.updates
        self._weights = Weights.uniform(book.domain)

    def __reduce__(self) -> str:
        raise InvalidValue(
            "a run cannot be copied or pickled: a copy would answer with the updates of the "
            "original. Keep it in one process, or open a Synopsis."
        )

    @property
    def left(self) -> int:
        """How many updates are left."""
        return self._left

    @property
    def weights(self) -> Weights:
        """The hypothesis."""
        return self._weights

    def answer(self, predicate: Predicate, exact: int) -> int:
        """The hypothesis' answer if it is near enough, else a noisy count and an update.

        Part of the run's loss; refused once all updates are used.
        """
        with self._lock:
            return self._answer(predicate, exact)

    def _answer(self, predicate: Predicate, exact: int) -> int:
        book = self._book
        if self._left < 1:
            raise BudgetExceeded(
                f"all {book.updates} updates are used, so this run answers no more. Nothing was "
                "released; its hypothesis still answers, without a promise."
            )
        predicted = round(book.rows * self._weights.share(predicate))
        gap = abs(whole_number(exact) - predicted)
        threshold = round(Fraction(3, 2) * book.alpha * book.rows)
        above, self._standing = book.above.step(self._standing, gap, threshold, self._bits)
        if not above:
            return predicted
        self._left -= 1  # used before it is told, whatever fails from here on
        self._standing = book.above.begin(self._bits)
        noisy = int(book.noise.release(int(exact), self._bits))
        # The noisy answer says in which direction; the exact one must not [HR10].
        shrunk = 1 - float(book.alpha) / 2
        self._weights.scale(predicate, shrunk if predicted > noisy else 1 / shrunk)
        return noisy


def _updates(domain: Domain, alpha: Fraction) -> int:
    """4 ln(cells)/alpha^2, rounded up."""
    return max(1, math.ceil(4 * log_bounds(Fraction(domain.cells))[1] / alpha**2))
