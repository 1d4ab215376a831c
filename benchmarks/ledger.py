"""Durable charges: 16 threads of one process through our ledger, which commits them in groups,
against the same charge in a transaction of its own (BEGIN IMMEDIATE) on a connection per thread.

Both check and write the same accounts, entries and hashes on the same disk, with a flush before
each receipt; ours seals every entry besides and exports the newest seal.
The folder is made under TMPDIR: measure on a real disk, a memory file system flushes nothing.
"""

import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from discreet.ledger.account import Holder
from discreet.ledger.entry import Act, Entry, describe_loss, memo_text
from discreet.ledger.store.book import require_account
from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.schema import Budget
from harness import Report

CLIENTS = 16
ROUNDS = 4
SECONDS = 2.0
PRICE = Pure(epsilon=Fraction(1, 1000))
MEMO = {"label": "The question about visits", "question": "SELECT COUNT(*) FROM visits"}


def made(folder: Path) -> Vault:
    """A vault with budget for everything below."""
    vault = Vault.open(folder)
    for holder, name in (("population", "people"), ("analyst", "ana")):
        vault.ledger.add_account(holder, name, Budget(epsilon=10**6))
    return vault


def plainly(path: Path) -> Callable[[], object]:
    """One client's charge in a transaction of its own."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")

    def charge() -> None:
        connection.execute("BEGIN IMMEDIATE")
        holders = ((Holder.POPULATION, "people"), (Holder.ANALYST, "ana"))
        after = [require_account(connection, *each).admit(PRICE) for each in holders]
        sequence, previous = connection.execute("SELECT sequence, hash FROM head").fetchone()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        said = describe_loss(PRICE), memo_text(MEMO)
        entry = Entry(sequence + 1, now, Act.CHARGE, "people", "ana", *said, previous)
        row = (sequence + 1, now, "charge", "people", "ana", *said, previous, entry.hash)
        connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * 9)})", row)
        connection.execute("UPDATE head SET sequence = ?, hash = ?", (sequence + 1, entry.hash))
        for account in after:
            connection.execute(
                "UPDATE accounts SET spent = ?, spent_delta = ? WHERE holder = ? AND name = ?",
                (str(account.spent), str(account.spent_delta), account.holder, account.name),
            )
        connection.execute("COMMIT")

    return charge


def measured(clients: list[Callable[[], object]]) -> list[float]:
    """How long each charge took, all clients at once for a fixed time."""
    times: list[list[float]] = [[] for _ in clients]
    barrier = threading.Barrier(len(clients))

    def work(place: int) -> None:
        barrier.wait()
        end = time.perf_counter() + SECONDS
        while (start := time.perf_counter()) < end:
            clients[place]()
            times[place].append(time.perf_counter() - start)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [second for each in times for second in each]


def rounds(parent: Path, count: int) -> tuple[list[float], list[float]]:
    """Ours and plain in turns, so that both meet the same disk."""
    ours: list[float] = []
    plain: list[float] = []
    with made(parent / "ours") as vault, made(parent / "plain") as other:

        def charge() -> None:
            vault.ledger.charge(population="people", analyst="ana", loss=PRICE, memo=MEMO)

        peers = [plainly(other.folder / FILE) for _ in range(count)]
        for _ in range(ROUNDS):
            ours += measured([charge] * count)
            plain += measured(peers)
        found = vault.ledger.verify()
        assert found.sound, found.problem
        assert found.entries == len(ours) + 2
    return sorted(ours), sorted(plain)


def main() -> None:
    """Measure both, at 16 clients and at one."""
    report = Report("Durable charges")
    peer = "BEGIN IMMEDIATE each"
    for count in (CLIENTS, 1):
        with tempfile.TemporaryDirectory() as parent:
            both = rounds(Path(parent), count)
        who = f"{count} client{'s' if count > 1 else ''}"
        rates = [len(times) / (ROUNDS * SECONDS) for times in both]
        report.greater(f"charges a second, {who}", *rates, peer)
        for share in (50, 99):
            values = [times[len(times) * share // 100] * 1000 for times in both]
            report.faster(f"p{share} in ms, {who}", *values, peer)


if __name__ == "__main__":
    main()
