"""Weights of a synopsis on a GPU: time, bytes moved, and the share of the memory's bandwidth.

Needs torch. The same code runs on the CPU with `--device torch`, for fewer cells.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable

from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.linear.weights import Weights
from harness import Report

PEAK = {"H200": 4.8e12, "H100": 3.35e12, "A100": 2.0e12}  # bytes a second, as makers say
GOAL = 0.8
BYTES = 4  # of a 32-bit float
SECTOR = 32  # bytes: what a GPU's memory reads at least
BATCH = 16  # questions or updates in a row, before they are waited for


def timed(work: Callable[[], object], wait: Callable[[], object], repeats: int = 7) -> float:
    """The least wall time of a few runs."""
    best = math.inf
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        work()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


def placed(bits: int) -> dict[str, tuple[int, int, int]]:
    """Which three attributes a conjunction names: where they lie decides how memory is read."""
    return {
        "first": (0, 1, 2),
        "spread": (2, bits // 2, bits - 6),
        "last": (bits - 3, bits - 2, bits - 1),
    }


def measure(report: Report, device: str, bits: int, peak: float | None) -> None:
    """A query of an eighth of the cells reads them; an update reads them and writes them.

    Bytes moved are whole sectors: where cells lie alone, all of a sector is read for one of them.
    """
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    domain = Domain.binary(bits)
    weights = Weights.uniform(domain, device=device)
    for word, axes in placed(bits).items():
        part = Predicate.where(dict.fromkeys(axes, 1), domain)
        other = Predicate.where(dict.fromkeys(axes, 0), domain)  # a sum just made is kept
        run = BYTES * 2 ** (bits - 1 - axes[-1])  # bytes that lie together
        size = BYTES * domain.cells / 8 * max(1, SECTOR // run)  # with what is read beside them
        works = {
            "query": (size, lambda p=[part, other]: weights.shares(p * (BATCH // 2))),
            "update": (
                2 * size,
                lambda p=part: [weights.scale(p, 1.0000001) for _ in range(BATCH)],
            ),
        }
        for what, (moved, work) in works.items():
            work()
            seconds = timed(work, wait) / BATCH
            case = f"{what} of 1/8 of 2^{bits}, {word} attributes"
            report.faster(f"{case}, ms", seconds * 1e3, None, "-")
            report.greater(f"{case}, gigabytes moved", moved / 1e9, None, "-")
            share = None if peak is None else moved / seconds / peak
            if share is not None:
                report.greater(f"{case}, share of bandwidth", share, GOAL, "goal")


def main() -> None:
    """Print every case."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--bits", type=int, nargs="*", default=[24, 26, 28, 30, 32, 34])
    chosen, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    report = Report("Weights of a synopsis on a device")
    try:
        import torch
    except ImportError:
        print("torch is not installed; nothing is measured", file=sys.stderr)
        return
    name = torch.cuda.get_device_name(0) if chosen.device == "cuda" else "cpu"
    print(name, torch.__version__, file=sys.stderr)
    peak = next((each for word, each in PEAK.items() if word in name), None)
    for bits in chosen.bits:
        measure(report, chosen.device, bits, peak)


if __name__ == "__main__":
    main()
