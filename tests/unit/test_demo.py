"""The demo runs in seconds, shows released values only and draws a chart."""

import json
import re
import sys

import pytest

from discreet import demo
from discreet.noise.bits import SystemBits


@pytest.fixture
def printed(tmp_path, capsys) -> str:
    demo.tour(tmp_path / "new" / "folder")
    return capsys.readouterr().out


def test_the_tour_shows_counts_costs_and_meaning(printed):
    for words in ("north", "±", "optimal", "zCDP", "epsilon 0.5", "Written"):
        assert words in printed


def test_composition_gets_tighter_down_the_table(printed):
    found = re.findall(r"(basic|advanced|optimal)\D*epsilon ([\d.]+)", printed)
    epsilons = [float(epsilon) for _, epsilon in found]
    assert [name for name, _ in found] == ["basic", "advanced", "optimal"]
    assert epsilons == sorted(epsilons, reverse=True)


def test_two_runs_differ_because_the_noise_is_fresh(tmp_path, capsys):
    demo.tour(tmp_path)
    first = capsys.readouterr().out
    demo.tour(tmp_path)
    assert capsys.readouterr().out != first


def test_exact_counts_are_not_printed(monkeypatch, tmp_path, capsys):
    released = [10**6 + step for step in range(6)]
    exact = demo._clinic()
    monkeypatch.setattr(demo, "_bars", lambda _: [demo.Bar("north", n, 1.0) for n in released])
    demo.tour(tmp_path)
    out = capsys.readouterr().out + (tmp_path / "visits.vl.json").read_text()
    assert not set(re.findall(r"\d+", out)) & {str(count) for count in exact}
    assert str(released[0]) in out


def test_the_clinic_is_the_same_everywhere_and_respects_its_bound():
    exact = demo._clinic()
    assert exact.sum() <= demo._PATIENTS * demo._VISITS_PER_PATIENT
    assert (exact == demo._clinic()).all()
    assert exact.min() > 10


def test_the_chart_is_data_and_a_picture(tmp_path):
    bars = [demo.Bar("north", 10, 2.0), demo.Bar("south", 20, 2.0)]
    written = demo._draw(demo.chart(bars, "a title"), tmp_path)
    assert [path.name for path in written] == ["visits.vl.json", "visits.svg"]
    rows = json.loads(written[0].read_text())["data"]["values"]
    assert rows[0] == {"region": "north", "noisy": 10, "low": 8.0, "high": 12.0}
    picture = written[1].read_text()
    assert picture.startswith("<svg")
    assert "a title" in picture


def test_without_the_plots_extra_the_data_is_still_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    written = demo._draw(demo.chart([demo.Bar("north", 10, 2.0)], "a title"), tmp_path)
    assert [path.name for path in written] == ["visits.vl.json"]


def test_the_demo_uses_the_system_source():
    assert isinstance(demo.DiscreteLaplace.release.__defaults__[0], SystemBits)
