"""Texts of a release's specification that would buy less noise than its rows need: comments,
another table, options, further clauses, and counts that do not add up over cells.
"""

from collections import Counter
from dataclasses import replace

import pytest

from discreet.curator.measurement import Measurement
from discreet.errors import DiscreetError, InvalidValue, SchemaError, UnsafeQuery
from discreet.ledger.account import Holder
from discreet.loss import Pure
from discreet.query.algebra import Options, Statistic
from discreet.release.kinds import Declared
from discreet.release.parts.values import StatisticsPart
from discreet.release.specification import read_release
from support import vaults
from support.vaults import PERSON, copied_curator, people

MOST = 20
SPELT = {
    Statistic.ROWS: "COUNT(*)",
    Statistic.VALUES: "COUNT(income)",
    Statistic.UNITS: "COUNT(DISTINCT patient)",
    Statistic.SUM: "SUM(age)",
    Statistic.AVERAGE: "AVG(age)",
    Statistic.VARIANCE_SAMPLE: "VAR_SAMP(age)",
    Statistic.VARIANCE_POPULATION: "VAR_POP(age)",
    Statistic.DEVIATION_SAMPLE: "STDDEV_SAMP(age)",
    Statistic.DEVIATION_POPULATION: "STDDEV_POP(age)",
    Statistic.COVARIANCE_SAMPLE: "COVAR_SAMP(income, age)",
    Statistic.COVARIANCE_POPULATION: "COVAR_POP(income, age)",
    Statistic.CORRELATION: "CORR(income, age)",
    Statistic.SLOPE: "REGR_SLOPE(income, age)",
    Statistic.INTERCEPT: "REGR_INTERCEPT(income, age)",
    Statistic.QUANTILE: "QUANTILE(age, 0.5)",
    Statistic.MINIMUM: "MIN(age)",
    Statistic.MAXIMUM: "MAX(age)",
    Statistic.MODE: "MODE(age)",
}
REFUSED = {
    Statistic.UNITS,
    Statistic.QUANTILE,  # a kind of its own
    Statistic.MINIMUM,
    Statistic.MAXIMUM,
    Statistic.MODE,
}
OPTIONS = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=1)"


