"""The search for the canary finds it, in texts, errors and reports."""

from types import SimpleNamespace

import pytest

from discreet.errors import InvalidValue
from support import canary
from support.command_line import run, write_clinic
from support.vaults import people


@pytest.mark.parametrize(
    "shown",
    [canary.PERSON, canary.PERSON + 9999, f"{canary.PERSON:,}", f"{canary.PERSON + 9999:,}"],
)
def test_every_form_is_found(shown):
    assert canary.leaks(f"patient {shown} has a fever")
    with pytest.raises(AssertionError, match="the canary got out"):
        canary.check("nothing", shown)


def test_people_and_files_hold_it(tmp_path):
    assert all(canary.leaks(row[0]) for row in people())
    assert len(canary.leaks(write_clinic(tmp_path).source.read_text())) == 2


def test_an_error_that_shows_it_fails_the_test():
    with pytest.raises(AssertionError, match="the canary got out"):
        raise InvalidValue(f"{canary.TEXT} is not a number")


def test_a_report_that_shows_it_is_a_failure(request):
    plugins = request.config.pluginmanager.get_plugins()
    (watched,) = {each.watched for each in plugins if hasattr(each, "watched")}
    good = SimpleNamespace(sections=[("out", "fine")], longrepr=None, outcome="passed", nodeid="t")
    assert watched(good).outcome == "passed"
    good.sections.append(("log", canary.TEXT))
    assert watched(good).outcome == "failed"
    assert canary.TEXT[:3] in good.longrepr


def test_a_command_that_shows_it_fails_the_test(monkeypatch):
    monkeypatch.setattr(canary, "_FORMS", ("Usage",))
    with pytest.raises(AssertionError, match="the canary got out"):
        run("--help")
