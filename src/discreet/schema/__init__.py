"""Public facts about tables: columns, bounds, privacy unit, policy. Nothing is read from data."""

from discreet.schema.column import KINDS, LARGEST, OTHER, Column, identifier, nearest
from discreet.schema.smartnoise import Imported, import_metadata, read_metadata
from discreet.schema.table import TABLE_KINDS, Budget, Table
from discreet.schema.toml.read import read_schema, read_schema_text
from discreet.schema.toml.skeleton import skeleton
from discreet.schema.toml.write import schema_text

__all__ = [
    "Budget",
    "Column",
    "Imported",
    "KINDS",
    "LARGEST",
    "OTHER",
    "TABLE_KINDS",
    "Table",
    "identifier",
    "import_metadata",
    "nearest",
    "read_metadata",
    "read_schema",
    "read_schema_text",
    "schema_text",
    "skeleton",
]
