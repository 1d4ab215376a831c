"""Two curators whose tables differ in one person, as far out as a person can be: whatever is not
noisy is identical, and nothing exact is ever seen.
"""

import logging
import os
import signal
import traceback
from pathlib import Path

import pytest

from discreet.curator.access import Access
from discreet.curator.curator import Curator
from discreet.errors import DiscreetError, Unavailable
from discreet.ledger.history import Outcome
from discreet.noise.bits import SeededBits
from support.vaults import curator_of, people, write_schema, write_source

CANARY = 7_318_507_264_913_551
EXTREME = [
    (99, 10**18, float("inf"), "nowhere", "9999-12-31", CANARY),
    (99, -(10**18), float("nan"), None, "not a date", CANARY),
    (99, None, -1e308, "'; DROP", None, None),
    (99, 110, 200000.0, "north", "2024-02-29", CANARY),
]
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT region, COUNT(*) AS n, SUM(income) AS s, AVG(age) AS a FROM visits GROUP BY region",
    "SELECT region, COUNT(DISTINCT patient) AS n FROM visits GROUP BY region ORDER BY region DESC",
    "SELECT FLOOR(age / 10) AS decade, STDDEV(income) AS d FROM visits GROUP BY 1",
    "SELECT DATE_TRUNC('quarter', day) AS q, SUM(big) AS s FROM visits GROUP BY 1",
    "SELECT SUM(big) AS s, SUM(CASE WHEN age > 50 THEN -big ELSE big END) AS t FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed=1) "
    "region, VAR_SAMP(age) AS v FROM visits WHERE age / -3 < 5 OR big * 1000 > 0 GROUP BY region",
]
REFUSED = [
    ("SELECT * FROM visits", {"epsilon": 0.1}),
    ("SELECT big, COUNT(*) FROM visits GROUP BY big", {"epsilon": 0.1}),
    ("SELECT COUNT(*) FROM visits", {"epsilon": 100}),
    ("SELECT AVG(age) / COUNT(*) FROM visits", {"error": 1}),
    ("SELECT SUM(big * big) FROM visits", {"epsilon": 0.1}),
    ("SELECT COUNT(*) FROM vists", {"epsilon": 0.1}),
]


@pytest.fixture(scope="module", params=["add-remove", "replace"])
def twins(request, tmp_path_factory):
    """Curators with and without the person; under replace, with somebody else instead."""
    folder = tmp_path_factory.mktemp("twins")
    without = people() if request.param == "add-remove" else [*people(), *quiet()]
    made = [
        curator_of(folder / name, rows, neighbours=request.param)
        for name, rows in (("with", [*people(), *EXTREME]), ("without", without))
    ]
    for curator in made:
        curator.grant("ana", epsilon=9)
    yield made
    for curator in made:
        curator.close()


def quiet():
    return [(99, 30, 1.0, "south", "2024-03-03", 1)]


def shape(answer, plan):
    """All of an answer that is not noise."""
    rows = answer.to_dicts()
    keys = [domain.name for domain in plan.domains]
    return (
        answer.columns,
        [[row[name] for name in keys] for row in rows],
        [[type(value) for value in row.values()] for row in rows],
        [list(interval) for interval in answer.intervals()],
        answer.receipt.cost,
        answer.receipt.mechanisms,
        len(answer),
        answer.free,
    )


@pytest.mark.parametrize("text", QUESTIONS)
def test_shape_charge_and_plan_are_the_same(twins, text):
    plans = [twin.session("ana").explain(text, epsilon=0.2) for twin in twins]
    assert plans[0].sql == plans[1].sql
    assert plans[0].error == plans[1].error
    answers = [t.session("ana").run(p) for t, p in zip(twins, plans, strict=True)]
    shapes = [shape(a, p) for a, p in zip(answers, plans, strict=True)]
    assert shapes[0] == shapes[1]
    left = [twin.session("ana").remaining for twin in twins]
    assert left[0] == left[1]


@pytest.mark.parametrize(("text", "price"), REFUSED)
def test_refusals_are_the_same_and_carry_nothing(twins, text, price):
    raised = []
    for twin in twins:
        before = twin.session("ana").remaining
        with pytest.raises(DiscreetError) as caught:
            twin.session("ana").sql(text, **price)
        assert twin.session("ana").remaining == before
        raised.append((type(caught.value), str(caught.value), repr(caught.value)))
    assert raised[0] == raised[1]


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_same_bits_give_the_same_answer_where_exact_values_agree(twins, text):
    """Rows of the far person are filtered away, so both tables agree exactly."""
    narrowed = _narrowed(text)
    answers = []
    for twin in twins:
        plan = twin.session("ana").explain(narrowed, epsilon=0.25)
        bits = SeededBits(17)
        answers.append(Access(twin._vault, twin._warehouse, "ana").answer(plan, bits=bits))
    assert answers[0].to_dicts() == answers[1].to_dicts()
    assert answers[0].intervals() == answers[1].intervals()


