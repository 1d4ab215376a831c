"""What an answer holds: every public key, finite numbers, and the same again from the vault."""

import math
from datetime import date

import pytest

from discreet.errors import DiscreetError, InvalidValue, SchemaError
from support.vaults import copied_curator, curator_of, people, write_schema


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    with copied_curator(
        tmp_path_factory.mktemp("a") / "x", people(), budget="epsilon = 1000"
    ) as made:
        made.grant("ana", epsilon=1000)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("region", 4),
        ("FLOOR(age / 10)", 12),
        ("WIDTH_BUCKET(age, 20, 40, 2)", 4),
        ("DATE_TRUNC('month', day)", 12),
        ("EXTRACT(DOW FROM day)", 7),
        ("CASE WHEN age > 100 THEN 'old' ELSE 'not' END", 2),
        ("age > 109", 2),
        ("age", 111),
    ],
)
@pytest.mark.parametrize("where", ["", "WHERE age > 109 AND age < 5"])
def test_every_public_key_is_there_with_finite_numbers(session, key, count, where):
    answer = session.sql(
        f"SELECT {key} AS k, COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a, STDDEV(age) AS d, "
        f"SUM(income) / COUNT(*) AS q FROM visits {where} GROUP BY k",
        epsilon=1,
    )
    rows, intervals = answer.to_dicts(), answer.intervals()
    assert len(rows) == count == len(answer)
    assert len({row["k"] for row in rows}) == count
    for row, interval in zip(rows, intervals, strict=True):
        for name in ("n", "s", "a", "d", "q"):
            assert math.isfinite(row[name])
            low, high = interval[name]
            assert low <= row[name] <= high
        assert 0 <= row["a"] <= 200_000
    # Noise of scale 8 makes seven counts equal once in 10**8, and four of them once in 16,000.
    assert len({row["n"] for row in rows}) > 1 or count < 7


def test_keys_have_their_own_types(session):
    by_day = session.sql("SELECT day, COUNT(*) AS n FROM visits GROUP BY day", epsilon=1)
    assert {type(row["day"]) for row in by_day} == {date}
    assert {type(row["n"]) for row in by_day} == {int}
    frame = by_day.to_pandas()
    assert list(frame.columns) == ["day", "n"]
    assert by_day.to_arrow().num_rows == by_day.to_polars().height == 366


def test_stored_answers_are_the_same_answers(session):
    asked = (
        "SELECT region, SUM(big) AS s, VAR_SAMP(age) AS v, DP_INTERVAL_HIGH(s) AS top FROM visits "
        "GROUP BY region HAVING SUM(big) > -1e30 ORDER BY s DESC LIMIT 3"
    )
    first, again = (session.sql(asked, epsilon=1) for _ in range(2))
    assert again.free
    assert first.to_dicts() == again.to_dicts()
    assert first.intervals(0.5) == again.intervals(0.5)
    assert first.plan.error == again.plan.error
    assert first.receipt == again.receipt
    assert session.transcript[-1].to_dicts() == first.to_dicts()


def test_intervals_grow_with_their_confidence_and_refuse_nonsense(session):
    answer = session.sql("SELECT AVG(age) AS a, COUNT(*) AS n FROM visits", epsilon=1)
    widths = [high - low for low, high in (answer.intervals(c)[0]["n"] for c in (0.5, 0.9, 0.99))]
    assert widths == sorted(widths)
    for confidence in (-0.1, 1.1, float("nan"), "0.9"):
        with pytest.raises(InvalidValue):
            answer.intervals(confidence)


def test_clause_options_are_the_price_and_one_price_is_enough(session):
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5) COUNT(*) AS n FROM visits"
    assert session.explain(asked).cost.epsilon == 0.5
    with pytest.raises(DiscreetError, match="given twice"):
        session.explain(asked, epsilon=0.25)
    with_delta = asked.replace("epsilon=0.5", "epsilon=0.5, delta=1e-12")
    assert session.explain(with_delta).cost.epsilon == 0.5  # pure is stronger than any delta


def test_unknown_analysts_and_tables_are_refused(curator, session):
    with pytest.raises(DiscreetError):
        curator.session("nobody")
    with pytest.raises(DiscreetError):
        session.sql("SELECT COUNT(*) FROM nothing", epsilon=1)


def test_missing_values_where_none_are_allowed_stop_the_registration(tmp_path):
    folder = tmp_path / "strict"
    with curator_of(folder, people()) as curator:
        file = write_schema(folder)
        file.write_text(file.read_text().replace('null = "drop"', 'null = "error"'))
        with pytest.raises(SchemaError, match="missing values"):
            curator.add(file)
        with pytest.raises(SchemaError, match="missing values"):
            curator.add_in_place(file)


def test_a_plan_of_an_older_schema_is_refused_uncharged(tmp_path):
    folder = tmp_path / "older"
    with curator_of(folder, people()) as curator:
        curator.grant("ana", epsilon=1)
        session = curator.session("ana")
        plan = session.explain("SELECT SUM(age) AS s FROM visits", epsilon=0.5)
        file = write_schema(folder)
        file.write_text(file.read_text().replace("upper = 110", "upper = 120"))
        curator.add(file)
        with pytest.raises(InvalidValue, match="another schema now"):
            session.run(plan)
        assert session.remaining.epsilon == 1
