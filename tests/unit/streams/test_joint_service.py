"""Joint questions through a curator: paid once, refused by the questions alone, pinned, durable."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pandas
import pytest

from discreet.curator.curator import Curator
from discreet.errors import (
    BudgetExceeded,
    InvalidValue,
    SchemaError,
    Unavailable,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.loss import Pure
from discreet.streams.counter.counter import Counter
from discreet.streams.joint.joint import Joint
from discreet.streams.service import refuse_unseen_changes
from support.vaults import copied_curator, curator_of, people, write_source

COUNT = "SELECT COUNT(*) AS n FROM visits"
YOUNG, OLD = f"{COUNT} WHERE age < 40", f"{COUNT} WHERE age >= 40"
REGIONS = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
CELLS = ("age", "region")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A session for tests that change no data and use names of their own."""
    folder = tmp_path_factory.mktemp("kept")
    with copied_curator(folder / "c", people(), budget="epsilon = 100000") as made:
        made.grant("ana", epsilon=90_000)
        yield made.session("ana")


@pytest.fixture
def curator(request, tmp_path):
    open_curator = getattr(request, "param", copied_curator)
    with open_curator(tmp_path / "c", people(), budget="epsilon = 1000") as made:
        made.grant("ana", epsilon=900)
        yield made


def opened(session, name, epsilon=400, sensitivity=2, columns=CELLS):
    return Joint.open(
        session,
        table="visits",
        name=name,
        epsilon=epsilon,
        sensitivity=sensitivity,
        columns=columns,
    )


def test_disjoint_questions_cost_nothing_extra(kept):
    """Two rows a person: the joint sensitivity of a partition is 2, of a question about all 4."""
    joint = opened(kept, "disjoint", sensitivity=2)
    assert joint.sensitivity == 0
    for question in (YOUNG, OLD):
        joint.ask(question)
        assert joint.sensitivity == 2
    with pytest.raises(BudgetExceeded, match="more than 1 to all answers together"):
        joint.ask(COUNT)
    assert joint.sensitivity == 2
    assert joint.exact


def test_groups_are_disjoint(kept):
    joint = opened(kept, "groups", epsilon=4000, sensitivity=2)
    reading = joint.ask(REGIONS)
    assert joint.sensitivity == 2
    # A scale of 2/4000: noise once in e^2000.
    assert [(row["region"], row["n"]) for row in reading.rows] == [
        ("north", 20),
        ("south", 20),
        ("east", 20),
        ("empty", 0),
    ]
    with pytest.raises(BudgetExceeded):
        joint.ask(REGIONS.replace("COUNT(*)", "COUNT(income)"))


def test_sums_count_in_the_units_of_their_column(kept):
    joint = opened(kept, "sums", epsilon=4000, sensitivity=222)
    reading = joint.ask("SELECT SUM(age) AS s, COUNT(*) AS n FROM visits")
    assert joint.sensitivity == 2 * (110 + 1)
    ages = sum(row[1] for row in people())
    assert abs(reading.rows[0]["s"] - ages) < 5
    assert reading.half_widths["s"] == reading.half_widths["n"]


def test_noise_has_the_scale_of_the_theorem(kept):
    joint = opened(kept, "scale", epsilon=Fraction(1, 2), sensitivity=10)
    reading = joint.ask(COUNT)
    # 20 ln 20 = 59.9 rounded by the exact tail of the discrete law
    assert 58 <= reading.half_widths["n"] <= 62


def test_steps_that_differ_meet_on_one_scale(kept):
    joint = opened(kept, "steps", sensitivity=500_000, columns=("region",))
    joint.ask("SELECT SUM(income) AS s FROM visits WHERE region = 'north'")
    assert joint.sensitivity == 2 * 200_000
    joint.ask(f"{COUNT} WHERE region = 'north'")
    assert joint.sensitivity == 2 * 200_001
    joint.ask(f"{COUNT} WHERE region = 'south'")
    assert joint.sensitivity == 2 * 200_001
    assert not joint.exact  # income has no cells: its largest value stands for all


