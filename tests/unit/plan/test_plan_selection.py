"""Which groups an answer shows, on every small neighbouring table: the emitted SQL run for real,
the exact laws of the choices, and what the plan pays for them.
"""

import math
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from discreet.audit.exact import enumerate_loss
from discreet.curator.noising import _select_groups, _sums
from discreet.errors import UnprovableRequest
from discreet.loss import ZCDP, Pure, Relation
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.plan.parts.selection import OptimalKeys, ThresholdKeys, TopGroups, ranking
from discreet.plan.pipeline import Draft, plan
from discreet.plan.sql.preparation.statement import lattice_rows
from discreet.query.algebra import Aggregate, Statistic
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.table import Table
from support.databases import Scratch
from support.mechanism_laws import gaussian_weights, largest_ratio, partition_chances, top_k_law

CITIES = ("a", "b", None)
REGIONS = ("n", "nowhere")  # the second is not declared
COLUMNS = (
    Column("city", "category", private_keys=True, upper=0),
    Column("region", "category", keys=("n",), upper=0),
    Column("x", "integer", upper=3),
)
DELTA = Fraction(1, 50)
OTHERS = [
    {},
    {1: [("a", "n", 1)]},
    {1: [("a", "n", 1), ("b", "n", 2)], 2: [("a", "nowhere", 0)], 3: [("b", "n", 3)]},
]
KEYS = "SELECT city, COUNT(DISTINCT who) AS n, SUM(x) AS s FROM t GROUP BY city"
PAIRS = "SELECT city, region, COUNT(DISTINCT who) AS n FROM t GROUP BY city, region"
ALONE = "SELECT city, SUM(x) AS s FROM t GROUP BY city"
SOME = "SELECT city, COUNT(DISTINCT who) AS n FROM t WHERE x > 0 GROUP BY city"
LIMITED = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1) "


@dataclass
class Spy:
    """Takes the place of a selection: shows everything and keeps the exact counts."""

    counted: str
    place: int = 0

    def release(self, exact, _):
        self.exact = exact
        return range(len(exact)), exact


def made_of(text, *, relation, rows, price=None, columns=COLUMNS, delta=DELTA):
    table = Table("t", unit="who", rows_per_unit=rows, neighbours=relation, columns=columns)
    price = ZCDP(rho=Fraction(1, 2)) if price is None else price
    return plan(
        Draft(query=parse(text, {"t": table}), table=table, price=price, delta=delta, question=text)
    )


class LoadedDuckDB:
    """One engine in which source rows by unit are prepared as a plan's table wants them, once."""

    def __init__(self):
        self._database = Scratch()
        self._prepared = {}

    def load(self, table, units):
        types = {"who": "BIGINT", "city": "VARCHAR", "region": "VARCHAR", "x": "BIGINT"}
        key = lattice_rows(table, "source", types), str(units)
        if key not in self._prepared:
            self._prepare(*key, units)
        self.rows(f"CREATE OR REPLACE VIEW prepared AS FROM {self._prepared[key]}")

    def _prepare(self, wanted, name, units):
        rows = [(unit, *row) for unit, listed in units.items() for row in listed]
        values = ", ".join(["(?::BIGINT, ?::VARCHAR, ?::VARCHAR, ?::BIGINT)"] * len(rows))
        empty = "(SELECT 0::BIGINT, '', '', 0::BIGINT WHERE FALSE)"
        listed = f"(VALUES {values})" if rows else empty
        flat = [value for row in rows for value in row]
        self._database.rows(
            f"CREATE OR REPLACE TABLE source AS FROM {listed} AS s(who, city, region, x)", flat
        )
        place = f"prepared_{len(self._prepared)}"
        self.rows(f"CREATE TABLE {place} AS {wanted}")
        self._prepared[wanted, name] = place

    def rows(self, sql):
        return self._database.rows(sql)

    def close(self):
        self._database.close()


@pytest.fixture(scope="module")
def loaded():
    with closing(LoadedDuckDB()) as made:
        yield made


def contributions(most):
    """What one unit can have, one row more than counts included."""
    rows = [("a", "n", 1), ("b", "n", 3), (None, "n", 2), ("a", "nowhere", 1), ("b", "n", 0)]
    for size in range(1, most + 2):
        yield from map(list, combinations_with_replacement(rows, size))


