"""The ledger when someone changes it: found with its place, refused until it is adopted."""

import json
import os
import random
import shutil
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import Unavailable, UnprovableRequest
from discreet.ledger.account import Holder
from discreet.ledger.entry import FIRST, Act
from discreet.ledger.store import place as _place
from discreet.ledger.store import tables as _tables
from discreet.ledger.vault import FILE, Vault
from discreet.loss import Pure
from discreet.report.tables import entry_table
from discreet.report.values import entry_values
from discreet.schema import Budget

REFUSED = "the ledger of this vault is not sound"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "vault"


def pay(vault, epsilon=0.1):
    return vault.ledger.charge(population="people", analyst="ana", loss=Pure(epsilon=epsilon))


def filled(folder: Path) -> None:
    """Two accounts, six charges of 0.1 each, four releases and a table: entries 1 to 8."""
    with Vault.open(folder) as vault:
        catalogue = vault.catalogue
        catalogue.register(
            name="visits",
            population="people",
            schema="{}",
            schema_version="v1",
            fingerprint=b"f",
            budget=Budget(epsilon=1),
        )
        vault.ledger.add_account("analyst", "ana", Budget(epsilon=1))
        for number in range(6):
            receipt = pay(vault)
            if number < 4:
                vault.releases.store(f"question {number}", receipt, b"noisy %d" % number)


def sound(folder: Path) -> bool:
    with Vault.open(folder) as vault:
        return vault.ledger.verify().sound


def refuses(folder: Path) -> bool:
    """Neither charges nor grants go on, and the sentence is always the same."""
    with Vault.open(folder) as vault:
        for work in (
            lambda: pay(vault, 0.01),
            vault.ledger.check,
            lambda: vault.ledger.add_account("analyst", "new", Budget(epsilon=1)),
        ):
            with pytest.raises(Unavailable, match=REFUSED):
                work()
    return True


EDIT = "UPDATE entries SET {} WHERE sequence = 5"
TAMPERED = {
    "event": (EDIT.format("""event = '{"epsilon":"1/20","loss":"pure"}'"""), 5, "was changed"),
    "memo": (EDIT.format('memo = \'{"label":"x"}\''), 5, "was changed"),
    "analyst": (EDIT.format("analyst = 'bob'"), 5, "was changed"),
    "time": (EDIT.format("time = '2000'"), 5, "was changed"),
    "hash": (EDIT.format("hash = 'abc'"), 5, "was changed"),
    "previous": (EDIT.format("previous = 'abc'"), 5, "was changed"),
    "act": (EDIT.format("act = 'amend'"), 5, "was changed"),
    "deleted": ("DELETE FROM entries WHERE sequence = 5", 5, "is missing"),
    "first": ("DELETE FROM entries WHERE sequence = 1", 1, "is missing"),
    "closed up": (
        "DELETE FROM entries WHERE sequence = 5; "
        "UPDATE entries SET sequence = sequence - 1 WHERE sequence > 5",
        5,
        "was changed",
    ),
    "swapped": (
        "UPDATE entries SET sequence = 99 WHERE sequence = 5; "
        "UPDATE entries SET sequence = 5 WHERE sequence = 6; "
        "UPDATE entries SET sequence = 6 WHERE sequence = 99",
        5,
        "was changed",
    ),
    "truncated": ("DELETE FROM entries WHERE sequence = 8", 8, "is missing"),
    "all": ("DELETE FROM entries", 1, "is missing"),
    "head": ("UPDATE head SET hash = 'abc'", 8, "is not the one that was written last"),
    "no head": ("DELETE FROM head", 8, "is not the one that was written last"),
    "spent": ("UPDATE accounts SET spent = '0'", None, "the totals of analyst 'ana'"),
    "limit": ("""UPDATE accounts SET "limit" = '9'""", None, "the totals of"),
    "unreadable": ("UPDATE accounts SET spent = 'x'", None, "cannot be read"),
    "release": ("UPDATE releases SET body = x'00' WHERE number = 2", 4, "was changed"),
    "no release": ("DELETE FROM releases WHERE number = 2", None, "release '2' is missing"),
    "more releases": (
        "INSERT INTO releases SELECT 5, key, analyst, entry, body FROM releases WHERE number = 1",
        None,
        "not sealed",
    ),
    "table": ("UPDATE tables SET schema = '{}x'", None, "table 'visits' is not as it was"),
    "no table": ("DELETE FROM tables", None, "table 'visits' is not as it was"),
    "source": ("DELETE FROM sources", None, "source 'content:66' is missing"),
    "no meta": ("DELETE FROM meta", None, "own key"),
    "meta": ("UPDATE meta SET value = x'00'", None, "own key"),
    "seal": ("UPDATE seals SET mac = 'abc' WHERE number = 9", 5, "the seal after entry 4"),
    "seals cut": ("DELETE FROM seals WHERE number > 9", None, None),
    "no seals": ("DELETE FROM seals", 1, "not here"),
    "account": ("DELETE FROM accounts WHERE name = 'ana'", None, "the totals of analyst 'ana'"),
}


