"""Attacks on one person at a time: differencing, averaging, refusals that disclose, the lottery of
a published sample, and linkage with what others know. Each asks an interface and guesses.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.attacks.curated import Curated
from discreet.attacks.interfaces import EVERYBODY, Answers, Interface, Questions
from discreet.attacks.outcome import Outcome
from discreet.attacks.people import People
from discreet.attacks.reconstruction import secrets_outcome
from discreet.errors import InvalidValue

__all__ = ["averaging", "certain", "differencing", "linkage", "lottery", "refusals"]

_SURE = 1e-15  # false alarms of a test that is all but certain


def _draw_targets(people: People, targets: int) -> NDArray[np.int64]:
    if not 1 <= targets <= len(people):
        raise InvalidValue(f"targets is {targets}; it must be from 1 to {len(people)}.")
    return _draws.order(len(people))[:targets]


def _guess(score: Answers) -> NDArray[np.bool_]:
    """Above one half is a yes; no answer is a coin."""
    return np.where(np.isnan(score), _draws.coins(len(score)), score > 0.5)


def _mean(values: Answers) -> Answers:
    """The mean of each row's answers; NaN where none was given."""
    answered = ~np.isnan(values)
    sums = np.where(answered, values, 0.0).sum(axis=1)
    counts = answered.sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def differencing(
    people: People, interface: Interface, *, targets: int = 10, crowds: int = 1
) -> Outcome:
    """Count a large crowd with and without the target; the difference is the target's secret.

    With more crowds than one, random halves of the others, the differences are averaged: rounding
    and small noise do not help.
    >>> from discreet.attacks.interfaces import exact
    >>> from discreet.attacks.people import made_up
    >>> differencing(made_up(30), exact()).accuracy
    1.0
    """
    chosen = _draw_targets(people, targets)
    halves = _draws.coins(targets * crowds, len(people)) if crowds > 1 else True
    without = np.broadcast_to(halves, (targets * crowds, len(people))).copy()
    target = np.repeat(chosen, crowds)
    without[np.arange(len(target)), target] = False
    inside = without.copy()
    inside[np.arange(len(target)), target] = True
    with interface.open(people) as answerer:
        answers = answerer.counts(Questions(np.concatenate([inside, without])))
    differences = (answers[: len(target)] - answers[len(target) :]).reshape(targets, crowds)
    guesses = _guess(_mean(differences))
    return secrets_outcome(
        "differencing", interface, people, guesses, targets=chosen, at=crowds, crowds=crowds
    )


def averaging(
    people: People, interface: Interface, *, targets: int = 10, repeats: int = 100
) -> Outcome:
    """Ask the same question about the target again and again, and average the answers.

    >>> from discreet.attacks.interfaces import noisy
    >>> from discreet.attacks.people import made_up
    >>> averaging(made_up(30), noisy(1), repeats=2000).accuracy
    1.0
    """
    chosen = _draw_targets(people, targets)
    members = np.zeros((targets * repeats, len(people)), dtype=np.bool_)
    members[np.arange(len(members)), np.repeat(chosen, repeats)] = True
    with interface.open(people) as answerer:
        answers = answerer.counts(Questions(members)).reshape(targets, repeats)
    guesses = _guess(_mean(answers))
    return secrets_outcome(
        "averaging", interface, people, guesses, targets=chosen, at=repeats, repeats=repeats
    )


def refusals(people: People, interface: Interface, *, questions: int | None = None) -> Outcome:
    """Pair others with the attacker, who knows their own secret; a refusal is an answer.

    All others are asked about, or the first so many of them.
    >>> from discreet.attacks.interfaces import audited
    >>> from discreet.attacks.people import made_up
    >>> refusals(made_up(30), audited()).accuracy
    1.0
    """
    asked = len(people) - 1 if questions is None else questions
    if not 1 <= asked < len(people):
        raise InvalidValue(f"questions is {asked}; it must be from 1 to {len(people) - 1}.")
    others = np.arange(1, asked + 1)
    members = np.zeros((len(others), len(people)), dtype=np.bool_)
    members[:, 0] = True
    members[np.arange(len(others)), others] = True
    with interface.open(people) as answerer:
        answers = answerer.counts(Questions(members))
    own = bool(people.secrets[0, 0])
    refused = np.isnan(answers)
    # Refused: all or none have it, so the other is as the attacker is. Else subtract one's own.
    guesses = np.where(refused, own, answers - own > 0.5)
    number = int(refused.sum())
    return secrets_outcome(
        "refusals", interface, people, guesses, targets=others, at=asked, refused=number
    )


