"""Who is next where few can be served at once: whoever holds the fewest places, of several the one
who was served longest ago. So nobody who asks much keeps others waiting. Looks at names and
counts; runs nothing.
"""

from collections import Counter
from typing import Generic, TypeVar

from discreet.schema.column import whole

__all__ = ["Line"]

_Item = TypeVar("_Item")
_LARGEST = 10**6


class Line(Generic[_Item]):
    """Those who wait for one of so many places, of which one asker holds only a part.

    It is not for several threads at once: its owner has a lock. Who is next depends on who asks,
    never on what is found.
    >>> line = Line[str](places=2, places_of_one=2)
    >>> for asker, item in [("ana", "a1"), ("ana", "a2"), ("ana", "a3"), ("bob", "b1")]:
    ...     line.join(asker, item)
    >>> line.admit()
    ['a1', 'b1']
    >>> line.leave("ana")
    >>> line.admit()
    ['a2']
    """

    __slots__ = ("_held", "_last", "_places", "_places_of_one", "_waiting")

    def __init__(self, *, places: int, places_of_one: int) -> None:
        self._places = whole(places, "places", 1, _LARGEST)
        self._places_of_one = whole(places_of_one, "places_of_one", 1, _LARGEST)
        self._held: Counter[str] = Counter()
        self._last: dict[str, None] = {}  # askers who were served, the latest last
        self._waiting: list[tuple[str, _Item]] = []

    def join(self, asker: str, item: _Item) -> None:
        """Wait at the end of one's own part of the line."""
        self._waiting.append((asker, item))

    def admit(self) -> list[_Item]:
        """Those whose turn it is now; each holds a place until its asker leaves one."""
        items: list[_Item] = []
        while self._held.total() < self._places:
            order = {asker: place for place, asker in enumerate(self._last, 1)}
            able = [
                (self._held[asker], order.get(asker, 0), place)
                for place, (asker, _) in enumerate(self._waiting)
                if self._held[asker] < self._places_of_one
            ]
            if not able:
                break
            asker, item = self._waiting.pop(min(able)[2])
            self._held[asker] += 1
            self._last.pop(asker, None)
            self._last[asker] = None
            items.append(item)
        return items

    def leave(self, asker: str) -> None:
        """Give a place back."""
        self._held[asker] -= 1
        if not self._held[asker]:
            del self._held[asker]

    def withdraw(self, item: _Item) -> bool:
        """Wait no more; whether it was still waiting."""
        others = [waiter for waiter in self._waiting if waiter[1] is not item]
        gone = len(others) < len(self._waiting)
        self._waiting = others
        return gone

    def dismiss(self) -> list[_Item]:
        """Those who waited; none of them does any more."""
        gone = [item for _, item in self._waiting]
        self._waiting = []
        return gone

    def inside(self, asker: str | None = None) -> int:
        """How many of one asker, or of all, hold a place or wait for one."""
        if asker is None:
            return self._held.total() + len(self._waiting)
        return self._held[asker] + sum(waiter[0] == asker for waiter in self._waiting)
