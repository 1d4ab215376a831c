"""kill -9 at random points: what went out was charged before, and the ledger is sound.
The same harness catches a curator that charges after the answer.
"""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.schema import Budget

pytestmark = pytest.mark.slow("kills and processes")

PROCESSES, THREADS = 2, 3
RESTART_SECONDS = 20.0  # a lock that is stuck is waited for longer

ASK = """
import os, sys, threading, time
from pathlib import Path
from discreet.ledger.vault import Vault
from discreet.loss import Pure

folder = Path(sys.argv[1])
vault = Vault.open(folder)
vault.ledger.check()

def show(question):
    os.write(1, f"{question}\\n".encode())

def pay(question):
    memo = {"question": question}
    return vault.ledger.charge(
        population="people", analyst="ana", loss=Pure(epsilon=0.01), memo=memo)

def ask(question):
    receipt = pay(question)
    show(question)
    vault.releases.store(question, receipt, question.encode())
"""
CHARGE_AFTER_RELEASE = """
def ask(question):
    show(question)
    time.sleep(0.01)
    pay(question)
"""
GO = """
def work(thread):
    number = 0
    while True:
        ask(f"{os.getpid()}-{thread}-{number}-{time.monotonic_ns()}")
        number += 1

(folder / f"ready-{os.getpid()}").touch()
while not (folder / "gun").exists():
    time.sleep(0.001)
for thread in range(int(sys.argv[2])):
    threading.Thread(target=work, args=(thread,), daemon=True).start()
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "vault"
    with Vault.open(made) as vault:
        vault.ledger.add_account("population", "people", Budget(epsilon=10**5))
        vault.ledger.add_account("analyst", "ana", Budget(epsilon=10**5))
    return made


def shot(folder: Path, script: str) -> set[str]:
    """Let some processes work and kill them all; the answers that went out."""
    words = [sys.executable, "-c", script, str(folder), str(THREADS)]
    shown = [folder.with_name(f"shown-{number}") for number in range(PROCESSES)]
    children = []
    for path in shown:
        with path.open("w") as out:
            children.append(subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, text=True))
    until(children, lambda: len(list(folder.glob("ready-*"))) == len(children))
    (folder / "gun").touch()
    until(children, lambda: all(path.stat().st_size for path in shown))
    time.sleep(random.uniform(0.005, 0.12))
    for child in children:
        child.kill()
    for child in children:
        _, error = child.communicate(timeout=240)
        assert child.returncode == -signal.SIGKILL, error
    for mark in [*folder.glob("ready-*"), folder / "gun"]:
        mark.unlink()
    return {line for path in shown for line in path.read_text().split("\n")[:-1] if line}


def until(children: list[subprocess.Popen], true: Callable[[], bool]) -> None:
    """Wait for something that the children do."""
    deadline = time.monotonic() + 240
    while not true():
        assert time.monotonic() < deadline
        assert all(child.poll() is None for child in children), children[0].communicate()
        time.sleep(0.002)


def uncharged(folder: Path, answers: set[str]) -> set[str]:
    """Answers that went out without a charge in the ledger; everything else must hold."""
    raw = sqlite3.connect(folder / FILE)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()
    start = time.monotonic()
    with Vault.open(folder) as vault:
        vault.ledger.check()
        vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=0.01))
        assert time.monotonic() - start < RESTART_SECONDS  # nothing is stuck
        found = vault.ledger.verify()
        assert found.sound, found
        charges = [entry for entry in vault.ledger.entries() if entry.act == "charge"]
        total = sum((entry.loss.epsilon for entry in charges), Fraction(0))
        for account in vault.ledger.accounts():
            assert account.spent == total <= account.epsilon
        for release in vault.releases.transcript("ana"):
            assert release.receipt.memo["question"].encode() == release.body
    return answers - {json.loads(entry.memo).get("question") for entry in charges}


def killed(folder: Path, rounds: int) -> int:
    """Rounds in which nothing went out without a charge; how many answers went out."""
    answered = 0
    for _ in range(rounds):
        answers = shot(folder, ASK + GO)
        assert uncharged(folder, answers) == set()
        answered += len(answers)
    return answered


def test_whatever_went_out_was_charged_before(folder):
    assert killed(folder, 8) > 8


@pytest.mark.soak
def test_whatever_went_out_was_charged_before_for_long(folder):
    assert killed(folder, 200) > 200


def test_charging_after_the_release_is_caught(folder):
    script = ASK + CHARGE_AFTER_RELEASE + GO
    assert any(uncharged(folder, shot(folder, script)) for _ in range(8))
