"""Only the plan that the vault would make now is run; a source is checked whenever it is read."""

import os
from dataclasses import replace

import pytest

from discreet.curator.curator import Curator
from discreet.errors import DiscreetError, InvalidValue, SchemaError, Unavailable
from discreet.ledger.releases import Releases
from discreet.loss import Pure
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from support.vaults import copied_curator, curator_of, people, write_schema, write_source

SUM = "SELECT SUM(age) AS s FROM visits"


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "here"
    with curator_of(folder, people()) as curator:
        curator.grant("ana", epsilon=1)
        yield folder, curator, curator.session("ana")


@pytest.mark.parametrize(
    "change",
    [
        {"cost": Pure(epsilon=1e-9)},
        {"noises": (DiscreteLaplace(scale=1e-3),)},
        {"sql": 'SELECT SUM("big") AS "$s0" FROM "prepared"'},
        {"measures": ()},
    ],
)
def test_a_plan_that_was_changed_is_refused_uncharged(tmp_path, change):
    with copied_curator(tmp_path / "here", people()) as curator:
        curator.grant("ana", epsilon=1)
        session = curator.session("ana")
        plan = session.explain(SUM, epsilon=0.5)
        with pytest.raises(InvalidValue, match="explain the question again"):
            session.run(replace(plan, **change))
        assert session.remaining.epsilon == 1
        assert not session.run(plan).free


def test_a_plan_for_the_prepared_table_is_not_run_in_place(made):
    folder, curator, session = made
    plan = session.explain(SUM, epsilon=0.5)
    curator.add_in_place(write_schema(folder))
    with pytest.raises(InvalidValue, match="explain the question again"):
        session.run(plan)
    assert session.remaining.epsilon == 1
    assert len(session.sql(SUM, epsilon=0.5)) == 1


def test_a_table_added_again_while_a_question_is_on_its_way_is_not_read(made, monkeypatch):
    """Its new bounds may be wider than those the noise was made for."""
    folder, curator, session = made
    plan = session.explain(SUM, epsilon=0.5)
    file = write_schema(folder)
    file.write_text(file.read_text().replace("upper = 110", "upper = 1000000"))

    monkeypatch.setattr(Releases, "find", lambda *_, **__: curator.add(file) and None)
    with pytest.raises(Unavailable, match="Nothing was run or charged"):
        session.run(plan)
    assert session.remaining.epsilon == 1


def test_a_source_that_is_gone_is_not_named_to_the_analyst(tmp_path):
    source = write_source(tmp_path, people())
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add_in_place(write_schema(tmp_path))
        curator.grant("ana", epsilon=1)
    source.unlink()
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        for ask in (curator.session("ana").explain, curator.session("ana").sql):
            with pytest.raises(Unavailable, match="Nothing was run or charged") as caught:
                ask(SUM, epsilon=0.5)
            assert str(tmp_path) not in str(caught.value)


def test_refreshing_in_place_checks_what_adding_checks(tmp_path):
    whole = [row for row in people() if row[2] is not None]
    write_source(tmp_path, whole)
    file = write_schema(tmp_path)
    file.write_text(file.read_text().replace('null = "drop"', 'null = "error"'))
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add_in_place(file)
        write_source(tmp_path, people())
        with pytest.raises(SchemaError, match="missing values"):
            curator.refresh("visits")
        with pytest.raises(DiscreetError, match="the source has changed"):
            curator._warehouse.current("visits")


def test_no_copy_of_older_data_stays_behind(made):
    folder, curator, session = made
    kept = folder / "vault" / "prepared"
    left = kept / "visits-0123456789abcdef.parquet"  # of a process killed while it added a frame
    left.write_bytes(b"rows")
    os.utime(left, (0, 0))
    before = set(kept.glob("*.duckdb"))
    curator.add(write_schema(folder))
    assert not left.exists()
    after = set(kept.glob("*.duckdb"))
    assert len(after) == 1
    assert not after & before
    assert len(session.sql(SUM, epsilon=0.5)) == 1
