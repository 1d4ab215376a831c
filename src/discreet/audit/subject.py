"""One thing to audit, right or planted wrong: how to draw from it, what it claims, which inputs to
try and with how many samples. Owns the form of an entry and of its verdict; lists nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.audit.blackbox import Progress, audit
from discreet.audit.claims import Claim
from discreet.audit.pairs import Pair
from discreet.audit.verdict import Verdict
from discreet.errors import InvalidValue
from discreet.schema.column import nearest

__all__ = ["Examined", "Subject", "examine", "find", "make_subject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Something to audit: how to draw from it, what it claims, which inputs to try.

    >>> from discreet.loss import Pure
    >>> Subject(name="always 7", mechanism=lambda exact: 7, claim=Pure(epsilon=1),
    ...         pairs=((0, 1),), samples=400).covers
    ('always 7',)
    """

    name: str
    mechanism: Callable[..., Any]
    claim: Claim
    pairs: Sequence[tuple[Any, Any] | Pair]
    samples: int
    part: str = ""
    """Where it belongs: a package, or services."""
    covers: tuple[str, ...] = ()
    """The public names whose claims it tries; its own name if none are given."""
    bug: str = ""
    """What is wrong with it, where something is."""
    beside: str = ""
    """The name of the subject that a bug was planted beside, where there is one."""

    def __post_init__(self) -> None:
        if not self.covers and not self.bug:
            object.__setattr__(self, "covers", (self.name,))

    def plant(
        self,
        bug: str,
        mechanism: Callable[..., Any],
        samples: int,
        *,
        pairs: Sequence[tuple[Any, Any] | Pair] = (),
    ) -> "Subject":
        """The same claim on the same inputs, or on others, of something that is wrong.

        It is there to be caught.
        >>> from discreet.loss import Pure
        >>> right = Subject(name="always 7", mechanism=lambda exact: 7, claim=Pure(epsilon=1),
        ...                 pairs=((0, 1),), samples=400)
        >>> right.plant("says it all", lambda exact: exact, 200).name
        'always 7: says it all'
        """
        return replace(
            self,
            name=f"{self.name}: {bug}",
            mechanism=mechanism,
            samples=samples,
            pairs=pairs or self.pairs,
            covers=(),
            bug=bug,
            beside=self.name,
        )

    def with_bug(
        self,
        bug: str,
        mechanism: Callable[..., Any],
        samples: int,
        *,
        pairs: Sequence[tuple[Any, Any] | Pair] = (),
    ) -> "tuple[Subject, Subject]":
        """This subject, and the bug planted beside it."""
        return self, self.plant(bug, mechanism, samples, pairs=pairs)


def make_subject(
    part: str,
    name: str,
    mechanism: Callable[..., Any],
    claim: Claim,
    pairs: Sequence[tuple[Any, Any] | Pair],
    samples: int,
    *also: str,
) -> Subject:
    """A subject that covers the public name its own name begins with, and further ones.

    >>> from discreet.loss import Pure
    >>> draw, claim = (lambda exact: 7), Pure(epsilon=1)
    >>> make_subject("streams", "Sparse of the book", draw, claim, [(0, 1)], 9, "Run").covers
    ('Sparse', 'Run')
    """
    return Subject(
        name=name,
        mechanism=mechanism,
        claim=claim,
        pairs=pairs,
        samples=samples,
        part=part,
        covers=(name.partition(" ")[0], *also),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A subject and its verdict.

    >>> from discreet.audit.published import bugs
    >>> examine(bugs()[0], false_alarm=1e-3).as_expected
    True
    """

    subject: Subject
    verdict: Verdict

    @property
    def as_expected(self) -> bool:
        """Whether a bug was caught, or a correct mechanism left alone."""
        return self.verdict.violated == bool(self.subject.bug)


def examine(subject: Subject, *, false_alarm: float, progress: Progress | None = None) -> Examined:
    """Audit one subject. A lower bound on epsilon; never evidence that a mechanism is private.

    >>> from discreet.audit.published import bugs
    >>> examine(bugs()[0], false_alarm=1e-3).verdict.violated
    True
    """
    verdict = audit(
        subject.mechanism,
        subject.claim,
        pairs=subject.pairs,
        samples=subject.samples,
        false_alarm=false_alarm,
        progress=progress,
    )
    return Examined(subject=subject, verdict=verdict)


def find(name: str, subjects: Sequence[Subject]) -> tuple[Subject, ...]:
    """The subjects of that name and the bugs beside them; capitals do not count.

    >>> from discreet.audit.published import bugs
    >>> [one.name for one in find("Half the NOISE", bugs())]
    ['half the noise']
    """
    wanted = name.casefold()
    matches = tuple(
        one for one in subjects if wanted in (one.name.casefold(), one.beside.casefold())
    )
    if not matches or not wanted:
        raise InvalidValue(
            f"there is no {name!r} to audit. {nearest(name, [one.name for one in subjects])}"
        )
    return matches
