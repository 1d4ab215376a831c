"""Surveys whose answers nobody at the centre can read: randomized in the respondent's browser,
collected as a few bytes, reported with intervals. A product on top of `discreet.local`.
"""

from discreet.survey.definition import Survey, read_survey, read_survey_text
from discreet.survey.endpoint import Endpoint
from discreet.survey.question import Choice, Scale
from discreet.survey.reports import Arrival, Reports

__all__ = [
    "Arrival",
    "Choice",
    "Endpoint",
    "Reports",
    "Scale",
    "Survey",
    "read_survey",
    "read_survey_text",
]
