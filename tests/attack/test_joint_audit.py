"""Joint questions audited from outside, on real curators of neighbouring tables, where their limit
is broken; and what the ledger says of joint questions and holdouts. As they are, both stand in the
catalogue of audits.
"""

from fractions import Fraction
from itertools import count

import pytest

from discreet.audit import audit
from discreet.loss import Pure
from discreet.streams.holdout.holdout import Holdout
from discreet.streams.joint.cells import Cells
from discreet.streams.joint.joint import Joint
from support.vaults import copied_curator, people

FEW = 100
COUNT = "SELECT COUNT(*) AS n FROM visits"
PERSON = [(10_000, 30, 1000.0, "north", "2024-01-15", 0)] * 2  # both rows in one cell
EPSILON = Fraction(1, 2)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Curators of two tables that differ in one person."""
    opened = []
    for name, rows in (("without", people(20)), ("with", [*people(20), *PERSON])):
        folder = tmp_path_factory.mktemp(name) / "c"
        curator = copied_curator(folder, rows, budget="epsilon = 1000000\ndelta = 1e-6")
        curator.grant("ana", epsilon=900_000, delta=1e-6)
        opened.append(curator)
    yield [each.session("ana") for each in opened]
    for each in opened:
        each.close()


NAMES = (f"a{number}" for number in count())


def joint(session, sensitivity=4, asked=(f"{COUNT} WHERE age < 40", f"{COUNT} WHERE age < 41")):
    opened = Joint.open(
        session,
        table="visits",
        name=next(NAMES),
        epsilon=EPSILON,
        sensitivity=sensitivity,
        columns=("age", "region"),
    )
    return sum(opened.ask(sql).rows[0]["n"] for sql in asked)


def unlimited_joint(session):
    """A sum that one person moves by 60, with the noise for 2; `Cells.add` is broken meanwhile."""
    return joint(session, sensitivity=2, asked=("SELECT SUM(age) AS n FROM visits",))


def charged(session):
    return session._vault.ledger.entries()[-1].loss


def test_the_ledger_says_the_claims(sessions):
    joint(sessions[1])
    assert charged(sessions[1]) == Pure(epsilon=EPSILON)
    Holdout.open(
        sessions[1], table="visits", name=next(NAMES), threshold=0.1, overfits=1, epsilon=EPSILON
    )
    assert charged(sessions[1]).zcdp().rho <= EPSILON**2 / 2


@pytest.mark.slow("black-box audits")
def test_questions_beyond_the_sensitivity_are_caught(sessions, monkeypatch):
    honest = Cells.add

    def careless(cells, query, measured, *, limit):
        honest(cells, query, measured, limit=1000 * limit)

    monkeypatch.setattr(Cells, "add", careless)
    verdict = audit(
        lambda place: unlimited_joint(sessions[place]),
        Pure(epsilon=EPSILON),
        pairs=[(0, 1)],
        samples=FEW,
        false_alarm=1e-3,
    )
    assert verdict.violated, str(verdict)
