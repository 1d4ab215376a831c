"""Long lists in pages: how a request says which part it wants, and where the next part is.
Knows numbers only.
"""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Query, Response

__all__ = ["After", "Limit", "PAGE", "number_in", "with_next"]

PAGE = 100
"""How many a page of the site shows."""

_MOST = 1000
_LARGEST = (1 << 63) - 1
_Item = TypeVar("_Item")

After = Annotated[int, Query(ge=0, le=_LARGEST, description="what comes after this number")]
"""The number after which a part of a list begins."""

Limit = Annotated[int, Query(ge=1, le=_MOST, description="how many at most")]
"""How long a part of a list may be."""


def with_next(
    response: Response, path: str, items: Sequence[_Item], numbers: Sequence[int], limit: int
) -> list[_Item]:
    """The first `limit` of what was found, with a link to the next ones if there are more.

    >>> response = Response()
    >>> with_next(response, "/answers", ["a", "b"], [4, 5], 1)
    ['a']
    >>> response.headers["link"]
    '</answers?after=4&limit=1>; rel="next"'
    """
    if len(items) > limit:
        last = numbers[limit - 1]
        response.headers["Link"] = f'<{path}?after={last}&limit={limit}>; rel="next"'
    return list(items[:limit])


def number_in(text: str) -> int | None:
    """The number that a page's address carries, if it is one.

    >>> number_in("12"), number_in("x"), number_in("9" * 30)
    (12, None, None)
    """
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        return None
    return int(text)
