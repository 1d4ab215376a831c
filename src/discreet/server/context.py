"""What routes share: the curator, accounts, limits and counts of one server, and who is asking.
Answers leave through remote sessions only, on the time grid.
"""

import contextlib
import functools
import hmac
import inspect
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.curator.replay import public_facts, replay
from discreet.curator.session import Session
from discreet.engines.origins import Origin
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    InvalidValue,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.ledger.account import Holder
from discreet.ledger.entry import describe_loss
from discreet.ledger.history import Charged
from discreet.ledger.quota import Quota
from discreet.ledger.releases import Listed, Release
from discreet.plan.pipeline import Plan
from discreet.report.values import answer_values, charge_values, loss_values
from discreet.report.words import refusal_text
from discreet.server.accounts import Accounts, Identity, Role
from discreet.server.limits import PerMinute, WorkLimiter
from discreet.server.logins import COOKIE, Login, Logins
from discreet.server.problems import Problem
from discreet.server.settings import Settings
from discreet.server.watch import Watch
from discreet.upper.plan import StatementPlan

__all__ = ["ServerContext", "analyst", "custodian", "identify", "login_of", "require", "server_of"]

_MEMO = ("label", "table", "question", "data_version", "answer_seconds")
_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADER = "X-CSRF-Token"
_PATH = re.compile(r"(?<![\w/])/[\w.~-]+/[\w.~-]+|\w://")  # absolute, or an address
_KEPT_BACK = (
    "The data or the ledger cannot be read now; the custodian can see why. Look at your budget "
    "before you ask again."
)


