"""The routes of declared releases: previewed, made once, kept in the vault, downloaded as a file.
What is kept was released; specifications are an analyst's text and are read as such.
"""

import io
import json
import tempfile
import tomllib
import zipfile
from decimal import Decimal
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from discreet.errors import InvalidValue, Stale
from discreet.ledger.account import Holder
from discreet.ledger.states import Change
from discreet.release.declared import ReleasePlan
from discreet.release.published import MANIFEST, Published
from discreet.release.specification import read_release
from discreet.report.words import cost_text
from discreet.server.accounts import Identity
from discreet.server.api.service_forms import NAME, ReleaseForm
from discreet.server.api.services import begun
from discreet.server.context import Desk, analyst, desk_of
from discreet.server.exports import attachment
from discreet.server.paging import PAGE, After, Limit
from discreet.server.problems import Problem

__all__ = ["publication_routes"]

_KIND = "published"
_Analyst = Annotated[Identity, Depends(analyst)]
_Name = Annotated[str, Path(pattern=NAME)]


def publication_routes() -> APIRouter:
    """The routes of releases.

    A release is charged as a whole before a row is read; what is kept is what went out.
    """
    routes = APIRouter(tags=["releases"])
    routes.add_api_route("/releases", _listed, methods=["GET"])
    routes.add_api_route("/releases", _make, methods=["POST"], status_code=201)
    routes.add_api_route("/releases/preview", _preview, methods=["POST"])
    routes.add_api_route("/releases/{name}", _manifest, methods=["GET"])
    routes.add_api_route(
        "/releases/{name}/file",
        _file,
        methods=["GET"],
        response_class=Response,
        responses={200: {"content": {"application/zip": {}}}},
    )
    return routes


def _planned(desk: Desk, who: Identity, form: ReleaseForm) -> ReleasePlan:
    try:
        document = tomllib.loads(form.specification, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidValue(
            f"the specification is not TOML: {error}. Nothing was run or charged."
        ) from None
    return read_release(document).plan(desk.session(who))


async def _preview(request: Request, form: ReleaseForm, who: _Analyst) -> dict[str, Any]:
    desk = desk_of(request)

    def preview() -> dict[str, Any]:
        made = _planned(desk, who, form)
        account = desk.curator.ledger.account(Holder.ANALYST, who.name)
        return {"cost": cost_text(made.cost, account.conversion_delta), "facts": made.facts()}

    return await desk.gate.run(who.name, preview)


async def _make(request: Request, form: ReleaseForm, who: _Analyst) -> dict[str, Any]:
    desk = desk_of(request)

    def make() -> dict[str, Any]:
        if desk.curator.vault.states.standing(form.name, analyst=who.name)[0]:
            raise InvalidValue(
                f"there is something named {form.name!r} already; choose another name. Nothing "
                "was run or charged."
            )
        body = _packed(_planned(desk, who, form).run())
        _keep(desk, who, form.name, body)
        return _read_manifest(body)

    return await desk.gate.run(who.name, make)


def _packed(made: Published) -> bytes:
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as name:
        folder = made.write(File(name) / "release")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(folder))
    return packed.getvalue()


def _keep(desk: Desk, who: Identity, name: str, body: bytes) -> None:
    """It is paid for: where somebody took the name meanwhile, it becomes the next version."""
    states = desk.curator.vault.states
    version = 1
    while True:
        change = Change(analyst=who.name, name=name, kind=_KIND, version=version, body=body)
        try:
            states.put(change)
        except Stale:
            version = states.standing(name, analyst=who.name)[0] + 1
            continue
        return


def _read_manifest(body: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        found: dict[str, Any] = json.loads(archive.read(MANIFEST))
    return found


def _kept(desk: Desk, who: Identity, name: str) -> bytes:
    _, state = desk.curator.vault.states.standing(name, analyst=who.name)
    if state is None or state.kind != _KIND:
        raise Problem("not-found")
    return state.body


async def _listed(
    request: Request, response: Response, who: _Analyst, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    desk = desk_of(request)

    def listed() -> list[dict[str, Any]]:
        names = begun(desk, who, _KIND, response, after=after, limit=limit)
        return [{"name": name} for name in names]

    return await desk.gate.run(who.name, listed)


async def _manifest(request: Request, name: _Name, who: _Analyst) -> dict[str, Any]:
    desk = desk_of(request)
    return await desk.gate.run(who.name, lambda: _read_manifest(_kept(desk, who, name)))


async def _file(request: Request, name: _Name, who: _Analyst) -> Response:
    desk = desk_of(request)
    body = await desk.gate.run(who.name, lambda: _kept(desk, who, name))
    return Response(body, media_type="application/zip", headers=attachment(f"{name}.zip"))
