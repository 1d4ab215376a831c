"""Which statements of a plan run together: those that one engine reads, in one transaction where it
has any. Knows tables and text, never rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.curator.measurement import Prepared
from discreet.upper.plan import StatementPlan

__all__ = ["Run", "label_of", "names_of", "runs_of", "with_blocks"]

Names = tuple[str, ...]


def names_of(plan: Prepared) -> Names:
    """The names of the tables that a plan reads."""
    return tuple(table.name for table in plan.tables)


@dataclass(frozen=True, slots=True)
class Run:
    """Statements that one engine runs together, with the places of their blocks in the plan."""

    names: Names
    places: tuple[int, ...]
    statements: tuple[str, ...]


def runs_of(plan: Prepared) -> list[Run]:
    """Which statements of a plan run together: those that one engine reads.

    Always in the same order, so that no two statements wait for each other's engine. Blocks are
    told apart by their places: two tables can have the same SQL, each in an engine of its own.
    """
    if not isinstance(plan, StatementPlan):
        return [Run(names_of(plan), (0,), plan.statements)]
    groups: dict[str | Names, list[int]] = {}
    for place, block in enumerate(plan.blocks):
        # One transaction of a server reads all of its tables.
        at = "postgresql" if block.dialect == "postgresql" else names_of(block)
        groups.setdefault(at, []).append(place)
    runs = [
        Run(
            tuple(dict.fromkeys(name for place in places for name in names_of(plan.blocks[place]))),
            tuple(places),
            tuple(plan.blocks[place].sql for place in places),
        )
        for places in groups.values()
    ]
    return sorted(runs, key=lambda run: run.names)


def with_blocks(plan: StatementPlan, places: Sequence[int]) -> StatementPlan | None:
    """The statement with these blocks only; None without any."""
    if not places:
        return None
    blocks = tuple(plan.blocks[at] for at in places)
    return replace(plan, blocks=blocks, listings=(), upper=None)


def label_of(plan: StatementPlan) -> str:
    """What the ledger calls a statement."""
    return f"The statement about {' and '.join(names_of(plan))}"
