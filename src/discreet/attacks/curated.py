"""A curator under attack: a vault in a temporary folder, opened with made-up people and asked as
any analyst would. Reaches the curator through its session only.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.attacks.interfaces import EVERYBODY, Answerer, Answers, Questions
from discreet.attacks.people import People
from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.errors import BudgetExceeded
from discreet.rationals import Number, positive

__all__ = ["ANALYST", "Curated", "open_vault"]

ANALYST = "mallory"
"""The name under which attacks are made."""

_MOST_CELLS = 10_000  # of one table that is asked for all at once


@dataclass(frozen=True, slots=True)
class Curated:
    """A curator whose whole budget is `epsilon`, spent on `questions` answers of equal price.

    Questions beyond the budget are refused. Questions that tell everybody apart one by one are
    asked as one table. Costs epsilon in all, for adding or removing one person [DMNS06, Prop. 3.3].
    >>> Curated(epsilon=1, questions=100).name
    'a curator at epsilon 1'
    """

    epsilon: Fraction
    questions: int

    def __init__(self, *, epsilon: Number, questions: int = 1) -> None:
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "questions", int(positive(questions, "questions")))

    @property
    def name(self) -> str:
        """What it is called in tables.

        >>> Curated(epsilon=0.5).name
        'a curator at epsilon 0.5'
        """
        return f"a curator at epsilon {float(self.epsilon):g}"

    @contextmanager
    def open(self, people: People) -> Iterator[Answerer]:
        """Make the vault; it is gone when the attack is over.

        Costs epsilon in all [DMNS06, Prop. 3.3].
        """
        with open_vault(people, epsilon=self.epsilon) as (_, session):
            yield _CuratedAnswerer(people, session, self.epsilon / self.questions)


@contextmanager
def open_vault(people: People, *, epsilon: Number) -> Iterator[tuple[Path, Session]]:
    """A vault with these people's table, and the attacker's session; both are temporary.

    Privacy: epsilon in all [DMNS06, Prop. 3.3].
    >>> from discreet.attacks.people import made_up
    >>> with open_vault(made_up(3), epsilon=1) as (_, session):
    ...     session.remaining.epsilon
    Fraction(1, 1)
    """
    with tempfile.TemporaryDirectory(prefix="discreet-attack-") as name:
        folder = Path(name)
        with Curator.open(folder / "vault", price_floor=0) as curator:
            curator.add(people.write(folder, epsilon=epsilon))
            curator.grant(ANALYST, epsilon=epsilon)
            yield folder / "vault", curator.session(ANALYST)


@dataclass(slots=True)
class _CuratedAnswerer:
    people: People
    session: Session
    price: Fraction

    def counts(self, questions: Questions) -> Answers:
        column = self.people.table.column(self.people.handle)
        apart = len(questions) == len(self.people) and bool((questions.sizes == 1).all())
        small = column.upper - column.lower < _MOST_CELLS and column.kind != "category"
        if apart and small and len(set(questions.secret)) == 1 and questions.texts is None:
            return self._count_cells(questions)
        places = range(len(questions))
        return np.array([self._count(questions, place) for place in places], dtype=np.float64)

    def _count(self, questions: Questions, place: int) -> float:
        where = " AND ".join(self._conditions(questions, place)) or "1 = 1"
        text = f"SELECT COUNT(*) AS n FROM {self.people.table.name} WHERE {where}"
        try:
            answer = self.session.sql(text, epsilon=self.price)
        except BudgetExceeded:
            return float("nan")
        return float(answer.to_dicts()[0]["n"])

    def _conditions(self, questions: Questions, place: int) -> Iterator[str]:
        people = self.people
        if questions.texts is not None:
            yield f"({questions.texts[place]})"
        else:
            inside = questions.members[place]
            word = "IN" if 2 * inside.sum() <= len(people) else "NOT IN"
            chosen = np.flatnonzero(inside if word == "IN" else ~inside)
            listed = ", ".join(people.literal(people.handle, int(person)) for person in chosen)
            if len(chosen):
                yield f"{people.handle} {word} ({listed})"
            elif word == "IN":
                yield "1 = 0"
        if questions.secret[place] != EVERYBODY:
            yield people.conditions[questions.secret[place]]

    def _count_cells(self, questions: Questions) -> Answers:
        """One table of all cells: the people in it are different ones, so the price is one."""
        people = self.people
        where = "" if questions.secret[0] == EVERYBODY else people.conditions[questions.secret[0]]
        text = f"SELECT {people.handle} AS handle, COUNT(*) AS n FROM {people.table.name}"
        text += f" WHERE {where}" if where else ""
        try:
            rows = self.session.sql(f"{text} GROUP BY {people.handle}", epsilon=self.price)
        except BudgetExceeded:
            return np.full(len(questions), np.nan)
        column = people.table.column(people.handle)
        counts = {row["handle"]: float(row["n"]) for row in rows.to_dicts()}
        asked = questions.members.argmax(axis=1)
        codes = people.values[people.handle]
        return np.array([counts[column.decode(int(codes[person]))] for person in asked])
