"""Plants 300 random faults in the parts on which privacy rests, one at a time, and runs the tests
that cover the changed line until one fails: `make mutants`. What no test noticed is listed, and
either explained in `explained.toml` or waits for a test.
"""

import argparse
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutation.operators import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    "src/discreet/loss.py",
    "src/discreet/mechanisms/**/*.py",
    "src/discreet/accounting/filters.py",
    "src/discreet/plan/parts/*.py",
    "src/discreet/plan/rules/*.py",
    "src/discreet/curator/access.py",
    "src/discreet/curator/noising.py",
    "src/discreet/ledger/ledger.py",
    "src/discreet/ledger/store/book.py",
)
WANTED = 0.9  # of the sample are to be killed
MOST_SECONDS = 120.0  # of recorded time that one mutant may take
PATIENCE = 4  # times what its tests took when recorded: then a mutant runs for ever
START_SECONDS = 60.0  # what pytest may take besides
FAST = "not slow and not soak"


@dataclass(frozen=True)
class Coverage:
    """Which tests run a line, and how long each takes."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def limit(self, names: list[str]) -> float:
        """After how many seconds these tests have noticed a mutant by not ending."""
        return START_SECONDS + PATIENCE * sum(self.seconds.get(each, 0.0) for each in names)

    def covering(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutant's line, or its file where that runs at import (any test
        where the whole file does), shortest first and one of every function before its other
        parameters, within the time for a mutant.
        """
        of_file = self.lines.get(mutant.file, {})
        names = of_file.get(mutant.line, set())
        if not names - {""} and "" in names:
            names = set().union(*of_file.values())
            if not names - {""}:
                names = set(sorted(self.seconds, key=self.seconds.__getitem__)[:20])
        seen: dict[str, int] = {}
        ranked = []
        for name in sorted(names - {""}, key=lambda each: self.seconds.get(each, 0.0)):
            function = name.partition("[")[0]
            seen[function] = seen.get(function, 0) + 1
            ranked.append((seen[function], self.seconds.get(name, 0.0), name))
        chosen, total = [], 0.0
        for _, seconds, name in sorted(ranked):
            total += seconds
            if chosen and total > MOST_SECONDS:
                break
            chosen.append(name)
        return chosen


def files() -> list[str]:
    """The files that faults are planted in; those that only re-export are left out."""
    listed = {each for one in TARGETS for each in ROOT.glob(one) if each.stem != "__init__"}
    return sorted(str(each.relative_to(ROOT)) for each in listed)


def record(folder: Path, jobs: int, tests: list[str]) -> None:
    """Runs the fast tests once and writes down which lines each of them runs."""
    folder.mkdir(parents=True, exist_ok=True)
    watched = ":".join(str(ROOT / each) for each in files())
    places = {"MUTATION_LINES": str(folder), "MUTATION_FILES": watched}
    words = ["-q", "-n", str(jobs), "--dist", "loadfile", "-m", FAST, "-p", "mutation.lines"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *tests],
        cwd=ROOT,
        env={**os.environ, **places, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"},
        check=False,
    )
    if done.returncode:
        raise SystemExit("The tests fail as they are; mend that first.")


def read(folder: Path) -> Coverage:
    """What all processes of the recording saw."""
    lines: dict[str, dict[int, set[str]]] = {}
    seconds: dict[str, float] = {}
    for path in folder.glob("*.json"):
        seen = json.loads(path.read_text())
        for name, duration in seen["seconds"].items():
            seconds[name] = max(duration, seconds.get(name, 0.0))
        for name, contexts in seen["lines"].items():
            of_file = lines.setdefault(str(Path(name).relative_to(ROOT)), {})
            for line, tests in contexts.items():
                of_file.setdefault(int(line), set()).update(tests)
    return Coverage(lines, seconds)


