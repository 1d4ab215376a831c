"""The application: routes, problems and limits put together around one curator.
Holds no privacy logic; what answers, sessions answer.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse, PlainTextResponse, Response

from discreet import __version__
from discreet.curator.curator import Curator
from discreet.server.api.analysts import analyst_routes
from discreet.server.api.custodians import custodian_routes
from discreet.server.api.jobs import Jobs
from discreet.server.api.publications import publication_routes
from discreet.server.api.services import SynopsisCache, service_routes
from discreet.server.context import ServerContext
from discreet.server.middleware import Middleware, metrics_text
from discreet.server.pages.analyst import analyst_pages
from discreet.server.pages.custodian import custodian_pages
from discreet.server.pages.register import register_pages
from discreet.server.pages.service import service_pages
from discreet.server.pages.shared import login_pages
from discreet.server.problems import KINDS
from discreet.server.refusals import register_problems
from discreet.server.settings import Settings

__all__ = ["application"]

_PREFIX = "/api/v1"
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def application(curator: Curator, settings: Settings | None = None) -> FastAPI:
    """The application of one curator. Answers are charged by the curator; see `ServerContext`."""
    server = ServerContext(curator, settings or Settings())
    jobs, cache = Jobs(), SynopsisCache()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        server.watch.start()
        yield
        server.draining = True
        server.watch.close()
        jobs.close()
        server.gate.close()

    app = FastAPI(
        title="Discreet",
        version=__version__,
        summary="A trusted curator: private answers with error bars, paid from a budget.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would answer with the address that a Host header names
        openapi_url=f"{_PREFIX}/openapi.json",
        responses=_problems(),
        separate_input_output_schemas=False,
    )
    app.state.server = server
    register_problems(app)
    app.include_router(analyst_routes(jobs), prefix=_PREFIX)
    app.include_router(service_routes(cache), prefix=_PREFIX)
    app.include_router(publication_routes(), prefix=_PREFIX)
    app.include_router(custodian_routes(), prefix=_PREFIX)
    for pages in (login_pages, analyst_pages, custodian_pages, register_pages):
        app.include_router(pages())
    app.include_router(service_pages(cache))

    async def health() -> Response:
        return JSONResponse({"status": "draining" if server.draining else "ok"})

    async def metrics() -> Response:
        return PlainTextResponse(metrics_text(server), media_type="text/plain; version=0.0.4")

    app.add_api_route("/health", health, methods=["GET"], include_in_schema=False)
    app.add_api_route("/metrics", metrics, methods=["GET"], include_in_schema=False)
    app.add_middleware(Middleware, server=server)
    return app


def _problems() -> dict[int | str, dict[str, Any]]:
    responses: dict[int | str, dict[str, Any]] = {}
    for status, title in KINDS.values():
        document = {"application/problem+json": {"schema": _PROBLEM}}
        responses[status] = {"description": title, "content": document}
    return responses
