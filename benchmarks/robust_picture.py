"""The picture of docs/robust.md: error of the median against the number of rows, by mechanism.

    python benchmarks/robust_picture.py docs/pictures/robust_crossover.svg

The median absolute error over made-up incomes at epsilon 1/2, as benchmarks/robust.py measures it.
It takes about a minute.
"""

import sys

from discreet.curator.chart import svg
from robust import MECHANISMS, UPPER, error

COUNTS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000)
EPSILON, SHAPE = 0.5, "incomes (log-normal)"


def main() -> None:
    rows = [
        {"rows": count, "error": error(name, SHAPE, EPSILON, count, 6), "mechanism": name}
        for name in MECHANISMS
        for count in COUNTS
    ]
    x = {"field": "rows", "type": "quantitative", "scale": {"type": "log"}, "title": "rows"}
    y = {
        "field": "error",
        "type": "quantitative",
        "scale": {"type": "log"},
        "title": f"median error, in steps of a range of {UPPER:,}",
    }
    colour = {"field": "mechanism", "type": "nominal", "sort": list(MECHANISMS)}
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"Error of the median of {SHAPE}, epsilon {EPSILON}",
        "width": 420,
        "height": 260,
        "data": {"values": rows},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": x | {"axis": {"format": "~s", "values": [10, 100, 1000, 10_000]}},
            "y": y | {"axis": {"format": "~s"}},
            "color": colour | {"legend": {"title": None, "labelLimit": 320}},
        },
    }
    svg(chart, sys.argv[1])


if __name__ == "__main__":
    main()
