"""Where are the patients? Counts by age are refined where they are large, each question chosen by
the answers before, and all of them together cost what one costs. The people are made up.

Run: python examples/joint.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

from discreet import Curator
from discreet.demo.clinic import SCHEMA, write_clinic
from discreet.errors import BudgetExceeded
from discreet.streams import Joint

LEAST = 3  # years: no interval is divided further
ROWS = 20  # of one patient, by the schema


def refine(folder: Path, patients: int = 5000) -> list[tuple[int, int, int]]:
    """Divide the ages where most visits are, until that is refused: intervals and noisy counts."""
    write_clinic(folder / "visits.parquet", patients=patients)
    (folder / "visits.toml").write_text(SCHEMA)
    with Curator.open(folder / "vault") as curator:
        curator.add(folder / "visits.toml")
        curator.grant("office", epsilon=2)
        # One patient is in one interval of each round: five rounds of questions.
        joint = Joint.open(
            curator.session("office"),
            table="visits",
            name="ages",
            epsilon=2,
            sensitivity=5 * ROWS,
            columns=("age", "region"),
        )

        def visits(low: int, high: int) -> int:
            where = f"age >= {low} AND age < {high}"
            return joint.ask(f"SELECT COUNT(*) AS n FROM visits WHERE {where}").rows[0]["n"]

        found = [(0, 56, visits(0, 56)), (56, 111, visits(56, 111))]
        try:
            while True:
                wide = [each for each in found if each[1] - each[0] > LEAST]
                if not wide:
                    break
                largest = low, high, _ = max(wide, key=lambda each: each[2])
                middle = (low + high) // 2
                parts = [(low, middle), (middle, high)]
                found += [(low, high, visits(low, high)) for low, high in parts]
                found.remove(largest)
        except BudgetExceeded as refusal:
            print(f"Refused: {refusal}")
        for low, high, count in sorted(found):
            print(f"ages {low:3} to {high - 1:3}: {count:7}")
        print(f"Joint sensitivity {joint.sensitivity} of {5 * ROWS}, exact: {joint.exact}.")
        return sorted(found)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        refine(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            refine(Path(made))
