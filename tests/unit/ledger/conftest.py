"""The two places a ledger can be in: an SQLite file of the vault's folder, and a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.ledger.vault import Vault


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.slow("PostgreSQL"))])
def new_vault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vault]:
    """An empty vault; tests that are about a file ask for it indirectly."""
    folder = tmp_path / "vault"
    if request.param == "file":
        made = Vault.open(folder)
    else:
        made = Vault.open(request.getfixturevalue("ledger_url"), folder=folder)
    with made:
        yield made
