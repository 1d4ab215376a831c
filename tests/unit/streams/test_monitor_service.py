"""Monitors through a real curator: charges, alarms, restarts, what is refused. Thresholds are so
far away that the noise decides nothing.
"""

import json
import threading
from fractions import Fraction

import pytest

from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable, UnprovableRequest
from discreet.loss import ZCDP, Pure
from discreet.streams import Monitor, NumericSparse, Side, Sparse, Thresholds
from discreet.streams.monitor.design import Form
from discreet.streams.monitor.state import KEPT
from support.vaults import copied_curator, curator_of, people, write_source

COUNT = "SELECT COUNT(*) FROM visits"
FAR = 10**7


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path, people(), budget="epsilon = 20") as made:
        made.grant("ana", epsilon=10)
        made.grant("bob", epsilon=10)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


def charges(curator):
    return [entry for entry in curator.ledger.entries() if entry.act == "charge"]


def spent(session):
    return 10 - session.remaining.epsilon


def test_a_run_is_charged_once_when_it_starts_and_never_for_checks(curator, session):
    monitor = Monitor.open(session, COUNT, threshold=FAR, alarms=2, epsilon=1, name="busy")
    assert spent(session) == 1
    for _ in range(5):
        check = monitor.check()
        assert check.said is Side.BELOW
        assert check.number is None
        assert check.alarms_left == 2
    assert spent(session) == 1
    (entry,) = charges(curator)
    assert entry.loss == Pure(epsilon=1)
    memo = json.loads(entry.memo)
    assert memo["label"] == "Run 1 of the monitor busy"
    assert memo["question"] == COUNT
    assert memo["alarms"] == "2"


def test_alarms_are_counted_and_nothing_is_answered_after_the_last(session):
    monitor = Monitor.open(session, COUNT, threshold=-FAR, alarms=2, epsilon=1, name="busy")
    said = [monitor.check(), monitor.check(threshold=FAR), monitor.check()]
    assert [each.said for each in said] == ["above", "below", "above"]
    assert [each.alarms_left for each in said] == [1, 1, 0]
    assert [each.number_of_check for each in said] == [1, 2, 3]
    for _ in range(3):
        for threshold in (FAR, -FAR):
            with pytest.raises(BudgetExceeded, match="2 of 2 alarms are used"):
                monitor.check(threshold=threshold)
    assert monitor.alarms == (said[0], said[2])
    assert spent(session) == 1


def test_many_alarms_are_counted_and_the_newest_are_kept(session):
    monitor = Monitor.open(session, COUNT, threshold=-FAR, alarms=100, epsilon=1, name="busy")
    sizes = []
    for _ in range(KEPT + 6):
        monitor.check()
        sizes.append(len(session.states.newest("busy").body))
    assert monitor.values()["alarms_in_all"] == KEPT + 6
    assert [each.number_of_check for each in monitor.alarms] == list(range(7, KEPT + 7))
    assert sizes[-1] - sizes[-5] < 20  # a state does not grow with what was said


def test_the_next_run_is_charged_when_it_starts(curator, session):
    monitor = Monitor.open(session, COUNT, threshold=-FAR, alarms=1, epsilon=3, name="busy")
    with pytest.raises(InvalidValue, match="go on checking"):
        monitor.renew()
    assert monitor.check().above
    assert spent(session) == 3
    monitor.renew()
    assert spent(session) == 6
    check = monitor.check()
    assert (check.above, check.run, check.number_of_check) == (True, 2, 2)
    assert len(monitor.alarms) == 2
    monitor.renew()
    assert monitor.check().above
    with pytest.raises(BudgetExceeded, match="would bring"):
        monitor.renew()  # 12 of 10
    assert spent(session) == 9
    with pytest.raises(BudgetExceeded, match="1 of 1 alarms are used"):
        monitor.check()
    assert len(charges(curator)) == 3


