"""The custodian's pages: overview, accounts, ledger with what is left after each charge, tables,
audits and attacks. Exact counts are shown only where they are marked not for release.
"""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.accounting.filters import Currency, price
from discreet.display.values import entry_values
from discreet.display.words import cost_text, left_text, refusal_text
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import Act, Entry
from discreet.schema.described import table_values
from discreet.server.accounts import Role
from discreet.server.numbers import number_of
from discreet.server.pages import Custodian, Here, form_of
from discreet.server.paging import PAGE, number_in
from discreet.server.problems import Problem
from discreet.web.drawing import steps

__all__ = ["custodian_pages"]

_FALSE_ALARM = 1e-9
_PEOPLE = 60
_QUICK = ("differencing", "averaging", "linkage", "lottery", "refusals", "bits")


def custodian_pages() -> APIRouter:
    """The pages of custodians.

    Privacy: for custodians; `inspect` is exact and says so.
    >>> callable(custodian_pages)
    True
    """
    routes = APIRouter(prefix="/custodian", include_in_schema=False)
    routes.add_api_route("", _overview, methods=["GET"])
    routes.add_api_route("/pause", _pause, methods=["POST"])
    routes.add_api_route("/tables/{name}", _table, methods=["GET"])
    routes.add_api_route("/tables/{name}/inspect", _inspect, methods=["POST"])
    routes.add_api_route("/tables/{name}/refresh", _refresh, methods=["POST"])
    routes.add_api_route("/accounts", _accounts, methods=["GET"])
    routes.add_api_route("/accounts", _open, methods=["POST"])
    routes.add_api_route("/accounts/token", _token, methods=["POST"])
    routes.add_api_route("/accounts/revoke", _revoke, methods=["POST"])
    routes.add_api_route("/ledger", _ledger, methods=["GET"])
    routes.add_api_route("/checks", _checks, methods=["GET"])
    routes.add_api_route("/checks", _check, methods=["POST"])
    return routes


async def _overview(here: Custodian) -> Response:
    def read() -> dict[str, Any]:
        ledger = here.desk.curator.ledger
        found = ledger.verify()
        accounts = [
            {"holder": each.holder.value, "name": each.name, "left": f"Left: {left_text(each)}."}
            for each in (ledger.accounts() if found.sound else ())
        ]
        tables = [table_values(each) for each in here.desk.curator.tables.values()]
        return {
            "sound": found.sound,
            "problem": found.problem,
            "entries": found.entries,
            "accounts": accounts,
            "tables": tables,
        }

    return await here.page("overview.html", title="Overview", **await here.run(read))


async def _pause(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)
    accounts = here.desk.accounts
    await here.run(accounts.pause if form.text("paused") == "yes" else accounts.go_on)
    return RedirectResponse("/custodian", 303)


async def _table(name: str, here: Custodian) -> Response:
    return await _shown_table(name, here, None)


async def _shown_table(name: str, here: Here, counts: dict[str, Any] | None) -> Response:
    table = (await here.run(lambda: here.desk.curator.tables)).get(name)
    if table is None:
        raise Problem("not-found")
    return await here.page(
        "custodian_table.html", title=name, table=table_values(table), counts=counts
    )


async def _inspect(request: Request, name: str, here: Custodian) -> Response:
    await form_of(request, here)
    return await _shown_table(name, here, await here.run(lambda: here.desk.inspect(name)))


async def _refresh(request: Request, name: str, here: Custodian) -> Response:
    await form_of(request, here)
    await here.run(lambda: here.desk.refresh(name))
    return RedirectResponse("/custodian", 303)


async def _accounts(here: Custodian) -> Response:
    return await _listed(here)


async def _listed(here: Here, *, issued: Any = None, refusal: str = "") -> Response:
    def read() -> list[dict[str, Any]]:
        budgets = {
            each.name: left_text(each)
            for each in here.desk.curator.ledger.accounts()
            if each.holder is Holder.ANALYST
        }
        known = list(here.desk.accounts.listed())
        named = {each["name"] for each in known}
        rest = [
            {"name": name, "role": "budget only", "tokens": []}
            for name in budgets
            if name not in named
        ]
        return [{**each, "left": budgets.get(each["name"], "none")} for each in [*known, *rest]]

    return await here.page(
        "accounts.html",
        title="Accounts",
        status=400 if refusal else 200,
        accounts=await here.run(read),
        issued=issued,
        refusal=refusal,
    )


