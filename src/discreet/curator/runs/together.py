"""Which statements of a plan run together: those that one engine reads, in one transaction where it
has any. Knows tables and text, never rows.
"""

from collections.abc import Sequence
from dataclasses import replace

from discreet.curator.measurement import Prepared
from discreet.plan.pipeline import Plan
from discreet.upper.plan import StatementPlan

__all__ = ["label_of", "names_of", "runs_of", "with_blocks"]

Names = tuple[str, ...]


def names_of(plan: Prepared) -> Names:
    """The names of the tables that a plan reads."""
    return tuple(table.name for table in plan.tables)


def runs_of(plan: Prepared) -> list[tuple[Names, tuple[str, ...]]]:
    """Which statements of a plan run together: those that one engine reads, in order."""
    if not isinstance(plan, StatementPlan):
        return [(names_of(plan), plan.statements)]
    groups: dict[str | Names, list[Plan]] = {}
    for block in plan.charged:
        # One transaction of a server reads all of its tables.
        at = "postgresql" if block.dialect == "postgresql" else names_of(block)
        groups.setdefault(at, []).append(block)
    runs = [
        (
            tuple(dict.fromkeys(name for block in blocks for name in names_of(block))),
            tuple(block.sql for block in blocks),
        )
        for blocks in groups.values()
    ]
    return sorted(runs)  # always in the same order: no two statements wait for each other's engine


def with_blocks(plan: StatementPlan, places: Sequence[int]) -> StatementPlan | None:
    """The statement with these blocks only, in the order in which they run; None without any."""
    if not places:
        return None
    blocks = tuple(plan.blocks[at] for at in places)
    part = replace(plan, blocks=blocks, listings=(), upper=None)
    order = {sql: at for at, sql in enumerate(sql for _, run in runs_of(part) for sql in run)}
    return replace(part, blocks=tuple(sorted(part.blocks, key=lambda block: order[block.sql])))


def label_of(plan: StatementPlan) -> str:
    """What the ledger calls a statement."""
    return f"The statement about {' and '.join(names_of(plan))}"
