"""A vault: a folder of its owner's with one SQLite file, and what that file holds.
Only puts the parts together; each part owns its own rules.
"""

from pathlib import Path

from discreet.errors import InvalidValue
from discreet.ledger._store import Store
from discreet.ledger.catalogue import Catalogue
from discreet.ledger.releases import Releases
from discreet.ledger.requests import Requests
from discreet.ledger.sqlite import Ledger

__all__ = ["FILE", "Vault"]

FILE = "vault.db"
"""The name of the file inside the folder."""


class Vault:
    """The folder of a curator: ledger, releases, requests and catalogue in one file.

    Privacy: none (touches no data); what is in the folder is for the custodian only.
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Vault.open(f"{folder}/vault") as vault:
    ...     vault.ledger.verify().sound
    True
    """

    __slots__ = ("_store", "catalogue", "folder", "ledger", "releases", "requests")

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self._store = store
        self.ledger = Ledger(store)
        self.releases = Releases(store)
        self.requests = Requests(store, self.releases)
        self.catalogue = Catalogue(store)

    @classmethod
    def open(cls, folder: str | Path) -> "Vault":
        """Open the vault in a folder, or make both, readable by their owner only.

        Privacy: none (touches no data).
        >>> Vault.open("")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the vault's folder is empty; name one.
        """
        if not str(folder):
            raise InvalidValue("the vault's folder is empty; name one.")
        where = Path(folder).absolute()
        return cls(where, Store(where / FILE))

    def close(self) -> None:
        """Close the file; the vault can be opened again.

        Privacy: none (touches no data).
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Vault.open(f"{folder}/vault").close()
        """
        self._store.close()

    def __enter__(self) -> "Vault":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
