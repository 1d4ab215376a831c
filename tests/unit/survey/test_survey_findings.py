"""What reports say and what can be foretold: the formulas, and made-up respondents beside them."""

import math

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.local import Mean, Tally, compare, count_variance, frequencies, mean
from discreet.survey import Choice, Scale, Survey, read_survey_text
from discreet.survey.chart import finding_chart, findings_chart
from discreet.survey.definition import SKELETON
from discreet.survey.findings import findings, pairs
from discreet.survey.forecast import forecast, people_for
from discreet.survey.summary import summary_page

SURVEY = read_survey_text(SKELETON)
TRUTH = {
    "smokes": np.repeat([0, 1], [1500, 500]),
    "diet": np.tile([0, 0, 1, 2], 500),
    "sleep": np.tile([6.0, 7.5, 8.0, 9.0], 500),
}


@pytest.fixture(scope="module")
def piles():
    return {q.name: q.randomizer.release(TRUTH[q.name]) for q in SURVEY.questions}


def test_findings_are_the_library_s_estimates(piles):
    found = findings(SURVEY, piles, confidence=0.9)
    for finding in found:
        tally = Tally.of(finding.question.randomizer, piles[finding.question.name])
        if isinstance(finding.question, Scale):
            [row], expected = finding.rows, mean(tally)
            assert (row.value, row.error) == (expected.value, expected.standard_error)
            assert (row.low, row.high) == expected.interval(0.9)
            continue
        expected = frequencies(tally)
        for place, row in enumerate(finding.rows):
            assert row.label == finding.question.options[place]
            assert row.value == expected.counts[place] / 2000
            assert row.error == expected.standard_errors[place] / 2000
            assert row.adjusted == expected.projected()[place] / 2000
            assert row.low == expected.intervals(0.9)[place][0] / 2000
            assert 0 <= row.low <= row.high <= 1


def test_intervals_stay_in_the_range():
    scale = Scale(name="n", text="?", lower=0, upper=10, epsilon=1)
    survey = Survey(title="T", questions=(scale,))
    [finding] = findings(survey, {"n": scale.randomizer.release([0.0] * 5)})
    assert finding.rows[0].low == 0
    assert finding.rows[0].high <= 10
    assert 0 <= finding.rows[0].adjusted <= 10


def test_no_report_is_no_finding():
    empty = {q.name: np.zeros(0, dtype=np.int64) for q in SURVEY.questions}
    with pytest.raises(InvalidValue, match="no report has come in"):
        findings(SURVEY, empty)
    with pytest.raises(InvalidValue, match="no report has come in"):
        pairs(SURVEY, empty, "smokes", "diet")


def test_pairs_are_of_two_questions_with_options(piles):
    found = pairs(SURVEY, piles, "smokes", "diet")
    assert (len(found.shares), len(found.shares[0])) == (2, 4)
    assert sum(map(sum, found.shares)) == pytest.approx(1)
    assert min(min(row) for row in found.adjusted) >= 0
    for wrong in (("smokes", "smokes"), ("smokes", "sleep"), ("smokes", "none")):
        with pytest.raises(InvalidValue):
            pairs(SURVEY, piles, *wrong)


def test_values_for_json(piles):
    made = [finding.to_dict() for finding in findings(SURVEY, piles)]
    assert [each["of"] for each in made] == ["share", "share", "mean"]
    assert set(made[0]["rows"][0]) == {"label", "value", "error", "low", "high", "adjusted"}
    assert pairs(SURVEY, piles, "diet", "smokes").to_dict()["columns"] == ["no", "yes"]


def test_charts_have_a_bar_for_each_option(piles):
    found = findings(SURVEY, piles)
    chart = findings_chart(found)
    assert [len(each["data"]["values"]) for each in chart["vconcat"]] == [2, 4, 1]
    assert chart["vconcat"][2]["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0.0, 24.0]
    assert (
        "90%"
        in finding_chart(findings(SURVEY, piles, confidence=0.9)[0])["layer"][0]["encoding"]["x"][
            "title"
        ]
    )
    joint = (pairs(SURVEY, piles, "smokes", "diet"),)
    page = summary_page(SURVEY, found, joint, cost="Each answered once.")
    assert page.count("<svg") == 3
    assert "about those who reported" in page


def test_the_forecast_is_the_published_variance():
    e, people = math.e, 10_000
    found = {one.question.name: one for one in forecast(SURVEY, people=people)}
    # Warner: e/(e-1)^2 per report; k-ary where everybody holds the option.
    assert found["smokes"].error == pytest.approx(math.sqrt(e / (e - 1) ** 2 / people))
    kept, other = e / (e + 3), 1 / (e + 3)
    worst = kept * (1 - kept) / (kept - other) ** 2
    assert found["diet"].error == pytest.approx(math.sqrt(worst / people))
    assert found["smokes"].central == pytest.approx(compare(people=1, epsilon=1).central / people)
    assert found["smokes"].ratio == pytest.approx(compare(people=people, epsilon=1).ratio)
    assert found["smokes"].to_dict()["report_bits"] == 1


def test_the_forecast_covers_what_respondents_then_give(piles):
    expected = forecast(SURVEY, people=2000)
    for finding, one in zip(findings(SURVEY, piles), expected, strict=True):
        for row in finding.rows:
            assert row.error <= one.error * 1.1  # of means it is that of the reports seen
            assert row.high - row.low <= 2 * one.half_width * 1.02


def test_errors_shrink_with_the_root_of_the_people():
    for few, many in zip(
        forecast(SURVEY, people=100), forecast(SURVEY, people=10_000), strict=True
    ):
        assert few.error == pytest.approx(10 * many.error)
        assert few.central == pytest.approx(100 * many.central)


def test_people_needed_reach_the_error():
    for error in (0.05, 0.01):
        people = people_for(SURVEY, error=error)
        widths = {"smokes": 1, "diet": 1, "sleep": 24}
        reached = [one.error / widths[one.question.name] for one in forecast(SURVEY, people=people)]
        assert max(reached) <= error
        fewer = forecast(SURVEY, people=people - 1)
        assert max(one.error / widths[one.question.name] for one in fewer) > error


@pytest.mark.parametrize("people", [0, -1, 1.5, True, "10", 10**13])
def test_people_are_a_whole_number(people):
    with pytest.raises(InvalidValue, match="people is"):
        forecast(SURVEY, people=people)


def test_rare_answers_of_a_larger_question():
    options = tuple(f"o{place}" for place in range(30))
    asked = Choice(name="q", text="?", options=options, epsilon=1)
    [one] = forecast(Survey(title="T", questions=(asked,)), people=1)
    assert one.error**2 == pytest.approx(
        max(count_variance(asked.randomizer, share=share) for share in (0, 1))
    )


def test_the_mean_s_interval_uses_the_variance_where_that_is_narrower():
    scale = Scale(name="n", text="?", lower=0, upper=10, step=0.5, epsilon=2)
    tally = Tally(scale.randomizer, 5000, (0,) * scale.randomizer.cells)
    low, high = Mean(tally, 5.0, 0.0).interval(0.95)
    places = scale.randomizer.decode_cells()
    hoeffding = (places.max() - places.min()) * math.sqrt(math.log(40) / 2 / 5000)
    variance = max(scale.randomizer.variance(place) for place in (0, 5, 10))
    reach = (high - low) / 2 - 0.25
    assert math.sqrt(2 * math.log(40) * variance / 5000) < reach < hoeffding / 1.5
