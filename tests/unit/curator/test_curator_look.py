"""Looking around before asking: tables, limits beside a question, suggestions, constants that a
column cannot have. All of it from schemas, accounts and the question: twins say the same words.
"""

import json
from fractions import Fraction

import pandas as pd
import pytest

import discreet
from discreet.curator import access
from discreet.curator.curator import Curator
from discreet.errors import InvalidValue, UnsafeQuery
from discreet.loss import ZCDP
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.suggest import suggestions
from discreet.query.literals import refuse_unknown_values
from discreet.query.parse import parse
from discreet.schema.column import Column
from discreet.schema.described import Tables, table_values
from discreet.schema.table import Budget, Table
from discreet.schema.toml.read import read_schema_text
from discreet.schema.toml.write import schema_text
from discreet.streams import Counter, Joint, Monitor
from support.vaults import copied_curator, curator_of, people

COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_REGION = "SELECT region, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY region"
WRONG = f"{COUNT} WHERE region = 'nroth'"
CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({}) "


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path / "c", people(), budget="epsilon = 50\ndelta = 1e-6") as made:
        made.grant("ana", epsilon=20, delta=1e-6)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


def charges(curator):
    return [each for each in curator.ledger.entries() if each.act.value == "charge"]


# Limits


@pytest.mark.parametrize(
    "limits", [{"max_rows_contributed": 1}, {"max_groups_contributed": 1},
               {"max_groups_contributed": 1, "max_rows_contributed": 1}], ids=str)  # fmt: skip
def test_a_limit_beside_the_question_is_the_same_question_as_in_its_clause(
    curator, session, limits
):
    written = ", ".join(f"{name}={most}" for name, most in limits.items())
    beside = session.sql(BY_REGION, epsilon=1, **limits)
    clause = session.sql(BY_REGION.replace("SELECT ", CLAUSE.format(written), 1), epsilon=1)
    assert clause.free
    assert clause.to_dicts() == beside.to_dicts()
    assert len(charges(curator)) == 1
    assert session.sql(BY_REGION, epsilon=1, **limits).free
    assert not session.sql(BY_REGION, epsilon=1).free  # another question, with other rows
    assert session.explain(BY_REGION, epsilon=1, **limits) == beside.plan
    assert [each.plan.question for each in session.transcript] == [beside.plan.question, BY_REGION]
    assert written in beside.receipt.question
    assert session.run(session.explain(BY_REGION, epsilon=1, **limits)).free


def test_a_keyed_request_with_another_limit_is_another_request(session):
    first = session.sql(BY_REGION, epsilon=1, key="today", max_rows_contributed=1)
    again = session.sql(BY_REGION, epsilon=1, key="today", max_rows_contributed=1)
    assert again.free
    assert first.to_dicts() == again.to_dicts()
    with pytest.raises(InvalidValue, match="key"):
        session.sql(BY_REGION, epsilon=1, key="today")


FLIGHTS = {
    "table": {"name": "flights", "unit": "tailnum", "rows_per_unit": 100},
    "columns": {
        "dest": {"type": "category", "keys": [f"D{n}" for n in range(105)]},
        "delay": {"type": "integer", "lower": -30, "upper": 60},
        "city": {"type": "category", "keys": "private"},
    },
    "budget": {"epsilon": 50, "delta": 1e-6},
}


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_limit_lowers_the_noise_and_suggestions_say_by_how_much(tmp_path, delta):
    """For every question and kind of price: the figures are those that explain then shows."""
    asked = ["COUNT(*) AS n", "SUM(delay) AS s", "COUNT(DISTINCT tailnum) AS u",
             "MEDIAN(delay) AS m", "COUNT(*) AS n, AVG(delay) AS a"]  # fmt: skip
    questions = [f"SELECT {each} FROM flights" for each in asked[:-2]]
    questions += [f"SELECT dest, {each} FROM flights GROUP BY dest" for each in asked]
    if delta:
        questions.append("SELECT city, COUNT(*) AS n FROM flights GROUP BY city")
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(FLIGHTS, data=pd.DataFrame({"tailnum": [1], "dest": ["D1"], "delay": [3],
                                                "city": ["x"]}))  # fmt: skip
        curator.grant("ana", epsilon=20, delta=delta)
        session = curator.session("ana")
        for sql in questions:
            check_suggestions(session, sql)


