"""The analyst's routes: tables, explain, queries, answers, budget, history, jobs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import JSONResponse, Response

from discreet.curator.answer import Answer
from discreet.curator.snapshot import tables_of
from discreet.ledger.account import Account, Holder
from discreet.plan.pipeline import Plan
from discreet.report.values import account_values, adopted_values
from discreet.report.words import refusal_of
from discreet.schema.described import Tables
from discreet.server.accounts import Identity, Role
from discreet.server.api.forms import QueryForm, QuestionForm, prices_of
from discreet.server.api.jobs import Jobs
from discreet.server.context import Desk, analyst, desk_of, signed_in
from discreet.server.exports import csv_of, notebook_of, picture_of
from discreet.server.paging import PAGE, After, Limit, with_next
from discreet.server.problems import Problem

__all__ = ["analyst_routes"]

_Analyst = Annotated[Identity, Depends(analyst)]
_Anyone = Annotated[Identity, Depends(signed_in)]
_Receipt = Annotated[str, Path(pattern=r"^[0-9a-f]{20}$")]
_Name = Annotated[str, Path(min_length=1, max_length=100)]
_Job = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{8,64}$")]


def analyst_routes(jobs: Jobs) -> APIRouter:
    """The routes of analysts.

    Every answer is charged and leaves on the grid of time; all else is public facts.
    """
    routes = APIRouter(tags=["analyst"])

    async def query(request: Request, form: QueryForm, who: _Analyst) -> Any:
        desk = desk_of(request)
        if not form.wait:
            made = await desk.gate.run(who.name, lambda: jobs.start(desk, who, form))
            return JSONResponse(made, 202, {"Location": f"/api/v1/jobs/{made['job']}"})
        return await desk.gate.run(who.name, lambda: _asked(desk, who, form))

    async def job(request: Request, name: _Job, who: _Analyst) -> dict[str, Any]:
        found = jobs.find(who.name, name)
        if found is None:
            raise Problem("not-found")
        if found["state"] != "done":
            return found
        desk = desk_of(request)

        def shown() -> dict[str, Any]:
            return desk.shown(who, desk.recalled(who, found["answer"]))

        return {**found, "answer": await desk.gate.run(who.name, shown)}

    routes.add_api_route(  # first, since most requests are for it
        "/queries",
        query,
        methods=["POST"],
        responses={202: {"description": "A job; see its Location"}},
    )
    routes.add_api_route("/jobs/{name}", job, methods=["GET"])
    routes.add_api_route("/tables", _tables, methods=["GET"])
    routes.add_api_route("/tables/{name}", _table, methods=["GET"])
    routes.add_api_route("/explain", _explain, methods=["POST"])
    routes.add_api_route("/budget", _budget, methods=["GET"])
    routes.add_api_route("/history", _history, methods=["GET"])
    routes.add_api_route("/answers", _answers, methods=["GET"])
    routes.add_api_route("/answers/{receipt}", _answer, methods=["GET"])
    for form, (route, kind) in _EXPORTS.items():
        routes.add_api_route(
            f"/answers/{{receipt}}/{form}",
            route,
            methods=["GET"],
            response_class=Response,
            responses={200: {"content": {kind: {}}}},
        )
    return routes


def _asked(desk: Desk, who: Identity, form: QueryForm) -> dict[str, Any]:
    answer = desk.session(who).sql(form.sql, key=form.key, **prices_of(form))
    desk.count("answers", "free" if answer.free else "charged")
    return desk.shown(who, answer)


async def _tables(request: Request, who: _Anyone) -> list[dict[str, Any]]:
    desk = desk_of(request)
    found = await desk.gate.run(who.name, lambda: _described(desk, who))
    return [dict(each) for each in found.values()]


async def _table(request: Request, name: _Name, who: _Anyone) -> dict[str, Any]:
    desk = desk_of(request)
    found = await desk.gate.run(who.name, lambda: _described(desk, who))
    if name not in found:
        raise Problem("not-found")
    return dict(found[name])


def _described(desk: Desk, who: Identity) -> Tables:
    own = who.name if who.role is Role.ANALYST else None
    return tables_of(desk.curator.ledger, desk.curator.tables.values(), own)


async def _explain(request: Request, form: QuestionForm, who: _Analyst) -> dict[str, Any]:
    desk = desk_of(request)

    def explain() -> dict[str, Any]:
        made = desk.session(who).explain(form.sql, **prices_of(form))
        accounts = _accounts(desk, who, made)
        return {
            **desk.explained(made, form.count),
            "admitted": refusal_of(made.cost, *accounts) is None,
            "remaining": {
                each.holder.value: account_values(each)["remaining"] for each in accounts
            },
        }

    return await desk.gate.run(who.name, explain)


def _accounts(desk: Desk, who: Identity, made: Plan) -> tuple[Account, Account]:
    ledger = desk.curator.ledger
    return (
        ledger.account(Holder.POPULATION, made.table.population),
        ledger.account(Holder.ANALYST, who.name),
    )


async def _budget(request: Request, who: _Analyst) -> dict[str, Any]:
    desk = desk_of(request)

    def read() -> dict[str, Any]:
        account = desk.curator.ledger.account(Holder.ANALYST, who.name)
        adopted = adopted_values(desk.curator.vault.history.adopted(who.name))
        return {**account_values(account), "adopted": adopted}

    return await desk.gate.run(who.name, read)


async def _answers(
    request: Request, response: Response, who: _Analyst, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    desk = desk_of(request)
    found = await desk.gate.run(who.name, lambda: desk.answers(who, after=after, limit=limit + 1))
    numbers = [each["number"] for each in found]
    return with_next(response, "/api/v1/answers", found, numbers, limit)


async def _history(
    request: Request, response: Response, who: _Analyst, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    desk = desk_of(request)
    found = await desk.gate.run(who.name, lambda: desk.history(who, after=after, limit=limit + 1))
    numbers = [each["number"] for each in found]
    return with_next(response, "/api/v1/history", found, numbers, limit)


async def _answer(request: Request, receipt: _Receipt, who: _Analyst) -> dict[str, Any]:
    desk = desk_of(request)
    return await desk.gate.run(who.name, lambda: desk.shown(who, desk.recalled(who, receipt)))


async def _recalled(request: Request, receipt: str, who: Identity) -> Answer:
    desk = desk_of(request)
    return await desk.gate.run(who.name, lambda: desk.recalled(who, receipt))


async def _csv(request: Request, receipt: _Receipt, who: _Analyst) -> Response:
    return csv_of(await _recalled(request, receipt, who))


async def _picture(request: Request, receipt: str, who: Identity, form: str) -> Response:
    # In a thread: drawing takes a moment, and others' requests go on meanwhile.
    desk = desk_of(request)
    return await desk.gate.run(who.name, lambda: picture_of(desk.recalled(who, receipt), form))


async def _png(request: Request, receipt: _Receipt, who: _Analyst) -> Response:
    return await _picture(request, receipt, who, "png")


async def _svg(request: Request, receipt: _Receipt, who: _Analyst) -> Response:
    return await _picture(request, receipt, who, "svg")


async def _notebook(request: Request, receipt: _Receipt, who: _Analyst) -> Response:
    return notebook_of(await _recalled(request, receipt, who))


_EXPORTS: dict[str, tuple[Any, str]] = {
    "csv": (_csv, "text/csv"),
    "png": (_png, "image/png"),
    "svg": (_svg, "image/svg+xml"),
    "notebook": (_notebook, "application/x-ipynb+json"),
}