def copy_of_project(folder: Path) -> Path:
    """A copy of the tracked files, for one worker's faults."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    place = Path(tempfile.mkdtemp(dir=folder)) / "project"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    if (ROOT.parent / "shared").is_dir():  # the reference values of some tests
        (place.parent / "shared").symlink_to(ROOT.parent / "shared")
    return place


def examine(mutant: Mutant, tests: list[str], place: Path, seconds: float) -> str:
    """What became of one mutant: killed, slow (killed by the clock), survived or uncovered."""
    if not tests:
        return "uncovered"
    path = place / mutant.file
    source = path.read_text()
    path.write_text(mutant.apply(source))
    words = ["-q", "-x", "--no-header", "-p", "no:xdist", "-m", FAST]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, *tests],
            cwd=place,
            env={
                **os.environ,
                "PYTHONPATH": f"{place / 'src'}:{place / 'tests'}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return "slow"
    finally:
        path.write_text(source)
    if done.returncode in (0, 5):
        return "survived"
    broken_import = "ImportError while loading conftest" in done.stderr
    if not broken_import and (
        done.returncode == 4 or (done.returncode == 2 and "not found" in done.stdout)
    ):
        raise SystemExit(
            f"{mutant}: pytest could not be run: {(done.stdout + done.stderr)[-2000:]}"
        )
    return "killed"


def explained(mutant: Mutant) -> str | None:
    """Why no test can or need notice a mutant, where somebody wrote that down."""
    path = Path(__file__).with_name("explained.toml")
    for entry in tomllib.loads(path.read_text()).get("mutant", []):
        if (entry["file"], entry["function"], entry["before"], entry["after"]) == (
            mutant.file,
            mutant.function,
            mutant.before,
            mutant.after,
        ):
            return str(entry["reason"])
    return None


def run(sample: list[Mutant], tests: Coverage, jobs: int) -> Iterable[tuple[Mutant, str]]:
    """Every mutant of the sample with what became of it, in any order."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        places: SimpleQueue[Path] = SimpleQueue()
        for _ in range(jobs):
            places.put(copy_of_project(Path(folder)))

        def one(mutant: Mutant) -> tuple[Mutant, str]:
            place, covering = places.get(), tests.covering(mutant)
            try:
                return mutant, examine(mutant, covering, place, tests.limit(covering))
            finally:
                places.put(place)

        for outcome in as_completed([pool.submit(one, each) for each in sample]):
            yield outcome.result()


def main() -> int:
    """Records, plants, and says what survived; status 1 where too many did."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many faults to plant")
    parser.add_argument("--seed", type=int, default=None, help="draw an earlier sample again")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes to use")
    parser.add_argument("--lines", type=Path, default=None, help="a folder recorded before")
    parser.add_argument("--file", default="", help="only files whose path contains this")
    parser.add_argument("tests", nargs="*", help="only these tests; all fast ones by default")
    given = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lines-") as scratch:
        folder = given.lines or Path(scratch) / "lines"
        if not list(folder.glob("*.json")):
            record(folder, given.jobs, given.tests)
        tests = read(folder)
    all_mutants = [
        each
        for file in files()
        if given.file in file
        for each in mutants(file, (ROOT / file).read_text())
    ]
    seed = secrets.randbits(32) if given.seed is None else given.seed
    sample = random.Random(seed).sample(all_mutants, min(given.count, len(all_mutants)))
    print(f"{len(sample)} of {len(all_mutants)} mutants, --seed {seed}", flush=True)
    outcomes: dict[str, list[Mutant]] = {}
    for number, (mutant, outcome) in enumerate(run(sample, tests, given.jobs), start=1):
        outcomes.setdefault(outcome, []).append(mutant)
        if outcome in ("survived", "uncovered"):
            reason = explained(mutant)
            why = f"  (explained: {reason})" if reason else ""
            print(f"{outcome}: {mutant}{why}", flush=True)
        if number % 25 == 0:
            print(f"... {number} after {time.monotonic() - start:.0f} s", flush=True)
    killed = sum(len(outcomes.get(each, [])) for each in ("killed", "slow"))
    counts = ", ".join(f"{len(each)} {name}" for name, each in sorted(outcomes.items()))
    share = killed / len(sample)
    print(f"{counts}: {share:.1%} killed in {time.monotonic() - start:.0f} s")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    raise SystemExit(main())
