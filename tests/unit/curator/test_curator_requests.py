"""Keys of the asker's own: one charge, the same bytes, the same failure; no key for two things."""

import threading

import pytest

from discreet.curator import running
from discreet.curator.service import Curator
from discreet.engines.protocol import MESSAGE
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable
from support.vaults import curator_of, people

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.fixture
def curator(tmp_path):
    with curator_of(tmp_path / "house", people()) as made:
        made.grant("ana", epsilon=1)
        made.grant("bob", epsilon=1)
        yield made


def spent(curator, name="ana"):
    return curator.ledger.account("analyst", name).spent


def rows(answer):
    return answer.receipt, [list(map(str, row)) for row in answer]


def again(curator, tmp_path):
    """A retry in a process that was started anew."""
    curator.close()
    return Curator.open(tmp_path / "house" / "vault", price_floor=0)


def test_a_retry_gives_the_same_answer_for_one_charge(curator, tmp_path):
    first = curator.session("ana").sql(COUNT, epsilon=0.25, key="july")
    assert not first.free
    with again(curator, tmp_path) as other:
        retried = other.session("ana").sql(COUNT, epsilon=0.25, key="july")
        assert retried.free
        assert rows(retried) == rows(first)
        assert spent(other) * 4 == 1
        assert other.ledger.verify().sound


def test_a_retry_gives_the_same_answer_after_the_data_changed(curator):
    session = curator.session("ana")
    first = session.sql(COUNT, epsilon=0.25, key="july")
    curator.refresh("visits")
    assert rows(session.sql(COUNT, epsilon=0.25, key="july")) == rows(first)
    assert spent(curator) * 4 == 1
    assert not session.sql(COUNT, epsilon=0.25).free  # without the key it is a new question


def test_a_key_stands_for_one_question_at_one_price(curator):
    session = curator.session("ana")
    session.sql(COUNT, epsilon=0.25, key="july")
    for sql, prices in (
        (COUNT, {"epsilon": 0.5}),
        (COUNT, {"error": 30}),
        (COUNT + " ", {"epsilon": 0.25}),
        ("SELECT COUNT(*) AS n FROM visits", {"epsilon": 0.25}),
    ):
        with pytest.raises(InvalidValue, match="'july' was used for another question or price"):
            session.sql(sql, key="july", **prices)
    assert spent(curator) * 4 == 1
    curator.session("bob").sql(COUNT, epsilon=0.5, key="july")  # keys are each analyst's own
    assert spent(curator, "bob") * 2 == 1


@pytest.mark.parametrize("key", ["", " ", "a b", "\n", "é", "x" * 129, 7])
def test_a_key_is_visible_text(curator, key):
    with pytest.raises(InvalidValue, match=r"the key .* cannot be used"):
        curator.session("ana").sql(COUNT, epsilon=0.25, key=key)
    assert spent(curator) == 0


def test_a_free_answer_is_kept_under_its_key_too(curator):
    session = curator.session("ana")
    first = session.sql(COUNT, epsilon=0.25)
    session.sql(COUNT, epsilon=0.25, key="july")
    curator.refresh("visits")
    assert rows(session.sql(COUNT, epsilon=0.25, key="july")) == rows(first)
    assert spent(curator) * 4 == 1


def test_a_retry_after_a_charged_failure_gives_the_failure(curator, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("something inside")

    monkeypatch.setattr(running, "noised", broken)
    with pytest.raises(Unavailable) as first:
        curator.session("ana").sql(COUNT, epsilon=0.25, key="july")
    monkeypatch.undo()
    with again(curator, tmp_path) as other:
        with pytest.raises(Unavailable) as second:
            other.session("ana").sql(COUNT, epsilon=0.25, key="july")
        assert str(first.value) == str(second.value) == MESSAGE
        assert spent(other) * 4 == 1
        other.session("ana").sql(COUNT, epsilon=0.25, key="august")
        assert spent(other) * 2 == 1
        assert other.ledger.verify().sound


def test_a_refusal_before_the_charge_binds_nothing(curator):
    session = curator.session("ana")
    with pytest.raises(BudgetExceeded):
        session.sql(COUNT, epsilon=3, key="july")
    session.sql(COUNT, epsilon=0.25, key="july")


def test_a_request_that_was_cut_off_is_not_charged_again(curator, monkeypatch):
    def cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "noised", cut)
    with pytest.raises(KeyboardInterrupt):
        curator.session("ana").sql(COUNT, epsilon=0.25, key="july")
    monkeypatch.undo()
    with pytest.raises(Unavailable, match=r"charged in entry 4 and has no answer"):
        curator.session("ana").sql(COUNT, epsilon=0.25, key="july")
    assert spent(curator) * 4 == 1


def test_two_at_once_are_charged_once(curator):
    found = []

    def ask():
        try:
            found.append(rows(curator.session("ana").sql(COUNT, epsilon=0.25, key="july")))
        except Unavailable as refusal:
            found.append(str(refusal))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = [each for each in found if not isinstance(each, str)]
    assert spent(curator) * 4 == 1
    assert answers
    assert all(each == answers[0] for each in answers)
    assert all("Nothing more was charged" in each for each in found if isinstance(each, str))
