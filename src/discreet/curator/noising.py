"""Where exact integers and noise meet: engine rows in, a release out. Nothing else may see rows.
Groups, types and shapes follow from public facts, or from what was released before them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import BitSource
from discreet.plan.parts.candidates import CandidateQuery, Choice
from discreet.plan.parts.keys import Code
from discreet.plan.parts.selection import OptimalKeys, Selection, TopGroups
from discreet.plan.pipeline import Plan
from discreet.plan.results.released import Released

__all__ = ["add_noise", "add_noises", "exact_cells", "exact_measures"]

Group = tuple[Code, ...]
Row = tuple[Any, ...]

_SAFE = 1 << 31  # a lattice value below this, summed over 2**31 rows, fits 64 bits


def add_noise(plan: Plan, rows: list[Row], bits: BitSource) -> Released:
    """Select the groups, add noise to their measures, select values: all that is ever released.

    Privacy: the plan's cost for its table's privacy unit and neighbouring relation.
    """
    sums = _sums(plan, rows)
    groups: tuple[Group, ...] = plan.groups
    noisy: dict[int, NDArray[Any]] = {}
    if plan.selection is not None:
        groups, noisy = _select_groups(plan, plan.selection, sums, bits)
    for place, column in enumerate(_measures(plan, sums, groups)):
        if place not in noisy:
            noisy[place] = plan.noises[place].release(column, bits)
    released = [noisy[place] for place in sorted(noisy)]
    for place, (pick, choice) in enumerate(zip(plan.picks, plan.choices, strict=True), 1):
        counted = [row[1:] for row in rows if row[0] == place]
        released += _pick_values(pick, choice, _histograms(pick, counted, groups), bits)
    return Released(plan, groups, tuple(released))


def add_noises(plans: Iterable[Plan], results: list[list[Row]], bits: BitSource) -> list[Released]:
    """What each of several plans releases of its rows, with bits of its own.

    Privacy: the sum of the plans' costs [DR14, Cor. 3.15; BS16, Lemma 1.7].
    """
    pairs = zip(plans, results, strict=True)
    return [add_noise(plan, rows, bits.fresh()) for plan, rows in pairs]


def exact_measures(plan: Plan, rows: list[Row]) -> tuple[NDArray[Any], ...]:
    """The exact measures of a plan, one value for each public group; for a release only.

    What is returned must not leave.
    """
    return tuple(_measures(plan, _sums(plan, rows), plan.groups))


def exact_cells(plan: Plan, rows: list[Row]) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...]]:
    """The places of the groups that have rows, and their exact measures; for a release only.

    A place is the index of each key among its public keys. Which groups are there, and in what
    order, depends on data. What is returned must not leave.
    """
    sums = _sums(plan, rows)
    groups = _keep_declared(plan, list(sums))
    known: list[dict[Code, int]] = [
        {code: place for place, code in enumerate(domain.codes)} for domain in plan.domains
    ]
    places = [[places[code] for places, code in zip(known, group, strict=True)] for group in groups]
    shaped = np.array(places, dtype=np.int64).reshape(len(groups), len(known))
    return shaped, tuple(_measures(plan, sums, groups))


def _sums(plan: Plan, rows: list[Row]) -> dict[Group, Row]:
    """The engine's sums by group; with candidate queries they are those of the first branch."""
    width = len(plan.domains)
    if plan.picks:
        rows = [row[1 : width + 1] + row[width + 3 :] for row in rows if row[0] == 0]
    return {row[:width]: row[width:] for row in rows}


def _select_groups(
    plan: Plan, selection: Selection, sums: Mapping[Group, Row], bits: BitSource
) -> tuple[tuple[Group, ...], dict[int, NDArray[Any]]]:
    """The groups that are shown, and the noisy column that a threshold has released with them."""
    place = plan.engine_columns.index(selection.counted)
    if isinstance(selection, TopGroups):
        exact = np.array([sums[group][place] if group in sums else 0 for group in plan.groups])
        return tuple(plan.groups[place] for place in selection.release(exact, bits)), {}
    groups = _keep_declared(plan, [group for group, row in sums.items() if row[place]])
    exact = np.array([sums[group][place] for group in groups], dtype=np.int64)
    if isinstance(selection, OptimalKeys):
        return tuple(groups[place] for place in selection.release(exact, bits)), {}
    chosen, noisy = selection.release(exact, bits)
    return tuple(groups[place] for place in chosen), {selection.place: noisy}


def _keep_declared(plan: Plan, groups: list[Group]) -> list[Group]:
    """The groups made of declared keys, and of private keys that are not missing.

    In the order of the keys themselves: that of the engine's rows may depend on data.
    """
    groups = [group for group in groups if None not in group]
    for place, domain in enumerate(plan.domains):
        if not domain.private:
            known = frozenset(domain.codes)
            groups = [group for group in groups if group[place] in known]
    return sorted(groups)


def _measures(plan: Plan, sums: Mapping[Group, Row], groups: Iterable[Group]) -> list[NDArray[Any]]:
    """The exact measures of the groups; absent groups are zero, other keys are dropped."""
    empty = (0,) * len(plan.engine_columns)
    table = [sums.get(group, empty) for group in groups]
    place = {sql: index for index, sql in enumerate(plan.engine_columns)}
    columns = []
    for measure in plan.measures:
        terms = [(factor, place[sql]) for factor, sql in measure.terms]
        values = [sum(factor * (row[index] or 0) for factor, index in terms) for row in table]
        # The type follows from public bounds, so it says nothing about the data.
        small = measure.sensitivity.linf < _SAFE
        columns.append(np.array(values, dtype=np.int64 if small else object))
    return columns


def _histograms(
    pick: CandidateQuery, rows: Iterable[Row], groups: Iterable[Group]
) -> Iterator[NDArray[Any]]:
    """How many rows of each group have each candidate, one group at a time.

    A missing value has none.
    """
    cells_by_group: dict[Group, list[tuple[int, int]]] = {group: [] for group in groups}
    width = max((len(group) for group in cells_by_group), default=0)
    for row in rows:
        cells, candidate = cells_by_group.get(row[:width]), row[width]
        if cells is not None and candidate is not None:
            cells.append((candidate - pick.first, row[width + 1]))
    for cells in cells_by_group.values():
        counts = np.zeros(pick.candidates, dtype=np.int64)
        for candidate, count in cells:
            counts[candidate] = count
        yield counts


def _pick_values(
    pick: CandidateQuery, choice: Choice, exact: Iterable[NDArray[Any]], bits: BitSource
) -> list[NDArray[Any]]:
    chosen = [pick.release(choice, counts, bits) for counts in exact]
    table = np.array(chosen, dtype=np.int64).reshape(len(chosen), pick.columns)
    return [table[:, place] for place in range(pick.columns)]
