"""A yes/no question about one row: the attributes it looks at, and for which of their values it
says yes. Never larger than those attributes' own combinations, and knows no data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.boxes import Box, box_of
from discreet.linear.domain import Domain

__all__ = ["Predicate"]


@dataclass(frozen=True, slots=True, eq=False)
class Predicate:
    """Which rows are counted: `mask` says so for each combination of the attributes at `axes`."""

    axes: tuple[int, ...]
    mask: NDArray[np.bool_] = field(repr=False)
    _placed: Any = field(default=(None, None), init=False, repr=False)  # in which domain, where

    def __post_init__(self) -> None:
        if list(self.axes) != sorted(set(self.axes)) or self.mask.ndim != len(self.axes):
            raise InvalidValue(
                f"attributes {self.axes} and a mask of {self.mask.ndim} dimensions; name each "
                "attribute once, in order, with one dimension of the mask for each."
            )
        if self.mask.dtype != np.bool_:
            raise InvalidValue(f"the mask is of type {self.mask.dtype}; it says yes or no.")

    @classmethod
    def where(cls, values: Mapping[int, int | Iterable[int]], domain: Domain) -> "Predicate":
        """A conjunction: every named attribute has this value, or one of these.

        >>> Predicate.where({1: 0, 0: [1]}, Domain.binary(3)).mask.tolist()
        [[False, False], [True, False]]
        """
        axes = tuple(sorted(values))
        mask: NDArray[np.bool_] = np.ones((), dtype=np.bool_)
        for axis in axes:
            wanted = values[axis]
            chosen = np.zeros(domain.sizes[axis], dtype=np.bool_)
            chosen[[wanted] if isinstance(wanted, int) else list(wanted)] = True
            mask = np.logical_and.outer(mask, chosen)
        return cls(axes, mask)

    @classmethod
    def any_of(cls, parts: Sequence["Predicate"], domain: Domain) -> "Predicate":
        """Rows that one of the parts counts.

        >>> one, two = (Predicate.where({a: 1}, Domain.binary(2)) for a in (0, 1))
        >>> Predicate.any_of([one, two], Domain.binary(2)).mask.tolist()
        [[False, True], [True, True]]
        """
        axes = tuple(sorted({axis for part in parts for axis in part.axes}))
        mask = np.zeros(tuple(domain.sizes[axis] for axis in axes), dtype=np.bool_)
        for part in parts:
            shape = [domain.sizes[axis] if axis in part.axes else 1 for axis in axes]
            mask |= part.mask.reshape(shape)
        return cls(axes, mask)

    @property
    def slices(self) -> tuple[slice, ...] | None:
        """The box of neighbouring values it counts, or None if it counts anything else.

        >>> Predicate((0,), np.array([False, True, True])).slices
        (slice(1, 3, None),)
        """
        if not self.axes or not self.mask.any():
            return None
        counted = np.nonzero(self.mask)
        box = tuple(slice(int(place.min()), int(place.max()) + 1) for place in counted)
        return box if self.mask[box].all() else None

    def box(self, domain: Domain) -> Box | None:
        """Where the cells lie that it counts, if they are a box; remembered for one domain.

        >>> Predicate.where({0: 1}, Domain.binary(3)).box(Domain.binary(3))
        Box(start=4, shape=(4,), strides=(1,))
        """
        if self._placed[0] is not domain:
            known = range(len(domain.sizes))
            sizes = tuple(domain.sizes[axis] for axis in self.axes if axis in known)
            if sizes != self.mask.shape:  # it would reach beyond the cells, into other memory
                raise InvalidValue(
                    f"the mask is of shape {self.mask.shape}; the attributes {self.axes} of this "
                    f"domain have {sizes} values. Nothing was read."
                )
            parts = self.slices
            box = None if parts is None else box_of(domain.sizes, self.axes, parts)
            object.__setattr__(self, "_placed", (domain, box))
        placed: Box | None = self._placed[1]
        return placed

    def counts(self, places: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows it counts; `places` has a column for every attribute of the domain.

        >>> Predicate((1,), np.array([False, True])).counts(np.array([[0, 1], [1, 0]])).tolist()
        [True, False]
        """
        chosen: NDArray[np.bool_] = self.mask[tuple(places[:, axis] for axis in self.axes)]
        return np.broadcast_to(chosen, len(places))