def lottery(people: People, *, share: float) -> Outcome:
    """Publish each row with a small probability: who is drawn is given away for certain.

    Right guesses count only for those drawn: they are facts, not guesses. No finite epsilon, though
    few are hurt each time [DMNS06, Ex. 3].
    >>> from discreet.attacks.people import made_up
    >>> lottery(made_up(50), share=1.0).right
    50
    """
    if not 0 < share <= 1:
        raise InvalidValue(f"share is {share}; it must be above 0 and at most 1.")
    drawn = _draws.coins(len(people), chance=share)
    return Outcome(
        attack="lottery",
        interface=f"a published sample of {share:.0%}",
        right=int(drawn.sum()),
        attempts=len(people),
        baseline=0.0,
        bound=None,
        at=share,
        parameters=(("people", str(len(people))), ("share", f"{share:g}")),
    )


def certain(people: People, curator: Curated) -> Outcome:
    """Ask a curator what the lottery gives away: whose row is in the table, for certain.

    The whole budget goes into a count for each person; accused is whose count is so high that
    without the row it is seen once in 10^15 times. It tells on at most e^epsilon times 10^-15 of
    the people, in expectation [DMNS06, Sec. 2.2].
    >>> from discreet.attacks.people import made_up
    >>> certain(made_up(20), Curated(epsilon=1)).right
    0
    """
    epsilon = float(curator.epsilon)
    alone = np.eye(len(people), dtype=np.bool_)
    with curator.open(people) as answerer:
        answers = answerer.counts(Questions(alone, (EVERYBODY,) * len(people)))
    return Outcome(
        attack="lottery",
        interface=curator.name,
        right=int((answers >= math.ceil(-math.log(_SURE) / epsilon)).sum()),
        attempts=len(people),
        baseline=0.0,
        bound=min(1.0, _SURE * math.exp(min(epsilon, 50.0))),
        parameters=(("people", str(len(people))), ("false alarms", f"{_SURE:g}")),
    )


def linkage(people: People, interface: Interface, *, targets: int = 40) -> Outcome:
    """Look for the people who share what is known of the target, and count secrets among them.

    Where too few share it for an answer, the least telling column is left out, and so on.
    >>> from discreet.attacks.interfaces import exact
    >>> from discreet.attacks.people import made_up
    >>> linkage(made_up(60), exact(), targets=60).accuracy > 0.6
    True
    """
    chosen = _draw_targets(people, min(targets, len(people)))
    score = np.full(len(chosen), np.nan)
    with interface.open(people) as answerer:
        for width in range(len(people.known), 0, -1):
            open_places = np.flatnonzero(np.isnan(score))
            if not len(open_places):
                break
            members, texts = _find_lookalikes(people, chosen[open_places], people.known[-width:])
            both = np.repeat(members, 2, axis=0)
            secret = (0, EVERYBODY) * len(members)
            doubled = tuple(text for text in texts for _ in range(2))
            answers = answerer.counts(Questions(both, secret, doubled)).reshape(-1, 2)
            size = np.maximum(answers[:, 1], 1.0)
            score[open_places] = answers[:, 0] / size
    known = ", ".join(people.known)
    return secrets_outcome("linkage", interface, people, _guess(score), targets=chosen, known=known)


def _find_lookalikes(
    people: People, chosen: NDArray[np.int64], known: tuple[str, ...]
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    members = np.ones((len(chosen), len(people)), dtype=np.bool_)
    for name in known:
        codes = people.values[name]
        members &= codes[chosen][:, None] == codes[None, :]
    texts = (
        " AND ".join(f"{name} = {people.literal(name, int(person))}" for name in known)
        for person in chosen
    )
    return members, tuple(texts)
