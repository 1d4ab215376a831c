"""`discreet survey`: from a new file to findings, refusals and their status."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
import typer

from discreet.cli import app
from discreet.noise import system
from discreet.survey import Reports, read_survey
from discreet.survey.wire import pack
from support.command_line import run

PEOPLE = 400


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "habits.toml"
    assert run("survey", "new", made).status == 0
    return made


@pytest.fixture
def filled(file):
    survey = read_survey(file)
    truth = {
        "smokes": np.repeat([0, 1], [300, 100]),
        "diet": np.tile([0, 1, 2, 3], 100),
        "sleep": np.full(PEOPLE, 7.5),
    }
    drawn = {q.name: q.randomizer.release(truth[q.name]) for q in survey.questions}
    reports = Reports(file.with_suffix(".db"), survey)
    for body in pack(survey, drawn):
        reports.add(f"{system.bits(128):032x}", body.tobytes())
    reports.close()
    return file


def test_every_command_and_option_has_help():
    group = typer.main.get_command(app).commands["survey"]
    assert set(group.commands) == {"new", "simulate", "invite", "collect", "report"}
    for name, command in group.commands.items():
        assert len(command.help) > 20
        for parameter in command.params:
            if parameter.name != "help":
                assert getattr(parameter, "help", None), f"{name}: {parameter.name}"
        assert run("survey", name, "--help").status == 0


def test_new_overwrites_nothing(file):
    assert "survey simulate habits.toml" in file.read_text()
    before = file.read_text()
    again = run("survey", "new", file)
    assert again.status == 2
    assert "nothing was written" in again.err
    assert file.read_text() == before
    assert run("survey", "new", file.parent / "none" / "x.toml").status == 2


def test_simulate_needs_nobody(file):
    found = run("survey", "simulate", file, "--people", 1000)
    assert found.status == 0
    assert "KaryResponse" in found.out
    assert "epsilon 3" in found.out
    values = run("survey", "simulate", file, "--people", 1000, "--json").json
    assert values["report_bytes"] == 2
    assert [one["question"] for one in values["questions"]] == ["smokes", "diet", "sleep"]
    assert values["questions"][0]["error"] == pytest.approx(0.0303, abs=1e-4)
    assert values["people_for_error"]["0.01"] > 10_000
    chart = file.with_suffix(".svg")
    assert run("survey", "simulate", file, "--plot", chart).status == 0
    assert chart.read_text().startswith("<svg")
    assert not file.with_suffix(".db").exists()
    refused = run("survey", "simulate", file, "--people", 0)
    assert refused.status == 2
    assert "an integer from 1" in refused.err


def test_report_has_tables_intervals_chart_and_page(filled, tmp_path):
    shown = run("survey", "report", filled, "--joint", "smokes,diet")
    assert shown.status == 0
    assert "400 respondents" in shown.out
    assert "95% interval" in shown.out
    assert "vegetarian" in shown.out
    page, chart = tmp_path / "page.html", tmp_path / "chart.svg"
    values = run("survey", "report", filled, "--html", page, "--plot", chart, "--json").json
    assert [one["people"] for one in values["questions"]] == [PEOPLE] * 3
    for row in values["questions"][0]["rows"]:
        assert row["low"] <= row["adjusted"] <= row["high"]
    assert page.read_text().count("<svg") == 3
    assert chart.read_text().startswith("<svg")
    narrow = run("survey", "report", filled, "--confidence", "0.5", "--json").json
    first, second = (v["questions"][0]["rows"][0] for v in (values, narrow))
    assert second["high"] - second["low"] < first["high"] - first["low"]


def test_report_refuses_with_a_remedy(file, filled, tmp_path):
    del filled
    assert run("survey", "report", file, "--joint", "smokes").status == 2
    assert run("survey", "report", file, "--confidence", "1").status == 2
    missing = run("survey", "report", file, "--reports", tmp_path / "none.db")
    assert missing.status == 2
    assert "survey collect" in missing.err
    file.write_text(file.read_text().replace("Do you smoke?", "Did you ever smoke?"))
    edited = run("survey", "report", file)
    assert edited.status == 2
    assert "edited since" in edited.err


def test_invite_writes_private_links(tmp_path, file):
    links = tmp_path / "links.txt"
    made = run("survey", "invite", "--people", 5, "--output", links, "--address", "https://a.b/")
    assert made.status == 0
    lines = links.read_text().split()
    assert len(set(lines)) == 5
    assert all(re.fullmatch(r"https://a\.b/#[0-9a-f]{32}", line) for line in lines)
    assert links.stat().st_mode & 0o777 == 0o600
    assert run("survey", "invite", "--people", 5, "--output", links).status == 2
    assert links.read_text().split() == lines
    wrong = run("survey", "collect", file, "--invitations", file)
    assert wrong.status == 2
    assert "32 hexadecimal digits" in wrong.err


def test_rounds_have_files_of_their_own(filled):
    assert run("survey", "report", filled, "--round", 2).status == 2
    os.rename(filled.with_suffix(".db"), filled.with_suffix(".2.db"))
    values = run("survey", "report", filled, "--round", 2, "--json").json
    assert values["questions"][0]["people"] == PEOPLE
    refused = run("survey", "collect", filled, "--round", 2)
    assert refused.status == 2
    assert "has rounds 1 to 1" in refused.err
    filled.write_text(filled.read_text().replace("title", "rounds = 2\ntitle", 1))
    said = run("survey", "simulate", filled).out.replace("\n", " ")
    assert "fresh coins each time: at most epsilon 6 in all" in said
    assert run("survey", "simulate", filled, "--json").json["limit"] == 6


def test_reports_of_an_earlier_version_are_read_with_a_true_statement(filled, tmp_path):
    """It marked the reports of every round by the questions alone, and repeated reports."""
    assert "at a total epsilon of 3." in run("survey", "report", filled).out.replace("\n", " ")
    assert run("survey", "report", filled, "--json").json["limit"] == 3
    filled.write_text(filled.read_text().replace("title", "rounds = 3\ntitle", 1))
    shown = run("survey", "report", filled)
    assert shown.status == 0
    assert "400 respondents" in shown.out
    assert "no epsilon covers that" in shown.out.replace("\n", " ")
    page = tmp_path / "page.html"
    values = run("survey", "report", filled, "--html", page, "--json").json
    assert (values["epsilon"], values["rounds"], values["limit"]) == (3, 3, None)
    assert "no epsilon covers that" in page.read_text()
    refused = run("survey", "collect", filled, "--port", 0)
    assert refused.status == 2
    assert "these reports carry no round" in refused.err.replace("\n", " ")


def test_a_round_s_file_is_of_that_round(file):
    file.write_text(file.read_text().replace("title", "rounds = 2\ntitle", 1))
    survey = read_survey(file)
    for number in (1, 2):
        path = file.with_suffix(".db" if number == 1 else ".2.db")
        reports = Reports(path, survey, round_number=number)
        reports.add("0" * 32, b"\1\0")
        reports.close()
        values = run("survey", "report", file, "--round", number, "--json").json
        assert values["limit"] == 6
        assert "all 2 rounds together cost at most 6" in values["cost"]
    mixed = run("survey", "collect", file, "--round", 2, "--reports", file.with_suffix(".db"))
    assert mixed.status == 2
    assert "of another round" in mixed.err.replace("\n", " ")
    file.write_text(file.read_text().replace("rounds = 2", "rounds = 4", 1))
    changed = run("survey", "report", file)
    assert changed.status == 2
    assert "edited since" in changed.err.replace("\n", " ")


def test_collect_serves_until_it_is_stopped(file):
    words = ["survey", "collect", str(file), "--port", "0"]
    # A shell starts what runs in the background with interrupts ignored, and children inherit that.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    process = subprocess.Popen(
        [sys.executable, "-c", heed + "from discreet.cli import main; main()", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        line = process.stdout.readline()
        address = re.search(r"http://\S+/", line).group()
        request = urllib.request.Request(f"{address}reports/{'0' * 32}", data=b"\1\0", method="PUT")
        with urllib.request.urlopen(request, timeout=120) as reply:
            assert reply.status == 201
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert "1 reports are kept" in rest
    assert process.returncode == 0
    values = run("survey", "report", file, "--json").json
    assert values["questions"][0]["people"] == 1
    assert json.dumps(values)