def tamper(folder: Path, script: str) -> None:
    raw = sqlite3.connect(folder / FILE)
    for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    raw.executescript(script)
    raw.commit()
    raw.close()


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_is_found_with_its_place(folder, name):
    script, bad, problem = TAMPERED[name]
    filled(folder)
    assert sound(folder)
    tamper(folder, script)
    with Vault.open(folder) as vault:
        found = vault.ledger.verify()
    assert not found.sound
    assert found.bad == bad or problem is None
    assert (problem or "") in found.problem
    assert refuses(folder)


def test_an_edit_that_seals_itself_again_is_found(folder):
    filled(folder)
    with Vault.open(folder) as vault:
        entry = vault.ledger.entries()[4]
        noted = vault.ledger.verify().head
    changed = replace(entry, event='{"epsilon":"1/20","loss":"pure"}')
    script = EDIT.format(f"event = '{changed.event}', hash = '{changed.hash}'")
    tamper(folder, script)
    with Vault.open(folder) as vault:
        found = vault.ledger.verify()
    assert found.bad == 5
    assert found.head != noted


def forge(folder: Path) -> None:
    """Halve entry 5 and make hashes, head and totals fit, as one without the key can."""
    with Vault.open(folder) as vault:
        entries = list(vault.ledger.entries())
    entries[4] = replace(entries[4], event='{"epsilon":"1/20","loss":"pure"}')
    previous, script = FIRST, []
    for entry in entries:
        now = replace(entry, previous=previous)
        previous = now.hash
        script.append(
            f"UPDATE entries SET event = '{now.event}', previous = '{now.previous}', "
            f"hash = '{now.hash}' WHERE sequence = {now.sequence}"
        )
    script.append(f"UPDATE head SET hash = '{previous}'")
    script.append("UPDATE accounts SET spent = '11/20'")
    tamper(folder, ";".join(script))


def test_a_forged_history_that_fits_is_found(folder):
    filled(folder)
    forge(folder)
    with Vault.open(folder) as vault:
        found = vault.ledger.verify()
    assert found.bad == 5
    assert "its seal does not match" in found.problem
    assert refuses(folder)


def test_without_seals_the_forged_history_would_pass(folder):
    """The planted weakness: the plain hashes alone do not show it."""
    filled(folder)
    forge(folder)
    tamper(folder, "DELETE FROM seals")
    shutil.rmtree(folder.with_name("vault.seal"))
    assert sound(folder)


@pytest.mark.parametrize("cut", ["in the middle", "everything"])
def test_an_older_copy_is_found(folder, tmp_path, cut):
    copy = tmp_path / "copy"
    if cut == "in the middle":
        filled(folder)
        shutil.copytree(folder, copy)
        with Vault.open(folder) as vault:
            for _ in range(3):
                pay(vault, 0.01)
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
    else:
        filled(folder)
        shutil.rmtree(folder)
        Vault.open(folder).close()
    with Vault.open(folder) as vault:
        found = vault.ledger.verify()
    assert not found.sound
    assert found.bad == (9 if cut == "in the middle" else 1)
    assert "is missing" in found.problem
    words = REFUSED if cut == "in the middle" else "holds the seal of one with 8 entries"
    with Vault.open(folder) as vault, pytest.raises(Unavailable, match=words):
        vault.ledger.add_account("analyst", "new", Budget(epsilon=1))


def test_an_anchor_that_lags_behind_is_accepted(folder):
    """A crash between the commit and the export of the anchor is no tampering."""
    filled(folder)
    anchor = folder.with_name("vault.seal") / "anchor"
    old = anchor.read_text()
    with Vault.open(folder) as vault:
        pay(vault, 0.01)
        pay(vault, 0.01)
    assert anchor.read_text() > old
    anchor.write_text(old)
    assert sound(folder)
    with Vault.open(folder) as vault:
        pay(vault, 0.01)
    assert int(anchor.read_text().split()[1]) == 11
    anchor.write_text(old[:-10] + "0" * 9 + "\n")  # on no chain
    with Vault.open(folder) as vault:
        assert vault.ledger.verify().bad == 8
    assert refuses(folder)


