"""The sparse vector technique with numbers: of values above their thresholds also a noisy number.
The number has fresh noise of its own; the value that was compared is never released.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.calibration import pure_share
from discreet.errors import InvalidValue, with_article
from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, positive, probability, rational, sqrt_down, sqrt_up, whole
from discreet.streams.svt.run import Run, SvtState
from discreet.streams.svt.sparse import Sparse
from discreet.streams.svt.values import Values, one_way_reach, reach_of, total, whole_number

__all__ = ["NumericSparse"]

_THIRD = Fraction(1, 3)


@dataclass(frozen=True, slots=True)
class NumericSparse:
    """Says None of a value below its threshold and a noisy number of one above.

    Privacy: the loss of `sparse` and, for every alarm, of one number [DR14, Thm. 3.27].
    >>> sparse = Sparse(threshold_scale=2, query_scale=8, alarms=2)
    >>> NumericSparse(sparse=sparse, number_scale=2).release([0, 0], threshold=500)
    [None, None]
    """

    sparse: Sparse
    number_scale: Fraction

    def __init__(self, *, sparse: Sparse, number_scale: Number) -> None:
        part: object = sparse
        if not isinstance(part, Sparse):
            raise InvalidValue(f"sparse is {with_article(type(sparse).__name__)}; pass a Sparse.")
        object.__setattr__(self, "sparse", sparse)
        object.__setattr__(self, "number_scale", positive(number_scale, "number_scale"))

    @classmethod
    def of(
        cls,
        *,
        alarms: int,
        sensitivity: Sensitivity,
        epsilon: Number | None = None,
        rho: Number | None = None,
        numbers: Number = _THIRD,
    ) -> "NumericSparse":
        """The form with the least noise at a price, of which the share `numbers` buys the numbers.

        Privacy: epsilon-DP [LSL17, Thm. 4] or rho-zCDP [BS16, Prop. 1.4 and Lemma 1.7], for the
        relation of the sensitivity.
        >>> one = Sensitivity.single(1)
        >>> NumericSparse.of(epsilon=1, alarms=2, sensitivity=one).loss(one)
        Pure(epsilon=Fraction(1, 1))
        """
        rest, scale = _split_price(epsilon, rho, alarms, reach_of(sensitivity), numbers)
        sparse = Sparse.of(alarms=alarms, sensitivity=sensitivity, **rest)
        return cls(sparse=sparse, number_scale=scale)

    @classmethod
    def monotone(
        cls,
        *,
        alarms: int,
        sensitivity: Sensitivity,
        relation: Relation,
        epsilon: Number | None = None,
        rho: Number | None = None,
        numbers: Number = _THIRD,
    ) -> "NumericSparse":
        """The same for values that one unit moves all the same way.

        Privacy: epsilon-DP or rho-zCDP under add/remove [LSL17, Thm. 5]; refused under replace.
        """
        reach = one_way_reach(sensitivity, relation)
        rest, scale = _split_price(epsilon, rho, alarms, reach, numbers)
        sparse = Sparse.monotone(alarms=alarms, sensitivity=sensitivity, relation=relation, **rest)
        return cls(sparse=sparse, number_scale=scale)

    @classmethod
    def textbook(
        cls, *, epsilon: Number, alarms: int, sensitivity: Sensitivity, delta: Number = 0
    ) -> "NumericSparse":
        """The form of Dwork and Roth: 8/9 of epsilon for a textbook `Sparse`, the rest for numbers.

        With a delta the share is sqrt(512)/(sqrt(512) + 1), each half keeps half of delta, and
        what one number may cost comes from optimal composition. (The book prints the epsilon of
        the numbers without its factor epsilon.)
        Privacy: (epsilon, delta)-DP for the relation of the sensitivity [DR14, Thm. 3.27].
        >>> one = Sensitivity.single(1)
        >>> NumericSparse.textbook(epsilon=1, alarms=3, sensitivity=one).number_scale
        Fraction(27, 1)
        """
        price, slack = positive(epsilon, "epsilon"), rational(delta, "delta") / 2
        root = sqrt_up(Fraction(512))
        first = price * (root / (root + 1) if slack else Fraction(8, 9))
        number = pure_share(count=alarms, epsilon=price - first, delta=slack).epsilon
        sparse = Sparse.textbook(epsilon=first, alarms=alarms, sensitivity=sensitivity, delta=slack)
        return cls(sparse=sparse, number_scale=reach_of(sensitivity) / number)

    @property
    def alarms(self) -> int:
        """How many values may be above before it stops."""
        return self.sparse.alarms

    def losses(self, sensitivity: Sensitivity) -> tuple[Pure, ...]:
        """The parts that compose to this mechanism: those of `sparse`, and one for each number.

        Privacy: a number costs linf/number_scale [DMNS06, Prop. 3.3].
        >>> sparse = Sparse(threshold_scale=2, query_scale=4, alarms=1)
        >>> NumericSparse(sparse=sparse, number_scale=2).losses(Sensitivity.single(1))
        (Pure(epsilon=Fraction(1, 1)), Pure(epsilon=Fraction(1, 2)))
        """
        return (*self.sparse.losses(sensitivity), *self._numbers(sensitivity))

    def monotone_losses(self, sensitivity: Sensitivity, *, relation: Relation) -> tuple[Pure, ...]:
        """The same when adding one unit can only raise the values, or can only lower them.

        Privacy: as `Sparse.monotone_losses`, under add/remove; a number costs the same.
        """
        parts = self.sparse.monotone_losses(sensitivity, relation=relation)
        return (*parts, *self._numbers(sensitivity))

    def _numbers(self, sensitivity: Sensitivity) -> tuple[Pure, ...]:
        return (Pure(epsilon=sensitivity.linf / self.number_scale),) * self.alarms

    def loss(self, sensitivity: Sensitivity) -> Pure:
        """The cost of a whole run with all its numbers.

        Privacy: the sum of `losses` for the relation of the sensitivity [DR14, Thm. 3.27].
        >>> sparse = Sparse(threshold_scale=2, query_scale=4, alarms=1)
        >>> NumericSparse(sparse=sparse, number_scale=2).loss(Sensitivity.single(1))
        Pure(epsilon=Fraction(3, 2))
        """
        return total(self.losses(sensitivity))

    def monotone_loss(self, sensitivity: Sensitivity, *, relation: Relation) -> Pure:
        """The cost when adding one unit can only raise the values, or can only lower them.

        Privacy: the sum of `monotone_losses` under add/remove [LSL17, Thm. 5].
        """
        return total(self.monotone_losses(sensitivity, relation=relation))

    def start(self, bits: BitSource = system) -> "Run[int | None]":
        """A run in this process; for one that survives the process open a `Monitor`.

        Privacy: none yet; the run costs `loss`.
        """
        return Run(self, bits)

    def begin(self, bits: BitSource = system) -> SvtState:
        """Draw the threshold's noise.

        Privacy: what is drawn is secret.
        >>> one = Sensitivity.single(1)
        >>> NumericSparse.of(epsilon=1, alarms=2, sensitivity=one).begin()
        SvtState(used=0)
        """
        return self.sparse.begin(bits)

    def step(
        self, standing: SvtState, exact: int, threshold: int, bits: BitSource = system
    ) -> tuple[int | None, SvtState]:
        """Compare one value with its threshold: its number if it is above, and how the run stands.

        The standing that was given is spent; what keeps standings should call this, not people.
        Privacy: part of the run's loss [DR14, Thm. 3.27].
        >>> sparse = NumericSparse.of(epsilon=1, alarms=2, sensitivity=Sensitivity.single(1))
        >>> sparse.step(sparse.begin(), 0, 999)
        (None, SvtState(used=0))
        """
        above, after = self.sparse.step(standing, exact, threshold, bits)
        # Drawn whatever the comparison says, so that time does not tell.
        number = DiscreteLaplace(scale=self.number_scale).release(whole_number(exact), bits)
        return number if above else None, after

    def release(
        self, exact: Values, bits: BitSource = system, *, threshold: int = 0
    ) -> list[int | None]:
        """The answers to values that are all at hand, up to the last alarm.

        Privacy: as `loss` says [DR14, Thm. 3.27].
        >>> sparse = NumericSparse.of(epsilon=1, alarms=1, sensitivity=Sensitivity.single(1))
        >>> len(sparse.release([0, 900, 0], threshold=500))
        2
        """
        answers = self.sparse.release(exact, bits, threshold=threshold)
        noise = DiscreteLaplace(scale=self.number_scale)
        return [
            noise.release(whole_number(value), bits) if above else None
            for value, above in zip(exact, answers, strict=False)
        ]

    def error(self, confidence: Number, *, queries: int) -> float:
        """How far off everything may be with this probability: the sides, and the numbers.

        Of the chance to fail the numbers get the share that makes the distance least.
        >>> sparse = NumericSparse.of(epsilon=1, alarms=1, sensitivity=Sensitivity.single(1))
        >>> sparse.error(0.95, queries=100)
        37.0
        """
        numbers = DiscreteLaplace(scale=self.number_scale)
        missed = 1 - probability(confidence, "confidence")
        return min(
            max(
                self.sparse.error(1 - missed * (16 - part) / 16, queries=queries),
                numbers.simultaneous_error(min(self.alarms, queries), 1 - missed * part / 16),
            )
            for part in (1, 4, 8, 12, 15)
        )

    def number_error(self, confidence: Number) -> float:
        """The half-width that holds for one number with this probability.

        >>> one = Sensitivity.single(1)
        >>> NumericSparse.of(epsilon=1, alarms=1, sensitivity=one).number_error(0.95)
        9.0
        """
        return DiscreteLaplace(scale=self.number_scale).error(confidence)

    def accuracy_bound(self, confidence: Number, *, queries: int) -> float:
        """The distance that the book's proof gives for these scales; `error` is smaller.

        See [DR14, Thm. 3.28].
        >>> sparse = NumericSparse.textbook(epsilon=1, alarms=10, sensitivity=Sensitivity.single(1))
        >>> sparse.accuracy_bound(0.95, queries=100)
        1018.0
        """
        half = 1 - (1 - probability(confidence, "confidence")) / 2
        numbers = DiscreteLaplace(scale=self.number_scale).accuracy_bound(self.alarms, half)
        return max(self.sparse.accuracy_bound(half, queries=queries), numbers)


def _split_price(
    epsilon: Number | None, rho: Number | None, alarms: int, reach: Fraction, numbers: Number
) -> tuple[dict[str, Fraction | None], Fraction]:
    """What is left of the price for `Sparse`, and the noise of the numbers."""
    share = rational(numbers, "numbers")
    if not 0 < share < 1:
        raise InvalidValue(f"numbers is {numbers}; it is a share of the price, between 0 and 1.")
    count = whole(alarms, "alarms")
    if (epsilon is None) == (rho is None):
        raise InvalidValue("give one price: epsilon= or rho=.")
    if epsilon is not None:
        price = positive(epsilon, "epsilon")
        return {"epsilon": price * (1 - share)}, count * reach / (price * share)
    assert rho is not None
    price = positive(rho, "rho")
    return {"rho": price * (1 - share)}, reach / sqrt_down(2 * price * share / count)
