"""The analyst's pages about durable services: which there are, what they answer, what is left of
them. Programs begin them; the pages show and ask them.
"""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.curator.answer_rows import number_text
from discreet.errors import DiscreetError
from discreet.schema.names import sql_name
from discreet.server.api.services import SynopsisCache, ask_synopsis, check_name, describe_synopsis
from discreet.server.pages.shared import Analyst, Here, form_of
from discreet.server.paging import PAGE, number_in
from discreet.streams.monitor.monitor import Monitor

__all__ = ["service_pages"]

_KINDS = ("monitor", "synopsis", "counter")
_NO_FIGURES = "closed: the ledger was adopted after it began"


def service_pages(cache: SynopsisCache) -> APIRouter:
    """The pages of monitors and synopses, with the synopses that are kept in memory.

    As the services themselves, on remote sessions; a look costs nothing.
    """
    routes = APIRouter(include_in_schema=False)

    async def ask(request: Request, name: str, here: Analyst) -> Response:
        form = await form_of(request, here)
        sql = form.text("sql")[:16_384]

        told, refusal = await _try_work(
            here, lambda: ask_synopsis(here.server, cache, here.who, name, sql)
        )
        return await _show_synopsis(here, cache, name, sql=sql, told=told, refusal=refusal)

    async def synopsis(name: str, here: Analyst) -> Response:
        return await _show_synopsis(here, cache, name)

    routes.add_api_route("/services", _services, methods=["GET"])
    routes.add_api_route("/monitors/{name}", _monitor, methods=["GET"])
    routes.add_api_route("/monitors/{name}/check", _check, methods=["POST"])
    routes.add_api_route("/synopses/{name}", synopsis, methods=["GET"])
    routes.add_api_route("/synopses/{name}", ask, methods=["POST"])
    return routes


async def _try_work(here: Here, work: Callable[[], Any]) -> tuple[Any, str]:
    """What work gives, or why it is refused."""
    try:
        return await here.run(work), ""
    except DiscreetError as refusal:
        return None, here.server.tell_analyst(refusal)


async def _services(here: Analyst, before: str = "") -> Response:
    first = number_in(before)

    def list_services() -> dict[str, Any]:
        states = here.server.curator.vault.states
        services = states.list_before(first, analyst=here.who.name, limit=PAGE + 1)
        names = {
            kind: [service.name for service in services[:PAGE] if service.kind == kind]
            for kind in _KINDS
        }
        return {
            "monitors": [_summarize_monitor(here, name) for name in names["monitor"]],
            "synopses": names["synopsis"],
            "counters": names["counter"],
            "older": services[PAGE - 1].number if len(services) > PAGE else None,
            "newer": first is not None,
        }

    return await here.page("services.html", title="Services", **await here.run(list_services))


def _summarize_monitor(here: Here, name: str) -> dict[str, Any]:
    try:
        values = _values(here, name)
    except DiscreetError:
        return {"name": name, "question": "", "left": _NO_FIGURES, "last": ""}
    last = values["last"]
    return {
        "name": name,
        "question": values["question"],
        "left": f"{values['alarms_left']} of {values['alarms_of_a_run']}",
        "last": "not checked yet" if last is None else last["said"],
    }


def _values(here: Here, name: str) -> dict[str, Any]:
    check_name(here.server, here.who, "monitor", name)
    return Monitor(here.server.curator.remote_session(here.who.name), name).values()


async def _monitor(name: str, here: Analyst) -> Response:
    return await _show_monitor(here, name)


async def _show_monitor(here: Here, name: str, refusal: str = "") -> Response:
    values = await here.run(lambda: _values(here, name))
    return await here.page(
        "monitor.html",
        title=f"Monitor {name}",
        status=422 if refusal else 200,
        refusal=refusal,
        name=name,
        monitor=values,
        price=" ".join(f"{word} {price}" for word, price in values["price"].items()),
        alarms=[_check_row(alarm) for alarm in reversed(values["alarms"])],
        last=None if values["last"] is None else _check_row(values["last"]),
    )


def _check_row(check: dict[str, Any]) -> dict[str, Any]:
    number = "" if check["number"] is None else number_text(check["number"], 2)
    return {**check, "number": number}


async def _check(request: Request, name: str, here: Analyst) -> Response:
    await form_of(request, here)

    def check() -> None:
        check_name(here.server, here.who, "monitor", name)
        here.server.admit_check(here.who)
        Monitor(here.server.session(here.who), name).check()

    _, refusal = await _try_work(here, check)
    if refusal:
        return await _show_monitor(here, name, refusal)
    return RedirectResponse(f"/monitors/{name}", 303)


async def _show_synopsis(
    here: Here,
    cache: SynopsisCache,
    name: str,
    *,
    sql: str = "",
    told: dict[str, Any] | None = None,
    refusal: str = "",
) -> Response:
    facts = await here.run(lambda: describe_synopsis(here.server, cache, here.who, name))
    return await here.page(
        "synopsis.html",
        title=f"Synopsis {name}",
        status=422 if refusal else 200,
        refusal=refusal,
        name=name,
        synopsis=facts,
        sql=sql or f"SELECT COUNT(*) FROM {sql_name(facts['table'])} WHERE ",
        told=told,
    )
