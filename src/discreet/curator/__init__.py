"""The trusted curator: catalogue, accounts, sessions; every answer is charged, run, then noised."""

from discreet.curator.answer import Answer, Receipt
from discreet.curator.curator import Curator
from discreet.curator.session import Session

__all__ = ["Answer", "Curator", "Receipt", "Session"]
