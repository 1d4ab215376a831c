"""Answers carry their warnings: what is cut, clamped and left out, and what intervals are about.
Notes follow from schema and statement alone, so they are the same whatever the data, and what they
offer to ask is answered.
"""

import json
import re
import tomllib
from datetime import date
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.curator.replay import from_facts, public_facts
from discreet.errors import DiscreetError
from discreet.loss import ZCDP
from discreet.plan.parts.remarks import Note
from discreet.plan.pipeline import Draft, plan
from discreet.plan.results.explain import warnings_of
from discreet.plan.results.notes import notes_of
from discreet.query.algebra import Scan
from discreet.query.parse import parse
from discreet.report.values import answer_values
from discreet.schema.column import Column
from discreet.schema.table import Budget, Table
from support.command_line import run
from support.questions import TABLES
from support.sql_page import ACCEPTED
from support.twin_vaults import PERSONS, make_vault, make_vault_with

EXAMPLES = [text for _, _, cases in ACCEPTED for _, text in cases]
BUDGET = Budget(epsilon=4000, delta=1e-9)
# At this price noise moves no count: of scale below 1/1000, with probability below e**-500.
EXACT = 2000

FLIGHTS = """
[table]
name = "flights"
source = "flights.parquet"
unit = "tail"
rows_per_unit = 20
[columns]
delay   = { type = "integer", lower = -60, upper = 60, null = "drop" }
carrier = { type = "category", keys = ["AA", "UA"] }
[budget]
epsilon = 1000000
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """Thirty planes of a hundred flights each, a quarter of them an hour late or more."""
    folder = tmp_path_factory.mktemp("flights")
    rows = [(plane, 15 + 60 * (at % 4 == 0), ("AA", "UA", "ZZ")[at % 3]) for plane in range(30)
            for at in range(100)]  # fmt: skip
    rows += [(None, 5, "AA"), (99, -500, "UA"), (99, None, "UA")]
    names = zip(("tail", "delay", "carrier"), zip(*rows, strict=True), strict=True)
    pq.write_table(pa.table({name: list(each) for name, each in names}), folder / "flights.parquet")
    (folder / "flights.toml").write_text(FLIGHTS)
    with Curator.open(folder / "vault", price_floor=0) as curator:
        curator.add(folder / "flights.toml")
        curator.grant("ana", epsilon=10**6)
        yield curator, folder


def test_an_answer_five_times_too_small_says_so(flights):
    """3,001 flights are answered as 602: the cut, the bounds and what the interval is about."""
    curator, folder = flights
    question = "SELECT carrier, COUNT(*) AS n, SUM(delay) AS late FROM flights GROUP BY carrier"
    answer = curator.session("ana").sql("SELECT COUNT(*) AS n FROM flights", epsilon=EXACT)
    assert answer.to_dicts() == [{"n": 602}]
    assert [note.text for note in answer.notes] == [
        "flights: at most 20 rows of one tail are used, and none without one. Where there are "
        "more, counts and sums are too low.",
        "Intervals are about the noise alone: they hold for what the rows and values that are "
        "used would give.",
    ]
    said = [note.text for note in curator.session("ana").sql(question, epsilon=EXACT).notes]
    assert said[1:3] == [
        "delay counts from -60 to 60: values beyond count as the nearest bound, missing or "
        "unreadable ones not at all.",
        "Rows whose carrier is missing or not declared are in no group.",
    ]
    shown = run("query", question, "--as", "ana", "--vault", folder / "vault", "--epsilon", "9")
    told = " ".join(shown.out.split())
    for text in said:
        assert text in told


def test_how_much_was_cut_is_a_question_that_the_note_writes(flights):
    curator, _ = flights
    session = curator.session("ana")
    question = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1) carrier, "
        "SUM(delay) AS s FROM flights GROUP BY carrier"
    )
    asks = [note.ask for note in session.explain(question, epsilon=1).notes if note.ask]
    found = [next(iter(session.sql(ask, epsilon=EXACT).to_dicts()[0].values())) for ask in asks]
    at_the_limit, several_carriers, at_a_bound, nowhere = found
    assert at_the_limit == 30  # all but the plane of two flights
    assert several_carriers == 12  # by the fixed order in which 20 flights are kept
    late = session.sql("SELECT COUNT(*) AS n FROM flights WHERE delay >= 60", epsilon=EXACT)
    assert at_a_bound == late.to_dicts()[0]["n"] + 1
    placed = session.sql("SELECT COUNT(carrier) AS n FROM flights", epsilon=EXACT)
    assert nowhere == 602 - placed.to_dicts()[0]["n"] > 0
    shorter = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=5) COUNT(*) FROM flights"
    )
    (cut, _) = session.explain(shorter, epsilon=1).notes
    assert "at most 5 rows of one tail" in cut.text
    assert session.sql(cut.ask, epsilon=EXACT).to_dicts() == [{"units_at_the_limit": 30}]


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) AS n FROM people",
        "SELECT COUNT(*) AS n FROM people WHERE age >= 18 AND age < 65",
        "SELECT COUNT(age) AS n FROM people WHERE age IS NOT NULL",
        "SELECT COUNT(DISTINCT patient_id) AS n FROM visits",
    ],
)
def test_there_is_no_note_where_nothing_can_be_cut(ordinary, question):
    assert ordinary.session("ana").explain(question, epsilon=1).notes == ()


def test_a_date_inside_the_bounds_does_not_depend_on_them(ordinary):
    session = ordinary.session("ana")
    column = TABLES["visits"].columns
    (day,) = [each for each in column if each.name == "day"]
    inside, first = day.decode(day.lower + 20), day.decode(day.lower)
    for value, depends in ((inside, False), (first, True)):
        text = f"SELECT COUNT(*) AS n FROM visits WHERE day > DATE '{value}'"
        notes = session.explain(text, epsilon=1).notes
        assert any(note.text.startswith("day counts from") for note in notes) is depends


def test_a_threshold_at_a_bound_depends_on_the_bound(ordinary):
    session = ordinary.session("ana")
    for condition in ("age >= 0", "age IN (7, 110)", "age < 200", "2 * age > 50"):
        text = f"SELECT COUNT(*) AS n FROM people WHERE {condition}"
        try:
            notes = session.explain(text, epsilon=1).notes
        except DiscreetError:  # refused with the bounds named: nothing to warn about
            continue
        assert notes[0].text.startswith("age counts from 0 to 110")


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    """A vault with nothing special in it."""
    folder = tmp_path_factory.mktemp("ordinary")
    with make_vault(folder / "ordinary", None, "prepared", BUDGET) as made:
        yield made


@pytest.fixture(scope="module")
def curators(ordinary, tmp_path_factory):
    """Vaults with one schema and nothing else in common."""
    folder = tmp_path_factory.mktemp("curators")
    many = {name: rows * 3 for name, rows in PERSONS["many"]().items()}
    far = {**PERSONS["far"](), **many}
    made = {
        "far": make_vault_with(folder / "far", far, "in place", BUDGET),
        "empty": make_vault_with(folder / "empty", {}, "prepared", BUDGET),
    }
    yield {"ordinary": ordinary, **made}
    for curator in made.values():
        curator.close()


def surfaces(answer: Answer) -> dict[str, list[str]]:
    """The notes of an answer as each surface of Python gives them."""
    try:
        chart = answer.chart()["title"]["subtitle"]
    except DiscreetError:  # nothing is a number, or there are too many groups
        chart = None
    printed = [line.removeprefix("Note: ") for line in str(answer).splitlines()
               if line.startswith("Note: ")]  # fmt: skip
    listed = answer_values(answer)["notes"]
    return {
        "notes": [str(note) for note in answer.notes],
        "print": printed,
        "pandas": answer.to_pandas().attrs["notes"],
        "polars": answer.to_polars().attrs["notes"],
        "arrow": json.loads(answer.to_arrow().schema.metadata[b"notes"]),
        "json": [str(Note(each["text"], each["ask"] or "")) for each in listed],
        "chart": chart,
    }  # fmt: skip


@pytest.mark.slow("servers")
def test_notes_are_the_same_whatever_the_data_on_every_surface(curators):
    """All accepted constructs, of three vaults: one list of notes, on every surface of each."""
    told = 0
    for text in EXAMPLES:
        price = {} if "(epsilon=" in text else {"epsilon": 20}
        notes = curators["ordinary"].session("ana").explain(text, **price).notes
        expected = [str(note) for note in notes]
        for name in ("far", "empty"):
            session = curators[name].session("ana")
            answer = session.sql(text, **price)
            found = surfaces(answer)
            chart = found.pop("chart")
            assert {surface: each for surface, each in found.items() if each != expected} == {}
            assert chart is None or " ".join(chart) == " ".join(note.text for note in notes)
            again = session.sql(text, **price)
            assert again.free
            assert again.notes == notes
            assert warnings_of(answer.plan)[: len(expected)] == expected
        told += bool(notes)
    assert told > 60


def test_every_question_that_a_note_offers_is_answered(ordinary):
    session = ordinary.session("ana")
    offers = set()
    for text in EXAMPLES:
        price = {} if "(epsilon=" in text else {"epsilon": 20}
        offers |= {note.ask for note in session.explain(text, **price).notes if note.ask}
    for table in TABLES.values():
        for column in table.columns:
            if table.kind == "private" and not column.private_keys:
                text = f"SELECT {column.name}, COUNT(*) FROM {table.name} GROUP BY 1 LIMIT 3"
                offers |= {note.ask for note in _notes(session, text) if note.ask}
    assert len(offers) > 20
    for offer in sorted(offers):
        assert len(session.sql(offer, epsilon=1)) == 1, offer


def _notes(session, text):
    try:
        return session.explain(text, epsilon=1).notes
    except DiscreetError:  # too many keys
        return ()


@pytest.mark.parametrize("dialect", ["postgresql", "spark"])
def test_notes_do_not_depend_on_the_engine(dialect):
    for text in EXAMPLES:
        plans = [_planned(text, each) for each in ("duckdb", dialect)]
        assert plans[0].notes == plans[1].notes


def test_stored_answers_of_earlier_versions_have_the_same_notes(ordinary):
    """A body holds no notes: they follow from the question and the schema that it does hold."""
    session = ordinary.session("ana")
    answer = session.sql("SELECT region, AVG(income) AS a FROM visits GROUP BY region", epsilon=3)
    facts = public_facts(answer)
    assert "notes" not in facts
    charge = session._vault.releases.find_cited(answer.receipt.id, analyst="ana").receipt
    again = from_facts(json.loads(json.dumps(facts)), charge)
    assert again.notes == answer.notes == notes_of(answer.plan) != ()


def test_names_that_are_words_of_sql_can_be_asked_about(tmp_path):
    schema = {
        "table": {"name": "order", "unit": "group", "rows_per_unit": 3},
        "columns": {
            "select": {"type": "integer", "lower": 0, "upper": 9},
            "where": {"type": "category", "keys": ["a", "b"]},
        },
        "budget": {"epsilon": 100},
    }
    data = pa.table({"group": [1, 1], "select": [4, 5], "where": ["a", "b"]})
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(schema, data=data)
        curator.grant("ana", epsilon=100)
        session = curator.session("ana")
        text = 'SELECT "where", SUM("select") AS s FROM "order" GROUP BY "where"'
        offers = [note.ask for note in session.explain(text, epsilon=1).notes if note.ask]
        assert len(offers) == 3
        for offer in offers:
            assert len(session.sql(offer, epsilon=1)) == 1


DAYS = """
[table]
name = "days"
unit = "who"
rows_per_unit = 6
[columns]
age    = { type = "integer", lower = 0, upper = 20 }
select = { type = "number", lower = -2, upper = 2, step = 0.5 }
ward   = { type = "category", keys = ["a", "b"] }
day    = { type = "date", lower = 2024-01-01, upper = 2024-01-09 }
[budget]
epsilon = 1000000
"""
CONDITIONS = [
    "",
    "age > 7",
    "ward = 'a'",
    "NOT (\"select\" < 0.5) OR ward IN ('b')",
    "day >= DATE '2024-01-05' AND (age + 2 * \"select\") / 3 <= 4",
    "CASE WHEN ward IS NULL THEN age ELSE 20 - age END < 9",
    "EXTRACT(DAY FROM day) = 3 OR DATE_TRUNC('week', day) = DATE '2024-01-08' OR age IS NULL",
]
SHAPES = [
    "SELECT SUM(age) AS a FROM days{}",
    'SELECT SUM(age) AS a, AVG("select") AS s, MIN(day) AS d FROM days{}',
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1) ward, FLOOR(age / 4) AS f, "
    "COUNT(*) AS n FROM days{} GROUP BY ward, f",
]


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """People with at most six rows, none beyond a bound: what is prepared is what is here."""
    rows = [
        (who, (7 * who + 3 * at) % 21 if (who + at) % 5 else None, ((who * at) % 9 - 4) / 2,
         ("a", "b", None)[(who + at) % 3], date(2024, 1, 1 + (who + 2 * at) % 9))
        for who in range(40) for at in range(1 + who % 6)
    ]  # fmt: skip
    names = ("who", "age", "select", "ward", "day")
    frame = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    with Curator.open(tmp_path_factory.mktemp("days") / "vault", price_floor=0) as curator:
        curator.add(tomllib.loads(DAYS), data=frame)
        curator.grant("ana", epsilon=10**6)
        with duckdb.connect() as plain:
            plain.register("days", frame)
            yield curator.session("ana"), plain


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_offers_are_about_the_rows_of_the_statement(days, condition, shape):
    """What an offered question answers is what plain DuckDB finds on the statement's own rows."""
    session, plain = days
    notes = session.explain(
        shape.format(f" WHERE {condition}" if condition else ""), epsilon=1
    ).notes
    where = condition or "TRUE"
    concerned = f"SELECT DISTINCT who FROM days WHERE {where}"
    expected = {
        "units_at_the_limit": "SELECT COUNT(*) FROM (SELECT who FROM days GROUP BY who "
        f"HAVING COUNT(*) >= 6) WHERE who IN ({concerned})",
        "units_beyond": "SELECT COUNT(*) FROM (SELECT who FROM (SELECT DISTINCT who, ward, "
        f"FLOOR(age / 4) FROM days WHERE {where}) GROUP BY who HAVING COUNT(*) > 1)",
        "rows_at_a_bound": f"SELECT COUNT(*) FROM days WHERE ({where}) AND (age <= 0 OR age >= 20)",
        "age_at_a_bound": f"SELECT COUNT(*) FROM days WHERE ({where}) AND (age <= 0 OR age >= 20)",
        "select_at_a_bound": f'SELECT COUNT(*) FROM days WHERE ({where}) AND ABS("select") >= 2',
        "day_at_a_bound": f"SELECT COUNT(*) FROM days WHERE ({where}) AND "
        "day IN ('2024-01-01', '2024-01-09')",
        "rows_in_no_group": None,
    }
    tried = set()
    for ask in (note.ask for note in notes if note.ask):
        ((found,),) = [session.sql(ask, epsilon=EXACT).to_dicts()]
        for name, value in found.items():
            question = expected[name]
            if question is None:
                missing = "ward" if ask.rstrip(")").endswith("ward IS NULL") else "FLOOR(age / 4)"
                question = f"SELECT COUNT(*) FROM days WHERE ({where}) AND {missing} IS NULL"
            assert value == plain.sql(question).fetchall()[0][0], ask
            tried.add(name)
    assert len(tried) >= {0: 2, 1: 4, 2: 3}[SHAPES.index(shape)]


