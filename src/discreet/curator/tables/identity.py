"""What a source is known again by, however it is reached, and where no source may lie. Looks at
rows only to make keyed hashes of them, which stay in the vault.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from discreet.curator.tables.intake import Intake
from discreet.engines.origins import Origin
from discreet.errors import SchemaError
from discreet.ledger.catalogue import Identity, Registration
from discreet.ledger.vault import Vault, vault_around

__all__ = ["frame_identity", "identity_of", "refuse_vaults"]


def refuse_vaults(name: str, origin: Origin) -> None:
    """Refuse a source that lies in a vault: its rows are known there, under another name."""
    for place in origin.places():
        folder = vault_around(Path(place))
        if folder is not None:
            raise SchemaError(
                f"{name}: the source lies in the vault {str(folder)!r}. What a vault holds is "
                "about people who have a budget already; name the data it was made from, outside "
                "of every vault. Nothing was added."
            )


def identity_of(vault: Vault, intake: Intake, prepared: Path | None) -> Identity:
    """What ties a source to its population and its unit.

    A copy of a prepared file, outside of the vault, counts as the rows that it was made from. Keyed
    hashes of exact data, for the vault alone.
    """
    origin = intake.origin
    places = origin.places()
    places += _links(places, vault.catalogue.tables())
    contents, table = _contents(vault, intake, prepared), origin.inside()
    if table is None:
        return Identity(places, contents)
    return Identity(
        places=tuple(f"{place}\0{'.'.join(table)}" for place in places),
        contents=contents,
        around=places,
        contents_around=(vault.catalogue.fingerprint(origin.content()),),
    )


def frame_identity(vault: Vault, intake: Intake, prepared: Path | None) -> Identity:
    """The same for rows from memory, which were written to a file for a moment: it has no place.

    Keyed hashes of exact data, for the vault alone.
    """
    return Identity(contents=_contents(vault, intake, prepared))


def _contents(vault: Vault, intake: Intake, prepared: Path | None) -> tuple[bytes, ...]:
    keyed = vault.catalogue.fingerprint
    marks = [keyed([mark]) for mark in intake.origin.marks(intake.codes)]
    return tuple(marks if prepared is None else [*marks, keyed(prepared)])


def _links(places: Iterable[str], tables: Iterable[Registration]) -> tuple[str, ...]:
    """Other names under which these files are sources: hard links, another mount."""
    known = {table.source for table in tables if table.source is not None}
    files = {file for source in known for file in _files(source)}
    return tuple(file for file in sorted(files) if any(_same(file, place) for place in places))


def _files(source: str) -> tuple[str, ...]:
    """A source that was registered, and the files that it stands for, where it is a pattern."""
    try:
        return (source, *map(str, Origin.of(source).files))
    except (SchemaError, OSError):
        return (source,)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
