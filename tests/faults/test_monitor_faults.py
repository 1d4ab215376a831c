"""Monitors when the process is killed or the vault is put back: an alarm is durable before it is
said, and an older copy answers nothing.
"""

import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from discreet.curator.curator import Curator
from discreet.errors import Unavailable
from discreet.streams import Monitor
from support.vaults import curator_of, people

pytestmark = pytest.mark.slow("kills and processes")

COUNT = "SELECT COUNT(*) FROM visits"
FAR = 10**10  # the noise for so many alarms has a scale of two millions
ALARMS = 10**6

SETUP = """
import os, signal, sys
from discreet.curator.curator import Curator
from discreet.ledger.states import States
from discreet.streams import Monitor

curator = Curator.open(sys.argv[1], price_floor=0)
monitor = Monitor.open(curator.session("ana"), name="busy")
written = States.put

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED_AFTER_WRITING = """
def put(self, change):
    written(self, change)
    die()
States.put = put
print(monitor.check().said)
"""
KILLED_BEFORE_WRITING = """
States.put = lambda self, change: die()
print(monitor.check().said)
"""
FOR_EVER = """
monitor.check()  # the engine is warm
print("ready", flush=True)
while True:
    os.write(1, f"{monitor.check().said}\\n".encode())
"""
SAID_BEFORE_WRITTEN = """
import time
def put(self, change):
    os.write(1, b"above\\n")  # the planted bug: what was found is said before it is kept
    time.sleep(300)
    return written(self, change)
monitor.check()
States.put = put
print("ready", flush=True)
while True:
    monitor.check()
"""


@pytest.fixture
def vault(tmp_path):
    """A monitor that gives an alarm at every check."""
    with curator_of(tmp_path, people()) as curator:
        curator.grant("ana", epsilon=10)
        Monitor.open(
            curator.session("ana"), COUNT, threshold=-FAR, alarms=ALARMS, epsilon=1, name="busy"
        )
    return tmp_path / "vault"


def standing(vault):
    """How many alarms are counted, how many are left, and whether the ledger is sound."""
    with Curator.open(vault, price_floor=0) as curator:
        monitor = Monitor.open(curator.session("ana"), name="busy")
        assert curator.ledger.verify().sound
        return monitor.values()["alarms_in_all"], monitor.alarms_left


def run(script, vault):
    words = [sys.executable, "-c", SETUP + script, str(vault)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def test_an_alarm_is_counted_before_it_is_said(vault):
    result = run(KILLED_AFTER_WRITING, vault)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert result.stdout == ""
    assert standing(vault) == (1, ALARMS - 1)


def test_an_alarm_that_is_not_counted_is_not_said(vault):
    result = run(KILLED_BEFORE_WRITING, vault)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert result.stdout == ""
    assert standing(vault) == (0, ALARMS)


def shot(script, vault, least):
    """Let a process say so many alarms, check a little longer and be killed; those that it said."""
    words = [sys.executable, "-c", SETUP + script, str(vault)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        heard = [child.stdout.readline() for _ in range(least)]
        assert heard == [b"above\n"] * least
        time.sleep(random.uniform(0.0, 0.3))
        child.kill()
        said = child.stdout.read()
        assert child.wait() == -signal.SIGKILL
    return least + said.count(b"above\n")


def test_whatever_is_said_is_counted_wherever_the_process_is_killed(vault):
    counted = 0
    for _ in range(4):
        said, before = shot(FOR_EVER, vault, 2), counted
        counted = standing(vault)[0]
        assert 2 <= said < counted - before  # the first of a process is not said


def test_saying_before_writing_would_be_caught(vault):
    said = shot(SAID_BEFORE_WRITTEN, vault, 1)
    assert not said < standing(vault)[0]


def test_a_vault_that_is_put_back_answers_nothing(vault, tmp_path):
    """A copy from before an alarm would have that alarm to give again: the anchor finds it."""
    old = tmp_path / "backup"
    shutil.copytree(vault, old)
    with Curator.open(vault, price_floor=0) as curator:
        monitor = Monitor.open(curator.session("ana"), name="busy")
        assert monitor.check().above
    shutil.rmtree(vault)
    shutil.copytree(old, vault)
    with Curator.open(vault, price_floor=0) as curator:
        session = curator.session("ana")
        for attempt in (
            lambda: Monitor.open(session, name="busy"),
            lambda: Monitor(session, "busy").check(),
            lambda: Monitor(session, "busy").alarms_left,
            lambda: Monitor.open(session, COUNT, threshold=5, epsilon=1, name="new"),
        ):
            with pytest.raises(Unavailable, match="ledger of this vault is not sound"):
                attempt()
        curator.ledger.adopt({"why": "restored"})
        for attempt in (
            lambda: Monitor.open(session, name="busy"),
            lambda: Monitor(session, "busy").check(),
            lambda: Monitor(session, "busy").renew(),
        ):
            with pytest.raises(Unavailable, match="before the ledger was adopted"):
                attempt()
        fresh = Monitor.open(session, COUNT, threshold=-FAR, epsilon=1, name="new")
        assert fresh.check().above


def test_a_vault_that_was_only_moved_goes_on(vault, tmp_path):
    """The test above can fail: the newest copy is accepted."""
    with Curator.open(vault, price_floor=0) as curator:
        assert Monitor.open(curator.session("ana"), name="busy").check().above
    shutil.copytree(vault, tmp_path / "backup")
    shutil.rmtree(vault)
    shutil.copytree(tmp_path / "backup", vault)
    assert standing(vault) == (1, ALARMS - 1)


def test_every_check_writes_whatever_it_found(vault):
    """A full disk fails "below" and "above" alike, so a failure says nothing."""

    with Curator.open(vault, price_floor=0) as curator:
        session = curator.session("ana")
        monitor = Monitor.open(session, name="busy")
        versions = []
        for threshold in (FAR, -FAR, FAR, FAR, -FAR):
            monitor.check(threshold=threshold)
            versions.append(session.states.newest("busy").version)
        assert versions == [2, 3, 4, 5, 6]
