"""What a plan released: the groups of its answer and a noisy column for each of its parts.
Never holds an exact value.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plan.model import Plan
from discreet.plan.parts.keys import Code, Label

__all__ = ["Released", "list_groups"]


@dataclass(frozen=True, slots=True)
class Released:
    """The groups that are shown, by their engine codes, and the released integers of each.

    `noisy` has one column for every measure, then one for every selected value.
    """

    plan: Plan
    groups: tuple[tuple[Code, ...], ...]
    noisy: tuple[NDArray[Any], ...]

    def keys(self) -> dict[str, list[Label]]:
        """What every group is called, key by key."""
        return {
            domain.name: domain.name_codes(group[place] for group in self.groups)
            for place, domain in enumerate(self.plan.domains)
        }


def list_groups(plan: Plan) -> Released:
    """The public groups of a plan, of which nothing is known: no number in it means anything."""
    parts = len(plan.measures) + sum(pick.columns for pick in plan.picks)
    nothing = np.zeros(len(plan.groups), dtype=np.int64)
    return Released(plan, plan.groups, (nothing,) * parts)
