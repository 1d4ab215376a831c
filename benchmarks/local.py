"""The local model: reports a CPU second on one thread, and the error of the estimates.

The peer is multi-freq-ldpy (floating-point coins, compiled with numba) where it is installed, on
the same answers in the same run; else the rows say that it is absent. Its clients take one answer a
call, so they are measured on fewer. Its estimates are cut at zero and scaled to add up, so they
are compared with our projected ones. Errors are also held against the closed-form variance. What a
survey keeps and serves has no peer; those rates are by the clock, the others by CPU time.
"""

import http.client
import importlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.local import (
    Hybrid,
    KaryResponse,
    LocalHashing,
    OneBit,
    Piecewise,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    choose,
    frequencies,
    mean_variance,
)
from discreet.survey import Endpoint, Reports, read_survey_text
from discreet.survey.definition import SKELETON
from discreet.survey.findings import findings
from discreet.survey.wire import length, pack, unpack
from harness import Report, cpu_seconds

PEER = "multi-freq-ldpy"
MANY, FEW = 1_000_000, 5_000
CATEGORIES, EPSILON, PEOPLE, REPEATS = 32, 1, 10_000, 12
Kind = tuple[str, str, Any]  # the peer's module, its functions' prefix, ours

KINDS: tuple[Kind, ...] = (
    ("GRR", "GRR", KaryResponse),
    ("UE", "UE", UnaryEncoding),
    ("LH", "LH", LocalHashing),
    ("SS", "SS", SubsetSelection),
)


def peer(module: str, prefix: str) -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The peer's client and aggregator."""
    try:
        found = importlib.import_module(f"multi_freq_ldpy.pure_frequency_oracles.{module}")
        client = getattr(found, f"{prefix}_Client")
        client(0, CATEGORIES, float(EPSILON))  # compiled now; its hash fails with xxhash 4
    except (ImportError, TypeError):
        return None
    return client, getattr(found, f"{prefix}_Aggregator_MI")


def aggregate(function: Callable[..., Any], module: str, reports: Any) -> Any:
    """The peer's aggregators differ in their arguments."""
    if module == "UE":
        return function(reports, float(EPSILON))
    return function(reports, CATEGORIES, float(EPSILON))


