"""Every accepted construct, every refusal and the edge of the budget, asked of two curators that
differ in one person: status, error text, columns, types, keys, row count, order and charge agree.

Which private keys, which rows after HAVING and in which order of noisy columns follows from noise:
test_twins_noise.py compares that with the claim.
"""

from fractions import Fraction

import pytest

from discreet.schema.table import Budget
from support.pace import thinned
from support.sql_page import ACCEPTED, FUNCTIONS, REFUSED
from support.twin_vaults import make_vault, noisy_rows, outcome, shape
from support.vaults import copied_vault

EXAMPLES = [text for _, _, cases in ACCEPTED for _, text in cases]
REFUSALS = [text for _, texts in REFUSED for text in texts]
CALLS = [f"SELECT {call} FROM visits" for call in FUNCTIONS.values()]
WITH_DELTA = Budget(epsilon=4000, delta=1e-9)
PURE = Budget(epsilon=4000)
COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_CITY = "SELECT city, COUNT(*) AS n FROM events GROUP BY city"
PRICES = [
    {}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": float("inf")},
    {"epsilon": True}, {"epsilon": "0.1"}, {"epsilon": 10**9}, {"epsilon": 1, "rho": 1},
    {"rho": 0}, {"error": 0}, {"error": -1}, {"error": 1, "epsilon": 1}, {"error": {"m": 1}},
]  # fmt: skip
DELTAS = [1, -1, 0, 1e-6, float("nan")]


def _pair(factory, person, how, budget, *names):
    folder = factory.mktemp("twins")
    return [
        make_vault(folder / "a", person, how, budget, *names),
        copied_vault(folder / "b", make_vault, None, how, budget, *names),
    ]


@pytest.fixture(scope="module", params=thinned(["far", "nothing", "many"], 3, "large oracles"))
def prepared(request, tmp_path_factory):
    """Twins whose tables are prepared, in accounts with a delta."""
    made = _pair(tmp_path_factory, request.param, "prepared", WITH_DELTA)
    yield made
    for curator in made:
        curator.close()


@pytest.fixture(scope="module")
def in_place(tmp_path_factory):
    """Twins whose sources are read where they lie, in pure accounts."""
    made = _pair(tmp_path_factory, "far", "in place", PURE)
    yield made
    for curator in made:
        curator.close()


def _differences(twins, texts):
    """The questions whose replies differ, with what each curator said."""
    different = []
    for number, text in enumerate(texts):
        price = {} if "(epsilon=" in text else {"epsilon": 20}
        said = [outcome(twin, text, bits=number, **price) for twin in twins]
        if said[0] != said[1]:
            different.append((text, said))
    return different


@pytest.mark.slow("large oracles")
def test_every_accepted_construct_prepared(prepared):
    assert _differences(prepared, EXAMPLES) == []


@pytest.mark.slow("large oracles")
def test_every_accepted_construct_in_place(in_place):
    assert _differences(in_place, EXAMPLES) == []


def test_the_harness_asks_and_compares(prepared):
    """All examples are answered, and most with keys that are compared."""
    plans = []
    for text in EXAMPLES:
        price = {} if "(epsilon=" in text else {"epsilon": 20}
        plans.append(prepared[0].session("ana").explain(text, **price))
    assert sum(not noisy_rows(plan) for plan in plans) > 50


def test_answers_lie_on_the_declared_lattice(prepared):
    """Whole multiples of a public step, so that no low digit comes from a row."""
    for name, text, step in (
        ("n", COUNT, 1),
        ("s", "SELECT SUM(income) AS s FROM visits", Fraction(1, 2)),
        ("s", "SELECT SUM(amount) AS s FROM bills", Fraction(1, 100)),
        ("m", "SELECT MEDIAN(income) AS m FROM visits", Fraction(1, 2)),
    ):
        for twin in prepared:
            (row,) = twin.session("ana").sql(text, epsilon=20)
            assert (Fraction(str(row[name])) / step).denominator == 1


def test_every_refusal(prepared):
    for text in (*REFUSALS, *CALLS):
        said = [outcome(twin, text, epsilon=1) for twin in prepared]
        assert said[0] == said[1], text
        assert said[0][0][0] == "UnsafeQuery", text


@pytest.mark.parametrize("price", [*PRICES, *({"epsilon": 1, "delta": d} for d in DELTAS)], ids=str)
def test_every_refused_price(prepared, price):
    for text in (COUNT, BY_CITY) if "delta" not in price else (BY_CITY,):
        said = [outcome(twin, text, **price) for twin in prepared]
        assert said[0] == said[1]
        assert isinstance(said[0][0], tuple), said


@pytest.mark.parametrize("person", thinned(["far", "many"], 2, "large oracles"))
def test_the_edge_of_the_budget(tmp_path_factory, person):
    twins = _pair(tmp_path_factory, person, "prepared", Budget(epsilon=1), ["visits"])
    steps = [0.3, 0.3, 0.3, 0.2, 0.1, 0.1, 1e-9]
    told = []
    for twin in twins:
        with twin:
            texts = [f"SELECT SUM(age) AS s FROM visits WHERE age > {n}" for n in range(len(steps))]
            told.append([outcome(twin, t, epsilon=e) for t, e in zip(texts, steps, strict=True)])
    assert told[0] == told[1]
    answered = [isinstance(said, dict) for said, _ in told[0]]
    assert answered == [True, True, True, False, True, False, False]
    assert told[0][-1][1].epsilon == 0


def test_a_leak_through_the_shape_is_seen(prepared):
    """Planted: a curator whose answers have as many rows as the table."""
    shown = []
    for twin in prepared:
        rows = twin._warehouse.engine(("visits",)).rows('SELECT count(*) FROM "prepared"')
        shown.append({**shape(twin.session("ana").sql(COUNT, epsilon=20)), "rows": rows[0][0]})
    assert shown[0] != shown[1]
