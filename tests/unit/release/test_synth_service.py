"""Synthetic data through a real curator: charged once and ahead, taken up again after an
interruption, refused where it must be; what comes out has the schema's types.
"""

import csv
import re
from dataclasses import replace
from datetime import date
from fractions import Fraction
from html import escape

import pyarrow as pa
import pytest

from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.errors import BudgetExceeded, InvalidValue, Stale, UnprovableRequest
from discreet.loss import Pure
from discreet.release.synth.report import custodian_page, public_page
from discreet.release.synth.service import exact_codes, synthesize
from discreet.release.synth.state import SynthesisState
from support.pace import thinned
from support.vaults import copied_curator, curator_of, people, write_source

COLUMNS = ["age", "income", "region", "day"]
BUDGET = "epsilon = 50\ndelta = 1e-6"


@pytest.fixture
def curator(request, tmp_path):
    open_curator = getattr(request, "param", copied_curator)
    with open_curator(tmp_path, people(600), budget=BUDGET) as made:
        made.grant("ana", epsilon=40, delta=1e-6)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


def charges(curator):
    return [entry for entry in curator.ledger.entries() if entry.act == "charge"]


def test_a_synthesis_is_charged_once_before_it_begins(curator, session):
    seen = []
    made = synthesize(
        session,
        "visits",
        epsilon=5,
        columns=COLUMNS,
        on_progress=lambda now: seen.append((now, len(charges(curator)))),
    )
    (entry,) = charges(curator)
    assert seen
    assert all(count == 1 for _, count in seen)
    assert made.cost.startswith("epsilon = 5 at ")
    assert made.cost.endswith(f"rho = {float(entry.loss.rho):.6g}")
    assert (made.unit, made.neighbours) == ("patient", "add-remove")
    assert 400 < made.model.total < 800
    assert len(made.model.marks) == 3
    texts = [note.text for note in made.notes]
    assert texts[0].startswith("visits: at most 2 rows of one patient are used")
    assert "Rows whose region is missing or not declared are in no group." in texts
    assert all(escape(str(note)) in public_page(made, 10) for note in made.notes)


def test_rows_have_the_schema_s_types_and_lie_within_its_bounds(session):
    made = synthesize(session, "visits", epsilon=20, columns=COLUMNS)
    rows = made.rows(300)
    assert list(rows) == COLUMNS
    assert all(each is None or (isinstance(each, int) and 0 <= each <= 110) for each in rows["age"])
    known = [each for each in rows["income"] if each is not None]
    assert known
    assert all(0 <= each <= 200_000 and each * 2 == int(each * 2) for each in known)
    assert set(rows["region"]) <= {"north", "south", "east", "empty"}
    days = [each for each in rows["day"] if each is not None]
    assert all(date(2024, 1, 1) <= each <= date(2024, 12, 31) for each in days)


def test_the_same_again_is_free_and_gives_the_same_model(curator, session):
    first = synthesize(session, "visits", epsilon=5, columns=["age", "region"])
    second = synthesize(session, "visits", epsilon=5, columns=["age", "region"])
    assert len(charges(curator)) == 1
    assert first.receipt == second.receipt
    assert (first.model.codes(50, None) == second.model.codes(50, None)).all()
    third = synthesize(session, "visits", epsilon=5, columns=["age", "region"], name="another")
    assert len(charges(curator)) == 2
    assert third.receipt != first.receipt


class Interrupted(Exception):
    """Somebody pulled the plug."""


def interrupt(_):
    raise Interrupted