def test_the_same_question_again_is_the_same_answer(kept):
    joint = opened(kept, "again", epsilon=1, sensitivity=2)
    first = joint.ask(COUNT)
    assert joint.ask("select count(*) as n from visits").rows == first.rows
    assert joint.ask(COUNT) == first


def test_a_refusal_is_the_same_whatever_the_data(tmp_path):
    """Neighbouring tables, the same questions: the same refusals at the same places."""
    seen = []
    for place, rows in enumerate((people(), people()[2:], people(4))):
        with copied_curator(tmp_path / str(place), rows, budget="epsilon = 10") as curator:
            curator.grant("ana", epsilon=5)
            joint = opened(curator.session("ana"), "j", epsilon=1, sensitivity=4)
            verdicts = []
            for question in (YOUNG, COUNT, OLD, f"{COUNT} WHERE age = 7", REGIONS):
                try:
                    joint.ask(question)
                    verdicts.append("answered")
                except BudgetExceeded as refusal:
                    verdicts.append(str(refusal))
            seen.append((verdicts, joint.sensitivity))
    assert seen[0] == seen[1] == seen[2]
    assert [each == "answered" for each in seen[0][0]] == [True, True, True, False, False]


def test_it_is_charged_once_and_goes_on_after_a_restart(curator, tmp_path):
    session = curator.session("ana")
    before = session.remaining.epsilon
    joint = opened(session, "j", epsilon=3, sensitivity=4)
    entry = curator.ledger.entries()[-1]
    assert entry.loss == Pure(epsilon=3)
    assert "Joint questions j" in entry.memo
    first = joint.ask(YOUNG)
    assert session.remaining.epsilon == before - 3
    curator.close()
    with Curator.open(tmp_path / "c" / "vault", price_floor=0) as again:
        session = again.session("ana")
        joint = opened(session, "j", epsilon=3, sensitivity=4)
        assert joint.sensitivity == 2
        assert joint.ask(YOUNG) == first
        assert session.remaining.epsilon == before - 3
        joint.ask(COUNT)
        with pytest.raises(BudgetExceeded):
            joint.ask(f"{COUNT} WHERE age < 30")


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_new_data_end_it(curator, tmp_path):
    session = curator.session("ana")
    joint = opened(session, "j", sensitivity=8)
    said = joint.ask(YOUNG)
    write_source(tmp_path / "c", people(90))
    curator.refresh("visits")
    with pytest.raises(Unavailable, match="stays with version 1"):
        joint.ask(OLD)
    assert joint.ask(YOUNG) == said  # what was said may be said again


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_another_schema_ends_it(curator, tmp_path):
    session = curator.session("ana")
    joint = opened(session, "j", sensitivity=8)
    schema = tmp_path / "c" / "visits.toml"
    schema.write_text(schema.read_text().replace("upper = 110", "upper = 120"))
    curator.add(schema)
    with pytest.raises(Unavailable, match="another schema"):
        joint.ask(YOUNG)
    with pytest.raises(Unavailable, match="another schema"):
        opened(session, "j", sensitivity=8)


def test_two_at_once_share_one_account_of_questions(kept):
    one, other = (opened(kept, "shared", epsilon=1, sensitivity=2) for _ in range(2))
    first = one.ask(YOUNG)
    assert other.ask(YOUNG) == first
    other.ask(OLD)
    with pytest.raises(BudgetExceeded):
        one.ask(COUNT)
    assert one.sensitivity == other.sensitivity == 2


def test_a_question_whose_answer_was_lost_is_asked_again_for_free(kept, monkeypatch):
    """It was counted before a row was read; what was never told is measured anew."""
    joint = opened(kept, "lost", epsilon=1, sensitivity=2)
    with monkeypatch.context() as broken:
        broken.setattr(type(joint), "_noise", lambda *_: None)
        with pytest.raises(Unavailable):
            joint.ask(YOUNG)
    assert kept.states.newest("lost").version == 2
    assert isinstance(joint.ask(YOUNG).rows[0]["n"], int)
    assert joint.sensitivity == 2