def spread(person):
    """One person's rows, each in a cell of its own."""
    return [
        (PERSON + person, 5 * k, 1000.0 * (k % 7), "north", "2024-01-15", 0) for k in range(MOST)
    ]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A table with 20 rows of one person, and one beside it that admits a single row."""
    folder = tmp_path_factory.mktemp("texts")
    budget = {"budget": "epsilon = 1000000", "neighbours": "add-remove"}
    with pytest.MonkeyPatch.context() as patch:
        many = vaults.SCHEMA.replace("rows_per_unit = 2", f"rows_per_unit = {MOST}")
        patch.setattr(vaults, "SCHEMA", many)
        curator = copied_curator(folder, people(60) + spread(999), **budget)
    single = vaults.SCHEMA.replace("rows_per_unit = 2", "rows_per_unit = 1")
    schema = folder / "singles.toml"
    schema.write_text(single.replace('"visits"', '"singles"').format(**budget))
    with curator:
        curator.add(schema)
        curator.grant("ana", epsilon=10**6)
        yield curator.session("ana")


def specification(*tables, columns=None, epsilon=1, **facts):
    return read_release(
        {
            "release": {"table": "visits", "epsilon": epsilon, **facts},
            "columns": columns or {},
            "tables": list(tables),
        }
    )


AGES = {"kind": "ranges", "name": "ages", "columns": ["age"]}


def statistics(name="stats", by=(), **select):
    return {"kind": "statistics", "name": name, "select": select, "by": list(by)}


PASTED = {
    "another table": [statistics(n="COUNT(*) AS n FROM singles --")],
    "another table, closed": [statistics(n="COUNT(*) AS n FROM singles --\n")],
    "options": [statistics(n=f"{OPTIONS} COUNT(*)")],
    "pairs of comments": [
        statistics("zero", q="COUNT(*) --*/\n"),
        statistics("two", p="COUNT(*) /*", q="COUNT(*) --*/\n"),
        statistics("one", n=f"{OPTIONS} COUNT(*) --*/\n"),
    ],
    "a comment": [statistics(n="COUNT(*) /* all */")],
    "a second output": [statistics(n="COUNT(*) AS m, SUM(age)")],
    "a second statement": [statistics(n="COUNT(*) AS n FROM visits; SELECT COUNT(*)")],
    "a clause": [statistics(n="COUNT(*) AS n FROM visits WHERE age > 5 --\n")],
    "a fraction": [
        {
            "kind": "quantiles",
            "name": "mid",
            "column": "age",
            "fractions": ["0.5) AS q1 FROM singles --"],
        }
    ],
    "a column of quantiles": [{"kind": "quantiles", "name": "mid", "column": "age, 0.5) --"}],
    "a column of a regression": [
        {"kind": "covariance", "name": "line", "columns": ["age) AS m_0 FROM singles --"]}
    ],
    "a target": [
        {"kind": "regression", "name": "line", "columns": ["age"], "target": "income) FROM x --"}
    ],
    "a group": [statistics(n="COUNT(*)", by=["region, age"])],
    "a group twice": [statistics(n="COUNT(*)", by=["region", "region"])],
    "no text": [statistics(n=1)],
}


@pytest.mark.parametrize("tables", PASTED.values(), ids=PASTED)
def test_a_text_that_is_not_one_expression_is_refused_and_nothing_is_charged(session, tables):
    ledger = session._vault.ledger
    before = ledger.account(Holder.ANALYST, "ana").spent
    with pytest.raises((InvalidValue, SchemaError, UnsafeQuery)):
        specification(AGES, *tables).plan(session)
    assert ledger.account(Holder.ANALYST, "ana").spent == before


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ({}, "age > 5 -- only these"),
        ({}, "age > 5 GROUP BY region --\n"),
        ({}, "age > 5 HAVING COUNT(*) > 3"),
        ({}, "age > 5 LIMIT 1"),
        ({"decade": "FLOOR(age/10) /*"}, "age > 5 --*/\n"),
        ({"decade": "FLOOR(age/10), region"}, ""),
        ({"decade": "FLOOR(age/10) AS decade, COUNT(*) AS rows_counted FROM singles --\n"}, ""),
        ({"decade": f"{OPTIONS} FLOOR(age/10)"}, ""),
    ],
)
def test_where_and_columns_are_one_expression_each(session, columns, where):
    by = {"kind": "marginals", "name": "by", "columns": [*columns] or ["region"]}
    part = statistics(n="COUNT(*)", by=by["columns"])
    with pytest.raises((InvalidValue, UnsafeQuery)):
        specification(by, part, columns=columns, where=where).plan(session)


def test_two_columns_of_one_expression_are_refused(session):
    columns = {"decade": "FLOOR(age/10)", "tens": "FLOOR(age / 10)"}
    by = {"kind": "marginals", "name": "by", "columns": [*columns]}
    with pytest.raises(UnsafeQuery, match="twice"):
        specification(by, columns=columns).plan(session)


def test_a_part_for_other_rows_than_the_frame_is_refused(session):
    """The last check by itself: the texts are plain, the frame reads other rows."""
    made = specification(AGES, statistics(n="COUNT(*)")).plan(session)
    frame, price = made.frame, made.parts[1].loss
    other = specification(AGES, statistics(n="COUNT(*)"), where="age < 50").plan(session).frame
    fewer = replace(frame.plan.contribution, rows_per_unit=1)
    limited = replace(frame.plan.query, options=Options(max_rows_contributed=1))
    for wrong in (
        replace(frame, where="age < 50"),
        replace(other, where=""),
        replace(frame, table="singles"),
        replace(frame, plan=replace(frame.plan, contribution=fewer)),
        replace(frame, plan=replace(frame.plan, query=limited)),
    ):
        with pytest.raises(InvalidValue, match="other rows"):
            StatisticsPart.build(wrong, "n", {"n": "COUNT(*)"}, price=price)
    assert StatisticsPart.build(frame, "n", {"n": "COUNT(*)"}, price=price).loss == price


def test_plain_texts_are_read_with_the_noise_of_the_table(session):
    tables = [
        statistics(n="COUNT(*)", half="AVG(age) / 2 + COUNT(income)", by=["decade"]),
        {"kind": "quantiles", "name": "mid", "column": "age", "fractions": [0, 0.5, 1]},
        {"kind": "regression", "name": "line", "columns": ["age"], "target": "income"},
    ]
    where = "CASE WHEN age > 3 THEN 'a -- b' ELSE 'c /*' END = 'a -- b'"
    made = specification(AGES, *tables, columns={"decade": "FLOOR(age / 10)"}, where=where).plan(
        session
    )
    for part in made.parts[1:3]:
        assert part.plan.contribution.rows_per_unit == MOST
        assert part.plan.tables == made.frame.plan.tables


def test_every_statistic_is_spelt():
    assert set(SPELT) == set(Statistic)


@pytest.mark.parametrize("statistic", sorted(REFUSED), ids=str)
def test_what_does_not_add_up_is_refused(session, statistic):
    with pytest.raises(InvalidValue, match="Nothing was run or charged"):
        specification(AGES, statistics(n=SPELT[statistic])).plan(session)


@pytest.mark.parametrize("by", [[], ["region"], ["age"]], ids=str)
def test_distinct_units_are_a_question_of_their_own(session, by):
    for sql in ("COUNT(DISTINCT patient)", "SUM(age) / COUNT(DISTINCT patient)"):
        with pytest.raises(InvalidValue, match="question of its own"):
            specification(AGES, statistics(n=sql, by=by)).plan(session)


def exactly(session, plan):
    """The exact cells of a statement, which only a test may take out of a program."""
    measurement = Measurement(
        plan=plan, cost=Pure(epsilon=1), label="A test", release=lambda exact, _: exact.cells()
    )
    return session.measure(measurement)[1]


@pytest.mark.parametrize("statistic", sorted(set(Statistic) - REFUSED), ids=str)
def test_every_accepted_measure_adds_up_over_the_cells(session, statistic):
    """Summed over fine cells, twenty of them one person's, each is that of the whole group."""
    made = specification(AGES, statistics(n=SPELT[statistic], by=["region"])).plan(session)
    part = made.parts[1]
    coarse = session.prepare(part.plan.question)
    fine_places, fine = exactly(session, made.frame.plan)
    places, whole = exactly(session, coarse)
    region = fine_places[:, made.frame.place("region")]
    assert len(fine_places) > 2 * len(places)
    assert part.plan.measures
    for measure, exact in zip(coarse.measures, whole, strict=True):
        cells = fine[made.frame.measure_place(measure.terms)]
        for (place,), value in zip(places, exact, strict=True):
            assert cells[region == place].sum() == value


