"""Checks all of the ledger in the background, again and again, and remembers what was found when.
Pages show that and how far this process has followed the ledger; they check no old entry again.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.errors import DiscreetError, Unavailable
from discreet.ledger.ledger import Ledger
from discreet.ledger.verification import Verification

__all__ = ["Seen", "Watch"]

_SECONDS_BETWEEN = 600.0
_SHARE = 20  # a long check rests so many times as long as it took
_TAMPERED = (
    "the ledger of this vault is not sound, so nothing is answered; its custodian sees why. "
    "Nothing was run or charged."
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last finished check of everything found, and when.

    `good` is when one last found nothing wrong.
    >>> Seen(Verification(3, "", None, None), "2025-01-01 10:00", "2025-01-01 10:00").found.sound
    True
    """

    found: Verification
    when: str
    good: str | None


class Watch:
    """The background check of one server.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     watch = Watch(Ledger.open(f"{folder}/vault/vault.db"))
    ...     print(watch.seen, watch.look().found.sound)
    None True
    """

    def __init__(
        self, ledger: Ledger, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._ledger = ledger
        self._now = now
        self._seen: Seen | None = None
        self._looking = threading.Lock()
        self._wake = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def seen(self) -> Seen | None:
        """What the last check found; None before the first has finished."""
        return self._seen

    def look(self) -> Seen:
        """Check everything now, from the first entry on; others read and charge meanwhile."""
        with self._looking:
            when = self._now().strftime("%Y-%m-%d %H:%M")
            verification = self._ledger.verify()
            good = when if verification.sound else None if self._seen is None else self._seen.good
            self._seen = Seen(verification, when, good)
            return self._seen

    def refuse_tampered(self) -> None:
        """Refuse to answer from a ledger in which the last check found something wrong.

        The refusal is one fixed sentence.
        """
        if self._seen is not None and not self._seen.found.sound:
            self._wake.set()  # it may have been put back or adopted since
            raise Unavailable(_TAMPERED)

    def again(self) -> None:
        """Check once more soon, rather than at the next time."""
        self._wake.set()

    def start(self) -> None:
        """Begin to check in a thread of its own."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="verification", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Begin no further check; one under way is not waited for."""
        self._over.set()
        self._wake.set()

    def _run(self) -> None:
        if self._seen is not None:  # checked before it listened
            self._wake.wait(_SECONDS_BETWEEN)
        while not self._over.is_set():
            self._wake.clear()
            begun = time.monotonic()
            try:
                self.look()
            except DiscreetError:  # the vault is closed, or cannot be read now
                if self._over.is_set():
                    return
            took = time.monotonic() - begun
            self._over.wait(took)  # also where every visitor asks for another
            self._wake.wait(max(_SECONDS_BETWEEN, _SHARE * took))
