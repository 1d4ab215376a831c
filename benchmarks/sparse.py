"""Which of many values are above a threshold: the error of our form of the sparse vector technique
against the textbook's, and against paying for every answer, at the same price.

First the distance from the threshold at which nothing is misjudged, with 95% for all questions
together, by the exact law of the noise. Then streams of counts, judged many times over: how many
answers are wrong. Last what a monitor's check costs in CPU time beside a question that is asked
and paid for each time; neither engine nor disk wait in it.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Curator
from discreet.loss import Relation, Sensitivity
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.noise import system
from discreet.streams import Monitor, Sparse
from harness import Report, cpu_seconds

BOOK, EACH = "Sparse of the book", "paying for every answer"
ONE, ADD = Sensitivity.single(1), Relation.ADD_REMOVE
QUESTIONS, EPSILON, RHO = 1000, 1, 0.02
RUNS, CHECKS = 200, 100
SCHEMA = """
[table]
name = "people"
source = "people.csv"
[columns]
age = { type = "integer", lower = 0, upper = 9999 }
[budget]
epsilon = 1000000
"""


def by_formula(report: Report) -> None:
    """Distances at which nothing is misjudged."""
    for alarms in (1, 10, 100):
        words: dict[str, Any] = {"alarms": alarms, "sensitivity": ONE}
        book = Sparse.textbook(epsilon=EPSILON, **words).error(0.95, queries=QUESTIONS)
        name = f"epsilon {EPSILON}, {alarms} of {QUESTIONS} above"
        ours = Sparse.of(epsilon=EPSILON, **words).error(0.95, queries=QUESTIONS)
        report.faster(f"{name}: distance", ours, book, BOOK)
        one_way = Sparse.monotone(epsilon=EPSILON, relation=ADD, **words)
        counts = one_way.error(0.95, queries=QUESTIONS)
        report.faster(f"{name}, counts: distance", counts, book, BOOK)
        laplace = DiscreteLaplace(scale=QUESTIONS / EPSILON).simultaneous_error(QUESTIONS, 0.95)
        report.faster(f"{name}, counts: distance", counts, laplace, EACH)
    for alarms in (1, 10, 100):
        made = Sparse.monotone(rho=RHO, alarms=alarms, sensitivity=ONE, relation=ADD)
        ours = made.error(0.95, queries=QUESTIONS)
        gaussian = DiscreteGaussian.of_variance(QUESTIONS / (2 * RHO))
        each = gaussian.simultaneous_error(QUESTIONS, 0.95)
        report.faster(
            f"rho {RHO}, {alarms} of {QUESTIONS} above, counts: distance", ours, each, EACH
        )


def by_counting(report: Report) -> None:
    """Wrong answers to counts around 500, of which ten are around 700, at a threshold of 600."""
    rng = np.random.default_rng(system.bits(128))
    made = (
        Sparse.monotone(epsilon=EPSILON, alarms=10, sensitivity=ONE, relation=ADD),
        Sparse.textbook(epsilon=EPSILON, alarms=10, sensitivity=ONE),
    )
    wrong = [0, 0]
    for _ in range(RUNS):
        exact = rng.poisson(500, QUESTIONS)
        exact[rng.choice(QUESTIONS, 10, replace=False)] += 200
        for place, sparse in enumerate(made):
            said = np.zeros(QUESTIONS, dtype=np.bool_)
            answers = sparse.release(exact, threshold=600)
            said[: len(answers)] = answers
            wrong[place] += int(np.sum(said != (exact >= 600)))
    ours, book = (each / RUNS for each in wrong)
    report.faster(f"wrong answers of {QUESTIONS}, mean of {RUNS} runs", ours, book, BOOK)
    exact = rng.poisson(400, 100_000)
    seconds = cpu_seconds(lambda: made[0].release(exact, threshold=10**6))
    report.greater("million answers a CPU second", 0.1 / seconds, None, "")


def checks(report: Report, folder: Path) -> None:
    """CPU milliseconds of a check, and of a question that is charged."""
    ages = system.bits(7 * 1000)
    rows = [str((ages >> 7 * place & 127) % 111) for place in range(1000)]
    (folder / "people.csv").write_text("\n".join(["age", *rows]) + "\n")
    (folder / "people.toml").write_text(SCHEMA)
    with Curator.open(folder / "vault", price_floor=0) as curator:
        curator.add(folder / "people.toml")
        curator.grant("ana", epsilon=10**6)
        session = curator.session("ana")
        monitor = Monitor.open(
            session, "SELECT COUNT(*) FROM people", threshold=10**6, epsilon=1, name="busy"
        )
        monitor.check()
        ours = cpu_seconds(lambda: [monitor.check() for _ in range(CHECKS)])
        limits = iter(range(10**6))

        def ask() -> None:
            for _ in range(CHECKS):  # other words each time: the same question again is free
                limit = 200 + next(limits)
                session.sql(f"SELECT COUNT(*) FROM people WHERE age < {limit}", epsilon=1)

        peer = cpu_seconds(ask)
    name = "CPU milliseconds of a check"
    report.faster(name, 1000 * ours / CHECKS, 1000 * peer / CHECKS, "a charged question")


def main() -> None:
    """Print every case."""
    report = Report("Sparse vector and monitors")
    by_formula(report)
    by_counting(report)
    with tempfile.TemporaryDirectory() as folder:
        checks(report, Path(folder))


if __name__ == "__main__":
    main()
