"""Synopses through a curator: what is charged when, what survives, what is public or refused."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from discreet.curator.curator import Curator
from discreet.errors import InvalidValue, Stale, Unavailable, UnprovableRequest, UnsafeQuery
from discreet.streams.hypothesis.fitting import fit_counts
from discreet.streams.synopsis.state import SYNOPSES
from discreet.streams.synopsis.synopsis import Snapshot, Synopsis
from support.synopsis_houses import COLUMNS, complete, house, rows_of
from support.vaults import curator_of, people

ROWS = rows_of(4000)
COUNT = "SELECT COUNT(*) FROM answers"
BOTH = f"{COUNT} WHERE a AND b"
NEAR = 0.9
NARROW = [f"{COUNT} WHERE a", f"{COUNT} WHERE c IN ('x', 'z')", f"{COUNT} WHERE d * 2 > 5", COUNT]


def opened(session, name, **changed):
    """An alpha so small that BOTH, a quarter off, is 1.5 thresholds above: missed once in 10**15;
    NEAR is so large that what is an eighth off is as far below.
    """
    asked = {"table": "answers", "alpha": 0.1, "epsilon": 4, "order": 1, **changed}
    return Synopsis.open(session, COLUMNS, name=name, **asked)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    with house(tmp_path_factory.mktemp("kept"), ROWS) as curator:
        yield curator.session("ana")


@pytest.fixture
def curator(tmp_path):
    with house(tmp_path / "c", ROWS) as made:
        yield made


def test_what_contrasts_span_is_answered_with_its_error(kept):
    synopsis = opened(kept, "narrow", epsilon=40)
    left = kept.remaining.rho
    exact = complete(ROWS)
    wanted = [
        exact[:, 0].sum(),
        (exact[:, 2] != 1).sum(),
        (2 * (exact[:, 3] + 1) > 5).sum(),
        len(exact),
    ]
    for sql, truth in zip(NARROW, wanted, strict=True):
        found = synopsis.query(sql)
        assert found.source == "measured"
        assert abs(found.value - truth) <= 4 * found.half_width  # once in 1e14
        assert found.half_width < 40
        assert found.share == found.value / found.total
    assert kept.remaining.rho == left  # all of it was free


def test_a_round_is_paid_before_it_begins_and_learns_the_answer(kept):
    before = kept.remaining.rho
    synopsis = opened(kept, "rounds")
    ahead = before - kept.remaining.rho
    assert ahead == synopsis.spent
    guess = synopsis.snapshot.query(BOTH)
    assert guess.source == "hypothesis"
    assert guess.half_width is None
    assert guess.share == pytest.approx(0.25, abs=0.05)  # the columns by themselves say a quarter
    rounds = synopsis.rounds_left
    assert rounds >= 2
    found = synopsis.query(BOTH)  # the truth is a half
    cost = synopsis._round_cost().rho
    assert cost >= synopsis._epoch().loss(synopsis._sensitivity).rho
    assert before - kept.remaining.rho == synopsis.spent == ahead + cost
    assert found.source == "round"
    assert found.share == pytest.approx(0.5, abs=0.15)
    assert synopsis.rounds_left == rounds - 1
    other = synopsis.query(f"{COUNT} WHERE a AND NOT b")  # what was learnt answers this too
    assert other.share == pytest.approx(0, abs=0.2)
    again = synopsis.query(BOTH)
    assert again == synopsis.snapshot.query(BOTH)
    assert again.source == "round"


def test_near_answers_cost_one_round_however_many(kept):
    synopsis = opened(kept, "near", alpha=NEAR)
    ahead = synopsis.spent
    questions = [f"{COUNT} WHERE a AND d = {day}" for day in (1, 2, 3, 4)]
    questions += [f"{COUNT} WHERE b AND c = '{key}'" for key in "xyz"]
    found = [synopsis.query(sql) for sql in questions]
    assert {each.source for each in found} == {"near"}
    assert all(each.half_width > 0.4 * each.total for each in found)
    assert ahead + synopsis._round_cost().rho == synopsis.spent


def test_without_a_reserve_nothing_is_compared(kept):
    synopsis = opened(kept, "alone", reserve=0)
    assert synopsis.rounds_left == 0
    before = kept.remaining.rho
    found = synopsis.query(BOTH)
    assert (found.source, found.half_width) == ("hypothesis", None)
    assert kept.remaining.rho == before


def test_finish_spends_the_rest_on_the_contrasts(kept):
    before = kept.remaining.rho
    synopsis = opened(kept, "finished")
    first = synopsis.query(NARROW[0]).half_width
    synopsis.query(BOTH)
    final = synopsis.finish()
    assert 0 <= synopsis._body.rho - synopsis.spent < 1e-12
    assert before - kept.remaining.rho == synopsis.spent <= synopsis._body.rho
    assert synopsis.rounds_left == 0
    sharper = final.measured.parities.variance_of(synopsis._questions.read(NARROW[0])) ** 0.5
    assert sharper * 1.96 < first * 1.001
    assert final.query(BOTH).source == "round"
    spent_now = synopsis.spent
    assert synopsis.finish() is synopsis.snapshot
    assert synopsis.spent == spent_now
    assert synopsis.query(f"{COUNT} WHERE a AND c = 'x'").source == "hypothesis"


def test_it_goes_on_after_a_restart(tmp_path):
    with house(tmp_path / "c", ROWS) as curator:
        synopsis = opened(curator.session("ana"), "kept")
        learnt = synopsis.query(BOTH)
        assert learnt.source == "round"
        near = synopsis.query(f"{COUNT} WHERE a AND d = 1")
        standing = synopsis._body.standing
        left = curator.session("ana").remaining.rho
        rounds = synopsis.rounds_left
    with Curator.open(tmp_path / "c" / "vault", price_floor=0) as curator:
        session = curator.session("ana")
        again = Synopsis.resume(session, "kept")
        assert again.query(BOTH).value == pytest.approx(learnt.value, rel=0.05)
        assert again._body.standing == standing  # the noise of the threshold is not drawn again
        assert (standing is None) == (near.source == "round")
        assert again.rounds_left == rounds
        assert session.remaining.rho == left
        assert opened(session, "kept").spent == again.spent


def stopped(_synopsis):
    raise KeyboardInterrupt


def test_a_stop_between_charge_and_measurement_is_made_good_once(curator, monkeypatch):
    session = curator.session("ana")
    before = session.remaining.rho
    with monkeypatch.context() as patch:
        patch.setattr(Synopsis, "_measure", stopped)
        with pytest.raises(KeyboardInterrupt):
            opened(session, "stopped")
    charged = before - session.remaining.rho
    assert charged > 0
    synopsis = opened(session, "stopped")
    assert synopsis.query(NARROW[0]).source == "measured"
    assert before - session.remaining.rho == charged


def test_two_processes_share_one_synopsis(kept):
    """What one has learnt the other uses; a state that moved on is read again."""
    one, two = opened(kept, "shared"), opened(kept, "shared")
    assert one.query(BOTH).source == "round"
    left = kept.remaining.rho
    assert two.query(BOTH).source == "round"
    assert kept.remaining.rho == left
    assert two.snapshot.updates == one.snapshot.updates
    state = kept.states.newest("shared")
    with pytest.raises(Stale):
        kept.states.put(replace(state.next(b""), version=state.version))


def test_it_stays_with_one_version_of_the_data(tmp_path):
    with house(tmp_path / "c", ROWS) as curator:
        session = curator.session("ana")
        synopsis = opened(session, "pinned", alpha=NEAR)
        house_again = rows_of(4002)
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrays = {name: [row[i] for row in house_again] for i, name in enumerate(COLUMNS)}
        pq.write_table(pa.table(arrays), tmp_path / "c" / "answers.parquet")
        curator.refresh("answers")
        before = session.remaining.rho
        assert synopsis.query(NARROW[0]).source == "measured"  # it was released
        with pytest.raises(Unavailable, match="stays with version"):
            synopsis.query(f"{COUNT} WHERE a AND d = 1")
        charged = before - session.remaining.rho
        with pytest.raises(Unavailable, match="stays with version"):
            synopsis.query(f"{COUNT} WHERE a AND d = 1")
        assert before - session.remaining.rho == charged  # at most the round that had begun


def test_the_public_file_holds_no_secret_and_answers_alone(kept, tmp_path):
    synopsis = opened(kept, "public", alpha=NEAR)
    synopsis.query(f"{COUNT} WHERE a AND d = 1")
    secret = synopsis._body.standing
    assert secret is not None
    path = tmp_path / "answers.synopsis"
    synopsis.save(path)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        assert sorted(archive.namelist()) == ["facts.npy", "noisy.npy", "weights.npy"]
    with np.load(path, allow_pickle=False) as found:
        facts = json.loads(found["facts"].tobytes())
        assert len(found["noisy"]) == synopsis.snapshot.measured.parities.count
        assert found["weights"].shape == (2 * 2 * 3 * 4,)
    assert sorted(facts) == [
        "columns",
        "data_versions",
        "format",
        "neighbours",
        "order",
        "rows_per_unit",
        "table",
        "unit",
        "updates",
        "variances",
    ]
    offline = Synopsis.load(path)
    for sql in [*NARROW, BOTH]:
        there, here = offline.query(sql), synopsis.snapshot.query(sql)
        assert there.source == here.source
        assert there.value == pytest.approx(here.value)
        assert there.half_width == pytest.approx(here.half_width)
    assert "standing" not in repr(synopsis._body)


def test_a_file_that_is_no_synopsis_is_refused(tmp_path):
    path = tmp_path / "other"
    path.write_bytes(b"not a synopsis")
    with pytest.raises(InvalidValue, match="no synopsis can be read"):
        Synopsis.load(path)
    np.savez(tmp_path / "o.npz", facts=np.frombuffer(b"{}", dtype=np.uint8), noisy=[1], weights=[1])
    with pytest.raises(InvalidValue, match="this version reads"):
        Synopsis.load(tmp_path / "o.npz")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, COUNT(*) FROM answers GROUP BY a",
        "SELECT COUNT(c) FROM answers",
        "SELECT SUM(d) FROM answers",
        "SELECT COUNT(*) FROM answers WHERE e = 1",
        "SELECT COUNT(*) FROM answers LIMIT 1",
        "SELECT COUNT(*) AS n FROM (SELECT a FROM answers)",
    ],
)
def test_other_questions_are_refused_and_cost_nothing(kept, sql):
    synopsis = opened(kept, "refusals")
    before = kept.remaining.rho
    with pytest.raises(UnsafeQuery):
        synopsis.query(sql)
    assert kept.remaining.rho == before


def test_what_cannot_be_opened_is_refused_before_a_charge(kept, tmp_path):
    before = kept.remaining.rho
    opened(kept, "taken")
    charged = before - kept.remaining.rho
    for change in ({"alpha": 0.2}, {"epsilon": 5}, {"order": 2}, {"reserve": 0.5}):
        with pytest.raises(InvalidValue, match="choose another name"):
            opened(kept, "taken", **change)
    for change in ({"alpha": 0}, {"alpha": 2}, {"epsilon": -1}, {"order": 0}, {"reserve": 1}):
        with pytest.raises(InvalidValue):
            opened(kept, "new", **change)
    with pytest.raises(InvalidValue, match="at least one column"):
        Synopsis.open(kept, (), table="answers", name="none", alpha=0.1, epsilon=1)
    with pytest.raises(InvalidValue, match="no synopsis"):
        Synopsis.resume(kept, "missing")
    assert before - kept.remaining.rho == charged
    with curator_of(tmp_path / "p", people(), budget="epsilon = 10") as pure:
        pure.grant("ana", epsilon=5)
        with pytest.raises(UnprovableRequest, match="budget is pure"):
            Synopsis.open(
                pure.session("ana"), ("region",), table="visits", name="p", alpha=0.1, epsilon=1
            )


def test_two_rows_a_person_cost_four_times_as_much_noise(tmp_path):
    with curator_of(tmp_path / "v", people(), budget="epsilon = 100\ndelta = 1e-6") as curator:
        curator.grant("ana", epsilon=50, delta=1e-6)
        synopsis = Synopsis.open(
            curator.session("ana"), ("region",), table="visits", name="v", alpha=0.5, epsilon=2
        )
        parities = synopsis.snapshot.measured.parities
        assert 0 <= synopsis.spent - parities.loss(rows_per_unit=2).rho < 1e-15
        assert synopsis._sensitivity.linf == 2


def test_the_table_is_found_by_its_columns(kept):
    before = kept.remaining.rho
    with pytest.raises(InvalidValue, match="0 tables have the columns"):
        Synopsis.open(kept, ["a", "nothing"], alpha=0.1, epsilon=1)
    assert kept.remaining.rho == before
    synopsis = Synopsis.open(kept, ["A", "b"], alpha=0.2, epsilon=4)
    assert synopsis.name == "synopsis"
    assert synopsis.snapshot.table.name == "answers"
    assert synopsis.query(BOTH).source == "measured"


def test_every_charge_is_in_the_ledger(curator):
    session = curator.session("ana")
    synopsis = opened(session, "listed")
    synopsis.query(BOTH)
    synopsis.finish()
    entries = [
        (json.loads(each.memo), each.loss)
        for each in session._vault.ledger.entries()
        if "Synopsis listed" in each.memo
    ]
    assert [memo["synopsis"] for memo, _ in entries] == [
        "contrasts of at most 1 columns",
        "round 1",
        "the last measurement",
    ]
    assert sum(loss.rho for _, loss in entries) == synopsis.spent
    body = SYNOPSES.newest(session, "listed")[1]
    assert body.finished == "yes"
    assert body.standing is None


def test_a_hypothesis_is_fitted_once_in_a_process(curator, monkeypatch):
    """Opened, resumed, asked and saved: the same measurements are fitted once, others anew."""
    done = []

    def counted(measured):
        done.append(measured)
        return fit_counts(measured)

    # By the class in use: where doctests have imported the module too, there may be two of it.
    used = Snapshot._fit_weights.__globals__
    used["_fit_released"].cache_clear()
    monkeypatch.setitem(used, "fit_counts", counted)
    session = curator.session("ana")
    first = opened(session, "once")
    again = [Synopsis.resume(session, "once") for _ in range(3)]
    assert len(done) == 1
    for each in again:
        assert each.query(NARROW[0]) == first.query(NARROW[0])
    opened(session, "other")
    assert len(done) == 2
    found = opened(session, "rounds").query(BOTH)  # moves a copy of what is kept
    assert found.source == "round"
    assert len(done) == 3
    assert Synopsis.resume(session, "once").snapshot.query(BOTH) == again[0].snapshot.query(BOTH)
    used["_fit_released"].cache_clear()
    fresh = Synopsis.resume(session, "rounds").snapshot.query(BOTH)
    assert fresh == Synopsis.resume(session, "rounds").snapshot.query(BOTH)
