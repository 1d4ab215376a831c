"""SELECT MEDIAN by smooth noise as something to audit: asked of two vaults that differ in one
person with many rows, who moves the median from one end of its range to the other.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count as numbers
from pathlib import Path
from typing import Any

from discreet.curator.noising import add_noise
from discreet.estimates.median import smooth_median
from discreet.loss import Pure
from discreet.noise.bits import system
from discreet.plan.parts.smoothed import Smoothed
from discreet.plan.pipeline import Plan
from support.wages import wages_of

UPPER, ROWS_PER_PERSON, EPSILON = 1000, 50, 1
WITHOUT = [0] * 50 + [UPPER] * 30  # two people
WITH = [0] * 50 + [UPPER] * 80  # and one more: the median is at the other end


@contextmanager
def smooth_medians(folder: Path) -> Iterator[tuple[Callable[[int], float], Callable[[int], float]]]:
    """The median of a session, and one whose noise takes every row for a person of its own.

    Both are mechanisms of which vault is asked: 0 or 1, the pair of neighbours; they claim EPSILON.
    Every question is asked in other words than before, because a repeated one is not drawn again.
    """
    with ExitStack() as stack:
        sessions = []
        for side, wages in enumerate((WITHOUT, WITH)):
            facts = {"rows_per_unit": ROWS_PER_PERSON, "upper": UPPER}
            curator = stack.enter_context(wages_of(folder / str(side), wages, **facts))
            sessions.append(curator.session("ana"))
        limits = numbers(UPPER + 1)  # all of them let everybody in

        def asked(side: int) -> float:
            where = f"wage + 0 < {next(limits)}"
            found = smooth_median(sessions[side], "staff", "wage", where=where, epsilon=EPSILON)
            assert found.mechanism == "smooth sensitivity"
            return float(found.value)

        careless = Smoothed.of_price(
            fraction=0.5, candidates=UPPER + 1, moved=1, price=Pure(epsilon=EPSILON)
        )
        counted = [_counted(session) for session in sessions]

        def planted(side: int) -> float:
            plan, rows = counted[side]
            made = replace(plan, choices=(careless,))
            return float(add_noise(made, rows, system).noisy[0][0])

        yield asked, planted


def _counted(session: Any) -> tuple[Plan, list[tuple[Any, ...]]]:
    """A smooth plan, and what the engine counts for it."""
    made = session.explain("SELECT MEDIAN(wage) AS m FROM staff", epsilon=20, count=5000)
    return made, session._warehouse.engine(("staff",), data_versions=(1,)).rows(made.sql)
