"""How outcomes are judged, drawn and written; the limits; and the command."""

import re
from xml.etree import ElementTree

import pytest

from discreet.attacks import (
    ATTACKS,
    Curated,
    Outcome,
    Setting,
    Study,
    _draws,
    audited,
    certain,
    curator_race,
    interfaces,
    law,
    limits,
    lottery,
    made_up,
    naive_race,
    parities,
    power_bound,
    refusals,
    study,
    value_bound,
)
from discreet.attacks.chart import bar_chart, line_chart, study_section
from discreet.demo.clinic import SCHEMA
from discreet.drawing.chart import svg
from discreet.drawing.page import page
from discreet.errors import InvalidValue
from discreet.loss import Relation
from support.command_line import run
from support.fit import check_rate

pytestmark = pytest.mark.slow("attacks on curators")


def outcome(**named):
    given = {"attack": "a", "interface": "<b>", "right": 8, "attempts": 10, "baseline": 0.5}
    return Outcome(**{**given, **named})


SHOWN = Study(
    name="n",
    title="Some <title>",
    words="What & how",
    measure="share",
    outcomes=(outcome(bound=0.9), outcome(parameters=(("people", "10"),))),
    curve=(outcome(at=1.0), outcome(at=100.0, bound=0.7)),
    curve_title="number",
    lesson="A lesson",
)


def test_an_outcome_knows_whether_it_is_within_the_bound():
    assert outcome(bound=0.75).within is True
    assert outcome(right=900, attempts=1000, bound=0.75).within is False
    assert outcome().within is None
    with pytest.raises(InvalidValue, match="9 right of 3 attempts"):
        outcome(right=9, attempts=3)


def test_bounds_are_those_of_the_seeds():
    assert value_bound(epsilon=1) == pytest.approx(0.8807970779778823)
    assert value_bound(epsilon=1, relation=Relation.REPLACE) == pytest.approx(0.7310585786300049)
    assert power_bound(epsilon=1) == pytest.approx(0.05 * 2.718281828459045)
    assert power_bound(epsilon=1, delta=0.01) == pytest.approx(0.05 * 2.718281828459045 + 0.01)


@pytest.mark.parametrize("chart", [bar_chart, line_chart])
def test_charts_are_drawn_with_every_interface(chart):
    drawn = svg(chart(SHOWN))
    ElementTree.fromstring(drawn)
    assert "&lt;b&gt;" in drawn


def test_a_page_is_one_file_without_scripts_or_addresses():
    text = page("A <page>", ["Words & more"], [study_section(SHOWN)])
    assert "<script" not in text
    assert not re.search(r"(?:href|src)=[\"']?http", text)
    assert "Some &lt;title&gt;" in text
    assert text.count("<svg") == 2
    assert "80.0% (8 of 10)" in text
    assert "no limit" in text


def test_protections_do_what_they_say():
    import numpy as np

    counts, sizes = np.array([0.0, 4.0, 7.0]), np.array([1, 50, 95])
    assert interfaces.rounded(5).change(counts, sizes, 100).tolist() == [0, 5, 5]
    shown = interfaces.suppressed(5).change(counts, sizes, 100)
    assert np.isnan(shown).tolist() == [True, True, False]
    shown = interfaces.thresholded(10).change(counts, sizes, 100)
    assert np.isnan(shown).tolist() == [True, False, True]
    secrets = np.arange(400).reshape(-1, 1) < 200
    moved = interfaces.swapped(0.4).disturb(secrets)
    assert moved.sum() == secrets.sum()
    assert 0 < (moved != secrets).sum() <= 160  # 80 pairs, all of them alike once in 2**80


def test_the_law_falls_with_noise_and_rises_with_questions():
    found = law(people=200)
    by = {(one.interface, one.at): one.accuracy for one in found.curve}
    assert by["8 n questions", 0.1] >= 0.95
    assert by["8 n questions", 4.0] < 0.85
    assert by["8 n questions", 0.1] > by["0.5 n questions", 0.1]


def test_parities_need_many_people_beforehand_and_few_afterwards():
    found = parities(crowds=(500,), trials=60)
    by = {(one.interface.split(",")[0], one.at): one.accuracy for one in found.curve}
    assert {at for _, at in by} == {2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0}
    assert by["reports made before the question", 2.0] > 0.9
    assert by["reports made before the question", 16.0] < 0.95
    assert min(value for (who, _), value in by.items() if who.startswith("a curator")) == 1


def test_a_width_beyond_the_measured_ones_is_refused():
    with pytest.raises(InvalidValue, match="from 1 to 16"):
        limits.parity_by_curator(width=17, people=5, epsilon=1)


@pytest.mark.parametrize(
    ("name", "points", "limited"),
    [
        ("bits", 12, True),
        ("linkage", 10, True),
        ("lottery", 8, True),
        ("race", 8, True),
        ("refusals", 16, True),
        ("timing", 6, False),
    ],
)
def test_every_attack_has_a_curve_with_a_curator_in_it(name, points, limited):
    found = study(name, Setting(people=30), lambda _: None)
    assert len(found.curve) == points
    assert all(one.at for one in found.curve)
    curator = [one for one in found.curve if one.interface.startswith("a curator")]
    assert len({one.at for one in curator}) == len(curator) >= 3
    assert all((one.bound is not None) == limited for one in curator)
    assert any(one.interface.startswith("a curator") for one in found.outcomes)
    ElementTree.fromstring(svg(line_chart(found)))


