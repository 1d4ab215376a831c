"""A survey as its designer writes it: a TOML file of questions, read into a value.
Reads the definition only; reports are kept elsewhere.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import InvalidValue, SchemaError
from discreet.schema.toml.column_entry import known_keys
from discreet.survey.question import BEST, Choice, Question, Scale
from discreet.survey.recipe import recipe

__all__ = ["SKELETON", "Survey", "read_survey", "read_survey_text"]

_MOST_QUESTIONS = 50
_MOST_ROUNDS = 1000
_SURVEY = ("title", "introduction", "thanks", "rounds")
_COMMON = ("type", "text", "epsilon", "randomizer")
_KEYS = {
    "yes-no": _COMMON,
    "choice": (*_COMMON, "options"),
    "number": (*_COMMON, "lower", "upper", "step"),
}

SKELETON = """\
# A survey whose answers nobody at the centre can read.
# Try it before asking anyone:  discreet survey simulate {name} --people 1000
# Collect, then read:           discreet survey collect {name}
#                               discreet survey report {name}

[survey]
title = "Sleep and habits"
introduction = "Three questions. Your answers are randomized in your browser before they are sent."

# Each question spends its own epsilon; a respondent's total is their sum.
# Everybody answers every question: offer an option such as "I prefer not to say".

[questions.smokes]
type = "yes-no"
text = "Do you smoke?"
epsilon = 1.0

[questions.diet]
type = "choice"
text = "Which describes your diet best?"
options = ["everything", "vegetarian", "vegan", "I prefer not to say"]
epsilon = 1.0

[questions.sleep]
type = "number"
text = "How many hours did you sleep last night?"
lower = 0
upper = 24
step = 0.5
epsilon = 1.0
"""
"""What `discreet survey new` writes, with the file's name put in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """A title, an introduction and the questions, in the order they are asked.

    `rounds` is how often they will be asked at most; every report is drawn with fresh coins.
    `epsilon` for one round and `limit` for all rounds together, by replacing all of a person's
    answers in all rounds with any others [DR14, Thm. 3.14].
    >>> asked = Choice(name="smokes", text="Do you smoke?", options=("no", "yes"), epsilon=1)
    >>> Survey(title="Habits", questions=(asked,)).epsilon
    Fraction(1, 1)
    """

    title: str
    questions: tuple[Question, ...]
    introduction: str = ""
    thanks: str = "Thank you."
    rounds: int = 1

    def __post_init__(self) -> None:
        texts: tuple[object, ...] = (self.title, self.introduction, self.thanks)
        if not self.title or any(not isinstance(text, str) for text in texts):
            raise SchemaError("survey: title, introduction and thanks are texts, in quotes.")
        if not 1 <= len(self.questions) <= _MOST_QUESTIONS:
            raise SchemaError(
                f"survey: {len(self.questions)} questions; there must be 1 to {_MOST_QUESTIONS}."
            )
        rounds: object = self.rounds
        whole = isinstance(rounds, int) and not isinstance(rounds, bool)
        if not whole or not 1 <= self.rounds <= _MOST_ROUNDS:
            raise SchemaError(
                f"survey: rounds is {self.rounds!r}; it must be a whole number from 1 to "
                f"{_MOST_ROUNDS}."
            )
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            raise SchemaError("survey: two questions have one name; rename one.")

    @property
    def epsilon(self) -> Fraction:
        """What answering the whole survey once costs a respondent: the sum over its questions.

        Losses add [DR14, Thm. 3.14].
        >>> read_survey_text(SKELETON).epsilon
        Fraction(3, 1)
        """
        return sum((question.loss for question in self.questions), Fraction(0))

    @property
    def limit(self) -> Fraction:
        """The most that all rounds together can cost a respondent: `rounds` times `epsilon`.

        Between any two histories of answers, also against someone who can tell which reports come
        from one person: every report is drawn afresh, and losses add [DR14, Thm. 3.14].
        >>> read_survey_text(SKELETON.replace("title", "rounds = 3\\ntitle")).limit
        Fraction(9, 1)
        """
        return self.rounds * self.epsilon

    @property
    def recipes(self) -> list[dict[str, Any]]:
        """What browsers need to randomize: one recipe for each question, for JSON.

        >>> [each["kind"] for each in read_survey_text(SKELETON).recipes]
        ['kary', 'kary', 'hybrid']
        """
        return [
            {"name": question.name, **recipe(question.randomizer)} for question in self.questions
        ]

    @property
    def fingerprint(self) -> str:
        """A short hash of everything that gives reports their meaning, and of what they cost.

        Reports of one fingerprint can be counted together, round by round; other words in a
        question change it, and so does another number of rounds.
        >>> len(read_survey_text(SKELETON).fingerprint)
        32
        """
        # Of a survey that is asked once it is the hash of the questions alone, as it has always
        # been: browsers that have reported on it must not report again.
        if self.rounds == 1:
            return self.wording
        text = json.dumps([self.wording, self.rounds])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def wording(self) -> str:
        """A short hash of the questions alone, however often they are asked.

        Earlier versions marked the reports of every round with it.
        >>> often = read_survey_text(SKELETON.replace("title", "rounds = 3\\ntitle"))
        >>> often.wording == read_survey_text(SKELETON).wording != often.fingerprint
        True
        """
        asked = [
            [question.text, question.options if isinstance(question, Choice) else None]
            for question in self.questions
        ]
        text = json.dumps([asked, self.recipes], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def question(self, name: str) -> Question:
        """The question of this name.

        >>> read_survey_text(SKELETON).question("smokes").text
        'Do you smoke?'
        """
        for question in self.questions:
            if question.name == name:
                return question
        known = ", ".join(question.name for question in self.questions)
        raise InvalidValue(f"no question {name!r} in this survey; there are {known}.")


def read_survey(path: Path | str) -> Survey:
    """Read a survey from its TOML file.

    >>> read_survey("no-such-survey.toml")
    Traceback (most recent call last):
    discreet.errors.SchemaError: no-such-survey.toml: the survey cannot be read (No such file or \
directory). `discreet survey new no-such-survey.toml` writes one to start from.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not UTF-8 text. A survey is a TOML file.") from None
    except OSError as error:
        raise SchemaError(
            f"{path}: the survey cannot be read ({error.strerror}). "
            f"`discreet survey new {path}` writes one to start from."
        ) from None
    return read_survey_text(text)


