"""The custodian's routes: tables, accounts, budgets, the ledger. Nothing here is for analysts,
who find nothing at these addresses.
"""

import tomllib
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from discreet.errors import InvalidValue, SchemaError
from discreet.report.values import account_values, entry_values
from discreet.schema.described import table_values
from discreet.server.accounts import Identity, Issued, Role
from discreet.server.api.forms import (
    AccountForm,
    AuditForm,
    GrantForm,
    PauseForm,
    TableForm,
    TokenForm,
)
from discreet.server.context import ServerContext, custodian, require
from discreet.server.paging import PAGE, After, Limit, with_next
from discreet.server.problems import Problem

__all__ = ["custodian_routes", "schema_of"]

_FALSE_ALARM = 1e-9
_Name = Annotated[str, Path(min_length=1, max_length=100)]
_Token = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{8}$")]


def custodian_routes() -> APIRouter:
    """The routes of custodians.

    What they show is for custodians; `inspect` is exact and marked so.
    """
    routes = APIRouter(prefix="/custodian", tags=["custodian"])
    routes.add_api_route("/tables", _add, methods=["POST"], status_code=201)
    routes.add_api_route("/tables/{name}/refresh", _refresh, methods=["POST"])
    routes.add_api_route("/tables/{name}/inspect", _inspect, methods=["GET"])
    routes.add_api_route("/accounts", _accounts, methods=["GET"])
    routes.add_api_route("/accounts", _open_account, methods=["POST"], status_code=201)
    routes.add_api_route("/accounts/{name}/budget", _grant, methods=["PUT"])
    routes.add_api_route("/accounts/{name}/tokens", _token, methods=["POST"], status_code=201)
    for path, route in (
        ("/accounts/{name}/tokens", _revoke_all),
        ("/accounts/{name}/tokens/{token}", _revoke),
    ):
        routes.add_api_route(
            path, route, methods=["DELETE"], status_code=204, response_class=Response
        )
    routes.add_api_route("/paused", _paused, methods=["GET"])
    routes.add_api_route("/paused", _pause, methods=["PUT"])
    routes.add_api_route("/ledger", _ledger, methods=["GET"])
    routes.add_api_route("/verification", _verify, methods=["GET"])
    routes.add_api_route("/audit", _audit, methods=["POST"])
    return routes


