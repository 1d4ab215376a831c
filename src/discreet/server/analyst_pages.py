"""The analyst's pages: catalogue, question with live preview, answer, history, exports."""

import math
from fractions import Fraction
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.curator.answer import Answer
from discreet.curator.session import Session
from discreet.display.values import answer_values
from discreet.display.words import (
    bucket_text,
    cost_text,
    left_text,
    number_text,
    refusal_of,
)
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.account import Account, Holder
from discreet.loss import Pure
from discreet.plan.draft import Plan
from discreet.plan.explain import error_of, warnings_of
from discreet.plan.suggest import suggestions
from discreet.schema.described import examples_of, table_values
from discreet.server.exports import csv_of, notebook_of, picture_of
from discreet.server.numbers import number_of
from discreet.server.pages import Analyst, Form, Here, form_of
from discreet.server.paging import PAGE, number_in
from discreet.server.problems import Problem
from discreet.web.drawing import Bar, bars, curve
from discreet.web.rendering import page

__all__ = ["analyst_pages", "preview_of"]

_FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
_MOST_BARS = 24
_MOST_DIGITS = 12


def analyst_pages() -> APIRouter:
    """The pages of analysts.

    Privacy: questions go through remote sessions; all else is public facts and old answers.
    >>> callable(analyst_pages)
    True
    """
    routes = APIRouter(include_in_schema=False)
    routes.add_api_route("/tables", _tables, methods=["GET"])
    routes.add_api_route("/tables/{name}", _table, methods=["GET"])
    routes.add_api_route("/ask", _ask, methods=["GET"])
    routes.add_api_route("/ask", _asked, methods=["POST"])
    routes.add_api_route("/ask/preview", _preview, methods=["POST"])
    routes.add_api_route("/history", _history, methods=["GET"])
    routes.add_api_route("/answers/{receipt}", _answer, methods=["GET"])
    routes.add_api_route("/answers/{receipt}/{form}", _export, methods=["GET"])
    return routes


def _account(here: Here) -> Account | None:
    known = here.desk.curator.ledger.accounts()
    mine = [each for each in known if each.holder is Holder.ANALYST and each.name == here.who.name]
    return mine[0] if mine else None


def _budget(here: Here) -> str:
    account = _account(here)
    return "no budget yet; ask your custodian" if account is None else left_text(account)


async def _tables(here: Analyst) -> Response:
    tables = await here.run(lambda: list(here.desk.curator.tables.values()))
    shown = [table_values(each) for each in tables]
    budget = await here.run(lambda: _budget(here))
    return await here.page("tables.html", title="Tables", tables=shown, budget=budget)


async def _table(name: str, here: Analyst) -> Response:
    table = (await here.run(lambda: here.desk.curator.tables)).get(name)
    if table is None:
        raise Problem("not-found")
    return await here.page("table.html", title=name, table=table_values(table))


async def _ask(here: Analyst, sql: str = "") -> Response:
    return await _question(here, Form({"sql": sql[:16_384], "epsilon": "0.1"}))


async def _question(here: Here, form: Form, refusal: str = "") -> Response:
    tables = await here.run(lambda: list(here.desk.curator.tables.values()))
    found = {} if not form.text("sql") else await here.run(lambda: preview_of(here, form))
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
        **{"preview": None, "preview_refusal": "", **found},
    )


def _slider(epsilon: str) -> str:
    try:
        return f"{min(max(math.log10(float(epsilon)), -3.0), 1.0):.2f}"
    except (ValueError, OverflowError):
        return "-1"


def _numbers(form: Form) -> tuple[Fraction, int | None]:
    """The price and the supposed count, exactly as typed."""
    count = form.text("count")
    if count and not (count.isascii() and count.isdigit() and len(count) <= _MOST_DIGITS):
        raise InvalidValue("the count is a whole number, such as 1000.")
    return number_of(form.text("epsilon")), int(count) if count else None


def preview_of(here: Here, form: Form) -> dict[str, Any]:
    """What a question would cost, and its error against epsilon; or why it is refused.

    Privacy: none (touches no data).
    >>> callable(preview_of)
    True
    """
    try:
        epsilon, count = _numbers(form)
        session = here.desk.curator.session(here.who.name)
        made = session.explain(form.text("sql"), epsilon=epsilon, count=count)
        return {"preview": _previewed(here, session, made, epsilon, count)}
    except DiscreetError as refusal:
        return {"preview": None, "preview_refusal": here.desk.told(refusal)}


def _previewed(
    here: Here, session: Session, made: Plan, epsilon: Fraction, count: int | None
) -> dict[str, Any]:
    ledger = here.desk.curator.ledger
    population = ledger.account(Holder.POPULATION, made.table.population)
    analyst = ledger.account(Holder.ANALYST, here.who.name)
    errors = error_of(made, count)
    shown = next((name for name, error in errors.items() if error), None)
    drawn = "" if shown is None else _curve(session, made, shown, epsilon, count)
    return {
        "cost": cost_text(made.cost, analyst.conversion_delta),
        "admitted": refusal_of(made.cost, population, analyst) is None,
        "left": _left(made, analyst, population),
        "errors": list(errors.items()),
        "curve": drawn,
        "warnings": [*warnings_of(made), *(each.words for each in suggestions(made, count))],
        "seconds": f"{float(here.desk.curator.visible_after(made)):g}",
    }


