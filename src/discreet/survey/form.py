"""The page that respondents see: plain HTML without a form to submit, made from the survey.
Escapes every text it is given; the scripts beside it do the randomizing and the sending.
"""

from html import escape
from typing import Any

from discreet.accounting.meaning import report_text
from discreet.drawing.page import document
from discreet.local.randomizers.kary import KaryResponse
from discreet.survey.definition import Survey
from discreet.survey.question import Choice, Question, Scale

__all__ = ["form_page", "form_values"]

_MOST_BUTTONS = 12


def form_values(survey: Survey, *, round_number: int = 1) -> dict[str, Any]:
    """What the page's script reads: recipes, the fingerprint, the round and what answers cost.

    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> form_values(read_survey_text(SKELETON))["epsilons"]
    [1.0, 1.0, 1.0]
    """
    return {
        "fingerprint": survey.fingerprint,
        "round": round_number,
        "rounds": survey.rounds,
        "epsilons": [float(question.loss) for question in survey.questions],
        "thanks": survey.thanks,
        "recipes": survey.recipes,
    }


def form_page(survey: Survey) -> str:
    """The respondents' page as HTML text.

    There is no form element, so that no browser can submit an answer without the script.
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> "<form" in form_page(read_survey_text(SKELETON))
    False
    """
    often = (
        ""
        if survey.rounds == 1
        else f" It is asked up to {survey.rounds} times, and lots are drawn afresh each time. All "
        f"rounds together cost at most epsilon = {_decimal(survey.limit)}: "
        f"{report_text(epsilon=survey.limit, reports='all reports together are')}. This browser "
        "keeps the reports that it has sent, and no answer."
    )
    cost = (
        f"{'The whole survey costs' if survey.rounds == 1 else 'One round costs'} epsilon = "
        f"{_decimal(survey.epsilon)}: {report_text(epsilon=survey.epsilon)}.{often}"
    )
    return document(
        survey.title,
        [
            f"<h1>{escape(survey.title)}</h1>",
            f"<p>{escape(survey.introduction)}</p>",
            "<p>Your answers stay in this browser. It draws lots and sends a randomized report "
            f"instead; nobody, on the way or at the centre, can read your answers. {cost}</p>",
            "<noscript><p>This page needs JavaScript to randomize your answers. "
            "Without it nothing is sent.</p></noscript>",
            '<div id="questions">',
            *(_fieldset(question) for question in survey.questions),
            "</div>",
            '<p><button id="send" type="button" disabled>Randomize and send</button></p>',
            '<p id="says" role="status"></p>',
            '<p><small id="spent"></small></p>',
        ],
        head='<link rel="icon" href="data:,">\n<link rel="stylesheet" href="style.css">\n'
        '<script type="module" src="survey.js"></script>',
    )


def _fieldset(question: Question) -> str:
    inside = _number(question) if isinstance(question, Scale) else _options(question)
    return (
        f'<fieldset id="question-{question.name}"><legend>{escape(question.text)}</legend>\n'
        f"{inside}\n<small>{escape(_what_is_sent(question))}</small></fieldset>"
    )


def _options(question: Choice) -> str:
    labels = enumerate(escape(option) for option in question.options)
    if len(question.options) <= _MOST_BUTTONS:
        return "\n".join(
            f'<label><input type="radio" name="{question.name}" value="{place}" '
            f'autocomplete="off"> {label}</label>'
            for place, label in labels
        )
    items = "".join(f'<option value="{place}">{label}</option>' for place, label in labels)
    return f'<select autocomplete="off"><option value="">choose</option>{items}</select>'


def _number(question: Scale) -> str:
    lattice = question.randomizer.lattice
    return (
        f"<label>from {_decimal(lattice.lower)} to {_decimal(lattice.upper)}, in steps of "
        f'{_decimal(lattice.step)} <input type="text" inputmode="decimal" autocomplete="off" '
        'size="8"></label>'
    )


def _what_is_sent(question: Question) -> str:
    cost = f"epsilon = {_decimal(question.loss)}"
    randomizer = question.randomizer
    if isinstance(randomizer, KaryResponse):
        keep = float(randomizer.chances()[0])
        return f"Sent as it is with probability {keep:.1%}, else another option at random; {cost}."
    bits = randomizer.report_bits
    size = "one bit" if bits == 1 else f"{bits} bits"
    return f"Sent as {size}, drawn at random with odds that depend on your answer; {cost}."


def _decimal(value: Any) -> str:
    return f"{float(value):.12g}"
