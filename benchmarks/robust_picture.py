"""The picture of docs/robust.md: where data-dependent noise overtakes noise for the worst case.

    python benchmarks/robust_picture.py docs/pictures/robust_crossover.svg

Left, the median of made-up incomes against the number of rows, at epsilon 1/2; in the middle, that
of 2,000 rows against epsilon; right, a mean against how much too wide its declared bounds are, at
epsilon 1/2. Median absolute errors, as benchmarks/robust.py measures them. It takes two minutes.
"""

import sys
from typing import Any

import numpy as np

from discreet.drawing.chart import svg
from discreet.loss import Relation
from discreet.robust import CauchyShape, SmoothTrimmedMean, StudentShape
from robust import DATA_SETS, DRAWS, MECHANISMS, ROWS, error

COUNTS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000)
WIDTHS = (6, 10, 20, 50, 100, 200, 500, 1000)  # the declared range over the standard deviation
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
EPSILON, SHAPE, SPREAD = 0.5, "incomes (log-normal)", 1000
LABEL = "datum.value < 1 ? datum.value : format(datum.value, '~s')"
TRIMMED = {
    "trimmed, smooth Cauchy": CauchyShape.priced(epsilon=EPSILON),
    "trimmed, smooth Student 3": StudentShape.priced(epsilon=EPSILON),
}


def medians() -> list[dict[str, Any]]:
    return [
        {"at": count, "error": error(name, SHAPE, EPSILON, count, 6), "mechanism": name}
        for name in MECHANISMS
        for count in COUNTS
    ]


def prices() -> list[dict[str, Any]]:
    return [
        {"at": epsilon, "error": error(name, SHAPE, epsilon, ROWS, 6), "mechanism": name}
        for name in MECHANISMS
        for epsilon in EPSILONS
    ]


def means() -> list[dict[str, Any]]:
    rows = []
    for width in WIDTHS:
        upper = width * SPREAD
        query = SmoothTrimmedMean(share=0.1, lower=0, upper=upper, relation=Relation.REPLACE)
        errors: dict[str, list[float]] = {name: [] for name in TRIMMED}
        for seed in range(DATA_SETS):
            drawn = np.random.default_rng(seed).normal(upper / 2, SPREAD, ROWS)
            data = np.clip(np.rint(drawn), 0, upper).astype(np.int64)
            growth, mean = query.growth(data), float(data.mean())
            for name, noise in TRIMMED.items():
                errors[name] += [abs(noise.release(growth) - mean) for _ in range(DRAWS)]
        for name, found in errors.items():
            rows.append({"at": width, "error": float(np.median(found)), "mechanism": name})
        plain = upper / ROWS / EPSILON * float(np.log(2))
        rows.append({"at": width, "error": plain, "mechanism": "mean, global Laplace"})
    return rows


def panel(
    title: str, rows: list[dict[str, Any]], across: str, marks: list[float]
) -> dict[str, Any]:
    log = {"type": "log"}
    names = list(dict.fromkeys(row["mechanism"] for row in rows))
    kind = {"type": "quantitative", "scale": log}
    return {
        "title": title,
        "width": 250,
        "height": 240,
        "data": {"values": rows},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "at", "title": across, "axis": {"labelExpr": LABEL, "values": marks}}
            | kind,
            "y": {"field": "error", "title": "median error, steps", "axis": {"labelExpr": LABEL}}
            | kind,
            "color": {
                "field": "mechanism",
                "type": "nominal",
                "sort": names,
                "legend": {"title": None, "labelLimit": 320, "orient": "bottom", "columns": 2},
            },
        },
    }


def main() -> None:
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "hconcat": [
            panel("Median of incomes", medians(), "rows", [10, 100, 1000, 10_000]),
            panel("Median of 2,000 incomes", prices(), "epsilon", [0.1, 1, 10]),
            panel("Mean of 2,000 rows", means(), "range / standard deviation", [10, 100, 1000]),
        ],
        "resolve": {"scale": {"color": "independent"}},
    }
    svg(chart, sys.argv[1])


if __name__ == "__main__":
    main()
