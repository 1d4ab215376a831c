"""The routes of durable services: monitors, counters and synopses of an analyst's own.
Services run on remote sessions, and what they say is the library's; nothing here looks at rows.
"""

import contextlib
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from discreet.curator.session import Session
from discreet.errors import InvalidValue, Unavailable, UnsafeQuery
from discreet.ledger.account import Holder
from discreet.plan.parts.remarks import Note
from discreet.report.values import note_values
from discreet.report.words import cost_text
from discreet.server.accounts import Identity
from discreet.server.api.service_forms import (
    NAME,
    CheckForm,
    ConditionForm,
    CounterForm,
    MonitorForm,
    PointsForm,
    SynopsisForm,
)
from discreet.server.context import ServerContext, analyst, require
from discreet.server.exports import attachment
from discreet.server.paging import PAGE, After, Limit, with_next
from discreet.server.problems import Problem
from discreet.streams.counter.counter import Counter
from discreet.streams.counter.state import COUNTERS, Point
from discreet.streams.monitor.monitor import Monitor
from discreet.streams.synopsis.synopsis import Synopsis

__all__ = [
    "SynopsisCache",
    "ask_synopsis",
    "check_name",
    "describe_synopsis",
    "list_names",
    "names_route",
    "service_routes",
]

_Name = Annotated[str, Path(pattern=NAME)]
_MOST_KEPT = 8
_PATHS = {
    "monitor": "monitors",
    "counter": "counters",
    "synopsis": "synopses",
    "published": "releases",
}
_CHECKS = 100  # how many checks the stated error is for


class SynopsisCache:
    """Synopses that are kept in memory, so that a hypothesis is not fitted for every question.

    They hold what was released, and states that follow the vault's.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], Synopsis] = OrderedDict()

    def find(self, account: str, name: str) -> Synopsis | None:
        """A synopsis that was asked lately."""
        with self._lock:
            synopsis = self._kept.get((account, name))
            if synopsis is not None:
                self._kept.move_to_end((account, name))
            return synopsis

    def keep(self, account: str, synopsis: Synopsis) -> Synopsis:
        """Keep a synopsis, and forget the one that was not asked for longest."""
        with self._lock:
            self._kept[account, synopsis.name] = synopsis
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return synopsis


def check_name(server: ServerContext, who: Identity, kind: str, name: str) -> None:
    """Refuse the name of a service that this analyst has not; others' look absent."""
    if not server.curator.vault.states.has(name, analyst=who.name, kind=kind):
        raise Problem("not-found")


def list_names(
    server: ServerContext, who: Identity, kind: str, response: Response, *, after: int, limit: int
) -> list[str]:
    """The names of a part of an analyst's services of a kind, with a link to the next part."""
    states = server.curator.vault.states
    services = states.list_after(after, analyst=who.name, kind=kind, limit=limit + 1)
    numbers = [service.number for service in services]
    part = with_next(response, f"/api/v1/{_PATHS[kind]}", services, numbers, limit)
    return [service.name for service in part]


def names_route(kind: str) -> Callable[..., Any]:
    """The route that lists the names of an analyst's services of a kind, part by part."""

    @require(analyst)
    def names(
        server: ServerContext,
        response: Response,
        who: Identity,
        after: After = 0,
        limit: Limit = PAGE,
    ) -> list[dict[str, Any]]:
        part = list_names(server, who, kind, response, after=after, limit=limit)
        return [{"name": name} for name in part]

    return names


def ask_synopsis(
    server: ServerContext, cache: SynopsisCache, who: Identity, name: str, sql: str
) -> dict[str, Any]:
    """What a synopsis of this analyst's own says to a question, and the rounds that are left.

    As `Synopsis.query`; the answer leaves on the time grid.
    """
    synopsis = _recall(server, cache, who, name)
    estimate = synopsis.query(sql)
    return {
        "question": sql,
        "value": estimate.value,
        "share": estimate.share,
        "half_width": estimate.half_width,
        "source": estimate.source,
        "rounds_left": synopsis.rounds_left,
        "notes": note_values(synopsis.snapshot.notes),
    }