def test_an_interrupted_synthesis_goes_on_where_it_stopped(curator, session, tmp_path):
    asked = {"epsilon": 5, "columns": COLUMNS, "name": "fever"}
    with pytest.raises(Interrupted):
        synthesize(session, "visits", on_progress=interrupt, **asked)
    stopped = SynthesisState.from_bytes(session.states.newest("fever").body)
    assert stopped.begun == 3  # the total, the one-way counts, the first round
    assert len(stopped.answers) == 2
    curator.close()
    with Curator.open(tmp_path / "vault", price_floor=0) as again:
        made = synthesize(again.session("ana"), "visits", **asked)
        assert len(charges(again)) == 1
        finished = SynthesisState.from_bytes(again.session("ana").states.newest("fever").body)
    assert finished.answers[2] is None  # begun, never answered: spent and lost
    assert len(finished.answers) == finished.begun > 3
    assert finished.answers[1][0].counts.tolist() == stopped.answers[1][0].counts.tolist()
    assert made.rows(10)


class Crowd:
    """Further runs of one synthesis, each begun when the one before it is at a given step, and
    the price of every step whose answer came into anybody's hands.
    """

    def __init__(self, curator, *, entered, name):
        self.curator, self.entered, self.name = curator, list(entered), name
        self.measure, self.prepay = Session.measure, Session.prepay
        self.spent, self.results = [], []

    def run(self):
        try:
            asked = {"epsilon": 5, "columns": ["age", "region"], "name": self.name}
            found = synthesize(self.curator.session("ana"), "visits", **asked)
        except Stale as refusal:
            found = refusal
        self.results.append(found)

    def measured(self, session, measurement, *, state, versions):
        found = self.measure(session, measurement, state=state, versions=versions)
        self.spent.append(SynthesisState.from_bytes(state.body).paid[-1])
        if self.entered and len(self.spent) == self.entered[0]:
            self.entered.pop(0)
            self.run()
        return found

    def prepaid(self, *asked, **more):
        paid = self.prepay(*asked, **more)
        if self.entered and self.entered[0] == 0:
            self.entered.pop(0)
            self.run()
        return paid


@pytest.mark.slow("syntheses")
@pytest.mark.parametrize("entered", [(0,), (1,), (2,), (3,), (0, 2)])
def test_runs_at_once_spend_together_what_one_is_charged(curator, monkeypatch, entered):
    crowd = Crowd(curator, entered=entered, name="crowd")
    monkeypatch.setattr(Session, "measure", lambda *asked, **more: crowd.measured(*asked, **more))
    monkeypatch.setattr(Session, "prepay", lambda *asked, **more: crowd.prepaid(*asked, **more))
    crowd.run()
    assert not crowd.entered
    assert len(crowd.results) == 1 + len(entered)
    (entry,) = charges(curator)
    assert sum(crowd.spent) <= entry.loss.rho
    state = curator.session("ana").states.newest("crowd")
    paid = SynthesisState.from_bytes(state.body).paid
    assert sorted(paid) == sorted(crowd.spent)  # all of it is in the ledger
    last, *overtaken = crowd.results  # who came last goes on to the end
    assert last.rows(5)
    assert all(isinstance(each, Stale) for each in overtaken)


def test_a_step_that_is_overtaken_reads_nothing(curator, session, monkeypatch):
    honest, looks = Session.measure, []

    def overtaken(session, measurement, *, state, versions):
        looked = []

        def release(exact, bits):
            looked.append(state.version)
            return measurement.release(exact, bits)

        if state.version == 4:  # somebody else takes this step first
            session.states.put(state)
        try:
            watched = replace(measurement, release=release)
            return honest(session, watched, state=state, versions=versions)
        finally:
            looks.append(looked)

    monkeypatch.setattr(Session, "measure", overtaken)
    with pytest.raises(Stale):
        synthesize(session, "visits", epsilon=5, columns=["age", "region"], name="fever")
    assert looks == [[3], []]
    assert len(charges(curator)) == 1


