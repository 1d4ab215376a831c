"""Where rows, keys and their order follow from noise, their law is compared with the claim: an
audit of which rows twins show, over many answers to a question, stays under the price charged.
"""

import pytest

from discreet.audit.blackbox import audit
from discreet.curator.answer import Answer, Receipt
from discreet.curator.noising import add_noise
from discreet.curator.results.block_result import BlockResult
from discreet.errors import DiscreetError
from discreet.noise.bits import system
from support import fit
from support.trips import PURE, WITH_DELTA, riders, trips_of

pytestmark = pytest.mark.slow("black-box audits")

WHO = [(10**9, 40, 100.0, "east", True, "2024-02-29", "mine")]
RECEIPT = Receipt("1", "now", "ana", "", "", "", "", "", "", "", {}, ())
SAMPLES = 3000
QUESTIONS = {
    "having": "SELECT region, COUNT(*) AS n FROM trips GROUP BY region HAVING n > 0",
    "order": "SELECT region, COUNT(*) AS n FROM trips WHERE age < 50 GROUP BY region ORDER BY n",
    "limit": "SELECT region, SUM(fare) AS s FROM trips GROUP BY region ORDER BY s DESC LIMIT 2",
    "leading": "SELECT day, COUNT(DISTINCT rider) AS n FROM trips GROUP BY day "
    "ORDER BY COUNT(DISTINCT rider) DESC LIMIT 2",
}
KEYS = "SELECT city, COUNT(DISTINCT rider) AS n FROM trips GROUP BY city"


@pytest.fixture(scope="module", params=["pure", "zcdp"])
def twins(request, tmp_path_factory):
    """Few riders, with and without one who is alone in a region and a city."""
    folder, few = tmp_path_factory.mktemp("noise"), riders(5, ("a", "b"))
    budget = PURE if request.param == "pure" else WITH_DELTA
    made = {
        "with": trips_of(folder / "with", [*few, *WHO], budget=budget),
        "without": trips_of(folder / "without", few, budget=budget),
    }
    yield made
    for curator in made.values():
        curator.close()


def _shown(twins, text, **price):
    """The plan, and a way to draw which rows an answer shows, in which order."""
    plan = twins["with"].session("ana").explain(text, **price)
    other = twins["without"].session("ana").explain(text, **price)
    assert (plan.sql, plan.cost, plan.noises) == (other.sql, other.cost, other.noises)
    exact = {
        name: curator._warehouse.engine(("trips",)).rows(plan.sql)
        for name, curator in twins.items()
    }
    keys = [domain.name for domain in plan.domains]

    def shown(side):
        answer = Answer(BlockResult(add_noise(plan, exact[side], system)), RECEIPT, free=False)
        return str([[row[key] for key in keys] for row in answer])

    return plan, exact, shown


def _check(name, mechanism, claim):
    fit._declare(name)
    return audit(
        mechanism, claim, pairs=[("with", "without")], samples=SAMPLES, false_alarm=fit.FALSE_ALARM
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_rows_shown_cost_no_more_than_the_charge(twins, name):
    plan, _, shown = _shown(twins, QUESTIONS[name], epsilon=0.5)
    verdict = _check(f"rows by {name}", shown, plan.cost)
    assert not verdict.violated, str(verdict)


def test_the_private_keys_shown_cost_no_more_than_the_charge(twins):
    session = twins["with"].session("ana")
    if session.remaining.delta == 0:
        with pytest.raises(DiscreetError, match="delta"):
            session.explain(KEYS, epsilon=0.5)
        return
    plan, _, shown = _shown(twins, KEYS, epsilon=0.5, delta=4e-5)
    verdict = _check("private keys", shown, plan.cost)
    assert not verdict.violated, str(verdict)
    own = sum("mine" in shown("with") for _ in range(SAMPLES))
    fit.check_rate_at_most(own, SAMPLES, 4e-5, name="the key of one person")


@pytest.mark.parametrize("leak", ["order of exact counts", "groups that have rows"])
def test_planted_leaks_are_caught(twins, leak):
    plan, exact, _ = _shown(twins, QUESTIONS["order"], epsilon=0.5)

    def leaking(side):
        counts = {row[0]: row[1] for row in exact[side]}
        if leak == "groups that have rows":
            return str(sorted(counts))
        draws = {key: counts.get(key, 0) + system.bits(3) / 100 for key in range(4)}
        return str(sorted(draws, key=draws.get))

    assert audit(
        leaking, plan.cost, pairs=[("with", "without")], samples=SAMPLES, false_alarm=1e-3
    ).violated
