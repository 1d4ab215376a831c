"""Sample and aggregate: any function as a black box. Units are dealt into a public number of
blocks, the function is run on each block alone, and only a private summary of its values leaves.
Owns the dealing and the mechanism; how values are summed up is in `summaries`.
What a block is given, the order of its rows included, depends on its own units and the key alone.
"""

import hashlib
import math
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.loss import Loss, Relation
from discreet.mechanisms.additive.lattice import Lattice
from discreet.noise.bits import BitSource, system
from discreet.rationals import Number, whole
from discreet.robust.blocks.summaries import Setting, Summary
from discreet.robust.blocks.workers import Task, check_sendable, run_blocks
from discreet.robust.tested.outcome import Outcome

__all__ = ["SampleAndAggregate", "deal"]

_KEY_BITS = 256


def deal(units: Sequence[Any] | NDArray[Any], *, blocks: int, key: bytes) -> NDArray[np.int64]:
    """The block of each row, by a keyed hash of its unit alone; -1 for rows without a unit.

    Not private by itself. A unit's block depends on nothing but the unit and the key.
    >>> blocks = deal(["ana", "bo", "ana", None], blocks=8, key=b"secret")
    >>> int(blocks[0]) == int(blocks[2]), int(blocks[3])
    (True, -1)
    """
    count = whole(blocks, "blocks")
    listed = units.tolist() if isinstance(units, np.ndarray) else list(units)
    texts = [_encode_unit(unit) for unit in listed]
    block_of: dict[bytes | None, int] = {None: -1}
    for text in set(texts) - {None}:
        digest = hashlib.blake2b(text or b"", key=key, digest_size=16).digest()
        block_of[text] = int.from_bytes(digest, "little") % count
    return np.array([block_of[text] for text in texts], dtype=np.int64)


