"""Intervals by simulation: the noise of the blocks is drawn again many times from its known laws,
and the outer query runs once on all draws together. Sees released numbers only.

A draw stands for what the exact numbers could have been: the released number less noise of the
same law. Of a function of one noisy number these are its exact intervals; of several they are
generalized confidence intervals [Wee93].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import BitSource, system
from discreet.plan.model import Plan
from discreet.plan.results.columns import columns_of
from discreet.plan.results.evaluate import estimates, find_picked
from discreet.plan.results.released import Released
from discreet.upper.engine import Loaded, UpperEngine
from discreet.upper.plan import StatementPlan
from discreet.upper.rows import kinds_of, load_floats
from discreet.upper.tree import Query, Select, blocks_of
from discreet.upper.write import name, write_query

__all__ = ["DRAWS", "LEVELS", "Spread", "simulate"]

DRAWS = 1999
"""How often noise is drawn again: 1,999 draws have an exact 2.5% and 97.5% quantile."""

_FEWEST = 1000
_MOST_CELLS = 10_000_000  # which takes seconds
LEVELS = (
    Fraction(50, 100),
    Fraction(80, 100),
    Fraction(90, 100),
    Fraction(95, 100),
    Fraction(99, 100),
)
"""The probabilities for which simulated intervals are kept."""

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL")
_ABSENT = 0.025


@dataclass(frozen=True, slots=True)
class Spread:
    """The simulated intervals of one column: for each row the ends at every level, or None."""

    column: str
    ends: tuple[tuple[tuple[float, float], ...] | None, ...]


def simulate(
    engine: UpperEngine,
    plan: StatementPlan,
    released: Sequence[tuple[Released, NDArray[np.intp]]],
    columns: Sequence[tuple[str, str]],
    rows: Sequence[tuple[Any, ...]],
) -> list[Spread]:
    """The simulated intervals of the result's noisy columns that are no sums of noise.

    `engine` holds the blocks already; `columns` and `rows` are the result.
    """
    shape = plan.shape.columns
    if len(shape) != len(columns):
        return []
    wanted = [
        at
        for at, (_, found) in enumerate(shape)
        if found.noisy and found.terms is None and not found.obscure and _is_number(columns[at][1])
    ]
    assert plan.upper is not None
    used = sorted(set(blocks_of(plan.upper)))
    cells = sum(len(released[place][1]) for place in used) * (1 + len(wanted))
    draws = min(DRAWS, _MOST_CELLS // max(1, cells))
    if not wanted or draws < _FEWEST or not rows:
        return []
    fixed = [at for at, (_, found) in enumerate(shape) if not found.noisy]
    known = [tuple(row[at] for at in fixed) for row in rows]
    if len(set(known)) != len(known):
        return []  # rows that nothing tells apart
    bits = system.fresh()
    for place in used:
        engine.load(f"$s{place}", _draw_block(*released[place], draws, bits))
    result = engine.run(_sql(plan, fixed, wanted, draws))
    if not all(row[-1] for row in result.rows):
        return []  # rows beyond a limit that nothing tells apart
    spreads = {tuple(row[: len(fixed)]): row[len(fixed) : -1] for row in result.rows}
    return [
        Spread(columns[at][0], tuple(_ends(spreads.get(key), place) for key in known))
        for place, at in enumerate(wanted)
    ]


def _is_number(kind: str) -> bool:
    return kind.partition("(")[0] in _NUMBERS


def _draw_block(
    released: Released, rows: NDArray[np.intp], draws: int, bits: BitSource
) -> list[Loaded]:
    """Every shown row of a block once for each draw: draw, row, then the columns that are noisy."""
    plan, size = released.plan, len(rows)
    groups = tuple(released.groups[row] for row in rows) * draws
    noisy = []
    for place, column in enumerate(released.noisy):
        tiled = np.tile(column[rows], draws)
        if place < len(plan.noises):
            tiled = plan.noises[place].release(tiled, bits)  # its laws are symmetric
        noisy.append(tiled)
    drawn = replace(released, groups=groups, noisy=tuple(noisy))
    values = columns_of(drawn, estimates(drawn)) if size else {}
    loaded = [
        load_floats(np.repeat(np.arange(draws), size), "BIGINT"),
        load_floats(np.tile(np.arange(size), draws), "BIGINT"),
    ]
    kinds = kinds_of(plan)
    for called in _redrawn(plan):
        loaded.append(load_floats(values[called] if size else np.zeros(0), kinds[called]))
    return loaded


def _redrawn(plan: Plan) -> list[str]:
    """The columns of a block that a draw changes."""
    return [
        output.name for output in plan.query.outputs if find_picked(plan, output.expression) is None
    ]


def _leaf(plan: Plan, place: int) -> str:
    """The SELECT that reads one draw of a block."""
    drawn = {column: at for at, column in enumerate(_redrawn(plan), 2)}
    listed = []
    for at, column in enumerate(plan.query.columns, 1):
        read = f'"s"."c{drawn[column]}"' if column in drawn else f'"b"."c{at}"'
        listed.append(f"{read} AS {name(column)}")
    return (
        f'SELECT {", ".join(listed)} FROM "$s{place}" AS "s" JOIN "$b{place}" AS "b" '
        'ON "s"."c1" = "b"."c0" WHERE "s"."c0" = "$draws"."draw" ORDER BY "s"."c1"'
    )


def _sql(plan: StatementPlan, fixed: list[int], wanted: list[int], draws: int) -> str:
    """Quantiles of every wanted column over all draws, for each row that fixed columns name."""
    assert plan.upper is not None
    inner = write_query(_uncut(plan.upper), lambda place: _leaf(plan.blocks[place], place))
    count = len(plan.shape.columns)
    names = ", ".join(f'"u{at}"' for at in range(count))
    shares = ", ".join(
        str(float(share)) for level in LEVELS for share in ((1 - level) / 2, (1 + level) / 2)
    )
    keys = [f'"u{at}"' for at in fixed]
    values = [
        f'quantile_cont(CAST("u{at}" AS DOUBLE), [{shares}])::VARCHAR, COUNT("u{at}") / COUNT(*)'
        for at in wanted
    ]
    values.append(f"COUNT(*) <= {draws}")
    sql = (
        f'SELECT {", ".join([*keys, *values])} FROM (SELECT range AS "draw" FROM range({draws})) '
        f'AS "$draws", LATERAL ({inner}) AS "$upper"({names})'
    )
    return f"{sql} GROUP BY {', '.join(keys)}" if keys else sql


def _uncut(query: Query) -> Query:
    """The query without the order and the limit at its end, so that every row is in every draw;
    where DISTINCT ON chooses rows by the order, that stays.
    """
    order = query.order if isinstance(query, Select) and query.distinct_on else ()
    return replace(query, order=order, limit=None, offset=None)


def _ends(spread: tuple[Any, ...] | None, place: int) -> tuple[tuple[float, float], ...] | None:
    """The intervals of one cell, None where it was not simulated."""
    if spread is None or spread[2 * place] is None:
        return None
    quantiles, present = spread[2 * place], spread[2 * place + 1]
    parts = [float(part) for part in quantiles.strip("[]").split(",")]
    if 1 - present > _ABSENT or not all(np.isfinite(parts)):
        return tuple((-np.inf, np.inf) for _ in LEVELS)
    return tuple(zip(parts[::2], parts[1::2], strict=True))
