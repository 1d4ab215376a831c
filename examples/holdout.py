"""A false discovery, found on a training half and checked against a holdout behind a curator. The
rows are coins: no attribute predicts the label, and the best one looks as if it did.

Run: python examples/holdout.py [FOLDER]
"""

import csv
import hashlib
import sys
import tempfile
from pathlib import Path

from discreet import Curator
from discreet.streams import Holdout

ROWS, OWN, ATTRIBUTES = 2000, 120, 40
NAMES = [f"a{place}" for place in range(ATTRIBUTES)]
SCHEMA = """
[table]
name = "trial"
source = "trial.csv"
unit = "person"
rows_per_unit = 1
[columns]
label = { type = "boolean" }
"""
BUDGET = "[budget]\nepsilon = 8\n"


def coins(half: str, row: int) -> list[bool]:
    """A label and attributes that have nothing to do with each other."""
    digest = hashlib.sha256(f"{half} {row}".encode()).digest()
    bits = int.from_bytes(digest, "big")
    return [bool(bits >> place & 1) for place in range(ATTRIBUTES + 1)]


def votes(row: list[bool], chosen: dict[int, bool]) -> bool:
    """What most of the chosen attributes say of the label, each or its opposite."""
    return sum(row[1 + place] == lean for place, lean in chosen.items()) * 2 > len(chosen)


def discover(folder: Path) -> dict[str, float]:
    """Choose attributes on the training half and ask the holdout about their vote."""
    own = [coins("training", row) for row in range(OWN)]  # the analyst's own: not protected
    agree = [sum(row[0] == row[1 + place] for row in own) for place in range(ATTRIBUTES)]
    strongest = sorted(range(ATTRIBUTES), key=lambda place: -abs(2 * agree[place] - OWN))[:9]
    chosen = {place: 2 * agree[place] > OWN for place in strongest}
    training = sum(row[0] == votes(row, chosen) for row in own) / len(own)

    with (folder / "trial.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "label", *NAMES])
        rows.writerows([row, *coins("holdout", row)] for row in range(ROWS))
    columns = "".join(f'{name} = {{ type = "boolean" }}\n' for name in NAMES)
    (folder / "trial.toml").write_text(SCHEMA + columns + BUDGET)
    with Curator.open(folder / "vault") as curator:
        curator.add(folder / "trial.toml")
        curator.grant("analyst", epsilon=8)
        holdout = Holdout.open(
            curator.session("analyst"),
            table="trial",
            name="check",
            threshold=0.04,
            overfits=3,
            epsilon=4,
        )
        said = " + ".join(
            f"CASE WHEN {NAMES[place]} = {str(lean).upper()} THEN 1 ELSE 0 END"
            for place, lean in chosen.items()
        )
        right = f"(({said} > 4) AND label) OR (({said} <= 4) AND NOT label)"
        mean = holdout.mean(f"SELECT COUNT(*) AS n FROM trial WHERE {right}", training=training)
        print(f"Nine of {ATTRIBUTES} coins vote on a coin. On the training half they are right in")
        print(f"{training:.1%} of the rows; the {mean.source} says {mean.value:.1%}.")
        print(f"Disagreements left: {holdout.left}. The {ROWS} rows of the holdout are protected;")
        print(f"the {OWN} of the training half are the analyst's own and are not.")
    return {"training": training, "holdout": mean.value}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        discover(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            discover(Path(made))
