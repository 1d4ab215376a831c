"""The ledger on a PostgreSQL server: many processes and folders, one budget; what is tampered
with is found; a server that goes away charges nothing, or says that a charge may stand.
"""

import contextlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from discreet.errors import BudgetExceeded, InvalidValue, QuotaExceeded, Unanswered, Unavailable
from discreet.ledger.quota import Quota
from discreet.ledger.requests import Request
from discreet.ledger.store import server as _server
from discreet.ledger.store import server_tables as _server_tables
from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.schema import Budget

REFUSED = "the ledger of this vault is not sound"
SPEND = """
import os, sys, time
from fractions import Fraction
from pathlib import Path
from discreet.errors import BudgetExceeded
from discreet.ledger.vault import Vault
from discreet.loss import Pure

folder, gun, price = Path(sys.argv[1]), Path(sys.argv[2]), Pure(epsilon=Fraction(sys.argv[3]))
vault = Vault.open(folder)
vault.ledger.check()
gun.with_name(f"ready-{os.getpid()}").touch()
while not gun.exists():
    time.sleep(0.001)
try:
    while True:
        paid = vault.ledger.charge(population="people", analyst="ana", loss=price)
        print(paid.sequence, flush=True)
except BudgetExceeded:
    pass
"""


def pay(vault, epsilon=0.01):
    return vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=epsilon))


def open_accounts(vault, epsilon=1):
    vault.ledger.add_account("population", "people", Budget(epsilon=epsilon))
    vault.ledger.add_account("analyst", "ana", Budget(epsilon=epsilon))


def second(first: Path) -> Path:
    """Another machine's folder: it has a copy of the key and of an anchor, once."""
    folder = first.with_name("second")
    shutil.copytree(first.with_name(f"{first.name}.seal"), first.with_name("second.seal"))
    return folder


@pytest.fixture
def vault(ledger_url, tmp_path):
    with Vault.open(ledger_url, folder=tmp_path / "first") as made:
        open_accounts(made)
        yield made


@pytest.fixture
def other(vault, ledger_url):
    with Vault.open(ledger_url, folder=second(vault.folder)) as made:
        yield made


@pytest.fixture
def raw(ledger_url):
    """Someone with all rights, who goes around the ledger."""
    with psycopg.connect(ledger_url, autocommit=True) as connection:
        connection.execute("SET search_path = discreet")
        yield connection


def start(folder: Path, gun: Path, price: str) -> subprocess.Popen:
    arguments = [sys.executable, "-c", SPEND, str(folder), str(gun), price]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def fire(gun: Path, children: list[subprocess.Popen]) -> None:
    deadline = time.monotonic() + 240
    while len(list(gun.parent.glob("ready-*"))) < len(children):
        early = [child for child in children if child.poll() is not None]
        if early or time.monotonic() > deadline:
            for child in children:
                child.kill()
            pytest.fail(f"a child did not start: {[child.communicate() for child in children]}")
        time.sleep(0.005)
    gun.touch()


def finish(child: subprocess.Popen) -> list[int]:
    out, error = child.communicate(timeout=300)
    assert child.returncode in (0, -signal.SIGKILL), error
    return [int(line) for line in out.splitlines() if line]


def check_record(vault, numbers: list[int], charges: int) -> None:
    """All numbers that went out are charges of the ledger, which is sound."""
    assert vault.ledger.verify().sound
    recorded = [entry.sequence for entry in vault.ledger.entries() if entry.act == "charge"]
    assert len(recorded) == charges
    assert set(numbers) <= set(recorded)
    assert len(set(numbers)) == len(numbers)


def test_processes_on_two_folders_spend_the_budget_exactly(vault, other, tmp_path):
    folders = [vault.folder, other.folder]
    children = [start(folders[place % 2], tmp_path / "gun", "1/500") for place in range(16)]
    fire(tmp_path / "gun", children)
    numbers = [number for child in children for number in finish(child)]
    assert sorted(numbers) == list(range(3, 503))
    check_record(vault, numbers, 500)
    for account in other.ledger.accounts():
        assert account.spent == 1


