"""What all pages share: logins by cookie, forms with their token, refusals as pages.
Renders what routes give; decides nothing about privacy.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import DiscreetError, InvalidValue
from discreet.server.accounts import Identity, Role
from discreet.server.context import ServerContext, login_of, server_of
from discreet.server.logins import COOKIE, Login
from discreet.server.problems import BODY, Problem
from discreet.web.rendering import page, static_file

__all__ = [
    "Analyst",
    "Custodian",
    "Form",
    "Here",
    "form_of",
    "login_pages",
    "number_of",
    "problem_page",
]

_MOST_FIELDS = 3000


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form.

    >>> Form({"name": " ana "}).text("name")
    'ana'
    """

    fields: Mapping[str, str]

    def text(self, name: str) -> str:
        """A field without the spaces around it; empty if it is missing."""
        return self.fields.get(name, "").strip()


class Here:
    """A signed-in visitor: who it is, and pages made for them."""

    __slots__ = ("login", "server")

    def __init__(self, server: ServerContext, login: Login) -> None:
        self.server = server
        self.login = login

    @property
    def who(self) -> Identity:
        """The account."""
        return self.login.identity

    async def run(self, work: Callable[[], Any]) -> Any:
        """Work that reads the vault, in the bounded pool."""
        return await self.server.gate.run(self.who.name, work)

    async def page(
        self, template: str, *, title: str, status: int = 200, **values: Any
    ) -> Response:
        """A page of this visitor's."""
        paused = await self.run(lambda: self.server.accounts.paused)
        text = page(template, title=title, login=self.login, paused=paused, **values)
        return HTMLResponse(text, status)


def _visitor(request: Request, role: Role) -> Here:
    login = login_of(request)
    if login is None:
        raise Problem("not-signed-in")
    if login.identity.role is not role:
        raise Problem("not-found")
    server = server_of(request)
    server.admit(login.identity)
    return Here(server, login)


def _analyst(request: Request) -> Here:
    return _visitor(request, Role.ANALYST)


def _custodian(request: Request) -> Here:
    return _visitor(request, Role.CUSTODIAN)


Analyst = Annotated[Here, Depends(_analyst)]
"""A page for analysts only."""

Custodian = Annotated[Here, Depends(_custodian)]
"""A page for custodians only."""


async def form_of(request: Request, here: Here) -> Form:
    """The form of a request, if it came from this site's own page."""
    form = await _fields(request)
    if not hmac.compare_digest(here.login.csrf.encode(), form.text("csrf").encode()):
        raise Problem(
            "forgery", "The form is not of this site, or is too old. Load the page again."
        )
    return form


async def _fields(request: Request) -> Form:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Problem("too-large", "The form has too many fields.") from None
    return Form(dict(pairs))


def login_pages() -> APIRouter:
    """Signing in and out, the start page, style and script."""
    routes = APIRouter(include_in_schema=False)
    routes.add_api_route("/", _start, methods=["GET"])
    routes.add_api_route("/login", _login, methods=["GET"])
    routes.add_api_route("/login", _sign_in, methods=["POST"])
    routes.add_api_route("/logout", _sign_out, methods=["POST"])
    routes.add_api_route("/static/{name}", _static, methods=["GET"])
    return routes


def _login_page(server: ServerContext, refusal: str = "", status: int = 200) -> Response:
    values = {"login": None, "paused": False, "refusal": refusal, "guide": server.settings.guided}
    return HTMLResponse(page("login.html", title="Sign in", **values), status)