def streaming(report: Report) -> None:
    """Binary reports into a tally, in chunks, and to an estimate."""
    question = KaryResponse(epsilon=EPSILON)
    reports = question.release(np.zeros(MANY, dtype=np.int64))

    def ours() -> None:
        tally = Tally.empty(question)
        for start in range(0, MANY, 10_000):
            tally = tally.add(reports[start : start + 10_000])
        frequencies(tally)

    theirs = peer("GRR", "GRR")
    other = None
    if theirs:
        part = reports[: MANY // 10]
        other = len(part) / cpu_seconds(lambda: theirs[1](part, 2, float(EPSILON)))
    name = PEER if theirs else f"{PEER} is absent or fails"
    case = "binary reports aggregated a second, chunks of 1e4"
    rate = MANY / cpu_seconds(ours)
    report.greater(case, rate, other, name)
    report.greater("binary reports aggregated a second", rate, 1e6, "goal of 1e6")


def releasing(report: Report) -> None:
    """Answers randomized a second."""
    exact = np.arange(200_000) % CATEGORIES
    for module, prefix, kind in KINDS:
        question = kind(epsilon=EPSILON, categories=CATEGORIES)
        theirs, other = peer(module, prefix), None
        if theirs:
            few = exact[:FEW].tolist()
            client = theirs[0]
            seconds = cpu_seconds(
                lambda c=client, f=few: [c(x, CATEGORIES, float(EPSILON)) for x in f]
            )
            other = FEW / seconds
        ours = len(exact) / cpu_seconds(lambda q=question: q.release(exact))
        case = f"{kind.__name__}, answers randomized a second, k={CATEGORIES}"
        report.greater(case, ours, other, PEER if theirs else f"{PEER} is absent or fails")


def errors(report: Report) -> None:
    """The squared error of an estimated count, per report, averaged over categories and runs."""
    exact = np.minimum(np.arange(PEOPLE) * 7 % 61, CATEGORIES - 1)
    truth = np.bincount(exact, minlength=CATEGORIES)

    def squared(counts: Any) -> float:
        return float(((np.asarray(counts) - truth) ** 2).mean()) / PEOPLE

    for module, prefix, kind in KINDS:
        question = kind(epsilon=EPSILON, categories=CATEGORIES)
        plain, projected, others = [], [], []
        theirs = peer(module, prefix)
        for repeat in range(REPEATS):
            found = frequencies(Tally.of(question, question.release(exact)))
            plain.append(squared(found.counts))
            projected.append(squared(found.projected()))
            if theirs and repeat < 4:
                sent = [theirs[0](x, CATEGORIES, float(EPSILON)) for x in exact.tolist()]
                others.append(squared(PEOPLE * aggregate(theirs[1], module, sent)))
        name = kind.__name__
        expected = mean_variance(question)
        report.faster(f"{name}, squared error", float(np.mean(plain)), expected, "closed form")
        report.faster(
            f"{name}, squared error, not negative",
            float(np.mean(projected)),
            float(np.mean(others)) if others else None,
            PEER if others else f"{PEER} is absent or fails",
        )


def closed_forms(report: Report) -> None:
    """The variance of the chosen randomizer against k-ary response, and of the numeric ones."""
    for categories in (2, 4, 16, 256, 65_536):
        for epsilon in (0.5, 1, 3):
            chosen = choose(categories=categories, epsilon=epsilon)
            simple = mean_variance(KaryResponse(epsilon=epsilon, categories=categories))
            case = f"k={categories}, epsilon={epsilon}: {type(chosen).__name__}"
            report.faster(f"variance, {case}", mean_variance(chosen), simple, "k-ary response")
    for epsilon in (0.5, 1, 3):
        asked = {"epsilon": epsilon, "lower": -1, "upper": 1, "step": 0.001}
        one_bit, piecewise, hybrid = (
            max(kind(**asked).variance(answer) for answer in (0, 1))
            for kind in (OneBit, Piecewise, Hybrid)
        )
        report.faster(f"worst variance, epsilon={epsilon}: hybrid", hybrid, one_bit, "one bit")
        report.faster(f"worst variance, epsilon={epsilon}: hybrid", hybrid, piecewise, "piecewise")


def collecting(report: Report) -> None:
    """A survey of three questions: reports kept durably, over HTTP, and read back."""
    survey = read_survey_text(SKELETON)
    people = 20_000
    drawn = {
        question.name: question.randomizer.release(np.arange(people) % 2)
        for question in survey.questions
    }
    bodies = pack(survey, drawn)
    report.faster("survey of 3 questions, bytes of a report", length(survey), None, "-")
    seconds = cpu_seconds(lambda: findings(survey, unpack(survey, bodies)))
    report.greater("survey reports unpacked and estimated a second", people / seconds, None, "-")
    with tempfile.TemporaryDirectory() as folder:
        reports = Reports(Path(folder) / "reports.db", survey)
        start = time.perf_counter()
        for place, body in enumerate(bodies[:1000]):
            reports.add(f"{place:032x}", body.tobytes())
        seconds = time.perf_counter() - start
        report.greater("survey reports kept a second, each durable", 1000 / seconds, None, "-")
        endpoint = Endpoint(reports, port=0)
        host = endpoint.address.removeprefix("http://").rstrip("/")
        connection = http.client.HTTPConnection(host, timeout=60)
        start = time.perf_counter()
        for place, body in enumerate(bodies[1000:1500]):
            connection.request("PUT", f"/reports/{place + 1000:032x}", body=body.tobytes())
            connection.getresponse().read()
        seconds = time.perf_counter() - start
        connection.close()
        report.greater("survey reports a second over HTTP, one client", 500 / seconds, None, "-")
        endpoint.close()
        reports.close()


def main() -> None:
    """Print every case."""
    report = Report("The local model")
    streaming(report)
    releasing(report)
    errors(report)
    closed_forms(report)
    collecting(report)


if __name__ == "__main__":
    main()