def test_distinct_units_do_not_add_up(session):
    """The reason for the refusal, by the same comparison: one person is counted twenty times."""
    sql = "COUNT(DISTINCT patient) AS n FROM visits"
    fine = exactly(session, session.prepare(f"SELECT age, {sql} GROUP BY age"))[1][0].sum()
    whole = exactly(session, session.prepare(f"SELECT {sql}"))[1][0].sum()
    assert fine >= whole + MOST - 1


def test_one_person_moves_a_count_by_no_more_than_was_paid_for(session):
    """The twenty rows are in twenty cells; the count they are in has noise for twenty."""
    part = specification(AGES, statistics(n="COUNT(*)")).plan(session).parts[1]
    cells = Counter(row[1] for row in spread(999))
    assert len(cells) == MOST
    assert part.plan.measures[0].sensitivity.l1 == sum(cells.values())


def test_refusals_name_the_text():
    with pytest.raises(DiscreetError, match="FROM singles"):
        Declared("quantiles", "mid", {"column": 'age" FROM singles'}).needs()


def test_a_coarse_step_with_missing_values_fails_for_nobody(tmp_path, monkeypatch):
    """A place for missing values makes the axis finer than its column: the lattices are matched."""
    coarse = vaults.SCHEMA.replace("upper = 200000, step = 0.5", "upper = 200000, step = 1000")
    monkeypatch.setattr(vaults, "SCHEMA", coarse)
    rows = people(240)
    with copied_curator(tmp_path, rows, budget="epsilon = 1000000") as curator:
        curator.grant("ana", epsilon=10**6)
        tables = [
            {"kind": "quantiles", "name": "mid", "column": "income", "fractions": [0.5]},
            statistics(n="COUNT(*)", by=["income"]),
        ]
        found = specification(*tables, epsilon=10**5).plan(curator.session("ana")).run().tables
    known = sorted(row[2] for row in rows if row[2] is not None)
    middle = len(known) // 2
    assert known[middle - 6] <= found["mid"].columns["q1"][0] <= known[middle + 6]
    columns = found["stats"].columns
    counts = dict(zip(columns["income"], columns["n"], strict=True))
    for value, count in Counter(known).items():
        assert counts[value] == pytest.approx(count, abs=0.5)