def test_killed_processes_leave_a_sound_record(vault, tmp_path):
    children = [start(vault.folder, tmp_path / "gun", "1/100000") for _ in range(4)]
    fire(tmp_path / "gun", children)
    for child in children:
        before = len(vault.ledger.entries())
        while len(vault.ledger.entries()) < before + 10:
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
    numbers = [number for child in children for number in finish(child)]
    assert len(numbers) >= 10
    charged = sum(entry.act == "charge" for entry in vault.ledger.entries())
    assert charged <= len(numbers) + len(children)
    check_record(vault, numbers, charged)
    pay(vault)


def test_a_writer_waits_for_the_other(vault, other):
    paid = []
    thread = threading.Thread(target=lambda: paid.append(pay(other)))
    with vault._store._database.writing():
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(60)
    assert paid[0].sequence == 3
    assert pay(vault).sequence == 4


def test_without_the_lock_the_second_would_not_wait(vault, other, monkeypatch):
    monkeypatch.setattr(_server, "_LOCK", "SELECT 1")
    with pytest.raises(Unavailable, match=r"it refused .* Nothing was run or charged"):
        vault._store.share(lambda book: (pay(other), book.append("open", (), "{}", "{}")))
    # The work was tried in a group and by itself; the other charged both times, in between.
    assert vault.ledger.account("analyst", "ana").spent * 100 == 2
    assert vault.ledger.verify().sound


def test_a_held_lock_is_waited_for_so_long_and_no_longer(vault, other, monkeypatch):
    monkeypatch.setattr(
        _server, "_BEGIN_WRITING", _server._BEGIN_WRITING.replace("'30s'", "'50ms'")
    )
    with (
        vault._store._database.writing(),
        pytest.raises(Unavailable, match=r"another process holds it.*Nothing was run or charged"),
    ):
        pay(other)
    assert pay(other).sequence == 3


def test_each_sees_what_the_other_wrote(vault, other):
    receipt = vault.ledger.charge(
        population="people",
        analyst="ana",
        loss=Pure(epsilon=0.5),
        request=Request("july", "q"),
    )
    vault.releases.store("question", receipt, b"noisy")
    assert other.releases.find("question", analyst="ana").body == b"noisy"
    assert other.requests.find("ana", Request("july", "q")).receipt == receipt
    with pytest.raises(InvalidValue, match="another question or price"):
        other.requests.find("ana", Request("july", "r"))
    with pytest.raises(BudgetExceeded):
        pay(other, 0.6)
    pay(other, 0.5)
    with pytest.raises(BudgetExceeded):
        pay(vault, 0.1)
    assert vault.ledger.verify().sound
    assert other.ledger.verify().sound


def test_a_folder_without_the_key_answers_nothing(vault, ledger_url, tmp_path):
    pay(vault)
    with Vault.open(ledger_url, folder=tmp_path / "stranger") as stranger:
        with pytest.raises(Unavailable, match=REFUSED):
            pay(stranger)
        assert "is gone" in stranger.ledger.verify().problem
    assert vault.ledger.account("analyst", "ana").spent * 100 == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET event = '{}'",
        "DELETE FROM entries",
        "TRUNCATE entries CASCADE",
        "INSERT INTO entries VALUES (9, '', 'open', '', '', '', '', '', '')",
        "DELETE FROM accounts",
        "UPDATE seals SET mac = ''",
        "UPDATE meta SET value = ''",
        "DELETE FROM head",
    ],
)
def test_what_is_kept_is_not_changed(vault, raw, statement):
    pay(vault)
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
        raw.execute(statement)
    assert vault.ledger.verify().sound


@pytest.mark.parametrize(
    ("statement", "bad"),
    [
        ("UPDATE accounts SET spent = '0'", None),
        ('UPDATE entries SET memo = \'{"why":"x"}\' WHERE sequence = 3', 3),
        ("DELETE FROM head", 5),
        ("DELETE FROM requests", None),
        (
            "DELETE FROM seals WHERE number > 5; DELETE FROM entries WHERE sequence > 3; "
            "UPDATE head SET sequence = 3, hash = (SELECT hash FROM entries WHERE sequence = 3); "
            "UPDATE accounts SET spent = '1/100'",
            4,
        ),
    ],
)
def test_tampering_is_found_refused_and_adopted(vault, other, raw, statement, bad):
    pay(vault)
    pay(other)
    vault.ledger.charge(
        population="people", analyst="ana", loss=Pure(epsilon=0.01), request=Request("k", "q")
    )
    assert vault.ledger.verify().sound
    raw.execute("SET session_replication_role = replica")  # no trigger, as an owner could
    raw.execute(statement)
    found = vault.ledger.verify()
    assert not found.sound
    assert found.bad == bad
    with Vault.open(vault.folder) as again, pytest.raises(Unavailable, match=REFUSED):
        pay(again)
    with Vault.open(vault.folder) as again:
        again.ledger.adopt({"why": "the custodian decided"})
        assert again.ledger.verify().sound
        spent = again.ledger.account("population", "people").spent
        pay(again)
        assert again.ledger.account("population", "people").spent == spent + pay(vault).loss.epsilon
        assert again.ledger.verify().sound


