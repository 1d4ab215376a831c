"""What will happen when a statement with private blocks is asked: a plan for each block, one price
for all of them together, and the outer query that their released rows go through.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from discreet.errors import InvalidValue, UnprovableRequest
from discreet.loss import Price
from discreet.mechanisms.combinations.sums import sum_error
from discreet.plan.model import Plan
from discreet.plan.parts.patience import whole_steps
from discreet.plan.parts.remarks import Note, Suggestion
from discreet.plan.results.combination import combination
from discreet.plan.results.evaluate import find_picked
from discreet.plan.results.explain import cost_of
from discreet.query.algebra import Field, IntervalEnd
from discreet.rationals import Number, positive
from discreet.schema.column import nearest
from discreet.schema.table import Table
from discreet.upper.dependence import Dependence, Shape, shape_of
from discreet.upper.rows import leaf_of
from discreet.upper.tree import Block, Common, Query, parts_of
from discreet.upper.write import write_query

__all__ = ["StatementPlan", "half_width", "shape_of_block", "share_errors"]

_LEVEL = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StatementPlan:
    """Everything that will happen when a statement with private blocks is asked.

    `blocks` are the plans of its private blocks, each once; `upper` is what stands above them,
    which sees their released rows only. Of the blocks at the places in `listings` only public keys
    are used, so they are not run.
    Privacy: running it and adding the noise costs `cost`, the sum of its blocks' costs
    [DR14, Cor. 3.15; BS16, Lemma 1.7]; what stands above is post-processing [DR14, Prop. 2.1].
    """

    question: str
    blocks: tuple[Plan, ...]
    upper_sql: str
    shape: Shape
    listings: tuple[int, ...] = ()
    upper: Query | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, question: str, blocks: tuple[Plan, ...], upper: Query, listings: tuple[int, ...] = ()
    ) -> "StatementPlan":
        """The plan of a statement from the plans of its blocks and the outer query."""
        shapes = [shape_of_block(block, at) for at, block in enumerate(blocks)]
        for at in _read_twice(upper):
            if blocks[at].domains:  # two rows of it may meet in one
                shapes[at] = _without_terms(shapes[at])
        for at in listings:
            shapes[at] = Shape(tuple((name, Dependence()) for name, _ in shapes[at].columns))
        return cls(
            question=question,
            blocks=blocks,
            upper_sql=write_query(upper, lambda place: leaf_of(blocks[place], place)),
            shape=shape_of(upper, shapes),
            listings=listings,
            upper=upper,
        )

    @property
    def charged(self) -> tuple[Plan, ...]:
        """The blocks that are run and paid for: all but those whose public keys alone are used."""
        return tuple(block for at, block in enumerate(self.blocks) if at not in self.listings)

    def __repr__(self) -> str:
        cost = ", ".join(f"{name} {value}" for name, value in cost_of(self.cost).items())
        blocks = "".join(f"\n{block!r}" for block in self.blocks)
        return f"Statement: {' '.join(self.question.split())[:100]}\n  cost: {cost}{blocks}"

    @property
    def tables(self) -> tuple[Table, ...]:
        """The registered tables that its blocks read, each once."""
        return tuple(
            {table.name: table for block in self.blocks for table in block.tables}.values()
        )

    @property
    def table(self) -> Table:
        """The rows that its first block aggregates: whose unit is protected."""
        return self.blocks[0].table

    @property
    def cost(self) -> Price:
        """What all blocks cost together.

        Privacy: losses of blocks add [DR14, Cor. 3.15; BS16, Lemma 1.7].
        """
        none = self.blocks[0].cost.share(Fraction(0))
        return none.total([none, *(block.cost for block in self.charged)])

    @property
    def statements(self) -> tuple[str, ...]:
        """What the engines run on exact rows, a statement for each block."""
        return tuple(block.sql for block in self.charged)

    @property
    def sql(self) -> str:
        """All that will be run, as one text."""
        parts = [f"-- block {at}\n{block.sql}" for at, block in enumerate(self.charged, 1)]
        return "\n".join([*parts, f"-- above what is released\n{self.upper_sql}"])

    @property
    def error(self) -> dict[str, float | None]:
        """The 95% half-width of every noisy column; None where it depends on secret values."""
        return {
            name: half_width(self, dependence, _LEVEL)
            for name, dependence in self.shape.columns
            if dependence.noisy
        }

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the answer will leave out and bound, and what its intervals will be about."""
        own = [Note(text) for text in self._own_notes()]
        return tuple(
            dict.fromkeys([*(note for block in self.charged for note in block.notes), *own])
        )

    def _own_notes(self) -> list[str]:
        noisy = [(name, found) for name, found in self.shape.columns if found.noisy]
        simulated = [name for name, found in noisy if found.terms is None and not found.obscure]
        obscure = [name for name, found in noisy if found.obscure]
        said = []
        if simulated:
            said.append(
                f"The intervals of {_list(simulated)} are simulated: the noise of the blocks is "
                "drawn again at least 1,000 times, and the part above runs on each draw. Answers "
                "of very many rows, and rows that only noise tells apart, have none."
            )
        if obscure:
            said.append(
                f"{_list(obscure)} {'has' if len(obscure) == 1 else 'have'} no interval: a "
                "quantile, extreme or mode is part of it, or a column that is not known."
            )
        if self.listings:
            said.append(
                "Keys that are listed without a number are those that are declared, whether or "
                "not the data has them. They cost nothing."
            )
        if self.shape.noisy_rows:
            said.append(
                "Which rows are shown depends on the noise: other rows could stand here. The "
                "intervals hold for the rows that are named, not for their ranks."
            )
        return said

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """None: a block asked by itself has some."""
        return ()

    def suggest(self, count: int | None) -> tuple[Suggestion, ...]:  # noqa: ARG002
        """None, whatever number of rows is assumed."""
        return ()

    @property
    def working_seconds(self) -> Fraction:
        """How long the engines and the noise may take."""
        return sum((block.working_seconds for block in self.charged), Fraction(0))

    @property
    def grid_seconds(self) -> Fraction:
        """The step of remote sessions."""
        return self.blocks[0].grid_seconds

    @property
    def answer_seconds(self) -> Fraction:
        """How long after the charge a remote answer can be seen, in whole steps of time."""
        return whole_steps(self.working_seconds, self.grid_seconds)

    def facts(self, count: int | None = None) -> dict[str, Any]:
        """Everything public about it, ready for JSON."""
        blocks = [
            {"question": " ".join(block.question.split()), **block.facts(count)}
            for block in self.charged
        ]
        return {
            "table": ", ".join(table.name for table in self.tables),
            "cost": cost_of(self.cost),
            "unit": self.table.unit or "row",
            "neighbours": self.table.neighbours.value,
            "groups": None,
            "rows_per_unit": self.table.rows_per_unit,
            "work_per_unit": sum(block.work for block in self.charged),
            "error": self.error,
            "measures": [measure for facts in blocks for measure in facts["measures"]],
            "selection": None,
            "warnings": list(map(str, self.notes)),
            "answer_seconds": float(self.answer_seconds),
            "sql": self.sql,
            "blocks": blocks,
        }


