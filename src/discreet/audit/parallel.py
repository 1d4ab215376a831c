"""The catalogue shared among processes: every process takes the subjects of one part after the
other, so that a vault is made once. Owns who audits what; judges nothing.
"""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from discreet.audit.catalogue import everything
from discreet.audit.subject import Examined, Subject, examine
from discreet.audit.verdict import Verdict

__all__ = ["Rates", "examine_all", "examine_each"]

_POLL = 0.2  # seconds between two looks at what is done
Step = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How audits of a catalogue are made: false alarms of what is correct and of what is not, and
    the most samples of what is correct, where there is a limit.
    """

    right: float
    wrong: float
    most: int | None = None

    def examine(self, subject: Subject) -> Examined:
        """Audit one subject at the rate that it is due.

        A lower bound on epsilon; never evidence that a mechanism is private.
        >>> from discreet.audit.published import bugs
        >>> Rates(right=1e-9, wrong=1e-3).examine(bugs()[0]).as_expected
        True
        """
        if subject.bug:
            return examine(subject, false_alarm=self.wrong)
        samples = min(subject.samples, self.most or subject.samples)
        return examine(replace(subject, samples=samples), false_alarm=self.right)


def examine_each(subjects: Sequence[Subject], rates: Rates, step: Step) -> list[Examined]:
    """Audit one subject after the other in this process.

    A lower bound on epsilon; never evidence that a mechanism is private.
    >>> from discreet.audit.published import bugs
    >>> len(examine_each(bugs()[:1], Rates(right=1e-9, wrong=1e-3), lambda name, share: None))
    1
    """
    examined = []
    for place, one in enumerate(subjects):
        step(one.name, place / len(subjects))
        examined.append(rates.examine(one))
    return examined


def examine_all(
    rates: Rates, step: Step, *, processes: int, parts: Sequence[str] | None = None
) -> tuple[list[Examined], float]:
    """Audit the whole catalogue, or some parts of it: what was found, in its order, and the
    processor seconds that the other processes took.

    A lower bound on epsilon; never evidence that a mechanism is private.
    """
    with ExitStack() as stack:  # nothing is drawn from here, so no vault is made
        subjects = [one for one in everything(stack) if parts is None or one.part in parts]
    named = list(dict.fromkeys(one.part for one in subjects))
    context = multiprocessing.get_context("spawn")
    with (
        context.Manager() as manager,
        ProcessPoolExecutor(processes, mp_context=context) as executor,
    ):
        done = manager.Queue()
        # The last ones are services, which take longest: they begin first.
        jobs = [executor.submit(_examine_part, part, rates, done) for part in reversed(named)]
        _watch(jobs, done, len(subjects), step)
        results = [job.result() for job in jobs]
    verdicts = {name: pair for part, _ in results for name, pair in part.items()}
    examined = [
        Examined(subject=replace(one, samples=verdicts[one.name][0]), verdict=verdicts[one.name][1])
        for one in subjects
    ]
    return examined, sum(seconds for _, seconds in results)


def _watch(jobs: list[Future[Any]], done: Any, total: int, step: Step) -> None:
    counted = 0
    while not all(job.done() for job in jobs):
        wait(jobs, timeout=_POLL)
        while not done.empty():
            name, counted = done.get(), counted + 1
            step(name, counted / total)


def _examine_part(
    part: str, rates: Rates, done: Any
) -> tuple[dict[str, tuple[int, Verdict]], float]:
    """In a process of its own: the samples and the verdict of every subject of a part."""
    start, verdicts = time.process_time(), {}
    with ExitStack() as stack:
        for one in everything(stack):
            if one.part == part:
                examined = rates.examine(one)
                verdicts[one.name] = (examined.subject.samples, examined.verdict)
                done.put(one.name)
    return verdicts, time.process_time() - start
