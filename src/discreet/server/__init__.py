"""The curator over HTTP: accounts, a REST interface and its limits. Needs the extra `server`."""

from discreet.server.accounts import Accounts, Identity, Role
from discreet.server.settings import Settings

__all__ = ["Accounts", "Identity", "Role", "Settings"]