@pytest.mark.parametrize("name", ["key", "anchor"])
def test_a_lost_key_or_anchor_is_said_and_can_be_adopted(folder, name):
    filled(folder)
    (folder.with_name("vault.seal") / name).unlink()
    with Vault.open(folder) as vault:
        assert name in vault.ledger.verify().problem
    assert refuses(folder)
    with Vault.open(folder) as vault:
        vault.ledger.adopt({"why": "the machine was replaced"})
        pay(vault)
    assert sound(folder)


def test_a_key_that_others_can_read_is_refused(folder):
    filled(folder)
    (folder.with_name("vault.seal") / "key").chmod(0o644)
    with Vault.open(folder) as vault, pytest.raises(Unavailable, match="others may read the key"):
        pay(vault)


def test_key_and_anchor_are_where_the_environment_says(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_KEY_FILE", str(tmp_path / "safe" / "key"))
    monkeypatch.setenv("DISCREET_ANCHOR", str(tmp_path / "far" / "anchor"))
    filled(folder)
    assert not folder.with_name("vault.seal").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "safe", "vault"]
    for path in (tmp_path / "safe" / "key", tmp_path / "far" / "anchor"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert int((tmp_path / "far" / "anchor").read_text().split()[1]) == 8
    monkeypatch.delenv("DISCREET_KEY_FILE")
    assert refuses(folder)


def test_the_anchor_never_goes_back(folder):
    filled(folder)
    place = _place.Place.of(folder)
    there = place.anchor()
    place.export(replace(there, number=there.number - 1, code="f" * 64))
    assert place.anchor() == there


def test_adoption_is_an_entry_and_forgives_nothing_it_can_see(folder):
    filled(folder)
    tamper(
        folder,
        "UPDATE accounts SET spent = '0' WHERE name = 'ana';DELETE FROM entries WHERE sequence = 5",
    )
    assert refuses(folder)
    with Vault.open(folder) as vault:
        vault.ledger.adopt({"why": "an entry was lost"})
        entry = vault.ledger.entries()[-1]
        assert entry.act is Act.ADOPT
        assert json.loads(entry.memo) == {"why": "an entry was lost"}
        assert vault.ledger.account("population", "people").spent == Fraction(6, 10)  # its total
        assert vault.ledger.account("analyst", "ana").spent == Fraction(5, 10)  # its entries
        assert vault.ledger.verify().sound
        pay(vault)
        with pytest.raises(UnprovableRequest, match="adopted as totals"):
            vault.ledger.amend("analyst", "ana", Budget(epsilon=1, delta=1e-6), {})
        vault.ledger.amend("analyst", "ana", Budget(epsilon=2), {})
        assert vault.ledger.account("analyst", "ana").spent == Fraction(6, 10)
    assert sound(folder)
    tamper(folder, "UPDATE entries SET memo = 'x' WHERE sequence = 4")  # adopted as it stood
    with Vault.open(folder) as vault:
        assert vault.ledger.verify().bad == 4
        vault.ledger.adopt({"why": "again"})
        assert vault.ledger.account("analyst", "ana").spent == Fraction(6, 10)
        entries = vault.ledger.entries()
        assert entry_table(entries).row_count == len(entries)  # it can still be looked at
        assert [entry_values(entry)["memo"] for entry in entries if entry.memo == "x"] == [{}]
    assert sound(folder)


def test_an_adoption_of_an_older_copy_goes_on_above_the_anchor(folder, tmp_path):
    filled(folder)
    shutil.copytree(folder, tmp_path / "copy")
    with Vault.open(folder) as vault:
        for _ in range(3):
            pay(vault, 0.01)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)
    assert refuses(folder)
    with Vault.open(folder) as vault:
        vault.ledger.adopt({"why": "restored"})
    assert sound(folder)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "copy", folder)  # the same copy again is older than the adoption
    assert refuses(folder)


def test_a_live_curator_notices_what_another_wrote_without_the_key(folder):
    filled(folder)
    with Vault.open(folder) as vault:
        vault.ledger.check()
        tamper(folder, "UPDATE accounts SET spent = '0'")
        with pytest.raises(Unavailable, match=REFUSED):
            pay(vault)
        tamper(folder, "UPDATE accounts SET spent = '3/5'")
        pay(vault)
        tamper(
            folder,
            "INSERT INTO seals SELECT number + 1, kind, reference, digest, mac FROM seals "
            "ORDER BY number DESC LIMIT 1",
        )
        with pytest.raises(Unavailable, match=REFUSED):
            pay(vault)


