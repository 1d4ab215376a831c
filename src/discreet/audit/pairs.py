"""Pairs of neighbouring inputs to try: built-in families and ways to vary a pair. The inputs are
made up; no data comes near an audit. Owns which inputs are tried, not how they are judged.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidValue
from discreet.loss import Relation
from discreet.rationals import Number, positive

__all__ = ["Pair", "as_pairs", "data_set_pairs", "number_pairs", "vary_numbers", "vector_pairs"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two inputs that the claim calls neighbours, and how to speak of them.

    >>> Pair(0, 1).name
    '0 and 1'
    """

    left: Any
    right: Any
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"{_short(self.left)} and {_short(self.right)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]} ... {text[-12:]}"


def as_pairs(inputs: Iterable[Any]) -> tuple[Pair, ...]:
    """Read pairs, or tuples of two inputs.

    >>> as_pairs([(0, 1)])[0].right
    1
    """
    pairs = tuple(one if isinstance(one, Pair) else _pair_up(one) for one in inputs)
    if not pairs:
        raise InvalidValue("no pairs of inputs; give at least one pair of neighbours.")
    return pairs


def _pair_up(inputs: Any) -> Pair:
    if not isinstance(inputs, tuple) or len(inputs) != 2:
        raise InvalidValue(f"{_short(inputs)} is not a pair; write (left, right) or Pair(...).")
    return Pair(*inputs)


def _whole(value: Number, name: str) -> Any:
    """An int where the number is one, else the number: what a mechanism expects to be given."""
    number = positive(value, name)
    return int(number) if number.denominator == 1 else float(number)


def number_pairs(sensitivity: Number = 1) -> tuple[Pair, ...]:
    """Numbers that far apart: around zero, negative, and large enough to upset floats.

    They are neighbours under the relation that the sensitivity was derived for.
    >>> [pair.name for pair in number_pairs()][:2]
    ['0 and 1', '-1 and 0']
    """
    step = _whole(sensitivity, "sensitivity")
    return tuple(Pair(low, low + step) for low in (0, -step, 100, 2**20, 2**40))


def vector_pairs(length: int, step: Number = 1) -> tuple[Pair, ...]:
    """Vectors of which every coordinate moves by at most `step`, in the patterns that break things.

    All together, one alone, half up and half down, and a raised coordinate exchanged: inputs for
    selection and threshold mechanisms. For a claim in L1 sensitivity use your own pairs. They are
    neighbours when one unit can move every coordinate by `step`.
    >>> [pair.name for pair in vector_pairs(2)][0]
    '(0, 0) and (1, 1)'
    """
    if length < 1:
        raise InvalidValue(f"length is {length}; it must be at least 1.")
    move = _whole(step, "step")
    zeros, half = (0,) * length, length // 2
    first = (move,) + (0,) * (length - 1)
    last = (0,) * (length - 1) + (move,)
    rising = (0,) * half + (move,) * (length - half)
    falling = (move,) * half + (0,) * (length - half)
    split = (move,) * half + (-move,) * (length - half)
    options = [
        (zeros, (move,) * length),
        (zeros, first),
        (zeros, split),
        (rising, falling),
        (tuple(move - value for value in last), last),
    ]
    unique = {(left, right): Pair(left, right) for left, right in options if left != right}
    return tuple(unique.values())


def data_set_pairs(
    records: Sequence[Any], size: int = 3, relation: Relation = Relation.ADD_REMOVE
) -> tuple[Pair, ...]:
    """Small data sets, as tuples, that differ in one of the records listed.

    Give the extreme records: the smallest, the largest and the odd ones. They are neighbours under
    add/remove, or under replace, of one record.
    >>> data_set_pairs([0, 9], size=1)[0]
    Pair(left=(0,), right=(0, 0), name='(0,) and (0, 0)')
    """
    if not records:
        raise InvalidValue("no records; list at least one that a data set may hold.")
    pairs = list(_neighbours(tuple(records), size, relation))
    if not pairs:
        raise InvalidValue("one record has nothing to be replaced by; list at least two.")
    return tuple(pairs)


def _neighbours(records: tuple[Any, ...], size: int, relation: Relation) -> Iterator[Pair]:
    for common in records:
        rest = (common,) * size
        for place, record in enumerate(records):
            if relation is Relation.ADD_REMOVE:
                yield Pair(rest, (*rest, record))
            else:
                for other in records[place + 1 :]:
                    yield Pair((*rest, record), (*rest, other))


def vary_numbers(pair: Pair) -> tuple[Pair, ...]:
    """The same step from other places: both inputs moved alike, or exchanged in sign.

    Works on numbers and on tuples of numbers; for anything else there is nothing to vary. They are
    neighbours as the pair is, when the relation is about differences only.
    >>> [one.name for one in vary_numbers(Pair(0, 1))][:2]
    ['1 and 2', '-1 and 0']
    """
    moves = (1, -1, 8, -8, 1000)
    if _number(pair.left) and _number(pair.right):
        moved = [Pair(pair.left + move, pair.right + move) for move in moves]
        return (*moved, Pair(-pair.left, -pair.right))
    if not isinstance(pair.left, tuple) or not isinstance(pair.right, tuple):
        return ()
    if len(pair.left) != len(pair.right) or not all(map(_number, pair.left + pair.right)):
        return ()
    length = len(pair.left)
    return tuple(
        _shift(pair, range(start, length), move)
        for start in sorted({0, length // 2, length - 1})
        for move in (1, -1, 4, -4)
    )


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shift(pair: Pair, places: range, move: int) -> Pair:
    left, right = (
        tuple(value + move * (place in places) for place, value in enumerate(side))
        for side in (pair.left, pair.right)
    )
    return Pair(left, right)
