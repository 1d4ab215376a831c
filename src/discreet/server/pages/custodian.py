"""The custodian's pages: overview, accounts, ledger with what is left after each charge, tables,
audits and attacks. Exact counts are shown only where they are marked not for release.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.accounting.filters import price
from discreet.drawing.svg import steps
from discreet.errors import DiscreetError, InvalidValue
from discreet.ledger.account import Account, Holder
from discreet.ledger.entry import Act, Entry
from discreet.report.values import entry_values
from discreet.report.words import cost_text, left_text, refusal_text
from discreet.schema.described import table_values
from discreet.server.accounts import Role
from discreet.server.pages.shared import Custodian, Form, Here, form_of, number_of
from discreet.server.paging import PAGE, number_in
from discreet.server.problems import Problem

__all__ = ["custodian_pages"]

_FALSE_ALARM = 1e-9
_PEOPLE = 60
_CHARTS = 12
_FAILURES = 10
_TYPED = ("name", "role", "epsilon", "delta")
_QUICK = ("differencing", "averaging", "linkage", "lottery", "refusals", "bits")


def custodian_pages() -> APIRouter:
    """The pages of custodians. For custodians; `inspect` is exact and says so."""
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


def _describe_ledger(here: Here) -> dict[str, Any]:
    """How long the ledger is, and what the last full check found and when."""
    watch, ledger = here.server.watch, here.server.curator.ledger
    seen = watch.seen
    if seen is not None and not seen.found.sound:
        watch.again()  # it may have been put back or adopted since
    return {
        "entries": ledger.count(),
        "seen": seen,
        "sound": seen is None or seen.found.sound,
        "problem": "" if seen is None else seen.found.problem,
    }


async def _overview(here: Custodian, after: str = "") -> Response:
    def read() -> dict[str, Any]:
        standing, ledger = _describe_ledger(here), here.server.curator.ledger
        holder, _, name = after.partition(":")
        if holder not in list(Holder):
            holder, name = Holder.POPULATION, ""
        part = ledger.accounts_after(holder, name, limit=PAGE + 1) if standing["sound"] else ()
        accounts = [
            {"holder": one.holder.value, "name": one.name, "left": f"Left: {left_text(one)}."}
            for one in part[:PAGE]
        ]
        last = part[PAGE - 1] if len(part) > PAGE else None
        tables = [table_values(table) for table in here.server.curator.tables.values()]
        failures = here.server.curator.vault.causes.newest(limit=_FAILURES)
        return {
            **standing,
            "accounts": accounts,
            "next_accounts": None if last is None else f"{last.holder.value}:{last.name}",
            "tables": tables,
            "failures": failures,
        }

    return await here.page("overview.html", title="Overview", **await here.run(read))


async def _pause(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)
    accounts = here.server.accounts
    await here.run(accounts.pause if form.text("paused") == "yes" else accounts.go_on)
    return RedirectResponse("/custodian", 303)


async def _table(name: str, here: Custodian) -> Response:
    return await _show_table(name, here, None)


async def _show_table(name: str, here: Here, counts: dict[str, Any] | None) -> Response:
    table = (await here.run(lambda: here.server.curator.tables)).get(name)
    if table is None:
        raise Problem("not-found")
    report = here.server.curator.report(name)
    return await here.page(
        "custodian_table.html",
        title=name,
        table=table_values(table),
        counts=counts,
        unread=None if report is None else report.sentences(),
    )


async def _inspect(request: Request, name: str, here: Custodian) -> Response:
    await form_of(request, here)
    return await _show_table(name, here, await here.run(lambda: here.server.inspect(name)))


async def _refresh(request: Request, name: str, here: Custodian) -> Response:
    await form_of(request, here)
    await here.run(lambda: here.server.refresh(name))
    return RedirectResponse(f"/custodian/tables/{quote(name, safe='')}", 303)


async def _accounts(here: Custodian) -> Response:
    return await _show_accounts(here)


async def _show_accounts(
    here: Here,
    *,
    issued: Any = None,
    refusal: str = "",
    typed: Form | None = None,
    asking: str = "",
) -> Response:
    def read() -> list[dict[str, Any]]:
        budgets = {
            account.name: left_text(account) for account in here.server.curator.ledger.analysts()
        }
        known = list(here.server.accounts.list_all())
        named = {account["name"] for account in known}
        rest = [
            {"name": name, "role": "budget only", "tokens": []}
            for name in budgets
            if name not in named
        ]
        return [{**one, "left": budgets.get(one["name"], "none")} for one in [*known, *rest]]

    return await here.page(
        "accounts.html",
        title="Accounts",
        status=400 if refusal else 200,
        accounts=await here.run(read),
        issued=issued,
        refusal=refusal,
        asking=asking,
        typed={name: (typed or Form({})).text(name) for name in _TYPED},
    )


async def _open(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)

    def make() -> Any:
        name, role = form.text("name"), form.text("role")
        if role not in list(Role):
            raise InvalidValue("choose a role.")
        if name in {account["name"] for account in here.server.accounts.list_all()}:
            raise InvalidValue(f"there is an account {name!r:.100} already.")
        if form.text("epsilon") and role == Role.ANALYST:
            epsilon, delta = number_of(form.text("epsilon")), number_of(form.text("delta") or "0")
            here.server.curator.grant(name, epsilon=epsilon, delta=delta)
        return here.server.accounts.issue(name, Role(role), days=here.server.settings.token_days)

    try:
        issued = await here.run(make)
    except DiscreetError as refusal:
        return await _show_accounts(here, refusal=refusal_text(refusal), typed=form)
    return await _show_accounts(here, issued=issued)


async def _token(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)

    def issue() -> Any:
        for account in here.server.accounts.list_all():
            if account["name"] == form.text("name") and account["role"]:
                days = here.server.settings.token_days
                return here.server.accounts.issue(account["name"], Role(account["role"]), days=days)
        raise Problem("not-found")

    return await _show_accounts(here, issued=await here.run(issue))


async def _revoke(request: Request, here: Custodian) -> Response:
    form = await form_of(request, here)
    if form.text("name") == here.who.name and form.text("confirm") != "yes":
        return await _show_accounts(here, asking=here.who.name)
    try:
        await here.run(lambda: here.server.accounts.revoke(form.text("name")))
    except DiscreetError as refusal:
        return await _show_accounts(here, refusal=refusal_text(refusal))
    return RedirectResponse("/custodian/accounts", 303)


async def _ledger(here: Custodian, before: str = "") -> Response:
    first = number_in(before)

    def read() -> dict[str, Any]:
        ledger = here.server.curator.ledger
        entries = ledger.entries_before(first, limit=PAGE + 1)
        part = entries[:PAGE]
        return {
            **_describe_ledger(here),
            "burns": [_draw_burn(here, account) for account in _find_accounts(here, part)],
            "rows": [_row(entry) for entry in part],
            "older": part[-1].sequence if len(entries) > PAGE else None,
            "newer": first is not None,
        }

    return await here.page("ledger.html", title="Ledger", **await here.run(read))


def _find_accounts(here: Here, entries: Sequence[Entry]) -> list[Account]:
    """A few accounts that these entries open, amend or charge, populations first."""
    populations = dict.fromkeys((Holder.POPULATION, entry.population) for entry in entries)
    analysts = dict.fromkeys((Holder.ANALYST, entry.analyst) for entry in entries)
    half = _CHARTS // 2
    names = [*list(populations)[:half], *list(analysts)[:half]]
    ledger = here.server.curator.ledger
    accounts = [ledger.find(holder, name) for holder, name in names if name is not None]
    return [account for account in accounts if account is not None]


def _row(entry: Entry) -> dict[str, Any]:
    values = entry_values(entry)
    cost = cost_text(entry.loss) if entry.act is Act.CHARGE else ""
    question = values["memo"].get("question", "") or values["memo"].get("label", "")
    return {**values, "cost": cost, "question": question[:300]}


def _draw_burn(here: Here, account: Account) -> dict[str, Any]:
    """What was left of an account after each of its last charges, counted back from now."""
    currency = account.currency
    total = account.limit - account.spent
    balances = [float(total)]
    for entry in here.server.curator.ledger.charges_to(account, limit=PAGE):
        total += price(entry.loss, currency)[0]
        balances.append(float(min(total, account.limit)))
    title = f"{account.holder.value} {account.name}"
    words = f"What is left of {title} after each of its last charges, in {currency.value}"
    return {
        "title": title,
        "chart": steps(words, balances[::-1], float(account.limit)),
        "left": f"Left: {left_text(account)}.",
    }


async def _checks(here: Custodian) -> Response:
    return await _show_checks(here)


async def _show_checks(
    here: Here, *, heading: str = "", lines: tuple[str, ...] = (), refusal: str = ""
) -> Response:
    from discreet.audit.catalogue import mechanism_subjects

    return await here.page(
        "checks.html",
        title="Audits and attacks",
        mechanisms=[subject.name for subject in mechanism_subjects()],
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
        return await _show_checks(here, refusal=refusal_text(refusal))
    return await _show_checks(here, heading=heading, lines=lines)


def _audit(name: str) -> tuple[str, tuple[str, ...]]:
    from discreet.audit.catalogue import examine, find, mechanism_subjects
    from discreet.audit.report import examination_values

    lines = []
    for subject in find(name, mechanism_subjects()):
        told = examination_values(examine(subject, false_alarm=_FALSE_ALARM))
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
    result = study(name, Setting(people=_PEOPLE), lambda _: None)
    lines = [result.words]
    for outcome in result.to_dict()["outcomes"]:
        lines.append(", ".join(f"{key}: {_short(value)}" for key, value in outcome.items()))
    return result.title, (*lines, result.lesson)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
