"""The key that encrypts prepared files, and how a child opens what was encrypted.
The key is read from the environment or a file of its own and is never written anywhere: it goes
to the child through its pipe, apart from the statements, and stays out of every text.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.engines.process.child import KEY_MARK, Child, Failed, Order, text
from discreet.errors import InvalidValue, SchemaError, Unavailable

__all__ = ["CRYPTO", "DataKey", "ENCRYPTED", "is_encrypted", "refuse_frame", "require_data_key"]

CRYPTO = ("LOAD httpfs",)
"""What gives DuckDB random numbers that are fit for encrypting; reading needs nothing."""

ENCRYPTED = "-sealed"
"""What the name of an encrypted file holds; no table's name has a hyphen."""

_KEY, _KEY_FILE = "DISCREET_DATA_KEY", "DISCREET_DATA_KEY_FILE"
_SHORTEST = 32
_MAKE_ONE = "Make one with `openssl rand -hex 32`"


def is_encrypted(path: Path) -> bool:
    """Whether a prepared file is encrypted.

    >>> is_encrypted(Path("visits-0a1b-sealed.kept.duckdb"))
    True
    """
    return ENCRYPTED in path.name


def _from_file(given: str, vault: Path) -> str:
    file = Path(given)
    try:
        status, content = file.stat(), file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidValue(
            f"{_KEY_FILE} is {given!r}, which is not a text that can be read."
        ) from None
    if status.st_mode & 0o077:
        raise InvalidValue(f"{_KEY_FILE} is {given!r}; others can read it. Run chmod 600 on it.")
    if file.resolve().is_relative_to(vault.resolve()):
        raise InvalidValue(
            f"{_KEY_FILE} is {given!r}, inside the vault whose rows it encrypts. Keep it elsewhere."
        )
    return content


@dataclass(frozen=True, slots=True)
class DataKey:
    """A key of 256 bits for the prepared files of a vault. Whoever has the key can read the rows.

    >>> DataKey.read(Path("vault"), {"DISCREET_DATA_KEY": "5" * 64})
    DataKey()
    """

    key: str = field(repr=False)

    @classmethod
    def read(cls, vault: Path, environment: Mapping[str, str] = os.environ) -> "DataKey | None":
        """The custodian's key from DISCREET_DATA_KEY or the file DISCREET_DATA_KEY_FILE.

        >>> DataKey.read(Path("vault"), {}) is None
        True
        """
        key, file = environment.get(_KEY, ""), environment.get(_KEY_FILE, "")
        if not key and not file:
            return None
        if key and file:
            raise InvalidValue(f"{_KEY} and {_KEY_FILE} are both set; unset one of them.")
        content = (key or _from_file(file, vault)).strip()
        if len(content) < _SHORTEST:
            raise InvalidValue(
                f"the data key has {len(content)} characters; the least is {_SHORTEST}. "
                f"{_MAKE_ONE}."
            )
        stretched = HKDF(SHA256(), 32, salt=None, info=b"discreet prepared rows").derive(
            content.encode()
        )
        return cls(base64.b64encode(stretched).decode())

    @staticmethod
    def attach(path: str, name: str, access: str) -> str:
        """The statement that opens an encrypted file, without the key; the child puts it in.

        >>> DataKey.attach("a.duckdb", "t0", "READ_ONLY").replace(KEY_MARK, "...")
        "ATTACH 'a.duckdb' AS t0 (TYPE duckdb, READ_ONLY, ENCRYPTION_KEY '...')"
        """
        return f"ATTACH {text(path)} AS {name} (TYPE duckdb, {access}, ENCRYPTION_KEY '{KEY_MARK}')"

    @staticmethod
    def check_writable() -> None:
        """Refuse to encrypt where DuckDB lacks random numbers fit for it."""
        order = Order(database=":memory:", commands=("names",), statements=CRYPTO)
        ready = False
        try:
            with Child(order) as child:
                ready = bool(child.ask("names", "SELECT 1", limit_seconds=60))
        except (Failed, OSError):
            ready = False
        if not ready:
            raise SchemaError(
                "a data key is set, but DuckDB writes encrypted files safely only with its "
                "extension httpfs, which is not installed here. Run `INSTALL httpfs` once in the "
                "same version of DuckDB, or unset the key. Nothing was added."
            )


def require_data_key(key: DataKey | None) -> DataKey:
    """The key of an encrypted file, or the refusal that says how to give it.

    >>> require_data_key(None)
    Traceback (most recent call last):
    discreet.errors.Unavailable: the prepared rows are encrypted and no key is set; the custodian \
sets DISCREET_DATA_KEY or DISCREET_DATA_KEY_FILE. Nothing was run or charged.
    """
    if key is None:
        raise Unavailable(
            "the prepared rows are encrypted and no key is set; the custodian sets "
            f"{_KEY} or {_KEY_FILE}. Nothing was run or charged."
        )
    return key


def refuse_frame(key: DataKey | None, table: str) -> None:
    """Refuse rows from memory where files are to be encrypted."""
    if key is not None:
        raise SchemaError(
            f"{table}: a data key is set, and rows from memory would pass through a file that is "
            "not encrypted. Name a source file instead. Nothing was added."
        )
