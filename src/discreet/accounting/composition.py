"""Composition theorems for batches whose parameters are fixed in advance: basic, advanced, optimal.
Every result is exact or rounded towards more loss. Adaptively chosen parameters need a filter.
"""

import decimal
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal, overload

from discreet.accounting.binomial import smallest_epsilon
from discreet.accounting.normal import to_decimal
from discreet.accounting.pld.distribution import Distribution
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Approximate, Loss, Pure
from discreet.rationals import (
    Number,
    ceil_decimal,
    exp_bounds,
    log_bounds,
    nonnegative,
    positive,
    probability,
    sqrt_up,
    whole,
)

__all__ = ["advanced", "basic", "optimal"]

_ONE = Fraction(1)


def _state_all(losses: Iterable[Loss]) -> list[Approximate]:
    """Each loss as an (epsilon, delta) statement, or a refusal."""
    return [loss.approximate() for loss in losses]


def basic(losses: Iterable[Loss]) -> Pure | Approximate:
    """The sum: epsilons add, deltas add, and pure losses stay pure.

    Privacy: holds for adaptive composition and adaptively chosen parameters, under the
    neighbouring relation of the parts [DMNS06, Lemma 2.6], [DR14, Thm. 3.16].
    >>> basic([Pure(epsilon=0.1)] * 10)
    Pure(epsilon=Fraction(1, 1))
    >>> basic([Pure(epsilon=1), Approximate(epsilon=1, delta=1e-6)]).delta
    Fraction(1, 1000000)
    """
    statements = _state_all(losses)
    epsilon = sum((part.epsilon for part in statements), Fraction(0))
    delta = sum((part.delta for part in statements), Fraction(0))
    if not delta:
        return Pure(epsilon=epsilon)
    return Approximate(epsilon=epsilon, delta=min(_ONE, delta))


@overload
def advanced(
    *,
    epsilon: Number,
    delta: Number = 0,
    count: int,
    slack: Number,
    form: Literal["tanh", "dwork-roth"] = "tanh",
) -> Approximate: ...
@overload
def advanced(
    losses: Iterable[Loss], *, slack: Number, form: Literal["tanh", "dwork-roth"] = "tanh"
) -> Approximate: ...
def advanced(
    losses: Iterable[Loss] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    count: int | None = None,
    slack: Number,
    form: Literal["tanh", "dwork-roth"] = "tanh",
) -> Approximate:
    """Advanced composition of `count` equal losses, or of a list, with failure probability `slack`.

    Privacy: sqrt(2 ln(1/slack) sum e^2) + sum e (e^e - 1)/(e^e + 1), adaptive composition of
    fixed parameters [KOV15, Thm. 3.5]; form "dwork-roth" has sum e (e^e - 1) instead
    [DR14, Thm. 3.20]. In both, delta is the sum of the deltas plus the slack.
    >>> float(advanced(epsilon=0.1, count=1000, slack=1e-6).epsilon)
    21.618418858479096
    >>> float(advanced(epsilon=0.1, count=1000, slack=1e-6, form="dwork-roth").epsilon)
    27.13967317025586
    """
    runs = _tally_runs(losses, epsilon, delta, count)
    failure = positive(slack, "slack")
    if failure >= 1:
        raise InvalidValue(f"slack is {slack}; it must be below 1, for instance 1e-6.")
    if form not in ("tanh", "dwork-roth"):
        raise InvalidValue(f"form is {form!r}; it is 'tanh' or 'dwork-roth'.")
    squares, drift, deltas = Fraction(0), Fraction(0), Fraction(0)
    for part, times in runs:
        grown = exp_bounds(part.epsilon)[1]
        step = grown - 1  # e^e - 1 and (e^e - 1)/(e^e + 1) both rise with e^e
        drift += times * part.epsilon * (step / (grown + 1) if form == "tanh" else step)
        squares += times * part.epsilon**2
        deltas += times * part.delta
    spread = sqrt_up(2 * log_bounds(1 / failure)[1] * squares)
    return Approximate(epsilon=ceil_decimal(spread + drift), delta=min(_ONE, deltas + failure))


