"""The ledger when things go wrong: racing spenders, full, failing and read-only disks, clocks."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, Unavailable
from discreet.ledger.store import book as _book
from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.schema import Budget

BEGIN = """
import contextlib, os, sys, time
from fractions import Fraction
from pathlib import Path
from discreet.errors import BudgetExceeded, DiscreetError
from discreet.ledger.account import Holder
from discreet.ledger.entry import Act, describe_loss
from discreet.ledger.vault import Vault
from discreet.loss import Pure
from discreet.schema import Budget

folder, price = Path(sys.argv[1]), Pure(epsilon=Fraction(sys.argv[2]))

def pay(vault):
    return vault.ledger.charge(population="people", analyst="ana", loss=price).sequence

def wait_for_the_gun():
    (folder / f"ready-{os.getpid()}").touch()
    while not (folder / "gun").exists():
        time.sleep(0.001)
"""
SPEND = """
vault = Vault.open(folder)
wait_for_the_gun()
with contextlib.suppress(BudgetExceeded):
    while True:
        print(pay(vault), flush=True)
"""
CHECK_THEN_SPEND = """
def pay(vault):
    holders = {Holder.POPULATION: "people", Holder.ANALYST: "ana"}
    after = tuple(vault.ledger.account(*each).admit(price) for each in holders.items())
    time.sleep(0.001)
    def write(book):
        for account in after:
            book.put(account)
        return book.append(Act.CHARGE, after, describe_loss(price), "{}")[0].sequence
    return vault._store.share(write)
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "vault"


def make(folder: Path, epsilon) -> None:
    with Vault.open(folder) as vault:
        vault.ledger.add_account("population", "people", Budget(epsilon=epsilon))
        vault.ledger.add_account("analyst", "ana", Budget(epsilon=epsilon))


def pay(vault):
    return vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=0.01))


def start(folder: Path, price: str, script: str) -> subprocess.Popen:
    arguments = [sys.executable, "-c", BEGIN + script, str(folder), price]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def fire(folder: Path, children: list[subprocess.Popen]) -> None:
    """Let the children go when all of them are ready."""
    deadline = time.monotonic() + 240
    while len(list(folder.glob("ready-*"))) < len(children):
        early = [child for child in children if child.poll() is not None]
        if early or time.monotonic() > deadline:
            for child in children:
                child.kill()
            pytest.fail(f"a child did not start: {[child.communicate() for child in children]}")
        time.sleep(0.005)
    (folder / "gun").touch()


def finish(child: subprocess.Popen) -> list[int]:
    out, error = child.communicate(timeout=300)
    assert child.returncode in (0, -signal.SIGKILL), error
    return [int(line) for line in out.splitlines() if line]


def race(folder: Path, children: int, price: str, script: str) -> list[int]:
    running = [start(folder, price, script) for _ in range(children)]
    fire(folder, running)
    return [number for child in running for number in finish(child)]


def check_sound(folder: Path) -> int:
    """Integrity, chain and totals hold; the number of charges."""
    raw = sqlite3.connect(folder / FILE)
    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()
    with Vault.open(folder) as vault:
        found = vault.ledger.verify()
        assert found.sound, found
        charges = [entry for entry in vault.ledger.entries() if entry.act == "charge"]
        total = sum((entry.loss.epsilon for entry in charges), Fraction(0))
        for account in vault.ledger.accounts():
            assert account.spent == total <= account.epsilon
    return len(charges)


@pytest.mark.parametrize(
    ("children", "charges"),
    [(6, 150), pytest.param(16, 500, marks=pytest.mark.slow("kills and processes"))],
)
def test_racing_spenders_spend_the_budget_exactly(folder, children, charges):
    make(folder, 1)
    numbers = race(folder, children, f"1/{charges}", SPEND)
    assert sorted(numbers) == list(range(3, charges + 3))
    assert check_sound(folder) == charges


def test_check_then_spend_overspends_and_is_found(folder):
    make(folder, 1)
    numbers = race(
        folder, 5, "1/100", CHECK_THEN_SPEND + SPEND.replace("BudgetExceeded", "DiscreetError")
    )
    assert len(numbers) > 100
    with Vault.open(folder) as vault:
        found = vault.ledger.verify()
    assert not found.sound
    assert found.bad == 103  # two accounts, a hundred charges, and the first too many


def test_spenders_may_make_the_vault_together(folder):
    folder.mkdir()
    together = """
wait_for_the_gun()
vault = Vault.open(folder)
for holder, name in (("population", "people"), ("analyst", "ana")):
    vault.ledger.add_account(holder, name, Budget(epsilon=1))
print(pay(vault), flush=True)
"""
    assert sorted(race(folder, 6, "1/100", together)) == sorted(
        {entry.sequence for entry in Vault.open(folder).ledger.entries() if entry.act == "charge"}
    )
    assert check_sound(folder) == 6