def test_a_connection_that_is_cut_charges_nothing_and_is_made_again(vault, raw):
    pay(vault)
    raw.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> %s AND "
        "datname = current_database()",
        (raw.info.backend_pid,),
    )
    with pytest.raises(Unavailable, match=r"cannot be reached .* Nothing was run or charged"):
        pay(vault)
    with contextlib.suppress(Unavailable):
        vault.ledger.accounts()  # the reader's connection is another one
    assert pay(vault).sequence == 4
    assert vault.ledger.verify().sound


def test_a_ledger_of_an_earlier_version_gets_what_was_added(vault, raw, ledger_url):
    paid = pay(vault)
    for name, text in _server_tables._ADDITIONS.items():
        kind = "TABLE" if "CREATE TABLE" in text else "INDEX"
        raw.execute(f"DROP {kind} discreet.{name}")
    assert len(_server_tables._ADDITIONS) > 5
    with Vault.open(ledger_url, folder=second(vault.folder)) as again:
        again.ledger.check()
        again.causes.add("ana", paid.sequence, "The question", "too slow")
        assert [each.cause for each in vault.causes.newest(limit=3)] == ["too slow"]
        query = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'discreet' AND indexname = %s"
        assert raw.execute(query, ("entries_by_analyst",)).fetchone() == (1,)
        assert [each.receipt for each in again.history.after(0, analyst="ana")] == [paid]
        assert [each.receipt for each in again.history.before(None, analyst="ana", limit=5)] == [
            paid
        ]
        assert [each.hash[:20] for each in charges_of(again)] == [paid.id]
        assert [each.name for each in again.ledger.accounts_after("population", "", limit=5)] == [
            "people",
            "ana",
        ]
        assert again.states.list_before(None, analyst="ana", limit=5) == ()
        assert again.ledger.verify().sound


def charges_of(vault):
    return vault.ledger.charges_to(vault.ledger.account("population", "people"), limit=5)


class CutAtCommit:
    """A connection that is lost right after the server has committed."""

    def __init__(self, link):
        self._link = link

    def __getattr__(self, name):
        return getattr(self._link, name)

    def execute(self, sql, values=()):
        found = self._link.execute(sql, values)
        if sql == "COMMIT":
            raise psycopg.OperationalError("server closed the connection")
        return found


def test_a_connection_that_is_cut_at_the_commit_says_that_a_charge_may_stand(vault):
    pay(vault)
    line = vault._store._database._writer
    sound, line.connection = line.connection, CutAtCommit(line.connection)
    with pytest.raises(Unavailable, match="Nothing was run; a charge may stand"):
        pay(vault)
    line.connection = sound
    assert pay(vault).sequence == 5
    assert vault.ledger.verify().sound


def test_a_commit_that_rolls_back_is_not_believed(vault):
    with (
        pytest.raises(Unavailable, match=r"rolled the transaction back\. Nothing was run"),
        vault._store._database.writing() as connection,
        contextlib.suppress(psycopg.Error),
    ):
        connection.execute("SELECT 1 / 0")
    assert pay(vault).sequence == 3


def test_a_commit_waits_for_the_flush_whatever_the_database_says(vault, raw):
    name = raw.info.dbname
    raw.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    raw.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with Vault.open(vault.folder) as again, again._store._database.writing() as connection:
        asked = ("synchronous_commit", "transaction_isolation", "fsync")
        found = [connection.execute(f"SHOW {each}").fetchone()[0] for each in asked]
    assert found == ["on", "read committed", "on"]


