"""Checks a release's folder against its manifest, and against the ledger where there is one. Reads
released files only.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import InvalidValue
from discreet.ledger.entry import Act, Entry
from discreet.release.declared import digest_of
from discreet.release.published import FORMAT, MANIFEST, hash_of

__all__ = ["check_entries", "check_folder", "read_manifest"]

_FACTS = ("title", "description", "publisher", "table", "columns", "guarantee", "parts")
_LATER = ("notes",)  # releases of earlier versions have none
_GUARANTEE = ("epsilon", "delta", "composition")


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a folder.

    >>> read_manifest("no-such-folder")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: no-such-folder has no manifest.json; it is not a release.
    """
    path = Path(folder) / MANIFEST
    if not path.is_file():
        raise InvalidValue(f"{Path(folder).name} has no {MANIFEST}; it is not a release.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidValue(f"{MANIFEST} is not JSON; ask for the release again.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidValue(f"{MANIFEST} is not of the format {FORMAT!r}.")
    return manifest


def check_folder(folder: str | Path) -> list[str]:
    """What is wrong with a folder: missing, changed or unknown files, tables that do not fit."""
    place, manifest = Path(folder), read_manifest(folder)
    problems = [f"the manifest has no {name}" for name in _FACTS if name not in manifest]
    problems += [
        f"the guarantee has no {name}"
        for name in _GUARANTEE
        if name not in manifest.get("guarantee", {})
    ]
    known = {MANIFEST}
    listed = dict(manifest.get("page", {}))
    for table in manifest.get("tables", []):
        listed |= table.get("files", {})
        problems += _table_problems(place, table)
    for name, hashed in listed.items():
        known.add(name)
        path = place / name
        if not path.resolve().is_relative_to(place.resolve()) or not path.is_file():
            problems.append(f"{name} is missing")
        elif hash_of(path) != hashed:
            problems.append(f"{name} was changed")
    present = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    problems += [f"{name} is not in the manifest" for name in sorted(present - known)]
    return problems


def _table_problems(place: Path, table: Mapping[str, Any]) -> list[str]:
    name = table.get("name", "?")
    if not table.get("files"):
        return [f"{name} has no files"]
    path = place / f"tables/{name}.csv"
    if not path.is_file():
        return []  # said with the files
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        head = next(reader, [])
        rows = sum(1 for _ in reader)
    problems = []
    if head != table.get("columns"):
        problems.append(f"{name} has other columns than the manifest says")
    if rows != table.get("rows"):
        problems.append(f"{name} has {rows:,} rows, the manifest says {table.get('rows'):,}")
    return problems


def check_entries(manifest: Mapping[str, Any], entries: list[Entry]) -> list[str]:
    """What the ledger says against a manifest: the receipt, and all that was decided beforehand.

    >>> check_entries({"receipt": {"id": "7"}}, [])
    ['receipt 7 is not in the ledger']
    """
    wanted = manifest["receipt"]["id"]
    for entry in entries:
        if entry.act is Act.CHARGE and entry.hash.startswith(wanted):
            facts = {name: manifest[name] for name in (*_FACTS, *_LATER) if name in manifest}
            if entry.said.get("release") != digest_of(facts):
                return [f"receipt {wanted} was for another release, or the manifest was changed"]
            return []
    return [f"receipt {wanted} is not in the ledger"]
