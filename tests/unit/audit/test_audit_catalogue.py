"""What the project audits of itself: nothing is missing, bugs are caught, and the page says so."""

import inspect
import time
from dataclasses import replace

import pytest

import discreet.local
import discreet.mechanisms
from discreet.attacks import curated
from discreet.audit import catalogue, services
from discreet.audit.report import audit_page, examined_values, summary
from discreet.cli import audit as command
from discreet.curator import session
from discreet.errors import InvalidValue
from support import fit
from support.command_line import run

FALSE_ALARM = 1e-13  # ten audits make one check of the suite


def released(package):
    """The classes of a package that release something and say what it costs."""
    found = [getattr(package, name) for name in package.__all__]
    classes = [each for each in found if inspect.isclass(each)]
    return {
        each.__name__
        for each in classes
        if hasattr(each, "release")
        and hasattr(each, "loss")
        and not getattr(each, "_is_protocol", False)
    }


def test_every_mechanism_and_every_randomizer_is_audited():
    audited = {one.name for one in catalogue.mechanism_subjects()}
    local = {one.name for one in catalogue.local_subjects()}
    advice = "give it a Subject in discreet/audit/catalogue.py"
    assert audited == released(discreet.mechanisms), advice
    assert local == released(discreet.local), advice


@pytest.mark.parametrize(
    "name", [one.name for one in (*catalogue.mechanism_subjects(), *catalogue.local_subjects())]
)
def test_correct_mechanisms_are_left_alone(name):
    subjects = (*catalogue.mechanism_subjects(), *catalogue.local_subjects())
    (subject,) = catalogue.find(name, subjects)
    fit.performed.append(f"audit of {name}")
    small = replace(subject, samples=min(subject.samples, 2_000))
    found = catalogue.examine(small, false_alarm=FALSE_ALARM)
    assert found.as_expected, str(found.verdict)


SIZES = {
    "half the noise": 3_000,
    "a fifth too little noise": 28_000,
    "sensitivity doubled": 4_000,
    "sparse vector with its value": 280_000,
    "query noise without c": 400_000,
    "no query noise": 4_000,
    "no cut-off": 400_000,
    "noisy max with its value": 120_000,
}


def test_the_samples_for_each_bug_are_the_promised_ones():
    assert {one.name: one.samples for one in catalogue.bugs()}.items() >= SIZES.items()


@pytest.mark.parametrize("name", [one.name for one in catalogue.bugs() if one.samples < 50_000])
def test_bugs_of_the_catalogue_are_caught(name):
    (subject,) = catalogue.find(name, catalogue.bugs())
    assert catalogue.examine(subject, false_alarm=1e-3).as_expected


def test_a_curator_is_left_alone_and_one_with_less_noise_is_not(monkeypatch):
    with services.curator_subjects(samples=4_000) as subjects:
        fit.performed.append("audit of a curator")
        found = [catalogue.examine(one, false_alarm=FALSE_ALARM) for one in subjects]
        assert [one.verdict.violated for one in found] == [False] * 3
        assert found[0].verdict.epsilon > 0.3  # much of the claim is proved: it could fail
        asked = session.Session.sql
        monkeypatch.setattr(
            session.Session, "sql", lambda self, text, **_: asked(self, text, epsilon=3)
        )
        careless = catalogue.examine(subjects[0], false_alarm=1e-3)
        assert careless.verdict.violated


def test_an_unknown_mechanism_is_refused():
    with pytest.raises(InvalidValue, match="Did you mean 'DiscreteLaplace'"):
        catalogue.find("DiscreteLaplac", catalogue.mechanism_subjects())


def test_a_page_shows_verdicts_and_names_what_went_wrong():
    right, wrong = catalogue.mechanism_subjects()[0], catalogue.bugs()[0]
    found = [
        catalogue.examine(replace(right, samples=500), false_alarm=FALSE_ALARM),
        catalogue.examine(wrong, false_alarm=1e-3),
    ]
    text = audit_page(found)
    assert "<script" not in text
    assert text.count("<svg") == 2
    assert "Nothing was found against the claim" in text
    assert "NOT AS EXPECTED" not in text
    missed = replace(found[0], subject=replace(found[0].subject, bug="a bug"))
    assert "NOT AS EXPECTED" in audit_page([missed])
    assert summary([missed]) == (
        "0 correct mechanisms left alone of 0; 0 planted bugs caught of 1."
    )
    assert examined_values(found[1])["violated"] is True


def test_the_command_audits_one_by_name(tmp_path):
    html = tmp_path / "audit.html"
    outcome = run("audit", "half the noise", "--html", html)
    assert outcome.status == 0
    assert "caught" in outcome.out
    assert "The claim of epsilon 1" in outcome.out
    assert html.read_text().startswith("<!DOCTYPE html>")
    values = run("audit", "randomizedresponse", "--json").json
    assert [one["name"] for one in values["audits"]] == ["RandomizedResponse"]
    assert run("audit", "nothing").status == 2


def test_a_missed_bug_or_a_false_claim_is_status_1(monkeypatch):
    (bug,) = catalogue.find("half the noise", catalogue.bugs())
    found = [replace(catalogue.examine(bug, false_alarm=1e-3), subject=replace(bug, bug=""))]
    monkeypatch.setattr(command, "_examined", lambda _: found)
    outcome = run("audit", "anything")
    assert outcome.status == 1
    assert "CLAIM IS FALSE" in outcome.out


def test_vaults_of_audits_are_temporary():
    with services.curator_subjects(samples=400):
        pass
    with curated.vault_of(services._alike(1), epsilon=1) as (folder, _):
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.soak
def test_the_whole_set_takes_less_than_a_minute_of_processor_time():
    start = time.process_time()
    assert run("audit").status == 0
    assert time.process_time() - start < 60
