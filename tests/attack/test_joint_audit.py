"""Counters, joint questions and holdouts audited from outside: real curators on neighbouring
tables, everything an analyst gets to see, and the claim in the ledger. Planted bugs are caught.
"""

from datetime import date
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from discreet.audit import audit
from discreet.loss import ZCDP, Pure
from discreet.streams.cells import Cells
from discreet.streams.counter import Counter
from discreet.streams.factorisation import ONE, Factorisation
from discreet.streams.holdout import Holdout
from discreet.streams.joint import Joint
from support.fit import counted
from support.vaults import curator_of, people

FEW, MANY = 100, 1500
COUNT = "SELECT COUNT(*) AS n FROM visits"
MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
PERSON = [(10_000, 30, 1000.0, "north", "2024-01-15", 0)] * 2  # both rows in one cell
EPSILON, RHO = Fraction(1, 2), Fraction(1, 50)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Curators of two tables that differ in one person."""
    opened = []
    for name, rows in (("without", people(20)), ("with", [*people(20), *PERSON])):
        folder = tmp_path_factory.mktemp(name) / "c"
        curator = curator_of(folder, rows, budget="epsilon = 1000000\ndelta = 1e-6")
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


def counter(session, rho=RHO):
    opened = Counter.open(session, MONTHS, name=next(NAMES), rho=rho, versions=1)
    points = np.array([point.value for point in opened.advance(upto=date(2024, 12, 31))])
    noisy = np.diff(points, prepend=0.0)  # what the increments look like, on the encoder's lattice
    encoded = np.convolve(np.array(Factorisation(12).encoder) / ONE, noisy)[:12]
    return round(float(encoded @ Factorisation(12).encoder) / ONE * 2)


def holdout(session):
    opened = Holdout.open(
        session,
        table="visits",
        name=next(NAMES),
        threshold=0.1,
        overfits=1,
        epsilon=EPSILON,
    )
    found = opened.mean(f"{COUNT} WHERE age < 40", training=0.4)
    return round(20 * found.value), found.source.value


def check(service, claim, sessions, samples, false_alarm=1e-6):
    return audit(
        lambda place: service(sessions[place]),
        claim,
        pairs=[(0, 1)],
        samples=samples,
        false_alarm=false_alarm,
    )


def charged(session):
    return session._vault.ledger.entries()[-1].loss


def test_the_ledger_says_the_claims(sessions):
    joint(sessions[1])
    assert charged(sessions[1]) == Pure(epsilon=EPSILON)
    holdout(sessions[1])
    assert charged(sessions[1]).zcdp().rho <= EPSILON**2 / 2


def test_a_counter_keeps_its_price(sessions):
    rate = counted("audit of a counter")
    assert not check(counter, ZCDP(rho=RHO), sessions, FEW, rate).violated
    assert charged(sessions[1]).rho <= RHO


def test_questions_beyond_the_sensitivity_are_caught(sessions, monkeypatch):
    honest = Cells.add

    def careless(cells, query, measured, *, limit):
        honest(cells, query, measured, limit=1000 * limit)

    monkeypatch.setattr(Cells, "add", careless)
    assert check(unlimited_joint, Pure(epsilon=EPSILON), sessions, FEW).violated


def test_a_counter_with_a_hundredth_of_the_noise_is_caught(sessions):
    def loud(session):
        return counter(session, rho=10_000 * RHO)

    assert check(loud, ZCDP(rho=RHO), sessions, FEW).violated


@pytest.mark.soak
@pytest.mark.parametrize(
    ("service", "claim"),
    [
        (joint, Pure(epsilon=EPSILON)),
        (counter, ZCDP(rho=RHO)),
        (holdout, Pure(epsilon=EPSILON)),
    ],
    ids=["joint", "counter", "holdout"],
)
def test_services_keep_their_price_in_many_runs(sessions, service, claim):
    rate = counted("audit of a service")
    assert not check(service, claim, sessions, MANY, rate).violated
