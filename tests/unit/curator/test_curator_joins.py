"""Joins and subqueries from files and frames to stored answers: who pays, what is noticed, what
is refused.
"""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import DiscreetError, InvalidValue, SchemaError, Unavailable
from discreet.ledger.account import Holder
from discreet.plan.results.evaluate import estimates
from discreet.plan.results.released import Released
from discreet.query.algebra import Join, Scan
from support.join_vaults import data, frame, make_vault, schema, write
from support.pace import thinned
from support.plan_cases import exact_of
from support.vaults import copied_vault

WAYS = ["prepared", "in place", "frames"]
JOIN = "SELECT COUNT(*) AS n FROM visits JOIN bills ON patient = payer"
LOOKUP = "SELECT kind, SUM(beds) AS s FROM visits LEFT JOIN wards USING (ward) GROUP BY kind"
SUBQUERY = (
    "WITH p AS (SELECT patient, SUM(age) AS s FROM visits GROUP BY patient) "
    "SELECT SUM(s) AS s, SUM(amount) AS a FROM p JOIN bills ON p.patient = bills.payer"
)
QUESTIONS = [
    (JOIN, [{"n": 58}]),
    ("SELECT COUNT(*) AS n FROM visits v JOIN bills b ON v.patient = b.payer AND v.ward = b.ward",
     [{"n": 20}]),
    (LOOKUP, [{"kind": "old", "s": 200}, {"kind": "new", "s": 500}]),
    (SUBQUERY, [{"s": 2413, "a": 4060}]),
    ("SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient = b.patient", [{"n": 120}]),
    ("SELECT COUNT(*) AS n FROM wards JOIN visits ON wards.ward = visits.ward JOIN bills "
     "ON bills.payer = visits.patient", [{"n": 39}]),
]  # fmt: skip


@pytest.fixture(params=thinned(WAYS, 3, "ways of adding tables"))
def curator(request, tmp_path):
    with copied_vault(tmp_path / "home", make_vault, data(), request.param) as made:
        yield made


def spent(curator, population="patients"):
    return curator.ledger.account(Holder.POPULATION, population).spent


def without_noise(curator, question):
    """What the engine gives the curator, as rows of the answer."""
    plan = curator.session("ana").explain(question, epsilon=1)
    engine = curator._warehouse.engine(tuple(table.name for table in plan.tables))
    exact = exact_of(plan, engine.rows(plan.sql))
    found = estimates(Released(plan, plan.groups, tuple(exact)))
    keys = [
        domain.name_codes(codes)
        for domain, codes in zip(plan.domains, zip(*plan.groups, strict=True), strict=True)
    ]
    listed = [*keys, *(found[output.name].value.tolist() for output in plan.query.outputs)]
    return [dict(zip(plan.query.columns, row, strict=True)) for row in zip(*listed, strict=True)]


def test_every_way_of_adding_tables_reads_the_same_integers(tmp_path):
    exact = []
    for way in WAYS:
        with copied_vault(tmp_path / way.replace(" ", "_"), make_vault, data(), way) as curator:
            exact.append([without_noise(curator, question) for question, _ in QUESTIONS])
    assert exact[0] == exact[1] == exact[2]
    assert exact[0] == [truth for _, truth in QUESTIONS]


def test_the_population_pays_once_and_a_stored_answer_is_free(curator):
    session = curator.session("ana")
    for number, question in enumerate((JOIN, LOOKUP, SUBQUERY), 1):
        first = session.sql(question, epsilon=1)
        assert spent(curator) == number
        again = session.sql(question, epsilon=1)
        assert (first.free, again.free) == (False, True)
        assert again.to_dicts() == first.to_dicts()
        assert again.intervals() == first.intervals()
        assert again.receipt == first.receipt
        assert spent(curator) == number
    assert first.receipt.population == "patients"
    assert first.receipt.table == "visits, bills"
    assert spent(curator, "travellers") == 0