def describe_synopsis(
    server: ServerContext, cache: SynopsisCache, who: Identity, name: str
) -> dict[str, Any]:
    """The facts of a synopsis of this analyst's own, as it was asked last."""
    return _describe_facts(_recall(server, cache, who, name))


def _recall(server: ServerContext, cache: SynopsisCache, who: Identity, name: str) -> Synopsis:
    session = server.session(who)
    session.states.newest(name)  # refused after an adoption
    synopsis = cache.find(who.name, name)
    return synopsis or cache.keep(who.name, _resume_synopsis(server, session, name))


def service_routes(cache: SynopsisCache) -> APIRouter:
    """The routes of monitors, counters and synopses.

    Each is charged as in the library, and answers leave on the time grid.
    """
    routes = APIRouter(tags=["services"])
    routes.add_api_route("/monitors", _monitors, methods=["GET"])
    routes.add_api_route("/monitors", _open_monitor, methods=["POST"], status_code=201)
    routes.add_api_route("/monitors/{name}", _monitor, methods=["GET"])
    routes.add_api_route("/monitors/{name}/checks", _check, methods=["POST"])
    routes.add_api_route("/monitors/{name}/runs", _renew, methods=["POST"], status_code=201)
    routes.add_api_route("/counters", names_route("counter"), methods=["GET"])
    routes.add_api_route("/counters", _open_counter, methods=["POST"], status_code=201)
    routes.add_api_route("/counters/{name}", _counter, methods=["GET"])
    routes.add_api_route("/counters/{name}/points", _advance, methods=["POST"])

    @require(analyst)
    def open_synopsis(server: ServerContext, form: SynopsisForm, who: Identity) -> dict[str, Any]:
        words = form.model_dump(exclude={"columns"})
        synopsis = Synopsis.open(server.session(who), form.columns, **words)
        return _describe_facts(cache.keep(who.name, synopsis))

    @require(analyst)
    def answer(
        server: ServerContext, name: _Name, form: ConditionForm, who: Identity
    ) -> dict[str, Any]:
        return ask_synopsis(server, cache, who, name, form.sql)

    @require(analyst)
    def finish(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
        synopsis = _resume_synopsis(server, server.session(who), name)
        synopsis.finish()
        return _describe_facts(cache.keep(who.name, synopsis))

    routes.add_api_route("/synopses", names_route("synopsis"), methods=["GET"])
    routes.add_api_route("/synopses", open_synopsis, methods=["POST"], status_code=201)
    routes.add_api_route("/synopses/{name}", _synopsis, methods=["GET"])
    routes.add_api_route("/synopses/{name}/answers", answer, methods=["POST"])
    routes.add_api_route("/synopses/{name}/end", finish, methods=["POST"])
    routes.add_api_route(
        "/synopses/{name}/file",
        _file,
        methods=["GET"],
        response_class=Response,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    return routes


@require(analyst)
def _monitors(
    server: ServerContext, response: Response, who: Identity, after: After = 0, limit: Limit = PAGE
) -> list[dict[str, Any]]:
    session = server.curator.remote_session(who.name)
    names = list_names(server, who, "monitor", response, after=after, limit=limit)
    return [_describe_if_open(server, Monitor(session, name)) for name in names]


def _describe_if_open(server: ServerContext, monitor: Monitor) -> dict[str, Any]:
    """What is known of a monitor; of one that an adoption has closed, why."""
    try:
        return _describe_monitor(monitor)
    except Unavailable as problem:
        return {"name": monitor.name, "unavailable": server.tell_analyst(problem)}


def _describe_monitor(monitor: Monitor) -> dict[str, Any]:
    """What is known of a monitor, with its notes; none where its question is refused by now."""
    notes: tuple[Note, ...] = ()
    with contextlib.suppress(InvalidValue, UnsafeQuery):
        notes = monitor.notes
    return {**monitor.values(), "notes": note_values(notes)}


@require(analyst)
def _open_monitor(server: ServerContext, form: MonitorForm, who: Identity) -> dict[str, Any]:
    session = server.session(who)
    words = form.model_dump(exclude={"name", "sql"})
    design = Monitor.explain(session, form.sql, **words)
    monitor = Monitor.open(session, form.sql, name=form.name, **words)
    account = server.curator.ledger.account(Holder.ANALYST, who.name)
    return {
        **_describe_monitor(monitor),
        "cost": cost_text(design.cost, account.conversion_delta),
        "error": design.error(checks=_CHECKS),
        "error_checks": _CHECKS,
        "number_error": design.number_error(),
    }


@require(analyst)
def _monitor(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    check_name(server, who, "monitor", name)
    return _describe_monitor(Monitor(server.curator.remote_session(who.name), name))


@require(analyst)
def _check(server: ServerContext, name: _Name, form: CheckForm, who: Identity) -> dict[str, Any]:
    check_name(server, who, "monitor", name)
    server.admit_check(who)
    monitor = Monitor(server.session(who), name)
    check = monitor.check(form.sql, threshold=form.threshold)
    return {**check.values(), "notes": note_values(monitor.notes_of(check.question))}


@require(analyst)
def _renew(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    check_name(server, who, "monitor", name)
    monitor = Monitor(server.session(who), name)
    monitor.renew()
    return _describe_monitor(monitor)


def _resume_counter(session: Session, name: str) -> Counter:
    newest = COUNTERS.find(session, name)
    if newest is None:
        raise Problem("not-found")
    _, state = newest
    reach = state.reach
    return Counter.open(
        session, state.question, versions=reach.versions, buckets=reach.buckets, name=name
    )


def _describe_counter(counter: Counter) -> dict[str, Any]:
    return {
        "name": counter.name,
        "question": counter.design.plan.question,
        "protects": counter.design.protects,
        "points": _describe_points(counter.points),
        "notes": note_values(counter.notes),
    }


def _describe_points(points: tuple[Point, ...]) -> list[dict[str, Any]]:
    return [
        {"start": point.start.isoformat(), "value": point.value, "half_width": point.half_width}
        for point in points
    ]


@require(analyst)
def _open_counter(server: ServerContext, form: CounterForm, who: Identity) -> dict[str, Any]:
    if form.epsilon is None and form.rho is None:
        raise InvalidValue("give one price: epsilon or rho. Nothing was run or charged.")
    return _describe_counter(Counter.open(server.session(who), **form.model_dump()))


@require(analyst)
def _counter(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    check_name(server, who, "counter", name)
    return _describe_counter(_resume_counter(server.curator.remote_session(who.name), name))


@require(analyst)
def _advance(
    server: ServerContext, name: _Name, form: PointsForm, who: Identity
) -> list[dict[str, Any]]:
    check_name(server, who, "counter", name)
    return _describe_points(_resume_counter(server.session(who), name).advance(upto=form.upto))


def _resume_synopsis(server: ServerContext, session: Session, name: str) -> Synopsis:
    if not server.curator.vault.states.has(name, analyst=session.name, kind="synopsis"):
        raise Problem("not-found")
    return Synopsis.resume(session, name)


def _describe_facts(synopsis: Synopsis) -> dict[str, Any]:
    snapshot = synopsis.snapshot
    return {
        "name": synopsis.name,
        "table": snapshot.table.name,
        "columns": [column.name for column in snapshot.table.columns],
        "notes": note_values(snapshot.notes),
        "total": snapshot.total,
        "rho": float(synopsis.spent),
        "rounds_left": synopsis.rounds_left,
    }


@require(analyst)
def _synopsis(server: ServerContext, name: _Name, who: Identity) -> dict[str, Any]:
    return _describe_facts(_resume_synopsis(server, server.session(who), name))


@require(analyst)
def _file(server: ServerContext, name: _Name, who: Identity) -> Response:
    synopsis = _resume_synopsis(server, server.session(who), name)
    with tempfile.TemporaryDirectory() as folder:
        place = File(folder) / "synopsis.npz"
        synopsis.save(place)
        body = place.read_bytes()
    headers = attachment(f"{name}.npz")
    return Response(body, media_type="application/octet-stream", headers=headers)