async def _open(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)

    def make() -> Any:
        name, role = form.text("name"), form.text("role")
        if role not in list(Role):
            raise InvalidValue("choose a role.")
        if name in {each["name"] for each in here.desk.accounts.listed()}:
            raise InvalidValue(f"there is an account {name!r:.100} already.")
        if form.text("epsilon") and role == Role.ANALYST:
            epsilon, delta = number_of(form.text("epsilon")), number_of(form.text("delta") or "0")
            here.desk.curator.grant(name, epsilon=epsilon, delta=delta)
        return here.desk.accounts.issue(name, Role(role), days=here.desk.settings.token_days)

    try:
        issued = await here.run(make)
    except DiscreetError as refusal:
        return await _listed(here, refusal=refusal_text(refusal))
    return await _listed(here, issued=issued)


async def _token(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)

    def issue() -> Any:
        for each in here.desk.accounts.listed():
            if each["name"] == form.text("name") and each["role"]:
                days = here.desk.settings.token_days
                return here.desk.accounts.issue(each["name"], Role(each["role"]), days=days)
        raise Problem("not-found")

    return await _listed(here, issued=await here.run(issue))


async def _revoke(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)
    try:
        await here.run(lambda: here.desk.accounts.revoke(form.text("name")))
    except DiscreetError as refusal:
        return await _listed(here, refusal=refusal_text(refusal))
    return RedirectResponse("/custodian/accounts", 303)


async def _ledger(here: Custodian, before: str = "") -> Response:
    first = number_in(before)

    def read() -> dict[str, Any]:
        ledger = here.desk.curator.ledger
        found, entries = ledger.verify(), ledger.entries()
        part = ledger.entries_before(first, limit=PAGE + 1)
        return {
            "sound": found.sound,
            "problem": found.problem,
            "count": len(entries),
            "burns": [_burn(each, entries) for each in ledger.accounts()],
            "entries": [_row(each) for each in part[:PAGE]],
            "older": part[PAGE - 1].sequence if len(part) > PAGE else None,
            "newer": first is not None,
        }

    return await here.page("ledger.html", title="Ledger", **await here.run(read))


def _row(entry: Entry) -> dict[str, Any]:
    values = entry_values(entry)
    cost = cost_text(entry.loss) if entry.act is Act.CHARGE else ""
    question = values["memo"].get("question", "") or values["memo"].get("label", "")
    return {**values, "cost": cost, "question": question[:300]}


def _burn(account: Account, entries: tuple[Entry, ...]) -> dict[str, Any]:
    """What was left of an account after each of its charges."""
    currency = Currency.EPSILON if account.pure else Currency.RHO
    left, total = [float(account.limit)], account.limit
    for entry in entries:
        name = entry.population if account.holder is Holder.POPULATION else entry.analyst
        if entry.act is Act.CHARGE and name == account.name:
            total -= price(entry.loss, currency)[0]
            left.append(float(total))
    title = f"{account.holder.value} {account.name}"
    return {
        "title": title,
        "chart": steps(f"What is left of {title}, in {currency.value}", left, float(account.limit)),
        "left": f"Left: {left_text(account)}.",
    }


async def _checks(here: Custodian) -> Response:
    return await _checked(here)


async def _checked(
    here: Here, *, heading: str = "", lines: tuple[str, ...] = (), refusal: str = ""
) -> Response:
    from discreet.audit.catalogue import mechanism_subjects

    return await here.page(
        "checks.html",
        title="Audits and attacks",
        mechanisms=[each.name for each in mechanism_subjects()],
        attacks=_QUICK,
        heading=heading,
        lines=lines,
        refusal=refusal,
    )


async def _check(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)
    work = _attack if form.text("action") == "attack" else _audit
    name = form.text("attack" if work is _attack else "mechanism")
    try:
        heading, lines = await here.run(lambda: work(name))
    except DiscreetError as refusal:
        return await _checked(here, refusal=refusal_text(refusal))
    return await _checked(here, heading=heading, lines=lines)


def _audit(name: str) -> tuple[str, tuple[str, ...]]:
    from discreet.audit.catalogue import examine, find, mechanism_subjects
    from discreet.audit.report import examined_values

    lines = []
    for subject in find(name, mechanism_subjects()):
        told = examined_values(examine(subject, false_alarm=_FALSE_ALARM))
        verdict = "contradicted" if told["violated"] else "not contradicted"
        lines.append(
            f"{told['name']}: claimed epsilon {told['claimed']:.4g}, observed at least "
            f"{told['at_least']:.4g} from {told['samples']:,} samples: {verdict}."
        )
    return f"Audit of {name}", tuple(lines)


def _attack(name: str) -> tuple[str, tuple[str, ...]]:
    from discreet.attacks.catalogue import Setting, study

    if name not in _QUICK:
        raise InvalidValue(f"{name!r:.80} takes long; run discreet attack {name!r:.40}.")
    found = study(name, Setting(people=_PEOPLE), lambda _: None)
    lines = [found.words]
    for each in found.to_dict()["outcomes"]:
        lines.append(", ".join(f"{key}: {_short(value)}" for key, value in each.items()))
    return found.title, (*lines, found.lesson)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
