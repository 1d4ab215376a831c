"""What a synopsis is opened with: checked, planned and priced. Touches public facts only."""

from dataclasses import dataclass

from discreet.curator.session import Session
from discreet.errors import InvalidValue, Unavailable
from discreet.plan.pipeline import Plan
from discreet.rationals import Number, ceil_decimal, positive, probability, whole
from discreet.schema.names import any_name, sql_name
from discreet.schema.table import Table
from discreet.streams.hypothesis.fitting import MOST_CELLS
from discreet.streams.hypothesis.parities import Parities
from discreet.streams.service import refuse_unseen_changes
from discreet.streams.synopsis.questions import Questions
from discreet.streams.synopsis.state import Release, SynopsisState

__all__ = ["Asked", "check_same"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of `Synopsis.open`.

    Privacy: public parameters; opening costs nothing.
    """

    table: str | None
    columns: tuple[str, ...]
    alpha: Number
    epsilon: Number
    order: int
    queries: int
    reserve: Number

    def prepare(self, session: Session) -> tuple[Plan, Questions, SynopsisState]:
        """The statement that reads all cells, what can be asked, and the state to begin with.

        Privacy: reads the schema and the accounts, no row.
        """
        table = any_name(self.table or _find_table(session, self.columns), "table")
        listed = ", ".join(sql_name(any_name(column, "a column")) for column in self.columns)
        if not listed:
            raise InvalidValue("a synopsis needs at least one column. Nothing was run or charged.")
        sql = f"SELECT {listed}, COUNT(*) AS n FROM {sql_name(table)} GROUP BY {listed}"
        plan = session.prepare(sql, most_groups=MOST_CELLS)
        refuse_unseen_changes(plan)
        questions = Questions(_restrict_columns(plan.table, self.columns))
        price = session.price(plan, epsilon=self.epsilon)
        paid = price.require_rho("a synopsis measures with Gaussian noise")
        reserve = probability(self.reserve, "reserve")
        positive(1 - reserve, "what the reserve leaves")
        ahead = paid.rho * (1 - reserve)
        order = min(whole(self.order, "order"), len(questions.domain.sizes))
        rows, relation = plan.table.rows_per_unit, plan.table.neighbours
        parities = Parities.of(
            questions.domain, order=order, rho=ahead, rows_per_unit=rows, relation=relation
        )
        loss = parities.loss(rows_per_unit=rows, relation=relation)
        body = SynopsisState(
            table=plan.table.name,
            schema_version=plan.table.version,
            columns=questions.domain.names,
            versions=session.read_versions(plan),
            epsilon=positive(self.epsilon, "epsilon"),
            alpha=positive(probability(self.alpha, "alpha"), "alpha"),
            order=order,
            queries=whole(self.queries, "queries"),
            reserve=reserve,
            rho=paid.rho,
            spent=min(ceil_decimal(loss.rho), ahead),  # in digits that the ledger holds exactly
            releases=(Release(rho=ahead, noisy=None),),
        )
        return plan, questions, body


def _find_table(session: Session, columns: tuple[str, ...]) -> str:
    """The only table about people that has all these columns."""
    wanted = {column.casefold() for column in columns}
    holders = [
        table.name
        for table in session.schemas.values()
        if table.kind != "public" and wanted <= {column.name.casefold() for column in table.columns}
    ]
    if len(holders) != 1:
        raise InvalidValue(
            f"{len(holders)} tables have the columns {', '.join(columns)}; name one with table=. "
            "Nothing was run or charged."
        )
    return holders[0]


def _restrict_columns(table: Table, columns: tuple[str, ...]) -> Table:
    """The public facts that a synopsis needs, and may show."""
    return Table(
        table.name,
        rows_per_unit=table.rows_per_unit,
        unit=table.unit,
        neighbours=table.neighbours,
        columns=tuple(table.column(column) for column in columns),
    )


def check_same(name: str, body: SynopsisState, wanted: SynopsisState) -> SynopsisState:
    """What is kept, refused if it was opened for something else."""
    if body.arguments() != wanted.arguments():
        raise InvalidValue(
            f"{name!r} is about {', '.join(body.columns)} of {body.table} with "
            f"alpha={float(body.alpha):g}, epsilon={float(body.epsilon):g}, order={body.order}, "
            f"queries={body.queries}, reserve={float(body.reserve):g}; choose another name for "
            "another. Nothing was run or charged."
        )
    if body.schema_version != wanted.schema_version:
        raise Unavailable(
            f"{body.table} has another schema than when the synopsis {name!r} began; open a new "
            "one. Nothing was run or charged."
        )
    return body