def test_a_condition_over_several_tables_is_not_left_out():
    """Nothing is offered for a condition that is not about the rows of one table."""
    narrowed = 0
    for text in EXAMPLES:
        query = parse(text, TABLES)
        if not isinstance(query.source, Scan) and "WHERE" in text.upper():
            narrowed += 1
            assert not any(note.ask for note in _planned(text).notes), text
    assert narrowed > 3


def _planned(text, dialect="duckdb"):
    query = parse(text, TABLES)
    first, *others = (TABLES[name] for name in query.tables)
    listed = tuple((table, f'"{table.name}"') for table in others)
    return plan(Draft(
        query=query, table=first, price=ZCDP(rho=1), delta=Fraction(1, 10**9), others=listed,
        question=text, dialect=dialect,
    ))  # fmt: skip


def test_notes_are_short_and_say_nothing_twice():
    """At most two sentences, and what is the same of several columns stands in one."""
    wide = Table("wide", unit="id", rows_per_unit=4, columns=tuple(
        Column(f"c{at}", "integer", upper=at + 1) for at in range(20)
    ))  # fmt: skip
    sums = ", ".join(f"SUM({each.name}) AS s{at}" for at, each in enumerate(wide.columns))
    draft = Draft(
        query=parse(f"SELECT {sums} FROM wide", {"wide": wide}), table=wide, price=ZCDP(rho=1)
    )
    notes = plan(draft).notes
    assert len(notes) == 5  # rows, three lines of at most eight columns, intervals
    for note in (*notes, *(each for text in EXAMPLES for each in _planned(text).notes)):
        assert len(re.findall(r"[.;] [A-Z]", note.text)) <= 1, note.text
    for text in EXAMPLES:
        texts = [note.text for note in _planned(text).notes]
        endings = [each.partition(": ")[2] for each in texts if " counts from " in each]
        tables = [each.partition(".")[0] for each in texts if " counts from " in each]
        assert len(set(zip(tables, endings, strict=True))) == len(endings), text
        reasons = [each.partition(" is ")[2] for each in texts if each.startswith("Rows whose ")]
        assert len(set(reasons)) == len(reasons), text


