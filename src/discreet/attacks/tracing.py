"""Tracing: whether a person is in the data, from the published shares of many traits. Owns the
score, the members and the strangers; asks an interface for the shares.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.attacks.interfaces import Answers, Interface, Questions
from discreet.attacks.outcome import Outcome, member_bound, power_bound
from discreet.attacks.people import people_with_traits

__all__ = ["ALPHA", "scores", "tracing", "tracing_power"]

ALPHA = 0.05
"""The rate of false alarms at which the power of the test is told."""


def scores(shares: Answers, traits: NDArray[np.bool_], prior: Answers) -> Answers:
    """How much nearer each person's traits are to the published shares than to the population's.

    See [DSSUV15].
    >>> scores(np.array([1.0, 0.0]), np.array([[True, False]]), np.array([0.5, 0.5])).tolist()
    [0.5]
    """
    return np.asarray((traits - prior) @ (shares - prior))


def _trace(interface: Interface, candidates: int, traits: int) -> tuple[Answers, Answers]:
    """The scores of members and of strangers; each candidate is a member by the toss of a coin.

    In units of what a member scores on average where the shares are exact.
    """
    prior = 0.25 + 0.5 * _draws.floats(traits)
    everyone = _draws.floats(candidates * traits).reshape(candidates, traits) <= prior
    inside = _draws.coins(candidates)
    inside[:2] = True  # a table of two at least; they are left out of the score
    people = people_with_traits(everyone[inside])
    asked = Questions(np.ones((traits, len(people)), dtype=np.bool_), tuple(range(traits)))
    texts = ("1 = 1",) * traits
    with interface.open(people) as answerer:
        counts = answerer.counts(Questions(asked.members, asked.secret, texts))
    estimates = np.where(np.isnan(counts), candidates / 2 * prior, counts)
    # How many members there are is not published: it is estimated from the counts themselves.
    size = max(1.0, float(estimates @ prior / (prior @ prior)))
    scored = scores(np.clip(estimates / size, 0, 1), everyone, prior)
    scored /= prior @ (1 - prior) / (candidates / 2)
    inside[:2] = False
    return scored[inside], scored[2:][~inside[2:]]


def tracing(interface: Interface, *, candidates: int = 100, traits: int = 300) -> Outcome:
    """Tell members from strangers, when each candidate is one or the other by a fair coin.

    >>> from discreet.attacks.interfaces import exact
    >>> tracing(exact(), candidates=60, traits=1000).accuracy > 0.7
    True
    """
    members, strangers = _trace(interface, candidates, traits)
    right = int((members > 0.5).sum() + (strangers <= 0.5).sum())
    epsilon = interface.epsilon
    return Outcome(
        attack="tracing",
        interface=interface.name,
        right=right,
        attempts=len(members) + len(strangers),
        baseline=0.5,
        bound=None if epsilon is None else member_bound(epsilon=epsilon),
        at=float(traits),
        parameters=(("candidates", str(candidates)), ("traits", str(traits))),
    )


def tracing_power(interface: Interface, *, candidates: int = 200, traits: int = 300) -> Outcome:
    """The share of members that a test finds which accuses 5% of the strangers.

    The bound is e^epsilon/20 [DMNS06, Sec. 2.2].
    >>> from discreet.attacks.interfaces import exact
    >>> tracing_power(exact(), candidates=60, traits=400).baseline
    0.05
    """
    members, strangers = _trace(interface, candidates, traits)
    cut = float(np.quantile(strangers, 1 - ALPHA)) if len(strangers) else 0.0
    epsilon = interface.epsilon
    return Outcome(
        attack="tracing, 5% false alarms",
        interface=interface.name,
        right=int((members > cut).sum()),
        attempts=len(members),
        baseline=ALPHA,
        bound=None if epsilon is None else power_bound(epsilon=epsilon),
        at=float(traits),
        parameters=(("candidates", str(candidates)), ("traits", str(traits))),
    )
