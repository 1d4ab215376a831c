"""Holdouts through a curator: paid once, the analyst's own mean where it holds, never too often."""

import copy
import json
import pickle
from fractions import Fraction

import pytest

from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable, UnsafeQuery
from discreet.loss import ZCDP, Pure, Sensitivity
from discreet.streams.holdout import holdout as module
from discreet.streams.holdout.holdout import Agreement, Holdout
from discreet.streams.holdout.thresholdout import Thresholdout
from support.vaults import copied_curator, curator_of, people, write_source

ROWS = 400
YOUNG = "SELECT COUNT(*) AS n FROM visits WHERE age < 45"
TRUTH = sum(row[1] < 45 for row in people(ROWS)) / ROWS  # about a half


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A session for tests that change no data and use names of their own."""
    folder = tmp_path_factory.mktemp("kept")
    with copied_curator(folder / "c", people(ROWS), budget="epsilon = 1000000") as made:
        made.grant("ana", epsilon=900_000)
        yield made.session("ana")


@pytest.fixture
def curator(request, tmp_path):
    open_curator = getattr(request, "param", copied_curator)
    with open_curator(tmp_path / "c", people(ROWS), budget="epsilon = 100000") as made:
        made.grant("ana", epsilon=90_000)
        yield made


def opened(session, name, epsilon=5000, threshold=0.1, overfits=2, **more):
    return Holdout.open(
        session,
        table="visits",
        name=name,
        threshold=threshold,
        overfits=overfits,
        epsilon=epsilon,
        **more,
    )


def test_a_mean_that_holds_is_given_back_as_it_is(kept):
    holdout = opened(kept, "holds")
    for training in (TRUTH, TRUTH + 0.01, TRUTH - 0.02):
        found = holdout.mean(YOUNG, training=training)
        assert (found.value, found.source, found.half_width) == (training, "training", None)
    assert holdout.left == 2


def test_a_mean_that_does_not_hold_is_corrected(kept):
    holdout = opened(kept, "corrected", epsilon=20)
    found = holdout.mean(YOUNG, training=TRUTH + 0.3)
    assert found.source is Agreement.HOLDOUT
    assert abs(found.value - TRUTH) < 0.05
    assert 0 < found.half_width < 0.05
    assert holdout.left == 1


def test_nothing_is_said_after_the_disagreements_are_used(kept):
    holdout = opened(kept, "used", overfits=2)
    for _ in range(2):
        assert holdout.mean(YOUNG, training=1).source is Agreement.HOLDOUT
    for training in (1, TRUTH):
        with pytest.raises(BudgetExceeded, match="2 of 2 alarms are used"):
            holdout.mean(YOUNG, training=training)


def test_sums_of_signed_values(kept):
    holdout = opened(kept, "signed", epsilon=300_000, reach=110, step=1)
    truth = sum(row[1] - 50 for row in people(ROWS)) / ROWS
    found = holdout.mean("SELECT SUM(age - 50) AS s FROM visits", training=truth + 30)
    assert found.source is Agreement.HOLDOUT
    assert abs(found.value - truth) < 1


def test_it_is_charged_once_and_goes_on_after_a_restart(curator, tmp_path):
    session = curator.session("ana")
    before = session.remaining.epsilon
    holdout = opened(session, "h", epsilon=5000)
    entry = curator.ledger.entries()[-1]
    assert entry.loss.epsilon <= 5000
    assert entry.loss.epsilon > Fraction(49_999, 10)
    assert "The holdout h" in entry.memo
    spent = before - session.remaining.epsilon
    holdout.mean(YOUNG, training=1)
    curator.close()
    with Curator.open(tmp_path / "c" / "vault", price_floor=0) as again:
        session = again.session("ana")
        holdout = opened(session, "h", epsilon=5000)
        assert holdout.left == 1
        holdout.mean(YOUNG, training=1)
        with pytest.raises(BudgetExceeded):
            holdout.mean(YOUNG, training=TRUTH)
        assert before - session.remaining.epsilon == spent


def test_the_cost_is_that_of_the_mechanisms_under_both_budgets(kept, tmp_path):
    holdout = opened(kept, "pure", epsilon=7)
    assert isinstance(holdout.settings.price, Pure)
    run = holdout.settings.mechanism.loss(Sensitivity.single(2))
    assert run.epsilon == 7 * Fraction(9, 10)  # two rows a person
    with copied_curator(tmp_path / "z", people(), budget="epsilon = 10\ndelta = 1e-6") as curator:
        curator.grant("ana", epsilon=8, delta=1e-6)
        session = curator.session("ana")
        Holdout.open(session, table="visits", name="h", threshold=0.1, overfits=3, rho=0.1)
        loss = curator.ledger.entries()[-1].loss
        assert isinstance(loss, ZCDP)
        assert Fraction(99, 1000) < loss.rho <= Fraction(1, 10)


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_new_data_end_it(curator, tmp_path):
    session = curator.session("ana")
    holdout = opened(session, "h")
    write_source(tmp_path / "c", people(90))
    curator.refresh("visits")
    with pytest.raises(Unavailable, match="stays with version 1"):
        holdout.mean(YOUNG, training=TRUTH)


def sizes(session, name):
    """Every size that was ever stored."""
    with session.states._states._store.reading() as connection:
        query = "SELECT body FROM states WHERE name = ? ORDER BY version"
        rows = connection.execute(query, (name,)).fetchall()
    found = [json.loads(bytes(body))["size"] for (body,) in rows]
    return [size for size in found if size is not None]


def stops(*_, **__):
    raise KeyboardInterrupt


def test_a_size_that_was_lost_is_spent_and_measured_again_for_its_price(kept, monkeypatch):
    """Charged and begun, then the machine stops: opened again, it goes on, and pays to look."""
    before = kept.remaining.epsilon
    with monkeypatch.context() as broken:
        broken.setattr(module, "replace", stops)
        with pytest.raises(KeyboardInterrupt):
            opened(kept, "lost", epsilon=5000)
    first = before - kept.remaining.epsilon
    assert 4999 < first <= 5000
    holdout = Holdout(kept, "lost", opened(kept, "settled", epsilon=5000).settings)
    with pytest.raises(Unavailable, match="does not know its size yet"):
        holdout.mean(YOUNG, training=TRUTH)
    spent = kept.remaining.epsilon
    with monkeypatch.context() as broken:
        broken.setattr(module, "replace", stops)
        with pytest.raises(KeyboardInterrupt):
            opened(kept, "lost", epsilon=5000)
    holdout = opened(kept, "lost", epsilon=5000)
    assert spent - kept.remaining.epsilon == 2 * 500  # two looks, a tenth of the price each
    assert len(sizes(kept, "lost")) == 1
    assert holdout.mean(YOUNG, training=TRUTH).source is Agreement.TRAINING
    spent = kept.remaining.epsilon
    opened(kept, "lost", epsilon=5000)
    assert kept.remaining.epsilon == spent


def test_a_size_that_many_measure_at_once_is_told_once_and_every_look_is_paid(kept, monkeypatch):
    """Each opens it while the one before has measured and not stored."""
    honest, looks = Session.measure, []

    def measure(session, measurement, **more):
        found = honest(session, measurement, **more)
        looks.append(measurement.cost)
        if len(looks) < 4:
            opened(kept, "raced", epsilon=1)
        return found

    before = kept.remaining.epsilon
    monkeypatch.setattr(Session, "measure", measure)
    holdout = opened(kept, "raced", epsilon=1)
    assert len(sizes(kept, "raced")) == 1
    assert len(looks) == 4
    assert before - kept.remaining.epsilon == sum(cost.epsilon for cost in looks)
    assert looks[1:] == [Pure(epsilon=Fraction(1, 10))] * 3
    assert holdout.mean(YOUNG, training=TRUTH)


def test_who_is_overtaken_before_measuring_neither_looks_nor_pays(kept, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(module, "replace", stops)
        with pytest.raises(KeyboardInterrupt):
            opened(kept, "second")
    honest, spent = Session.measure, []

    def measure(session, measurement, **more):
        if not spent:
            spent.append(None)
            opened(kept, "second")
            spent.append(kept.remaining.epsilon)
        return honest(session, measurement, **more)

    monkeypatch.setattr(Session, "measure", measure)
    holdout = opened(kept, "second")
    assert kept.remaining.epsilon == spent[1]
    assert len(sizes(kept, "second")) == 1
    assert holdout.mean(YOUNG, training=TRUTH).source is Agreement.TRAINING


@pytest.mark.parametrize("curator", [curator_of], indirect=True)
def test_a_lost_size_is_not_measured_on_other_data(curator, tmp_path, monkeypatch):
    session = curator.session("ana")
    with monkeypatch.context() as broken:
        broken.setattr(module, "replace", stops)
        with pytest.raises(KeyboardInterrupt):
            opened(session, "h")
    spent = session.remaining.epsilon
    write_source(tmp_path / "c", people(90))
    curator.refresh("visits")
    with pytest.raises(Unavailable, match="stays with version 1"):
        opened(session, "h")
    assert session.remaining.epsilon == spent


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(age) AS a FROM visits",
        "SELECT COUNT(*) AS n, SUM(age) AS s FROM visits",
        "SELECT region, COUNT(*) AS n FROM visits GROUP BY region",
        "SELECT COUNT(DISTINCT patient) AS n FROM visits",
    ],
)
def test_other_questions_are_refused(kept, sql):
    holdout = opened(kept, "questions")
    with pytest.raises(UnsafeQuery, match="the mean of one thing"):
        holdout.mean(sql, training=0)


def test_values_that_move_more_are_refused(kept):
    holdout = opened(kept, "reach")
    with pytest.raises(UnsafeQuery, match="not within"):
        holdout.mean("SELECT SUM(age) AS s FROM visits", training=0)
    with pytest.raises(UnsafeQuery, match="not within"):  # halves are not whole
        holdout.mean("SELECT SUM(income / 200000) AS s FROM visits", training=0)


def test_settings_are_checked_and_stay(kept):
    opened(kept, "settings", epsilon=3)
    for changed in ({"epsilon": 4}, {"overfits": 3}, {"threshold": 0.2}, {"reach": 2}):
        with pytest.raises(InvalidValue, match="other settings"):
            opened(kept, "settings", **{"epsilon": 3, **changed})
    for wrong in ({"overfits": 0}, {"threshold": 0}, {"reach": 1, "step": 0.3}, {"epsilon": -1}):
        with pytest.raises(InvalidValue):
            opened(kept, "wrong", **wrong)
    assert kept.states.newest("wrong") is None


def test_the_secret_is_not_shown(kept):
    holdout = opened(kept, "secret")
    stand = holdout._read()[1]
    assert "noise" not in repr(stand)
    assert "noise" not in repr(kept.states.newest("secret"))


def test_every_answer_is_written_before_it_is_said(kept):
    """Whether it agreed or not: else a disk that is full would tell which."""
    holdout = opened(kept, "written")
    versions = [kept.states.newest("written").version]
    for training in (TRUTH, 1, TRUTH):
        holdout.mean(YOUNG, training=training)
        versions.append(kept.states.newest("written").version)
    assert versions == [2, 3, 4, 5]


def test_a_question_that_was_overtaken_is_asked_again(kept, monkeypatch):
    holdout = opened(kept, "overtaken")
    honest, others = type(holdout)._read, [1, 1]

    def read(self):
        found = honest(self)
        if others:  # somebody else asks in between
            others.pop()
            kept.states.put(found[0].next(found[1].to_bytes()))
        return found

    monkeypatch.setattr(type(holdout), "_read", read)
    assert holdout.mean(YOUNG, training=TRUTH).source is Agreement.TRAINING
    assert not others


def test_a_run_is_neither_copied_nor_exceeded():
    run = Thresholdout.of(epsilon=1, overfits=1, sensitivity=Sensitivity.single(1)).start()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(InvalidValue, match="cannot be copied or pickled"):
            copied(run)
    assert run.answer(10**6, training=0, threshold=5) > 10**5
    with pytest.raises(BudgetExceeded):
        run.answer(0, training=0, threshold=5)