def counts_of(made, loaded, units):
    """The exact numbers of units that decide, by key, and the exact sums of every group."""
    loaded.load(made.table, units)
    rows = loaded.rows(made.sql)
    spy = Spy(made.selection.counted)
    groups, _ = _select_groups(made, spy, _sums(made, rows), None)
    return dict(zip(groups, map(int, spy.exact), strict=True))


def neighbours(made, loaded, others):
    """All pairs of neighbours with these other people, as exact counts by key."""
    rest = counts_of(made, loaded, others)
    added = [
        counts_of(made, loaded, {**others, 0: rows})
        for rows in contributions(made.table.rows_per_unit)
    ]
    distinct = [dict(each) for each in {tuple(sorted(each.items())) for each in added}]
    if made.table.neighbours is Relation.ADD_REMOVE:
        return [(rest, each) for each in distinct]
    return [(one, other) for one in distinct for other in distinct]


def chance_of_showing(made, units):
    """That a key of so many units is shown."""
    selection = made.selection
    if isinstance(selection, OptimalKeys):
        low, high = selection.rule.chance(units)
        assert high - low < Fraction(1, 10**30)
        return float(high)
    noise, limit = selection.threshold.noise, selection.threshold.threshold - units
    if isinstance(noise, DiscreteLaplace):
        ratio = math.exp(-1 / float(noise.scale))
        return ratio**limit / (1 + ratio) if limit > 0 else 1 - ratio ** (1 - limit) / (1 + ratio)
    law = gaussian_weights(float(noise.sigma_squared))
    return sum(weight for x, weight in law.items() if x >= limit)


CASES = [
    (text, relation, rows)
    for text in (KEYS, PAIRS, ALONE, SOME, KEYS.replace("SELECT", f"SELECT {LIMITED}"))
    for relation in Relation
    for rows in (1, 2)
]


@pytest.mark.parametrize(("text", "relation", "rows"), CASES)
def test_what_keys_show_is_paid_for_on_all_neighbours(loaded, text, relation, rows):
    made = made_of(text, relation=relation, rows=rows)
    touched = made.contribution.of_units().groups
    worst = 0.0
    for others in OTHERS:
        for one, other in neighbours(made, loaded, others):
            keys = one.keys() | other.keys()
            assert all(None not in key for key in keys)
            assert all(key[1:] in ((), (0,)) for key in keys)
            moves = {key: abs(one.get(key, 0) - other.get(key, 0)) for key in keys}
            assert set(moves.values()) <= {0, 1}
            assert sum(moves.values()) <= touched
            new = one.keys() ^ other.keys()
            worst = max(worst, sum(chance_of_showing(made, 1) for _ in new))
    assert worst <= float(made.cost.delta) * (1 + 1e-9)
    assert made.cost.delta <= DELTA
    assert worst > float(made.cost.delta) / 3  # so what is paid is needed


@pytest.mark.parametrize(("text", "relation", "rows"), [case for case in CASES if case[0] == ALONE])
def test_the_optimal_rule_keeps_epsilon_and_delta_on_all_neighbours(loaded, text, relation, rows):
    made = made_of(text, relation=relation, rows=rows)
    rule = made.selection.rule
    share = math.exp(float(rule.epsilon) / rule.keys_per_unit)
    chances = partition_chances(share, float(rule.delta) / rule.keys_per_unit, 9)
    for one, other in (pair for others in OTHERS for pair in neighbours(made, loaded, others)):
        laws = []
        for counts in (one, other):
            law = {}
            for shown in product((False, True), repeat=len(one.keys() | other.keys())):
                parts = [
                    chances[counts.get(key, 0)] if yes else 1 - chances[counts.get(key, 0)]
                    for key, yes in zip(sorted(one.keys() | other.keys()), shown, strict=True)
                ]
                law[shown] = Fraction(math.prod(parts)).limit_denominator(10**15)
            total = sum(law.values())
            laws.append({key: value / total for key, value in law.items()})
        lost = enumerate_loss(*laws).delta_at(Fraction(math.exp(float(rule.epsilon))))
        assert lost <= float(rule.delta) * (1 + 1e-6)


