"""What people see of an answer: rows with intervals, errors in ranks beside every picked value,
refusals in one line, and the notes of services. Every kind of column in every renderer.
"""

import csv
import io
import math
import re

import pytest

from discreet import errors
from discreet.errors import DiscreetError
from discreet.estimates.median import median
from discreet.estimates.robust import clustered
from discreet.plan.results.evaluate import find_ranked
from discreet.query.algebra import Statistic
from discreet.report.tables import answer_table
from discreet.server.exports import csv_of
from discreet.streams import Holdout, Monitor, Synopsis
from discreet.streams.counter.counter import Counter
from discreet.streams.joint.joint import Joint
from support.vaults import copied_curator, people

PICKS = {
    "integer": "MEDIAN(age)", "date": "MEDIAN(day)", "computed": "QUANTILE(FLOOR(age / 10), 0.9)",
    "extreme": "MAX(age)", "buckets": "MEDIAN(income)", "wide": "MIN(big)",
    "mode": "MODE(region)", "mode of a number": "MODE(FLOOR(age / 10))",
}  # fmt: skip


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    budget = "epsilon = 100000\ndelta = 1e-3"
    with copied_curator(tmp_path_factory.mktemp("s") / "x", people(), budget=budget) as made:
        made.grant("ana", epsilon=90_000, delta=1e-3)
        yield made


@pytest.fixture
def session(curator):
    return curator.session("ana")


def _expected(answer, name):
    """What must stand beside the values of a picked column, from the plan itself."""
    (output,) = (each for each in answer.plan.query.outputs if each.name == name)
    chosen = find_ranked(answer.plan, output.expression)
    most = math.ceil(answer.plan.choices[chosen.pick].error(0.95))
    if chosen.statistic is Statistic.MODE:
        return f"at most {most:,} rows behind"
    return f"± {most:,} ranks"


def _printed(grid):
    return "\n".join(str(cell) for column in grid.columns for cell in column.cells)


@pytest.mark.parametrize("kind", PICKS)
@pytest.mark.parametrize("by", ["", "region"], ids=["all", "groups"])
def test_an_error_in_ranks_stands_beside_every_picked_value(session, kind, by):
    keys, group = ("region, ", "GROUP BY region") if by else ("", "")
    answer = session.sql(f"SELECT {keys}{PICKS[kind]} AS x FROM visits {group}", epsilon=4)
    words = _expected(answer, "x")
    assert str(answer).split("Note: ")[0].count(words) == len(answer)
    assert answer._repr_html_().count(f"{words}</small>") == len(answer)
    assert _printed(answer_table(answer)).count(words) == len(answer)
    try:
        assert words in answer.chart()["title"]["text"]
        assert f"{words} with 95%" in re.sub(r"<[^>]*>", " ", answer.plot())
    except DiscreetError:
        assert kind in ("date", "mode")  # no number to draw
    off = {float(row["x_off"]) for row in csv.DictReader(io.StringIO(csv_of(answer).body.decode()))}
    assert {math.ceil(each) for each in off} == {int(re.sub(r"\D", "", words))}
    frame = answer.to_pandas(intervals=True)
    assert set(frame["x_off"]) == off
    assert ("x_low" in frame) == (kind in ("buckets", "wide"))


def test_print_shows_rows_with_intervals_and_notes(session):
    answer = session.sql("SELECT region, COUNT(*) AS n FROM visits GROUP BY region", epsilon=9)
    head, *rows = str(answer).splitlines()
    assert head.split() == ["region", "n", "95%", "interval"]
    for line, row, interval in zip(rows, answer, answer.intervals(), strict=False):
        low, high = (f"{end:.0f}" for end in interval["n"])
        assert line.split() == [row["region"], str(row["n"]), f"[{low},", f"{high}]"]
    assert rows[len(answer) :] == [f"Note: {note}" for note in answer.notes]
    days = session.sql("SELECT day, COUNT(*) AS n FROM visits GROUP BY day", epsilon=9)
    assert "... the first 60 of 366 rows" in str(days)
    assert repr(answer).startswith("Answer(4 rows: region, n;")


