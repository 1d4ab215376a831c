"""Parities and the pictures: the bound against enumerated laws, errors against closed forms."""

import itertools
import math
import runpy
import sys
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.local import (
    HadamardResponse,
    KaryResponse,
    SubsetSelection,
    UnaryEncoding,
    compare,
    parity_by_curator,
    parity_by_survey,
    parity_information,
    parity_people,
)
from support.decision_tree import law
from support.fit import check_rate_at_most
from support.surface import ROOT

EXAMPLE = runpy.run_path(str(ROOT / "examples" / "local_against_central.py"))
Measured, measure, parity_need, comparison_chart, parity_chart = (
    EXAMPLE[name]
    for name in ("Measured", "measure", "parity_need", "comparison_chart", "parity_chart")
)


def plain(report):
    return tuple(report.tolist()) if isinstance(report, np.ndarray) else report


def divergences(question, width, monkeypatch):
    """The chi-square divergence of each parity, from the exact laws of all answers."""
    size = 1 << width
    laws = [law(lambda a=answer: plain(question.release(a)), monkeypatch) for answer in range(size)]
    found = []
    for parity in range(1, size):
        total = Fraction(0)
        for report in set().union(*laws):
            chances = [one.get(report, Fraction(0)) for one in laws]
            signs = [(-1) ** (answer & parity).bit_count() for answer in range(size)]
            shift = sum(s * c for s, c in zip(signs, chances, strict=True)) / size
            total += shift**2 / (sum(chances) / size)
        found.append(total)
    return found


@pytest.mark.parametrize(
    ("kind", "width", "epsilon"),
    [
        (KaryResponse, 2, 0.5),
        (KaryResponse, 4, 2),
        (UnaryEncoding, 2, 0.5),
        (UnaryEncoding, 2, 2),
        (HadamardResponse, 3, 0.5),
        (HadamardResponse, 3, 2),
        (SubsetSelection, 3, 2),
    ],
)
def test_no_randomizer_tells_more_about_parities_than_the_bound(kind, width, epsilon, monkeypatch):
    question = kind(epsilon=epsilon, categories=1 << width)
    found = divergences(question, width, monkeypatch)
    average = sum(found) / len(found)
    assert average <= parity_information(width=width, epsilon=epsilon)
    assert average > 0


def test_the_bound_is_reached(monkeypatch):
    # One bit by randomized response: nothing is lost, so the bound must not be smaller.
    [found] = divergences(KaryResponse(epsilon=1), 1, monkeypatch)
    kept = math.e / (1 + math.e)
    assert float(found) == pytest.approx((2 * kept - 1) ** 2)
    assert float(found) <= float(parity_information(width=1, epsilon=1))
    # A randomizer at epsilon 2 that claims epsilon 1 is seen.
    stronger = divergences(KaryResponse(epsilon=2), 1, monkeypatch)
    assert stronger[0] > parity_information(width=1, epsilon=1)


def test_subsets_of_the_right_size_come_near_the_bound(monkeypatch):
    question = SubsetSelection(epsilon=1, categories=8)
    found = divergences(question, 3, monkeypatch)
    assert float(sum(found) / 7) > 0.7 * float(parity_information(width=3, epsilon=1))


def test_people_double_with_each_bit():
    needed = [parity_people(width=width, epsilon=1) for width in range(8, 21)]
    for few, many in itertools.pairwise(needed):
        assert many / few == pytest.approx(2, rel=0.02)
    assert parity_people(width=10, epsilon=2) < parity_people(width=10, epsilon=1)
    for right in (0.5, 0.3, 1.1):
        with pytest.raises(InvalidValue):
            parity_people(width=4, epsilon=1, right=right)


def test_a_survey_below_the_bound_fails_and_a_curator_does_not():
    people = parity_people(width=14, epsilon=1) // 64
    right = parity_by_survey(width=14, people=people, epsilon=1, trials=200)
    # By the bound, averaged over parities, right less than 1/2 + 0.03 of the time.
    assert check_rate_at_most(right, 200, 0.55, name="a parity from too few reports") > 0
    assert parity_by_curator(width=14, people=people, epsilon=1, trials=50) == 50


def test_the_survey_works_where_there_are_enough_people():
    assert parity_by_survey(width=2, people=3_000, epsilon=2, trials=30) == 30
    survey, curator = parity_need(width=6, epsilon=2, trials=60)
    assert survey >= parity_people(width=6, epsilon=2)
    assert curator < survey


def test_measured_errors_are_the_closed_forms():
    # Ten standard deviations of a root mean square of 400 normal, or Laplace, errors.
    for people in (500, 20_000):
        found, expected = (
            measure(people=people, epsilon=1, trials=400),
            compare(people=people, epsilon=1),
        )
        assert found.local == pytest.approx(expected.local, rel=0.35)
        assert found.central == pytest.approx(expected.central, rel=0.6)


def test_charts_hold_the_numbers():
    chart = comparison_chart(epsilon=1, measured=[Measured(people=100, local=9.0, central=1.0)])
    lines, points = (layer["data"]["values"] for layer in chart["layer"])
    local = [row["error"] for row in lines if row["who"] == "each person randomizes"]
    central = [row["error"] for row in lines if row["who"] == "a curator is trusted"]
    assert local[-1] / local[0] == pytest.approx(math.sqrt(10**6 / 100))
    assert len(set(central)) == 1
    assert {row["error"] for row in points} == {9.0, 1.0}
    chart = parity_chart(widths=(4, 8), needed={4: (64, 8)})
    lines, points = (layer["data"]["values"] for layer in chart["layer"])
    assert [row["people"] for row in lines] == [6, 101]
    assert [row["people"] for row in points] == [64, 8]


def test_the_example_draws_both_pictures(tmp_path, monkeypatch, capsys):
    words = ["--output", str(tmp_path), "--trials", "5", "--widest", "2", "--people", "100"]
    monkeypatch.setattr(sys, "argv", ["local_against_central.py", *words])
    runpy.run_path(str(ROOT / "examples" / "local_against_central.py"), run_name="__main__")
    assert "100 people" in capsys.readouterr().out
    for name in ("local_central", "local_parities"):
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg")
