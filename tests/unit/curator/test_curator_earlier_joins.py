"""What was released when joins had no limit is given again for nothing; the rest stays refused."""

from dataclasses import replace

import pytest

from discreet.curator import session as sessions
from discreet.errors import UnsafeQuery
from discreet.plan import draft as rules
from discreet.plan.sources import MOST_ROWS
from support.join_houses import data, house

MANY = " ".join(f"JOIN visits v{n} ON a.patient = v{n}.patient" for n in range(10))
SQL = f"SELECT COUNT(*) AS n FROM visits a {MANY}"  # two rows to the eleventh power


def test_an_answer_from_before_the_limit_is_given_again(tmp_path, monkeypatch):
    plan = rules.plan
    with house(tmp_path / "h", data(), "prepared") as curator:
        session = curator.session("ana")
        with monkeypatch.context() as before:
            before.setattr(sessions, "plan", lambda d: plan(replace(d, joined_rows=MOST_ROWS)))
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
