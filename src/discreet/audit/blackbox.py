"""The black-box audit: draws outputs for pairs of neighbouring inputs, looks for an event that
contradicts a privacy claim, and bounds epsilon from below. Reaches mechanisms by calling them.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.claims import Claim, statements
from discreet.audit.evidence.confidence import lower_bound, upper_bound
from discreet.audit.evidence.events import Choice, choose
from discreet.audit.evidence.outputs import tabulate, to_batch
from discreet.audit.pairs import Pair, as_pairs, number_pairs
from discreet.audit.verdict import Evidence, Verdict
from discreet.errors import InvalidValue
from discreet.loss import Approximate
from discreet.rationals import Number, positive, whole

__all__ = ["Progress", "audit"]

Progress = Callable[[int, int], None]
"""Called with the outputs drawn so far and the outputs to be drawn in all."""

_FINALISTS = 4  # pairs that are audited in full when more are given
_VARIED = 8  # pairs around which a search looks for worse ones
_COUNTED = 4  # events that are counted on fresh outputs
_SCOUTS = 8  # a first look at a pair takes this fraction of the samples
_FEWEST = 100


@dataclass(slots=True)
class _Drawing:
    """One audit in progress: how to draw, and what has been drawn and tried so far."""

    mechanism: Callable[..., Any]
    statements: tuple[Approximate, ...]
    failure: float
    executor: ProcessPoolExecutor | None
    processes: int
    progress: Progress | None
    planned: int
    drawn: int = 0
    events: int = 0
    pairs: int = 0

    def examine(self, pair: Pair, samples: int) -> tuple[Choice, ...]:
        outputs = _chain([self._draw(pair.left, samples), self._draw(pair.right, samples)])
        if len(outputs) != 2 * samples:
            raise InvalidValue(
                f"the mechanism gave {len(outputs)} outputs where {2 * samples} were asked for; "
                "a mechanism of (exact, count) must return `count` outputs."
            )
        first = np.arange(2 * samples) % samples < samples // 2
        table = tabulate(outputs, first)
        choices = choose(table, samples, self.statements, failure=self.failure)
        self.events += choices[0].tried
        return choices

    def _draw(self, exact: Any, samples: int) -> Sequence[Any]:
        if self.executor is None:
            outputs = to_batch(self.mechanism)(exact, samples)
        else:
            shares = [samples // self.processes] * self.processes
            shares[0] += samples - sum(shares)
            jobs = [
                self.executor.submit(_draw_batch, self.mechanism, exact, share) for share in shares
            ]
            outputs = _chain([job.result() for job in jobs])
        self.drawn += samples
        if self.progress is not None:
            self.progress(self.drawn, max(self.planned, self.drawn))
        return outputs


def _draw_batch(mechanism: Callable[..., Any], exact: Any, count: int) -> Sequence[Any]:
    return to_batch(mechanism)(exact, count)


def _chain(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part) for part in parts])  # type: ignore[return-value]
    return [one for part in parts for one in part]


def audit(
    mechanism: Callable[..., Any],
    claim: Claim,
    *,
    pairs: Iterable[Pair | tuple[Any, Any]] | None = None,
    samples: int = 20_000,
    false_alarm: Number = 1e-6,
    vary: Callable[[Pair], Iterable[Pair]] | None = None,
    rounds: int = 2,
    processes: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Try to contradict a claim by running a mechanism on made-up neighbouring inputs.

    `mechanism(exact)` gives one output, or `mechanism(exact, count)` that many. Half of the
    `samples` outputs of each input choose an event; the other half are counted, with
    Clopper-Pearson bounds that allow for every event counted. Of many pairs the most promising
    after a first look are audited in full; `vary` proposes pairs near those, `rounds` times. With
    `processes` above 1 the mechanism must be one that can be pickled. A lower bound on epsilon;
    never evidence that a mechanism is private. Feed it made-up inputs only: verdicts quote them.
    >>> from discreet.loss import Pure
    >>> from discreet.mechanisms.additive.laplace import DiscreteLaplace
    >>> half_the_noise = DiscreteLaplace(scale=0.5)
    >>> audit(half_the_noise.release, Pure(epsilon=1), pairs=[(0, 1)], samples=6000).violated
    True
    """
    risk = _check_settings(samples, rounds, processes, false_alarm)
    inputs = as_pairs(number_pairs() if pairs is None else pairs)
    drawing = _Drawing(
        mechanism=mechanism,
        statements=statements(claim),
        failure=float(risk / (2 * _COUNTED)),
        executor=None,
        processes=processes,
        progress=progress,
        planned=2 * samples * min(len(inputs), _FINALISTS),
    )
    if processes == 1:
        return _judge(drawing, claim, inputs, samples, risk, vary, rounds)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as executor:
        drawing.executor = executor
        return _judge(drawing, claim, inputs, samples, risk, vary, rounds)


