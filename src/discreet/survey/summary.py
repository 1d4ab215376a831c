"""A survey's findings as one HTML page without scripts, and what has to be said beside them."""

from discreet.attacks.page import Section, page
from discreet.curator.chart import svg
from discreet.survey.chart import finding_chart
from discreet.survey.definition import Survey
from discreet.survey.findings import Finding, Pairs

__all__ = ["caveats", "figure", "summary_page"]


def caveats(survey: Survey, people: int) -> tuple[str, ...]:
    """What a reader of the numbers must know.

    Privacy: none (touches no data).
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> caveats(read_survey_text(SKELETON), 12)[0]
    '12 respondents; each answered once, at a total epsilon of 3.'
    """
    return (
        f"{people:,} respondents; each answered once, at a total epsilon of "
        f"{float(survey.epsilon):g}.",
        "Every answer was randomized by its respondent's browser before it was sent; nobody can "
        "read answers back from the reports.",
        "Intervals cover the randomization only. They are about those who reported: who was asked "
        "and who declined is not in them, and a token is not proof of a person.",
    )


def figure(value: float, finding: Finding) -> str:
    """A share in percent, a mean as a number.

    Privacy: post-processing.
    >>> from discreet.survey.question import Choice
    >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
    >>> figure(0.5, Finding(question=asked, people=0, confidence=0.95, rows=()))
    '50.0%'
    """
    return f"{value:.1%}" if finding.is_share else f"{value:.4g}"


def summary_page(survey: Survey, found: tuple[Finding, ...], joint: tuple[Pairs, ...] = ()) -> str:
    """The page: a chart and a table for each question, and the joint tables asked for.

    Needs the plots extra.
    Privacy: post-processing.
    >>> summary_page.__name__
    'summary_page'
    """
    sections = [_finding(finding) for finding in found] + [_pairs(table) for table in joint]
    return page(survey.title, caveats(survey, found[0].people), sections)


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
