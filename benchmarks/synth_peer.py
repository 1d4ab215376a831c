"""Runs AIM or MST of the package dpmm on a table of codes, for benchmarks/synth.py.

dpmm pins numpy 1.26, which this project does not support, so it lives in an environment of its own
and is spoken to through files: this script is run by that environment's Python and imports nothing
of this project. What it prints is one JSON object: CPU seconds of it and its children, gigabytes.
"""

import argparse
import json
import resource
import sys
from pathlib import Path

import numpy as np

MODEL_MEGABYTES = 80  # what the authors of AIM keep for comparisons with it


def fitted(name: str, rows, sizes: dict[str, int], epsilon: float, delta: float):
    """The peer's model of these rows, without help of further processes."""
    import pandas
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    frame = pandas.DataFrame(rows, columns=list(sizes))
    given = {"epsilon": epsilon, "delta": delta, "domain": sizes, "n_jobs": 1}
    if name == "MST":
        model = MSTGM(**given)
    else:
        model = AIMGM(**given, degree=3, max_cells=2**20, max_model_size=MODEL_MEGABYTES)
    model.fit(frame)
    return model


def main() -> None:
    """Read a table, fit, write rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=["AIM", "MST"])
    parser.add_argument("table", type=Path, help=".npz with rows, names and sizes")
    parser.add_argument("output", type=Path, help=".npy for the synthetic rows")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--limit", type=int, required=True, help="the most CPU seconds")
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (asked.limit, asked.limit))
    with np.load(asked.table) as found:
        rows = found["rows"]
        sizes = dict(zip(found["names"].tolist(), found["sizes"].tolist(), strict=True))
    model = fitted(asked.name, rows, sizes, asked.epsilon, asked.delta)
    drawn = model.generate(n_records=len(rows))
    np.save(asked.output, drawn[list(sizes)].to_numpy(dtype=np.int64))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in used)
    memory = max(each.ru_maxrss for each in used) / 2**20
    json.dump({"seconds": seconds, "gigabytes": memory}, sys.stdout)


if __name__ == "__main__":
    main()
