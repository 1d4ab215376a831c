"""Counters, joint questions and holdouts when the process is killed or the vault is put back: what
is said was written before, what was not written was not said, an older copy says nothing.
"""

import shutil
import signal
import subprocess
import sys
from datetime import date

import pytest

from discreet.curator.curator import Curator
from discreet.errors import Unavailable
from discreet.streams.counter.counter import Counter
from discreet.streams.holdout.holdout import Holdout
from discreet.streams.joint.joint import Joint
from support.vaults import curator_of, people

pytestmark = pytest.mark.slow("kills and processes")

MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
COUNT = "SELECT COUNT(*) AS n FROM visits"
JUNE, YEAR = date(2024, 6, 30), date(2024, 12, 31)

SETUP = """
import os, signal, sys
from datetime import date
from discreet.curator.curator import Curator
from discreet.ledger.states import States
from discreet.streams import Counter, Holdout, Joint

session = Curator.open(sys.argv[1], price_floor=0).session("ana")
written = States.put

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def after(self, change):
    written(self, change)
    die()

def second(self, change):
    States.put = after
    return written(self, change)

States.put = {"before": lambda self, change: die(), "after": after, "second": second}[sys.argv[2]]
"""
ASKED = {
    "counter": f"""
Counter.open(session, {MONTHS!r}, name="counter", versions=2).advance(upto=date(2024, 12, 31))
""",
    "joint": f"""
Joint.open(session, table="visits", name="joint", epsilon=1, sensitivity=2).ask({COUNT!r})
""",
    "holdout": f"""
Holdout.open(session, table="visits", name="holdout", threshold=0.1, overfits=2, epsilon=1).mean(
    {COUNT!r}, training=-5
)
""",
}


def opened(session):
    return (
        Counter.open(session, MONTHS, name="counter", rho=1, versions=2),
        Joint.open(session, table="visits", name="joint", epsilon=1, sensitivity=2),
        Holdout.open(session, table="visits", name="holdout", threshold=0.1, overfits=2, epsilon=1),
    )


@pytest.fixture
def vault(tmp_path):
    """All three, opened and paid; half of the year is counted."""
    with curator_of(tmp_path, people(), budget="epsilon = 50\ndelta = 1e-6") as curator:
        curator.grant("ana", epsilon=40, delta=1e-6)
        counter, _, _ = opened(curator.session("ana"))
        counter.advance(upto=JUNE)
    return tmp_path / "vault"


def killed(vault, service, moment):
    words = [sys.executable, "-c", SETUP + ASKED[service] + "print('said')", str(vault), moment]
    result = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    return result.stdout


def written(vault, service):
    with Curator.open(vault, price_floor=0) as curator:
        assert curator.ledger.verify().sound
        return curator.session("ana").states.newest(service)


def test_nothing_is_said_that_is_not_written(vault):
    for service in ASKED:
        before = written(vault, service)
        assert killed(vault, service, "before") == ""
        assert written(vault, service) == before


def test_what_was_written_is_there_although_it_was_not_said(vault):
    before = {service: written(vault, service).version for service in ASKED}
    for service, moment in (("counter", "after"), ("joint", "second"), ("holdout", "after")):
        assert killed(vault, service, moment) == ""
    with Curator.open(vault, price_floor=0) as curator:
        session = curator.session("ana")
        counter, joint, holdout = opened(session)
        after = {each: session.states.newest(each) for each in ASKED}
        grown = {each: after[each].version - before[each] for each in ASKED}
        assert grown == {"counter": 1, "joint": 2, "holdout": 1}  # a question, then its answer
        points = counter.points
        assert len(points) == 12
        assert counter.advance(upto=YEAR) == ()
        assert counter.points == points
        assert joint.sensitivity == 2
        assert joint.ask(COUNT) == joint.ask(COUNT)
        assert session.states.newest("joint") == after["joint"]
        assert holdout.left <= 2


def test_a_counter_that_was_killed_draws_new_noise_for_what_nobody_saw(vault):
    """What was said before stays; the rest is drawn when it is written."""
    with Curator.open(vault, price_floor=0) as curator:
        said = Counter.open(curator.session("ana"), MONTHS, name="counter", versions=2).points
    killed(vault, "counter", "before")
    with Curator.open(vault, price_floor=0) as curator:
        counter = Counter.open(curator.session("ana"), MONTHS, name="counter", versions=2)
        assert counter.points == said
        assert len(counter.advance(upto=YEAR)) == 6
        assert counter.points[:6] == said


def test_a_vault_that_is_put_back_says_nothing(vault, tmp_path):
    """From an older copy the same points would be drawn again, with other noise."""
    old = tmp_path / "backup"
    shutil.copytree(vault, old)
    with Curator.open(vault, price_floor=0) as curator:
        Counter.open(curator.session("ana"), MONTHS, name="counter", versions=2).advance(upto=YEAR)
    shutil.rmtree(vault)
    shutil.copytree(old, vault)
    with Curator.open(vault, price_floor=0) as curator:
        session = curator.session("ana")
        for _ in range(2):
            with pytest.raises(Unavailable, match="ledger of this vault is not sound"):
                opened(session)
        curator.ledger.adopt({"why": "restored"})
        for attempt in (
            lambda: Counter.open(session, MONTHS, name="counter", versions=2),
            lambda: Joint.open(session, table="visits", name="joint", epsilon=1, sensitivity=2),
            lambda: Holdout.open(
                session, table="visits", name="holdout", threshold=0.1, overfits=2, epsilon=1
            ),
        ):
            with pytest.raises(Unavailable, match="before the ledger was adopted"):
                attempt()


def test_a_vault_that_was_only_moved_goes_on(vault, tmp_path):
    """The test above can fail: the newest copy is accepted."""
    shutil.copytree(vault, tmp_path / "backup")
    shutil.rmtree(vault)
    shutil.copytree(tmp_path / "backup", vault)
    with Curator.open(vault, price_floor=0) as curator:
        counter, _, _ = opened(curator.session("ana"))
        assert len(counter.advance(upto=YEAR)) == 6
