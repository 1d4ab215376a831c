"""Keys of the asker's own: one charge, the same bytes, the same failure; no key for two things."""

import threading
from fractions import Fraction
from functools import partial

import pytest

from discreet.curator import access
from discreet.curator.curator import Curator
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.protocol import MESSAGE
from discreet.errors import BudgetExceeded, InvalidValue, Unanswered, Unavailable
from discreet.ledger.ledger import Ledger
from discreet.ledger.requests import Requests
from discreet.loss import Pure
from discreet.schema.table import Budget
from support.vaults import copied_curator, people

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path / "c", people()) as made:
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
    return Curator.open(tmp_path / "c" / "vault", price_floor=0)


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

    monkeypatch.setattr(access, "add_noise", broken)
    with pytest.raises(Unavailable) as first:
        curator.session("ana").sql(COUNT, epsilon=0.25, key="july")
    monkeypatch.undo()
    with again(curator, tmp_path) as other:
        with pytest.raises(Unavailable) as second:
            other.session("ana").sql(COUNT, epsilon=0.25, key="july")
        assert str(first.value) == MESSAGE
        assert isinstance(second.value, Unanswered)
        assert str(second.value).startswith(f"{MESSAGE} This is final: entry 4 (epsilon 0.25)")
        assert spent(other) * 4 == 1
        other.session("ana").sql(COUNT, epsilon=0.25, key="august")
        assert spent(other) * 2 == 1
        assert other.ledger.verify().sound


def test_a_refusal_before_the_charge_binds_nothing(curator):
    session = curator.session("ana")
    with pytest.raises(BudgetExceeded):
        session.sql(COUNT, epsilon=3, key="july")
    session.sql(COUNT, epsilon=0.25, key="july")


class Cut(BaseException):
    """The process ends here."""


def cut_in(where, name):
    """A patch after which the process ends before something is done, or just after it."""

    def patch(monkeypatch, *, after):
        real = getattr(where, name)

        def ends(*given, **named):
            if after:
                real(*given, **named)
            raise Cut

        monkeypatch.setattr(where, name, ends)

    return patch


PARTS = {
    "the charge": cut_in(Ledger, "charge"),
    "the engine": cut_in(DuckDB, "rows"),
    "the noise": cut_in(access, "add_noise"),
    "the keeping": cut_in(Requests, "settle"),
    "the answer": cut_in(access, "receipt_of"),
}


def asked_anew(curator, sql):
    curator.session("ana").sql(sql, epsilon=0.01)


def amended(curator, _):
    curator.ledger.amend("analyst", "ana", Budget(epsilon=2), {"why": "more"})


def refreshed(curator, _):
    curator.refresh("visits")


def adopted(curator, _):
    curator.ledger.adopt({"why": "restored"})


MEANWHILE = {
    "nothing": lambda *_: None,
    "the same question without a key": asked_anew,
    "an amended budget": amended,
    "a refresh": refreshed,
    "an adoption": adopted,
}


def cut_off(curator, monkeypatch, cut, sql, **how):
    """Ask with a key, and end on the way."""
    with monkeypatch.context() as patches:
        cut(patches)
        with pytest.raises(Cut):
            curator.session("ana").sql(sql, **how)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("part", PARTS)
def test_wherever_it_is_cut_off_a_key_ends_and_pays_once(
    curator, tmp_path, monkeypatch, part, after
):
    """Cut off at every step, then whatever may happen, then asked three times more."""
    kept = part == "the answer" or (part, after) == ("the keeping", True)
    for place, (meanwhile, happens) in enumerate(MEANWHILE.items()):
        how = {"epsilon": 0.01, "key": f"key-{place}"}
        sql = COUNT.replace("FROM visits", f"FROM visits WHERE age < {9 + place}")
        start = spent(curator)
        cut_off(curator, monkeypatch, partial(PARTS[part], after=after), sql, **how)
        curator = again(curator, tmp_path)
        charged = spent(curator) - start
        assert charged == (0 if (part, after) == ("the charge", False) else Fraction(1, 100))
        happens(curator, sql)
        before, ends = spent(curator), []
        for _ in range(3):
            try:
                ends.append(rows(curator.session("ana").sql(sql, **how)))
            except Unanswered as end:
                ends.append(str(end))
        assert ends[0] == ends[1] == ends[2]  # for good
        if isinstance(ends[0], str):
            assert charged
            assert not kept
            assert meanwhile in ("a refresh", "an adoption")
            assert "(epsilon 0.01) stays charged, there is no answer" in ends[0]
        else:
            assert kept or not charged or meanwhile not in ("a refresh", "an adoption")
            free = charged or happens is asked_anew
            assert spent(curator) == before + (0 if free else Fraction(1, 100))
    paid = [each.receipt.id for each in curator.vault.releases.transcript("ana")]
    assert len(set(paid)) == len(paid)  # one answer for one charge
    assert curator.ledger.verify().sound
    curator.close()


def test_a_request_for_an_error_is_finished_with_the_count_it_bought(tmp_path, monkeypatch):
    average, real, runs = "SELECT AVG(age) AS a FROM visits", access.add_noise, []

    def second(*given):
        runs.append(None)
        if len(runs) == 2:  # the count was bought before
            raise Cut
        return real(*given)

    def cut(patches):
        patches.setattr(access, "add_noise", second)

    curator = copied_curator(tmp_path / "c", people(4000))
    curator.grant("ana", epsilon=10)
    cut_off(curator, monkeypatch, cut, average, error=20, key="july")
    with again(curator, tmp_path) as other:
        charged = spent(other)
        answer = other.session("ana").sql(average, error=20, key="july")
        assert answer.bought is not None
        assert spent(other) == charged
        assert other.session("ana").sql(average, error=20, key="july").receipt == answer.receipt


def test_of_several_who_finish_one_charge_the_first_is_heard(curator, monkeypatch):
    cut = partial(PARTS["the engine"], after=False)
    cut_off(curator, monkeypatch, cut, COUNT, epsilon=0.25, key="july")
    real = access.add_noise
    inner = []

    def slow(*given):
        if not inner:  # while this one is at work, another process finishes the same charge
            inner.append(None)
            with Curator.open(curator.vault.folder, price_floor=0) as other:
                inner[0] = rows(other.session("ana").sql(COUNT, epsilon=0.25, key="july"))
        return real(*given)

    monkeypatch.setattr(access, "add_noise", slow)
    assert rows(curator.session("ana").sql(COUNT, epsilon=0.25, key="july")) == inner[0]
    assert len(curator.vault.releases.transcript("ana")) == 1
    assert spent(curator) * 4 == 1


@pytest.mark.parametrize("late", ["answer", "failure"])
@pytest.mark.parametrize("first", ["answer", "failure"])
def test_the_first_outcome_of_a_charge_stands(curator, first, late):
    requests = curator.vault.requests
    paid = curator.ledger.charge(population="patients", analyst="ana", loss=Pure(epsilon=0.25))

    def write(outcome, text):
        if outcome == "answer":
            return requests.settle("key", paid, text.encode())
        return requests.fail(paid, Unavailable(text))

    assert write(first, "first") is None
    if first == "answer":
        assert write(late, "late").body == b"first"
    elif late == "answer":
        with pytest.raises(Unanswered, match="first This is final"):
            write(late, "late")
    else:
        assert write(late, "late") is None
    assert curator.ledger.verify().sound


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
