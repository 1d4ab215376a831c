"""Optimised local hashing: k-ary response on a random hash of the answer, for large domains.

The hash is affine over the integers modulo the prime 2^31 - 1, then modulo the number of sides.
Two answers are hashed to independent uniform residues, so the chance of a collision is a known
rational and the estimate is unbiased, not only nearly so.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.local.randomizers.answers import Bounds, kept_bounds, read_coin_bits, release
from discreet.loss import Pure
from discreet.noise.bits import BitSource, system
from discreet.noise.many_coins import dice, flips
from discreet.rationals import Number, exp_bounds, positive, whole

__all__ = ["LocalHashing"]

_PRIME = (1 << 31) - 1
_LIMB = 30  # bits of an answer that one multiplier takes: below the prime
_MOST_SIDES = 1 << 16
_CELLS = 1 << 20  # hashes computed at once


@dataclass(frozen=True, slots=True)
class LocalHashing:
    """Sends a random hash function and k-ary response on the answer's hash, one of `sides`.

    The number of sides defaults to e^epsilon + 1, rounded: the least variance for many categories.
    A report is a row: one multiplier for each 30 bits of an answer, an offset, the noisy hash.
    With `coin_bits` the chance of its coin is rational, rounded down to so many bits.
    Privacy: epsilon-DP for each report, by replacing the answer: the hash function is drawn
    without looking at it [WBLJ17, Sec. 4.3].
    >>> LocalHashing(epsilon=1, categories=10**6).sides
    4
    """

    epsilon: Fraction
    categories: int
    sides: int
    coin_bits: int | None = field(repr=False)

    def __init__(
        self,
        *,
        epsilon: Number,
        categories: int,
        sides: int | None = None,
        coin_bits: int | None = None,
    ) -> None:
        value = positive(epsilon, "epsilon")
        if sides is None:
            limit = min(value, Fraction(12))  # e^12 is above the most sides
            sides = min(_MOST_SIDES, math.floor(exp_bounds(limit)[0] + Fraction(3, 2)))
        most = 1 << 2 * _LIMB
        object.__setattr__(self, "epsilon", value)
        object.__setattr__(self, "categories", whole(categories, "categories", least=2, most=most))
        object.__setattr__(self, "sides", whole(sides, "sides", least=2, most=_MOST_SIDES))
        object.__setattr__(self, "coin_bits", read_coin_bits(coin_bits))

    @property
    def cells(self) -> int:
        """One count for each category."""
        return self.categories

    @property
    def report_bits(self) -> int:
        """The bits of the multipliers, the offset and the noisy hash.

        >>> LocalHashing(epsilon=1, categories=50).report_bits
        64
        """
        return 31 * (self._limbs() + 1) + (self.sides - 1).bit_length()

    def loss(self) -> Pure:
        """The cost of one report.

        Privacy: epsilon-DP, by replacing the answer [WBLJ17, Sec. 4.3].
        >>> LocalHashing(epsilon=1, categories=50).loss()
        Pure(epsilon=Fraction(1, 1))
        """
        return Pure(epsilon=self.epsilon)

    def family(self) -> dict[str, int]:
        """The numbers that its hash functions are made of: prime, limbs of an answer, their bits.

        >>> LocalHashing(epsilon=1, categories=50).family()
        {'prime': 2147483647, 'limbs': 1, 'limb_bits': 30}
        """
        return {"prime": _PRIME, "limbs": self._limbs(), "limb_bits": _LIMB}

    def chances(self) -> tuple[Fraction, Fraction]:
        """How probably the noisy hash is that of the true category, and that of another.

        >>> [round(float(c), 4) for c in LocalHashing(epsilon=1, categories=50).chances()]
        [0.4754, 0.25]
        """
        truth = self._bounds()(40)[0]
        full, more = divmod(_PRIME, self.sides)  # `more` residues have full + 1 preimages
        meet = Fraction(more * (full + 1) ** 2 + (self.sides - more) * full**2, _PRIME**2)
        return truth, truth * meet + (1 - truth) * (1 - meet) / (self.sides - 1)

    def release(self, exact: Any, bits: BitSource = system) -> Any:
        """The row for one answer, or a row for each of several.

        Privacy: epsilon-DP for each report [WBLJ17, Sec. 4.3].
        >>> LocalHashing(epsilon=1, categories=50).release([0, 49]).shape
        (2, 3)
        """
        return release(exact, self.categories, 4, lambda held: self._row(held, bits))

    def _row(self, held: NDArray[np.int64], bits: BitSource) -> NDArray[np.int64]:
        width = self._limbs() + 1
        function = dice(_PRIME, held.size * width, bits).reshape(held.size, width)
        hashed = self._hash(function, held)
        keeps = flips(self._bounds(), held.size, bits)
        moved = (hashed + 1 + dice(self.sides - 1, held.size, bits)) % self.sides
        return np.column_stack([function, np.where(keeps, hashed, moved)])

    def _hash(self, function: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row by row, or of every value under every function when the shapes say so."""
        total = function[..., -1]
        for limb in range(self._limbs()):
            part = (values >> (_LIMB * limb)) & ((1 << _LIMB) - 1)
            total = total + function[..., limb] * part  # below 2^62 for two limbs
        hashed: NDArray[np.int64] = total % _PRIME % self.sides
        return hashed

    def count(self, reports: Any) -> NDArray[np.int64]:
        """How many reports each category's hash agrees with.

        >>> LocalHashing(epsilon=1, categories=3).count([[1, 0, 2]]).tolist()
        [0, 0, 1]
        """
        return self.count_of(reports, np.arange(self.categories))

    def count_of(self, reports: Any, chosen: Any) -> NDArray[np.int64]:
        """How many reports agree with the hash of each chosen category.

        >>> LocalHashing(epsilon=1, categories=10**9).count_of([[1, 0, 2]], [6, 7]).tolist()
        [1, 0]
        """
        noisy = self._read(reports)
        wanted = np.asarray(chosen, dtype=np.int64)
        rows = max(1, _CELLS // max(1, wanted.size))
        total = np.zeros(wanted.size, dtype=np.int64)
        for start in range(0, len(noisy), rows):
            total += self._agree(noisy[start : start + rows], wanted).sum(axis=0, dtype=np.int64)
        return total

    def mark_supported(self, reports: Any) -> NDArray[np.bool_]:
        """The categories whose hash each report agrees with.

        >>> LocalHashing(epsilon=1, categories=3).mark_supported([[1, 0, 2]]).tolist()
        [[False, False, True]]
        """
        return self._agree(self._read(reports), np.arange(self.categories))

    def _agree(self, noisy: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.equal(self._hash(noisy[:, None, :-1], wanted), noisy[:, None, -1])

    def _read(self, reports: Any) -> NDArray[np.int64]:
        noisy, width = np.asarray(reports), self._limbs() + 2
        if noisy.size == 0:
            return np.zeros((0, width), dtype=np.int64)
        shaped = noisy.ndim == 2 and noisy.shape[1] == width and noisy.dtype.kind in "iu"
        if not shaped or noisy.min() < 0 or (noisy.max(axis=0) >= self._limits()).any():
            raise InvalidValue(
                f"a report is malformed; each is a row of {width} integers: "
                f"{width - 1} below {_PRIME} and one below {self.sides}."
            )
        return noisy.astype(np.int64, copy=False)

    def _bounds(self) -> Bounds:
        return kept_bounds(epsilon=self.epsilon, rest=self.sides - 1, coin_bits=self.coin_bits)

    def _limits(self) -> NDArray[np.int64]:
        return np.array([_PRIME] * (self._limbs() + 1) + [self.sides], dtype=np.int64)

    def _limbs(self) -> int:
        return 1 if self.categories <= 1 << _LIMB else 2
