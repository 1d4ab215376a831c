"""Statistical checks whose false-alarm probability is proved, not asymptotic.

Every check of a correct sampler fails with probability at most FALSE_ALARM, whatever the number
of samples: Dvoretzky-Kiefer-Wolfowitz with Massart's constant for the distribution function, and
the Chernoff bound in relative-entropy form for counts. The cells of a check are fixed by the
distribution alone, before a sample is seen. tests/conftest.py counts the checks of a run and
fails it when count * FALSE_ALARM exceeds SUITE_FALSE_ALARM.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

FALSE_ALARM = 1e-12
SUITE_FALSE_ALARM = 1e-9
CENTRE_VALUES = 100  # values on each side of the median that are checked one by one
ORDER_STATISTICS = 2048  # where the distribution functions are compared
SLACK = 1e-13  # what the floating distribution function handed in may be off by

performed: list[str] = []
"""The names of the checks made by this process, planted bugs aside."""

_planted = 0

Distribution = Callable[[int], float] | Mapping[int, float]
Cell = tuple[str, int | None, int | None, float]  # label, above this, up to this, probability


def relative_entropy(observed: float, expected: float) -> float:
    """KL divergence of Bernoulli(observed) from Bernoulli(expected), in nats.

    >>> round(relative_entropy(0.5, 0.25), 6)
    0.143841
    >>> relative_entropy(0.1, 0.0)
    inf
    """
    total = 0.0
    for share, model in ((observed, expected), (1 - observed, 1 - expected)):
        if share > 0:
            total += share * math.log(share / model) if model > 0 else math.inf
    return max(0.0, total)


def surprise(successes: int, trials: int, probability: float, slack: float = SLACK) -> float:
    """Minus the log of a bound on the probability of a count this far out on its side.

    >>> surprise(5, 10, 0.5)
    0.0
    """
    if not -slack <= probability <= 1 + slack:
        raise AssertionError(f"{probability} is not a probability")
    share = successes / trials
    if share > probability:
        nearest = min(share, probability + slack)
    else:
        nearest = max(share, probability - slack)
    return trials * relative_entropy(share, nearest)


def _rate_surprise(successes: int, trials: int, probability: float) -> float:
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"{successes} successes in {trials} trials")
    # "Never" and "always" are written down, not computed: they get no slack.
    return surprise(successes, trials, probability, 0.0 if probability in (0.0, 1.0) else SLACK)


def _judge(margin: float, message: str) -> float:
    if not margin >= 0:  # a NaN fails too
        raise AssertionError(message)
    return margin


def _declare(name: str) -> None:
    if not _planted:
        performed.append(name)


def counted(name: str) -> float:
    """FALSE_ALARM, for a check that is made elsewhere, such as an audit: it counts like the others.

    >>> counted("an audit") == FALSE_ALARM
    True
    """
    _declare(name)
    return FALSE_ALARM


def check_rate(successes: int, trials: int, probability: float, *, name: str) -> float:
    """Fail unless `successes` out of `trials` is plausible for this probability, on both sides.

    Returns the margin: how many nats of evidence short of failing.
    >>> check_rate(500, 1000, 0.5, name="a fair coin") > 20
    True
    >>> rejects(check_rate, 700, 1000, 0.5, name="a loaded coin")
    True
    """
    _declare(name)
    margin = math.log(2 / FALSE_ALARM) - _rate_surprise(successes, trials, probability)
    return _judge(
        margin,
        f"{name}: {successes} of {trials} is a rate of {successes / trials:.6g}, "
        f"expected {probability:.6g} (evidence {-margin:.3g} nats over the limit)",
    )


def check_rate_at_most(successes: int, trials: int, probability: float, *, name: str) -> float:
    """Fail when `successes` out of `trials` shows a rate above this probability.

    >>> check_rate_at_most(0, 1000, 0.01, name="rare") > 20
    True
    >>> rejects(check_rate_at_most, 100, 1000, 0.01, name="not so rare")
    True
    """
    _declare(name)
    evidence = _rate_surprise(successes, trials, probability)
    if successes / trials <= probability:
        evidence = 0.0
    margin = math.log(1 / FALSE_ALARM) - evidence
    return _judge(
        margin,
        f"{name}: {successes} of {trials} is a rate of {successes / trials:.6g}, "
        f"the limit is {probability:.6g} (evidence {-margin:.3g} nats over the limit)",
    )


def check_fit(samples: Any, distribution: Distribution, *, name: str) -> float:
    """Fail unless independent integer samples are plausible for this exact distribution.

    `distribution` is a distribution function P(X <= value), or a mapping from every possible
    value to its probability (any other value fails at once). Half of FALSE_ALARM
    goes to the largest distance between the distribution functions, half to the cells: single
    values around the centre (of a mapping: the 200 most probable), intervals between quantiles,
    both tails. Returns the margin in nats.
    >>> check_fit([0] * 500 + [1] * 500, {0: 0.5, 1: 0.5}, name="a fair coin") > 20
    True
    >>> rejects(check_fit, [0] * 700 + [1] * 300, {0: 0.5, 1: 0.5}, name="a loaded coin")
    True
    >>> rejects(check_fit, [0, 1, 2], {0: 0.5, 1: 0.5}, name="outside the support")
    True
    """
    _declare(name)
    ordered = np.sort(_integers(samples, name))
    if isinstance(distribution, Mapping):
        cdf, cells = _from_mapping(distribution, ordered, name)
    else:
        cdf, cells = distribution, _cells_of(distribution)
    return min(_check_distance(ordered, cdf, name), _check_cells(ordered, cells, name))


def rejects(check: Callable[..., object], *arguments: Any, **named: Any) -> bool:
    """Whether a check fails: to assert that a planted bug is caught. Not counted as a check."""
    global _planted
    _planted += 1
    try:
        check(*arguments, **named)
    except AssertionError:
        return True
    finally:
        _planted -= 1
    return False


def _integers(samples: Any, name: str) -> Any:
    values = np.asarray(samples).reshape(-1)
    if values.dtype.kind == "O":
        whole = all(isinstance(value, int) for value in values)
    else:
        whole = values.dtype.kind in "iub"
    if not whole or not len(values):
        raise AssertionError(f"{name}: samples must be integers, at least one")
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def _from_mapping(
    mapping: Mapping[int, float], ordered: Any, name: str
) -> tuple[Callable[[int], float], list[Cell]]:
    strangers = {int(value) for value in np.unique(ordered)} - {v for v in mapping if mapping[v]}
    if strangers:
        raise AssertionError(f"{name}: impossible values were drawn, such as {min(strangers)}")
    values = sorted(mapping)
    steps = [0.0, *np.cumsum([mapping[value] for value in values], dtype=np.longdouble)]
    if abs(steps[-1] - 1) > SLACK:
        raise ValueError(f"{name}: the probabilities sum to {float(steps[-1])!r}")
    likely = sorted(mapping, key=lambda value: -mapping[value])[: 2 * CENTRE_VALUES]
    cells: list[Cell] = [(f"the value {v}", v - 1, v, float(mapping[v])) for v in likely]
    return lambda value: float(steps[bisect.bisect_right(values, value)]), cells


def quantile(cdf: Callable[[int], float], level: float) -> int:
    """The smallest integer whose distribution function reaches `level`.

    >>> quantile(lambda value: min(1.0, max(0.0, (value + 1) / 10)), 0.5)
    4
    """
    low, high = -1, 1
    while cdf(low) >= level:
        low *= 2
    while cdf(high) < level:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cdf(middle) >= level else (middle, high)
    return high


def _cells_of(cdf: Callable[[int], float]) -> list[Cell]:
    far = [10.0**-power for power in range(2, 7)]
    levels = [*far, *(step / 32 for step in range(1, 32)), *(1 - tail for tail in far)]
    edges = sorted({quantile(cdf, level) for level in levels})
    cells: list[Cell] = [(f"at most {edges[0]}", None, edges[0], cdf(edges[0]))]
    for low, high in itertools.pairwise(edges):
        cells.append((f"above {low} up to {high}", low, high, cdf(high) - cdf(low)))
    cells.append((f"above {edges[-1]}", edges[-1], None, 1 - cdf(edges[-1])))
    median = quantile(cdf, 0.5)
    for value in range(median - CENTRE_VALUES, median + CENTRE_VALUES + 1):
        cells.append((f"the value {value}", value - 1, value, cdf(value) - cdf(value - 1)))
    return cells


def _check_distance(ordered: Any, cdf: Callable[[int], float], name: str) -> float:
    count = len(ordered)
    picked = np.unique(np.linspace(0, count - 1, min(count, ORDER_STATISTICS)).astype(np.int64))
    distance, where = 0.0, 0
    for value in sorted({int(ordered[index]) for index in picked}):
        for point in (value - 1, value):
            share = _at_most(ordered, point) / count
            gap = abs(share - cdf(point))
            if not gap <= distance:
                distance, where = gap, point
    # P(sup |F_n - F| > t) <= 2 exp(-2 n t^2), for every distribution (Massart 1990).
    margin = math.log(4 / FALSE_ALARM) - 2 * count * max(0.0, distance - SLACK) ** 2
    return _judge(
        margin,
        f"{name}: {count} samples; at {where} the distribution function is {distance:.3g} off, "
        f"the limit is {math.sqrt(math.log(4 / FALSE_ALARM) / (2 * count)):.3g}",
    )


def _check_cells(ordered: Any, cells: list[Cell], name: str) -> float:
    count = len(ordered)
    allowed = math.log(4 * len(cells) / FALSE_ALARM)  # half of it, two sides, every cell
    smallest = math.inf
    for label, low, high, probability in cells:
        below = 0 if low is None else _at_most(ordered, low)
        upto = count if high is None else _at_most(ordered, high)
        seen = upto - below
        margin = allowed - surprise(seen, count, max(0.0, probability))
        _judge(
            margin,
            f"{name}: {seen} of {count} samples are {label}, "
            f"expected {count * probability:.6g} (evidence {-margin:.3g} nats over the limit)",
        )
        smallest = min(smallest, margin)
    return smallest


def _at_most(ordered: Any, value: int) -> int:
    if ordered.dtype.kind in "iu":
        limits = np.iinfo(ordered.dtype)
        if value < limits.min:
            return 0
        if value > limits.max:
            return len(ordered)
        return int(np.searchsorted(ordered, ordered.dtype.type(value), side="right"))
    return int(np.searchsorted(ordered, value, side="right"))
