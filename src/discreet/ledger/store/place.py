"""The key of the seals and the anchor: two small files outside the vault.
The key is made once and only read afterwards; the anchor holds the newest seal and only grows.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import Unavailable
from discreet.noise.bits import system

__all__ = ["Anchor", "Place", "put_file"]

_KEY_VARIABLE = "DISCREET_KEY_FILE"
_ANCHOR_VARIABLE = "DISCREET_ANCHOR"
_LENGTH = 107  # of an anchor: written in place, within one sector


@dataclass(frozen=True, slots=True)
class Anchor:
    """The newest seal that was exported: its number, the newest entry then, and its code."""

    number: int = 0
    sequence: int = 0
    code: str = "0" * 64

    def __str__(self) -> str:
        return f"{self.number:020d} {self.sequence:020d} {self.code}\n"

    @classmethod
    def read(cls, text: str) -> "Anchor":
        """The anchor that was written; a damaged one is refused."""
        parts = text.split()
        if len(text) != _LENGTH or len(parts) != 3 or len(parts[2]) != 64:
            raise ValueError("not an anchor")
        return cls(int(parts[0]), int(parts[1]), parts[2])


@dataclass(frozen=True, slots=True)
class Place:
    """Where the key and the anchor of a vault are."""

    key_file: Path
    anchor_file: Path

    @classmethod
    def of(cls, vault: Path) -> "Place":
        """As the environment says, else in a folder beside the vault's."""
        beside = vault.with_name(f"{vault.name}.seal") if vault.name else vault / "vault.seal"
        key, anchor = os.environ.get(_KEY_VARIABLE), os.environ.get(_ANCHOR_VARIABLE)
        return cls(
            Path(key).absolute() if key else beside / "key",
            Path(anchor).absolute() if anchor else beside / "anchor",
        )

    def key(self) -> bytes | None:
        """The key, or None where there is none; one that others can read is refused."""
        with _explain(self.key_file, _KEY_VARIABLE):
            try:
                with self.key_file.open("rb") as file:
                    if os.fstat(file.fileno()).st_mode & 0o077:
                        raise Unavailable(
                            f"{self.key_file}: others may read the key; make it yours alone "
                            "(chmod 600). Nothing was run or charged."
                        )
                    return bytes.fromhex(file.read().decode("ascii"))
            except FileNotFoundError:
                return None
            except ValueError:
                raise Unavailable(
                    f"{self.key_file} holds no key; put it back. Nothing was run or charged."
                ) from None

    def ensure_key(self) -> bytes:
        """The key, made on the first time; of two who make it at once both get the same."""
        known = self.key()
        if known is None:
            text = system.bits(256).to_bytes(32, "little").hex()
            with _explain(self.key_file, _KEY_VARIABLE):
                put_file(self.key_file, text)
            known = self.key()
        if not known:
            raise Unavailable(f"{self.key_file} holds no key. Nothing was run or charged.")
        return known

    def anchor(self) -> Anchor | None:
        """The anchor, or None where there is none."""
        with _explain(self.anchor_file, _ANCHOR_VARIABLE):
            try:
                return Anchor.read(self.anchor_file.read_text("ascii"))
            except FileNotFoundError:
                return None

    def ensure_anchor(self) -> Anchor:
        """The anchor; on the first time one that anchors nothing yet."""
        known = self.anchor()
        if known is None:
            with _explain(self.anchor_file, _ANCHOR_VARIABLE):
                put_file(self.anchor_file, str(Anchor()))
            known = self.anchor()
        return known or Anchor()

    def check_writable(self) -> None:
        """Refuse before anything is charged if the anchor could not be moved on afterwards."""
        if not os.access(self.anchor_file, os.R_OK | os.W_OK):
            raise Unavailable(
                f"{self.anchor_file}: the anchor is gone or cannot be written; put it back or make "
                "it writable. Nothing was run or charged."
            )

    def export(self, newest: Anchor) -> None:
        """Move the anchor on; never back, whatever order processes come in."""
        with _explain(self.anchor_file, _ANCHOR_VARIABLE, "Nothing was run; a charge may stand."):
            descriptor = os.open(self.anchor_file, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                there = Anchor.read(os.pread(descriptor, 2 * _LENGTH, 0).decode("ascii"))
                if newest.number > there.number:
                    os.pwrite(descriptor, str(newest).encode("ascii"), 0)
            finally:
                os.close(descriptor)


def put_file(path: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all, for its owner only; the first stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{system.bits(64):016x}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.close(descriptor)
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _explain(
    path: Path, variable: str, happened: str = "Nothing was run or charged."
) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"{path}: {error.strerror}; make it readable and writable for you, or name another "
            f"place in {variable}. {happened}"
        ) from error
    except ValueError as error:
        raise Unavailable(f"{path} is damaged; put it back. {happened}") from error
