"""Reads a release's specification (TOML) into a declaration, or says what to write instead. Opens
the specification only.
"""

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from discreet.errors import InvalidValue
from discreet.release.declared import Release
from discreet.release.kinds import Declared
from discreet.schema.column import nearest

__all__ = ["read_release"]

_SECTIONS = ("columns", "release", "tables")
_FACTS = ("description", "epsilon", "publisher", "rho", "table", "title", "where")


def read_release(source: str | Path | Mapping[str, Any]) -> Release:
    """Read a release from a TOML file, by its path, or from a mapping of the same shape.

    >>> read_release({"release": {"table": "visits", "epsilon": 1},
    ...     "tables": [{"kind": "marginals", "name": "n", "columns": ["region"]}]}).title
    'visits'
    """
    document = dict(source) if isinstance(source, Mapping) else _read_toml(Path(source))
    _check_names(document, _SECTIONS, "the specification")
    facts = document.get("release")
    if not isinstance(facts, Mapping) or "table" not in facts:
        raise InvalidValue('the specification has no [release] with a table; write table = "...".')
    _check_names(facts, _FACTS, "[release]")
    columns = document.get("columns", {})
    if not isinstance(columns, Mapping) or not all(isinstance(v, str) for v in columns.values()):
        raise InvalidValue("[columns] takes names and SQL expressions, as texts.")
    listed = document.get("tables", [])
    if not isinstance(listed, list) or not listed:
        raise InvalidValue("the specification has no [[tables]]; write at least one.")
    chosen = {name: facts[name] for name in _FACTS if name in facts}
    return Release(
        **{"title": str(facts["table"]), **chosen},
        columns=dict(columns),
        tables=tuple(_read_table(entry, place) for place, entry in enumerate(listed, 1)),
    )


def _read_table(entry: Any, place: int) -> Declared:
    if not isinstance(entry, Mapping) or not {"kind", "name"} <= set(entry):
        raise InvalidValue(f"table {place} of the specification has no kind and name; write both.")
    options = {name: value for name, value in entry.items() if name not in ("kind", "name")}
    weight = options.pop("weight", 1)
    return Declared(str(entry["kind"]), str(entry["name"]), options, weight)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except UnicodeDecodeError:
        text = f"{path.name}: not UTF-8 text. A specification is a TOML file."
        raise InvalidValue(text) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidValue(f"{path.name}: not TOML ({error}).") from None
    except OSError as error:
        raise InvalidValue(f"{path.name}: cannot be read ({error.strerror}).") from None


def _check_names(section: Mapping[str, Any], names: tuple[str, ...], what: str) -> None:
    for name in section:
        if name not in names:
            raise InvalidValue(f"{what} has no {name!r}. {nearest(str(name), names)}")
