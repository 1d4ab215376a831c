"""Exact laws of the sparse vector technique, by summing over the noise of the threshold, and the
privacy loss between two of them. Written from the definition, without the code under test.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

Law = dict[tuple[bool, ...], float]


@lru_cache(maxsize=64)
def laplace(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Values and probabilities of discrete Laplace noise, but for a tail below 1e-22."""
    reach = math.ceil(55 * scale) + 1
    values = np.arange(-reach, reach + 1)
    return values, math.tanh(0.5 / scale) * np.exp(-np.abs(values) / scale)


def at_least(level: np.ndarray, scale: float) -> np.ndarray:
    """P(noise >= level)."""
    share = 1 / (1 + math.exp(-1 / scale))
    high = share * np.exp(-np.maximum(level, 0) / scale)
    low = 1 - share * np.exp((np.minimum(level, 0) - 1) / scale)
    return np.where(level > 0, high, low)


def below(level: np.ndarray, scale: float) -> np.ndarray:
    """P(noise < level), without losing the digits of small ones."""
    return at_least(1 - level, scale)


def outcomes(length: int, alarms: int) -> list[tuple[bool, ...]]:
    """What can be said of so many values."""
    found = []
    for size in range(1, length + 1):
        for said in itertools.product((False, True), repeat=size):
            stopped = sum(said) == alarms and said[-1]
            if stopped or (size == length and sum(said) < alarms):
                found.append(said)
    return found


@lru_cache(maxsize=256)
def said_alone(margin: int, above: bool, threshold: float, query: float) -> np.ndarray:
    """The probability of one answer, for each value of the noise of the threshold."""
    noise, _ = laplace(threshold)
    return (at_least if above else below)(noise - margin, query)


def chance(margins: Sequence[int], said: Sequence[bool], threshold: float, query: float) -> float:
    """The probability of these answers with one threshold; margins are values less thresholds."""
    _, mass = laplace(threshold)
    for margin, above in zip(margins, said, strict=False):
        mass = mass * said_alone(margin, above, threshold, query)
    return float(np.sum(mass))


def law_of_one(margins: Sequence[int], threshold: float, query: float, alarms: int) -> Law:
    """All answers and their probabilities, with one threshold for the whole run."""
    return {
        said: chance(margins, said, threshold, query) for said in outcomes(len(margins), alarms)
    }


def law_of_fresh(margins: Sequence[int], threshold: float, query: float, alarms: int) -> Law:
    """The same with a fresh threshold after every alarm."""
    law = {}
    for said in outcomes(len(margins), alarms):
        ends = [place + 1 for place, above in enumerate(said) if above]
        starts = [0, *ends]
        parts = [(a, b) for a, b in zip(starts, [*ends, len(said)], strict=True) if b > a]
        law[said] = math.prod(chance(margins[a:b], said[a:b], threshold, query) for a, b in parts)
    return law


def loss(one: Law, other: Law) -> float:
    """The largest log ratio in either direction."""
    return max(abs(math.log(one[said] / other[said])) for said in one)


def coded(law: Law) -> tuple[dict[tuple[bool, ...], int], dict[int, float]]:
    """Answers as integers, and the law of these."""
    code = {said: place for place, said in enumerate(law)}
    return code, {code[said]: chance for said, chance in law.items()}
