"""Services of the catalogue end to end, in real vaults that differ in one person: they are left
alone, and the same with far less noise than is charged for is caught. The slow ones, and more
samples, in `make soak`.
"""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from discreet.audit import catalogue
from support import fit

pytestmark = pytest.mark.slow("black-box audits")

SERVICES = ("a curator", "services", "publications")

with ExitStack() as _unused:  # nothing is drawn from, so no vault is made
    NAMES = [
        one.name for one in catalogue.everything(_unused) if one.part in SERVICES and not one.bug
    ]
FAST = [
    "a curator's COUNT",
    "a curator's SUM",
    "a curator's AVG and COUNT",
    "a curator's QUANTILE",
    "a COUNT at rho",
    "Counter",
    "Holdout",
    "a release of counting",
]
FALSE_ALARM = fit.FALSE_ALARM / 200


@pytest.fixture(scope="module")
def subjects():
    with ExitStack() as stack:
        yield {one.name: one for one in catalogue.everything(stack)}


def check_service(name, subjects, most):
    """The service is left alone, and every bug beside it is caught."""
    wrong = [one for one in subjects.values() if one.beside == name]
    right = subjects[name]
    less = replace(right, samples=min(right.samples, most or wrong[0].samples))
    found = catalogue.examine(less, false_alarm=FALSE_ALARM)
    assert not found.verdict.violated, str(found.verdict)
    for one in wrong:
        bold = catalogue.examine(one, false_alarm=1e-3)
        assert bold.verdict.violated, str(bold.verdict)


def test_all_of_them_together_are_one_check_of_the_suite():
    fit.performed.append("audits of services")
    assert set(FAST) < set(NAMES)
    assert 2 * len(NAMES) * FALSE_ALARM < fit.FALSE_ALARM


@pytest.mark.parametrize("name", FAST)
def test_services_are_left_alone_and_bold_ones_are_caught(name, subjects):
    check_service(name, subjects, None)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_every_service_with_all_its_samples(name, subjects):
    check_service(name, subjects, subjects[name].samples)
