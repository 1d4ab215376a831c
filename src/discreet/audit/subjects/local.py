"""Every randomizer of `discreet.local`, and a respondent's diary, with a bug planted beside each.
Neighbours are any two answers of one person. Owns their inputs and sample sizes.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.subject import Subject, make_subject
from discreet.local.diary import Diary
from discreet.local.prefixes import PrefixExtension
from discreet.local.randomizers.hadamard import HadamardResponse
from discreet.local.randomizers.hashing import LocalHashing
from discreet.local.randomizers.hybrid import Hybrid
from discreet.local.randomizers.kary import KaryResponse
from discreet.local.randomizers.one_bit import OneBit
from discreet.local.randomizers.piecewise import Piecewise
from discreet.local.randomizers.rappor import Rappor
from discreet.local.randomizers.subset import SubsetSelection
from discreet.local.randomizers.unary import UnaryEncoding
from discreet.loss import Pure

__all__ = ["local_audits"]

_subject = partial(make_subject, "local")
_SAMPLES, _CAUGHT = 20_000, 3_000
_BOLD = 4  # times the epsilon that is claimed


def local_audits() -> tuple[Subject, ...]:
    """Every randomizer and the diary, each followed by the bug planted beside it.

    >>> [one.name for one in local_audits()][:2]
    ['KaryResponse', 'KaryResponse: four times the epsilon']
    """
    return (*_categories(), *_numbers(), *_audit_hashing(), *_audit_diary())


def _fill(randomizer: Any) -> Callable[[Any, int], Any]:
    return lambda exact, count: randomizer.release(np.full(count, exact))


def _plant(
    right: Any, bold: Any, draw: Callable[[Any], Callable[..., Any]], *pairs: tuple[Any, Any]
) -> Iterator[Subject]:
    subject = _subject(type(right).__name__, draw(right), right.loss(), pairs, _SAMPLES)
    yield from subject.with_bug("four times the epsilon", draw(bold), _CAUGHT)


def _categories() -> Iterator[Subject]:
    for kind in (KaryResponse, UnaryEncoding, HadamardResponse, SubsetSelection):
        right, bold = (kind(epsilon=epsilon, categories=4) for epsilon in (1, _BOLD))
        yield from _plant(right, bold, _fill, (0, 1), (1, 2))
    blurred = Rappor(categories=3, blur=0.5, low=0.25, high=0.75)
    subject = _subject("Rappor", _fill(blurred), blurred.loss(), ((0, 1), (1, 2)), _SAMPLES)
    clear = Rappor(categories=3, blur=0.01, low=0.01, high=0.99)
    yield from subject.with_bug("hardly any blur", _fill(clear), _CAUGHT)


def _numbers() -> Iterator[Subject]:
    for kind in (OneBit, Piecewise, Hybrid):
        right, bold = (kind(epsilon=epsilon, lower=0, upper=4, step=1) for epsilon in (1, _BOLD))
        yield from _plant(right, bold, _fill, (0, 4), (1, 3))


def _audit_hashing() -> Iterator[Subject]:
    right, bold = (LocalHashing(epsilon=epsilon, categories=4) for epsilon in (1, _BOLD))
    yield from _plant(right, bold, _draw_support, (0, 1))
    longer, bolder = (
        PrefixExtension(epsilon=epsilon, width=3, first=2, step=1) for epsilon in (1, _BOLD)
    )
    yield from _plant(longer, bolder, _draw_prefix, (0, 7))


def _draw_support(hashing: LocalHashing) -> Callable[[int, int], NDArray[Any]]:
    """Every report names a hash function of its own; what it says is which answers it fits."""
    return lambda exact, count: hashing.mark_supported(hashing.release(np.full(count, exact)))


def _draw_prefix(prefix: PrefixExtension) -> Callable[[int, int], NDArray[Any]]:
    def draw(exact: int, count: int) -> NDArray[Any]:
        rows = prefix.release(np.full(count, exact))
        return np.column_stack([rows[:, 0], prefix.hashing.mark_supported(rows[:, 1:])])

    return draw


def _audit_diary() -> Iterator[Subject]:
    """The same question eight times: answered once, then the diary says again what it said."""
    asked = KaryResponse(epsilon=1)

    def answer_kept(exact: int) -> tuple[int, ...]:
        first, diary = Diary({"asked": asked}).answer("asked", exact)
        return (int(first), *(int(diary.again("asked")) for _ in range(7)))

    def answer_afresh(exact: int) -> tuple[int, ...]:
        return tuple(int(report) for report in asked.release(np.full(8, exact)))

    right = _subject("Diary", answer_kept, Pure(epsilon=1), ((0, 1),), 3_000)
    yield from right.with_bug("nothing is kept", answer_afresh, 1_000)
