"""Two curators that differ in one person in all tables of a population: whatever is not noisy is
identical over joins and subqueries, and a public table is no way around.
"""

import pytest

from discreet.curator.access import Access
from discreet.errors import DiscreetError
from discreet.noise.bits import SeededBits
from support.join_vaults import data, make_vault
from support.pace import thinned

FAR = {
    "visits": [(99, 10**18, "nowhere"), (99, None, None), (99, 110, "a"), (99, -5, "b")],
    "bills": [("99", float("inf"), "a"), ("99", float("nan"), None), ("99", -1e308, "b")],
    "trips": [(99, 10**9)],
    "wards": [],
}  # fmt: skip
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits JOIN bills ON patient = payer",
    "SELECT b.ward, SUM(amount) AS s, AVG(age) AS a FROM visits v JOIN bills b ON patient = payer "
    "AND v.ward = b.ward GROUP BY b.ward",
    "SELECT COUNT(DISTINCT a.patient) AS u, SUM(a.age * b.age) AS s FROM visits a JOIN visits b "
    "ON a.patient = b.patient",
    "SELECT kind, COUNT(*) AS n, SUM(beds) AS s FROM visits LEFT JOIN wards USING (ward) "
    "GROUP BY kind",
    "WITH p AS (SELECT payer, SUM(amount) AS s, MAX(amount) AS m FROM bills GROUP BY payer) "
    "SELECT AVG(s) AS a, SUM(m) AS m, COUNT(*) AS n FROM p JOIN visits ON payer = patient",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=1) MEDIAN(age) AS m, COUNT(*) "
    "AS n FROM visits JOIN bills ON patient = payer",
    "WITH p AS (SELECT patient, ward, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY 1, 2) "
    "SELECT ward, VAR_POP(n) AS v FROM p GROUP BY ward",
    "SELECT COUNT(*) AS n, COUNT(payer) AS p, SUM(amount) AS s FROM visits LEFT JOIN bills "
    "ON patient = payer WHERE amount IS NULL OR amount > 1",
    "SELECT v.ward, COUNT(*) AS n FROM visits v WHERE patient NOT IN (SELECT payer FROM bills "
    "GROUP BY payer HAVING AVG(amount) > 1) GROUP BY v.ward",
    "SELECT COUNT(*) AS n FROM visits v WHERE age > 90 OR EXISTS (SELECT 1 FROM bills b WHERE "
    "b.payer = v.patient AND b.ward = 'b')",
    "SELECT ward, AVG(gap) AS g FROM (SELECT ward, age - LAG(age) OVER (PARTITION BY patient "
    "ORDER BY age) AS gap FROM visits QUALIFY COUNT(*) OVER (PARTITION BY patient) < 4) "
    "GROUP BY ward",
]  # fmt: skip
REFUSED = [
    "SELECT COUNT(*) FROM visits JOIN trips ON patient = person",
    "SELECT COUNT(*) FROM visits JOIN bills USING (ward)",
    "SELECT COUNT(*) FROM visits LEFT JOIN bills ON patient = payer WHERE payer = '99'",
    "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM bills)",
    "SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY age) AS r FROM visits) WHERE r = 1",
    "SELECT COUNT(*) FROM visits JOIN wards ON age = beds",
    "SELECT AVG(n) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY ward)",
    "SELECT COUNT(*) FROM visits JOIN wards ON patient = beds",
    "SELECT COUNT(*) FROM wards WHERE beds IN (SELECT age FROM visits)",
]  # fmt: skip


@pytest.fixture(scope="module", params=thinned(["prepared", "in place"], 2, "attacks on curators"))
def twins(request, tmp_path_factory):
    """With the person in every table, and without."""
    folder = tmp_path_factory.mktemp("joined")
    both = {name: [*rows, *FAR[name]] for name, rows in data().items()}
    made = [
        make_vault(folder / name, rows, request.param)
        for name, rows in (("with", both), ("without", data()))
    ]
    yield made
    for curator in made:
        curator.close()


def shape(answer):
    rows = answer.to_dicts()
    keys = [[value for value in row.values() if isinstance(value, str)] for row in rows]
    kinds = [[type(value) for value in row.values()] for row in rows]
    return answer.columns, keys, kinds, answer.receipt.cost, answer.receipt.mechanisms


@pytest.mark.parametrize("question", QUESTIONS)
def test_shape_charge_and_plan_are_the_same(twins, question):
    plans = [twin.session("ana").explain(question, epsilon=0.5) for twin in twins]
    texts = [plan.sql.replace("with/", "").replace("without/", "") for plan in plans]
    assert texts[0] == texts[1]
    assert plans[0].error == plans[1].error
    assert plans[0].measures == plans[1].measures
    answers = [t.session("ana").run(p) for t, p in zip(twins, plans, strict=True)]
    assert shape(answers[0]) == shape(answers[1])
    assert twins[0].session("ana").remaining == twins[1].session("ana").remaining


@pytest.mark.parametrize("question", REFUSED)
def test_refusals_are_the_same_and_not_charged(twins, question):
    raised = []
    for twin in twins:
        before = twin.session("ana").remaining
        with pytest.raises(DiscreetError) as caught:
            twin.session("ana").sql(question, epsilon=0.5)
        assert twin.session("ana").remaining == before
        raised.append((type(caught.value), str(caught.value)))
    assert raised[0] == raised[1]


def test_the_same_bits_give_the_same_answer_where_exact_values_agree(twins):
    """The far person is filtered away inside a subquery, before and after the join."""
    for question in (
        "SELECT COUNT(*) AS n, SUM(age) AS s FROM visits JOIN (SELECT payer FROM bills WHERE "
        "amount > 0 AND amount < 1000) b ON patient = payer WHERE age > 3 AND age < 110",
        "WITH p AS (SELECT patient, SUM(age) AS s FROM visits WHERE age > 3 AND age < 110 "
        "GROUP BY patient) SELECT SUM(s) AS s FROM p",
    ):
        answers = []
        for twin in twins:
            plan = twin.session("ana").explain(question, epsilon=0.25)
            found = Access(twin._vault, twin._warehouse, "ana").answer(plan, bits=SeededBits(17))
            answers.append(found.to_dicts())
        assert answers[0] == answers[1]


def test_one_person_moves_a_joined_count_by_no_more_than_the_plan_says(twins):
    for question in QUESTIONS[:1] + QUESTIONS[5:6]:
        plan = [twin.session("ana").explain(question, epsilon=0.5) for twin in twins]
        names = tuple(table.name for table in plan[0].tables)
        rows = [
            twin._warehouse.engine(names).rows(each.sql)
            for twin, each in zip(twins, plan, strict=True)
        ]
        totals = [max(row[-1] for row in each) for each in rows]
        assert 0 <= totals[0] - totals[1] <= plan[0].measures[0].sensitivity.l1
