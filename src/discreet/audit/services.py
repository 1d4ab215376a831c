"""The curator as a mechanism: tables asked of two vaults, in one of which everybody is counted.
Reaches the curator through its sessions only; the people are made up.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import count as numbers

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.curated import vault_of
from discreet.attacks.people import People, made_up
from discreet.audit.catalogue import Subject
from discreet.curator.session import Session
from discreet.loss import Pure

__all__ = ["curator_subjects"]

_PEOPLE = 400
_QUESTIONS = {
    "a curator's COUNT": "COUNT(*)",
    "a curator's SUM": "SUM(born)",
    "a curator's AVG and COUNT": "AVG(born) AS a, COUNT(*)",
}


@contextmanager
def curator_subjects(samples: int = 20_000) -> Iterator[tuple[Subject, ...]]:
    """Tables with a cell for each person, at epsilon 1, where all are counted and where nobody is.

    A person is in one cell, so each cell is a draw for a pair of neighbours: the person is there
    or is not. Every table is asked in other words than before, because a repeated question is not
    drawn again.
    Privacy: epsilon 1 for each table [DMNS06, Prop. 3.3]; the people are made up.
    >>> with curator_subjects(samples=400) as subjects:
    ...     [one.name for one in subjects][0]
    "a curator's COUNT"
    """
    budget = 4 * len(_QUESTIONS) * (samples // _PEOPLE + 2)
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(vault_of(_alike(secret), epsilon=budget))[1] for secret in (0, 1)
        ]
        limits = numbers(_PEOPLE)  # all of them let everybody in
        yield tuple(
            Subject(
                name=name,
                mechanism=_asking(sessions, text, limits),
                claim=Pure(epsilon=1),
                pairs=((0, 1),),
                samples=samples,
            )
            for name, text in _QUESTIONS.items()
        )


def _alike(secret: int) -> People:
    """People who all have the secret, or all have not, and are as extreme as the bounds allow."""
    crowd = made_up(_PEOPLE)
    same = np.full(_PEOPLE, secret, dtype=np.int64)
    values = {**crowd.values, "secret": same, "born": np.full(_PEOPLE, 2009, dtype=np.int64)}
    return replace(crowd, values=values, secrets=same.astype(np.bool_).reshape(-1, 1))


def _asking(
    sessions: list[Session], measures: str, limits: Iterator[int]
) -> Callable[[int, int], NDArray[np.float64]]:
    def draw(side: int, count: int) -> NDArray[np.float64]:
        rows: list[list[float]] = []
        while len(rows) < count:
            answer = sessions[side].sql(
                f"SELECT seat, {measures} AS v FROM people WHERE secret AND seat < {next(limits)} "
                "GROUP BY seat",
                epsilon=Fraction(1),
            )
            rows += [[float(row[name]) for name in answer.columns[1:]] for row in answer.to_dicts()]
        return np.array(rows[:count])

    return draw