def _check_settings(samples: int, rounds: int, processes: int, false_alarm: Number) -> Fraction:
    limits = (("samples", samples, _FEWEST), ("rounds", rounds, 1), ("processes", processes, 1))
    for name, value, least in limits:
        whole(value, name, least=least)
    risk = positive(false_alarm, "false_alarm")
    if risk >= 1:
        raise InvalidValue(f"false_alarm is {false_alarm}; it must be a probability below 1.")
    return risk


def _judge(
    drawing: _Drawing,
    claim: Claim,
    inputs: tuple[Pair, ...],
    samples: int,
    risk: Fraction,
    vary: Callable[[Pair], Iterable[Pair]] | None,
    rounds: int,
) -> Verdict:
    finalists = _choose_finalists(drawing, inputs, samples, vary, rounds)
    drawing.pairs = max(drawing.pairs, len(finalists))
    candidates = [(pair, one) for pair in finalists for one in drawing.examine(pair, samples)]
    # Which events are counted depends on the first halves only, so the correction is for these.
    candidates.sort(key=lambda item: -item[1].promise)
    counted = candidates[:_COUNTED]
    share = risk / (2 * len(counted))
    evidence = [_bound_evidence(pair, one, share) for pair, one in counted]
    evidence.sort(key=lambda one: one.epsilon - float(one.statement.epsilon), reverse=True)
    return Verdict(
        claim=claim,
        evidence=tuple(evidence),
        false_alarm=risk,
        pairs_tried=drawing.pairs,
        events_tried=drawing.events,
        outputs_drawn=drawing.drawn,
    )


def _bound_evidence(pair: Pair, choice: Choice, failure: Fraction) -> Evidence:
    return Evidence(
        pair=pair,
        direction=choice.direction,
        event=choice.event,
        statement=choice.statement,
        likely=choice.likely,
        rare=choice.rare,
        trials=choice.trials,
        likely_at_least=lower_bound(choice.likely, choice.trials, failure=failure),
        rare_at_most=upper_bound(choice.rare, choice.trials, failure=failure),
    )


def _choose_finalists(
    drawing: _Drawing,
    inputs: tuple[Pair, ...],
    samples: int,
    vary: Callable[[Pair], Iterable[Pair]] | None,
    rounds: int,
) -> tuple[Pair, ...]:
    """The pairs to audit in full: all of a few, else those that look worst at first sight."""
    if vary is None and len(inputs) <= _FINALISTS:
        return inputs
    scouts = max(_FEWEST, samples // _SCOUTS)
    ranked: list[tuple[float, Pair]] = []
    for batch in _propose(inputs, vary, rounds, ranked):
        drawing.planned += 2 * scouts * len(batch)
        for pair in batch:
            promise = max(one.promise for one in drawing.examine(pair, scouts))
            ranked.append((promise, pair))
        drawing.pairs += len(batch)
        ranked.sort(key=lambda item: -item[0])
    return tuple(pair for _, pair in ranked[:_FINALISTS])


def _propose(
    inputs: tuple[Pair, ...],
    vary: Callable[[Pair], Iterable[Pair]] | None,
    rounds: int,
    ranked: list[tuple[float, Pair]],
) -> Iterator[tuple[Pair, ...]]:
    yield inputs
    seen = {pair.name for pair in inputs}
    for _ in range(rounds if vary is not None else 0):
        near = [new for _, pair in ranked[:_VARIED] for new in _vary(pair, vary)]
        batch = {new.name: new for new in near if new.name not in seen}
        seen |= set(batch)
        if batch:
            yield tuple(batch.values())


def _vary(pair: Pair, vary: Callable[[Pair], Iterable[Pair]] | None) -> tuple[Pair, ...]:
    proposed = [] if vary is None else list(vary(pair))
    return as_pairs(proposed) if proposed else ()