class ServerContext:
    """One server's curator and everything around it. Sessions charge and release."""

    def __init__(self, curator: Curator, settings: Settings) -> None:
        self.curator = curator
        self.settings = settings
        self.accounts = Accounts(curator.vault.states)
        self.logins = Logins(self.accounts, hours=settings.login_hours)
        self.gate = WorkLimiter(settings)
        self.guesses = PerMinute(most=settings.logins_per_minute)
        self.checks = PerMinute(most=settings.checks_per_minute)
        self.requests = PerMinute(most=settings.requests_per_minute)
        curator.ledger.quota = Quota(most=settings.account_bytes)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()
        self.watch = Watch(curator.ledger)
        self.draining = False

    def admit(self, who: Identity) -> Identity:
        """Count a request of an account, or refuse one too many in a minute.

        Depends on the account's own requests.
        """
        if self.requests.too_many(who.name):
            raise Problem(
                "too-many-requests",
                f"{self.settings.requests_per_minute} requests of an account a minute are the "
                "limit; wait. The operator of the server can raise it (discreet serve "
                "--requests-per-minute). Nothing was run or charged.",
                retry_seconds=10,
            )
        self.requests.count(who.name)
        return who

    def admit_check(self, who: Identity) -> None:
        """Count a check of a monitor, which costs nothing, or refuse one too many in a minute.

        What a check leaves in the ledger takes room, as a question does. Failed checks count too.
        """
        self.curator.ledger.check_quota(who.name)
        if self.checks.too_many(who.name):
            raise Problem(
                "too-many-requests",
                f"{self.settings.checks_per_minute} checks of monitors a minute are the limit; "
                "wait. Nothing was run or charged.",
                retry_seconds=60,
            )
        self.checks.count(who.name)

    def count(self, name: str, label: str = "") -> None:
        """Count an event, for the metrics."""
        with self.lock:
            self.counts[name, label] += 1

    def session(self, identity: Identity) -> Session:
        """The remote session of an analyst; refused while the custodian has paused questions."""
        if self.accounts.paused:
            raise Problem("paused", "The custodian has paused all questions.", retry_seconds=60)
        self.watch.refuse_tampered()
        return self.curator.remote_session(identity.name)

    def tell_analyst(self, refusal: DiscreetError) -> str:
        """A refusal in words for analysts; one that says where data or vault lie says less.

        What is the custodian's stays the custodian's.
        """
        text = refusal_text(refusal)
        if isinstance(refusal, UnsafeQuery | UnprovableRequest | BudgetExceeded):
            return text  # of the analyst's own text, schemas and budgets
        places = "|".join(map(re.escape, sorted(self._places())))
        hidden = _PATH.search(text) or re.search(rf"(?<!\w)(?:{places})(?!\w)", text)
        return _KEPT_BACK if hidden else text

    def _places(self) -> set[str]:
        """Where the vault and its sources are, in every form that a message may use."""
        folder = self.curator.vault.folder
        places = {*_forms(folder), *_forms(folder.parent)}
        with contextlib.suppress(DiscreetError):  # the ledger itself may be what cannot be read
            tables = self.curator.tables
            for table in tables.values():
                if table.source is not None:
                    origin = Origin.of(table.source)
                    places |= {table.source, *table.source.split("#"), origin.relation("")}
                    if origin.file is not None:
                        places |= {*_forms(origin.file), *_forms(origin.file.parent)}
            places |= {table.prepared or "" for table in self.curator.vault.catalogue.tables()}
            places -= tables.keys()
        return {word for word in places if len(word) > 1}

    def describe_plan(self, plan: Plan | StatementPlan, count: int | None) -> dict[str, Any]:
        """Everything public about a plan; its statement names tables as analysts know them, and
        `answer_seconds` are whole steps of time.
        """
        values = plan.facts(count)
        values["suggestions"] = [suggestion.values() for suggestion in plan.suggest(count)]
        for table in plan.tables:
            relation = "" if table.source is None else Origin.of(table.source).relation("")
            for told in (values, *values.get("blocks", ())) if relation else ():
                told["sql"] = told["sql"].replace(relation, f'"{table.name}"')
        values["answer_seconds"] = float(self.curator.visible_after(plan))
        return values

    def refresh(self, name: str) -> None:
        """Read a table's source again, if it is still at the place where it was added.

        New data is not new budget.
        """
        self._check_place(name)
        self.curator.refresh(name)

    def inspect(self, name: str) -> dict[str, Any]:
        """What a table's bounds drop and clamp; reads the source, as `refresh` does.

        Exact, for the custodian, not for release.
        """
        self._check_place(name)
        return self.curator.inspect(name)

    def _check_place(self, name: str) -> None:
        """Refuse an absent table, and a source that a link leads elsewhere now."""
        table = self.curator.tables.get(name)
        if table is None:
            raise Problem("not-found")
        known = self.curator.vault.catalogue.table(name).source
        if known is None or table.source is None:
            return  # it was added from memory; nothing is read
        origin = Origin.of(table.source)
        gone = origin.file is not None and not origin.file.is_file()
        if gone or str(origin.place().resolve()) != known:
            raise InvalidValue(
                f"{name}: its source is not the file that was added, or a link leads elsewhere. "
                "Nothing was read. Put it back, or let the server's operator run discreet refresh."
            )

    def find_release(self, identity: Identity, receipt: str) -> Release:
        """A release of this analyst's own; any other is not found."""
        self.watch.refuse_tampered()
        release = self.curator.vault.releases.find_cited(receipt, analyst=identity.name)
        if release is None:
            raise Problem("not-found")
        return release

    def answers(self, identity: Identity, *, after: int, limit: int) -> list[dict[str, Any]]:
        """The first so many of an analyst's answers that are kept, after a number; oldest first.

        From receipts alone: no answer is made again.
        """
        releases = self.curator.vault.releases.list_after(after, analyst=identity.name, limit=limit)
        return [_describe_listed(release) for release in releases]

    def history(self, identity: Identity, *, after: int, limit: int) -> list[dict[str, Any]]:
        """The first so many charges to an analyst after an entry, whatever they paid for."""
        charges = self.curator.vault.history.after(after, analyst=identity.name, limit=limit)
        return self._charges(identity, charges)

    def newest(self, identity: Identity, *, before: int | None, limit: int) -> list[dict[str, Any]]:
        """The last so many charges to an analyst before an entry; newest first."""
        charges = self.curator.vault.history.before(before, analyst=identity.name, limit=limit)
        return self._charges(identity, charges)

    def _charges(self, identity: Identity, charges: tuple[Charged, ...]) -> list[dict[str, Any]]:
        account = self.curator.ledger.find(Holder.ANALYST, identity.name)
        return [] if account is None else [charge_values(charge, account) for charge in charges]

    def describe_answer(self, identity: Identity, answer: Answer) -> dict[str, Any]:
        """An answer as JSON, with the facts from which a client makes the same answer again.

        An answer that another analyst paid for, where the custodian allows sharing, has none.
        """
        stored = self.curator.vault.releases.find_cited(answer.receipt.id, analyst=identity.name)
        bought = None if answer.bought is None else answer.bought.receipt.id
        release = None if stored is None else _describe_release(stored, answer)
        return {**answer_values(answer), "bought": bought, "release": release}

    def recall(self, identity: Identity, receipt: str) -> Answer:
        """An old answer."""
        return replay(self.find_release(identity, receipt))