def schema_of(server: ServerContext, form: TableForm) -> dict[str, Any]:
    """The schema of a request, with a source that the operator allows."""
    try:
        schema = tomllib.loads(form.schema_text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SchemaError(f"the schema is not TOML: {error}. Nothing was added.") from None
    table = schema.get("table")
    if not isinstance(table, dict):
        raise SchemaError("the schema has no [table]. Nothing was added.")
    if "source" in table:
        raise SchemaError(
            "the source is named beside the schema, not in it; remove table.source. "
            "Nothing was added."
        )
    return {**schema, "table": {**table, "source": server.settings.source(form.source)}}


@require(custodian)
def _add(server: ServerContext, form: TableForm) -> dict[str, Any]:
    schema = schema_of(server, form)
    table = server.curator.add_in_place(schema) if form.in_place else server.curator.add(schema)
    return {**table_values(table), "report": _report(server, table.name)}


@require(custodian)
def _refresh(server: ServerContext, name: _Name) -> dict[str, Any]:
    server.refresh(name)
    return {"table": name, "refreshed": True, "report": _report(server, name)}


def _report(server: ServerContext, name: str) -> dict[str, Any] | None:
    """What could not be read: exact, in the answer to the custodian and nowhere else."""
    report = server.curator.report(name)
    return None if report is None else report.values()


@require(custodian)
def _inspect(server: ServerContext, name: _Name) -> dict[str, Any]:
    return {"table": name, "not_for_release": True, "counts": server.inspect(name)}


@require(custodian)
def _accounts(server: ServerContext) -> list[dict[str, Any]]:
    analysts = server.curator.ledger.analysts()
    budgets = {account.name: account_values(account) for account in analysts}
    accounts = list(server.accounts.list_all())
    known = {account["name"] for account in accounts}
    rest: list[dict[str, Any]] = [
        {"name": name, "role": None, "tokens": []} for name in budgets if name not in known
    ]
    return [{**account, "budget": budgets.get(account["name"])} for account in [*accounts, *rest]]


@require(custodian)
def _open_account(server: ServerContext, form: AccountForm) -> dict[str, Any]:
    if form.name in {account["name"] for account in server.accounts.list_all()}:
        raise InvalidValue(f"there is an account {form.name!r:.100} already.")
    days = form.days or server.settings.token_days
    return _describe_token(server.accounts.issue(form.name, Role(form.role), days=days))


def _describe_token(issued: Issued) -> dict[str, Any]:
    return {
        "name": issued.name,
        "role": issued.role.value,
        "id": issued.id,
        "expires": issued.expires,
        "token": issued.text,
    }


def _find_role(server: ServerContext, name: str) -> Role:
    for account in server.accounts.list_all():
        if account["name"] == name and account["role"]:
            return Role(account["role"])
    raise Problem("not-found")


@require(custodian)
def _grant(server: ServerContext, name: _Name, form: GrantForm) -> dict[str, Any]:
    _find_role(server, name)
    server.curator.grant(name, epsilon=form.epsilon, delta=form.delta)
    return account_values(server.curator.ledger.account("analyst", name))


@require(custodian)
def _token(server: ServerContext, name: _Name, form: TokenForm) -> dict[str, Any]:
    days = form.days or server.settings.token_days
    return _describe_token(server.accounts.issue(name, _find_role(server, name), days=days))


def _confirm_own(who: Identity, name: str, token: str, confirm: bool) -> None:
    """Nobody ends the token they use by a slip."""
    if name == who.name and token == who.token and not confirm:
        raise Problem(
            "conflict",
            "This ends the token that you are using now, and the logins made with it. If that is "
            "what you want, send the request again with ?confirm=true. Nothing was revoked.",
        )


@require(custodian)
def _revoke_all(
    server: ServerContext, name: _Name, who: Identity, confirm: bool = False
) -> Response:
    _find_role(server, name)
    _confirm_own(who, name, who.token, confirm)
    server.accounts.revoke(name)
    return Response(status_code=204)


@require(custodian)
def _revoke(
    server: ServerContext, name: _Name, token: _Token, who: Identity, confirm: bool = False
) -> Response:
    _find_role(server, name)
    _confirm_own(who, name, token, confirm)
    try:
        server.accounts.revoke(name, token)
    except InvalidValue:
        raise Problem("not-found") from None
    return Response(status_code=204)


@require(custodian)
def _paused(server: ServerContext) -> dict[str, Any]:
    return {"paused": server.accounts.paused}


@require(custodian)
def _pause(server: ServerContext, form: PauseForm) -> dict[str, Any]:
    (server.accounts.pause if form.paused else server.accounts.go_on)()
    return {"paused": form.paused}


@require(custodian)
def _ledger(
    server: ServerContext, response: Response, after: After = 0, limit: Limit = PAGE
) -> dict[str, Any]:
    ledger = server.curator.ledger
    entries = ledger.entries_after(after, limit=limit + 1)
    numbers = [entry.sequence for entry in entries]
    part = with_next(response, "/api/v1/custodian/ledger", entries, numbers, limit)
    return {
        "accounts": [account_values(account) for account in ledger.accounts()],
        "entries": [entry_values(entry) for entry in part],
    }


@require(custodian)
def _verify(server: ServerContext) -> dict[str, Any]:
    verification = server.curator.ledger.verify()
    return {"sound": verification.sound, **asdict(verification)}


@require(custodian)
def _audit(_server: ServerContext, form: AuditForm) -> dict[str, Any]:
    from discreet.audit.catalogue import examine, find, mechanism_subjects
    from discreet.audit.report import examination_values

    subjects = find(form.mechanism, mechanism_subjects())
    examined = [examine(subject, false_alarm=_FALSE_ALARM) for subject in subjects]
    return {"audits": list(map(examination_values, examined))}
