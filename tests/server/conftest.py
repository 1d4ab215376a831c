"""A server in this process for one test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server_house import House, house_of


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house of one test's own."""
    yield from house_of(tmp_path / "h")