def check_suggestions(session, sql):
    made = session.explain(sql, epsilon=1)
    found = suggestions(made)
    alone = "DISTINCT" in sql and "dest" not in sql  # a person is counted once anyway
    assert bool(found) != alone, sql
    for each in found:
        other = session.explain(sql, epsilon=1, **{each.option: each.value})
        assert other.error == each.error
        assert each.before == made.error
        assert each.share <= 0.5
        for name, error in other.error.items():
            assert error is made.error[name] is None or error <= 0.55 * made.error[name]
            assert error is None or f" of {name} is " in each.words


def test_nothing_is_suggested_where_nothing_helps(tmp_path):
    table = {
        "table": {"name": "people"},
        "columns": {"age": {"type": "integer", "lower": 0, "upper": 9}},
        "budget": {"epsilon": 1},
    }
    with Curator.open(tmp_path / "vault") as curator:
        curator.add(table, data=pd.DataFrame({"age": [1, 2, 3]}))
        curator.grant("ana", epsilon=1)
        made = curator.session("ana").explain("SELECT COUNT(*) AS n FROM people", epsilon=1)
        assert suggestions(made) == ()


# Constants


def test_a_monitor_goes_on_and_its_new_questions_are_refused(session):
    monitor = Monitor.open(session, f"{COUNT} WHERE region = 'north'", threshold=5, epsilon=1)
    with pytest.raises(UnsafeQuery, match="the nearest is 'north'"):
        monitor.check(WRONG)
    assert monitor.alarms_left == 1
    assert monitor.check(threshold=-(10**6)).above


def test_joint_questions_are_refused_before_they_count(session):
    joint = Joint.open(session, table="visits", epsilon=1, sensitivity=4)
    before = joint.sensitivity
    with pytest.raises(UnsafeQuery, match="the nearest is 'north'"):
        joint.ask(WRONG)
    assert joint.sensitivity == before


def open_monitor(session):
    Monitor.open(session, WRONG, threshold=5, epsilon=1)


def open_counter(session):
    sql = (
        "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM visits WHERE region = 'nroth' "
        "GROUP BY m"
    )
    Counter.open(session, sql, epsilon=1, versions=1)


ASKED = {
    "explain": lambda session: session.explain(WRONG, epsilon=1),
    "query": lambda session: session.sql(WRONG, epsilon=1),
    "query with a key": lambda session: session.sql(WRONG, epsilon=1, key="k"),
    "query for an error": lambda session: session.sql(WRONG, error=5),
    "average for an error": lambda session: session.sql(
        "SELECT AVG(age) AS a, SUM(CASE WHEN region = 'nroth' THEN 1 END) AS s FROM visits",
        error={"a": 5},
    ),
    "a monitor": open_monitor,
    "a counter": open_counter,
}


@pytest.mark.parametrize("ask", ASKED)
def test_a_constant_that_a_column_cannot_have_costs_nothing(curator, session, ask):
    before = session.remaining
    with pytest.raises(UnsafeQuery, match=r"nearest is 'north'\. Nothing was run or"):
        ASKED[ask](session)
    assert charges(curator) == []
    assert session.remaining == before
    assert session.transcript == []


def test_what_was_answered_before_such_constants_were_refused_stays_free(
    curator, session, monkeypatch
):
    with monkeypatch.context() as earlier:
        earlier.setattr(access, "refuse_unknown_values", lambda *_: None)
        old = session.sql(WRONG, epsilon=1)
    again = session.sql(WRONG, epsilon=1)
    assert again.free
    assert again.to_dicts() == old.to_dicts()
    assert session.explain(WRONG, epsilon=1) == old.plan
    assert len(session.transcript) == 1
    with pytest.raises(UnsafeQuery, match="nearest"):
        session.sql(WRONG, epsilon=2)  # at another price it is a new question
    assert len(charges(curator)) == 1


# Tables


