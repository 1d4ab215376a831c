"""What tells the rows of a file from others: the end of a Parquet file, and its values whatever
file they are in. Exact functions of the data: to be keyed and kept in the vault, never shown.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from discreet.engines.process.child import quote
from discreet.engines.protocol import Cell

__all__ = ["file_end", "text_code", "value_codes"]

_TAIL_BYTES = 1 << 16  # holds a Parquet footer, or the end of one: sizes, offsets, statistics
_DISTINCT_BYTES = 1 << 12
_PLAIN = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT|U?INTEGER|BOOLEAN|DATE|UUID")
_NUMBERS = re.compile(r"FLOAT|DOUBLE|DECIMAL\(.*\)")
_WITHOUT_ZONE = {"TIMESTAMP WITH TIME ZONE": "TIMESTAMP", "TIMESTAMPTZ_NS": "TIMESTAMP_NS"}
_MIDNIGHT = "' 00:00:00'"
_INDEX = "__index_level_"  # a frame's own numbers of rows, which pandas writes beside the columns
_EXACT = 1 << 53


def file_end(file: Path) -> bytes:
    """The size and the last bytes of a file: a quick look at a Parquet file's own summary.

    It is an exact function of the data: to be keyed, and kept in the vault.
    >>> file_end(Path(__file__)).endswith(Path(__file__).read_bytes())
    True
    """
    with file.open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - _TAIL_BYTES))
        return f"{size}\0".encode() + content.read()


def text_code(file: Path) -> bytes:
    """A code of a text file's bytes; empty for a short one, which different people may have alike.

    It is an exact function of the data: to be keyed, and kept in the vault.
    >>> len(text_code(Path(__file__)))
    32
    """
    if file.stat().st_size < _DISTINCT_BYTES:
        return b""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").digest()


def value_codes(
    types: Mapping[str, str], rows: Callable[[str], list[tuple[Cell, ...]] | None]
) -> list[bytes]:
    """Codes of the values of a file's rows, in whatever order and kind of file.

    `rows` answers a SELECT from `source`, which has these columns, or gives None. Empty without
    rows, and where a column cannot be read, which a schema need not declare. Numbers count by their
    value, texts without regard to capitals, a day as its midnight, NaN as missing: so a CSV copy of
    a Parquet file mostly has the same code. Names of columns count. Moments with a time zone count
    as they are and, in a second code, as the same moments in UTC without one: copies of either type
    share a code. They are exact functions of the data: to be keyed, and kept in the vault.
    >>> value_codes({"k": "BIGINT"}, lambda sql: [(0, None)])
    []
    """
    names = sorted((name for name in types if not name.startswith(_INDEX)), key=str.casefold)
    plain = [(quote(name), types[name]) for name in names]
    in_utc = [
        (f"TRY_CAST({name} AS {_WITHOUT_ZONE[kind]})" if kind in _WITHOUT_ZONE else name, kind)
        for name, kind in plain
    ]
    sums = [
        f"sum(md5_number_lower(concat_ws(chr(31), {_texts(text)})))"
        for text in ([plain] if in_utc == plain else [plain, in_utc])
    ]
    answer = rows(f"SELECT count(*), {', '.join(sums)} FROM source")
    if answer is None:
        return []
    ((count, *codes),) = answer
    columns = "\0".join(name.casefold() for name in names)
    return [f"{columns}\0\0{(count, code)}".encode() for code in codes] if count else []


def _texts(columns: Sequence[tuple[str, str]]) -> str:
    """The texts of columns, those of VARCHAR side by side in one expression: a statement in which
    each of thousands has its own takes minutes to plan.
    """
    parts = []
    for is_text, run in groupby(columns, key=lambda column: column[1] == "VARCHAR"):
        if is_text:
            listed = ", ".join(column for column, _ in run)
            each = f"list_transform([{listed}], lambda x: {_value('x', 'VARCHAR')})"
            parts.append(f"array_to_string({each}, chr(31))")
        else:
            parts += [_value(column, kind) for column, kind in run]
    return ", ".join(parts)


def _value(column: str, kind: str) -> str:
    """A value as a text that does not depend on how it is stored; never fails."""
    if _PLAIN.fullmatch(kind):
        text = f"CAST({column} AS VARCHAR)"
    elif _NUMBERS.fullmatch(kind):
        number = f"CAST({column} AS DOUBLE)"
        text = _number(number, f"CAST({number} AS VARCHAR)")
    else:
        plain = f"lower(CAST({column} AS VARCHAR))"
        day = f"CASE WHEN suffix({plain}, {_MIDNIGHT}) THEN {plain}[:-10] ELSE {plain} END"
        # Joined to nothing first: a reader of CSV files must not be given the cast itself.
        text = _number(f"TRY_CAST(({plain} || '') AS DOUBLE)", day)
    return f"coalesce(nullif({text}, 'nan'), '')"


def _number(value: str, otherwise: str) -> str:
    """A double as text, written as integers are where it is one."""
    return (
        f"CASE WHEN abs({value}) < {_EXACT} THEN CASE WHEN {value} = trunc({value}) "
        f"THEN CAST(CAST({value} AS BIGINT) AS VARCHAR) ELSE CAST({value} AS VARCHAR) END "
        f"ELSE {otherwise} END"
    )
