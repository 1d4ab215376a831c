"""What the project audits of itself: nothing is missing, everything has a bug beside it, and the
page and the command say so. Draws from few; tests/attack draws from all.
"""

import importlib
import inspect
from contextlib import ExitStack
from dataclasses import replace

import pytest

from discreet.audit import catalogue
from discreet.audit import parallel as sharing
from discreet.audit.report import audit_page, examination_values, summary
from discreet.audit.services import vault_pair as vault_pairs
from discreet.cli.commands import audit as command
from discreet.curator.session import Session
from discreet.errors import InvalidValue
from discreet.loss import Pure
from discreet.noise.bits import BitSource
from support import fit
from support.command_line import run

FALSE_ALARM = 1e-13  # of the few that are drawn from here
PACKAGES = ("mechanisms", "local", "streams", "robust", "release", "curator")
USES_DATA = ("release", "growth", "around")
NOT_AUDITED = {
    "estimate_sensitivity": "tells the custodian about exact rows; claims no privacy",
    "parity_by_curator": "counts made-up people, to show what a curator can tell",
    "parity_by_survey": "surveys made-up people, to show what a survey can tell",
}


def draws_or_charges(function):
    """Whether a function is given random bits or a session, or a price, or opens a session."""
    signature = inspect.signature(function)
    names = set(signature.parameters)
    kinds = [one.annotation for one in signature.parameters.values()]
    return bool(
        names & {"bits", "session"}
        or {BitSource, Session} & {kind for kind in kinds if inspect.isclass(kind)}
        or ({"self", "epsilon"} <= names and function.__name__ != "__init__")
        or signature.return_annotation is Session
    )


def must_be_audited(value):
    """By structure: it uses data, draws, or charges. A protocol says what others do."""
    if getattr(value, "_is_protocol", False):
        return False
    if inspect.isfunction(value):
        return draws_or_charges(value)
    if not inspect.isclass(value):
        return False
    members = {
        name: getattr(member, "__func__", member)
        for name, member in vars(value).items()
        if name == "__init__" or not name.startswith("_")
    }
    functions = [member for member in members.values() if inspect.isfunction(member)]
    return bool(set(USES_DATA) & set(members)) or any(map(draws_or_charges, functions))


def to_audit(package):
    """Public names of a package that have something to do with data."""
    module = importlib.import_module(f"discreet.{package}")
    return [name for name in module.__all__ if must_be_audited(getattr(module, name))]


@pytest.fixture(scope="module")
def subjects():
    with ExitStack() as stack:  # nothing is drawn from, so no vault is made
        return catalogue.everything(stack)


def missing(package, subjects):
    covered = {name for one in subjects for name in one.covers}
    return sorted(set(to_audit(package)) - covered - set(NOT_AUDITED))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_mechanism_and_every_service_is_audited(package, subjects):
    assert missing(package, subjects) == [], "give it a Subject in discreet/audit/"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("mechanisms", "NoisyMax"),
        ("local", "Diary"),
        ("streams", "Holdout"),
        ("robust", "BinWidth"),
        ("robust", "SmoothTrimmedMean"),
        ("release", "synthesize"),
        ("curator", "Session"),
    ],
)
def test_what_has_no_subject_is_named(package, name, subjects):
    assert name in missing(package, [one for one in subjects if name not in one.covers])


def test_a_docstring_decides_nothing():
    class Silent:
        """Privacy: none (touches no data)."""

        def release(self, exact):
            return exact

    class Loud:
        """Privacy: epsilon-DP under add/remove."""

    def ask(session, sql):
        return session, sql

    assert must_be_audited(Silent)
    assert must_be_audited(ask)
    assert not must_be_audited(Loud)


def test_exceptions_are_needed_and_say_why():
    names = {name for package in PACKAGES for name in to_audit(package)}
    assert set(NOT_AUDITED) <= names
    assert all(len(reason) > 20 for reason in NOT_AUDITED.values())


def test_every_subject_has_a_bug_beside_it_and_names_are_told_apart(subjects):
    right = {one.name for one in subjects if not one.bug}
    beside = {one.beside for one in subjects if one.beside}
    assert right == beside
    names = [one.name.casefold() for one in subjects]
    assert len(names) == len(set(names))
    assert all(one.part for one in subjects)


def test_a_bug_shares_the_claim_of_its_subject(subjects):
    claims = {one.name: one.claim for one in subjects}
    assert all(one.claim == claims[one.beside] for one in subjects if one.beside)


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