def test_a_vault_survives_a_fork(folder):
    make(folder, 1)
    forked = """
vault = Vault.open(folder)
pay(vault)
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        for _ in range(5):
            pay(vault)
        os._exit(0)
    children.append(child)
    pay(vault)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
print(pay(vault))
"""
    (last,) = finish(start(folder, "1/100", forked))
    assert last == 2 + 1 + 3 * 6 + 1
    assert check_sound(folder) == 20


def filled(folder: Path) -> None:
    make(folder, 1)
    with Vault.open(folder) as vault:
        for _ in range(6):
            vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=0.1))


def test_a_full_disk_charges_nothing(folder):
    make(folder, 10**5)
    with Vault.open(folder) as vault:
        connection = vault._store._database._writer.own_connection()
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        done = 0

        def spend():
            nonlocal done
            for _ in range(1000):
                memo = {"a": "x" * 999}
                vault.ledger.charge(
                    population="people", analyst="ana", loss=Pure(epsilon=1), memo=memo
                )
                done += 1

        with pytest.raises(Unavailable, match=r"the disk is full; make room. Nothing was run or"):
            spend()
        assert 0 < done < 1000
        assert vault.ledger.account("population", "people").spent == done
        connection.execute("PRAGMA max_page_count = 1000000")
        vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=1))
    assert check_sound(folder) == done + 1


def test_a_file_that_may_not_grow_charges_nothing(folder):
    make(folder, 10**5)
    limited = """
import resource
vault = Vault.open(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
try:
    while True:
        print(pay(vault), flush=True)
except DiscreetError as error:
    assert type(error).__name__ == "Unavailable", error
    assert "Nothing was run" in str(error), error
"""
    numbers = finish(start(folder, "1/100", limited))
    assert numbers
    assert len(numbers) <= check_sound(folder) <= len(numbers) + 1


READ_ONLY = """
import encodings.ascii  # loaded later otherwise, by somebody who may not read it
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
try:
    vault = Vault.open(folder)
    pay(vault)
except DiscreetError as error:
    print(type(error).__name__, str(error))
"""


@pytest.mark.parametrize("there", ["a vault", "an empty folder"])
def test_a_read_only_folder_is_said_and_charges_nothing(there):
    folder = Path(tempfile.mkdtemp()) / "vault"
    try:
        folder.parent.chmod(0o755)
        folder.mkdir()
        if there == "a vault":
            make(folder, 1)
            for path in folder.iterdir():
                path.chmod(0o444)
        folder.chmod(0o555)
        child = start(folder, "1/100", READ_ONLY)
        out, error = child.communicate(timeout=240)
        assert error == ""
        assert out.startswith("Unavailable vault.db: ")
        assert "writ" in out
        assert "Nothing was run or charged." in out
        folder.chmod(0o755)
        if there == "a vault":
            (folder / FILE).chmod(0o600)
            assert check_sound(folder) == 0
        else:
            assert list(folder.iterdir()) == []
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder.parent)


def test_a_folder_that_is_a_file_is_said(tmp_path):
    (tmp_path / "vault").touch()
    with pytest.raises(Unavailable, match=r"the vault's folder cannot be written \("):
        Vault.open(tmp_path / "vault")


def test_a_held_lock_is_said_and_charges_nothing(folder):
    filled(folder)
    other = sqlite3.connect(folder / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Vault.open(folder) as vault:
        vault._store._database._writer.own_connection().execute("PRAGMA busy_timeout = 50")
        with pytest.raises(Unavailable, match=r"another process holds it; try again. Nothing was"):
            vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=0.1))
        assert vault.ledger.account("analyst", "ana").spent == Fraction(6, 10)  # readers go on
    other.close()
    assert check_sound(folder) == 6


def test_a_damaged_file_is_said(folder):
    filled(folder)
    path = folder / FILE
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # no kind of page begins so
    path.write_bytes(content)
    with pytest.raises(Unavailable, match="damaged; restore it"), Vault.open(folder) as vault:
        vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=0.1))


class Failing:
    """A connection whose disk fails at one statement."""

    def __init__(self, connection, statement, code):
        self._connection, self._statement, self._code = connection, statement, code

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def _strike(self, statement):
        if statement.startswith(self._statement):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = self._code
            raise error

    def execute(self, statement, *values):
        self._strike(statement)
        return self._connection.execute(statement, *values)

    def executemany(self, statement, rows):
        self._strike(statement)
        return self._connection.executemany(statement, rows)


@pytest.mark.parametrize(
    ("statement", "happened"),
    [
        ("BEGIN", "Nothing was run or charged"),
        ("INSERT INTO entries", "Nothing was run or charged"),
        ("INSERT INTO seals", "Nothing was run or charged"),
        ("COMMIT", "Nothing was run; a charge may stand"),
    ],
)
def test_a_disk_that_fails_is_said_and_the_next_charge_works(folder, statement, happened):
    make(folder, 1)
    with Vault.open(folder) as vault:
        pay(vault)
        line = vault._store._database._writer
        sound = line.connection
        line.connection = Failing(sound, statement, sqlite3.SQLITE_IOERR_WRITE)
        with pytest.raises(Unavailable, match=f"the disk failed to read or write.*{happened}"):
            pay(vault)
        line.connection = sound
        assert pay(vault).sequence == 4
        assert vault.ledger.account("analyst", "ana").spent == Fraction(2, 100)
    assert check_sound(folder) == 2


