"""What is attacked: ways to answer counts about made-up people. Exact answers, protections that
are common and fail, and a curator, all asked the same questions. Protects nobody.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.attacks.people import People, Secrets
from discreet.errors import InvalidValue
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.rationals import Number, positive

__all__ = [
    "Answerer",
    "Answers",
    "EVERYBODY",
    "Interface",
    "Protection",
    "Questions",
    "audited",
    "exact",
    "noisy",
    "rounded",
    "sampled",
    "suppressed",
    "swapped",
    "thresholded",
]

Answers = NDArray[np.float64]
"""One number for each question; NaN where it was refused."""

EVERYBODY = -1
"""In place of a secret: count all members, whatever their secrets."""

_Change = Callable[[Answers, NDArray[np.int64], int], Answers]


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """How many of the members have the secret? One row of members for each question.

    `secret` is the number of the secret, or EVERYBODY; `texts` are the members as SQL conditions,
    where they are not told by their handles.
    >>> len(Questions(np.ones((2, 5), dtype=bool)))
    2
    """

    members: NDArray[np.bool_]
    secret: tuple[int, ...] = ()
    texts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.secret:
            object.__setattr__(self, "secret", (0,) * len(self.members))
        if len(self.secret) != len(self.members):
            raise InvalidValue(
                f"{len(self.members)} questions and {len(self.secret)} secrets; name one for each."
            )

    def __len__(self) -> int:
        """How many questions there are."""
        return len(self.members)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many members each question has, which the attacker knows.

        >>> Questions(np.ones((2, 5), dtype=bool)).sizes.tolist()
        [5, 5]
        """
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    def exact(self, secrets: Secrets) -> NDArray[np.int64]:
        """The true counts. Exact, of people who do not exist.

        >>> Questions(np.ones((1, 2), dtype=bool)).exact(np.array([[True], [False]])).tolist()
        [1]
        """
        counts = self.sizes.copy()
        asked = np.array(self.secret)
        for secret in set(self.secret) - {EVERYBODY}:
            rows = asked == secret
            counts[rows] = (self.members[rows] & secrets[:, secret]).sum(axis=1)
        return counts


class Answerer(Protocol):
    """An open interface: questions in, answers out, as often as one likes."""

    def counts(self, questions: Questions) -> Answers:
        """Answer every question; NaN where it is refused."""


class Interface(Protocol):
    """A way to answer questions about a table; `epsilon` is what it promises in all, if
    anything.
    """

    @property
    def name(self) -> str:
        """What it is called in tables."""

    @property
    def epsilon(self) -> Fraction | None:
        """The total loss that it promises, or None."""

    def open(self, people: People) -> AbstractContextManager[Answerer]:
        """Hand it the people's table."""


@dataclass(frozen=True, slots=True, eq=False)
class _ProtectedAnswerer:
    secrets: Secrets
    change: _Change

    def counts(self, questions: Questions) -> Answers:
        counts = questions.exact(self.secrets).astype(np.float64)
        return self.change(counts, questions.sizes, len(self.secrets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """A rule that changes counts, or the table before it is counted; promises nothing.

    Protects nobody, whatever its name suggests.
    >>> suppressed(below=5).name
    'counts below 5 suppressed'
    """

    name: str
    change: _Change
    disturb: Callable[[Secrets], Secrets] = np.copy

    @property
    def epsilon(self) -> Fraction | None:
        """Nothing is promised."""
        return None

    @contextmanager
    def open(self, people: People) -> Iterator[Answerer]:
        """Hand it the people's table. Protects nobody."""
        yield _ProtectedAnswerer(self.disturb(people.secrets), self.change)


def exact() -> Protection:
    """Every count as it is. Protects nobody.

    >>> exact().change(np.array([7.0]), np.array([9]), 10).tolist()
    [7.0]
    """
    return Protection(name="exact", change=lambda counts, _, __: counts)


def rounded(base: int = 5) -> Protection:
    """Counts rounded to a multiple of a base. Protects nobody.

    >>> rounded(5).change(np.array([7.0]), np.array([9]), 10).tolist()
    [5.0]
    """
    return Protection(
        name=f"rounded to {base}", change=lambda counts, _, __: base * np.rint(counts / base)
    )


def suppressed(below: int = 5) -> Protection:
    """Small counts are not shown. Protects nobody.

    >>> suppressed(5).change(np.array([7.0, 2.0]), np.array([9, 9]), 10).tolist()
    [7.0, nan]
    """
    return Protection(
        name=f"counts below {below} suppressed",
        change=lambda counts, _, __: np.where(counts < below, np.nan, counts),
    )


def thresholded(least: int = 10) -> Protection:
    """Groups of fewer than so many people are not answered, nor all but so few: as k-anonymity.

    Protects nobody.
    >>> thresholded(3).change(np.array([1.0, 1.0]), np.array([2, 5]), 10).tolist()
    [nan, 1.0]
    """

    def change(counts: Answers, sizes: NDArray[np.int64], people: int) -> Answers:
        small = (sizes < least) | ((sizes > people - least) & (sizes < people))
        return np.where(small, np.nan, counts)

    return Protection(name=f"groups of at least {least}", change=change)


def noisy(scale: Number) -> Protection:
    """Fresh Laplace noise of one scale in every answer, however many are asked.

    Costs 1/scale for each answer, and no total.
    """
    size = positive(scale, "scale")
    mechanism = DiscreteLaplace(scale=size)

    return Protection(
        name=f"noise of scale {float(size):.3g}, fresh each time",
        change=lambda counts, _, __: np.asarray(
            mechanism.release(counts.astype(np.int64)), dtype=np.float64
        ),
    )


def swapped(share: float = 0.1) -> Protection:
    """Before counting, a share of the people exchange their secrets in pairs. Protects nobody."""

    def disturb(secrets: Secrets) -> Secrets:
        chosen = _draws.order(len(secrets))[: 2 * int(share * len(secrets) / 2)]
        left, right = chosen[::2], chosen[1::2]
        changed = secrets.copy()
        changed[left], changed[right] = secrets[right], secrets[left]
        return changed

    return replace(exact(), name=f"{share:.0%} swapped", disturb=disturb)


def sampled(share: float = 0.1) -> Protection:
    """Counts of a random sample of the rows, scaled up.

    Whoever is drawn is published [DMNS06, Ex. 3].
    """

    return Protection(
        name=f"a sample of {share:.0%}",
        change=lambda counts, _, __: counts / share,
        disturb=lambda secrets: secrets & _draws.coins(len(secrets), 1, chance=share),
    )


def audited() -> Protection:
    """A count is refused when it would give somebody's secret away: when all have it, or nobody.

    A refusal says what it was to hide [DR14, Sec. 1.1].
    >>> audited().change(np.array([1.0, 2.0]), np.array([2, 2]), 9).tolist()
    [1.0, nan]
    """
    return Protection(
        name="refuses what discloses",
        change=lambda counts, sizes, _: np.where((counts == 0) | (counts == sizes), np.nan, counts),
    )
