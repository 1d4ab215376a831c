"""Synthetic data: error on all three-way tables, CPU time and memory, beside AIM and MST.

The error is the mean total variation over all three-way tables between as many synthetic rows as
the data has and the data, delta = 1e-9. Each trial, ours or a peer's, is a process of its own. On
Adult the limits are the goals of this project, and figures are repeated that were measured before
with the published code of AIM and MST. The peers run here are those of the package dpmm, in the
environment that `make bench` gives them (see benchmarks/synth_peer.py); without it that is said.
At last a model's own answers are compared with counting the rows that are drawn from it.

    benchmarks/synth.py --epsilons 0.1 1 --trials 1 --peers none
    benchmarks/synth.py --data flights --peers MST AIM
"""

import argparse
import itertools
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting.conversion import zcdp_rho
from discreet.loss import Sensitivity
from discreet.noise.bits import system
from discreet.release.synth.aim import run_aim
from discreet.release.synth.domain import Attribute
from discreet.release.synth.fitted import Synthetic, draw_evenly, draw_independently
from discreet.release.synth.rounds import Cells, Noisy, Step
from discreet.release.synth.schedule import schedule
from discreet.release.synth.stages import Stages
from harness import Report
from synth_data import FOLDER, TABLES

DELTA = 1e-9
ONE = Sensitivity.single(1)
ROOT = Path(__file__).parents[1]
PEER_PYTHONS = (ROOT / ".venv-bench" / "synth-peers" / "bin" / "python",)
GOALS = {0.1: (0.195, 30), 1.0: (0.093, 60), 10.0: (0.056, 300)}
MEASURED = {  # on Adult: total variation, CPU seconds where they were written down
    0.1: {"AIM": (0.211, 32), "MST": (0.254, None), "independent": (0.214, None)},
    1.0: {"AIM": (0.0947, 77), "MST": (0.114, None), "independent": (0.175, None)},
    10.0: {"AIM": (0.0565, 1348), "MST": (0.100, None), "independent": (0.172, None)},
}
QUERIES = 300


class Memory:
    """Answers steps from rows in memory, and adds up what they cost."""

    def __init__(self, rows: Any) -> None:
        self._cells = Cells(rows, np.ones(len(rows), dtype=np.int64))
        self.spent = Fraction(0)

    def take(self, step: Step) -> tuple[Noisy, ...]:
        """The noisy answer."""
        self.spent += step.loss(ONE).zcdp().rho
        return step.release(self._cells, system)


def distance(rows: Any, other: Any, attributes: list[Attribute]) -> float:
    """The mean total variation over all three-way tables."""
    found = []
    for clique in itertools.combinations(range(len(attributes)), 3):
        a, b, c = (attributes[at].size for at in clique)
        shares = [
            np.bincount(
                (x[:, clique[0]] * b + x[:, clique[1]]) * c + x[:, clique[2]], minlength=a * b * c
            )
            / len(x)
            for x in (rows, other)
        ]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def developed(rows: Any, attributes: list[Attribute], epsilon: float) -> Synthetic:
    """Our model, which must not have spent more than it may."""
    source, rho = Memory(rows), zcdp_rho(epsilon=epsilon, delta=DELTA)
    model = run_aim(attributes, source, rho=rho, sensitivity=ONE)
    if source.spent > rho:
        raise AssertionError(f"{source.spent} was spent of {rho}")
    return model