def told(curator):
    """Everything that looking around says."""
    session = curator.session("ana")
    tables = session.tables
    made = session.explain(BY_REGION, epsilon=1)
    refused = []
    for sql in (WRONG, f"{COUNT} WHERE age > 900", f"{COUNT} WHERE region LIKE 'q%'"):
        with pytest.raises(UnsafeQuery) as found:
            session.explain(sql, epsilon=1)
        refused.append(str(found.value))
    return (
        repr(tables),
        tables._repr_html_(),
        repr(tables["visits"]),
        tables["visits"]._repr_html_(),
        json.dumps([dict(each) for each in tables.values()]),
        repr(made),
        [each.words for each in suggestions(made)],
        refused,
    )


def test_twins_say_the_same_words(tmp_path):
    rows = people()
    twins = [rows, [*rows[:10], (*rows[0][:3], "nroth", *rows[0][4:])] * 3]
    said = []
    for place, data in enumerate(twins):
        with copied_curator(tmp_path / str(place), data) as curator:
            curator.grant("ana", epsilon=5)
            said.append(told(curator))
    assert said[0] == said[1]


def test_looking_around_needs_no_data(curator, session):
    before = repr(session.tables["visits"])
    folder = curator.vault.folder
    for file in [*folder.rglob("*.duckdb"), *folder.parent.glob("*.parquet")]:
        file.unlink()
    assert repr(session.tables["visits"]) == before


def test_tables_show_columns_bounds_keys_notes_questions_and_budgets(curator, session):
    tables = session.tables
    assert list(tables) == ["visits"]
    assert "vists" not in tables
    visits = tables["visits"]
    text = repr(visits)
    for part in ("age     integer   0 to 110", "north, south, east, empty", "steps of 0.5",
                 "2024-01-01 to 2024-12-31", "at most 2 rows", "epsilon 20 of 20", "Note: ",
                 "Budget left of population patients: epsilon 50 of 50 at delta"):  # fmt: skip
        assert part in text, part
    assert str(curator.tables["visits"].source) not in text
    for question in visits["examples"]:
        session.explain(question, epsilon=1)  # what is offered is accepted
    session.sql(COUNT, epsilon=1)
    left = session.tables["visits"]["remaining"]["analyst"]
    assert left["epsilon"] <= float(session.remaining.epsilon) < left["epsilon"] + 0.01
    with pytest.raises(InvalidValue, match="Did you mean 'visits'"):
        tables["vists"]


KINDS = Table("t", unit="who", rows_per_unit=2, columns=(
    Column("i", "integer", upper=9), Column("n", "number", upper=9),
    Column("c", "category", upper=1, keys=("a", "b")),
    Column("p", "category", lower=0, upper=0, private_keys=True), Column("b", "boolean"),
    Column("d", "date", upper=400), Column("t", "datetime", upper=10**7),
))  # fmt: skip
VALUE = {"i": "3", "n": "3", "d": "DATE '1970-05-01'", "t": "TIMESTAMP '1970-02-01 00:00:00'"}


@pytest.mark.parametrize("column", [each.name for each in KINDS.columns])
def test_what_is_said_to_be_askable_can_be_asked(column):
    """Every word of `use`, for every kind of column, becomes a question and is planned."""
    (use,) = [each["use"] for each in table_values(KINDS)["columns"] if each["name"] == column]
    forms = {
        "compare": f"COUNT(*) AS a FROM t WHERE {column} >= {VALUE.get(column)}",
        "WHERE": f"COUNT(*) AS a FROM t WHERE {column}",
        "=": f"COUNT(*) AS a FROM t WHERE {column} = 'a'",
        "IN": f"COUNT(*) AS a FROM t WHERE {column} IN ('a')",
        "LIKE": f"COUNT(*) AS a FROM t WHERE {column} LIKE 'a%'",
    }
    asked = []
    for part in use.split("; "):
        if part.startswith("GROUP BY"):
            key = part.removeprefix("GROUP BY").strip().replace("x", column) or column
            asked.append(f"{key} AS k, COUNT(*) AS a FROM t GROUP BY {key}")
        else:
            words = part.split(", ")
            asked += [forms.get(each) or f"{each}({column}) AS a FROM t" for each in words]
    assert asked
    for text in asked:
        query = parse(f"SELECT {text}", {"t": KINDS})
        refuse_unknown_values(query, [KINDS])
        price = ZCDP(rho=1)
        assert plan(Draft(query=query, table=KINDS, price=price, delta=Fraction(1, 10**6))).error


