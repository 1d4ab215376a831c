"""What `discreet.streams` is made of, as a library: the sparse vector technique, holdouts, running
sums, contrasts and multiplicative weights, with a bug planted beside each. Owns their inputs and
sample sizes; the services that charge a session are in `services_streams`.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import planted
from discreet.audit.published import MIXED, RISING
from discreet.audit.subject import Subject, make_subject
from discreet.linear.domain import Domain
from discreet.linear.predicates import Predicate
from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.additive.gaussian import DiscreteGaussian
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.streams.counter.factorisation import Factorisation
from discreet.streams.counter.running_sums import RunningSums, Track
from discreet.streams.holdout.thresholdout import Thresholdout
from discreet.streams.hypothesis.parities import Parities
from discreet.streams.hypothesis.textbook import TextbookRun, TextbookWeights
from discreet.streams.svt.above_threshold import AboveThreshold
from discreet.streams.svt.numeric_sparse import NumericSparse
from discreet.streams.svt.sparse import Sparse
from discreet.streams.synopsis.epochs import Epoch

__all__ = ["stream_audits"]

_subject = partial(make_subject, "streams")
_ONE = Sensitivity.single(1)
_CROSSED = ((0, 1), (1, 0))
_SHORT = ((-1, 0), (0, -1))


def stream_audits() -> tuple[Subject, ...]:
    """Every mechanism of `discreet.streams`, each followed by the bugs planted beside it.

    >>> [one.name for one in stream_audits()][:2]
    ['AboveThreshold', 'AboveThreshold: no query noise']
    """
    return (*_alarms(), *_numbers(), *_holdouts(), *_sums(), *_contrasts(), *_rounds(), *_book())


def _answer(mechanism: Any) -> Callable[[Sequence[int]], tuple[float, ...]]:
    """What is said of every value; -1 where nothing is said any more."""

    def draw(exact: Sequence[int]) -> tuple[float, ...]:
        answers = [np.nan if value is None else float(value) for value in mechanism.release(exact)]
        return (*answers, *[-1.0] * (len(exact) - len(answers)))

    return draw


def _alarms() -> Iterator[Subject]:
    one = AboveThreshold.of(epsilon=2, sensitivity=_ONE)
    right = _subject("AboveThreshold", _answer(one), one.loss(_ONE), (_CROSSED, _SHORT), 3_000)
    silent = planted.sparse_without_query_noise(2)
    yield from right.with_bug("no query noise", silent, 4_000, pairs=(_CROSSED,))
    counts = AboveThreshold.monotone(epsilon=2, sensitivity=_ONE, relation=Relation.ADD_REMOVE)
    right = _subject(
        "AboveThreshold of counts", _step(counts), Pure(epsilon=2), (RISING,), 2_000, "Run"
    )
    bold = _step(AboveThreshold.of(epsilon=40, sensitivity=_ONE))
    yield from right.with_bug("a twentieth of the noise", bold, 1_000)
    for name, sparse in (
        ("Sparse", Sparse.of(epsilon=2, alarms=5, sensitivity=_ONE)),
        ("Sparse of the book", Sparse.textbook(epsilon=2, alarms=5, sensitivity=_ONE)),
    ):
        right = _subject(name, _answer(sparse), Pure(epsilon=2), (MIXED,), 2_000)
        bold = _answer(Sparse.of(epsilon=20, alarms=1, sensitivity=_ONE))
        yield from right.with_bug("a tenth of the noise", bold, 2_000, pairs=(_SHORT,))


def _step(mechanism: AboveThreshold) -> Callable[[Sequence[int]], tuple[float, ...]]:
    """The same question by question, through a run."""

    def draw(exact: Sequence[int]) -> tuple[float, ...]:
        run, answers = mechanism.start(), []
        for value in exact:
            answers.append(float(run.check(value, threshold=0)))
            if not run.left:
                break
        return (*answers, *[-1.0] * (len(exact) - len(answers)))

    return draw


def _numbers() -> Iterator[Subject]:
    numeric = NumericSparse.of(epsilon=2, alarms=2, sensitivity=_ONE)
    right = _subject("NumericSparse", _answer(numeric), Pure(epsilon=2), (MIXED, _SHORT), 1_500)
    loud = Sparse.of(epsilon=1, alarms=2, sensitivity=_ONE)

    def exactly(exact: Sequence[int]) -> tuple[float, ...]:
        """The alarms are right, and then the number itself is told."""
        alarms = loud.release(exact)
        numbers = [float(exact[at]) if above else np.nan for at, above in enumerate(alarms)]
        return (*numbers, *[-99.0] * (len(exact) - len(numbers)))

    yield from right.with_bug("the number without noise", exactly, 600, pairs=(_SHORT,))
    add = Relation.ADD_REMOVE
    numeric = NumericSparse.monotone(epsilon=2, alarms=2, sensitivity=_ONE, relation=add)
    right = _subject("NumericSparse of counts", _answer(numeric), Pure(epsilon=2), (RISING,), 1_500)
    bold = NumericSparse.monotone(epsilon=40, alarms=2, sensitivity=_ONE, relation=add)
    yield from right.with_bug("a twentieth of the noise", _answer(bold), 1_000)


_TRAINING, _TOLERANCE = 100, 4
_MEANS = ((104, 105, 104, 105), (105, 104, 105, 104))  # one unit moves every sum by one


def _holdouts() -> Iterator[Subject]:
    thresholdout = Thresholdout.of(epsilon=1, overfits=1, sensitivity=_ONE)

    def ask(exact: Sequence[int], number_of: Callable[[int, int], int]) -> tuple[float, ...]:
        state, answers = thresholdout.begin(), []
        for value in exact:
            number, state = thresholdout.step(
                state, value, training=_TRAINING, threshold=_TOLERANCE
            )
            answers.append(-1.0 if number is None else float(number_of(number, value)))
            if number is not None:
                break
        return (*answers, *[-2.0] * (len(exact) - len(answers)))

    right = _subject(
        "Thresholdout",
        lambda exact: ask(exact, lambda number, _: number),
        thresholdout.loss(_ONE),
        (_MEANS,),
        1_500,
        "ThresholdoutRun",
    )
    exactly = lambda exact: ask(exact, lambda _, value: value)  # noqa: E731
    yield from right.with_bug("the mean without noise", exactly, 500)
    sparse, number = (
        thresholdout.numeric.sparse,
        DiscreteLaplace(scale=thresholdout.numeric.number_scale),
    )

    def quiet(exact: Sequence[int], count: int) -> NDArray[Any]:
        """Which question is the first disagreement, when only the threshold has noise."""
        noise = DiscreteLaplace(scale=sparse.threshold_scale)
        level = _TOLERANCE + np.asarray(noise.release(np.zeros(count, dtype=np.int64)))
        above = np.abs(np.array(exact) - _TRAINING) >= level[:, None]
        return np.where(above.any(axis=1), above.argmax(axis=1), len(exact))

    yield right.plant("no noise on what is compared", quiet, 20_000)

    def endless(exact: Sequence[int]) -> int:
        """Goes on after its disagreement: the mean of its numbers is as good as exact."""
        return int(np.asarray(number.release(np.full(400, exact[0]))).sum()) // 100

    yield right.plant("disagreements are not counted", endless, 1_000)


_STEPS, _RHO = 6, Fraction(2)
_BEFORE, _AFTER = (4, 1, 0, 3, 2, 5), (5, 2, 0, 3, 2, 5)  # a row in each of the first two steps


def _sums() -> Iterator[Subject]:
    sums = RunningSums.at_price(rho=_RHO, steps=_STEPS, per_step=1, touched=2)

    def extend(exact: Sequence[int], count: int) -> NDArray[np.int64]:
        noisy = [sums.extend(Track(), list(exact)).noisy for _ in range(count)]
        return _project(np.array(noisy, dtype=float))

    def again(exact: Sequence[int], count: int) -> NDArray[np.int64]:
        """Measured twice with the same noise, once before the unit came."""
        base, differences = sums.factorisation.encode(_BEFORE), []
        for _ in range(count):
            track = sums.extend(Track(), list(exact))
            first = [one + noise for one, noise in zip(base, track.noise, strict=True)]
            differences.append(sum(new - old for new, old in zip(track.noisy, first, strict=True)))
        return np.array(differences)

    right = _subject(
        "RunningSums",
        extend,
        sums.loss(per_step=1, touched=2),
        ((_BEFORE, _AFTER),),
        2_000,
        "Track",
    )
    yield from right.with_bug("the same noise for two streams", again, 400)
    low = RunningSums.at_price(rho=_RHO, steps=_STEPS, per_step=1, touched=1)
    noise = DiscreteGaussian.of_variance(low.variance)

    def for_one(exact: Sequence[int], count: int) -> NDArray[np.int64]:
        """Priced as if a unit changed one step only."""
        encoded = np.array(low.factorisation.encode(list(exact)))
        return _project(np.asarray(noise.release(np.tile(encoded, (count, 1))), dtype=float))

    yield right.plant("noise for one step of two", for_one, 40_000)


def _project(noisy: NDArray[np.float64]) -> NDArray[np.int64]:
    """How far along the difference of the two inputs: what tells them apart best."""
    encode = Factorisation(_STEPS).encode
    difference = np.array(encode([1, 1, 0, 0, 0, 0]), dtype=float)
    difference /= np.linalg.norm(difference)
    base = np.array(encode(_BEFORE), dtype=float)
    steps: NDArray[np.int64] = np.round((noisy - base) @ difference / 2**26).astype(np.int64)
    return steps


_CORNERS = np.array(list(np.ndindex(2, 2, 2)))
_CELLS = ((3,) * 8, (3,) * 7 + (4,))  # one row more in the last cell


def _contrasts() -> Iterator[Subject]:
    bits = Domain.binary(3)

    def draw_contrasts(mechanism: Parities) -> Callable[[Any, int], NDArray[Any]]:
        def once(counts: NDArray[Any]) -> NDArray[Any]:
            noisy = mechanism.release(_CORNERS, counts).noisy.values()
            return np.concatenate([np.ravel(table) for table in noisy])

        return lambda exact, count: np.array([once(np.array(exact)) for _ in range(count)])

    parities = Parities.of(bits, order=2, rho=Fraction(1, 8))
    right = _subject(
        "Parities", draw_contrasts(parities), parities.loss(), (_CELLS,), 1_500, "Measured"
    )
    forgetful = draw_contrasts(Parities.of(bits, order=2, rho=Fraction(parities.count * 8)))
    yield from right.with_bug("each for the price of all", forgetful, 800)


def _rounds() -> Iterator[Subject]:
    epoch = Epoch.of(threshold=40, queries=2, sensitivity=_ONE)

    def ask(exact: Sequence[int], number_of: Callable[[int, int], int]) -> tuple[float, ...]:
        state, answers = epoch.above.begin(), []
        for value in exact:
            noisy, state = epoch.step(state, value, predicted=0)
            answers.append(-100.0 if noisy is None else float(number_of(noisy, value)))
            if noisy is not None:
                break
        return (*answers, *[-200.0] * (len(exact) - len(answers)))

    right = _subject(
        "Epoch",
        lambda exact: ask(exact, lambda noisy, _: noisy),
        epoch.loss(_ONE),
        (((39, 41), (40, 40)), ((41, 39), (40, 40))),
        2_000,
    )
    exactly = lambda exact: ask(exact, lambda _, value: value)  # noqa: E731
    yield from right.with_bug("the number without noise", exactly, 800)


def _book() -> Iterator[Subject]:
    """One question of the textbook's algorithm: which way its update goes."""
    domain = Domain.binary(1)
    book = TextbookWeights.of(domain, alpha=1, rows=10, rho=Fraction(1, 20))
    yes = Predicate.where({0: 1}, domain)

    def ask(exact: int, way: Callable[[TextbookRun, int], float]) -> float:
        run = book.start()
        run.answer(yes, exact)
        return 0.0 if run.left == book.updates else way(run, exact)

    def by_the_noise(run: TextbookRun, _: int) -> float:
        return 1.0 if run.weights.share(yes) > 0.5 else -1.0

    def by_the_data(_: TextbookRun, exact: int) -> float:
        return 1.0 if exact > 5 else -1.0

    epsilon = book.above.loss(_ONE).epsilon + book.noise.loss(_ONE).epsilon  # of one epoch
    right = _subject(
        "TextbookWeights",
        lambda exact: ask(exact, by_the_noise),
        Pure(epsilon=epsilon),
        ((5, 6),),
        1_500,
        "TextbookRun",
    )
    as_printed = lambda exact: ask(exact, by_the_data)  # noqa: E731
    yield from right.with_bug("the direction as printed in a lecture", as_printed, 1_500)