def test_the_samples_for_each_published_bug_are_the_promised_ones():
    assert {one.name: one.samples for one in catalogue.bugs()}.items() >= SIZES.items()


def test_an_unknown_name_is_refused(subjects):
    with pytest.raises(InvalidValue, match="Did you mean 'DiscreteLaplace'"):
        catalogue.find("DiscreteLaplac", subjects)
    with pytest.raises(InvalidValue):
        catalogue.find("", subjects)


def test_a_name_finds_its_bugs(subjects):
    found = catalogue.find("binwidth", subjects)
    assert [bool(one.bug) for one in found] == [False, True]
    assert catalogue.find(found[1].name, subjects) == found[1:]
    assert {one.name for one in catalogue.mechanism_subjects()} == set(to_audit("mechanisms"))


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
        "0 correct mechanisms and services left alone of 0; 0 planted bugs caught of 1."
    )
    assert examination_values(found[1])["violated"] is True


def test_the_command_audits_one_by_name(tmp_path):
    html = tmp_path / "audit.html"
    outcome = run("audit", "half the noise", "--html", html)
    assert outcome.status == 0
    assert "caught" in outcome.out
    assert "The claim of epsilon 1" in outcome.out
    assert html.read_text().startswith("<!DOCTYPE html>")
    values = run("audit", "randomizedresponse", "--json", "--quick").json
    assert [(one["name"], one["planted"], one["samples"]) for one in values["audits"]] == [
        ("RandomizedResponse", False, 1_000),
        ("RandomizedResponse: a coin too honest", True, 2_000),
    ]
    assert run("audit", "nothing").status == 2


def test_the_command_lists_what_can_be_audited(subjects):
    listed = {(one["part"], one["name"]) for one in run("audit", "--list", "--json").json}
    assert listed == {(one.part, one.name) for one in subjects if not one.beside}
    assert ("services", "Synopsis") in listed
    assert "StabilityHistogram" in run("audit", "--list").out


def test_a_missed_bug_or_a_false_claim_is_status_1(monkeypatch):
    (bug,) = catalogue.find("half the noise", catalogue.bugs())
    found = [replace(catalogue.examine(bug, false_alarm=1e-3), subject=replace(bug, bug=""))]
    monkeypatch.setattr(command, "_run_audits", lambda *_: (found, 0.0))
    outcome = run("audit", "anything")
    assert outcome.status == 1
    assert "CLAIM IS FALSE" in outcome.out


def test_vaults_are_made_when_drawn_from_and_are_temporary():
    with ExitStack() as stack:
        pair = vault_pairs.visits(stack, delta=0)
        assert pair._sessions == []
        folders = [pair.session(side)._vault.folder for side in (0, 1)]
        assert all(folder.exists() for folder in folders)
        answer = pair.session(1).sql("SELECT COUNT(*) AS n FROM visits", epsilon=1000)
        assert abs(answer.to_dicts()[0]["n"] - 82) < 2
    assert not any(folder.exists() for folder in folders)


def test_a_subject_covers_itself_and_a_bug_nothing():
    right = catalogue.Subject(
        name="a", mechanism=abs, claim=Pure(epsilon=1), pairs=((0, 1),), samples=100
    )
    assert right.covers == ("a",)
    wrong = right.plant("b", abs, 200, pairs=((0, 2),))
    assert (wrong.name, wrong.covers, wrong.pairs) == ("a: b", (), ((0, 2),))


@pytest.mark.slow("kills and processes")
def test_processes_share_the_catalogue():
    """Two parts, with what each needs made where it is drawn; in the catalogue's order."""
    told = []
    fit.performed.append("audits in processes")
    rates = sharing.Rates(right=fit.FALSE_ALARM / 200, wrong=1e-3, most=200)
    parts = ("local", "published bugs")
    found, seconds = sharing.examine_all(
        rates, lambda name, share: told.append((name, share)), processes=2, parts=parts
    )
    with ExitStack() as stack:
        names = [one.name for one in catalogue.everything(stack) if one.part in parts]
    assert [one.subject.name for one in found] == names
    assert all(one.as_expected for one in found), summary(found)
    assert all(one.subject.samples <= 200 for one in found if not one.subject.bug)
    assert seconds > 0
    assert {name for name, _ in told} <= set(names)
    assert all(0 < share <= 1 for _, share in told)


@pytest.mark.soak
def test_the_whole_catalogue_is_as_expected():
    outcome = run("audit", "--json")
    assert outcome.status == 0
    assert outcome.json["processor_seconds"] < 400
