"""Counters through a curator: paid once, each bucket read once, durable, and bounded over time."""

from collections import Counter as Tally
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pandas
import pytest

from discreet.curator.curator import Curator
from discreet.errors import (
    BudgetExceeded,
    InvalidValue,
    Stale,
    Unavailable,
    UnprovableRequest,
    UnsafeQuery,
)
from discreet.streams.counter.counter import Counter
from discreet.streams.counter.factorisation import Factorisation
from support.vaults import copied_curator, curator_of, people, write_source

MONTHS = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month"
INCOMES = "SELECT DATE_TRUNC('month', day) AS m, SUM(income) AS s FROM visits GROUP BY m"
BUDGET = "epsilon = 1000\ndelta = 1e-6"
HUGE = 10**9  # so little noise that sums are exact to a hundredth


@pytest.fixture
def curator(request, tmp_path):
    open_curator = getattr(request, "param", copied_curator)
    with open_curator(tmp_path / "c", people(), budget=BUDGET) as made:
        made.grant("ana", epsilon=900, delta=1e-6)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A session for tests that change no data and use names of their own."""
    with copied_curator(tmp_path_factory.mktemp("kept") / "c", people(), budget=BUDGET) as made:
        made.grant("ana", epsilon=900, delta=1e-6)
        yield made.session("ana")


def events(folder, rows):
    """The same rows in a table in which each row is one person."""
    folder.mkdir()
    source = write_source(folder, rows)
    made = Curator.open(folder / "vault", price_floor=0)
    made.add(
        {
            "table": {"name": "visits", "source": str(source)},
            "columns": {
                "day": {"type": "date", "lower": date(2024, 1, 1), "upper": date(2024, 12, 31)}
            },
            "budget": {"epsilon": 1000, "delta": 1e-6},
        }
    )
    made.grant("ana", epsilon=900, delta=1e-6)
    return made


def by_month(rows, upto):
    months = Tally(int(row[4][5:7]) for row in rows)
    return [sum(months[m] for m in range(1, last + 1)) for last in range(1, upto + 1)]


def entries_of(stretch):
    """The exact entries behind a stretch, which only its secret noise can give."""
    track = stretch.track
    encoded = [a - b for a, b in zip(track.noisy, track.noise, strict=True)]
    return Factorisation(12).recover(encoded)


def months_until(counter, month):
    return counter.advance(upto=date(2024, month, 28))


def test_running_counts_are_those_of_the_table(kept):
    counter = Counter.open(kept, MONTHS, name="running_counts_", rho=150, versions=1)
    first = months_until(counter, 3)
    assert [point.start for point in first] == [date(2024, m, 1) for m in (1, 2, 3)]
    rest = months_until(counter, 12)
    assert len(rest) == 9
    for point, truth in zip((*first, *rest), by_month(people(), 12), strict=True):
        assert abs(point.value - truth) < 20 * point.half_width  # a failure once in 1e300
    assert counter.points == (*first, *rest)


def test_it_is_charged_once_when_it_begins(session, curator):
    before = len(curator.ledger.entries())
    counter = Counter.open(session, MONTHS, name="visits", epsilon=1, versions=2)
    entry = curator.ledger.entries()[-1]
    assert entry.loss == counter.design.cost
    assert "The counter visits" in entry.memo
    assert "unit-level: all rows of one patient" in entry.memo
    left = session.remaining
    months_until(counter, 2)
    months_until(counter, 9)
    assert session.remaining == left
    assert len(curator.ledger.entries()) == before + 1


def test_the_price_is_what_epsilon_buys(kept):
    plan = kept.explain(MONTHS, epsilon=1)
    design = Counter.explain(kept, MONTHS, epsilon=1, versions=1)
    assert design.cost.rho <= plan.cost.rho
    assert design.cost.rho > plan.cost.rho * (1 - Fraction(1, 10**9))


def test_the_price_covers_every_row_of_a_unit(kept):
    """Two rows a person in each version: both may lie in one bucket, in every version."""
    for versions in (1, 3):
        design = Counter.explain(kept, MONTHS, rho=1, versions=versions)
        moved = 4 * versions * Factorisation(12).norm_squared(1)
        assert design.cost.rho == moved / (2 * design.running.variance)
        assert Fraction(999, 1000) < design.cost.rho <= 1
    with pytest.raises(UnprovableRequest, match="protects single rows, and the unit of visits"):
        Counter.explain(kept, MONTHS, rho=1)


def test_fewer_buckets_of_a_version_are_more_exact(kept):
    widths = [
        max(Counter.explain(kept, MONTHS, rho=1, versions=12, buckets=most).errors)
        for most in (1, 3, 12)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[2] / 1.5
    assert max(Counter.explain(kept, MONTHS, rho=1, versions=12).errors) == widths[2]


def test_no_more_buckets_of_a_version_than_declared(kept):
    counter = Counter.open(kept, MONTHS, name="few", rho=1, versions=2, buckets=3)
    assert len(months_until(counter, 2)) == 2
    with pytest.raises(Unavailable, match="reads 3 buckets of one version, and these would be 4"):
        months_until(counter, 4)
    assert len(months_until(counter, 3)) == 1


def test_sums_are_in_the_units_of_the_column(kept):
    counter = Counter.open(kept, INCOMES, name="incomes", rho=150, versions=1)
    truth = sum(row[2] for row in people() if row[2] is not None)
    (last,) = months_until(counter, 12)[-1:]
    assert abs(last.value - truth) < 20 * last.half_width
    assert 1000 < last.half_width < 200_000  # two rows of at most 200,000


def test_what_was_said_stays_after_a_restart(session, curator, tmp_path):
    counter = Counter.open(session, MONTHS, name="visits", epsilon=1, versions=1)
    said = months_until(counter, 6)
    entries = len(curator.ledger.entries())
    curator.close()
    with Curator.open(tmp_path / "c" / "vault", price_floor=0) as again:
        counter = Counter.open(again.session("ana"), MONTHS, name="visits", versions=1)
        assert counter.points == said
        assert months_until(counter, 6) == ()
        assert len(months_until(counter, 12)) == 6
        assert counter.points[:6] == said
        assert len(again.ledger.entries()) == entries


def test_noise_is_drawn_once(kept):
    """Reading on does not average the noise away: the points are the very same numbers."""
    counter = Counter.open(kept, MONTHS, name="noise_is_drawn_", epsilon=1, versions=1)
    said = months_until(counter, 6)
    for _ in range(3):
        assert Counter.open(kept, MONTHS, name="noise_is_drawn_", versions=1).points == said


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_new_data_is_read_as_often_as_declared(session, curator, tmp_path):
    counter = Counter.open(session, MONTHS, name="visits", rho=150, versions=2)
    months_until(counter, 4)
    write_source(tmp_path / "c", people(90))
    curator.refresh("visits")
    said = months_until(counter, 8)
    assert len(said) == 4
    write_source(tmp_path / "c", people(120))
    curator.refresh("visits")
    with pytest.raises(Unavailable, match="has read 2 versions of the data, as many as were"):
        months_until(counter, 12)
    assert len(counter.points) == 8


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_points_stay_and_new_ones_are_those_of_the_new_data(session, curator, tmp_path):
    """What was said stays as it was; the next point counts all months in the new version."""
    counter = Counter.open(session, MONTHS, name="visits", rho=150, versions=2)
    said = months_until(counter, 4)
    write_source(tmp_path / "c", people(120))
    curator.refresh("visits")
    fifth, sixth = months_until(counter, 6)
    assert counter.points == (*said, fifth, sixth)
    assert abs(said[-1].value - by_month(people(60), 4)[-1]) < 20 * said[-1].half_width
    for point, truth in zip((fifth, sixth), by_month(people(120), 6)[4:], strict=True):
        assert abs(point.value - truth) < 20 * point.half_width
        assert point.half_width < 1
    assert (fifth.half_width, sixth.half_width) == (said[0].half_width, said[1].half_width)
    first, second = counter._read()[1].stretches
    assert set(first.track.noise).isdisjoint(second.track.noise)
    assert entries_of(first) == np.diff(by_month(people(60), 4), prepend=0).tolist()
    # The first entry from the new version holds all earlier months of it.
    assert entries_of(second) == [by_month(people(120), 5)[-1], 120 // 12]


def test_single_rows_are_protected_where_rows_are_people(tmp_path):
    with events(tmp_path / "e", people()) as curator:
        session = curator.session("ana")
        sql = "SELECT day, COUNT(*) AS n FROM visits GROUP BY day"
        design = Counter.explain(session, sql, rho=1)
        assert design.protects.startswith("event-level: one row of visits")
        assert design.cost.rho == Factorisation(366).norm_squared(1) / (2 * design.running.variance)
        assert len(design.buckets) == 366
        counter = Counter.open(session, sql, name="days", rho=150)
        write_source(tmp_path / "e", people(61))
        curator.refresh("visits")
        assert len(counter.advance(upto=date(2024, 5, 31))) == 152
        write_source(tmp_path / "e", people(70))
        curator.refresh("visits")
        later = counter.advance(upto=date(2024, 12, 31))
        assert len(later) == 214
        # A row is counted once, in its bucket; those of the new data before June are not.
        truth = (
            by_month(people(61), 5)[-1] + by_month(people(70), 12)[-1] - by_month(people(70), 5)[-1]
        )
        assert abs(later[-1].value - truth) < 20 * later[-1].half_width
        # With a number of versions the guarantee is for the person of a row, whatever it becomes.
        thrice = Counter.explain(session, sql, rho=1, versions=3)
        assert thrice.running.variance > 2.9 * design.running.variance


def test_somebody_else_first(kept):
    one = Counter.open(kept, MONTHS, name="somebody_else_f", epsilon=1, versions=1)
    other = Counter.open(kept, MONTHS, name="somebody_else_f", versions=1)
    held = kept.states.newest("somebody_else_f")
    said = months_until(one, 3)
    with pytest.raises(Stale):
        kept.states.put(held.next(held.body))
    assert other.points == said
    assert len(months_until(other, 4)) == 1


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT DATE_TRUNC('month', day) AS m, AVG(age) AS a FROM visits GROUP BY m", "one thing"),
        (
            "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n, SUM(age) AS s FROM visits "
            "GROUP BY m",
            "one thing",
        ),
        ("SELECT COUNT(*) AS n FROM visits", "one date of one table"),
        ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", "one date of one table"),
        (
            "SELECT DATE_TRUNC('month', day) AS m, region, COUNT(*) AS n FROM visits "
            "GROUP BY m, region",
            "one date of one table",
        ),
    ],
)
def test_other_questions_are_refused(kept, sql, words):
    with pytest.raises(UnsafeQuery, match=words):
        Counter.open(kept, sql, name="c", rho=1, versions=1)


@pytest.mark.parametrize("versions", [0, -1, True, 1.0, "2", 10**6])
def test_versions_are_checked(kept, versions):
    with pytest.raises(InvalidValue, match="versions is"):
        Counter.open(kept, MONTHS, name="c", rho=1, versions=versions)
    with pytest.raises(InvalidValue, match="buckets is"):
        Counter.open(kept, MONTHS, name="c", rho=1, versions=1, buckets=versions)


def test_buckets_without_versions_are_refused(kept):
    with pytest.raises(InvalidValue, match="give versions too"):
        Counter.open(kept, MONTHS, name="c", rho=1, buckets=3)


def test_another_question_under_the_same_name_is_refused(kept):
    Counter.open(kept, MONTHS, name="another_questio", rho=1, versions=1)
    with pytest.raises(InvalidValue, match="choose another name"):
        Counter.open(kept, INCOMES, name="another_questio", rho=1, versions=1)
    with pytest.raises(InvalidValue, match="choose another name"):
        Counter.open(kept, MONTHS, name="another_questio", rho=1, versions=2)


def test_a_pure_budget_is_refused(tmp_path):
    with copied_curator(tmp_path / "p", people()) as curator:
        curator.grant("ana", epsilon=1)
        with pytest.raises(UnprovableRequest, match="grant with delta"):
            Counter.open(curator.session("ana"), MONTHS, name="c", epsilon=0.5, versions=1)


def test_too_dear_a_counter_is_refused_and_leaves_nothing(kept):
    with pytest.raises(BudgetExceeded):
        Counter.open(kept, MONTHS, name="c", rho=HUGE, versions=1)
    assert kept.states.newest("c") is None


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_another_schema_ends_a_counter(session, curator, tmp_path):
    Counter.open(session, MONTHS, name="visits", rho=1, versions=1)
    schema = tmp_path / "c" / "visits.toml"
    schema.write_text(schema.read_text().replace("2024-12-31", "2025-12-31"))
    curator.add(schema)
    with pytest.raises(Unavailable, match="another schema"):
        Counter.open(session, MONTHS, name="visits", versions=1)


def test_without_a_name_the_settings_are_the_name(kept):
    one = Counter.open(kept, MONTHS, rho=2, versions=1)
    entries = len(kept._vault.ledger.entries())
    assert Counter.open(kept, MONTHS, rho=2.0, versions=1).name == one.name
    assert len(kept._vault.ledger.entries()) == entries
    assert Counter.open(kept, MONTHS, rho=3, versions=1).name != one.name


def test_another_price_under_the_same_name_is_refused(kept):
    Counter.open(kept, MONTHS, name="priced", rho=2, versions=1)
    with pytest.raises(InvalidValue, match="opened at another price"):
        Counter.open(kept, MONTHS, name="priced", rho=4, versions=1)
    assert Counter.open(kept, MONTHS, name="priced", rho=2, versions=1).points == ()


def test_a_day_holds_all_of_its_times(tmp_path):
    schema = {
        "table": {"name": "calls"},
        "columns": {
            "at": {
                "type": "datetime",
                "lower": datetime(2024, 1, 1),
                "upper": datetime(2024, 1, 3),
                "step": 21_600,
            }
        },
        "budget": {"epsilon": 1000, "delta": 1e-6},
    }
    times = [datetime(2024, 1, 1, 6 * part) for part in range(4) for _ in range(part + 1)]
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(schema, data=pandas.DataFrame({"at": times}))
        curator.grant("ana", epsilon=900, delta=1e-6)
        sql = "SELECT at, COUNT(*) AS n FROM calls GROUP BY at"
        counter = Counter.open(curator.session("ana"), sql, rho=150)
        assert len(counter.advance(upto=datetime(2024, 1, 1, 6))) == 2
        points = counter.advance(upto=date(2024, 1, 1))
        assert [point.start.hour for point in points] == [12, 18]
        assert abs(points[-1].value - 10) < 20 * points[-1].half_width
        assert len(counter.advance(upto=date(2024, 1, 2))) == 4
        with pytest.raises(InvalidValue, match="must be a date"):
            counter.advance(upto="2024-01-02")
