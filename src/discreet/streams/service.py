"""The kit of durable services: a service stands under a name, given or made from its settings; its
newest state is read from the vault, and the next one has a length that tells nothing of the secrets
in it. Touches no data; never writes a state that does not follow the one that was read.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from discreet.curator.session import Session
from discreet.encoding import LOSS_FORMS, Forms, encode
from discreet.errors import InvalidValue, Stale, Unavailable, UnprovableRequest, with_article
from discreet.ledger.quota import MARK
from discreet.ledger.states import Change, State
from discreet.plan.pipeline import Plan
from discreet.schema.names import any_name
from discreet.schema.table import Table

__all__ = [
    "Durable",
    "Service",
    "choose_table",
    "name_settings",
    "pad_secret",
    "refuse_unseen_changes",
    "retry",
    "write_body",
]

_WIDTH = 80  # far more digits than the noise on integers has
_Result = TypeVar("_Result")


class Durable(Protocol):
    """What a service must not forget."""

    def to_bytes(self) -> bytes:
        """The bytes that the vault keeps, which may be secret."""


_State = TypeVar("_State", bound=Durable)


@dataclass(frozen=True, slots=True)
class Service(Generic[_State]):
    """What a service is called among the states of a vault, and how its states are read.

    Privacy: reads no row; states are for the service itself and may be secret.
    """

    kind: str
    decode: Callable[[bytes], _State]

    def names(self, session: Session) -> tuple[str, ...]:
        """The names of an analyst's services of this kind, oldest first.

        Privacy: an analyst's own names.
        """
        return session.states.names(kind=self.kind)

    def find(self, session: Session, name: str) -> tuple[State, _State] | None:
        """The newest state of this name; None where nothing was begun under it.

        Privacy: for the service itself; a state may be secret.
        """
        state = session.states.newest(name)
        return None if state is None else (state, self.read(state))

    def newest(self, session: Session, name: str) -> tuple[State, _State]:
        """The newest state of this name; refused where nothing was begun under it.

        Privacy: for the service itself; a state may be secret.
        """
        newest = self.find(session, name)
        if newest is None:
            raise InvalidValue(
                f"{session.name} has no {self.kind} {name!r:.80}; begin it under this name first. "
                "Nothing was run or charged."
            )
        return newest

    def read(self, state: State) -> _State:
        """What a state says; refused if it is another kind of service's."""
        if state.kind != self.kind:
            raise InvalidValue(
                f"{state.name!r} is {with_article(state.kind)}, not {with_article(self.kind)}; "
                "choose another name. Nothing was run or charged."
            )
        return self.decode(state.body)

    def first(self, session: Session, name: str, state: _State) -> Change:
        """The change that begins a service.

        Privacy: reads no row; a state may be secret.
        """
        return Change(
            analyst=session.name, name=name, kind=self.kind, version=1, body=state.to_bytes()
        )

    def follow(self, written: State | Change, state: _State) -> Change:
        """The change that follows what was read or written, and nothing newer."""
        return Change(
            analyst=written.analyst,
            name=written.name,
            kind=written.kind,
            version=written.version + 1,
            body=state.to_bytes(),
        )

    def put(self, session: Session, written: State | Change, state: _State) -> State:
        """Write the state that follows; durable on return, `Stale` if somebody else was first.

        Privacy: reads no row; a state may be secret.
        """
        return session.states.put(self.follow(written, state))

    def check_schema(self, name: str, table: Table, schema_version: str) -> None:
        """Refuse to go on with a table whose schema is another one than at the beginning."""
        if table.version != schema_version:
            raise Unavailable(
                f"{table.name} has another schema than when the {self.kind} {name!r} began; open "
                "a new one. Nothing was run or charged."
            )


def retry(act: Callable[[], _Result], *, attempts: int) -> _Result:
    """Act again where somebody else was first; what was drawn before is forgotten unseen."""
    for _ in range(attempts - 1):
        with contextlib.suppress(Stale):
            return act()
    return act()


def refuse_unseen_changes(plan: Plan) -> None:
    """Refuse tables that are read in place in a database: their rows change unseen."""
    if plan.dialect != "duckdb":
        raise UnprovableRequest(
            f"{plan.tables[0].name} is read where it lies, and its rows may change without a new "
            "version; this service stays with one. Add a prepared copy. Nothing was run or charged."
        )


def choose_table(session: Session, table: str | None) -> str:
    """The table of that name; without one, the only table that there is.

    Privacy: names of tables are public.
    """
    if table is not None:
        return any_name(table, "table")
    known = sorted(schema.name for schema in session.schemas.values() if schema.kind != "public")
    if len(known) != 1:
        raise InvalidValue(
            f"table is not given, and there are {len(known)}: {', '.join(known[:20])}. Name one. "
            "Nothing was run or charged."
        )
    return known[0]


def name_settings(kind: str, *settings: object, forms: Forms = LOSS_FORMS) -> str:
    """A name for a service that was given none: the same program goes on where it stopped."""
    text = "\0".join(_write_setting(setting, forms) for setting in settings)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _write_setting(setting: object, forms: Forms) -> str:
    if isinstance(setting, Fraction):
        whole = f"{setting.numerator:d}"
        return whole if setting.denominator == 1 else f"{whole}/{setting.denominator:d}"
    return setting if isinstance(setting, str) else encode(setting, forms)


def pad_secret(secret: int | None) -> str:
    """A secret integer as text of a fixed width, which `json.loads` and `int` read.

    >>> len(pad_secret(-5)) == len(pad_secret(10**40)) == len(pad_secret(None))
    True
    """
    text = "null" if secret is None else f"{secret:d}"
    if len(text) + len(MARK) > _WIDTH:
        raise InvalidValue(f"a secret has {len(text)} digits; {_WIDTH - len(MARK)} can be kept.")
    return text.ljust(_WIDTH)


def write_body(facts: Mapping[str, object]) -> bytes:
    """The bytes of a state whose secrets are all of one width.

    The bytes are as secret as the facts.
    >>> json.loads(write_body({"noise": pad_secret(7)}))["noise"].strip()
    '7'
    """
    return json.dumps(facts).encode() + MARK