def _encode_unit(unit: Any) -> bytes | None:
    if unit is None or (isinstance(unit, float) and math.isnan(unit)):
        return None
    if isinstance(unit, int) and not isinstance(unit, bool):
        return b"i%d" % unit
    if isinstance(unit, str):
        return b"s" + unit.encode("utf-8", "surrogatepass")
    if isinstance(unit, bytes):
        return b"b" + unit
    raise InvalidValue(
        f"a unit is of type {type(unit).__name__}; write units as integers or texts. "
        "Nothing was run."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAndAggregate:
    """Runs a function on every block of units and releases a private summary of the values.

    A block that fails, gives no number, or uses more than `processor_seconds` or `memory_bytes`
    counts as the lattice's `missing`; values are clamped and rounded to the lattice. Each block
    has a process of its own and gets its own rows only, in an order made by the release's key.
    Privacy: one unit, with all of its rows, is in one block, and neither a block's rows nor their
    order depend on other blocks, so one step changes one value (two under replace), if the
    function's value depends on the rows it is given and nothing else: one that leaves files,
    messages or processes behind for other blocks breaks this. The loss is the summary's
    [NRS07, Sec. 4], [MTSSC12].
    >>> from discreet.loss import Pure
    >>> from discreet.robust.blocks.summaries import BlockMean
    >>> lattice = Lattice(step=0.01, lower=0, upper=10, missing=5)
    >>> mechanism = SampleAndAggregate(
    ...     blocks=40, lattice=lattice, summary=BlockMean(price=Pure(epsilon=1)))
    >>> mechanism.loss()
    Pure(epsilon=Fraction(1, 1))
    """

    blocks: int
    lattice: Lattice
    summary: Summary
    relation: Relation = Relation.ADD_REMOVE
    processor_seconds: int = 10
    memory_bytes: int = 4 << 30

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", whole(self.blocks, "blocks"))
        object.__setattr__(self, "relation", Relation(self.relation))
        object.__setattr__(
            self, "processor_seconds", whole(self.processor_seconds, "processor_seconds")
        )
        object.__setattr__(
            self, "memory_bytes", whole(self.memory_bytes, "memory_bytes", least=1 << 28)
        )
        self.loss()  # refuses what the summary cannot work with

    @property
    def setting(self) -> Setting:
        """The public facts that the summary works with.

        One step changes one block's value, two under replace.
        """
        return Setting(lattice=self.lattice, blocks=self.blocks, moved=self.relation.steps)

    def loss(self) -> Loss:
        """The cost of one release.

        Privacy: the summary's loss where one step changes one block's value, two under replace.
        """
        return self.summary.loss(self.setting)

    def check(self, estimator: Callable[[Any], Any]) -> None:
        """Refuse a function that cannot be run in blocks, before anything is charged or run."""
        check_sendable(estimator)

    def values(
        self,
        estimator: Callable[[Any], Any],
        exact: NDArray[Any] | Sequence[Any],
        units: Sequence[Any] | NDArray[Any] | None,
        *,
        key: bytes,
        workers: int = 2,
    ) -> NDArray[np.int64]:
        """Each block's value, in steps above the lower bound.

        Privacy: not private by itself: goes to the summary.
        """
        texts = _encode_rows(exact)
        if units is None:  # each row is one: equal rows are distinguished by their number
            units = _number_equal(texts)
        if len(texts) != len(units):
            raise InvalidValue(
                "rows and units differ in number; pass one unit for each row. Nothing was run."
            )
        placed = deal(units, blocks=self.blocks, key=key)
        parts = []
        for block in range(self.blocks):
            places = np.flatnonzero(placed == block)
            order = _order([texts[place] for place in places], key)
            parts.append(_take(exact, places[order]))
        task = Task(
            estimator=estimator,
            lattice=self.lattice,
            processor_seconds=self.processor_seconds,
            memory_bytes=self.memory_bytes,
            workers=whole(workers, "workers"),
        )
        return np.array(run_blocks(task, parts), dtype=np.int64) - self.setting.low

    def release(
        self,
        estimator: Callable[[Any], Any],
        exact: NDArray[Any] | Sequence[Any],
        units: Sequence[Any] | NDArray[Any] | None,
        bits: BitSource = system,
        *,
        workers: int = 2,
    ) -> Fraction | Outcome[Fraction]:
        """The summary of the function over blocks of fresh, secret make-up.

        `estimator` takes the rows of one block (as `exact` is: an array of numbers, or a list) in
        a random order and returns one number. `units` is None where each row is one unit. The
        type of an array must be known without the rows. How long a release takes depends on the
        data.
        Privacy: as `loss` says.
        """
        key = bits.bits(_KEY_BITS).to_bytes(_KEY_BITS // 8, "little")
        steps = self.values(estimator, exact, units, key=key, workers=workers)
        return self.summary.release(steps, self.setting, bits)

    def error(self, confidence: Number) -> float:
        """How far the noise alone may lead, in the terms of the summary; blocks differ besides."""
        return self.summary.error(confidence, self.setting)


def _encode_rows(exact: NDArray[Any] | Sequence[Any]) -> list[bytes]:
    """Bytes for each row, by which equal rows are the same and others are not."""
    if isinstance(exact, list | tuple):
        return [pickle.dumps(row, protocol=5) for row in exact]
    if not isinstance(exact, np.ndarray) or exact.dtype.kind not in "biufcmM" or not exact.ndim:
        kind = exact.dtype if isinstance(exact, np.ndarray) else type(exact).__name__
        raise InvalidValue(
            f"the rows are of type {kind}, which one row can change for all blocks (an index, the "
            "longest text); pass an array of numbers or a list of rows. Nothing was run."
        )
    if exact.dtype.char in "gG":  # its bytes are not all part of the number
        raise InvalidValue(f"the rows are {exact.dtype}; pass float64. Nothing was run.")
    count, packed = len(exact), exact.tobytes()
    width = len(packed) // max(1, count)
    return [packed[place * width : (place + 1) * width] for place in range(count)]


def _number_equal(texts: list[bytes]) -> list[bytes]:
    """Each text with its number among equal ones: one text more adds one of these."""
    seen: Counter[bytes] = Counter()
    numbered = []
    for text in texts:
        seen[text] += 1
        numbered.append(b"%d:" % seen[text] + text)
    return numbered


def _order(texts: list[bytes], key: bytes) -> list[int]:
    """Places of a block's rows in a random order.

    It sorts the numbered rows by a keyed hash. The set of numbered rows follows from which rows
    the block has, so the order says nothing about how the rows came or about other blocks.
    """
    codes = [
        hashlib.blake2b(text, key=key, person=b"order", digest_size=32).digest()
        for text in _number_equal(texts)
    ]
    return sorted(range(len(codes)), key=codes.__getitem__)


def _take(exact: NDArray[Any] | Sequence[Any], places: NDArray[np.int64]) -> Any:
    """The rows at these places, in their order."""
    if isinstance(exact, np.ndarray):
        return np.ascontiguousarray(exact[places])
    return [exact[place] for place in places]
