"""The durable filter and the vault around it: accounts, charges, releases, catalogue."""

from discreet.ledger.account import Account, Holder, Remaining, account_name
from discreet.ledger.catalogue import Catalogue, Registration
from discreet.ledger.entry import Act, Entry, Receipt
from discreet.ledger.ledger import Ledger
from discreet.ledger.releases import Release, Releases
from discreet.ledger.requests import Request, Requests
from discreet.ledger.states import Change, State, States
from discreet.ledger.vault import Vault
from discreet.ledger.verification import Verification

__all__ = [
    "Account",
    "Act",
    "Catalogue",
    "Change",
    "Entry",
    "Holder",
    "Ledger",
    "Receipt",
    "Registration",
    "Release",
    "Releases",
    "Remaining",
    "Request",
    "Requests",
    "State",
    "States",
    "Vault",
    "Verification",
    "account_name",
]
