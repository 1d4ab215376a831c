"""A survey's findings as one HTML page without scripts, and what has to be said beside them.
All of it is post-processing of randomized reports.
"""

from discreet.drawing.chart import svg
from discreet.drawing.page import Section, page
from discreet.survey.chart import finding_chart
from discreet.survey.definition import Survey
from discreet.survey.findings import Finding, Pairs
from discreet.survey.reports import Reports

__all__ = ["caveats", "cost_words", "figure", "summary_page"]


def cost_words(reports: Reports) -> str:
    """What answering has cost each respondent, and what is not covered by it."""
    survey = reports.survey
    once = f"Each respondent answered once, at a total epsilon of {float(survey.epsilon):g}."
    if reports.unmarked:
        return (
            f"{once} These reports carry no round. If an earlier version collected them in several "
            "rounds, it sent the same report again for the same answer: whoever can tell that "
            "reports of several rounds come from one person sees which of the answers were the "
            "same, and no epsilon covers that."
        )
    if survey.rounds == 1:
        return once
    return (
        f"Each respondent answered once in this round, at an epsilon of {float(survey.epsilon):g}; "
        f"all {survey.rounds} rounds together cost at most {float(survey.limit):g}, whatever is "
        "answered in each."
    )


def caveats(people: int, *, cost: str) -> tuple[str, ...]:
    """What a reader of the numbers must know.

    >>> caveats(12, cost="Each respondent answered once, at a total epsilon of 3.")[0]
    '12 respondents. Each respondent answered once, at a total epsilon of 3.'
    """
    return (
        f"{people:,} respondents. {cost}",
        "Every answer was randomized by its respondent's browser before it was sent; nobody can "
        "read answers back from the reports.",
        "Intervals cover the randomization only. They are about those who reported: who was asked "
        "and who declined is not in them, and a token is not proof of a person.",
    )


def figure(value: float, finding: Finding) -> str:
    """A share in percent, a mean as a number."""
    return f"{value:.1%}" if finding.is_share else f"{value:.4g}"


def summary_page(
    survey: Survey, results: tuple[Finding, ...], joint: tuple[Pairs, ...] = (), *, cost: str
) -> str:
    """The page: a chart and a table for each question, and the joint tables asked for.

    `cost` are the `cost_words` of the reports. Needs the plots extra.
    """
    sections = [_finding(finding) for finding in results] + [_pairs(table) for table in joint]
    return page(survey.title, caveats(results[0].people, cost=cost), sections)


def _finding(finding: Finding) -> Section:
    level = f"{100 * finding.confidence:g}% interval"
    return Section(
        title=finding.question.text,
        words=[
            f"epsilon {float(finding.question.loss):g}, by "
            f"{type(finding.question.randomizer).__name__}"
        ],
        columns=("", "estimate", "standard error", level, "adjusted to what is possible"),
        rows=[
            (
                row.label,
                figure(row.value, finding),
                figure(row.error, finding),
                f"{figure(row.low, finding)} to {figure(row.high, finding)}",
                figure(row.adjusted, finding),
            )
            for row in finding.rows
        ],
        drawings=[svg(finding_chart(finding))],
    )


def _pairs(table: Pairs) -> Section:
    return Section(
        title=f"{table.first.text} / {table.second.text}",
        words=["Shares of pairs of answers: estimate and standard error."],
        columns=("", *table.second.options),
        rows=[
            (
                option,
                *(
                    f"{share:.1%} ± {error:.1%}"
                    for share, error in zip(shares, errors, strict=True)
                ),
            )
            for option, shares, errors in zip(
                table.first.options, table.shares, table.errors, strict=True
            )
        ],
    )
