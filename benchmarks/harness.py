"""What the benchmarks share: measure us and the named peer in one run, print both and the ratio.

Every benchmark takes `--json` and prints one object a line with keys case, ours, peer, peer_name,
ratio (above 1: we are better). Without it the same rows are printed as a table.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One measured case; `ours` and `peer` in the same unit, which `case` names."""

    case: str
    ours: float
    peer: float | None
    peer_name: str
    ratio: float | None


class Report:
    """Prints rows as they are measured."""

    def __init__(self, title: str) -> None:
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--json", action="store_true", help="one JSON object a line")
        self._json = parser.parse_args().json
        if not self._json:
            print(f"{title}\n{'case':58} {'ours':>12} {'peer':>12} {'ratio':>8}  peer")

    def faster(self, case: str, ours: float, peer: float | None, peer_name: str) -> None:
        """A case where less is better (seconds, error, megabytes)."""
        self._print(Row(case, ours, peer, peer_name, None if peer is None else peer / ours))

    def greater(self, case: str, ours: float, peer: float | None, peer_name: str) -> None:
        """A case where more is better (throughput)."""
        self._print(Row(case, ours, peer, peer_name, None if peer is None else ours / peer))

    def _print(self, row: Row) -> None:
        if self._json:
            print(json.dumps(asdict(row)), flush=True)
            return
        peer = "-" if row.peer is None else f"{row.peer:12.4g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:8.1f}"
        print(f"{row.case:58} {row.ours:12.4g} {peer:>12} {ratio:>8}  {row.peer_name}", flush=True)


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)
