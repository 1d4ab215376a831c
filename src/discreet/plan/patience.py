"""How long an answer may take at most, from a plan and declared facts: when it can be seen.
Never from measured rows; nothing here touches data.
"""

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.plan.values import Plan

__all__ = ["ENGINE_SECONDS", "answer_seconds"]

ENGINE_SECONDS = {
    "prepared": Fraction(1, 20),
    "duckdb": Fraction(2),
    "postgresql": Fraction(2),
    "spark": Fraction(30),
}
"""What one reading of a table may take, where its schema does not say: prepared, or in place."""

_FREE_CELLS = 2000
_MOST_CELLS = 10**6
_SECONDS_PER_CELL = Fraction(1, 100_000)
_CANDIDATES_PER_CELL = 16
_PRIVATE_KEYS = Fraction(1)  # how many there are is not public


def answer_seconds(plan: "Plan") -> Fraction:
    """The seconds of a plan: of the tables it reads, once for its sums and once for each column
    that is picked from, and of what it adds noise to.

    Privacy: none (touches no data).
    >>> answer_seconds.__name__
    'answer_seconds'
    """
    groups = prod(len(each.codes) for each in plan.domains if not each.private)
    candidates = sum(each.candidates for each in plan.picks) // _CANDIDATES_PER_CELL
    cells = min(groups * (len(plan.measures) + candidates), _MOST_CELLS)
    readings = max(1, bool(plan.measures) + len(plan.picks))
    seconds = plan.engine_seconds * readings + max(0, cells - _FREE_CELLS) * _SECONDS_PER_CELL
    private = any(each.private for each in plan.domains)
    return seconds + _PRIVATE_KEYS if private else seconds
