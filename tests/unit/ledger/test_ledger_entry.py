"""Entries: losses survive their text, every field is sealed, odd text is refused."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import InvalidValue
from discreet.ledger.entry import FIRST, Act, Entry, describe_loss, loss_of, memo_text
from discreet.loss import ZCDP, Approximate, BoundedRange, Pure

ENTRY = Entry(
    sequence=3,
    time="2025-01-01T00:00:00.000000Z",
    act=Act.CHARGE,
    population="people",
    analyst="ana",
    event=describe_loss(Pure(epsilon=0.1)),
    memo=memo_text({"sql": "SELECT 'é'"}),
    previous=FIRST,
)


@pytest.mark.parametrize(
    "loss",
    [
        Pure(epsilon=Fraction(1, 3)),
        BoundedRange(epsilon=0.1),
        ZCDP(rho=0.1, delta=1e-9),
        Approximate(epsilon=2, delta=1e-9),
    ],
)
def test_a_loss_survives_its_text(loss):
    assert loss_of(describe_loss(loss)) == loss


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"loss":"pure"}', '{"loss":"none","epsilon":"1"}',
     '{"loss":"pure","epsilon":"x"}', '{"loss":"pure","epsilon":"1/0"}',
     '{"loss":"pure","epsilon":"-1"}', '{"loss":"pure","epsilon":1}',
     '{"loss":"pure","rho":"1"}'],
)  # fmt: skip
def test_other_text_is_no_loss(text):
    with pytest.raises(InvalidValue):
        loss_of(text)


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": 4},
        {"time": "2025-01-01T00:00:00.000001Z"},
        {"act": Act.AMEND},
        {"population": None},
        {"analyst": "people", "population": "ana"},
        {"event": describe_loss(Pure(epsilon=0.2))},
        {"memo": "{}"},
        {"previous": "0"},
        {"population": 'people","ana', "analyst": ""},
    ],
)
def test_every_field_is_sealed(change):
    assert replace(ENTRY, **change).hash != ENTRY.hash


def test_a_receipt_cites_its_entry():
    receipt = ENTRY.receipt
    assert ENTRY.hash.startswith(receipt.id)
    assert (receipt.sequence, receipt.population, receipt.analyst) == (3, "people", "ana")
    assert receipt.loss == Pure(epsilon=0.1)
    assert receipt.memo == {"sql": "SELECT 'é'"}


@pytest.mark.parametrize("memo", [{"a": 1}, {1: "a"}, {"a": None}, {"a": "x" * 200_000}])
def test_a_memo_is_short_text(memo):
    with pytest.raises(InvalidValue, match="memo"):
        memo_text(memo)


def test_a_memo_has_one_text():
    assert memo_text({"b": "1", "a": "2"}) == memo_text({"a": "2", "b": "1"})
    assert memo_text({"odd": "\ud800"}).isascii()
