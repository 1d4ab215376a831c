"""A vault: a folder of its owner's, and the ledger in one SQLite file there or on a server.
Only combines the parts; each part owns its own rules.
"""

import os
from pathlib import Path

from discreet.errors import InvalidValue, Unavailable
from discreet.ledger.catalogue import Catalogue
from discreet.ledger.causes import Causes
from discreet.ledger.floor import NO_FLOOR, PriceFloor
from discreet.ledger.history import History
from discreet.ledger.ledger import Ledger
from discreet.ledger.releases import Releases
from discreet.ledger.requests import Requests
from discreet.ledger.states import States
from discreet.ledger.store.place import Place, put_file
from discreet.ledger.store.server import is_server, server_url
from discreet.ledger.store.store import Store

__all__ = ["FILE", "Vault", "folder_of", "is_vault", "seal_beside", "vault_around"]

FILE = "vault.db"
"""The name of the file inside the folder."""

_ADDRESS = "ledger"  # the file that names the server, where the ledger is not in the folder
_VARIABLE = "DISCREET_VAULT"


def is_vault(folder: Path) -> bool:
    """Whether a folder holds a ledger, or says on which server it is."""
    return (folder / FILE).is_file() or (folder / _ADDRESS).is_file()


def seal_beside(folder: Path) -> Path | None:
    """The folder with the seal of a vault that is, or was, in a folder; None if there is none."""
    anchor = Place.of(folder.absolute()).anchor_file
    return anchor.parent if anchor.is_file() else None


def vault_around(path: Path) -> Path | None:
    """The vault that a file or folder is in or is, links followed; None if there is none."""
    real = path.resolve()
    for folder in (real, *real.parents):
        if (folder / FILE).is_file() or _names_server(folder / _ADDRESS):
            return folder
    return None


def _names_server(file: Path) -> bool:
    """Whether it is a vault's file with the address of its server, not one of the same name."""
    try:
        return file.is_file() and is_server(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def folder_of(place: str | Path, folder: str | Path | None = None) -> Path:
    """The local folder of a vault; beside a server's URL it is named apart or by DISCREET_VAULT.

    >>> folder_of("postgresql://db.example/ledger", "vault").name
    'vault'
    >>> folder_of("")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: the vault's folder is empty; name one.
    """
    chosen = place
    if is_server(place):
        chosen = folder or os.environ.get(_VARIABLE, "")
        if not str(chosen):
            raise InvalidValue(
                "the ledger is on a server, but prepared tables, key and anchor need a folder "
                f"here; pass folder= or set {_VARIABLE}. Nothing was opened."
            )
    elif folder is not None:
        raise InvalidValue("folder= goes with a postgresql:// URL only; name one place.")
    if not str(chosen):
        raise InvalidValue("the vault's folder is empty; name one.")
    return Path(chosen).absolute()


class Vault:
    """The folder of a curator: ledger, releases, requests, states and catalogue in one file.

    What is in the folder is for the custodian only.
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Vault.open(f"{folder}/vault") as vault:
    ...     vault.ledger.verify().sound
    True
    """

    __slots__ = (
        "_store",
        "catalogue",
        "causes",
        "folder",
        "history",
        "ledger",
        "releases",
        "requests",
        "states",
    )

    def __init__(self, folder: Path, store: Store, floor: PriceFloor = NO_FLOOR) -> None:
        self.folder = folder
        self._store = store
        self.ledger = Ledger(store, floor)
        self.releases = Releases(store)
        self.requests = Requests(store, self.releases)
        self.catalogue = Catalogue(store)
        self.states = States(store)
        self.history = History(store)
        self.causes = Causes(store)

    @classmethod
    def open(
        cls, place: str | Path, *, folder: str | Path | None = None, floor: PriceFloor = NO_FLOOR
    ) -> "Vault":
        """Open the vault in a folder, or make both, readable by their owner only.

        A postgresql:// URL keeps the ledger on a server, for several curators; the folder, named
        apart, remembers it and can be opened by itself from then on.

        >>> Vault.open("")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the vault's folder is empty; name one.
        """
        where = folder_of(place, folder)
        if is_server(place):
            url = server_url(str(place))
            _check_tie(where, url)
            store = Store.server(url, where)
            _tie(where, url)  # only now: a mistyped address ties no folder
            return cls(where, store, floor)
        if (where / _ADDRESS).is_file():
            return cls(where, Store.server(_address(where), where), floor)
        return cls(where, Store.file(where / FILE), floor)

    def close(self) -> None:
        """Close the connections; the vault can be opened again."""
        self._store.close()

    def __enter__(self) -> "Vault":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _address(folder: Path) -> str:
    """The server that the folder's ledger is on."""
    try:
        return (folder / _ADDRESS).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise Unavailable(
            f"{folder / _ADDRESS}, which names the ledger's server, cannot be read; correct it. "
            "Nothing was run or charged."
        ) from None


def _check_tie(folder: Path, url: str) -> None:
    """Refuse a folder with a ledger of its own, or on another server."""
    if (folder / FILE).exists():
        raise InvalidValue(
            f"the folder {folder} holds a ledger of its own ({FILE}); name another folder. "
            "Nothing was opened."
        )
    known = _address(folder) if (folder / _ADDRESS).exists() else url
    if known != url:
        raise InvalidValue(
            f"the folder {folder} belongs to another ledger, {known!r}; name another folder, or, "
            f"if that server has moved, write where to into its file {_ADDRESS!r}. "
            "Nothing was opened."
        )


def _tie(folder: Path, url: str) -> None:
    """Tie a folder to a server for good: no second ledger, and no second budget, begins there."""
    try:
        put_file(folder / _ADDRESS, f"{url}\n")
    except OSError as error:
        raise Unavailable(f"{folder}: {error.strerror}. Nothing was run or charged.") from error
    _check_tie(folder, url)  # of two at once the first has tied it