def share_errors(
    plan: StatementPlan, at: int, error: Number | Mapping[str, Number]
) -> Number | Mapping[str, Number]:
    """The errors that the columns of one block may have, so that those of the statement are kept.

    One number is wanted of every column of every block. A named column of the statement must be a
    sum of noisy columns with known factors; each of its terms gets an equal part.
    """
    if not isinstance(error, Mapping):
        return error
    known = {name.casefold(): found for name, found in plan.shape.columns}
    wanted: dict[str, Fraction] = {}
    for name, width in error.items():
        found = known.get(name.casefold())
        if found is None:
            names = [name for name, column in plan.shape.columns if column.noisy]
            raise InvalidValue(f"error names the column {name!r:.80}. {nearest(name, names)}")
        if not found.terms:
            raise UnprovableRequest(
                f"the error of {name} cannot be known in advance; name a price instead. Nothing "
                "was run or charged."
            )
        for (place, column), factor in found.terms:
            if place == at and factor:
                part = positive(width, f"error of {name}") / abs(factor) / len(found.terms)
                wanted[column] = min(part, wanted.get(column, part))
    if not wanted:
        raise InvalidValue(
            f"error names no column that block {at + 1} is part of "
            f"({plan.blocks[at].question[:80]}). Name one for each block, or give one number. "
            "Nothing was charged."
        )
    return wanted


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shape_of_block(block: Plan, at: int) -> Shape:
    """How the columns of a block hang on its own noise."""
    outputs = {output.name: output.expression for output in block.query.outputs}
    columns = []
    for name in block.query.columns:
        if name not in outputs:
            columns.append((name, Dependence()))
            continue
        expression = outputs[name]
        obscure = isinstance(expression, IntervalEnd) or find_picked(block, expression) is not None
        sums = None if obscure else combination(block, expression)
        known = sums is not None and not sums.ratios
        term = ((at, name), Fraction(1))
        columns.append((name, Dependence(True, obscure, (term,) if known else None)))
    query = block.query
    cut = query.having is not None or query.limit is not None or block.selection is not None
    keys = {key.name for key in query.keys}
    ordered = any(
        not (isinstance(term.expression, Field) and term.expression.name in keys)
        for term in query.order
    )
    return Shape(tuple(columns), cut, ordered)


def _read_twice(upper: Query) -> set[int]:
    """The blocks that a statement reads more than once, a subquery of WITH as often as it is
    named.
    """
    counts: dict[int, int] = {}
    named: dict[str, int] = {}

    def count(part: object) -> None:
        if isinstance(part, Block):
            counts[part.place] = counts.get(part.place, 0) + 1
        if isinstance(part, Common):
            named[part.name.casefold()] = named.get(part.name.casefold(), 0) + 1
        for inner in parts_of(part):
            count(inner)

    count(upper)
    twice = {place for place, times in counts.items() if times > 1}
    if any(times > 1 for times in named.values()):
        twice |= set(counts)
    return twice


def _without_terms(shape: Shape) -> Shape:
    columns = tuple(
        (name, replace(found, terms=None) if found.noisy else found)
        for name, found in shape.columns
    )
    return replace(shape, columns=columns)


def half_width(plan: StatementPlan, found: Dependence, level: Number) -> float | None:
    """How far a column that is a sum of noisy measures can be off; None for any other."""
    if found.terms is None or found.obscure:
        return None
    factors: dict[tuple[int, int], Fraction] = {}
    for (place, name), factor in found.terms:
        block = plan.blocks[place]
        output = next(output for output in block.query.outputs if output.name == name)
        sums = combination(block, output.expression)
        if sums is None or sums.ratios:
            return None
        for measure, value in sums.measures.items():
            at = (place, measure)
            factors[at] = factors.get(at, Fraction(0)) + factor * value
    terms = [
        (factor, plan.blocks[place].noises[measure])
        for (place, measure), factor in factors.items()
        if factor
    ]
    width = sum_error(terms, level)
    return width if isfinite(width) else inf
