"""Draws the two pictures of docs/local.md: what it costs that nobody at the centre is trusted.

    python examples/local_against_central.py --output docs/pictures

The first measures the error of one count both ways, against the number of people. The second
measures how many people it takes to tell a parity that is asked only after the answers were given
[DMNS06, Sec. 4.1]. The people are made up; the default takes about a minute.
"""

import argparse
from pathlib import Path

from discreet.drawing.chart import svg
from discreet.local import comparison_chart, measure, parity_chart, parity_need, parity_people

EPSILON = 1


def main() -> None:
    """Measure, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--trials", type=int, default=60, help="of each measurement")
    parser.add_argument("--widest", type=int, default=14, help="the most bits of a parity")
    parser.add_argument("--people", type=int, default=1_000_000, help="the most people of a count")
    asked = parser.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    crowds = [10**power for power in range(2, 8) if 10**power <= asked.people]
    measured = [measure(people=people, epsilon=EPSILON, trials=asked.trials) for people in crowds]
    for one in measured:
        print(f"{one.people:>9,} people: local {one.local:9.1f}, central {one.central:5.2f}")
    chart = comparison_chart(epsilon=EPSILON, measured=measured)
    svg(chart, str(asked.output / "local_central.svg"))
    needed = {
        width: parity_need(width=width, epsilon=EPSILON, trials=asked.trials)
        for width in range(2, asked.widest + 1, 2)
    }
    for width, (survey, curator) in needed.items():
        least = parity_people(width=width, epsilon=EPSILON)
        print(f"{width:>2} bits: survey {survey:>9,} (at least {least:,}), curator {curator}")
    widths = range(1, asked.widest + 1)
    chart = parity_chart(epsilon=EPSILON, widths=widths, needed=needed)
    svg(chart, str(asked.output / "local_parities.svg"))


if __name__ == "__main__":
    main()
