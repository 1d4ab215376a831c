"""Many questions about a survey for one price: a synopsis answers conditions over eight columns,
learns what it did not know, and is then published as a file. The people are made up.

Run: python examples/synopsis.py [FOLDER]
"""

import random
import sys
import tempfile
from pathlib import Path

from discreet import Curator
from discreet.streams import Synopsis

COLUMNS = ("smokes", "sleeps", "walks", "drives", "reads", "cooks", "sings", "votes")
PEOPLE = 40_000
SCHEMA = """
[table]
name = "survey"
source = "survey.csv"
[columns]
{columns}
[budget]
epsilon = 2
delta = 1e-6
"""


def write_survey(folder: Path) -> None:
    """Made-up answers; who reads and cooks and sings depends on an even number of yeses."""
    chance = random.Random(1)
    lines = [",".join(COLUMNS)]
    for _ in range(PEOPLE):
        row = [chance.random() < share for share in (0.2, 0.6, 0.5, 0.4, 0.5, 0.5, 0.5, 0.7)]
        row[6] = row[4] == row[5]  # no column and no pair of columns shows it
        lines.append(",".join(str(each).lower() for each in row))
    (folder / "survey.csv").write_text("\n".join(lines) + "\n")
    columns = "\n".join(f'{name} = {{ type = "boolean", null = false }}' for name in COLUMNS)
    (folder / "survey.toml").write_text(SCHEMA.format(columns=columns))


def main(folder: Path) -> None:
    """Open a synopsis, ask, publish it and ask the file."""
    write_survey(folder)
    count = "SELECT COUNT(*) FROM survey WHERE"
    with Curator.open(folder / "vault") as curator:
        curator.add(folder / "survey.toml")
        curator.grant("office", epsilon=2, delta=1e-6)
        session = curator.session("office")
        synopsis = Synopsis.open(
            session, COLUMNS, table="survey", name="habits", alpha=0.05, epsilon=1, order=2
        )
        print(f"About {synopsis.snapshot.total:.0f} people, {synopsis.rounds_left} rounds left.")
        for where in (
            "smokes",
            "walks AND NOT drives",
            "walks AND (drives OR sleeps) AND votes",
            "reads AND cooks AND sings",  # a quarter; what was measured ahead says an eighth
            "reads AND cooks AND NOT sings",
        ):
            found = synopsis.query(f"{count} {where}")
            width = "" if found.half_width is None else f" within {found.half_width:.0f}"
            print(f"{where}: {found.value:.0f}{width} ({found.source})")
        synopsis.finish()
        synopsis.save(folder / "habits.synopsis")
        print(
            f"Charged: rho {float(synopsis.spent):.4f}; left: epsilon "
            f"{float(session.remaining.epsilon):.2f}."
        )
    public = Synopsis.load(folder / "habits.synopsis")  # no vault, no budget
    print(
        f"From the file: {public.query(f'{count} smokes AND NOT sleeps').value:.0f} smoke and "
        "do not sleep well."
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
