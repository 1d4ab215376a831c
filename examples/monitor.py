"""A clinic watches for a wave of fever: every day the visits of the last week are counted, and
only the days on which there are too many are paid for. The people are made up.

Run: python examples/monitor.py [FOLDER]
"""

import csv
import sys
import tempfile
from pathlib import Path

from discreet import Curator
from discreet.streams import Monitor

SCHEMA = """
[table]
name = "week"
source = "week.csv"
population = "patients"
unit = "patient"
rows_per_unit = 3
[columns]
fever = { type = "boolean" }
[budget]
epsilon = 2
"""
QUESTION = "SELECT COUNT(*) FROM week WHERE fever"
WAVE = (150, 160, 190, 260, 400, 1700, 2300, 1900)  # visits with fever, week by week


def write_week(folder: Path, feverish: int) -> None:
    """The table as it is this week: everybody comes twice, and some of the visits are for fever."""
    with (folder / "week.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["patient", "fever"])
        rows.writerows([visit // 2, visit < feverish] for visit in range(4000))


def watch(folder: Path) -> list[str]:
    """Refresh and check, week after week; what was said."""
    (folder / "week.toml").write_text(SCHEMA)
    write_week(folder, WAVE[0])
    said = []
    with Curator.open(folder / "vault") as curator:
        curator.add(folder / "week.toml")
        curator.grant("office", epsilon=2)
        session = curator.session("office")
        design = Monitor.explain(
            session, QUESTION, threshold=1000, alarms=2, epsilon=1, numbers=0.2
        )
        print(f"A run costs epsilon {float(design.cost.epsilon):g}, however many weeks it takes.")
        print(f"In 100 checks no value farther than {design.error(checks=100):g} from 1000 is")
        print("called by the wrong side, with 95%.")
        monitor = Monitor.open(
            session, QUESTION, threshold=1000, alarms=2, epsilon=1, numbers=0.2, name="fever"
        )
        for week, feverish in enumerate(WAVE, 1):
            write_week(folder, feverish)
            curator.refresh("week")
            check = monitor.check()
            number = "" if check.number is None else f", about {float(check.number):g}"
            print(f"week {week}: {check.said}{number}")
            said.append(str(check.said))
            if not check.alarms_left:
                print("Both alarms are used. monitor.renew() would begin and charge the next run.")
                break
        print(f"Left: epsilon {float(session.remaining.epsilon):g}.")
    return said


if __name__ == "__main__":
    if len(sys.argv) > 1:
        watch(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            watch(Path(made))