def _curve(session: Session, made: Plan, shown: str, epsilon: Fraction, count: int | None) -> str:
    points = []
    for factor in _FACTORS:
        other = session.explain(made.question, epsilon=epsilon * Fraction(factor), count=count)
        points.append((float(epsilon) * factor, error_of(other, count)[shown] or 0.0))
    chosen = float(epsilon), error_of(made, count)[shown] or 0.0
    title = f"Error of {shown} against epsilon; now {chosen[1]:.4g} at {chosen[0]:g}"
    return curve(title, points, chosen)


def _left(made: Plan, *accounts: Account) -> str:
    """How many questions of this price the budgets still admit."""
    counts = []
    for account in accounts:
        left = account.remaining
        if isinstance(made.cost, Pure):
            price, have = made.cost.epsilon, left.epsilon
            if left.rho is not None:
                price, have = price**2 / 2, left.rho
        else:
            price, have = made.cost.rho, left.rho or Fraction(0)
        counts.append(int(have / price))
    return f"{min(counts):,}"


async def _preview(request: Request, here: Analyst) -> Response:
    form = await form_of(request, here)
    found = await here.run(lambda: preview_of(here, form))
    values = {"preview": None, "preview_refusal": "", **found}
    return HTMLResponse(page("preview.html", **values))


async def _asked(request: Request, here: Analyst) -> Response:
    form = await form_of(request, here)
    if form.text("action") != "ask":
        return await _question(here, form)

    def ask() -> Answer:
        epsilon, count = _numbers(form)
        answer = here.desk.session(here.who).sql(form.text("sql"), epsilon=epsilon, count=count)
        here.desk.count("answers", "free" if answer.free else "charged")
        return answer

    try:
        answer: Answer = await here.run(ask)
    except DiscreetError as refusal:
        return await _question(here, form, here.desk.told(refusal))
    return RedirectResponse(f"/answers/{answer.receipt.id}?free={int(answer.free)}", 303)


async def _history(here: Analyst, before: str = "") -> Response:
    first = number_in(before)

    def listed() -> list[dict[str, Any]]:
        return [
            {**each, "cost": " ".join(f"{name} {cost}" for name, cost in each["cost"].items())}
            for each in here.desk.newest(here.who, before=first, limit=PAGE + 1)
        ]

    found = await here.run(listed)
    answers = found[:PAGE]
    older = answers[-1]["number"] if len(found) > PAGE else None
    return await here.page(
        "history.html",
        title="History",
        answers=answers,
        older=older,
        newer=first is not None,
        budget=await here.run(lambda: _budget(here)),
    )


async def _answer(receipt: str, here: Analyst, free: str = "") -> Response:
    answer = await here.run(lambda: here.desk.recalled(here.who, receipt))
    values = await here.run(lambda: _shown(here, answer))
    return await here.page("answer.html", title="Answer", free=free == "1", **values)


def _shown(here: Here, answer: Answer) -> dict[str, Any]:
    ledger, receipt = here.desk.curator.ledger, answer.receipt
    analyst = ledger.account(Holder.ANALYST, here.who.name)
    population = ledger.account(Holder.POPULATION, receipt.population)
    values = answer_values(answer)
    ranked = set(values["in_ranks"])
    rows = []
    parts = zip(values["rows"], values["intervals"], answer.buckets(), strict=True)
    for row, interval, buckets in parts:
        cells = []
        for name in answer.columns:
            ends = None if name in ranked else interval.get(name)
            text = number_text(row[name], 2 if ends else None)
            both = ", ".join(f"{end:,.6g}" for end in ends if end is not None) if ends else ""
            beside = f"[{both}]" if both else ""
            if name in buckets:
                beside = bucket_text(buckets[name], 2)
            cells.append({"text": text, "interval": beside})
        rows.append(cells)
    cost = cost_text(answer.plan.cost, analyst.conversion_delta)
    return {
        "receipt": receipt,
        "columns": answer.columns,
        "rows": rows,
        "chart": _chart(answer, values),
        "cost": cost,
        "budget": left_text(analyst),
        "left": _left(answer.plan, analyst, population),
        "citation": (
            f"Answer {receipt.id} of {receipt.time[:10]} from table {receipt.table}, data version "
            f"{receipt.data_version}, released with {'; '.join(receipt.mechanisms)} at {cost}, "
            f"protecting each {receipt.unit} (neighbours: {receipt.neighbours})."
        ),
    }


def _chart(answer: Answer, values: dict[str, Any]) -> str:
    noisy = [name for name in answer.columns if values["rows"] and name in values["intervals"][0]]
    shown = next((name for name in noisy if name not in values["in_ranks"]), None)
    if shown is None or len(values["rows"]) > _MOST_BARS:
        return ""
    found = []
    for row, interval in zip(values["rows"], values["intervals"], strict=True):
        label = ", ".join(str(row[name]) for name in answer.columns if name not in noisy)
        low, high = interval[shown]
        value = row[shown]
        if value is None or low is None or high is None:
            return ""
        found.append(Bar(label or shown, float(value), float(low), float(high)))
    return bars(f"{shown} with 95% intervals", found)


async def _export(receipt: str, form: str, here: Analyst) -> Response:
    if form not in ("csv", "png", "svg", "notebook"):
        raise Problem("not-found")
    answer = await here.run(lambda: here.desk.recalled(here.who, receipt))
    if form == "csv":
        return csv_of(answer)
    if form == "notebook":
        return notebook_of(answer)
    made: Response = await here.run(lambda: picture_of(answer, form))
    return made