def _narrowed(text):
    """Nobody but the ordinary people: their big numbers are small, and below 30."""
    if " WHERE " in text:
        return text.replace(" WHERE ", " WHERE (big > 1 AND big < 60) AND (").replace(
            " GROUP BY", ") GROUP BY"
        )
    head, mark, tail = text.partition(" GROUP BY")
    return f"{head} WHERE big > 1 AND big < 60{mark}{tail}"


def texts_of(error):
    """Everything an exception shows, causes and contexts included."""
    shown = []
    while error is not None:
        shown += [str(error), repr(error), repr(error.args), repr(getattr(error, "__dict__", {}))]
        shown += traceback.format_exception(error)
        error = error.__cause__ or error.__context__
    return "\n".join(shown)


def test_no_exact_value_is_shown_or_stored(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    rows = [(n, 50, 10.0, "north", "2024-05-05", CANARY) for n in range(7)]
    folder = tmp_path / "canary"
    secrets = [str(CANARY), str(7 * CANARY), f"{7 * CANARY:e}"[:10], f"{CANARY:e}"[:10]]
    with curator_of(folder, rows) as curator:
        curator.grant("ana", epsilon=9)
        session = curator.session("ana")
        plan = session.explain("SELECT SUM(big) AS s, AVG(big) AS a FROM visits", epsilon=0.5)
        answer = session.run(plan)
        seen = [repr(plan), repr(answer), repr(answer.receipt), repr(session), repr(curator)]
        seen += [answer._repr_html_(), repr(session.transcript), repr(curator.tables)]
        engine = curator._warehouse.engine(("visits",))
        seen += [repr(engine), repr(curator._warehouse), repr(curator._vault)]
        _break(curator, folder)
        with pytest.raises(Unavailable) as caught:
            session.sql("SELECT SUM(big) AS s FROM visits WHERE age > 3", epsilon=0.5)
        seen.append(texts_of(caught.value))
        seen += [record.getMessage() for record in caplog.records]
    for secret in secrets:
        assert not [text for text in seen if secret in text]
    for file in (folder / "vault").rglob("*"):
        if file.is_file() and "prepared" not in file.parent.name:
            content = file.read_bytes()
            assert not [s for s in (*secrets, "prepared-rows") if s.encode() in content], file.name
            assert CANARY.to_bytes(8, "little") not in content
            assert (7 * CANARY).to_bytes(8, "little") not in content


def _break(curator, folder: Path):
    """Make every further statement fail: the prepared file is no database and the child dead."""
    curator._warehouse.engine(("visits",)).close()
    for file in (folder / "vault" / "prepared").glob("*.duckdb"):
        file.write_bytes(b"nothing")


def test_an_engine_failure_keeps_the_charge_and_says_one_fixed_thing(tmp_path):
    messages = []
    for name, rows in (("one", people()), ("two", [*people(), *EXTREME])):
        folder = tmp_path / name
        with curator_of(folder, rows) as curator:
            curator.grant("ana", epsilon=1)
            session = curator.session("ana")
            _break(curator, folder)
            with pytest.raises(Unavailable) as caught:
                session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25)
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
            assert session.remaining.epsilon == 0.75
            assert [each.outcome for each in session.transcript] == [Outcome.FAILURE]
            messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_killed_engine_comes_back(tmp_path):
    with curator_of(tmp_path / "killed", people()) as curator:
        curator.grant("ana", epsilon=1)
        session = curator.session("ana")
        session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25)
        holding = curator._warehouse.engine(("visits",))._own_holding()
        os.kill(holding.child.number, signal.SIGKILL)
        try:
            session.sql("SELECT COUNT(*) AS n FROM visits WHERE age > 1", epsilon=0.25)
        except Unavailable:
            assert session.remaining.epsilon == 0.5
        answer = session.sql("SELECT COUNT(*) AS n FROM visits WHERE age > 2", epsilon=0.25)
        assert len(answer) == 1
        assert session.remaining.epsilon == 0.25


def test_the_charge_is_durable_before_the_engine_runs(tmp_path):
    with curator_of(tmp_path / "order", people()) as curator:
        curator.grant("ana", epsilon=1)
        session = curator.session("ana")
        seen = []

        class Watching:
            dialect = "duckdb"

            def rows(self, sql):
                seen.append((sql, session.remaining.epsilon))
                raise KeyboardInterrupt

        curator._warehouse.engines.opened[("visits",)] = ((1,), Watching())
        with pytest.raises(KeyboardInterrupt):
            session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25)
        assert [left for _, left in seen] == [0.75]
        assert session.remaining.epsilon == 0.75
        curator._warehouse.engines.opened.clear()


def test_the_source_itself_in_place_gives_the_same_exact_values(tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    write_source(folder, [*people(), *EXTREME])
    answers = []
    for name in ("add", "add_in_place"):
        with Curator.open(folder / name, price_floor=0) as curator:
            getattr(curator, name)(write_schema(folder))
            curator.grant("ana", epsilon=9)
            for text in QUESTIONS:
                plan = curator.session("ana").explain(text, epsilon=0.5)
                bits = SeededBits(17)
                done = Access(curator._vault, curator._warehouse, "ana").answer(plan, bits=bits)
                answers.append(done.to_dicts())
    half = len(QUESTIONS)
    assert answers[:half] == answers[half:]
