"""What the operator of a server decides: where it listens, its limits, where data may come from.
Public facts only; every value has a safe default.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InvalidValue
from discreet.ledger.quota import LARGEST_QUOTA
from discreet.ledger.vault import vault_around

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and places of one server.

    `roots` are the folders from which custodians may register files, `databases` names for
    database URLs that they may use; both are empty unless the operator fills them. `guided` shows
    a first visitor what to do.
    """

    host: str = "127.0.0.1"
    port: int = 8642
    roots: tuple[Path, ...] = ()
    databases: Mapping[str, str] = None  # type: ignore[assignment]
    secure_cookies: bool = False
    guided: bool = False
    body_bytes: int = 64 * 1024
    most_running: int = 32
    most_waiting: int = 64
    most_per_account: int = 32
    most_running_per_account: int = 16
    requests_per_minute: int = 6000
    account_bytes: int = 256 << 20
    request_seconds: int = 30
    token_days: int = 90
    login_hours: int = 12
    logins_per_minute: int = 10
    checks_per_minute: int = 120
    drain_seconds: int = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "databases", dict(self.databases or {}))
        limits = {
            "body_bytes": (1024, 16 << 20),
            "most_running": (1, 256),
            "most_waiting": (0, 10_000),
            "most_per_account": (1, 10_000),
            "most_running_per_account": (1, 256),
            "requests_per_minute": (1, 1_000_000),
            "account_bytes": (1, LARGEST_QUOTA),
            "request_seconds": (1, 3600),
            "token_days": (1, 3650),
            "login_hours": (1, 168),
            "logins_per_minute": (1, 1000),
            "checks_per_minute": (1, 100_000),
            "drain_seconds": (0, 600),
            "port": (0, 65535),
        }
        for name, (least, most) in limits.items():
            value: object = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not least <= value <= most:  # type: ignore[operator]
                raise InvalidValue(f"{name} is {value!r:.80}; it must be {least} to {most}.")
        for root in self.roots:
            if not root.is_absolute() or not root.is_dir():
                raise InvalidValue(f"the root {root} is not an existing absolute folder.")

    def source(self, text: str) -> str:
        """The source that a request may name: a file under a root, or a configured database.

        A database is written NAME#TABLE. Links that lead out of the roots, URLs, what lies in a
        vault and everything else are refused in the same words, whether something is there or not.
        >>> Settings().source("/etc/passwd")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the source '/etc/passwd' is not a file under a configured \
root, nor a configured database. Nothing was added.
        """
        name, mark, table = text.partition("#")
        if mark and name in self.databases:
            return f"{self.databases[name]}#{table}"
        refusal = InvalidValue(
            f"the source {text!r:.200} is not a file under a configured root, nor a configured "
            "database. Nothing was added."
        )
        if "://" in text or "\0" in text or not name:
            raise refusal
        for root in self.roots:
            place = Path(os.path.realpath(root / name))
            under = place.is_relative_to(os.path.realpath(root)) and place.is_file()
            if under and vault_around(place) is None:
                return f"{place}{mark}{table}"
        raise refusal
