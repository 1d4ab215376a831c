"""Refusals over HTTP: problem documents [RFC 9457] with stable types. Carries no exact value,
and says of what is forbidden and of what is absent the same words.
"""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidValue,
    QuotaExceeded,
    Unanswered,
    Unavailable,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.report.words import refusal_text

__all__ = ["BODY", "KINDS", "Problem", "answer_problem", "problem_response", "register_problems"]

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

_OF_ERRORS: tuple[tuple[type[DiscreetError], str], ...] = (
    (InvalidValue, "invalid-value"),
    (UnsafeQuery, "unsafe-query"),
    (UnprovableRequest, "unprovable-request"),
    (QuotaExceeded, "quota-exceeded"),
    (BudgetExceeded, "budget-exceeded"),
    (Unanswered, "unanswered"),
    (Unavailable, "unavailable"),
)
_CUSTODIANS = ("/api/v1/custodian/", "/custodian")
_OF_STATUS = {
    401: "not-signed-in", 404: "not-found", 405: "method-not-allowed", 413: "too-large"
}  # fmt: skip


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


def answer_problem(request: Request, problem: Problem) -> Response:
    """A refusal: a document for programs, a page for people."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return problem_response(problem)
    from discreet.server.pages.shared import problem_page

    return problem_page(request, problem)


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


def register_problems(app: Any) -> None:
    """Let an application answer every refusal with a problem document.

    Privacy: none (touches no data); a failure nobody foresaw says nothing about itself.
    """
    app.add_exception_handler(Problem, answer_problem)
    app.add_exception_handler(DiscreetError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(Exception, _unforeseen)


def _refused(request: Request, error: DiscreetError) -> Response:
    kind = next(name for cause, name in _OF_ERRORS if isinstance(error, cause))
    retry = 5 if kind == "unavailable" else None
    custodians = request.url.path.startswith(_CUSTODIANS)
    text = refusal_text(error) if custodians else request.app.state.desk.told(error)
    return answer_problem(request, Problem(kind, text, retry_seconds=retry))


def _invalid(request: Request, error: RequestValidationError) -> Response:
    found = error.errors()[0]
    where = ".".join(str(part) for part in found["loc"][1:]) or "the body"
    return answer_problem(request, Problem("invalid-value", f"{where}: {found['msg']}."))


def _plain(request: Request, error: HTTPException) -> Response:
    kind = _OF_STATUS.get(error.status_code, "invalid-value")
    made = answer_problem(request, Problem(kind))
    if error.headers and "allow" in {name.lower() for name in error.headers}:
        made.headers["Allow"] = next(
            value for name, value in error.headers.items() if name.lower() == "allow"
        )
    return made


def _unforeseen(request: Request, error: Exception) -> Response:  # noqa: ARG001 (says nothing)
    return answer_problem(
        request, Problem("unavailable", "Something failed here; the custodian knows.")
    )
