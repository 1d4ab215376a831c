"""A release that has been paid for: its tables, its manifest, and the folder they are written to.
Holds released numbers and public facts only.
"""

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import InvalidValue
from discreet.release.page import page_of
from discreet.release.sheets import Sheet

__all__ = ["FORMAT", "MANIFEST", "PAGE", "Published", "empty_folder", "hash_of"]

FORMAT = "discreet release 1"
"""What a manifest says it is."""

MANIFEST = "manifest.json"
"""The name of the manifest in a release's folder."""

PAGE = "index.html"
"""The name of the page in a release's folder."""


def empty_folder(folder: Path) -> Path:
    """A folder a release can be written to: new, or empty. Checked before anything is paid for.

    >>> empty_folder(Path(__file__))
    Traceback (most recent call last):
    discreet.errors.InvalidValue: published.py is a file; name a folder. Nothing was charged.
    """
    if folder.is_file():
        raise InvalidValue(f"{folder.name} is a file; name a folder. Nothing was charged.")
    if folder.is_dir() and any(folder.iterdir()):
        raise InvalidValue(
            f"the folder {folder} is not empty; name a new one for each release. "
            "Nothing was charged."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True, slots=True)
class Published:
    """The tables of a release and everything that is said about them.

    >>> Published({}, "7", "2026-01-01T00:00:00Z", ()).tables
    {}
    """

    facts: Mapping[str, Any]
    receipt: str
    time: str
    sheets: tuple[Sheet, ...]

    @property
    def tables(self) -> dict[str, Sheet]:
        """The tables by name."""
        return {sheet.name: sheet for sheet in self.sheets}

    def manifest(self, files: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
        """All public facts, and for each table its files with their hashes.

        >>> Published({}, "7", "now", ()).manifest({})["receipt"]
        {'id': '7', 'time': 'now'}
        """
        return {
            "format": FORMAT,
            "software": f"discreet {__version__}",
            **self.facts,
            "receipt": {"id": self.receipt, "time": self.time},
            "tables": [
                {
                    "name": sheet.name,
                    "words": sheet.words,
                    "rows": sheet.rows,
                    "columns": list(sheet.columns),
                    "keys": list(sheet.keys),
                    "files": files.get(sheet.name, {}),
                }
                for sheet in self.sheets
            ],
        }

    def write(self, folder: str | Path) -> Path:
        """Write tables, manifest and page to a new folder.

        CSV always; Parquet where pyarrow is there; charts where the plots extra is.
        """
        place = empty_folder(Path(folder))
        (place / "tables").mkdir()
        files: dict[str, dict[str, str]] = {}
        for sheet in self.sheets:
            written = {f"tables/{sheet.name}.csv": sheet.write_csv}
            if importlib.util.find_spec("pyarrow") is not None:
                written[f"tables/{sheet.name}.parquet"] = sheet.write_parquet
            files[sheet.name] = {}
            for name, write in written.items():
                write(place / name)
                files[sheet.name][name] = hash_of(place / name)
        manifest = self.manifest(files)
        page = page_of(manifest, self.sheets)
        (place / PAGE).write_text(page, encoding="utf-8")
        manifest["page"] = {PAGE: hash_of(place / PAGE)}
        text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False)
        (place / MANIFEST).write_text(text + "\n", encoding="utf-8")
        return place


def hash_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