def read_survey_text(text: str) -> Survey:
    """Read a survey from TOML text.

    >>> [question.name for question in read_survey_text(SKELETON).questions]
    ['smokes', 'diet', 'sleep']
    """
    try:
        document = tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise SchemaError("survey: brackets are nested too deeply.") from None
    except ValueError as error:
        raise SchemaError(f"survey: not valid TOML: {error}.") from None
    known_keys(document, ("survey", "questions"), "survey", "section")
    facts, asked = (_section(document, name) for name in ("survey", "questions"))
    known_keys(facts, _SURVEY, "[survey]", "key")
    if "title" not in facts:
        raise SchemaError('survey: [survey] has no title. Write title = "...".')
    questions = tuple(_question(name, entry) for name, entry in asked.items())
    return Survey(**facts, questions=questions)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"the number {text} is too large or too small") from None


def _section(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = document.get(name)
    if not isinstance(section, Mapping):
        raise SchemaError(f"survey: the section [{name}] is missing. Add it.")
    return section


def _question(name: str, entry: object) -> Question:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"{name} is {entry!r}; write a section [questions.{name}].")
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise SchemaError(f"{name}: type is {kind!r}; it must be one of {', '.join(_KEYS)}.")
    known_keys(entry, _KEYS[kind], name, "key")
    optional = ("randomizer", "step")
    missing = [key for key in _KEYS[kind] if key not in entry and key not in optional]
    if missing:
        raise SchemaError(f"{name}: {missing[0]} is missing. Write {missing[0]} = ... .")
    facts = {"name": name, **{key: value for key, value in entry.items() if key != "type"}}
    facts.setdefault("randomizer", BEST)
    if kind == "number":
        return Scale(**facts)
    if kind == "yes-no":
        return Choice(**facts, options=("no", "yes"))
    options = facts.pop("options")
    if not isinstance(options, list):
        raise SchemaError(f"{name}: options is {options!r}; write a list of texts.")
    return Choice(**facts, options=tuple(options))
