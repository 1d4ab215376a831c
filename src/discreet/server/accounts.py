"""Who may speak to the server: accounts with roles, and tokens that are shown once.
Keeps hashes of tokens only, in the vault's states, so that every process knows a revocation and
a logout.
"""

import base64
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any

from discreet.errors import InvalidValue, with_article
from discreet.ledger.account import account_name
from discreet.ledger.states import Change, States
from discreet.noise.bits import system
from discreet.streams.service import retry

__all__ = ["Accounts", "Identity", "Issued", "Role"]

_KIND = "account"
_NAME = "account"
_SWITCH = "service"
_SERVER = "(server)"  # no account is called so: its states are out of analysts' reach
_NOBODY = "(nobody)"  # nor is one called so: it is looked up for names that cannot be
_MOST_TOKENS = 20
_MOST_ENDED = 100  # logins of an account that are remembered one by one
_ATTEMPTS = 20
_NO_TOKEN = {"id": "", "hash": "0" * 64, "expires": ""}
_UNKNOWN = (  # what is read where there is no account: about as long as one with two tokens
    '{"role": "analyst", "tokens": ['
    f'{{"id": "", "hash": "{"0" * 64}", "expires": "2000-01-01T00:00:00+00:00"}}, '
    f'{{"id": "", "hash": "{"0" * 64}", "expires": "2000-01-01T00:00:00+00:00"}}]}}'
)


class Role(StrEnum):
    """What an account may do."""

    CUSTODIAN = "custodian"
    ANALYST = "analyst"


