"""Which cases of a large product `make test` runs; `make test-slow` runs the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], every: int, kind: str) -> list[Any]:
    """The cases, all but each `every`-th one marked as slow."""
    mark = pytest.mark.slow(kind)
    return [
        pytest.param(case, marks=mark) if place % every else case
        for place, case in enumerate(cases)
    ]