def ours(data: str, epsilon: float, number: int) -> dict[str, float]:
    """One trial: the distance of as many rows as the data has; once also of ten times as many."""
    rows, attributes = TABLES[data][1]()
    start = time.process_time()
    model = developed(rows, attributes, epsilon)
    drawn = model.codes(len(rows))
    found = {"seconds": time.process_time() - start}
    found["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found["error"] = distance(rows, drawn, attributes)
    if number == 0:
        found["ten times"] = distance(rows, model.codes(10 * len(rows)), attributes)
    return found


def independent(data: str, epsilon: float, _: int) -> dict[str, float]:
    """The baseline: the whole budget on one-way counts, columns independent."""
    rows, attributes = TABLES[data][1]()
    usual = schedule(signal=1, attributes=len(attributes))
    model = run_aim(
        attributes,
        Memory(rows),
        rho=zcdp_rho(epsilon=epsilon, delta=DELTA),
        sensitivity=ONE,
        plan=replace(usual, ones=0.98, grade=0.001, groups=1e9, least=1e-9),
        stages=Stages(select=nothing),
    )
    return {"error": distance(rows, model.codes(len(rows)), attributes)}


def nothing(_: object) -> tuple[()]:
    """No further tables."""
    return ()


def answers(data: str, epsilon: float, _: int) -> dict[str, float]:
    """Root mean square errors of counts: the model's own, and those of rows drawn from it.

    The queries are conjunctions over one to three columns, each of a random half of its values.
    """
    rows, attributes = TABLES[data][1]()
    model = developed(rows, attributes, epsilon)
    chance = np.random.default_rng()
    drawings = {"evenly": draw_evenly, "independently": draw_independently}
    drawn = {
        f"{count:,} rows drawn {way}": replace(model, draw=draw).codes(count)
        for count in (1000, 10_000, len(rows))
        for way, draw in drawings.items()
    }
    errors: dict[str, list[float]] = {name: [] for name in ("model", *drawn)}
    apart: dict[str, list[float]] = {name: [] for name in drawn}
    for _query in range(QUERIES):
        columns = chance.choice(len(attributes), size=chance.integers(1, 4), replace=False)
        chosen = {int(at): (chance.random(attributes[at].size) < 0.5) * 1.0 for at in columns}
        truth, own = counted(rows, chosen), model.count(chosen)
        errors["model"].append(own - truth)
        for name, codes in drawn.items():
            found = counted(codes, chosen) * model.total / len(codes)
            errors[name].append(found - truth)
            apart[name].append(found - own)
    roots = {name: float(np.sqrt(np.mean(np.square(each)))) for name, each in errors.items()}
    added = {f"{n}: what they add": float(np.sqrt(np.mean(np.square(e)))) for n, e in apart.items()}
    return roots | added


def counted(codes: Any, chosen: dict[int, Any]) -> float:
    """How many rows have a chosen value in every named column."""
    kept = np.ones(len(codes), dtype=bool)
    for at, shares in chosen.items():
        kept &= shares[codes[:, at]] > 0
    return float(kept.sum())


def alone(work: Any, *given: object) -> Any:
    """The work in a process of its own, so that memory and CPU time are its own too."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # idle threads that wait would count as CPU time
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, given)


def peer_python() -> Path | None:
    """The interpreter that has the peers, if there is one that starts."""
    named = os.environ.get("DISCREET_SYNTH_PEERS")
    for path in [Path(named)] if named else PEER_PYTHONS:
        tried = [str(path), "-c", "import dpmm"]
        if path.exists() and subprocess.run(tried, capture_output=True).returncode == 0:
            return path
    return None


def peer(python: Path, name: str, data: str, epsilon: float, limit: int) -> dict[str, float]:
    """One trial of a peer; without figures where it needed more CPU time."""
    rows, attributes = TABLES[data][1]()
    with tempfile.TemporaryDirectory() as folder:
        table, output = Path(folder) / "table.npz", Path(folder) / "rows.npy"
        names, sizes = [each.name for each in attributes], [each.size for each in attributes]
        np.savez(table, rows=rows, names=np.array(names), sizes=np.array(sizes))
        script = str(Path(__file__).with_name("synth_peer.py"))
        words = [str(python), script, name, str(table), str(output)]
        words += ["--epsilon", str(epsilon), "--delta", str(DELTA), "--limit", str(limit)]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"stopped after {limit} CPU s"])[-1]
            print(f"{name} failed at epsilon {epsilon}: {last:.200}", file=sys.stderr)
            return {}
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return {**found, "error": distance(rows, np.load(output), attributes)}


def compare(report: Report, asked: argparse.Namespace, epsilon: float, python: Path | None) -> None:
    """All about one epsilon."""
    trials = [alone(ours, asked.data, epsilon, number) for number in range(asked.trials)]
    error, seconds, memory = (
        float(np.mean([each[name] for each in trials]))
        for name in ("error", "seconds", "gigabytes")
    )
    case = f"{asked.data}, epsilon={epsilon:g}"
    if asked.data == "adult" and epsilon in GOALS:
        goal, limit = GOALS[epsilon]
        report.faster(f"{case}, total variation", error, goal, "goal")
        report.faster(f"{case}, CPU s", seconds, limit, "goal")
        for name, (other, used) in MEASURED[epsilon].items():
            report.faster(f"{case}, total variation", error, other, f"{name}, measured before")
            if used:
                report.faster(f"{case}, CPU s", seconds, used, f"{name}, fit rewritten, before")
    report.faster(f"{case}, GB", memory, 2, "goal")
    many = trials[0]["ten times"]
    report.faster(f"{case}, total variation, ten times the rows", many, error, "as many rows")
    other = alone(independent, asked.data, epsilon, 0)["error"]
    report.faster(f"{case}, total variation", error, other, "independent columns, same run")
    for name in asked.peers:
        if python is None:
            print(
                f"{name} was not run: its package dpmm needs Python below 3.12 and numpy 1.26, so "
                "it has an environment of its own, which is not there (make bench makes it).",
                file=sys.stderr,
            )
            report.faster(f"{case}, total variation", error, None, f"{name}, not installed")
            continue
        found = peer(python, name, asked.data, epsilon, asked.limit)
        named = f"{name} of dpmm, same run" if found else f"{name} of dpmm, no result"
        report.faster(f"{case}, total variation", error, found.get("error"), named)
        report.faster(f"{case}, CPU s", seconds, found.get("seconds"), named)


def main() -> None:
    """Print every case."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--data", choices=list(TABLES), default="adult")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--peers", nargs="+", choices=["MST", "AIM", "none"], default=["MST"])
    parser.add_argument("--limit", type=int, default=400, help="CPU s for one run of a peer")
    asked, rest = parser.parse_known_args()
    asked.peers = [name for name in asked.peers if name != "none"]
    sys.argv = [sys.argv[0], *rest]
    report = Report(f"Synthetic data of {asked.data}, delta 1e-9, all three-way tables")
    file = TABLES[asked.data][0]
    if not (FOLDER / file).exists():
        print(f"the data is not beside the checkout: ../shared/data/{file}", file=sys.stderr)
        return
    python = peer_python() if asked.peers else None
    for epsilon in asked.epsilons:
        compare(report, asked, epsilon, python)
    middle = asked.epsilons[len(asked.epsilons) // 2]
    found = alone(answers, asked.data, middle, 0)
    own = found.pop("model")
    for name, value in found.items():
        report.faster(f"{asked.data}, epsilon={middle:g}, rms error of a count", own, value, name)


if __name__ == "__main__":
    main()
