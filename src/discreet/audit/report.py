"""The audit page: verdicts on everything the project audits of itself, the planted bugs, charts.
Shows what it is given; runs nothing.
"""

from collections.abc import Sequence
from typing import Any

from discreet.audit.catalogue import Examined
from discreet.drawing.chart import LIGHT, RED, chart, quantity, row_labels, svg
from discreet.drawing.page import Section, page

__all__ = ["audit_page", "examination_values", "summary"]

_CLAIM = "#333333"
_TITLES = {
    "mechanisms": "Mechanisms",
    "local": "The local model",
    "streams": "Many questions",
    "robust": "Beyond global sensitivity",
    "release": "Releases and synthetic data",
    "a curator": "A curator, through its sessions",
    "services": "Services, through a session",
    "publications": "Whole releases, through a session",
    "published bugs": "Bugs that were published",
}
_WORDS = (
    "Each mechanism was run on made-up neighbouring inputs. Half of the outputs chose an event "
    "that one input makes likelier than the other; the other half counted it, and the counts give "
    "a lower bound on epsilon that is wrong with the probability stated.",
    "A bound below the claim proves nothing; a bound above it ends the discussion. So that this "
    "means something, a bug is planted beside each, named after it, and looked for in the same "
    "way; so are bugs that were published elsewhere. Bars are bounds, ticks are claims.",
)


def examination_values(one: Examined) -> dict[str, Any]:
    """One audit as values ready for JSON.

    >>> from discreet.audit.catalogue import bugs, examine
    >>> examination_values(examine(bugs()[0], false_alarm=1e-3))["samples"]
    3000
    """
    strongest = one.verdict.strongest
    return {
        "name": one.subject.name,
        "planted": bool(one.subject.bug),
        "claimed": float(strongest.statement.epsilon),
        "delta": float(strongest.statement.delta),
        "at_least": one.verdict.epsilon,
        "violated": one.verdict.violated,
        "as_expected": one.as_expected,
        "samples": one.subject.samples,
        "outputs": one.verdict.outputs_drawn,
        "event": strongest.event,
        "false_alarm": float(one.verdict.false_alarm),
    }


def summary(examined: Sequence[Examined]) -> str:
    """One sentence about all of them.

    >>> summary([])
    '0 correct mechanisms and services left alone of 0; 0 planted bugs caught of 0.'
    """
    right = [one for one in examined if not one.subject.bug]
    wrong = [one for one in examined if one.subject.bug]
    return (
        f"{sum(one.as_expected for one in right)} correct mechanisms and services left alone of "
        f"{len(right)}; "
        f"{sum(one.as_expected for one in wrong)} planted bugs caught of {len(wrong)}."
    )


def audit_page(examined: Sequence[Examined]) -> str:
    """The whole page. Needs the plots extra."""
    parts = dict.fromkeys(one.subject.part for one in examined)
    sections = [
        _section(part, [one for one in examined if one.subject.part == part]) for part in parts
    ]
    verdicts = "\n\n".join(f"{one.subject.name}\n{one.verdict}" for one in examined)
    sections.append(Section(title="Verdicts in full", text=verdicts))
    return page("Audit of discreet", (*_WORDS, summary(examined)), sections)


def _section(part: str, examined: Sequence[Examined]) -> Section:
    title = _TITLES.get(part, part)
    return Section(
        title=title,
        words=(summary(examined),),
        columns=("name", "claimed", "at delta", "at least", "samples for each input", "verdict"),
        rows=[_row(one) for one in examined],
        drawings=(svg(_chart(title, examined)),),
    )


def _row(one: Examined) -> tuple[str, ...]:
    values = examination_values(one)
    conclusion = "the claim is false" if one.verdict.violated else "nothing found"
    if one.subject.bug and one.verdict.violated:
        conclusion = "caught"
    return (
        one.subject.name,
        f"{values['claimed']:.4g}",
        f"{values['delta']:.3g}",
        f"{values['at_least']:.3f}",
        f"{one.subject.samples:,}",
        conclusion if one.as_expected else f"{conclusion}: NOT AS EXPECTED",
    )


def _chart(title: str, examined: Sequence[Examined]) -> dict[str, Any]:
    """The proven bound as a bar, the claim as a tick."""
    rows = [
        {
            "name": one.subject.name,
            "bound": one.verdict.epsilon,
            "claimed": float(one.verdict.strongest.statement.epsilon),
            "verdict": "above the claim" if one.verdict.violated else "within the claim",
        }
        for one in examined
    ]
    y = row_labels("name", rows, limit=420)
    colour = {
        "field": "verdict",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["within the claim", "above the claim"], "range": [LIGHT, RED]},
    }
    bound = quantity("bound", title="epsilon is at least")
    return chart(
        title=title,
        padding={"left": 90, "right": 20, "top": 5, "bottom": 5},  # fonts differ in their widths
        height={"step": 20},
        data={"values": rows},
        layer=[
            {"mark": "bar", "encoding": {"x": bound, "y": y, "color": colour}},
            {
                "mark": {"type": "tick", "color": _CLAIM, "thickness": 3},
                "encoding": {"x": quantity("claimed"), "y": y},
            },
        ],
    )
