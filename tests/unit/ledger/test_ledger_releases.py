"""Releases: kept for the one who paid, found again, in order, never without a charge."""

from dataclasses import replace

import pytest

from discreet.errors import InvalidValue
from discreet.loss import Pure
from discreet.schema import Budget


@pytest.fixture
def vault(new_vault):
    new_vault.ledger.add_account("population", "people", Budget(epsilon=1))
    for name in ("ana", "bob"):
        new_vault.ledger.add_account("analyst", name, Budget(epsilon=1))
    return new_vault


def pay(vault, analyst="ana"):
    return vault.ledger.charge(
        population="people", analyst=analyst, loss=Pure(epsilon=0.1), memo={"sql": "SELECT"}
    )


def test_a_release_is_found_by_its_payer_or_by_all_where_shared(vault):
    receipt = pay(vault)
    stored = vault.releases.store("question", receipt, b"noisy")
    assert vault.releases.find("question", analyst="ana") == stored
    assert vault.releases.find("question", analyst="bob") is None
    assert vault.releases.find("question", analyst=None) == stored
    assert vault.releases.find("other", analyst="ana") is None
    assert stored.receipt == receipt


def test_the_newest_release_is_given_again(vault):
    vault.releases.store("question", pay(vault), b"first")
    vault.releases.store("question", pay(vault), b"second")
    assert vault.releases.find("question", analyst="ana").body == b"second"


def test_a_transcript_is_one_analysts_in_order(vault):
    for number, analyst in enumerate(["ana", "bob", "ana"]):
        vault.releases.store(f"q{number}", pay(vault, analyst), b"%d" % number)
    assert [release.key for release in vault.releases.transcript("ana")] == ["q0", "q2"]
    assert [release.body for release in vault.releases.transcript("bob")] == [b"1"]


@pytest.mark.parametrize(
    "change", [{"sequence": 1}, {"sequence": 99}, {"analyst": "bob"}, {"id": "0" * 20}]
)
def test_no_release_without_its_charge(vault, change):
    with pytest.raises(InvalidValue, match="is not of this vault"):
        vault.releases.store("question", replace(pay(vault), **change), b"noisy")
    assert vault.releases.find("question", analyst=None) is None


def test_a_body_is_bytes(vault):
    with pytest.raises(InvalidValue, match="must be bytes"):
        vault.releases.store("question", pay(vault), "text")


def test_a_release_is_cited_by_its_receipt_to_its_payer_only(vault):
    first, second = pay(vault), pay(vault)
    stored = vault.releases.store("question", first, b"noisy")
    vault.releases.store("other", second, b"more")
    assert vault.releases.find_cited(first.id, analyst="ana") == stored
    assert vault.releases.find_cited(second.id, analyst="ana").body == b"more"
    assert vault.releases.find_cited(first.id, analyst="bob") is None
    assert vault.releases.find_cited(pay(vault).id, analyst="ana") is None


@pytest.mark.parametrize("change", [lambda r: r[:19], lambda r: r + "0", str.upper, lambda _: ""])
def test_a_part_of_a_receipt_cites_nothing(vault, change):
    receipts = [pay(vault) for _ in range(9)]  # one of them has a letter, all but surely
    receipt = next(each for each in receipts if each.id != each.id.upper())
    vault.releases.store("question", receipt, b"noisy")
    assert vault.releases.find_cited(change(receipt.id), analyst="ana") is None
    for wrong in ("%" * 20, "_" * 20, "g" * 20, receipt.id[:-1] + "'"):
        assert vault.releases.find_cited(wrong, analyst="ana") is None
