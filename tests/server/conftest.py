"""A server in this process for one test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.served_vault import ServedVault, serve_vault


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedVault]:
    """A served of one test's own."""
    yield from serve_vault(tmp_path / "h")
