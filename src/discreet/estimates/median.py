"""The median of a session's column: by the plan's own way to pick it, with smooth noise, or by
propose-test-release. The first two are questions in SQL, answered, stored and given again like any
other; how they are picked is the plan's business.
"""

from fractions import Fraction

from discreet.curator.session import Session
from discreet.errors import InvalidValue, UnsafeQuery
from discreet.estimates.columns import another_question, axis_of, column_of, values_of
from discreet.estimates.estimate import Estimated, propose
from discreet.plan.parts.candidates import QuantileMethod
from discreet.rationals import Number, rational
from discreet.robust.tested.outcome import Outcome
from discreet.robust.tested.reaches import QuantileReach
from discreet.schema.names import sql_name

__all__ = ["median", "proposed_median", "smooth_median"]

_HALF = Fraction(1, 2)
_DIGITS = 6  # of a fraction


def median(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    fraction: Number = _HALF,
    count: int | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Estimated[Fraction]:
    """The median, or another quantile, of up to 65,536 public values of a column.

    It is chosen by rank; with a `count` of rows supposed, the plan takes smooth noise where that
    would err clearly less on so many evenly spread rows. The answer says which it was.
    Privacy: epsilon-DP or rho-zCDP for the table's unit and relation [MT07, Thm. 6],
    [NRS07, Sec. 2].
    """
    methods = (QuantileMethod.FINE,) if count is None else ()
    text = _question(session, table, column, where, fraction)
    return _ask(session, text, where, methods, count, epsilon=epsilon, rho=rho)


def smooth_median(
    session: Session,
    table: str,
    column: str,
    *,
    where: str = "",
    fraction: Number = _HALF,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Estimated[Fraction]:
    """The median, or another quantile, by smooth sensitivity whatever public facts prefer.

    Privacy: epsilon-DP or rho-zCDP for the table's unit and relation [NRS07, Sec. 2].
    """
    text = _question(session, table, column, where, fraction)
    return _ask(session, text, where, (QuantileMethod.SMOOTH,), None, epsilon=epsilon, rho=rho)


def _question(session: Session, table: str, column: str, where: str, fraction: Number) -> str:
    share = round(rational(fraction), _DIGITS)
    if not 0 < share < 1:
        raise InvalidValue(
            f"fraction is {fraction}; it must lie between 0 and 1, both excluded, with at most "
            "six digits. Nothing was run or charged."
        )
    axis_of(column_of(session, table, column), columns=1)  # refuses what is no number
    condition = f" WHERE {where}" if where else ""
    asked = f"QUANTILE({sql_name(column)}, {float(share):.{_DIGITS}f})"
    return f"SELECT {asked} AS q FROM {sql_name(table)}{condition}"


def _ask(
    session: Session,
    text: str,
    where: str,
    methods: tuple[QuantileMethod, ...],
    count: int | None,
    *,
    epsilon: Number | None,
    rho: Number | None,
) -> Estimated[Fraction]:
    planned = session.plan_question(text, epsilon=epsilon, rho=rho, count=count, ways=methods)
    if planned.domains or planned.query.having is not None or planned.query.limit is not None:
        raise another_question(where)
    smooth = planned.ways == (QuantileMethod.SMOOTH,)
    if methods == (QuantileMethod.SMOOTH,) and not smooth:
        raise UnsafeQuery(
            f"{text!r:.200}: smooth noise needs at least two public values. Nothing was run or "
            "charged."
        )
    answer = session.run(planned)
    quantile = rational(answer.to_dicts()[0]["q"])
    mechanism = "smooth sensitivity" if smooth else "choice by rank"
    return Estimated(quantile, mechanism, planned.cost, answer.receipt, answer.notes)


def proposed_median(
    session: Session,
    table: str,
    column: str,
    *,
    within: Number,
    where: str = "",
    fraction: Number = _HALF,
    epsilon: Number,
    delta: Number | None = None,
) -> Estimated[Outcome[Fraction]]:
    """The median by propose-test-release: noise for a proposed sensitivity, or a refusal.

    `within` proposes how far one unit can move the median, in the column's own terms.
    Privacy: (epsilon, delta)-DP for the table's unit and relation [DL09], [Vad17, Sec. 3.2].
    """
    values = values_of(session, table, (column,), where)
    axis = values.axes[0]
    query = QuantileReach(fraction=fraction, lower=axis.lower, upper=axis.upper)
    return propose(
        session,
        values,
        query,
        bound=max(1, int(rational(within) / axis.unit)),
        what=f"the median of {column}",
        value=lambda code: axis.value(min(max(code, axis.lower), axis.upper)),
        epsilon=epsilon,
        delta=delta,
    )