def test_a_name_stands_for_one_synthesis(session):
    synthesize(session, "visits", epsilon=5, columns=["age", "region"], name="fever")
    for other in ({"epsilon": 4, "columns": ["age", "region"]}, {"epsilon": 5, "columns": ["age"]}):
        with pytest.raises(InvalidValue, match="another question, price"):
            synthesize(session, "visits", name="fever", **other)


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_new_data_is_another_synthesis(curator, session, tmp_path):
    with pytest.raises(Interrupted):
        synthesize(
            session,
            "visits",
            epsilon=5,
            columns=["age", "region"],
            name="fever",
            on_progress=interrupt,
        )
    write_source(tmp_path, people(640))
    curator.refresh("visits")
    with pytest.raises(InvalidValue, match="state of the data"):
        synthesize(session, "visits", epsilon=5, columns=["age", "region"], name="fever")
    synthesize(session, "visits", epsilon=5, columns=["age", "region"])
    assert len(charges(curator)) == 2


def test_more_than_the_budget_is_refused_and_leaves_no_trace(curator, session):
    with pytest.raises(BudgetExceeded):
        synthesize(session, "visits", epsilon=45, columns=COLUMNS, name="greedy")
    assert charges(curator) == []
    assert session.states.newest("greedy") is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["nothing"]}, "no columns nothing"),
        ({"columns": ["age", "age"]}, "twice"),
        ({"method": "magic"}, "marginals or mwem"),
        ({"columns": ["age"], "name": "../x"}, "cannot be used"),
    ],
)
def test_bad_requests_are_refused_before_they_cost(curator, session, options, words):
    with pytest.raises(InvalidValue, match=words):
        synthesize(session, "visits", epsilon=1, **options)
    assert charges(curator) == []


def test_an_unknown_table_is_refused(session):
    with pytest.raises(InvalidValue, match="no table"):
        synthesize(session, "nothing", epsilon=1)


def test_a_pure_budget_takes_mwem_only(tmp_path):
    with copied_curator(tmp_path, people(600), budget="epsilon = 10") as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        with pytest.raises(UnprovableRequest, match="mwem"):
            synthesize(session, "visits", epsilon=1, columns=["region"])
        made = synthesize(session, "visits", epsilon=8, columns=["region"], method="mwem")
        assert session.remaining.epsilon == 2
        (entry,) = charges(curator)
        assert entry.loss == Pure(epsilon=8)
        shares = [made.count({"region": [key]}).value for key in ("north", "south", "east")]
        assert all(120 < share < 280 for share in shares)


def test_files(session, tmp_path):
    made = synthesize(session, "visits", epsilon=5, columns=COLUMNS)
    with made.write(tmp_path / "rows.csv", 25).open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == COLUMNS
    assert len(rows) == 26
    import pyarrow.parquet as pq

    read = pq.read_table(made.write(tmp_path / "rows.parquet", 25))
    assert read.num_rows == 25
    assert str(read.schema.field("day").type) == "date32[day]"
    with pytest.raises(InvalidValue, match=r"\.csv or \.parquet"):
        made.write(tmp_path / "rows.txt", 25)
    with pytest.raises(InvalidValue, match="at least 1"):
        made.rows(0)


def test_counts_have_errors_that_the_noise_gives(session):
    made = synthesize(session, "visits", epsilon=30, columns=["age", "region"])
    found = made.count({"region": ["north"]}, made.spread(12))
    assert abs(found.value - 200) < 150  # 2 as a rule, 20 in one of a hundred runs
    assert 0 < found.error < 150
    low, high = found.interval()
    assert low < found.value < high
    assert made.count({"region": ["nowhere"]}).value == 0
    with pytest.raises(InvalidValue, match="no column"):
        made.count({"nothing": [1]})


def test_two_pages_and_only_one_of_them_is_for_everyone(curator, session):
    made = synthesize(session, "visits", epsilon=5, columns=["age", "region"])
    exact = exact_codes(curator, made)
    assert len(exact) == 600
    public = public_page(made, 500)
    private = custodian_page(made, 500, exact, "region")
    assert "Not for release" not in public
    assert "Not for release" in private
    assert public.count("<svg") == 3  # two columns, one association
    assert private.count("<svg") == 3  # data, synthetic, difference
    assert "three-way" not in public  # two columns have no three-way tables
    assert "trained on synthetic rows" in private
    assert f"{made.model.marks[1].distance:.4f}" in public


