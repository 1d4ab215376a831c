"""The engines of a vault's tables: one for each run. Local runs share one while they take turns.
Opens none over another state of the data than is asked for; knows no questions.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.curator.runs.lanes import Lane, Lanes
from discreet.curator.runs.pacing import ResponseGrid
from discreet.curator.tables.custody import check_prepared
from discreet.engines.protocol import Engine
from discreet.errors import Unavailable
from discreet.ledger.catalogue import Catalogue

__all__ = ["Engines"]

Names = tuple[str, ...]
Versions = tuple[int, ...]


class Engines:
    """The open engines by the tables they read.

    An engine's rows are exact and stay with the curator.
    """

    __slots__ = ("_busy", "_catalogue", "_folder", "_lock", "_open", "lanes", "opened")

    def __init__(
        self, catalogue: Catalogue, folder: Path, opening: Callable[[Names], Engine]
    ) -> None:
        self._catalogue = catalogue
        self._folder = folder
        self._open = opening
        self._lock = threading.Lock()
        self._busy: set[Names] = set()
        self.opened: dict[Names, tuple[Versions, Engine]] = {}
        self.lanes = Lanes(opening)

    def share(self, names: Names, data_versions: Versions | None) -> Engine:
        """The engine of tables, one for each state of their data; another than asked is refused."""
        versions = self._check_versions(names, data_versions)
        with self._lock:  # of several threads one opens it
            version, engine = self.opened.get(names, ((), None))
            if engine is None or version != versions:
                if engine is not None:
                    engine.close()
                engine = self._open(names)
                self.opened[names] = (versions, engine)
            return engine

    @contextmanager
    def local(self, names: Names, versions: Versions, asker: str) -> Iterator[Engine]:
        """An engine for one local run: the shared one while nobody runs on it, else another.

        So the statements of several threads run side by side, as far as the machine has cores. An
        engine's rows are exact and stay with the curator.
        """
        engine = self.share(names, versions)
        with self._lock:
            alone = names not in self._busy
            self._busy.add(names)
        if not alone:
            with self.lanes.take(names, versions, asker) as lane:
                yield lane.engine
            return
        try:
            yield engine
        finally:
            with self._lock:
                self._busy.discard(names)

    @contextmanager
    def lane(
        self, names: Names, versions: Versions, grid: ResponseGrid, asker: str
    ) -> Iterator[Lane]:
        """An engine of one remote run's own, started before the run is charged.

        Starting takes whole steps of time.
        """
        self._check_versions(names, versions)
        with self.lanes.take(names, versions, asker) as lane:
            grid.start(lane.engine.ready)
            yield lane

    def _check_versions(self, names: Names, data_versions: Versions | None) -> Versions:
        """The states of the tables' data; another than asked is refused, and so are lost rows."""
        known = [self._catalogue.table(name) for name in names]
        versions = tuple(table.data_version for table in known)
        if data_versions not in (None, versions):
            raise Unavailable(
                f"{' or '.join(names)} was added again or refreshed just now; ask again. "
                "Nothing was run or charged."
            )
        check_prepared(self._folder, [table.prepared for table in known])
        return versions

    def close(self) -> None:
        """End all that no run holds."""
        self.lanes.close()
        for _, engine in self.opened.values():
            engine.close()
        self.opened.clear()