CHANGES = [(way, name) for way in WAYS[:2] for name in ("visits", "bills", "wards")]


@pytest.mark.parametrize("change", thinned(CHANGES, 5, "ways of adding tables"), ids=" ".join)
def test_a_changed_table_is_noticed_and_paid_again_after_a_refresh(tmp_path, change):
    way, changed = change
    question = "SELECT COUNT(*) AS n FROM visits JOIN bills ON patient = payer LEFT JOIN wards "
    question += "ON visits.ward = wards.ward"
    with make_vault(tmp_path / "home", data(), way) as curator:
        session = curator.session("ana")
        plan = session.explain(question, epsilon=1)
        session.run(plan)
        write(tmp_path / "home", changed, data()[changed][:-2])
        for ask in (lambda: session.sql(question, epsilon=1), lambda: session.run(plan)):
            with pytest.raises(Unavailable, match=f"discreet refresh {changed}"):
                ask()
        assert spent(curator) == 1
        curator.refresh(changed)
        answer = session.sql(question, epsilon=1)
        assert not answer.free
        assert spent(curator) == 2
        assert answer.receipt.data_version.split(", ").count("2") == 1


def test_a_changed_table_is_no_matter_for_questions_that_do_not_read_it(tmp_path):
    with make_vault(tmp_path / "home", data(), "prepared") as curator:
        session = curator.session("ana")
        session.sql(LOOKUP, epsilon=1)
        write(tmp_path / "home", "bills", data()["bills"][:-2])
        assert session.sql(LOOKUP, epsilon=1).free


REFUSED = [
    "SELECT COUNT(*) FROM visits JOIN trips ON patient = person",
    "SELECT COUNT(*) FROM visits JOIN bills USING (ward)",
    "SELECT COUNT(*) FROM visits LEFT JOIN bills ON patient = payer WHERE payer = 3",
    "SELECT COUNT(*) FROM visits JOIN wards ON age = beds",
    "SELECT COUNT(*) FROM wards",
    "SELECT COUNT(*) FROM visits, bills",
    "SELECT COUNT(*) FROM visits RIGHT JOIN wards USING (ward)",
    "SELECT COUNT(*) FROM visits CROSS JOIN wards",
    "WITH p AS (SELECT patient, SUM(age) AS s FROM visits GROUP BY patient) SELECT s, COUNT(*) "
    "FROM p GROUP BY s * 100000",
]  # fmt: skip


def test_refusals_are_not_charged(tmp_path):
    with copied_vault(tmp_path / "home", make_vault, data(), "prepared") as curator:
        for question in REFUSED:
            with pytest.raises(DiscreetError):
                curator.session("ana").sql(question, epsilon=1)
        assert spent(curator) == 0
        assert curator.session("ana").remaining.epsilon == 40


