"""The files of a vault as the operating system sees them: who else can read them, and which of
them nobody needs any more. Looks at names, modes and times, never into a file.
"""

import stat
import time
from collections.abc import Collection
from pathlib import Path

from discreet.errors import Unavailable

__all__ = ["check_prepared", "refuse_readable", "sweep_prepared"]

_ABANDONED_SECONDS = 3600  # another process may have prepared a file that it registers next
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def refuse_readable(folder: Path) -> None:
    """Refuse a vault that anybody but its owner can reach into."""
    if not folder.is_dir():
        return
    for path in (folder, *folder.iterdir(), *(folder / "prepared").glob("*")):
        try:
            mode = stat.S_IMODE(path.lstat().st_mode)
        except FileNotFoundError:
            continue  # a log or a scratch folder that has just been removed
        if mode & _OTHERS and not path.is_symlink():
            raise Unavailable(
                f"the vault: others can reach {path.name} (mode {mode:o}). Run "
                f"chmod -R go-rwx '{folder}', and ask who may have read it. Nothing was opened."
            )


def check_prepared(folder: Path, prepared: Collection[str | None]) -> None:
    """Refuse a question whose prepared rows lie in another curator's folder; make the own one."""
    folder.mkdir(mode=0o700, exist_ok=True)  # engines need it too, and another added the table
    for name in prepared:
        if name is not None and not (folder / name).is_file():
            raise Unavailable(
                f"the prepared rows {name} are not in this vault's folder; copy them into its "
                f"folder {folder.name}, or let the table be added in place. "
                "Nothing was run or charged."
            )


def sweep_prepared(folder: Path, used: Collection[str | None]) -> None:
    """Remove prepared files that no table points to any more, and no process is making."""
    for file in (*folder.glob("*.duckdb"), *folder.glob("*.parquet")):
        if file.name not in used and time.time() - file.stat().st_mtime > _ABANDONED_SECONDS:
            file.unlink(missing_ok=True)
