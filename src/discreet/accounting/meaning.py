"""What a budget means, in words and numbers: how far beliefs, tests and harm can move because of
one person's data. All numbers are upper bounds, rounded up. Decides nothing.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.loss import Approximate, group
from discreet.rationals import Number, ceil_decimal, ceil_float, exp_bounds

__all__ = ["GroupLoss", "Meaning", "Statement", "explain"]

_PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
_FALSE_POSITIVES = Fraction(1, 20)
_GROUPS = (2, 5, 10)
_LARGEST = 700  # e^epsilon beyond this is no float; every bound is void there


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What the releases can teach about one person: whether they took part, or a value of theirs.

    Privacy: none (touches no data).
    >>> explain(epsilon=1).membership.odds_factor
    2.7182818284590455
    """

    epsilon: Fraction
    delta: Fraction
    odds_factor: float
    """The most by which the odds of any belief are multiplied or divided."""
    posteriors: tuple[tuple[float, float], ...]
    """Pairs of a belief before and the highest belief after."""
    power: float
    """The highest power of any test with 5% false positives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoss:
    """The loss of several people whose data are all changed together.

    Privacy: none (touches no data).
    >>> explain(epsilon=1).groups[0].size
    2
    """

    size: int
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """An (epsilon, delta) budget under add/remove neighbours, explained.

    Privacy: none (touches no data).
    >>> print(explain(epsilon=0.1))  # doctest: +ELLIPSIS
    The budget: epsilon 0.1, delta 0, for adding or removing one person.
    ...
    """

    epsilon: Fraction
    delta: Fraction
    membership: Statement
    value: Statement
    groups: tuple[GroupLoss, ...]
    harm_factor: float
    """The most by which the expected harm (or benefit) to a person grows by taking part."""

    def __str__(self) -> str:
        """Plain sentences, one fact a line."""
        lines = [
            f"The budget: epsilon {_short(self.epsilon)}, delta {_short(self.delta)}, "
            "for adding or removing one person.",
            *_sentences("Whether a person is in the data", self.membership),
            *_sentences("A person's value (two such steps, so twice the epsilon)", self.value),
            f"Taking part multiplies the expected harm to a person by at most "
            f"{_number(self.harm_factor)}.",
        ]
        lines += [
            f"For {one.size} people together: epsilon {_short(one.epsilon)}, "
            f"delta {_short(one.delta)}."
            for one in self.groups
        ]
        if self.delta:
            lines.append(
                f"With probability {_short(self.delta)} (a value: {_short(self.value.delta)}) "
                "none of these limits need hold."
            )
        return "\n".join(lines)


def explain(*, epsilon: Number, delta: Number = 0) -> Meaning:
    """What a budget means: beliefs, tests, groups and harm, for membership and for values.

    Privacy: posterior odds move by e^epsilon for membership and, because two values of one entry
    are two add/remove steps, by e^(2 epsilon) with delta (1 + e^epsilon) for values
    [DMNS06, Prop. A-5]; a test has power at most min(e^epsilon alpha + delta,
    1 - (1 - delta - alpha)/e^epsilon) [KOV15, Thm. 2.1]; expected harm grows by e^epsilon
    [DR14, Sec. 2.3.1].
    >>> explain(epsilon=1).membership.posteriors[2]
    (0.5, 0.7310585786300049)
    >>> explain(epsilon=1).value.posteriors[2]
    (0.5, 0.8807970779778825)
    """
    budget = Approximate(epsilon=epsilon, delta=delta)
    pair = _group(budget, 2)
    return Meaning(
        epsilon=budget.epsilon,
        delta=budget.delta,
        membership=_statement(budget),
        value=_statement(pair),
        groups=tuple(
            GroupLoss(size=size, epsilon=many.epsilon, delta=many.delta)
            for size, many in ((size, _group(budget, size)) for size in _GROUPS)
        ),
        harm_factor=_factor(budget.epsilon),
    )


def _group(budget: Approximate, size: int) -> Approximate:
    many = group(budget, size)
    assert isinstance(many, Approximate)
    return many


def _factor(epsilon: Fraction) -> float:
    return ceil_float(exp_bounds(epsilon)[1]) if epsilon <= _LARGEST else math.inf


def _statement(loss: Approximate) -> Statement:
    if loss.epsilon > _LARGEST:
        certain = tuple((float(prior), 1.0) for prior in _PRIORS)
        return Statement(
            epsilon=loss.epsilon,
            delta=loss.delta,
            odds_factor=math.inf,
            posteriors=certain,
            power=1.0,
        )
    odds = exp_bounds(loss.epsilon)[1]
    alpha = _FALSE_POSITIVES
    power = min(odds * alpha + loss.delta, 1 - (1 - loss.delta - alpha) / odds, Fraction(1))
    if loss.delta + alpha >= 1:
        power = Fraction(1)
    return Statement(
        epsilon=loss.epsilon,
        delta=loss.delta,
        odds_factor=ceil_float(odds),
        posteriors=tuple(
            (float(prior), ceil_float(prior * odds / (1 - prior + prior * odds)))
            for prior in _PRIORS
        ),
        power=ceil_float(power),
    )


def _short(value: Fraction) -> str:
    return f"{ceil_float(ceil_decimal(value, 6)):.6g}"


def _number(value: float) -> str:
    return f"{value if math.isinf(value) else float(ceil_decimal(Fraction(value), 4)):.4g}"


def _percent(value: float) -> str:
    return f"{math.ceil(Fraction(value) * 10**4 - Fraction(1, 10**6)) / 100:g}%"


def _sentences(topic: str, statement: Statement) -> list[str]:
    beliefs = "; ".join(
        f"{prior:.0%} becomes at most {_percent(posterior)}"
        for prior, posterior in statement.posteriors
    )
    return [
        f"{topic}: the odds of any belief change by a factor of at most "
        f"{_number(statement.odds_factor)} ({beliefs}).",
        f"  A test with 5% false alarms detects it with probability at most "
        f"{_percent(statement.power)}.",
    ]