def test_words_in_a_notebook_are_escaped():
    column = Column("c", "category", upper=0, keys=("<b>",), description="<i>")
    described = Tables([table_values(Table("t", columns=(column,), description="<script>"))])
    shown = described._repr_html_() + described["t"]._repr_html_()
    assert "&lt;script&gt;" in shown
    assert not [mark for mark in ("<script", "<b>", "<i>") if mark in shown]


def test_a_description_is_told_and_changes_no_answer(tmp_path):
    rows = people()
    with curator_of(tmp_path / "c", rows) as curator:
        curator.grant("ana", epsilon=5)
        plain = curator.tables["visits"]
        schema = tmp_path / "c" / "visits.toml"
        schema.write_text(
            schema.read_text()
            .replace('name = "visits"', 'name = "visits"\ndescription = "Every visit."')
            .replace("upper = 110 }", 'upper = 110, description = "in years" }')
        )
        curator.add(schema)
        table = curator.tables["visits"]
        assert table.version == plain.version
        assert table.to_json() != plain.to_json()
        assert '"description"' not in plain.to_json()
        assert Table.from_json(table.to_json()) == table == read_schema_text(schema_text(table))
        text = repr(curator.session("ana").tables["visits"])
        assert "visits: Every visit." in text
        assert "in years" in text


@pytest.mark.parametrize("text", ["two\nlines", "x" * 1001, 7])
def test_a_description_is_one_line(text):
    with pytest.raises(InvalidValue, match="one line of at most 1000 characters"):
        Column("c", "boolean", description=text)
    with pytest.raises(InvalidValue, match="one line of at most 1000 characters"):
        Table("t", description=text)


# Plans


def test_a_plan_is_shown_in_a_few_lines(session):
    made = session.explain(BY_REGION + " ", epsilon=1)
    lines = repr(made).splitlines()
    assert len(lines) <= 4
    assert max(map(len, lines)) < 300
    assert "n ± " in lines[2]
    wide = ", ".join(f"SUM(age + {n}) AS s{n}" for n in range(9))
    made = session.explain(f"SELECT {wide} FROM visits", epsilon=1)
    assert len(repr(made)) < 1200


@pytest.mark.parametrize("step", ["0.05", "0.3", "2", "0.07"])
def test_the_seconds_of_a_plan_are_whole_steps_of_the_grid(tmp_path, step):
    with copied_curator(tmp_path / "c", people()) as curator:
        curator.close()
    with Curator.open(tmp_path / "c" / "vault", grid_seconds=Fraction(step)) as made:
        made.grant("ana", epsilon=5)
        for session in (made.session("ana"), made.remote_session("ana")):
            for sql in (COUNT, "SELECT MEDIAN(age) AS m, MEDIAN(income) AS i FROM visits"):
                plan = session.explain(sql, epsilon=1)
                assert plan.answer_seconds == made.visible_after(plan)
                assert (plan.answer_seconds / Fraction(step)).denominator == 1
                assert plan.answer_seconds >= plan.working_seconds


def test_everything_that_is_listed_is_there():
    listed = dir(discreet)
    assert {"Curator", "Client", "schema", "attacks", "streams", "Pure"} <= set(listed)
    assert [name for name in listed if not hasattr(discreet, name)] == []
    assert set(discreet.__all__) <= set(listed)


def test_a_refused_grant_names_a_command(curator):
    with pytest.raises(InvalidValue, match="discreet ledger amend analyst ana --epsilon 30 --why"):
        curator.grant("ana", epsilon=30)
    budget = Budget(epsilon=3, delta=1e-5, delta_for_conversion=0.25)
    with pytest.raises(InvalidValue, match=r"--delta 1e-05 --delta-for-conversion 0\.25 --why"):
        curator.ledger.add_account("analyst", "ana", budget)
