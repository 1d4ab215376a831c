"""The file of a round's reports: append-only, one for each respondent's token, in SQLite.
Holds randomized bytes and tokens only: no time, no address and no order of arrival.
"""

import contextlib
import enum
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InvalidValue, Unavailable
from discreet.survey.definition import Survey
from discreet.survey.invitations import round_token
from discreet.survey.wire import check, length, unpack

__all__ = ["Arrival", "Reports"]

_TOKEN = re.compile(r"[0-9a-f]{32}")
# Without row numbers the table lies in the order of its tokens, which are random.
_TABLES = """
CREATE TABLE IF NOT EXISTS survey (fingerprint TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS reports (token BLOB PRIMARY KEY, body BLOB NOT NULL)
  STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS reports_stay BEFORE UPDATE ON reports
  BEGIN SELECT RAISE(ABORT, 'reports are only added'); END;
CREATE TRIGGER IF NOT EXISTS reports_remain BEFORE DELETE ON reports
  BEGIN SELECT RAISE(ABORT, 'reports are only added'); END;
"""


class Arrival(enum.Enum):
    """What became of a report: the first under its token, the same again, another, uninvited."""

    FIRST = "first"
    AGAIN = "again"
    OTHER = "other"
    UNINVITED = "uninvited"


class Reports:
    """The reports on one round of a survey, in a file that grows and never changes.

    With `invited` only those who hold one of these invitations may report; without, everybody may.
    A survey with one round is reported on under the invitation itself, one with more under a
    `round_token`. A file of several rounds that carries no round (`unmarked`) comes from an earlier
    version or from before `rounds` was set; it is read, and nothing is added to it. Reports were
    randomized before they came here.
    >>> import tempfile
    >>> from discreet.survey.definition import SKELETON, read_survey_text
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reports = Reports(Path(folder) / "reports.db", read_survey_text(SKELETON))
    ...     arrivals = [reports.add("0" * 32, bytes(2)), reports.add("0" * 32, bytes(2))]
    ...     arrivals.append(reports.add("0" * 32, bytes([1, 0])))
    ...     reports.close()
    >>> [arrival.value for arrival in arrivals]
    ['first', 'again', 'other']
    """

    __slots__ = ("_connection", "_lock", "invited", "path", "round_number", "survey", "unmarked")

    def __init__(
        self,
        path: Path,
        survey: Survey,
        *,
        invited: frozenset[str] | None = None,
        round_number: int = 1,
    ) -> None:
        self.path, self.survey, self.round_number = Path(path), survey, round_number
        self.invited = invited
        if invited is not None and survey.rounds > 1:
            self.invited = frozenset(
                round_token(invitation, fingerprint=survey.fingerprint, round_number=round_number)
                for invitation in invited
            )
        self._lock = threading.Lock()
        with _explain_errors(self.path):
            self._connection = _connect(self.path)
        try:
            with _explain_errors(self.path):
                self.unmarked = self._check_survey()
        except (InvalidValue, Unavailable):
            self._connection.close()
            raise

    @classmethod
    def existing(cls, path: Path, survey: Survey, *, round_number: int = 1) -> "Reports":
        """The reports in a file that is there; a mistyped name does not become an empty file.

        >>> from discreet.survey.definition import SKELETON, read_survey_text
        >>> Reports.existing(Path("no-such-file.db"), read_survey_text(SKELETON))
        Traceback (most recent call last):
        discreet.errors.InvalidValue: no-such-file.db: there are no reports; `discreet survey \
collect` makes the file.
        """
        if not Path(path).is_file():
            raise InvalidValue(
                f"{path}: there are no reports; `discreet survey collect` makes the file."
            )
        return cls(path, survey, round_number=round_number)

    def add(self, token: str, body: bytes) -> Arrival:
        """Keep a report, durably before this returns; a malformed one is refused.

        The same bytes under the same token are kept once. Other bytes under a token that has
        reported are not kept: a respondent who could report twice could be asked twice.
        """
        self.check_open()
        if not _TOKEN.fullmatch(token):
            raise InvalidValue("the token is malformed; it has 32 hexadecimal digits.")
        if self.invited is not None and token not in self.invited:
            return Arrival.UNINVITED
        check(self.survey, body)
        key = bytes.fromhex(token)
        with self._lock, _explain_errors(self.path), self._connection:
            insert = "INSERT INTO reports VALUES (?, ?) ON CONFLICT DO NOTHING"
            if self._connection.execute(insert, (key, body)).rowcount == 1:
                return Arrival.FIRST
            stored = self._connection.execute("SELECT body FROM reports WHERE token = ?", (key,))
            return Arrival.AGAIN if stored.fetchone()[0] == body else Arrival.OTHER

    def __len__(self) -> int:
        with self._lock, _explain_errors(self.path):
            return int(self._connection.execute("SELECT count(*) FROM reports").fetchone()[0])

    def piles(self) -> dict[str, Any]:
        """All reports as arrays, by question; the n-th of each come from the same respondent."""
        with self._lock, _explain_errors(self.path):
            rows = self._connection.execute("SELECT body FROM reports ORDER BY token")
            joined = b"".join(body for (body,) in rows)
        bodies = np.frombuffer(joined, dtype=np.uint8).reshape(-1, length(self.survey))
        return unpack(self.survey, bodies)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def check_open(self) -> None:
        """Refuse a file to which nothing may be added."""
        if self.unmarked:
            raise InvalidValue(
                f"{self.path}: these reports carry no round, so they come from an earlier version "
                "or from before rounds was set, and no limit is proved for them. `discreet survey "
                "report` reads them. Collect into another file with --reports. Nothing was added."
            )

    def _check_survey(self) -> bool:
        """Whether the reports carry no round though the survey has several."""
        survey = self.survey
        mark = survey.fingerprint
        if survey.rounds > 1:
            mark = f"{survey.fingerprint}/{self.round_number}"
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            rows = self._connection.execute("SELECT fingerprint FROM survey").fetchall()
            if not rows:
                self._connection.execute("INSERT INTO survey VALUES (?)", (mark,))
        if rows and rows[0][0] not in (mark, survey.wording):
            raise InvalidValue(
                f"{self.path}: these are reports on other questions or of another round, or the "
                "survey has been edited since. Put the survey back as it was, name the round with "
                "--round, or collect into another file with --reports."
            )
        return bool(rows) and rows[0][0] != mark


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Made before SQLite opens it, so that it is never readable by others.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(_TABLES)
    return connection


@contextlib.contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise Unavailable(
            f"{path}: the reports could not be read or kept ({error}). A report that was not "
            "confirmed is sent again by the browser that made it."
        ) from None