def test_frames_can_have_the_ends_of_intervals(session):
    text = (
        "SELECT region, COUNT(*) AS n, AVG(age) AS n_low, DP_INTERVAL_LOW(n) AS l FROM visits "
        "GROUP BY region"
    )
    answer = session.sql(text, epsilon=9)
    frame, ends = answer.to_pandas(intervals=True), answer.intervals()
    names = ["region", "n", "n_low", "l", "n_low_2", "n_high", "n_low_low", "n_low_high"]
    assert list(frame.columns) == names
    assert list(zip(frame["n_low_2"], frame["n_high"], strict=True)) == [each["n"] for each in ends]
    assert answer.to_polars(intervals=True).columns == names
    assert answer.to_arrow(intervals=True).column_names == names
    assert list(answer.to_pandas().columns) == names[:4]
    assert list(answer.to_pandas(intervals=False).columns) == names[:4]
    wider = answer.to_pandas(intervals=0.999)
    assert (wider["n_high"] > frame["n_high"]).all()
    with pytest.raises(DiscreetError):
        answer.to_pandas(intervals=95)


def test_an_answer_without_rows_has_the_same_columns_everywhere(session):
    text = (
        "SELECT region, COUNT(*) AS n, MEDIAN(income) AS m, MEDIAN(age) AS a FROM visits GROUP BY 1"
    )
    some = session.sql(text, epsilon=9)
    none = session.sql(f"{text} HAVING COUNT(*) < -1000000", epsilon=9)
    assert len(none) == 0
    frames = [each.to_pandas(intervals=True) for each in (some, none)]
    assert list(frames[0].columns) == list(frames[1].columns)
    assert none.to_arrow(intervals=True).column_names == list(frames[0].columns)
    heads = [next(csv.reader(io.StringIO(csv_of(each).body.decode()))) for each in (some, none)]
    assert heads[0] == heads[1]
    assert str(none).splitlines()[0].split()[:2] == ["region", "n"]
    assert str(none.notes[0].text) in none._repr_html_().replace("&#x27;", "'")


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name[0].isupper()])
def test_a_notebook_shows_a_refusal_in_one_line(name):
    """Notebooks ask an exception for the lines to show instead of its traceback."""
    kind = getattr(errors, name)
    (line,) = kind("age is 7;\nthe limit is 5.")._render_traceback_()
    told = " Nothing was run or charged." if name == "UnsafeQuery" else ""
    assert line == f"{name}: age is 7; the limit is 5.{told}"


def test_refusals_of_a_session_are_one_line_in_a_notebook(session):
    for text, price in (
        ("SELECT * FROM visits", 1), ("SELECT COUNT(*) FROM nothing", 1),
        ("SELECT COUNT(*) FROM visits", 10**7), ("SELECT COUNT(*) FROM visits", -1),
    ):  # fmt: skip
        with pytest.raises(DiscreetError) as refusal:
            session.sql(text, epsilon=price)
        (line,) = refusal.value._render_traceback_()
        assert "\n" not in line
        assert "charged" in line or "epsilon" in line


def test_estimates_and_services_have_notes(session):
    rows, income = "visits: at most 2 rows", "income counts from 0 to 200,000"
    count = "SELECT COUNT(*) AS n FROM visits"
    months = "SELECT DATE_TRUNC('month', day) AS m, SUM(income) AS s FROM visits GROUP BY m"
    joint = Joint.open(session, table="visits", name="j", epsilon=5, sensitivity=10**6)
    synopsis = Synopsis.open(
        session, table="visits", columns=["region", "age"], name="s", alpha=0.2, epsilon=50
    )
    holdout = Holdout.open(
        session, table="visits", name="h", threshold=10**5, overfits=1, epsilon=5,
        reach=200_000, step=0.5,
    )  # fmt: skip
    found = {
        "median": median(session, "visits", "income", epsilon=5).notes,
        "clustered": clustered(
            session, "visits", "income", clusters=1, width=1000, epsilon=5
        ).notes,
        "joint": joint.ask("SELECT SUM(income) AS s FROM visits").notes,
        "counter": Counter.open(session, months, name="c", epsilon=5, versions=1).notes,
        "synopsis": synopsis.snapshot.notes,
        "monitor": Monitor.open(session, count, name="m", threshold=10**6, epsilon=5).notes,
        "holdout": holdout.mean("SELECT SUM(income) AS s FROM visits", training=3).notes,
        "bounds": session.bounds("visits", "income", epsilon=5).notes,
    }
    for name, notes in found.items():
        texts = [note.text for note in notes]
        assert any(text.startswith(rows) for text in texts), name
        expected = {"monitor": rows, "synopsis": "age counts from 0 to 110"}.get(name, income)
        told = " ".join(texts).replace(", income from", ", income counts from")
        assert expected in told, name