def _refuse_other_sites(request: Request) -> None:
    """Nobody else's page signs a visitor in (as somebody else) or out; browsers say where from.

    `Sec-Fetch-Site` is sent to trustworthy addresses only, `Origin` with every form.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    scheme = "https" if server_of(request).settings.secure_cookies else request.url.scheme
    own = f"{scheme}://{request.headers.get('Host', '')}"
    known = site == "same-origin" and origin == "null"  # a browser that keeps it to itself
    if site not in (None, "same-origin", "none") or (
        origin is not None and origin.lower() != own.lower() and not known
    ):
        raise Problem("forgery", "The form is not of this site. Load the page again.")


async def _start(request: Request) -> Response:
    login = await run_in_threadpool(login_of, request)
    if login is None:
        return RedirectResponse("/login", 303)
    return RedirectResponse("/tables" if login.identity.role is Role.ANALYST else "/custodian", 303)


async def _login(request: Request) -> Response:
    return _login_page(server_of(request))


async def _sign_in(request: Request) -> Response:
    _refuse_other_sites(request)
    server = server_of(request)
    address = request.client.host if request.client else "unknown"
    form = await _fields(request)
    # A right token is let in whoever else guesses at this address, which may be a proxy's.
    identity = await run_in_threadpool(server.accounts.identify, form.text("token"))
    if identity is None:
        if server.guesses.too_many(address):
            return _login_page(server, "Too many wrong tokens; wait a minute.", 429)
        server.guesses.count(address)
        return _login_page(server, "That token is not valid. Check it, or ask your custodian.", 401)
    redirect = RedirectResponse("/", 303)
    redirect.set_cookie(
        COOKIE,
        server.logins.cookie(identity),
        max_age=server.settings.login_hours * 3600,
        httponly=True,
        samesite="strict",
        secure=server.settings.secure_cookies,
    )
    return redirect


async def _sign_out(request: Request) -> Response:
    _refuse_other_sites(request)
    login = await run_in_threadpool(login_of, request)
    if login is not None:
        await form_of(request, Here(server_of(request), login))
        await run_in_threadpool(server_of(request).logins.end, request.cookies[COOKIE])
    redirect = RedirectResponse("/login", 303)
    if COOKIE in request.cookies:  # another site's form comes without it, and must not remove it
        redirect.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return redirect


async def _static(name: str) -> Response:
    file = static_file(name)
    if file is None:
        raise Problem("not-found")
    return Response(file[0], media_type=file[1], headers={"Cache-Control": "public, max-age=3600"})


def problem_page(request: Request, problem: Problem) -> Response:
    """A refusal as a page of the visitor's, with what was typed, to be sent again or copied.

    Who is not signed in and typed nothing is sent to the login.
    """
    typed = _read_refused(request)
    if problem.kind == "not-signed-in" and not typed:
        return RedirectResponse("/login", 303)
    login, paused = None, False
    with suppress(DiscreetError):  # the vault itself may be what cannot be read
        login = login_of(request)
        paused = login is not None and server_of(request).accounts.paused
    text = page(
        "message.html",
        title=problem.title,
        text=str(problem),
        login=login,
        paused=paused,
        typed=[field for field in typed.items() if field[0] not in ("csrf", "token")],
        again=request.url.path if login is not None and _own(login, typed) else "",
    )
    wait = problem.retry_seconds
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return HTMLResponse(text, problem.status, headers)


def _read_refused(request: Request) -> dict[str, str]:
    """The fields of the form that was refused; none of a login's, which are secret."""
    kind = request.headers.get("Content-Type", "").partition(";")[0]
    if request.url.path == "/login" or kind != "application/x-www-form-urlencoded":
        return {}
    body: bytes = request.scope.get(BODY, b"")
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    return dict(pairs)


def _own(login: Login, typed: dict[str, str]) -> bool:
    """Whether the form came from this site's own page; else it is only shown."""
    return hmac.compare_digest(login.csrf.encode(), typed.get("csrf", "").encode())


# Exponents of two digits: 1e999999999 would be computed for hours.
_NUMBER = re.compile(
    r"[0-9]{1,15}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,2})?|\.[0-9]{1,30}|[0-9]{1,15}/[0-9]{1,15}"
)


def number_of(text: str) -> Fraction:
    """A number as it was typed: a decimal or a fraction.

    >>> number_of("0.1"), number_of("1/3")
    (Fraction(1, 10), Fraction(1, 3))
    >>> number_of("1e999999999")
    Traceback (most recent call last):
    discreet.errors.InvalidValue: '1e999999999' is not a number that can be used; write one such \
as 0.5.
    """
    if _NUMBER.fullmatch(text):
        try:
            return Fraction(text)
        except ZeroDivisionError:
            pass
    raise InvalidValue(f"{text!r:.80} is not a number that can be used; write one such as 0.5.")
