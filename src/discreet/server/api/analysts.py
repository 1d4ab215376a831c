"""The analyst's routes: tables, explain, queries, answers, budget, history, jobs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import JSONResponse, Response

from discreet.curator.snapshot import tables_of
from discreet.ledger.account import Account, Holder
from discreet.plan.pipeline import Plan
from discreet.report.values import account_values, adopted_values
from discreet.report.words import refusal_of
from discreet.schema.described import Tables
from discreet.server.accounts import Identity, Role
from discreet.server.api.forms import QueryForm, QuestionForm, prices_of
from discreet.server.api.jobs import Jobs
from discreet.server.context import ServerContext, analyst, desk_of, gated, signed_in
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

    @gated(analyst)
    def query(desk: ServerContext, form: QueryForm, who: Identity) -> Any:
        if not form.wait:
            started = jobs.start(desk, who, form)
            return JSONResponse(started, 202, {"Location": f"/api/v1/jobs/{started['job']}"})
        return _asked(desk, who, form)

    async def job(request: Request, name: _Job, who: _Analyst) -> dict[str, Any]:
        status = jobs.find(who.name, name)
        if status is None:
            raise Problem("not-found")
        if status["state"] != "done":
            return status
        desk = desk_of(request)

        def shown() -> dict[str, Any]:
            return desk.shown(who, desk.recalled(who, status["answer"]))

        return {**status, "answer": await desk.gate.run(who.name, shown)}

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


def _asked(desk: ServerContext, who: Identity, form: QueryForm) -> dict[str, Any]:
    answer = desk.session(who).sql(form.sql, key=form.key, **prices_of(form))
    desk.count("answers", "free" if answer.free else "charged")
    return desk.shown(who, answer)


@gated(signed_in)
def _tables(desk: ServerContext, who: Identity) -> list[dict[str, Any]]:
    tables = _described(desk, who)
    return [dict(table) for table in tables.values()]


@gated(signed_in)
def _table(desk: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    tables = _described(desk, who)
    if name not in tables:
        raise Problem("not-found")
    return dict(tables[name])


def _described(desk: ServerContext, who: Identity) -> Tables:
    own = who.name if who.role is Role.ANALYST else None
    return tables_of(desk.curator.ledger, desk.curator.tables.values(), own)


@gated(analyst)
def _explain(desk: ServerContext, form: QuestionForm, who: Identity) -> dict[str, Any]:
    plan = desk.session(who).explain(form.sql, **prices_of(form))
    accounts = _accounts(desk, who, plan)
    return {
        **desk.explained(plan, form.count),
        "admitted": refusal_of(plan.cost, *accounts) is None,
        "remaining": {own.holder.value: account_values(own)["remaining"] for own in accounts},
    }


def _accounts(desk: ServerContext, who: Identity, plan: Plan) -> tuple[Account, Account]:
    ledger = desk.curator.ledger
    return (
        ledger.account(Holder.POPULATION, plan.table.population),
        ledger.account(Holder.ANALYST, who.name),
    )


@gated(analyst)
def _budget(desk: ServerContext, who: Identity) -> dict[str, Any]:
    account = desk.curator.ledger.account(Holder.ANALYST, who.name)
    adopted = adopted_values(desk.curator.vault.history.adopted(who.name))
    return {**account_values(account), "adopted": adopted}


@gated(analyst)
def _answers(
    desk: ServerContext, response: Response, who: Identity, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    answers = desk.answers(who, after=after, limit=limit + 1)
    numbers = [answer["number"] for answer in answers]
    return with_next(response, "/api/v1/answers", answers, numbers, limit)


@gated(analyst)
def _history(
    desk: ServerContext, response: Response, who: Identity, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    charges = desk.history(who, after=after, limit=limit + 1)
    numbers = [charge["number"] for charge in charges]
    return with_next(response, "/api/v1/history", charges, numbers, limit)


@gated(analyst)
def _answer(desk: ServerContext, receipt: _Receipt, who: Identity) -> dict[str, Any]:
    return desk.shown(who, desk.recalled(who, receipt))


@gated(analyst)
def _csv(desk: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return csv_of(desk.recalled(who, receipt))


@gated(analyst)
def _png(desk: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return picture_of(desk.recalled(who, receipt), "png")


@gated(analyst)
def _svg(desk: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return picture_of(desk.recalled(who, receipt), "svg")


@gated(analyst)
def _notebook(desk: ServerContext, receipt: _Receipt, who: Identity) -> Response:
    return notebook_of(desk.recalled(who, receipt))


_EXPORTS: dict[str, tuple[Any, str]] = {
    "csv": (_csv, "text/csv"),
    "png": (_png, "image/png"),
    "svg": (_svg, "image/svg+xml"),
    "notebook": (_notebook, "application/x-ipynb+json"),
}