def test_a_sample_gives_people_away_and_a_curator_does_not():
    crowd = made_up(200)
    assert lottery(crowd, share=0.5).right > 0
    assert certain(crowd, Curated(epsilon=1)).right == 0
    loose = certain(crowd, Curated(epsilon=100))  # the same test finds everybody without noise
    assert (loose.right, loose.bound) == (200, 1.0)


def test_a_race_for_the_last_answer_is_won_once():
    assert naive_race(affordable=1, askers=6).accuracy == 1.0
    fair = curator_race(affordable=1, askers=6)
    assert (fair.right, fair.at, dict(fair.parameters)["granted"]) == (0, 6.0, "1")


def test_refusals_are_asked_for_so_many():
    crowd = made_up(30)
    found = refusals(crowd, audited(), questions=7)
    assert (found.accuracy, found.attempts, found.at) == (1.0, 7, 7.0)
    for questions in (0, 30):
        with pytest.raises(InvalidValue, match="from 1 to 29"):
            refusals(crowd, audited(), questions=questions)


def test_an_unknown_attack_is_refused_with_the_nearest():
    with pytest.raises(InvalidValue, match="Did you mean 'linkage'"):
        study("linkge", Setting(), print)


def test_attacks_are_listed():
    outcome = run("attack")
    assert outcome.status == 0
    assert all(name in outcome.out for name in (*ATTACKS, "limits"))
    assert run("attack", "--json").json["attacks"] == [*ATTACKS, "limits"]


@pytest.mark.parametrize("words", [["nothing"], ["bits", "--all"], ["--html", "x.html"]])
def test_bad_input_is_refused(words):
    assert run("attack", *words).status == 2


def test_an_attack_on_a_custodians_own_schema(tmp_path):
    schema = tmp_path / "visits.toml"
    schema.write_text(SCHEMA)
    html = tmp_path / "page.html"
    words = ["attack", "refusals", "--table", schema, "--people", "12", "--html", html, "--json"]
    outcome = run(*words)
    assert outcome.status == 0
    (found,) = outcome.json["attacks"]
    assert [one["interface"] for one in found["outcomes"]][-1] == "a curator at epsilon 1"
    assert [one["accuracy"] for one in found["outcomes"]][:2] == [1.0, 1.0]
    assert "the schema of visits" in html.read_text()
    assert run("attack", "bits", "--table", tmp_path / "none.toml").status == 2


@pytest.mark.parametrize(
    ("name", "over"), [("bits", "epsilon"), ("lottery", "sample"), ("race", "asker")]
)
def test_attacks_print_a_table_a_curve_and_a_lesson(name, over):
    outcome = run("attack", name, "--people", "20")
    assert outcome.status == 0
    before, _, after = outcome.out.partition("└")
    assert "privacy admits" in " ".join(before.split())
    assert over in after
    assert after.count("%") > 3


def test_pictures_are_written_as_files(tmp_path):
    outcome = run("attack", "bits", "--svg", tmp_path / "new")
    assert outcome.status == 0
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["bits.svg", "bits_curve.svg"]
    ElementTree.fromstring((tmp_path / "new" / "bits_curve.svg").read_text())


def test_limits_say_what_cryptography_says(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "law", lambda **_: law(people=32))
    monkeypatch.setattr(limits, "parities", lambda **_: SHOWN)
    html = tmp_path / "limits.html"
    outcome = run("attack", "limits", "--html", html)
    assert outcome.status == 0
    said = " ".join(outcome.out.split())
    assert "if digital signatures exist" in said
    assert "if traitor tracing exists" in said
    assert "digital signatures" in html.read_text()


def test_draws_are_what_they_are_called():
    for shape in ((7,), (3, 5)):
        assert _draws.coins(*shape).shape == shape
        assert _draws.coins(*shape, chance=1.0).all()
    assert check_rate(int(_draws.coins(20_000).sum()), 20_000, 0.5, name="coins") > 0
    rare = int(_draws.coins(20_000, chance=0.1).sum())
    assert check_rate(rare, 20_000, 0.1, name="loaded coins") > 0
    assert sorted(_draws.order(50).tolist()) == list(range(50))
    for bound in (30, 10**9):
        drawn = _draws.distinct(bound, 30)
        assert len(set(drawn.tolist())) == 30
        assert drawn.min() >= 0
        assert drawn.max() < bound
    floats = _draws.floats(1000)
    assert (floats > 0).all()
    assert (floats <= 1).all()


@pytest.mark.soak
def test_limits_are_measured():
    outcome = run("attack", "limits", "--json")
    assert [one["name"] for one in outcome.json["attacks"]] == ["law", "parities"]


@pytest.mark.soak
def test_all_attacks_write_one_page(tmp_path):
    html = tmp_path / "page.html"
    assert run("attack", "--all", "--people", "60", "--html", html).status == 0
    assert html.read_text().count("<h2>") == len(ATTACKS)
