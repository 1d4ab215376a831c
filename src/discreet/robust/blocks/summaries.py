"""Private summaries of the values of blocks: their mean, their median, or the value most of them
agree on. A step replaces a public number of values, whatever made them; nothing else is assumed.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue, with_article
from discreet.loss import Approximate, Loss, Price, Sensitivity
from discreet.mechanisms.additive.lattice import Lattice
from discreet.mechanisms.priced import Noise, loss_in, noise_for
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, whole
from discreet.robust.tested.outcome import Outcome, Refused, Shown
from discreet.robust.tested.stable import StableValue

__all__ = ["BlockMean", "BlockMedian", "BlockMode", "Setting", "Summary"]

_MOST_CANDIDATES = 1 << 22
_MOST_STEPS = 1 << 53


@dataclass(frozen=True, slots=True)
class Setting:
    """The public facts about the values: their lattice, how many, and how many one step replaces.

    >>> Setting(lattice=Lattice(step=0.5, lower=0, upper=10), blocks=40, moved=1).steps
    20
    """

    lattice: Lattice
    blocks: int
    moved: int

    def __post_init__(self) -> None:
        whole(self.blocks, "blocks")
        whole(self.moved, "moved")
        limit = _MOST_STEPS * self.lattice.step
        if self.steps < 1 or max(abs(self.lattice.lower), abs(self.lattice.upper)) > limit:
            raise InvalidValue(
                f"the lattice has {self.steps} steps; it must have at least one, and end within "
                "2**53 of them."
            )

    @property
    def low(self) -> int:
        """The lower bound in steps; values are counted from here.

        >>> Setting(lattice=Lattice(step=0.5, lower=1, upper=10), blocks=40, moved=1).low
        2
        """
        return round(self.lattice.lower / self.lattice.step)

    @property
    def steps(self) -> int:
        """How many steps lie between the bounds.

        >>> Setting(lattice=Lattice(step=1, lower=1, upper=10), blocks=40, moved=1).steps
        9
        """
        return round(self.lattice.upper / self.lattice.step) - self.low

    def value(self, noisy: Fraction) -> Fraction:
        """What a number of steps above the lower bound stands for, held within the bounds.

        >>> setting = Setting(lattice=Lattice(step=0.5, lower=1, upper=10), blocks=40, moved=1)
        >>> setting.value(Fraction(3))
        Fraction(5, 2)
        """
        return (self.low + min(max(noisy, Fraction(0)), Fraction(self.steps))) * self.lattice.step


class Summary(Protocol):
    """A private summary of whole numbers of steps.

    Privacy: as the `loss` of each says.
    """

    def loss(self, setting: Setting) -> Loss:
        """The cost of one release.

        Privacy: for replacing `setting.moved` of the values by any others in the range.
        """

    def release(
        self, exact: NDArray[np.int64], setting: Setting, bits: BitSource = system
    ) -> Fraction | Outcome[Fraction]:
        """The summary, in the lattice's units.

        Privacy: as `loss` says.
        """

    def error(self, confidence: Number, setting: Setting) -> float:
        """How far the noise may lead, in the terms that the summary names."""


def _check_price(price: Any) -> Any:
    if not isinstance(price, Price) or price != price.of(price.amount):  # which has no delta
        raise InvalidValue(
            f"the price is {with_article(type(price).__name__)}; write Pure(epsilon=...) or "
            "ZCDP(rho=...)."
        )
    return price


@dataclass(frozen=True, slots=True)
class BlockMean:
    """The mean of the values, with noise on their sum.

    Privacy: epsilon-DP or rho-zCDP, as the price says: one value moves the sum by at most the
    width of the range [DMNS06, Prop. 3.3], [CKS20, Thm. 4].
    >>> from discreet.loss import Pure
    >>> BlockMean(price=Pure(epsilon=1)).price.epsilon
    Fraction(1, 1)
    """

    price: Price

    def __init__(self, *, price: Price) -> None:
        object.__setattr__(self, "price", _check_price(price))

    def noise(self, setting: Setting) -> Noise:
        """The noise on the sum of the values.

        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=2)
        >>> BlockMean(price=Pure(epsilon=1)).noise(setting)
        DiscreteLaplace(scale=Fraction(20, 1))
        """
        width = setting.steps * setting.moved
        return noise_for(self.price, l1=Fraction(width), l2_squared=Fraction(width) ** 2)

    def loss(self, setting: Setting) -> Loss:
        """The cost of one release.

        Privacy: for replacing `moved` values [DMNS06, Prop. 3.3], [CKS20, Thm. 4].
        >>> from discreet.loss import ZCDP
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=2)
        >>> BlockMean(price=ZCDP(rho=0.5)).loss(setting).rho
        Fraction(1, 2)
        """
        return self.noise(setting).loss(Sensitivity.single(setting.steps * setting.moved))

    def release(
        self, exact: NDArray[np.int64], setting: Setting, bits: BitSource = system
    ) -> Fraction:
        """The noisy mean, held within the range.

        Privacy: as `loss` says.
        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=50, moved=1)
        >>> round(BlockMean(price=Pure(epsilon=100)).release(np.full(50, 4), setting))
        4
        """
        total = sum(int(value) for value in exact)
        noisy = self.noise(setting).release(total, bits)
        return setting.value(Fraction(noisy, setting.blocks))

    def error(self, confidence: Number, setting: Setting) -> float:
        """The half-width of the noise on the mean, in the lattice's units.

        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=1)
        >>> BlockMean(price=Pure(epsilon=1)).error(0.95, setting)
        0.75
        """
        steps = Fraction(self.noise(setting).error(confidence)) / setting.blocks
        return float(steps * setting.lattice.step)


@dataclass(frozen=True, slots=True)
class BlockMedian:
    """The median of the values, chosen from all points of the lattice by their rank.

    Blocks that fail or lie far out move it little, so `missing` hardly matters.
    Privacy: epsilon-DP or rho-zCDP, as the price says: replacing a value moves ranks by at most
    one [Smi11], [MT07, Thm. 6], [CR21, Lemma 3.4].
    >>> from discreet.loss import Pure
    >>> BlockMedian(price=Pure(epsilon=1)).price.epsilon
    Fraction(1, 1)
    """

    price: Price

    def __init__(self, *, price: Price) -> None:
        object.__setattr__(self, "price", _check_price(price))

    def mechanism(self, setting: Setting) -> Quantiles:
        """The exponential mechanism that chooses.

        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=1)
        >>> BlockMedian(price=Pure(epsilon=1)).mechanism(setting).scale
        Fraction(2, 1)
        """
        if setting.steps >= _MOST_CANDIDATES:
            raise InvalidValue(
                f"the lattice has {setting.steps} steps; a median is chosen among at most "
                f"{_MOST_CANDIDATES}. Take a larger step. Nothing was run."
            )
        return Quantiles.of_price(
            fractions=(Fraction(1, 2),),
            sensitivity=_histogram_sensitivity(setting),
            price=self.price,
            candidates=setting.steps + 1,
        )

    def loss(self, setting: Setting) -> Loss:
        """The cost of one release.

        Privacy: for replacing `moved` values [MT07, Thm. 6], [CR21, Lemma 3.4].
        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=2)
        >>> BlockMedian(price=Pure(epsilon=1)).loss(setting)
        Pure(epsilon=Fraction(1, 1))
        """
        return loss_in(self.price, self.mechanism(setting), _histogram_sensitivity(setting))

    def release(
        self, exact: NDArray[np.int64], setting: Setting, bits: BitSource = system
    ) -> Fraction:
        """The chosen point of the lattice.

        Privacy: as `loss` says.
        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=0.5, lower=0, upper=10), blocks=50, moved=1)
        >>> BlockMedian(price=Pure(epsilon=100)).release(np.full(50, 4), setting)
        Fraction(2, 1)
        """
        counts = np.bincount(exact, minlength=setting.steps + 1)
        chosen = self.mechanism(setting).release(counts, bits)[0]
        return setting.value(Fraction(chosen))

    def error(self, confidence: Number, setting: Setting) -> float:
        """How many ranks among the blocks the choice may be off.

        >>> from discreet.loss import Pure
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=1)
        >>> round(BlockMedian(price=Pure(epsilon=1)).error(0.95, setting), 1)
        10.5
        """
        return self.mechanism(setting).error(confidence)


def _histogram_sensitivity(setting: Setting) -> Sensitivity:
    """A replaced value leaves one place of the histogram and enters another."""
    return Sensitivity.single(2 * setting.moved)


@dataclass(frozen=True, slots=True)
class BlockMode:
    """The value that most blocks agree on, exactly, where one step cannot make it another.

    Choose a step so large that blocks do agree.
    Privacy: (epsilon, delta)-DP [Vad17, Sec. 3.3].
    >>> BlockMode(epsilon=1, delta=1e-6).epsilon
    Fraction(1, 1)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Number, delta: Number) -> None:
        test = StableValue(epsilon=epsilon, delta=delta).test
        object.__setattr__(self, "epsilon", test.epsilon)
        object.__setattr__(self, "delta", test.delta)

    def mechanism(self, setting: Setting) -> StableValue:
        """The test of how clearly the value wins.

        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=1)
        >>> BlockMode(epsilon=1, delta=1e-6).mechanism(setting).test.moved
        2
        """
        if setting.steps >= _MOST_CANDIDATES:
            raise InvalidValue(
                f"the lattice has {setting.steps} steps; blocks cannot agree on so many, at most "
                f"{_MOST_CANDIDATES}. Take a larger step. Nothing was run."
            )
        return StableValue(epsilon=self.epsilon, delta=self.delta, rows_per_unit=2 * setting.moved)

    def loss(self, setting: Setting) -> Approximate:
        """The cost of one release, whether it refuses or not.

        Privacy: for replacing `moved` values [Vad17, Sec. 3.3].
        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=1)
        >>> BlockMode(epsilon=1, delta=1e-6).loss(setting).epsilon
        Fraction(1, 1)
        """
        return self.mechanism(setting).loss()

    def release(
        self, exact: NDArray[np.int64], setting: Setting, bits: BitSource = system
    ) -> Outcome[Fraction]:
        """The value, or a refusal.

        Privacy: as `loss` says.
        >>> setting = Setting(lattice=Lattice(step=0.5, lower=0, upper=10), blocks=50, moved=1)
        >>> BlockMode(epsilon=100, delta=1e-6).release(np.full(50, 4), setting)
        Shown(value=Fraction(2, 1))
        """
        counts = np.bincount(exact, minlength=setting.steps + 1)
        winner = self.mechanism(setting).mode(counts, bits, what="the value of most blocks")
        if isinstance(winner, Refused):
            return winner
        return Shown(setting.value(Fraction(winner.value)))

    def error(self, confidence: Number, setting: Setting) -> float:
        """By how many blocks the value must lead to be shown with this probability.

        >>> setting = Setting(lattice=Lattice(step=1, lower=0, upper=10), blocks=40, moved=1)
        >>> BlockMode(epsilon=1, delta=1e-6).error(0.95, setting)
        34.0
        """
        mechanism = self.mechanism(setting)
        return mechanism.test.error(confidence) + mechanism.test.moved
