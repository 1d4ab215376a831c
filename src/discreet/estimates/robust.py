"""Robust estimates of a session's tables: each is a priced measurement that reads the rows of a
column or two and releases one estimate. Owns how public facts become mechanisms; their proofs are
in `discreet.robust`, and charge, engine and bits in `curator.access`.
"""

from fractions import Fraction

from discreet.curator.measurement import Exact
from discreet.curator.session import Session
from discreet.estimates.columns import counts_of, rows_of, values_of
from discreet.estimates.estimate import Estimated, find_terms, measure_values, propose, restate
from discreet.noise.bits import BitSource
from discreet.plan.parts.keys import Label
from discreet.rationals import Number, rational
from discreet.robust.moments.location import Location
from discreet.robust.tested.outcome import Outcome
from discreet.robust.tested.property import PropertyDistance, rows_outside_clusters
from discreet.robust.tested.reaches import SlopeReach, SpreadReach
from discreet.robust.tested.stable import StableValue

__all__ = ["clustered", "location", "mode", "slope", "spread"]


def spread(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    epsilon: Number,
    delta: Number | None = None,
) -> Estimated[Outcome[Fraction]]:
    """The interquartile range up to a factor of about two, or a refusal.

    Privacy: (epsilon, delta)-DP for the table's unit and relation [DL09], [Vad17, Sec. 3.2].
    """
    values = values_of(session, table, (column,), where)
    axis = values.axes[0]
    query = SpreadReach(lower=axis.lower, upper=axis.upper)
    return propose(
        session,
        values,
        query,
        bound=1,
        what=f"the spread of {column}",
        value=lambda power: query.distance(min(power, len(query.edges))) * axis.unit,
        mechanism="propose-test-release, powers of two",
        epsilon=epsilon,
        delta=delta,
    )


def slope(
    session: Session,
    table: str,
    y: str,
    x: str,
    *,
    step: Number,
    largest: Number,
    bound: int,
    where: str = "",
    epsilon: Number,
    delta: Number | None = None,
) -> Estimated[Outcome[Fraction]]:
    """The slope of the least-squares line of y over x, in steps of `step`, or a refusal.

    `bound` proposes by how many steps one unit can move the slope.
    Privacy: (epsilon, delta)-DP for the table's unit and relation [DL09], [Vad17, Sec. 3.2].
    """
    values = values_of(session, table, (x, y), where)
    across, up = values.axes
    scale = up.unit / across.unit  # a slope of codes is this much of one in the columns' terms
    query = SlopeReach(
        across=(across.lower, across.upper),
        up=(up.lower, up.upper),
        step=rational(step) / scale,
        largest=rational(largest) / scale,
    )
    return propose(
        session,
        values,
        query,
        bound=bound,
        what=f"the slope of {y} over {x}",
        value=lambda steps: steps * rational(step),
        epsilon=epsilon,
        delta=delta,
    )


def location(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    epsilon: Number,
    delta: Number | None = None,
) -> Estimated[Outcome[tuple[Fraction, Fraction]]]:
    """The mean and the variance of a bell-shaped column, without use of its bounds.

    Privacy: (epsilon, delta)-DP for the table's unit and relation [KV18].
    """
    values = values_of(session, table, (column,), where)
    axis = values.axes[0]
    mechanism = Location(**find_terms(session, values, epsilon=epsilon, delta=delta))

    def release(exact: Exact, bits: BitSource) -> Outcome[tuple[Fraction, Fraction]]:
        rows = rows_of(values, exact)
        return restate(
            mechanism.release(rows, bits, what=f"the location of {column}"),
            lambda place: (axis.value(place.mean), place.variance * axis.unit**2),
        )

    name = "stability histogram, then clipped sums"
    return measure_values(session, values, column, name, mechanism.loss(), release)


def clustered(
    session: Session,
    table: str,
    column: str,
    *,
    clusters: int,
    width: Number,
    where: str = "",
    epsilon: Number,
) -> Estimated[int]:
    """How many rows lie outside the best so many intervals of this width; works in pure accounts.

    Privacy: epsilon-DP for the table's unit and relation [DMNS06, Sec. 3.2].
    """
    values = values_of(session, table, (column,), where)
    steps = int(rational(width) / values.axes[0].unit)
    rows_outside_clusters([], clusters=clusters, width=steps)  # refuses before the charge
    mechanism = PropertyDistance(
        epsilon=epsilon, relation=values.relation, rows_per_unit=values.rows_per_unit
    )

    def release(exact: Exact, bits: BitSource) -> int:
        rows = rows_of(values, exact)
        return mechanism.release(rows_outside_clusters(rows, clusters=clusters, width=steps), bits)

    name = "distance from a property"
    return measure_values(session, values, column, name, mechanism.loss(), release)


def mode(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    epsilon: Number,
    delta: Number | None = None,
) -> Estimated[Outcome[Label]]:
    """The most frequent key of a column with public keys, exactly, or a refusal.

    Privacy: (epsilon, delta)-DP for the table's unit and relation [Vad17, Sec. 3.3].
    """
    values = counts_of(session, table, column, where)
    mechanism = StableValue(**find_terms(session, values, epsilon=epsilon, delta=delta))
    labels = values.plan.domains[0].labels

    def release(exact: Exact, bits: BitSource) -> Outcome[Label]:
        outcome = mechanism.mode(exact.measures()[0], bits, what=f"the most frequent {column}")
        return restate(outcome, labels.__getitem__)

    return measure_values(session, values, column, "stable value", mechanism.loss(), release)
