"""Synthetic data from a curator's table: priced and charged ahead, taken in steps that are
recorded before they run, and taken up again where it stopped. Exact counts are seen by the steps'
`release` only, inside a measurement.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.filters import Filter
from discreet.curator.curator import Curator
from discreet.curator.measurement import Exact, Measurement
from discreet.curator.session import Session
from discreet.errors import InvalidValue
from discreet.ledger.states import State
from discreet.loss import Currency, Price, Pure, Sensitivity
from discreet.plan.pipeline import Plan
from discreet.plan.results.notes import cuts_of
from discreet.rationals import Number
from discreet.release.synth.aim import Progress, run_aim
from discreet.release.synth.columns import CodedColumn, fields_of
from discreet.release.synth.fitted import Synthetic
from discreet.release.synth.mwem import reweigh
from discreet.release.synth.result import Synthesis
from discreet.release.synth.rounds import Cells, Noisy, Step
from discreet.release.synth.stages import Stages
from discreet.release.synth.state import SYNTHESES, Spec, SynthesisState
from discreet.schema.names import sql_name
from discreet.schema.table import table_named

__all__ = ["exact_codes", "synthesize"]

_MOST_GROUPS = 1 << 400  # cells are read, groups are never listed
_STEP_SECONDS = Fraction(10)  # what a step may take besides the statement; a public fact
_METHODS = ("marginals", "mwem")
Report = Callable[[Progress], None]


def synthesize(
    session: Session,
    table: str,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    columns: Sequence[str] | None = None,
    method: str = "marginals",
    stages: Stages | None = None,
    name: str | None = None,
    on_progress: Report = lambda _: None,
) -> Synthesis:
    """A private model of a table, which draws as many synthetic rows as wanted.

    The same call again, after an interruption or just so, goes on where it stopped and is not
    charged again; a `name` of your own tells two syntheses of the same thing apart. Of two that run
    at once, the one that is overtaken ends with `Stale`, its next step not run. The method
    "marginals" chooses, measures and fits; "mwem" is multiplicative weights over all combinations
    of values, for few small columns and for pure budgets. `stages` replaces how "marginals"
    selects, measures, fits or draws.
    Privacy: the price, for the table's unit and relation: steps whose losses are summed by a
    filter [WRRW23, Sec. 3], charged before the first.
    """
    if method not in _METHODS:
        raise InvalidValue(f"method is {method!r}; write {' or '.join(_METHODS)}.")
    if stages is not None and method != "marginals":
        raise InvalidValue(
            f"the method {method} has no stages to replace; leave out stages=, or use marginals. "
            "Nothing was run or charged."
        )
    parts = stages or Stages()
    described = f"{method}; {parts.said}" if parts.said else method
    known = table_named(session.schemas, table)
    table = known.name
    fields = fields_of(known, columns)
    keys = ", ".join(field.sql for field in fields)
    plan = session.prepare(
        f"SELECT COUNT(*) AS n FROM {sql_name(table)} GROUP BY {keys}", most_groups=_MOST_GROUPS
    )
    cost = _cost(session, plan, method, epsilon, rho)
    spec = Spec(plan.question, str(cost.amount), described, session.read_versions(plan))
    source = _RecordedSource(session, plan, cost, *_open_record(session, plan, cost, spec, name))
    model = _fit_model(source, fields, parts, on_progress)
    source.finish()
    return Synthesis(
        table=table,
        fields=fields,
        model=model,
        cost=_cost_text(cost, epsilon),
        unit=known.unit or "row",
        neighbours=str(known.neighbours),
        receipt=source.record.receipt,
        analyst=session.name,
        question=plan.question,
        method=described,
        notes=cuts_of(plan),
    )


def _cost(
    session: Session, plan: Plan, method: str, epsilon: Number | None, rho: Number | None
) -> Price:
    asked = session.price(plan, epsilon=epsilon, rho=rho)
    if method == "mwem":
        if epsilon is None:
            raise InvalidValue("mwem is priced in epsilon=. Nothing was run or charged.")
        return Pure(epsilon=epsilon)
    return asked.require_rho('the method measures with Gaussian noise (method="mwem" does not)')


def _cost_text(cost: Price, epsilon: Number | None) -> str:
    text = f"{cost.currency} = {float(cost.amount):.6g}"
    if epsilon is None or cost.currency is Currency.EPSILON:
        return text
    return f"epsilon = {float(epsilon):.6g} at the account's delta, as {text}"


def _fit_model(
    source: "_RecordedSource", fields: tuple[CodedColumn, ...], stages: Stages, on_progress: Report
) -> Synthetic:
    attributes = [field.attribute for field in fields]
    if source.cost.currency is Currency.EPSILON:
        return reweigh(
            attributes,
            source,
            epsilon=source.cost.epsilon,
            sensitivity=source.sensitivity,
            on_progress=on_progress,
        )
    return run_aim(
        attributes,
        source,
        rho=source.cost.rho,
        sensitivity=source.sensitivity,
        stages=stages,
        on_progress=on_progress,
    )


def _open_record(
    session: Session, plan: Plan, cost: Price, spec: Spec, name: str | None
) -> tuple[SynthesisState, State]:
    """The record that was begun under this name, or a new one, charged now."""
    known = SYNTHESES.find(session, name or spec.name)
    if known is None:
        change = SYNTHESES.first(session, name or spec.name, SynthesisState(spec))
        details = {"method": spec.method, "synthesis": change.name}
        paid = session.prepay(
            plan, cost=cost, label="synthetic data", state=change, details=details
        )
        record = replace(SynthesisState(spec), receipt=paid.id)
        # Follows what was written here, not what is newest: that may be somebody else's by now.
        return record, SYNTHESES.put(session, change, record)
    state, record = known
    if record.spec != spec:
        raise InvalidValue(
            f"{state.name!r} was begun with another question, price, method or state of the data; "
            "give the same again, or choose another name. Nothing was run or charged."
        )
    return record, state


@dataclass(slots=True)
class _RecordedSource:
    """Answers steps from the record, then from the table; begins each durably before it runs.

    `state` is the one that was read when this began, then what this wrote itself. The newest is
    never read again: a step then follows the steps that its filter has counted and no others, and
    where somebody else took one in between it is `Stale` before a row is read.
    """

    session: Session
    made: Plan
    cost: Price
    record: SynthesisState
    state: State
    place: int = 0
    filter: Filter | None = None

    @property
    def sensitivity(self) -> Sensitivity:
        # That of the joint table, at the worst placement of rows; no marginal moves by more.
        return self.made.measures[0].sensitivity

    def take(self, step: Step) -> tuple[Noisy, ...] | None:
        place, self.place = self.place, self.place + 1
        spending = self.filter or Filter(self.cost.currency, self.cost.amount)
        if place < self.record.begun:  # what was paid counts, whatever the step would cost now
            self.filter = spending.charge(self.cost.of(self.record.paid[place]))
            return self.record.answers[place] if place < len(self.record.answers) else None
        loss = step.loss(self.sensitivity)
        self.filter = spending.charge(loss)
        begun = self.record.begin(loss.amount)
        change = SYNTHESES.follow(self.state, begun)
        measurement = Measurement(
            plan=self.made,
            cost=None,
            label="synthetic data",
            release=lambda exact, bits: step.release(_cells(exact), bits),
            seconds=_STEP_SECONDS,
        )
        _, answer = self.session.measure(measurement, state=change, versions=begun.spec.versions)
        self.state = replace(self.state, version=change.version, body=change.body)
        self.record = begun.record_answer(answer)
        return answer

    def finish(self) -> None:
        """Keep the last answer too."""
        if len(SYNTHESES.read(self.state).answers) < len(self.record.answers):
            self.state = SYNTHESES.put(self.session, self.state, self.record)


def _cells(exact: Exact) -> Cells:
    places, measures = exact.cells()
    return Cells(places, measures[0])


def exact_codes(curator: Curator, synthesis: Synthesis) -> NDArray[np.int64]:
    """The table's own rows, coded like the synthetic ones: for the custodian's page only.

    Not for release.
    """
    session = curator.session(synthesis.analyst)
    plan = session.prepare(synthesis.question, most_groups=_MOST_GROUPS)
    places, measures = curator.inspect_cells(plan)
    repeated: NDArray[np.int64] = np.repeat(places, measures[0].astype(np.int64), axis=0)
    return repeated
