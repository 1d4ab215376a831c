"""How many visits has the clinic had up to each month? A running count over two versions of the
data, paid for once. The people are made up.

Run: python examples/counter.py [FOLDER]
"""

import sys
import tempfile
from datetime import date
from pathlib import Path

from discreet import Curator
from discreet.demo.clinic import SCHEMA, write_clinic
from discreet.streams import Counter

QUESTION = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"


def count(folder: Path, patients: int = 5000) -> list[float]:
    """Count a year, refresh the data, count on; the values of all points."""
    write_clinic(folder / "visits.parquet", patients=patients)
    budget = "epsilon = 3\ndelta = 1e-6"
    (folder / "visits.toml").write_text(SCHEMA.replace("epsilon = 3", budget))
    with Curator.open(folder / "vault") as curator:
        curator.add(folder / "visits.toml")
        curator.grant("office", epsilon=2, delta=1e-6)
        session = curator.session("office")
        settings = {"epsilon": 1, "versions": 2, "buckets": 12}
        design = Counter.explain(session, QUESTION, **settings)
        print(f"Protected is, {design.protects}.")
        print(f"All of it costs rho {float(design.cost.rho):.4f}; a point is off by at most")
        print(f"{max(design.errors):.0f} with 95%.")
        counter = Counter.open(session, QUESTION, name="visits", **settings)
        counter.advance(upto=date(2024, 12, 31))
        write_clinic(folder / "visits.parquet", patients=patients + patients // 10)
        curator.refresh("visits")
        counter.advance(upto=date(2025, 12, 31))
        for point in counter.points:
            print(f"up to {point.start:%Y-%m}: {point.value:10.0f} +- {point.half_width:.0f}")
        print("From 2025 on the points are those of the new data, earlier months included.")
        kinds = [each.kind for each in session.history()]
        questions, counters = kinds.count("question"), kinds.count("counter")
        print(f"Charges in the ledger: {questions} questions and {counters} counter.")
        return [point.value for point in counter.points]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        count(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            count(Path(made))