def _tally_runs(
    losses: Iterable[Loss] | None, epsilon: Number | None, delta: Number, count: int | None
) -> list[tuple[Approximate, int]]:
    """The batch as distinct (epsilon, delta) statements with their multiplicities."""
    if losses is not None:
        if epsilon is not None or count is not None or delta:
            raise InvalidValue("give either a list of losses or epsilon and count, not both.")
        tally: dict[Approximate, int] = {}
        for part in _state_all(losses):
            tally[part] = tally.get(part, 0) + 1
        return list(tally.items())
    if epsilon is None or count is None:
        raise InvalidValue("give a list of losses, or epsilon and count.")
    return [
        (Approximate(epsilon=nonnegative(epsilon, "epsilon"), delta=delta), whole(count, "count"))
    ]


@overload
def optimal(
    *, epsilon: Number, delta: Number = 0, count: int, target_delta: Number
) -> Approximate: ...
@overload
def optimal(losses: Sequence[Loss], *, target_delta: Number) -> Approximate: ...
def optimal(
    losses: Sequence[Loss] | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    count: int | None = None,
    target_delta: Number,
) -> Approximate:
    """The smallest epsilon at `target_delta` that holds for every batch with these parameters.

    Privacy: adaptive composition of fixed parameters. Equal epsilons [KOV15, Thm. 3.3] exactly,
    rounded up in the 18th digit; different ones by the upper end of the certified bracket of
    `Distribution`, 1e-4 wide at most [MV16, Thm. 1.5].
    >>> float(optimal(epsilon=0.1, count=100, target_delta=1e-6).epsilon)
    4.7745675881079865
    >>> mixed = optimal([Pure(epsilon=0.1)] * 50 + [Pure(epsilon=0.2)] * 20, target_delta=1e-6)
    >>> 5.38 < mixed.epsilon < 5.382
    True
    """
    target = probability(target_delta, "target_delta")
    runs = _tally_runs(losses, epsilon, delta, count)
    rest = _remaining_delta(runs, target)
    tally: dict[Fraction, int] = {}
    for part, times in runs:
        if part.epsilon:
            tally[part.epsilon] = tally.get(part.epsilon, 0) + times
    if not tally:
        return Approximate(epsilon=0, delta=target)
    if len(tally) == 1:
        [(alone, times)] = tally.items()
        bound = smallest_epsilon(epsilon=alone, count=times, delta=rest)
    else:
        bound = _bound_mixed(tally, rest)
    return Approximate(epsilon=bound, delta=target)


def _bound_mixed(tally: dict[Fraction, int], delta: Fraction) -> Fraction:
    """The optimal epsilon of different pure losses, from above."""
    total = sum((epsilon * times for epsilon, times in tally.items()), Fraction(0))
    if not delta:
        return total
    batch = Distribution.compose(
        *(Distribution.pure(epsilon=epsilon) * times for epsilon, times in tally.items())
    )
    upper = batch.epsilon(delta=delta).upper
    return min(total, ceil_decimal(Fraction(upper))) if math.isfinite(upper) else total


def _remaining_delta(runs: list[tuple[Approximate, int]], target: Fraction) -> Fraction:
    """What the deltas of the parts leave of the target: 1 - (1-target)/prod(1-delta), rounded down.

    An (epsilon, delta) mechanism is dominated by one that gives the input away with probability
    delta and is epsilon-DP otherwise [KOV15].
    """
    failing = [(part.delta, times) for part, times in runs if part.delta]
    if not failing or target >= 1:
        return target
    smallest = min(target, min(delta for delta, _ in failing))
    digits = 60 + smallest.denominator.bit_length() // 3
    with decimal.localcontext() as context:
        context.prec, context.Emin, context.Emax = digits, decimal.MIN_EMIN, decimal.MAX_EMAX
        survival = Decimal(1)
        for delta, times in failing:
            survival *= to_decimal(1 - delta) ** times
        # A power of up to 10**20 and a few products lose at most 25 of the digits.
        survival *= 1 - Decimal(10) ** (25 - digits)
        rest = 1 - (1 - target) / Fraction(survival) if survival else Fraction(-1)
    if rest < 0:
        total = sum(times * delta for delta, times in failing)
        raise UnprovableRequest(
            f"the deltas of the parts come to about {float(total):g} and the target is "
            f"{float(target):g}; raise target_delta. Nothing was computed."
        )
    return rest