def _forms(path: Path) -> set[str]:
    return {str(path), os.path.realpath(path)}


def _describe_listed(listed: Listed) -> dict[str, Any]:
    receipt = listed.receipt
    return {
        "number": listed.number,
        "id": receipt.id,
        "time": receipt.time,
        "question": receipt.memo["question"],
        "table": receipt.memo["table"],
        "cost": loss_values(receipt.loss),
    }


def _describe_release(release: Release, answer: Answer) -> dict[str, Any]:
    """What a client makes the same answer of: listed field by field, never a stored body."""
    receipt = release.receipt
    return {
        "key": release.key,
        "body": json.dumps(public_facts(answer)),
        "receipt": {
            "sequence": receipt.sequence,
            "id": receipt.id,
            "time": receipt.time,
            "population": receipt.population,
            "analyst": receipt.analyst,
            "loss": describe_loss(receipt.loss),
            "memo": {name: receipt.memo[name] for name in _MEMO if name in receipt.memo},
        },
    }


def server_of(request: Request) -> ServerContext:
    """The context of the server that a request came to."""
    server: ServerContext = request.app.state.server
    return server


_Outcome = TypeVar("_Outcome")


def require(
    role_check: Callable[..., Any],
) -> Callable[[Callable[..., _Outcome]], Callable[..., Coroutine[Any, Any, _Outcome]]]:
    """Make work into a route for those whom `role_check` lets in, done in turn off the event loop.

    The work takes the server's context, `who` asks if it names it, and what the route takes.
    """

    def make_route(work: Callable[..., _Outcome]) -> Callable[..., Coroutine[Any, Any, _Outcome]]:
        signature = inspect.signature(work)
        _, *parameters = signature.parameters.values()
        parameters = [parameter for parameter in parameters if parameter.name != "who"]
        names_asker = "who" in signature.parameters

        @functools.wraps(work)
        async def route(request: Request, who: Identity, **terms: Any) -> _Outcome:
            server = server_of(request)
            arguments = {"who": who, **terms} if names_asker else terms
            return await server.gate.run(who.name, lambda: work(server, **arguments))

        shared = {"request": Request, "who": Annotated[Identity, Depends(role_check)]}
        only = inspect.Parameter.KEYWORD_ONLY
        parameters = [
            *(inspect.Parameter(name, only, annotation=kind) for name, kind in shared.items()),
            *(parameter.replace(kind=only) for parameter in parameters),
        ]
        route.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return route

    return make_route


def login_of(request: Request) -> Login | None:
    """The login of a request's cookie."""
    cookie = request.cookies.get(COOKIE)
    return None if cookie is None else server_of(request).logins.read(cookie)


def identify(request: Request) -> Identity:
    """Who is asking: by a bearer token, or by a cookie and, for changes, the form's own token."""
    server = server_of(request)
    address = request.client.host if request.client else "unknown"
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        # A right token is let in whoever else guesses at this address, which may be a proxy's.
        identity = server.accounts.identify(token.strip())
        if identity is None:
            if server.guesses.too_many(address):
                raise Problem("too-many-requests", "Too many wrong tokens; wait.", retry_seconds=60)
            server.guesses.count(address)
            raise Problem("not-signed-in")
        return server.admit(identity)
    login = login_of(request)
    if login is None:
        raise Problem("not-signed-in")
    sent = request.headers.get(_HEADER, "").encode("utf-8", "replace")
    if request.method not in _SAFE and not hmac.compare_digest(login.csrf.encode(), sent):
        raise Problem("forgery", f"The header {_HEADER} is missing or wrong.")
    return server.admit(login.identity)


def analyst(request: Request) -> Identity:
    """An analyst; everyone else finds nothing here."""
    return _with_role(request, Role.ANALYST)


def custodian(request: Request) -> Identity:
    """A custodian; everyone else finds nothing here."""
    return _with_role(request, Role.CUSTODIAN)


def _with_role(request: Request, role: Role) -> Identity:
    identity = identify(request)
    if identity.role is not role:
        raise Problem("not-found")
    return identity
