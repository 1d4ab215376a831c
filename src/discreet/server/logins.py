"""Browser logins: a signed cookie that names an account and its token, and a CSRF token bound to
it. Only those that were ended are remembered, with their accounts, so that any process of a vault
knows a login and a logout.
"""

import base64
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from discreet.noise.bits import system
from discreet.server.accounts import Accounts, Identity, Role

__all__ = ["COOKIE", "Login", "Logins"]

COOKIE = "discreet_login"
"""The cookie's name."""


@dataclass(frozen=True, slots=True)
class Login:
    """Who is signed in by a cookie, and the token that the site's own forms carry."""

    identity: Identity
    csrf: str


class Logins:
    """Makes and reads the cookies of a vault. Signed with a key that is in the vault."""

    __slots__ = ("_accounts", "_clock", "_key", "_seconds")

    def __init__(
        self, accounts: Accounts, *, hours: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._accounts = accounts
        self._seconds = hours * 3600
        self._key = accounts.key()
        self._clock = clock

    def cookie(self, identity: Identity) -> str:
        """The value of a new cookie."""
        random = system.bits(128).to_bytes(16, "little").hex()
        until = int(self._clock()) + self._seconds
        body = json.dumps([identity.name, identity.role, identity.token, until, random])
        encoded = base64.urlsafe_b64encode(body.encode()).decode()
        return f"{encoded}.{self._code('cookie', encoded)}"

    def read(self, cookie: str) -> Login | None:
        """The login of a cookie; None if it is forged, too old, ended, or its token was revoked."""
        opened = self._open(cookie)
        if opened is None:
            return None
        identity, until, mark = opened
        if until < self._clock() or not self._accounts.holds(identity, login=mark, until=until):
            return None
        return Login(identity, self._code("form", cookie.partition(".")[0]))

    def end(self, cookie: str) -> None:
        """End the login of a cookie on the server: copies of it are worthless, here and
        elsewhere.
        """
        opened = self._open(cookie)
        if opened is not None:
            self._accounts.end(opened[0], login=opened[2], until=opened[1])

    def _open(self, cookie: str) -> tuple[Identity, int, str] | None:
        """What a cookie of ours says, and the mark under which it would be ended."""
        encoded, _, code = cookie.partition(".")
        expected = self._code("cookie", encoded).encode()
        if not hmac.compare_digest(expected, code.encode("utf-8", "replace")):
            return None
        name, role, token, until, random = json.loads(base64.urlsafe_b64decode(encoded))
        return Identity(name, Role(role), token), until, sha256(random.encode()).hexdigest()[:32]

    def _code(self, use: str, text: str) -> str:
        return hmac.digest(self._key, f"{use}:{text}".encode("utf-8", "replace"), "sha256").hex()
