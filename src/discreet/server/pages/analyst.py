"""The analyst's pages: catalogue, question with live preview, answer, history, exports."""

import math
from fractions import Fraction
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.accounting.filters import price
from discreet.curator.answer import Answer
from discreet.curator.session import Session
from discreet.drawing.svg import Bar, bars, curve
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.account import Account, Holder
from discreet.plan.pipeline import Plan
from discreet.report.words import cost_text, left_text, refusal_of, respell, spent_text
from discreet.schema.described import examples_of, table_values
from discreet.server.exports import csv_of, notebook_of, picture_of
from discreet.server.pages.shared import Analyst, Form, Here, form_of, number_of
from discreet.server.paging import PAGE, number_in
from discreet.server.problems import Problem
from discreet.upper.plan import StatementPlan
from discreet.web.rendering import page

__all__ = ["analyst_pages", "preview_of"]

Asked = Plan | StatementPlan

_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
_FIELDS = {
    "count": 'the field "Rows in a group"',
    **{
        name: f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({name}={{}})"
        for name in ("max_groups_contributed", "max_rows_contributed")
    },
}
_MOST_BARS = 24
_MOST_DIGITS = 12
_OUTCOMES = {
    "answer": "answered",
    "failure": "failed; the charge stays",
    "pending": "no outcome yet",
    "elsewhere": "answered by the service",
}


def analyst_pages() -> APIRouter:
    """The pages of analysts.

    Questions go through remote sessions; all else is public facts and old answers.
    """
    routes = APIRouter(include_in_schema=False)
    routes.add_api_route("/tables", _tables, methods=["GET"])
    routes.add_api_route("/tables/{name}", _table, methods=["GET"])
    routes.add_api_route("/ask", _ask, methods=["GET"])
    routes.add_api_route("/ask", _answer_question, methods=["POST"])
    routes.add_api_route("/ask/preview", _preview, methods=["POST"])
    routes.add_api_route("/history", _history, methods=["GET"])
    routes.add_api_route("/answers/{receipt}", _answer, methods=["GET"])
    routes.add_api_route("/answers/{receipt}/{form}", _export, methods=["GET"])
    return routes


def _account(here: Here) -> Account | None:
    return here.server.curator.ledger.find(Holder.ANALYST, here.who.name)


def _budget(account: Account | None) -> str:
    return "no budget yet; ask your custodian" if account is None else left_text(account)


async def _tables(here: Analyst) -> Response:
    tables = await here.run(lambda: list(here.server.curator.tables.values()))
    shown = [table_values(table) for table in tables]
    budget = _budget(await here.run(lambda: _account(here)))
    return await here.page("tables.html", title="Tables", tables=shown, budget=budget)


async def _table(name: str, here: Analyst) -> Response:
    table = (await here.run(lambda: here.server.curator.tables)).get(name)
    if table is None:
        raise Problem("not-found")
    return await here.page("table.html", title=name, table=table_values(table))


async def _ask(here: Analyst, sql: str = "") -> Response:
    return await _question(here, Form({"sql": sql[:16_384], "epsilon": "0.1"}))


async def _question(here: Here, form: Form, refusal: str = "") -> Response:
    tables = await here.run(lambda: list(here.server.curator.tables.values()))
    preview = {} if not form.text("sql") else await here.run(lambda: preview_of(here, form))
    return await here.page(
        "ask.html",
        title="Ask",
        status=422 if refusal else 200,
        refusal=refusal,
        sql=form.text("sql"),
        epsilon=form.text("epsilon"),
        count=form.text("count"),
        slider=_slider(form.text("epsilon")),
        examples=examples_of(tables),
        **{"preview": None, "preview_refusal": "", **preview},
    )


def _slider(epsilon: str) -> str:
    try:
        return f"{min(max(math.log10(float(epsilon)), -3.0), 1.0):.2f}"
    except (ValueError, OverflowError):
        return "-1"


def _numbers(form: Form) -> tuple[Fraction, int | None]:
    """The price and the assumed count, exactly as typed."""
    count = form.text("count")
    if count and not (count.isascii() and count.isdigit() and len(count) <= _MOST_DIGITS):
        raise InvalidValue("the count is a whole number, such as 1000.")
    return number_of(form.text("epsilon")), int(count) if count else None


def preview_of(here: Here, form: Form) -> dict[str, Any]:
    """What a question would cost, and its error against epsilon; or why it is refused."""
    try:
        epsilon, count = _numbers(form)
        session = here.server.curator.session(here.who.name)
        plan = session.explain(form.text("sql"), epsilon=epsilon, count=count)
        return {"preview": _describe_preview(here, session, plan, epsilon, count)}
    except DiscreetError as refusal:
        return {"preview": None, "preview_refusal": here.server.tell_analyst(refusal)}


def _describe_preview(
    here: Here, session: Session, plan: Asked, epsilon: Fraction, count: int | None
) -> dict[str, Any]:
    population, analyst = here.server.curator.ledger.payers(
        population=plan.table.population, analyst=here.who.name
    )
    facts = plan.facts(count)
    errors = facts["error"]
    shown = next((name for name, error in errors.items() if error), None)
    drawn = "" if shown is None else _curve(session, plan, shown, epsilon, count)
    return {
        "cost": cost_text(plan.cost, analyst.conversion_delta),
        "admitted": refusal_of(plan.cost, population, analyst) is None,
        "left": _count_left(plan, analyst, population),
        "errors": list(errors.items()),
        "curve": drawn,
        "warnings": [
            respell(text, _FIELDS)
            for text in (
                *facts["warnings"],
                *(one.words for one in plan.suggest(count)),
            )
        ],
        "seconds": f"{float(here.server.curator.visible_after(plan)):g}",
    }


