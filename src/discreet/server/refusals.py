"""What becomes of a refusal: a problem document for programs, a page for people. Every error of an
application ends here; a failure that nobody foresaw says nothing about itself.
"""

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
from discreet.server.pages.shared import problem_page
from discreet.server.problems import Problem, problem_response

__all__ = ["answer_problem", "register_problems"]

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


def answer_problem(request: Request, problem: Problem) -> Response:
    """A refusal: a document for programs, a page for people."""
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return problem_response(problem)
    return problem_page(request, problem)


def register_problems(app: Any) -> None:
    """Let an application answer every refusal with a problem document.

    A failure nobody foresaw says nothing about itself.
    """
    app.add_exception_handler(Problem, answer_problem)
    app.add_exception_handler(DiscreetError, _answer_refusal)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_plain)
    app.add_exception_handler(Exception, _answer_unforeseen)


def _answer_refusal(request: Request, error: DiscreetError) -> Response:
    kind = next(name for cause, name in _OF_ERRORS if isinstance(error, cause))
    retry = 5 if kind == "unavailable" else None
    custodians = request.url.path.startswith(_CUSTODIANS)
    text = refusal_text(error) if custodians else request.app.state.server.tell_analyst(error)
    return answer_problem(request, Problem(kind, text, retry_seconds=retry))


def _answer_invalid(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    return answer_problem(request, Problem("invalid-value", f"{where}: {first['msg']}."))


def _answer_plain(request: Request, error: HTTPException) -> Response:
    kind = _OF_STATUS.get(error.status_code, "invalid-value")
    answer = answer_problem(request, Problem(kind))
    if error.headers and "allow" in {name.lower() for name in error.headers}:
        answer.headers["Allow"] = next(
            value for name, value in error.headers.items() if name.lower() == "allow"
        )
    return answer


def _answer_unforeseen(request: Request, error: Exception) -> Response:  # noqa: ARG001 (says nothing)
    return answer_problem(
        request, Problem("unavailable", "Something failed here; the custodian knows.")
    )