def test_the_public_page_does_not_depend_on_the_data_but_through_the_model(curator, session):
    made = synthesize(session, "visits", epsilon=5, columns=["age", "region"])
    before = public_page(made, 500)
    curator.close()  # the data is out of reach
    assert len(public_page(made, 500)) > 0.5 * len(before)


def test_what_was_paid_counts_when_a_synthesis_goes_on(session):
    """A ledger that says that steps cost everything leaves nothing for further ones."""
    asked = {"epsilon": 5, "columns": ["age", "region"], "name": "fever"}
    with pytest.raises(Interrupted):
        synthesize(session, "visits", on_progress=interrupt, **asked)
    state = session.states.newest("fever")
    course = SynthesisState.from_bytes(state.body)
    dear = replace(course, paid=(*course.paid[:-1], Fraction(course.spec.price)))
    session.states.put(state.next(dear.to_bytes()))
    with pytest.raises(BudgetExceeded):
        synthesize(session, "visits", **asked)


def test_one_column_is_enough(session):
    made = synthesize(session, "visits", epsilon=20, columns=["region"])
    assert abs(made.count({"region": ["south"]}).value - 200) < 40
    assert len(made.model.marks) == 1


@pytest.mark.parametrize(("neighbours", "squared"), [("add-remove", 4), ("replace", 8)])
def test_steps_are_priced_for_the_table_s_relation(tmp_path, neighbours, squared):
    """Two rows may lie in one cell; replaced, they may leave one and reach another."""
    with copied_curator(tmp_path, people(80), budget=BUDGET, neighbours=neighbours) as curator:
        curator.grant("ana", epsilon=40, delta=1e-6)
        session = curator.session("ana")
        synthesize(session, "visits", epsilon=5, columns=["region"], name="fever")
        course = SynthesisState.from_bytes(session.states.newest("fever").body)
    (total,) = course.answers[0]
    assert float(total.variance) == pytest.approx(squared / (2 * float(course.paid[0])), rel=1e-9)
    assert float(course.paid[0]) == pytest.approx(
        float(Fraction(course.spec.price)) / 100, rel=1e-9
    )


KINDS = {
    "number": {"type": "number", "lower": 0, "upper": 9, "step": 0.5},
    "integer": {"type": "integer", "lower": 0, "upper": 5000},
    "boolean": {"type": "boolean"},
    "category": {"type": "category", "keys": ["a", "b"]},
    "date": {"type": "date", "lower": date(2024, 1, 1), "upper": date(2025, 6, 30)},
}


@pytest.mark.parametrize("null", thinned(["drop", "error", None], 3, "syntheses"))
def test_notes_name_the_columns_that_people_know(tmp_path, null):
    """All kinds of columns: a note names columns of the table and nothing of the synthesis."""
    columns = {
        f"my_{kind}_{at}": each | ({} if null is None or kind == "category" else {"null": null})
        for kind, each in KINDS.items()
        for at in range(2)
    }
    values = {"number": 1.5, "integer": 7, "boolean": True, "category": "a",
              "date": date(2024, 5, 5)}  # fmt: skip
    data = pa.table({name: [values[name.split("_")[1]]] * 9 for name in columns})
    schema = {"table": {"name": "t"}, "columns": columns, "budget": {"epsilon": 50, "delta": 1e-6}}
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(schema, data=data)
        curator.grant("ana", epsilon=50, delta=1e-6)
        made = synthesize(curator.session("ana"), "t", epsilon=10)
    assert made.notes
    for note in made.notes:
        named = re.findall(
            r"(?:Rows whose |^|, | or )(\w+) (?:counts|from|is|or) ", note.text.partition(": ")[0]
        )
        assert named, note.text
        assert set(named) <= set(columns), note.text
    assert not any("not at all" in note.text for note in made.notes)  # missing values are rows too
    lost = [note.text for note in made.notes if "in no group" in note.text]
    assert lost == [
        "Rows whose my_category_0 or my_category_1 is missing or not declared are in no group."
    ]
