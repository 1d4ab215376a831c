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

from fastapi import APIRouter, Path
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
from discreet.server.api.services import names_route
from discreet.server.context import ServerContext, analyst, require
from discreet.server.exports import attachment
from discreet.server.problems import Problem

__all__ = ["publication_routes"]

_KIND = "published"
_Name = Annotated[str, Path(pattern=NAME)]


def publication_routes() -> APIRouter:
    """The routes of releases.

    A release is charged as a whole before a row is read; what is kept is what went out.
    """
    routes = APIRouter(tags=["releases"])
    routes.add_api_route("/releases", names_route(_KIND), methods=["GET"])
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


def _plan_release(server: ServerContext, who: Identity, form: ReleaseForm) -> ReleasePlan:
    try:
        document = tomllib.loads(form.specification, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidValue(
            f"the specification is not TOML: {error}. Nothing was run or charged."
        ) from None
    return read_release(document).plan(server.session(who))


@require(analyst)
def _preview(server: ServerContext, form: ReleaseForm, who: Identity) -> dict[str, Any]:
    plan = _plan_release(server, who, form)
    account = server.curator.ledger.account(Holder.ANALYST, who.name)
    return {"cost": cost_text(plan.cost, account.conversion_delta), "facts": plan.facts()}


@require(analyst)
def _make(server: ServerContext, form: ReleaseForm, who: Identity) -> dict[str, Any]:
    if server.curator.vault.states.standing(form.name, analyst=who.name)[0]:
        raise InvalidValue(
            f"there is something named {form.name!r} already; choose another name. Nothing "
            "was run or charged."
        )
    body = _pack(_plan_release(server, who, form).run())
    _keep(server, who, form.name, body)
    return _read_manifest(body)


def _pack(published: Published) -> bytes:
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as name:
        folder = published.write(File(name) / "release")
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(folder))
    return packed.getvalue()


def _keep(server: ServerContext, who: Identity, name: str, body: bytes) -> None:
    """It is paid for: where somebody took the name meanwhile, it becomes the next version."""
    states = server.curator.vault.states
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
        manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
    return manifest


def _find_release(server: ServerContext, who: Identity, name: str) -> bytes:
    _, state = server.curator.vault.states.standing(name, analyst=who.name)
    if state is None or state.kind != _KIND:
        raise Problem("not-found")
    return state.body


@require(analyst)
def _manifest(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    return _read_manifest(_find_release(server, who, name))


@require(analyst)
def _file(server: ServerContext, name: _Name, who: Identity) -> Response:
    body = _find_release(server, who, name)
    return Response(body, media_type="application/zip", headers=attachment(f"{name}.zip"))