def test_what_one_thread_found_wrong_is_not_forgotten_by_the_commit_of_another(folder):
    filled(folder)
    with Vault.open(folder) as vault:
        keeper = vault._store._keeper
        vault.ledger.check()

        def work(book):
            book.put(book.account(Holder.ANALYST, "ana"))
            with keeper._lock:
                keeper._chain = None  # as another thread does that finds a broken record

        vault._store.share(work)
        assert not keeper.followed
        tamper(folder, "UPDATE releases SET body = x'00' WHERE number = 2")
        with pytest.raises(Unavailable, match=REFUSED):
            pay(vault)


def test_a_live_curator_goes_on_after_another_adopts(folder):
    filled(folder)
    with Vault.open(folder) as live, Vault.open(folder) as other:
        live.ledger.check()
        tamper(folder, "UPDATE accounts SET spent = '0'")
        with pytest.raises(Unavailable, match=REFUSED):
            pay(live)
        other.ledger.adopt({})
        pay(live)
        pay(other)
    assert sound(folder)


def test_a_vault_of_the_first_version_is_sealed_with_its_next_entry(folder, monkeypatch):
    monkeypatch.setattr(_tables, "_VERSION", 1)
    monkeypatch.setattr(_tables, "_ADDITIONS", {})
    for name in ("_extend_tables", "_add_states"):
        monkeypatch.setattr(_tables, name, lambda _: None)
    Vault.open(folder).close()
    monkeypatch.undo()
    raw = sqlite3.connect(folder / FILE)
    raw.execute("PRAGMA user_version = 1")
    raw.close()
    with Vault.open(folder) as vault:
        assert vault.ledger.verify().sound
    assert not folder.with_name("vault.seal").exists()  # nothing was written yet
    filled(folder)
    with Vault.open(folder) as vault:
        vault.ledger.adopt({})
    tamper(folder, "DELETE FROM seals")
    shutil.rmtree(folder.with_name("vault.seal"))
    with Vault.open(folder) as vault:  # entries, and nothing sealed: as version 1 left it
        pay(vault)
        assert vault.ledger.verify().sound
    tamper(folder, "UPDATE releases SET body = x'00' WHERE number = 2")
    assert refuses(folder)


def check_flipped(folder: Path, share: float, bit: int) -> None:
    """A bit flips so far into the file: it is found, or everything that counts is as it was."""
    filled(folder)
    with Vault.open(folder) as vault:
        before = vault.ledger.entries(), vault.ledger.accounts(), vault.releases.transcript("ana")
    path = folder / FILE
    content = bytearray(path.read_bytes())
    content[100 + int(share * (len(content) - 100))] ^= 1 << bit
    path.write_bytes(content)
    try:
        with Vault.open(folder) as vault:
            if vault.ledger.verify().sound:
                found = vault.ledger.entries(), vault.ledger.accounts()
                assert (*found, vault.releases.transcript("ana")) == before
    except Unavailable:
        pass
    assert os.path.exists(path)


@pytest.mark.parametrize("place", range(24))
def test_a_flipped_bit_is_found_or_does_not_matter(folder, place):
    check_flipped(folder, (place + 0.5) / 24, place % 8)


def test_a_text_that_turns_into_bytes_is_found(folder):
    """The lengths of digest and code of a seal; an even number is one of bytes."""
    filled(folder)
    path = folder / FILE
    content, lengths = path.read_bytes(), b"\x81\x0d\x81\x0d"
    places = [place for place in range(len(content)) if content.startswith(lengths, place)]
    problems = []
    for place in places:
        path.write_bytes(content[: place + 3] + b"\x0c" + content[place + 4 :])
        with Vault.open(folder) as vault:
            problems.append(vault.ledger.verify().problem)
    assert len(places) >= 8
    assert sum("is damaged" in str(problem) for problem in problems) >= 8


@pytest.mark.soak
@pytest.mark.parametrize("again", range(300))
def test_whatever_bit_flips_is_found_or_does_not_matter(folder, again):
    check_flipped(folder, (again + random.random()) / 300, random.randrange(8))


@pytest.mark.parametrize("mark", [b"CREATE TABLE entries", b"entries_by_analyst"])
def test_damage_that_is_no_text_any_more_is_said(folder, mark):
    filled(folder)
    path = folder / FILE
    content = bytearray(path.read_bytes())
    content[content.index(mark) + 3] = 0xD4
    path.write_bytes(content)
    with pytest.raises(Unavailable, match="restore it from a backup"), Vault.open(folder) as vault:
        vault.ledger.verify()