def test_a_plan_pays_for_its_rule():
    made = made_of(ALONE, relation=Relation.REPLACE, rows=2)
    rule = made.selection.rule
    assert rule.keys_per_unit == 4
    noise = made.noises[0].loss(made.measures[0].sensitivity).zcdp()
    assert made.cost == noise + rule.zcdp_loss()
    assert made.cost.rho <= Fraction(1, 2)


@pytest.mark.parametrize("relation", Relation)
def test_a_threshold_adds_delta_to_a_count_that_is_paid_for(relation):
    made = made_of(KEYS, relation=relation, rows=2)
    plain = [
        noise.loss(each.sensitivity).zcdp().rho
        for noise, each in zip(made.noises, made.measures, strict=True)
    ]
    assert made.cost.rho == sum(plain)
    assert len(made.prices) == len(made.measures)
    keys = made.measures[made.selection.place].sensitivity.groups
    assert keys == relation.steps * 2
    loss = made.selection.threshold.loss(made.measures[made.selection.place].sensitivity)
    assert made.selection.threshold.noise == made.noises[made.selection.place]
    assert loss.delta == made.cost.delta


@pytest.mark.parametrize("text", [KEYS, PAIRS, ALONE])
def test_private_keys_need_delta(text):
    with pytest.raises(UnprovableRequest, match="grant with delta"):
        made_of(text, relation=Relation.REPLACE, rows=1, delta=None, price=Pure(epsilon=1))
    with pytest.raises(UnprovableRequest, match="grant with delta"):
        made_of(text, relation=Relation.REPLACE, rows=1, delta=None)


# Leading groups: of many public groups, with units that can be in many of them.

DAYS = (
    Column("day", "integer", upper=5),
    Column("x", "integer", upper=3),
)
FIRST = "SELECT day, AVG(x) AS a FROM t GROUP BY day ORDER BY COUNT(DISTINCT who) DESC LIMIT 2"


def wide(price, relation, rows=400, text=FIRST, days=DAYS):
    return made_of(text, relation=relation, rows=rows, price=price, columns=days, delta=None)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("price", [Pure(epsilon=3), ZCDP(rho=3)])
def test_leading_groups_keep_their_price_on_all_moves_of_counts(price, relation):
    made = wide(price, relation)
    assert isinstance(made.selection, TopGroups)
    scale = float(made.selection.ranking.scale)
    base = (3, 1, 0, 2, 1, 1)
    added = [tuple(a + b for a, b in zip(base, more, strict=True)) for more in MOVES]
    pairs = [(base, each) for each in added]
    if relation is Relation.REPLACE:
        pairs = list(product(added, repeat=2))
    laws = {
        counts: top_k_law([math.exp(count / scale) for count in counts], 2)
        for counts in {each for pair in pairs for each in pair}
    }
    paid = made.prices[-1]
    worst = max(
        math.log(largest_ratio(laws[one].values(), laws[other].values())) for one, other in pairs
    )
    limit = paid.epsilon if isinstance(paid, Pure) else 2 * math.sqrt(8 * paid.rho / 2)
    assert worst <= float(limit) * (1 + 1e-9)
    if isinstance(paid, ZCDP):
        for one, other in pairs:
            for alpha in (1.5, 2.0, 8.0):
                total = sum(
                    p**alpha * laws[other][key] ** (1 - alpha) for key, p in laws[one].items()
                )
                assert math.log(total) / (alpha - 1) <= alpha * float(paid.rho) * (1 + 1e-9)


MOVES = list(product((0, 1), repeat=6))  # a unit is or is not in a group


@pytest.mark.parametrize("price", [Pure(epsilon=3), ZCDP(rho=3)])
def test_what_follows_the_choice_is_priced_for_the_chosen_groups_alone(price):
    made = wide(price, Relation.ADD_REMOVE)
    assert made.contribution.groups_in_all == 2
    assert {each.sensitivity.groups for each in made.measures} == {2}
    assert made.cost.delta == 0 if isinstance(price, ZCDP) else made.cost.epsilon <= 3


def test_public_facts_alone_decide_how_leading_groups_are_found():
    many = wide(ZCDP(rho=1), Relation.ADD_REMOVE)
    few = wide(ZCDP(rho=1), Relation.ADD_REMOVE, rows=1)
    assert (many.ranking is None, few.ranking is None) == (False, True)
    assert many.ranking.choosing <= many.ranking.noising
    assert few.contribution.groups_in_all == 6
    assert isinstance(few.selection, type(None))
    for limit in (6, 7):
        text = FIRST.replace("LIMIT 2", f"LIMIT {limit}")
        assert wide(ZCDP(rho=1), Relation.ADD_REMOVE, text=text).ranking is None