def test_a_lost_anchor_stops_charges_before_they_are_made(folder):
    make(folder, 1)
    with Vault.open(folder) as vault:
        pay(vault)
        folder.with_name("vault.seal").joinpath("anchor").unlink()
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"the anchor is gone .* Nothing was run or char"):
                pay(vault)
        assert vault.ledger.account("analyst", "ana").spent == Fraction(1, 100)


FULL = """
mount -t tmpfs -o size=1500k none "$0" || exit 77
cd "$1" && exec "$2" -c "$3" "$0/vault" 1/100
"""
UNTIL_FULL = """
vault = Vault.open(folder)
for holder, name in (("population", "people"), ("analyst", "ana")):
    vault.ledger.add_account(holder, name, Budget(epsilon=10**5))
done = 0
try:
    while True:
        done += bool(pay(vault))
except DiscreetError as error:
    assert type(error).__name__ == "Unavailable", error
    assert "Nothing was run" in str(error), error
    said = str(error)
assert done > 10
vault.close()
vault = Vault.open(folder)
found = vault.ledger.verify()
assert found.sound, found
assert done <= vault.ledger.account(Holder.ANALYST, "ana").spent * 100 <= done + 1
print(said)
"""


def test_a_disk_that_is_really_full(tmp_path):
    """A small file system of its own, in a mount namespace that ends with the test."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare")
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", FULL, str(tmp_path)]
    words += [os.getcwd(), sys.executable, BEGIN + UNTIL_FULL]
    found = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if found.returncode in (1, 77) and "Traceback" not in found.stderr:
        pytest.skip(f"no mount namespace: {found.stderr[:100]}")
    assert found.returncode == 0, found.stderr
    assert "full" in found.stdout or "No space" in found.stdout or "disk failed" in found.stdout


def test_a_clock_that_goes_back_leaves_a_sound_record(folder, monkeypatch):
    class Clock:
        hours = iter([12, 11, 3, 13])

        @classmethod
        def now(cls, zone):
            return datetime(2100, 1, 1, next(cls.hours), tzinfo=zone)

    make(folder, 1)
    with Vault.open(folder) as vault:
        monkeypatch.setattr(_book, "datetime", Clock)
        times = [pay(vault).time[11:13] for _ in range(4)]
    monkeypatch.undo()
    assert times == ["12", "12", "12", "13"]
    with Vault.open(folder) as vault:
        assert pay(vault).time[:4] == "2100"
    assert check_sound(folder) == 5


def test_two_curators_on_one_folder_both_work_and_do_not_overspend(folder):
    make(folder, 10)
    granted = {0: [], 1: []}

    def spend(place, vault):
        with contextlib.suppress(BudgetExceeded):
            while True:
                granted[place].append(pay(vault).sequence)
                time.sleep(0.001)  # let the other one have a turn

    with Vault.open(folder) as one, Vault.open(folder) as other:
        for place, vault in enumerate((one, other) * 2):  # both work, whoever wins the race
            granted[place % 2].append(pay(vault).sequence)
        threads = [
            threading.Thread(target=spend, args=(place, vault))
            for place, vault in enumerate((one, other))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert granted[0][:2] == [3, 5]
        assert granted[1][:2] == [4, 6]
        assert sorted(granted[0] + granted[1]) == list(range(3, 1003))
    assert check_sound(folder) == 1000


FLUSHED = """
vault = Vault.open(folder)
pay(vault)
vault._store._database._writer.connection.execute(f"PRAGMA synchronous = {sys.argv[3]}")
os.write(2, b"REQUEST")
pay(vault)
os.write(2, b"ANSWER")
"""


@pytest.mark.parametrize(("synchronous", "flushes"), [("FULL", True), ("OFF", False)])
def test_the_disk_is_flushed_between_request_and_answer(folder, tmp_path, synchronous, flushes):
    """As the kernel saw it; without the setting (planted) the same look finds no flush."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace")
    make(folder, 1)
    trace = tmp_path / "trace"
    words = [strace, "-f", "-o", str(trace), "-e", "trace=fdatasync,fsync,write"]
    words += [sys.executable, "-c", BEGIN + FLUSHED, str(folder), "1/100", synchronous]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if "PTRACE" in done.stderr or "ptrace" in done.stderr:
        pytest.skip("strace may not look")
    assert done.returncode == 0, done.stderr
    calls = trace.read_text()
    between = calls[calls.index('"REQUEST"') : calls.index('"ANSWER"')]
    assert ("fdatasync(" in between or "fsync(" in between) is flushes
