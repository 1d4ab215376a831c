"""Charts of findings as Vega-Lite values: a bar for each option, a point for each mean, with
intervals. Post-processing: draws the estimates that it is given.
"""

from typing import Any

from discreet.drawing.chart import DARK, LIGHT, chart, quantity, row_labels, stack
from discreet.survey.definition import Survey
from discreet.survey.findings import Finding
from discreet.survey.forecast import forecast, part_of_range
from discreet.survey.question import Scale

__all__ = ["finding_chart", "findings_chart", "forecast_chart"]

_PEOPLE = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def finding_chart(finding: Finding) -> dict[str, Any]:
    """One question: horizontal bars or points over the possible range, with intervals.

    >>> from discreet.survey.question import Choice
    >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
    >>> finding = Finding(question=asked, people=0, confidence=0.95, rows=())
    >>> finding_chart(finding)["title"]
    'Do you smoke?'
    """
    rows = [
        {"label": row.label, "value": row.adjusted, "low": row.low, "high": row.high}
        for row in finding.rows
    ]
    y = row_labels("label", rows)
    level = f"{100 * finding.confidence:g}% intervals"
    if isinstance(finding.question, Scale):
        lattice = finding.question.randomizer.lattice
        domain, axis = [float(lattice.lower), float(lattice.upper)], {}
        mark: dict[str, Any] = {"type": "point", "filled": True, "size": 80, "color": DARK}
        title = f"mean, with {level}"
    else:
        domain, axis = [0.0, 1.0], {"format": ".0%"}
        mark = {"type": "bar", "color": LIGHT}
        title = f"share of {finding.people:,} respondents, with {level}"
    x = quantity("value", scale={"domain": domain}, axis=axis, title=title)
    error = {
        "mark": {"type": "errorbar", "ticks": True, "color": DARK},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
    }
    text = finding.question.text
    return chart(
        title=text if len(text) <= 60 else {"text": text, "limit": 600},
        height={"step": 28},
        data={"values": rows},
        layer=[{"mark": mark, "encoding": {"x": x, "y": y}}, error],
    )


def findings_chart(results: tuple[Finding, ...]) -> dict[str, Any]:
    """All questions below each other."""
    return stack([finding_chart(finding) for finding in results])


def forecast_chart(survey: Survey) -> dict[str, Any]:
    """The error of each question against the number of people, beside a trusted curator's.

    Errors are of shares, and of means as a part of their range.
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> len(forecast_chart(read_survey_text(SKELETON))["data"]["values"])
    54
    """
    rows = [
        {"people": people, "error": error, "question": one.question.name, "who": who}
        for people in _PEOPLE
        for one in forecast(survey, people=people)
        for who, error in (
            ("randomized by respondents", part_of_range(one.question, one.error)),
            ("a trusted curator", part_of_range(one.question, one.central)),
        )
    ]
    log = {"type": "log"}
    title = "standard error of a share, or of a mean over its range"
    return chart(
        title="Standard error against the number of people",
        height=280,
        data={"values": rows},
        mark={"type": "line"},
        encoding={
            "x": quantity("people", scale=log, title="people who answer", axis={"format": "~s"}),
            "y": quantity("error", scale=log, title=title, axis={"format": "~%"}),
            "color": {"field": "question", "type": "nominal", "title": None},
            "strokeDash": {"field": "who", "type": "nominal", "title": None},
        },
    )
