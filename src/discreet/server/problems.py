"""Refusals over HTTP: problem documents [RFC 9457] with stable types. Carries no exact value,
and says of what is forbidden and of what is absent the same words.
"""

import json
from collections.abc import Mapping

from starlette.responses import Response

__all__ = ["BODY", "KINDS", "Problem", "problem_response"]

BODY = "discreet.body"
"""Where a request's scope keeps its body, for a page that shows it again."""

KINDS: Mapping[str, tuple[int, str]] = {
    "invalid-value": (400, "Something in the request cannot be used"),
    "not-signed-in": (401, "A valid token is needed"),
    "budget-exceeded": (403, "The budget does not admit this"),
    "quota-exceeded": (403, "As much is stored for this account as it may fill"),
    "forgery": (403, "The request did not come from this site's own page"),
    "not-found": (404, "There is nothing here for you"),
    "method-not-allowed": (405, "This cannot be done here"),
    "too-slow": (408, "The request took too long to arrive"),
    "conflict": (409, "Somebody else was first"),
    "unanswered": (410, "The request was charged and has no answer"),
    "too-large": (413, "The request is too large"),
    "unsafe-query": (422, "The question cannot be answered safely"),
    "unprovable-request": (422, "No theorem gives this guarantee"),
    "too-many-requests": (429, "Too many requests at once"),
    "unavailable": (503, "No answer can be given now"),
    "paused": (503, "The custodian has paused all questions"),
    "busy": (503, "Too many questions at once"),
    "still-running": (504, "The question is still being answered"),
}
"""Every type of problem with its status and title."""


class Problem(Exception):
    """A refusal with one of the types of `KINDS`.

    >>> Problem("not-found").status
    404
    """

    def __init__(self, kind: str, detail: str = "", *, retry_seconds: int | None = None) -> None:
        super().__init__(detail or KINDS[kind][1])
        self.kind = kind
        self.status, self.title = KINDS[kind]
        self.retry_seconds = retry_seconds


def problem_response(problem: Problem) -> Response:
    """The document of a problem.

    >>> problem_response(Problem("not-found")).media_type
    'application/problem+json'
    """
    body = {
        "type": f"urn:discreet:problem:{problem.kind}",
        "title": problem.title,
        "status": problem.status,
        "detail": str(problem),
    }
    headers = {"Cache-Control": "no-store"}
    if problem.retry_seconds is not None:
        headers["Retry-After"] = str(problem.retry_seconds)
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        json.dumps(body), problem.status, headers, media_type="application/problem+json"
    )
