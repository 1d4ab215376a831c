"""Invitations: the tokens of the people who may report, made before anyone is asked.
A token says who may report once in a round, and nothing about an answer.
"""

import re
import secrets
from hashlib import sha256
from pathlib import Path

from discreet.errors import InvalidValue
from discreet.rationals import whole

__all__ = ["invite", "read_invitations", "round_token"]

_MOST = 10_000_000
_TOKEN = re.compile(r"[0-9a-f]{32}")


def invite(people: int) -> tuple[str, ...]:
    """New tokens, one for each person; nobody can guess one.

    >>> len(set(invite(3)))
    3
    """
    return tuple(secrets.token_hex(16) for _ in range(whole(people, "people", most=_MOST)))


def read_invitations(path: Path) -> frozenset[str]:
    """The tokens in a file of invitations: the last 32 digits of each line that is not empty.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     links = Path(folder) / "links.txt"
    ...     _ = links.write_text("https://example.org/#" + "0a" * 16)
    ...     sorted(read_invitations(links))
    ['0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a']
    """
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise InvalidValue(
            f"{path}: the invitations cannot be read ({reason}). "
            "`discreet survey invite` makes them."
        ) from None
    tokens = [line[-32:] for line in lines]
    wrong = [number for number, token in enumerate(tokens, 1) if not _TOKEN.fullmatch(token)]
    if wrong or not tokens:
        where = f"entry {wrong[0]} does not end" if wrong else "no entry ends"
        raise InvalidValue(f"{path}: {where} with a token of 32 hexadecimal digits.")
    return frozenset(tokens)


def round_token(invitation: str, *, fingerprint: str, round_number: int) -> str:
    """The token under which an invited person reports in one round of a repeated survey.

    Without the invitations nobody can tell which tokens of two rounds belong to one person. The
    page's script computes the same.
    >>> round_token("0a" * 16, fingerprint="0" * 32, round_number=2)
    '6d1859e309f91bc1b226e16deb88cb61'
    """
    text = f"discreet/{fingerprint}/{round_number}/{invitation}"
    return sha256(text.encode()).hexdigest()[:32]