@pytest.mark.parametrize(
    "text",
    [
        FIRST.replace("DESC", "ASC"),
        FIRST.replace("DESC", "DESC, day"),
        FIRST.replace("ORDER", "HAVING AVG(x) > 1 ORDER"),
        FIRST.replace("COUNT(DISTINCT who)", "AVG(x)"),
        FIRST.replace(" LIMIT 2", ""),
    ],
)
def test_other_orders_are_answered_from_all_groups(text):
    assert wide(ZCDP(rho=1), Relation.ADD_REMOVE, text=text).selection is None


def test_planted_prices_are_caught(loaded):
    """The same audits fail when one of the numbers they hold is wrong."""
    made = made_of(PAIRS, relation=Relation.REPLACE, rows=1)
    touched = made.contribution.of_units().groups
    pairs = neighbours(made, loaded, OTHERS[1])
    moves = Counter(
        sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys())
        for one, other in pairs
    )
    assert max(moves) == touched == 2  # twice what one unit has, under replace
    lower = replace(made.selection, threshold=_lowered(made.selection.threshold))
    cheap = replace(made, selection=lower)
    assert 2 * chance_of_showing(cheap, 1) > float(made.cost.delta)
    assert isinstance(lower, ThresholdKeys)


def _lowered(threshold):
    return type(threshold)(noise=threshold.noise, threshold=threshold.threshold - 2)


def test_groups_without_rows_are_ranked_with_nobody(monkeypatch):
    seen = []
    monkeypatch.setattr(TopGroups, "release", lambda _, exact, _bits: seen.append(exact) or [0, 1])
    made = wide(ZCDP(rho=1), Relation.ADD_REMOVE)
    place = made.engine_columns.index(made.selection.counted)
    row = [0] * len(made.engine_columns)
    row[place] = 7
    chosen, _ = _select_groups(made, made.selection, {(3,): tuple(row)}, None)
    assert [exact.tolist() for exact in seen] == [[0, 0, 0, 7, 0, 0]]
    assert chosen == ((0,), (1,))


def test_leading_groups_by_rows_are_priced_for_the_rows_of_one_unit():
    text = "SELECT day, AVG(x) AS a FROM t GROUP BY day ORDER BY COUNT(*) DESC LIMIT 1"
    days = (replace(DAYS[0], upper=500), DAYS[1])
    made = wide(Pure(epsilon=3), Relation.ADD_REMOVE, rows=40, text=text, days=days)
    assert isinstance(made.selection, TopGroups)
    assert made.selection.sensitivity.per_group == 40
    assert made.selection.sensitivity.total == 40
    replaced = wide(Pure(epsilon=3), Relation.REPLACE, rows=40, text=text, days=days)
    assert replaced.selection.sensitivity.per_group == 40
    assert replaced.selection.sensitivity.total == 80


@pytest.mark.parametrize(("shown", "noising"), [("AVG(x)", 1600), ("COUNT(DISTINCT who)", 800)])
def test_the_decision_compares_both_ways_at_the_price_each_would_have(shown, noising):
    """At epsilon 1, half of it for the choice; without it noise is at half or, if shown, whole."""
    days = (replace(DAYS[0], upper=500), DAYS[1])
    text = FIRST.replace("AVG(x)", shown).replace("LIMIT 2", "LIMIT 1")
    decision = wide(Pure(epsilon=3), Relation.ADD_REMOVE, text=text, days=days).ranking
    assert decision.noising == pytest.approx(noising * math.log(501 / 0.05), abs=3)
    assert decision.choosing == pytest.approx(4 * math.log(500 * 19))


def test_groups_that_cannot_be_listed_are_not_ranked():
    made = wide(Pure(epsilon=3), Relation.ADD_REMOVE)
    unlisted = replace(made.contribution, groups_in_all=None)
    wanted = Aggregate(Statistic.UNITS, None)
    assert ranking(unlisted, wanted, [], count=2, kind=Pure, counted="n") is None