@pytest.mark.parametrize(
    "unit",
    ["used", "Concerned", "key_1", "touched", "each_unit", "units_beyond", "rows_at_a_bound"],
)
def test_offers_are_accepted_whatever_the_columns_are_called(unit):
    """The names in an offered question are not those of the table's columns."""
    columns = (
        Column("age", "integer", lower=0, upper=110),
        Column("ward", "category", keys=("a", "b")),
    )
    budget = Budget(epsilon=9)
    table = Table("t", unit=unit, rows_per_unit=5, columns=columns, budget=budget)
    offered = 0
    for text in (
        "SELECT SUM(age) AS s FROM t WHERE age > 4",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_groups_contributed = 1) ward, "
        "SUM(age) AS s FROM t WHERE age > 4 GROUP BY ward",
    ):
        draft = Draft(query=parse(text, {"t": table}), table=table, price=ZCDP(rho=1))
        for ask in filter(None, (note.ask for note in plan(draft).notes)):
            offered += 1
            assert parse(ask, {"t": table})
    assert offered >= 4


def test_first_rows_are_said_to_be_the_first_of_those_that_are_used():
    def said(text):
        query = parse(text, TABLES)
        made = plan(Draft(query=query, table=TABLES["visits"], price=ZCDP(rho=1)))
        return [note.text for note in notes_of(made)]

    row = "ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS place"
    inner = f"(SELECT age, {row} FROM visits)"
    note = (
        "First, last, previous and running values, ranks and row numbers are those among the rows "
        "of one patient_id that are used; missing values come last in their order."
    )
    assert note in said(f"SELECT COUNT(*) FROM {inner} WHERE place = 1")
    assert note not in said("SELECT COUNT(*) FROM (SELECT age FROM visits)")
