"""Public facts about tables: columns, bounds, privacy unit, policy. Nothing is read from data."""

from discreet.schema.column import KINDS, LARGEST, OTHER, Column, identifier, nearest
from discreet.schema.file import read_schema, read_schema_text
from discreet.schema.skeleton import skeleton
from discreet.schema.table import TABLE_KINDS, Budget, Table

__all__ = [
    "Budget",
    "Column",
    "KINDS",
    "LARGEST",
    "OTHER",
    "TABLE_KINDS",
    "Table",
    "identifier",
    "nearest",
    "read_schema",
    "read_schema_text",
    "skeleton",
]