def _curve(session: Session, plan: Asked, shown: str, epsilon: Fraction, count: int | None) -> str:
    points = []
    for factor in _FACTORS:
        try:
            other = session.explain(plan.question, epsilon=epsilon * Fraction(factor), count=count)
        except DiscreetError:  # below the least price: it is not on the curve
            continue
        points.append((float(epsilon) * factor, other.facts(count)["error"][shown] or 0.0))
    chosen = float(epsilon), plan.facts(count)["error"][shown] or 0.0
    title = f"Error of {shown} against epsilon; now {chosen[1]:.4g} at {chosen[0]:g}"
    return curve(title, points, chosen)


def _count_left(plan: Asked, *accounts: Account) -> str:
    """How many questions of this price the budgets still admit."""
    counts = []
    for account in accounts:
        remaining, (cost, _) = account.remaining, price(plan.cost, account.currency)
        if not cost:
            return "any number"
        counts.append(int((remaining.epsilon if remaining.rho is None else remaining.rho) / cost))
    return f"{min(counts):,}"


async def _preview(request: Request, here: Analyst) -> Response:
    form = await form_of(request, here)
    preview = await here.run(lambda: preview_of(here, form))
    values = {"preview": None, "preview_refusal": "", **preview}
    return HTMLResponse(page("preview.html", **values))


async def _answer_question(request: Request, here: Analyst) -> Response:
    form = await form_of(request, here)
    if form.text("action") != "ask":
        return await _question(here, form)

    def ask() -> Answer:
        epsilon, count = _numbers(form)
        answer = here.server.session(here.who).sql(form.text("sql"), epsilon=epsilon, count=count)
        here.server.count("answers", "free" if answer.free else "charged")
        return answer

    try:
        answer: Answer = await here.run(ask)
    except DiscreetError as refusal:
        return await _question(here, form, here.server.tell_analyst(refusal))
    return RedirectResponse(f"/answers/{answer.receipt.id}?free={int(answer.free)}", 303)


def _join_numbers(numbers: dict[str, str]) -> str:
    return " ".join(f"{name} {number}" for name, number in numbers.items())


async def _history(here: Analyst, before: str = "") -> Response:
    first = number_in(before)

    def list_charges() -> list[dict[str, Any]]:
        return [
            {
                **charge,
                "cost": _join_numbers(charge["cost"]),
                "exactly": _join_numbers(charge["spent"]),
                "outcome": _OUTCOMES[charge["outcome"]],
                "answered": charge["outcome"] == "answer",
            }
            for charge in here.server.newest(here.who, before=first, limit=PAGE + 1)
        ]

    newest = await here.run(list_charges)
    charges = newest[:PAGE]
    older = charges[-1]["number"] if len(newest) > PAGE else None
    account = await here.run(lambda: _account(here))
    record = here.server.curator.vault.history
    return await here.page(
        "history.html",
        title="History",
        charges=charges,
        older=older,
        newer=first is not None,
        budget=_budget(account),
        spent="nothing" if account is None else spent_text(account),
        adopted=await here.run(lambda: record.find_adoption(here.who.name)),
    )


async def _answer(receipt: str, here: Analyst, free: str = "") -> Response:
    answer = await here.run(lambda: here.server.recall(here.who, receipt))
    values = await here.run(lambda: _describe_shown(here, answer))
    return await here.page("answer.html", title="Answer", free=free == "1", **values)


def _describe_shown(here: Here, answer: Answer) -> dict[str, Any]:
    receipt = answer.receipt
    population, analyst = here.server.curator.ledger.payers(
        population=receipt.population, analyst=here.who.name
    )
    columns = [
        zip(column.values, column.beside or ("",) * len(answer), strict=True)
        for column in answer.shown()
    ]
    rows = [
        [{"text": text, "interval": beside} for text, beside in row]
        for row in zip(*columns, strict=True)
    ]
    cost = cost_text(answer.cost, analyst.conversion_delta)
    return {
        "receipt": receipt,
        "columns": answer.columns,
        "rows": rows,
        "chart": _chart(answer),
        "notes": answer.notes,
        "cost": cost,
        "budget": left_text(analyst),
        "left": _count_left(answer.plan, analyst, population),
        "citation": (
            f"Answer {receipt.id} of {receipt.time[:10]} from table {receipt.table}, data version "
            f"{receipt.data_version}, released with {'; '.join(receipt.mechanisms)} at {cost}, "
            f"protecting each {receipt.unit} (neighbours: {receipt.neighbours})."
        ),
    }


def _chart(answer: Answer) -> str:
    """The same bars as everywhere, drawn by the page itself; none if there are too many."""
    if len(answer) > _MOST_BARS:
        return ""
    try:
        chart = answer.chart()
    except InvalidValue:  # nothing is a number
        return ""
    values = [
        Bar(bar["group"], bar["value"], float(bar["low"]), float(bar["high"]))
        for bar in chart["data"]["values"]
    ]
    if not all(math.isfinite(end) for bar in values for end in (bar.low, bar.high)):
        return ""
    return bars(chart["title"]["text"], values)


async def _export(receipt: str, form: str, here: Analyst) -> Response:
    if form not in ("csv", "png", "svg", "notebook"):
        raise Problem("not-found")
    answer = await here.run(lambda: here.server.recall(here.who, receipt))
    if form == "csv":
        return csv_of(answer)
    if form == "notebook":
        return notebook_of(answer)
    picture: Response = await here.run(lambda: picture_of(answer, form))
    return picture