def test_a_server_that_is_not_there_is_said(tmp_path):
    with pytest.raises(Unavailable, match=r"cannot be reached .* Nothing was run or charged"):
        Vault.open(f"postgresql:///none?host={tmp_path}", folder=tmp_path / "vault")
    assert list(tmp_path.iterdir()) == []  # a mistyped address ties no folder


def test_another_schema_of_that_name_is_left_alone(ledger_url, raw, tmp_path):
    raw.execute("CREATE SCHEMA discreet CREATE TABLE meta (name text, value bytea)")
    with pytest.raises(Unavailable, match="is no ledger of this version"):
        Vault.open(ledger_url, folder=tmp_path / "vault")
    assert raw.execute("SELECT count(*) FROM meta").fetchone() == (0,)


@pytest.mark.parametrize("secret", ["//me:hush@db.example/x", "//db.example/x?password=hush"])
def test_a_password_in_the_url_is_refused_and_not_repeated(secret, tmp_path):
    with pytest.raises(InvalidValue, match="holds a password") as caught:
        Vault.open(f"postgresql:{secret}", folder=tmp_path / "vault")
    assert "hush" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_needed_and_belongs_to_one_ledger(vault, ledger_url, tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_VAULT", raising=False)
    with pytest.raises(InvalidValue, match="pass folder= or set DISCREET_VAULT"):
        Vault.open(ledger_url)
    with pytest.raises(InvalidValue, match="belongs to another ledger"):
        Vault.open("postgresql://db.example/other", folder=vault.folder)
    Vault.open(tmp_path / "file").close()
    with pytest.raises(InvalidValue, match="holds a ledger of its own"):
        Vault.open(ledger_url, folder=tmp_path / "file")
    with pytest.raises(InvalidValue, match="folder= goes with"):
        Vault.open(tmp_path / "file", folder=tmp_path / "other")
    monkeypatch.setenv("DISCREET_VAULT", str(vault.folder))
    with Vault.open(ledger_url) as again:
        assert pay(again).sequence == 3
    with Vault.open(vault.folder) as alone:
        assert pay(alone).sequence == 4
    assert not (vault.folder / FILE).exists()
    assert [path.stat().st_mode & 0o077 for path in vault.folder.iterdir()] == [0]


def test_several_who_make_the_tables_at_once(ledger_url, tmp_path):
    made, folders = [], [tmp_path / str(place) for place in range(8)]

    def work(folder):
        made.append(Vault.open(ledger_url, folder=folder))

    threads = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    open_accounts(made[0])
    assert len(made[-1].ledger.accounts()) == 2
    for vault in made:
        vault.close()


def test_limits_names_and_outcomes_hold_on_a_server_too(tmp_path, ledger_url):
    with Vault.open(ledger_url, folder=tmp_path / "q") as vault:
        vault.ledger.add_account("population", "people-q", Budget(epsilon=9))
        vault.ledger.add_account("analyst", "quinn", Budget(epsilon=9))
        with pytest.raises(InvalidValue, match="'quinn' already"):
            vault.ledger.add_account("analyst", "QUINN", Budget(epsilon=9))
        reading, quota = vault._store.reading, Quota(most=4000)
        paid = [
            vault.ledger.charge(
                population="people-q",
                analyst="quinn",
                loss=Pure(epsilon=0.1),
                memo={"question": "q" * 100},
                request=Request(f"k:{number}", "q"),
            )
            for number in range(2)
        ]
        small = quota.count_bytes("quinn", reading)
        assert vault.requests.settle("q", paid[0], b"x" * 3000) is None
        assert vault.requests.settle("q", paid[0], b"y").body == b"x" * 3000
        assert quota.count_bytes("quinn", reading) == small + 3000
        assert Quota(most=1).count_bytes("quinn", reading) == small + 3000
        assert vault.requests.fail(paid[1], Unavailable("Lost.")) is None
        with pytest.raises(Unanswered, match=r"Lost\. This is final"):
            vault.requests.find("quinn", Request("k:1", "q"))
        vault.ledger.quota = quota
        with pytest.raises(QuotaExceeded):
            vault.ledger.charge(population="people-q", analyst="quinn", loss=Pure(epsilon=0.1))