def test_a_restart_goes_on_with_the_same_threshold(tmp_path):
    with copied_curator(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        monitor = Monitor.open(session, COUNT, threshold=-FAR, alarms=3, epsilon=1, name="busy")
        monitor.check()
        noise = monitor._read()[1].standing.noise
    for _ in range(2):
        with Curator.open(tmp_path / "vault", price_floor=0) as curator:
            session = curator.session("ana")
            again = Monitor.open(session, name="busy")
            assert again._read()[1].standing.noise == noise
            again.check()
            same = Monitor.open(session, COUNT, threshold=-FAR, alarms=3, epsilon=1, name="busy")
            assert same.alarms_left == again.alarms_left
            assert session.remaining.epsilon == 9
    with (
        Curator.open(tmp_path / "vault", price_floor=0) as curator,
        pytest.raises(BudgetExceeded, match="alarms are used"),
    ):
        Monitor.open(curator.session("ana"), name="busy").check()


def test_without_a_name_the_same_settings_are_the_same_monitor(session):
    first = Monitor.open(session, COUNT, threshold=FAR, epsilon=1)
    second = Monitor.open(session, COUNT, threshold=FAR, epsilon=1)
    other = Monitor.open(session, COUNT, threshold=FAR, epsilon=2)
    assert first.name == second.name != other.name
    assert spent(session) == 3
    assert Monitor.names(session) == (first.name, other.name)


def test_a_name_stands_for_one_question_and_price(session):
    words = {"threshold": FAR, "alarms": 2, "epsilon": 1, "name": "busy"}
    Monitor.open(session, COUNT, **words)
    for change in (
        {"threshold": FAR + 1},
        {"alarms": 3},
        {"epsilon": 2},
        {"numbers": 0.5},
    ):
        with pytest.raises(InvalidValue, match="choose another name"):
            Monitor.open(session, COUNT, **{**words, **change})
    with pytest.raises(InvalidValue, match="choose another name"):
        Monitor.open(session, "SELECT COUNT(*) FROM visits WHERE age > 3", **words)
    assert spent(session) == 1


def test_monitors_of_others_are_not_there(curator, session):
    Monitor.open(session, COUNT, threshold=FAR, epsilon=1, name="busy")
    with pytest.raises(InvalidValue, match="no monitor"):
        Monitor.open(curator.session("bob"), name="busy")
    for words in ({}, {"name": "busy "}, {"name": "x"}):
        with pytest.raises(InvalidValue):
            Monitor.open(session, **words)


def test_numbers_come_with_alarms_on_the_lattice(session):
    words = {"threshold": -(10**12), "alarms": 2, "epsilon": 4, "numbers": 0.5}
    income = "SELECT SUM(income) FROM visits"
    monitor = Monitor.open(session, income, **words, name="income")
    design = Monitor.explain(session, income, **words)
    assert isinstance(design.technique, NumericSparse)
    number = monitor.check().number
    assert number is not None
    assert (number / Fraction(1, 2)).denominator == 1
    truth = sum(row[2] or 0 for row in people())
    assert abs(number - Fraction(truth)) < 40 * design.number_error()
    assert monitor.check(threshold=10**12).number is None


def test_new_data_is_seen_and_costs_nothing(tmp_path):
    with curator_of(tmp_path, people(60)) as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        monitor = Monitor.open(session, COUNT, threshold=1000, epsilon=5, name="busy")
        first = monitor.check()
        assert (first.said, first.data_version) == ("below", "1")
        write_source(tmp_path, people(3000))
        with Curator.open(tmp_path / "vault", price_floor=0) as other:  # as `discreet refresh` does
            other.refresh("visits")
        second = monitor.check()
        assert (second.said, second.data_version) == ("above", "2")
        assert session.remaining.epsilon == 5


def test_a_sequence_of_questions_shares_a_run(session):
    monitor = Monitor.open(session, COUNT, threshold=FAR, alarms=1, epsilon=1, name="many")
    for age in range(20):
        question = f"SELECT COUNT(*) FROM visits WHERE age > {age}"
        assert monitor.check(question).question == question
    assert monitor.check("SELECT COUNT(DISTINCT patient) FROM visits", threshold=-FAR).above
    assert spent(session) == 1


def test_questions_that_the_charge_does_not_cover_are_refused_before_they_run(session):
    monitor = Monitor.open(session, COUNT, threshold=FAR, alarms=1, epsilon=1, name="many")
    before = session.states.newest("many").version
    for question, why in (
        ("SELECT SUM(age) FROM visits", "moves this value by up to 220 steps"),
        ("SELECT AVG(age) FROM visits", "one COUNT or SUM"),
        ("SELECT COUNT(*) + 1 FROM visits", "one COUNT or SUM"),
        ("SELECT COUNT(*), SUM(age) FROM visits", "one COUNT or SUM"),
        ("SELECT region, COUNT(*) FROM visits GROUP BY region", "without GROUP BY"),
        ("SELECT MEDIAN(age) FROM visits", "sums and counts"),
    ):
        with pytest.raises((InvalidValue, UnprovableRequest), match=why):
            monitor.check(question)
    assert session.states.newest("many").version == before


def test_a_run_for_rising_values_takes_no_others(session):
    wide = "SELECT SUM(big) FROM visits"  # signed
    rising = Monitor.open(
        session, "SELECT SUM(income) FROM visits", threshold=FAR, epsilon=1, name="rising"
    )
    with pytest.raises(UnprovableRequest):
        rising.check(wide)
    general = Monitor.open(session, wide, threshold=10**30, epsilon=1, name="general")
    assert general.check("SELECT SUM(income) FROM visits", threshold=10**30).said == "below"


def test_the_signed_question_of_the_same_reach_is_refused_for_its_sign(tmp_path):
    with copied_curator(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        rising = Monitor.open(
            session, "SELECT SUM(age) FROM visits", threshold=FAR, epsilon=1, name="rising"
        )
        with pytest.raises(UnprovableRequest, match="can fall"):
            rising.check("SELECT SUM(age - 55) FROM visits")


def test_which_form_is_chosen(session):
    def form(sql):
        return Monitor.explain(session, sql, threshold=1, epsilon=1).watched.form

    for sql in (
        COUNT,
        "SELECT COUNT(DISTINCT patient) FROM visits",
        "SELECT COUNT(income) FROM visits",
        "SELECT SUM(age) FROM visits",
    ):
        assert form(sql) == Form.MONOTONE
    assert form("SELECT SUM(big) FROM visits") == Form.GENERAL
    assert form("SELECT SUM(0 - age) FROM visits") == Form.GENERAL


def test_under_replace_nothing_is_monotone(tmp_path):
    with copied_curator(tmp_path, people(), neighbours="replace") as curator:
        curator.grant("ana", epsilon=10)
        design = Monitor.explain(curator.session("ana"), COUNT, threshold=1, epsilon=1)
        assert design.watched.form == Form.GENERAL
        assert design.cost == Pure(epsilon=1)


def test_a_zcdp_budget_buys_fresh_thresholds_at_their_rho(tmp_path):
    with copied_curator(tmp_path, people(), budget="epsilon = 10\ndelta = 1e-6") as curator:
        curator.grant("ana", epsilon=5, delta=1e-6)
        session = curator.session("ana")
        design = Monitor.explain(session, COUNT, threshold=FAR, alarms=4, epsilon=1)
        assert isinstance(design.technique, Sparse)
        assert design.technique.thresholds is Thresholds.FRESH
        plain = session.explain(COUNT, epsilon=1).cost
        assert isinstance(design.cost, ZCDP)
        assert 0.999 * plain.rho < design.cost.rho <= plain.rho * (1 + Fraction(1, 10**9))
        monitor = Monitor.open(session, COUNT, threshold=-FAR, alarms=4, epsilon=1, name="busy")
        left = session.remaining.rho
        assert [monitor.check().alarms_left for _ in range(4)] == [3, 2, 1, 0]
        assert session.remaining.rho == left


def test_a_refused_charge_leaves_no_monitor(session):
    with pytest.raises(BudgetExceeded):
        Monitor.open(session, COUNT, threshold=FAR, epsilon=11, name="dear")
    assert Monitor.names(session) == ()
    assert spent(session) == 0


def test_bad_settings_are_refused(session):
    for words in (
        {"threshold": None},
        {"threshold": float("nan")},
        {"threshold": "5"},
        {"alarms": 0},
        {"epsilon": 0},
        {"epsilon": None},
        {"numbers": 1},
        {"name": "../x"},
    ):
        with pytest.raises(InvalidValue):
            Monitor.open(session, COUNT, **{"threshold": 5, "epsilon": 1, **words})
    assert spent(session) == 0


def test_a_price_in_the_text_is_refused(session):
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1) COUNT(*) FROM visits"
    with pytest.raises(InvalidValue, match="beside the question"):
        Monitor.open(session, text, threshold=FAR, epsilon=1)
    assert spent(session) == 0


def test_an_amended_schema_that_lets_people_count_for_more_stops_the_run(tmp_path):
    with curator_of(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        monitor = Monitor.open(session, COUNT, threshold=FAR, epsilon=1, name="busy")
        schema = tmp_path / "visits.toml"
        schema.write_text(schema.read_text().replace("rows_per_unit = 2", "rows_per_unit = 5"))
        curator.add(schema)
        with pytest.raises(UnprovableRequest, match="up to 5 steps"):
            monitor.check()


def test_nothing_secret_and_nothing_exact_shows(curator, session):
    monitor = Monitor.open(session, COUNT, threshold=FAR, alarms=2, epsilon=1e-30, name="busy")
    monitor.check()
    watch = monitor._read()[1]
    noise = str(watch.standing.noise)
    # The scale has 31 digits: fewer than 15, which another text might hold, once in 10**15.
    assert len(noise.strip("-")) > 15
    shown = [repr(monitor), repr(watch), str(monitor.values()), repr(watch.standing)]
    shown += [repr(session.states.newest("busy"))]
    shown += [f"{entry.memo} {entry.event}" for entry in curator.ledger.entries()]
    assert [text for text in shown if noise in text] == []


def test_checks_at_the_same_time_use_each_alarm_once(session):
    """Six threads, three alarms: three times above, and then refusals."""
    monitor = Monitor.open(session, COUNT, threshold=-FAR, alarms=3, epsilon=1, name="race")
    said, refused = [], []

    def work():
        try:
            said.append(Monitor.open(session, name="race").check())
        except BudgetExceeded:
            refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.alarms_left for each in said) == [0, 1, 2]
    assert len(refused) == 3
    assert len(monitor.alarms) == 3


def test_two_who_begin_at_once_pay_once(session):
    made = []

    def work():
        made.append(Monitor.open(session, COUNT, threshold=FAR, epsilon=1, name="once"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert spent(session) == 1


def test_a_counter_of_the_same_name_is_not_taken_for_a_monitor(session):
    from discreet.ledger.states import Change

    session.states.put(Change(analyst="ana", name="other", kind="counter", version=1, body=b"{}"))
    with pytest.raises(InvalidValue, match="is a counter, not a monitor"):
        Monitor.open(session, name="other")


def test_a_failing_engine_says_nothing_and_changes_nothing(tmp_path):
    with copied_curator(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=10)
        monitor = Monitor.open(
            curator.session("ana"), COUNT, threshold=-FAR, epsilon=1, name="busy"
        )
        for file in (tmp_path / "vault").rglob("*.duckdb"):
            file.write_bytes(b"broken")
        with pytest.raises(Unavailable):
            monitor.check()
        assert monitor.alarms_left == 1
        assert monitor.alarms == ()


def test_a_refresh_during_a_check_has_it_made_again(tmp_path, monkeypatch):
    """The data move on between the look at their version and the run: the check is made anew."""
    with curator_of(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        monitor = Monitor.open(session, COUNT, threshold=-FAR, epsilon=1, name="busy")
        looked, look = [], Session.read_versions

        def slowly(*words):
            found = look(*words)
            if not looked:
                looked.append(found)
                write_source(tmp_path, people(80))
                curator.refresh("visits")
            return found

        monkeypatch.setattr(Session, "read_versions", slowly)
        check = monitor.check()
        assert looked == [(1,)]
        assert (check.data_version, check.number_of_check) == ("2", 1)