@dataclass(frozen=True, slots=True)
class Identity:
    """An account that has shown a valid token."""

    name: str
    role: Role
    token: str


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token: `text` is shown once and kept nowhere. The text is not shown by repr.

    >>> Issued("ana", Role.ANALYST, "7f", "2025-01-01", "secret")
    Issued(name='ana', role=<Role.ANALYST: 'analyst'>, id='7f', expires='2025-01-01')
    """

    name: str
    role: Role
    id: str
    expires: str
    text: str = field(repr=False)


class Accounts:
    """The accounts of one vault. A token has 256 bits, so its plain hash can be kept.

    >>> import tempfile
    >>> from discreet.ledger.vault import Vault
    >>> with tempfile.TemporaryDirectory() as folder, Vault.open(f"{folder}/vault") as vault:
    ...     accounts = Accounts(vault.states)
    ...     issued = accounts.issue("ana", Role.ANALYST, days=1)
    ...     print(accounts.identify(issued.text).name, accounts.identify("guess"))
    ana None
    """

    __slots__ = ("_now", "_states")

    def __init__(
        self, states: States, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._states = states
        self._now = now

    def issue(self, name: str, role: Role, *, days: int) -> Issued:
        """A new token for an account, which is made if it is new; its role stays.

        A new name that differs from another in capitals only is refused.
        """
        account_name(name)
        secret = _random(32)
        issued = Issued(
            name=name,
            role=role,
            id=_random(6),
            expires=(self._now() + timedelta(days=days)).isoformat(timespec="seconds"),
            text="",
        )
        text = ".".join((_encode(name), issued.id, secret))

        def add(known: dict[str, Any]) -> dict[str, Any]:
            if known and known["role"] != role:
                raise InvalidValue(
                    f"{name!r} is {with_article(known['role'])} and stays one; choose another name."
                )
            tokens = [stored for stored in known.get("tokens", []) if self._valid(stored)]
            if len(tokens) >= _MOST_TOKENS:
                raise InvalidValue(f"{name!r} has {_MOST_TOKENS} tokens; revoke one first.")
            new = {"id": issued.id, "hash": _hash(secret), "expires": issued.expires}
            return {**known, "role": role, "tokens": [*tokens, new]}

        self._put(name, _NAME, _KIND, add, self._states.introduce)
        return Issued(issued.name, issued.role, issued.id, issued.expires, text)

    def identify(self, text: str) -> Identity | None:
        """Whose token this is, or None if it is unknown, wrong, expired or revoked.

        Compared in constant time, and a name that nobody has takes the same way as one with many
        tokens: a look, a hash, as many comparisons.
        """
        encoded, _, rest = text.partition(".")
        token, _, secret = rest.partition(".")
        name = _decode(encoded)
        known = self._read(name) or json.loads(_UNKNOWN)
        tokens = known.get("tokens", [])
        identity, identifier = _NO_TOKEN, token.encode("utf-8", "replace")
        for stored in [*tokens, *[_NO_TOKEN] * (_MOST_TOKENS - len(tokens))]:
            if hmac.compare_digest(stored["id"].encode(), identifier):
                identity = stored
        matches = hmac.compare_digest(identity["hash"], _hash(secret))
        if not matches or not identity["id"] or not self._valid(identity):
            return None
        return Identity(name, Role(known["role"]), identity["id"])

    def holds(self, identity: Identity, *, login: str, until: float) -> bool:
        """Whether a login until then is not over, and the token behind it still valid."""
        known = self._read(identity.name)
        if login in known.get("ended", {}) or until <= known.get("ended_until", 0):
            return False
        tokens = known.get("tokens", [])
        return any(stored["id"] == identity.token and self._valid(stored) for stored in tokens)

    def end(self, identity: Identity, *, login: str, until: float) -> None:
        """End a login, for every process; a copy of its cookie is worthless from now on.

        Where very many are to be remembered, all of the account's that are no newer end with it.
        """

        def add(known: dict[str, Any]) -> dict[str, Any]:
            now = self._now().timestamp()
            ended = {mark: end for mark, end in known.get("ended", {}).items() if end > now}
            ended[login] = until
            if len(ended) <= _MOST_ENDED:
                return {**known, "ended": ended}
            last = max(known.get("ended_until", 0), *ended.values())
            return {**known, "ended": {}, "ended_until": last}

        if self._read(identity.name):
            self._change(identity.name, add)

    def revoke(self, name: str, token: str | None = None) -> None:
        """Make a token, or all of an account, worthless at once."""

        def remove(known: dict[str, Any]) -> dict[str, Any]:
            remaining = [
                stored for stored in known.get("tokens", []) if token not in (None, stored["id"])
            ]
            if not known or (token is not None and len(remaining) == len(known["tokens"])):
                what = f"token {token!r:.40} of " if token is not None else ""
                raise InvalidValue(f"there is no {what}account {name!r:.80}.")
            return {**known, "tokens": remaining}

        self._change(name, remove)

    def list_all(self) -> Iterator[dict[str, Any]]:
        """All accounts with their valid tokens, without anything that would let one in."""
        for name in self._states.holders(kind=_KIND):
            known = self._read(name)
            tokens = [
                {"id": token["id"], "expires": token["expires"]}
                for token in known.get("tokens", [])
                if self._valid(token)
            ]
            yield {"name": name, "role": known.get("role"), "tokens": tokens}

    @property
    def paused(self) -> bool:
        """Whether a custodian has stopped all questions for now.

        After an adoption it is so until a custodian lets them go on, if it was ever used.
        """
        version, state = self._states.standing(_SWITCH, analyst=_SERVER)
        if state is None:
            return version > 0  # it may have been paused in what an adoption forgot
        return bool(json.loads(state.body).get("paused"))

    def pause(self) -> None:
        """Stop all questions, on every process of this vault."""
        self._put(_SERVER, _SWITCH, "switch", lambda _: {"paused": True}, self._states.put)

    def go_on(self) -> None:
        """Let questions be answered again."""
        self._put(_SERVER, _SWITCH, "switch", lambda _: {"paused": False}, self._states.put)

    def key(self) -> bytes:
        """The key that signs browser logins, the same for all processes of this vault."""
        known = self._read(_SERVER, "login-key")
        if not known:
            fresh = _random(32)
            self._put(
                _SERVER, "login-key", "key", lambda old: old or {"key": fresh}, self._states.put
            )
            known = self._read(_SERVER, "login-key")
        return str(known["key"]).encode()

    def _valid(self, token: dict[str, str]) -> bool:
        return datetime.fromisoformat(token["expires"]) > self._now()

    def _read(self, holder: str, name: str = _NAME) -> dict[str, Any]:
        # After an adoption everyone is let in anew: revocations may have been forgotten with it.
        _, state = self._states.standing(name, analyst=holder)
        return {} if state is None else dict(json.loads(state.body))

    def _change(self, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._put(name, _NAME, _KIND, change, self._states.put)

    def _put(
        self,
        holder: str,
        name: str,
        kind: str,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        write: Callable[[Change], object],
    ) -> None:
        def attempt() -> None:
            version, state = self._states.standing(name, analyst=holder)
            known = {} if state is None else dict(json.loads(state.body))
            body = json.dumps(change(known)).encode()
            write(Change(analyst=holder, name=name, kind=kind, version=version + 1, body=body))

        retry(attempt, attempts=_ATTEMPTS)


def _random(count: int) -> str:
    bits = system.bits(8 * count).to_bytes(count, "little")
    return base64.urlsafe_b64encode(bits).decode().rstrip("=")


def _encode(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def _decode(text: str) -> str:
    padded = text.encode("utf-8", "replace") + b"=" * (-len(text) % 4)
    try:
        return account_name(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
    except (ValueError, UnicodeDecodeError, InvalidValue):
        return _NOBODY


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
