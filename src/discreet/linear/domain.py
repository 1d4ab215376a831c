"""The public domain of a synopsis: named attributes, each with a number of values.
Knows no data and no names of values; an attribute's values are places 0, 1, 2, ...
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from discreet.errors import InvalidValue
from discreet.rationals import whole

__all__ = ["Domain"]

_MOST_ATTRIBUTES = 64


@dataclass(frozen=True, slots=True)
class Domain:
    """All combinations of the values of some attributes; a cell is one of them.

    >>> Domain(("smokes", "region"), (2, 4)).cells
    8
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) == len(self.sizes) <= _MOST_ATTRIBUTES:
            raise InvalidValue(
                f"{len(self.names)} names and {len(self.sizes)} sizes; a domain has 1 to "
                f"{_MOST_ATTRIBUTES} attributes, each with a name and a size."
            )
        if len(set(self.names)) != len(self.names):
            raise InvalidValue("an attribute is named twice; name each once.")
        for name, size in zip(self.names, self.sizes, strict=True):
            whole(size, f"the number of values of {name}")

    @classmethod
    def binary(cls, count: int) -> "Domain":
        """Yes/no attributes a0, a1, ...

        >>> Domain.binary(16).cells
        65536
        """
        return cls(tuple(f"a{place}" for place in range(count)), (2,) * count)

    @property
    def cells(self) -> int:
        """How many combinations there are.

        >>> Domain.binary(3).cells
        8
        """
        return prod(self.sizes)

    def size_of(self, axes: Sequence[int]) -> int:
        """How many combinations these attributes have.

        >>> Domain(("a", "b", "c"), (2, 3, 4)).size_of((0, 2))
        8
        """
        return prod(self.sizes[axis] for axis in axes)

    def axis(self, name: str) -> int:
        """The place of an attribute.

        >>> Domain(("a", "b"), (2, 3)).axis("b")
        1
        """
        if name not in self.names:
            raise InvalidValue(f"there is no attribute {name!r}; it has {', '.join(self.names)}.")
        return self.names.index(name)

    def subsets(self, order: int) -> Iterator[tuple[int, ...]]:
        """All sets of at most `order` attributes with more than one value, the empty one first.

        >>> list(Domain.binary(2).subsets(2))
        [(), (0,), (1,), (0, 1)]
        """
        varied = [axis for axis, size in enumerate(self.sizes) if size > 1]
        for size in range(order + 1):
            yield from combinations(varied, size)

    def blocks(self, axes: Sequence[int]) -> tuple[int, ...]:
        """The shape of an array of all cells that tells only these attributes apart.

        Sizes of what lies before, between and behind the attributes, in turn with theirs.
        >>> Domain.binary(5).blocks((1, 4))
        (2, 2, 4, 2, 1)
        """
        shape, start = [], 0
        for axis in axes:
            shape += [prod(self.sizes[start:axis]), self.sizes[axis]]
            start = axis + 1
        return (*shape, prod(self.sizes[start:]))
