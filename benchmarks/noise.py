"""Exact discrete noise: our throughput against OpenDP's, in draws per CPU second, one thread.

The same task for both: add noise of one scale to n integers. OpenDP's throughput does not depend
on n, so it is measured on fewer draws (100,000) to keep the run short. The first row of each
scale includes building the tables. Extra memory is what is allocated beyond the output.
"""

import time
import tracemalloc

import opendp.prelude as dp

from discreet.noise import discrete_gaussian, discrete_laplace
from harness import Report, cpu_seconds

PEER_DRAWS = 100_000


def peer_throughput(distribution: str, scale: int) -> float:
    """OpenDP draws per CPU second."""
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if distribution == "Laplace":
        measure = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
    else:
        measure = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    zeros = [0] * PEER_DRAWS
    return PEER_DRAWS / cpu_seconds(lambda: measure(zeros))


def draw(distribution: str, scale: int, size: int) -> int:
    """Our draws; returns the bytes of the output."""
    if distribution == "Laplace":
        return discrete_laplace(scale=scale, size=size).nbytes
    return discrete_gaussian(variance=scale**2, size=size).nbytes


def extra_memory(distribution: str, scale: int, size: int) -> float:
    """Megabytes allocated beyond the output at the peak."""
    tracemalloc.start()
    output = draw(distribution, scale, size)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - output) / 1e6


def main() -> None:
    """Print every case."""
    report = Report("Exact discrete noise, draws per CPU second")
    for distribution in ("Laplace", "Gaussian"):
        for scale in (1, 20, 1000):
            peer = peer_throughput(distribution, scale)
            start = time.process_time()
            draw(distribution, scale, 1_000_000)
            first = 1_000_000 / (time.process_time() - start)
            case = f"discrete {distribution}, scale {scale}, n=1e6"
            report.greater(f"{case}, first use", first, peer, "OpenDP 0.16")
            for size, text in ((1_000_000, "1e6"), (10_000_000, "1e7")):
                ours = size / cpu_seconds(lambda d=distribution, s=scale, n=size: draw(d, s, n))
                case = f"discrete {distribution}, scale {scale}, n={text}"
                report.greater(case, ours, peer, "OpenDP 0.16")
    for distribution in ("Laplace", "Gaussian"):
        megabytes = extra_memory(distribution, 1000, 10_000_000)
        case = f"extra memory in MB, discrete {distribution}, scale 1000, n=1e7"
        report.faster(case, megabytes, 50.0, "limit")


if __name__ == "__main__":
    main()