def test_units_that_are_replaced_count_twice(tmp_path):
    folder = tmp_path / "r"
    with copied_curator(folder, people(), budget="epsilon = 10", neighbours="replace") as curator:
        curator.grant("ana", epsilon=5)
        joint = opened(curator.session("ana"), "j", epsilon=1, sensitivity=4)
        joint.ask(YOUNG)
        assert joint.sensitivity == 4
        assert not joint.exact


def test_columns_are_chosen_by_size(kept):
    joint = Joint.open(kept, table="visits", name="chosen", epsilon=1, sensitivity=8)
    joint.ask(f"{COUNT} WHERE region = 'north' AND age < 20 AND day > DATE '2024-05-01'")
    assert joint.exact
    joint.ask(f"{COUNT} WHERE region = 'north' AND income > 10")
    assert not joint.exact


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT AVG(age) AS a FROM visits", "divide them yourself"),
        ("SELECT COUNT(DISTINCT patient) AS p FROM visits", "divide them yourself"),
        ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n", "in no order"),
        ("SELECT COUNT(*) AS n FROM (SELECT age FROM visits) v", "visits itself"),
    ],
)
def test_other_questions_are_refused(kept, sql, words):
    joint = opened(kept, "refusals", sensitivity=100)
    with pytest.raises(UnsafeQuery, match=words):
        joint.ask(sql)
    assert joint.sensitivity == 0


def test_parameters_are_checked(kept):
    with pytest.raises(InvalidValue, match="sensitivity is 0"):
        opened(kept, "x", sensitivity=0)
    with pytest.raises(InvalidValue, match="epsilon is -1"):
        opened(kept, "x", epsilon=-1)
    with pytest.raises(InvalidValue, match="the limit is 1e18"):
        opened(kept, "x", sensitivity=1e19)
    with pytest.raises(SchemaError, match="no column 'agee'"):
        opened(kept, "x", columns=("agee",))
    with pytest.raises(UnsafeQuery, match="cells; the limit is"):
        opened(kept, "x", columns=("big",))
    with pytest.raises(UnsafeQuery, match="there is no table 'visits v'"):
        Joint.open(kept, table="visits v", name="x", epsilon=1, sensitivity=1)
    assert kept.states.newest("x") is None


def test_a_name_means_one_thing(kept):
    opened(kept, "mine", epsilon=1)
    with pytest.raises(InvalidValue, match="choose another name"):
        opened(kept, "mine", epsilon=2)
    with pytest.raises(InvalidValue, match="is a joint, not a counter"):
        Counter.open(kept, REGIONS, name="mine", versions=1)


def test_the_only_table_and_the_settings_are_the_default(kept):
    one = Joint.open(kept, epsilon=1, sensitivity=4)
    said = one.ask(YOUNG)
    assert Joint.open(kept, epsilon=1.0, sensitivity=4).ask(YOUNG) == said
    assert Joint.open(kept, epsilon=2, sensitivity=4).name != one.name


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_without_a_table_there_must_be_one(curator):
    curator.add(
        {
            "table": {"name": "other"},
            "columns": {"x": {"type": "boolean"}},
            "budget": {"epsilon": 1},
        },
        data=pandas.DataFrame({"x": [True]}),
    )
    with pytest.raises(InvalidValue, match="there are 2: other, visits"):
        Joint.open(curator.session("ana"), epsilon=1, sensitivity=4)


def test_tables_that_change_unseen_are_refused(kept):
    plan = kept.prepare(COUNT)
    refuse_unseen_changes(plan)
    with pytest.raises(UnprovableRequest, match="may change without a new version"):
        refuse_unseen_changes(replace(plan, dialect="postgresql"))


def test_threads_share_one_limit(kept):
    """Eight threads ask overlapping questions of one service: no more than fit are answered."""
    joint = opened(kept, "threads", epsilon=1, sensitivity=6)
    answered = []

    def ask(place):
        with contextlib.suppress(BudgetExceeded):
            joint.ask(f"{COUNT} WHERE age < {50 + place}")
            answered.append(place)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert len(answered) == 3
    assert joint.sensitivity == 6
