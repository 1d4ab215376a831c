"""Everything in the catalogue but the services: correct mechanisms are left alone with the samples
that catch the bug beside them, and every bug is caught.

Correct ones are audited at a rate of false alarms so small that all of them together make one
check of the suite. Bugs are looked for at a rate of 1e-3 and are bold.
"""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from discreet.audit import catalogue
from support import fit

pytestmark = pytest.mark.slow("black-box audits")

SERVICES = ("a curator", "services", "publications")

with ExitStack() as _unused:  # nothing is drawn from, so no vault is made
    SUBJECTS = {one.name: one for one in catalogue.everything(_unused) if one.part not in SERVICES}
RIGHT = [name for name, one in SUBJECTS.items() if not one.bug]
WRONG = [name for name, one in SUBJECTS.items() if one.beside]
FALSE_ALARM = fit.FALSE_ALARM / 200


def test_all_of_them_together_are_one_check_of_the_suite():
    fit.performed.append("audits of the catalogue")
    assert len(RIGHT) * FALSE_ALARM < fit.FALSE_ALARM


@pytest.mark.parametrize("name", RIGHT)
def test_correct_mechanisms_are_left_alone(name):
    subject = SUBJECTS[name]
    enough = min(one.samples for one in SUBJECTS.values() if one.beside == name)
    small = replace(subject, samples=min(subject.samples, enough))
    found = catalogue.examine(small, false_alarm=FALSE_ALARM)
    assert not found.verdict.violated, str(found.verdict)


@pytest.mark.parametrize("name", WRONG)
def test_the_bug_beside_each_is_caught(name):
    found = catalogue.examine(SUBJECTS[name], false_alarm=1e-3)
    assert found.verdict.violated, str(found.verdict)