FORGED = {
    "two populations": Join("inner", Scan("visits"), Scan("trips"), ()),
    "rows of nobody": Join(
        "left", Scan("wards"), Scan("visits", (("ward", "w"),)), (("ward", "w"),)
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_plan_with_another_source_is_refused(tmp_path, what):
    """A plan is a value: whoever changes it gets no further than with a text."""
    with copied_vault(tmp_path / "home", make_vault, data(), "prepared") as curator:
        session = curator.session("ana")
        plan = session.explain("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        source = FORGED[what]
        tables = tuple(curator.tables[name] for name in replace(plan.query, source=source).tables)
        forged = replace(plan, query=replace(plan.query, source=source), tables=tables)
        with pytest.raises(DiscreetError, match="Nothing was"):
            session.run(forged)
        assert spent(curator) == spent(curator, "travellers") == 0


@pytest.mark.parametrize("tables", [("trips", "visits", "bills"), ("trips",), ("bills", "visits")])
def test_a_plan_that_names_other_tables_is_refused(tmp_path, tables):
    """The first private table pays: other people would, for rows that are not theirs."""
    with copied_vault(tmp_path / "home", make_vault, data(), "prepared") as curator:
        session = curator.session("ana")
        plan = session.explain(JOIN, epsilon=1)
        forged = replace(plan, tables=tuple(curator.tables[name] for name in tables))
        with pytest.raises(DiscreetError, match="Nothing was run or charged"):
            session.run(forged)
        assert spent(curator) == spent(curator, "travellers") == 0


def test_what_is_private_cannot_be_public_under_another_name(tmp_path):
    with make_vault(tmp_path / "home", data(), "prepared") as curator:
        public = schema("wards")
        public["table"] |= {"name": "open", "source": str(tmp_path / "home" / "visits.parquet")}
        public["table"]["key"] = []
        public["columns"] = schema("visits")["columns"]
        with pytest.raises(SchemaError, match="Nothing was added"):
            curator.add(public)
        copy = tmp_path / "copy.parquet"
        copy.write_bytes((tmp_path / "home" / "visits.parquet").read_bytes())
        public["table"]["source"] = str(copy)
        with pytest.raises(SchemaError, match="belongs to the population 'patients'"):
            curator.add(public)
        public["table"]["name"] = "patients"
        with pytest.raises(SchemaError, match="protected"):
            curator.add(public)
        assert "open" not in curator.tables


def test_what_is_public_cannot_become_private_beside_it(tmp_path):
    with make_vault(tmp_path / "home", data(), "prepared") as curator:
        private = schema("visits")
        private["table"] |= {"name": "again", "source": str(tmp_path / "home" / "wards.parquet")}
        private["columns"] = schema("wards")["columns"]
        del private["table"]["unit"], private["table"]["rows_per_unit"]
        for population in ("again", "wards"):
            private["table"]["population"] = population
            with pytest.raises(SchemaError, match="Nothing was"):
                curator.add(private)
        assert "again" not in curator.tables


def test_an_error_target_and_options_work_on_joins(tmp_path):
    with copied_vault(tmp_path / "home", make_vault, data(), "prepared") as curator:
        session = curator.session("ana")
        plan = session.explain(JOIN, error=25)
        assert plan.error["n"] <= 25
        limited = JOIN.replace(
            "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=1)"
        )
        assert session.explain(limited).measures[0].sensitivity.l1 == 1
        assert session.explain(JOIN, epsilon=1).measures[0].sensitivity.l1 == 4
        assert session.sql(limited).receipt.cost == session.sql(JOIN, epsilon=1).receipt.cost
        with pytest.raises(InvalidValue):
            session.sql(limited, epsilon=2)
        assert spent(curator) == Fraction(2)


@pytest.mark.parametrize("way", thinned(WAYS, 3, "ways of adding tables"))
def test_units_are_compared_as_integers_only_where_both_are(tmp_path, way):
    """Bills have texts for units; the same people in whatever type are the same."""
    rows = data()
    rows["visits"] += [(None, 50, "a")]
    with make_vault(tmp_path / "home", rows, way) as curator:
        session = curator.session("ana")
        own = "SELECT COUNT(*) AS n FROM visits JOIN stays ON visits.patient = stays.patient"
        stays = schema("visits")
        stays["table"]["name"] = "stays"
        if way == "frames":
            del stays["table"]["source"], stays["budget"]
            curator.add(stays, data=frame("visits", rows["visits"][:40]))
        else:
            stays["table"]["source"] = str(write(tmp_path, "visits", rows["visits"][:40]))
            curator.add(stays) if way == "prepared" else curator.add_in_place(stays)
        assert '"$unit" = "$r"' in session.explain(own, epsilon=1).sql
        assert '"$unit" = "$r"' not in session.explain(JOIN, epsilon=1).sql
        assert without_noise(curator, own) == [{"n": 80}]
        assert without_noise(curator, JOIN) == [{"n": 58}]
        assert not session.sql(own, epsilon=1).free
        assert session.run(session.explain(own, epsilon=1)).free
