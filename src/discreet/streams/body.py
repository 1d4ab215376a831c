"""How services write their states: with a length that tells nothing of the secrets in them.
What an account fills is counted by these bytes.
"""

import json
from collections.abc import Mapping

from discreet.errors import InvalidValue
from discreet.ledger.quota import MARK

__all__ = ["body_of", "of_one_width"]

_WIDTH = 80  # far more digits than the noise on integers has


def of_one_width(secret: int | None) -> str:
    """A secret integer as text of a fixed width, which `json.loads` and `int` read.

    The text is as secret as the number.
    >>> len(of_one_width(-5)) == len(of_one_width(10**40)) == len(of_one_width(None))
    True
    """
    text = "null" if secret is None else str(secret)
    if len(text) + len(MARK) > _WIDTH:
        raise InvalidValue(f"a secret has {len(text)} digits; {_WIDTH - len(MARK)} can be kept.")
    return text.ljust(_WIDTH)


def body_of(facts: Mapping[str, object]) -> bytes:
    """The bytes of a state whose secrets are all of one width.

    The bytes are as secret as the facts.
    >>> json.loads(body_of({"noise": of_one_width(7)}))["noise"].strip()
    '7'
    """
    return json.dumps(facts).encode() + MARK
