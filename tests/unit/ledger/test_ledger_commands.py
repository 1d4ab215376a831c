"""`discreet ledger amend` changes what it is told to change, and nothing else; why questions failed
is shown to the custodian, marked as not for release.
"""

from fractions import Fraction

from discreet.curator.curator import Curator
from support.command_line import write_clinic


def test_an_amended_account_keeps_its_delta_and_its_share(tmp_path):
    clinic = write_clinic(tmp_path)
    assert clinic.run("add", clinic.schema).status == 0
    assert clinic.run("grant", "ann", "--epsilon", "2", "--delta", "1e-6").status == 0
    words = ("ledger", "amend", "analyst", "ann", "--why", "more", "--epsilon")
    assert clinic.run(*words, "3", "--delta-for-conversion", "0.25").status == 0
    assert clinic.run(*words, "4").status == 0
    with Curator.open(clinic.vault) as curator:
        kept = curator.ledger.account("analyst", "ann")
    assert not kept.pure
    assert kept.budget.epsilon == 4
    assert kept.budget.delta == Fraction(1, 10**6)
    assert kept.budget.delta_for_conversion == Fraction(1, 4)
    assert clinic.run(*words, "4", "--delta", "1e-7").status == 0
    with Curator.open(clinic.vault) as curator:
        assert curator.ledger.account("analyst", "ann").budget.delta == Fraction(1, 10**7)


def test_why_a_question_failed_is_marked_as_not_for_release(tmp_path):
    clinic = write_clinic(tmp_path)
    assert clinic.run("add", clinic.schema).status == 0
    with Curator.open(clinic.vault) as curator:
        curator.vault.causes.add("ann", None, "The question", "it took too long")
    (failure,) = clinic.run("ledger", "--json").json["failures"]
    assert failure["not_for_release"] is True
    assert failure["cause"] == "it took too long"
