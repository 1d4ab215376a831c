"""The analyst's routes: tables, explain, queries, answers, budget, history, jobs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import JSONResponse, Response

from discreet.curator.snapshot import tables_of
from discreet.ledger.account import Holder
from discreet.report.values import account_values, adoption_values
from discreet.report.words import refusal_of
from discreet.schema.described import Tables
from discreet.server.accounts import Identity, Role
from discreet.server.api.forms import QueryForm, QuestionForm, prices_of
from discreet.server.api.jobs import Jobs
from discreet.server.context import ServerContext, analyst, identify, require, server_of
from discreet.server.exports import csv_of, notebook_of, picture_of
from discreet.server.paging import PAGE, After, Limit, with_next
from discreet.server.problems import Problem

__all__ = ["analyst_routes"]

_Analyst = Annotated[Identity, Depends(analyst)]
_Anyone = Annotated[Identity, Depends(identify)]
_Receipt = Annotated[str, Path(pattern=r"^[0-9a-f]{20}$")]
_Name = Annotated[str, Path(min_length=1, max_length=100)]
_Job = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{8,64}$")]


def analyst_routes(jobs: Jobs) -> APIRouter:
    """The routes of analysts.

    Every answer is charged and leaves on the time grid; all else is public facts.
    """
    routes = APIRouter(tags=["analyst"])

    @require(analyst)
    def query(server: ServerContext, form: QueryForm, who: Identity) -> Any:
        if not form.wait:
            started = jobs.start(server, who, form)
            return JSONResponse(started, 202, {"Location": f"/api/v1/jobs/{started['job']}"})
        answer = server.session(who).sql(form.sql, key=form.key, **prices_of(form))
        server.count("answers", "free" if answer.free else "charged")
        return server.describe_answer(who, answer)

    async def job(request: Request, name: _Job, who: _Analyst) -> dict[str, Any]:
        status = jobs.find(who.name, name)
        if status is None:
            raise Problem("not-found")
        if status["state"] != "done":
            return status
        server = server_of(request)

        def shown() -> dict[str, Any]:
            return server.describe_answer(who, server.recall(who, status["answer"]))

        return {**status, "answer": await server.gate.run(who.name, shown)}

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


@require(identify)
def _tables(server: ServerContext, who: Identity) -> list[dict[str, Any]]:
    tables = _find_tables(server, who)
    return [dict(table) for table in tables.values()]


@require(identify)
def _table(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    tables = _find_tables(server, who)
    if name not in tables:
        raise Problem("not-found")
    return dict(tables[name])


def _find_tables(server: ServerContext, who: Identity) -> Tables:
    own = who.name if who.role is Role.ANALYST else None
    return tables_of(server.curator.ledger, server.curator.tables.values(), own)


@require(analyst)
def _explain(server: ServerContext, form: QuestionForm, who: Identity) -> dict[str, Any]:
    plan = server.session(who).explain(form.sql, **prices_of(form))
    payers = server.curator.ledger.payers(population=plan.table.population, analyst=who.name)
    return {
        **server.describe_plan(plan, form.count),
        "admitted": refusal_of(plan.cost, *payers) is None,
        "remaining": {own.holder.value: account_values(own)["remaining"] for own in payers},
    }


@require(analyst)
def _budget(server: ServerContext, who: Identity) -> dict[str, Any]:
    account = server.curator.ledger.account(Holder.ANALYST, who.name)
    adopted = adoption_values(server.curator.vault.history.find_adoption(who.name))
    return {**account_values(account), "adopted": adopted}


@require(analyst)
def _answers(
    server: ServerContext, response: Response, who: Identity, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    answers = server.answers(who, after=after, limit=limit + 1)
    numbers = [answer["number"] for answer in answers]
    return with_next(response, "/api/v1/answers", answers, numbers, limit)


@require(analyst)
def _history(
    server: ServerContext, response: Response, who: Identity, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    charges = server.history(who, after=after, limit=limit + 1)
    numbers = [charge["number"] for charge in charges]
    return with_next(response, "/api/v1/history", charges, numbers, limit)


@require(analyst)
def _answer(server: ServerContext, receipt: _Receipt, who: Identity) -> dict[str, Any]:
    return server.describe_answer(who, server.recall(who, receipt))


@require(analyst)
def _csv(server: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return csv_of(server.recall(who, receipt))


@require(analyst)
def _png(server: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return picture_of(server.recall(who, receipt), "png")


@require(analyst)
def _svg(server: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return picture_of(server.recall(who, receipt), "svg")


@require(analyst)
def _notebook(server: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return notebook_of(server.recall(who, receipt))


_EXPORTS: dict[str, tuple[Any, str]] = {
    "csv": (_csv, "text/csv"),
    "png": (_png, "image/png"),
    "svg": (_svg, "image/svg+xml"),
    "notebook": (_notebook, "application/x-ipynb+json"),
}
