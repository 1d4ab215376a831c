"""What was released when joins had no limit is replayed for free; the rest stays refused."""

from dataclasses import replace

import pandas
import pytest

from discreet.curator import planning
from discreet.curator.curator import Curator
from discreet.errors import UnsafeQuery
from discreet.plan import pipeline as rules
from discreet.plan.rules.sources import MOST_ROWS
from support.join_vaults import data, make_vault

MANY = " ".join(f"JOIN visits v{n} ON a.patient = v{n}.patient" for n in range(10))
SQL = f"SELECT COUNT(*) AS n FROM visits a {MANY}"  # two rows to the eleventh power


def test_an_answer_from_before_the_limit_is_given_again(tmp_path, monkeypatch):
    plan = rules.plan
    with make_vault(tmp_path / "h", data(), "prepared") as curator:
        session = curator.session("ana")
        with monkeypatch.context() as before:
            before.setattr(planning, "plan", lambda d: plan(replace(d, joined_rows=MOST_ROWS)))
            first = session.sql(SQL, epsilon=1)
        left = session.remaining
        again = session.sql(SQL, epsilon=1)
        assert again.free
        assert again.receipt.id == first.receipt.id
        for words in ({"epsilon": 2}, {"error": 10}):
            with pytest.raises(UnsafeQuery, match="could give one person"):
                session.sql(SQL, **words)
        with pytest.raises(UnsafeQuery, match="could give one person"):
            session.explain(SQL, epsilon=1)
        assert session.remaining == left


def test_a_replay_has_the_noise_that_was_added(tmp_path):
    """Sides that were cut before a join are cut again when the answer is rebuilt."""
    sql = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=30) SUM(s) AS total FROM "
        "(SELECT a.who, SUM(a.x) AS s FROM visits a JOIN stays b ON a.who = b.who GROUP BY a.who)"
    )
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        for name in ("visits", "stays"):
            table = {"name": name, "unit": "who", "rows_per_unit": 40, "population": "p"}
            schema = {
                "table": table,
                "columns": {"x": {"type": "integer", "lower": 0, "upper": 9}},
                **({"budget": {"epsilon": 10}} if name == "visits" else {}),
            }
            rows = [(n % 7, n % 10 + (name == "stays")) for n in range(50)]
            curator.add(schema, data=pandas.DataFrame(rows, columns=["who", "x"]))
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        first, again = (session.sql(sql, epsilon=1) for _ in range(2))
        assert (first.free, again.free) == (False, True)
        assert first.receipt == again.receipt
        assert first.intervals() == again.intervals()
