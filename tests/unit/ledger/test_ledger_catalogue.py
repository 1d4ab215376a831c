"""The catalogue: one population for a source, whatever it is called; fingerprints stay inside."""

import pytest

from discreet.errors import InvalidValue, SchemaError, Unavailable
from discreet.ledger.vault import Vault
from discreet.schema import Budget

BUDGET = Budget(epsilon=1)


@pytest.fixture
def vault(new_vault):
    return new_vault


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_bytes(b"age\n41\n")
    return path


def register(vault, name, population, source=None, content=None, budget=BUDGET, **more):
    catalogue = vault.catalogue
    fingerprint = catalogue.fingerprint([content] if content else source)
    return catalogue.register(
        name=name,
        population=population,
        schema=more.pop("schema", "{}"),
        schema_version="v1",
        fingerprint=fingerprint,
        budget=budget,
        source=source,
        **more,
    )


def test_a_table_and_its_population(vault, source):
    made = register(vault, "visits", "patients", source, prepared="visits.duckdb", stamp="7:1")
    assert vault.catalogue.table("visits") == made
    assert vault.catalogue.tables() == (made,)
    assert (made.data_version, made.source) == (1, str(source.resolve()))
    assert vault.ledger.account("population", "patients").epsilon == 1


def test_unknown_tables_are_answered_with_the_nearest(vault, source):
    register(vault, "visits", "patients", source)
    with pytest.raises(SchemaError, match=r"no table 'visit'. Did you mean 'visits'"):
        vault.catalogue.table("visit")
    with pytest.raises(SchemaError, match="no table"):
        vault.catalogue.refresh("visit", fingerprint=b"x")


def refused_for(vault, population, *arguments, **more):
    before = vault.ledger.accounts(), vault.catalogue.tables(), vault.ledger.entries()
    with pytest.raises(SchemaError, match=f"belongs to the population '{population}'"):
        register(vault, *arguments, **more)
    assert (vault.ledger.accounts(), vault.catalogue.tables(), vault.ledger.entries()) == before
    return True


def test_the_same_source_opens_no_second_budget(vault, source, tmp_path):
    register(vault, "visits", "patients", source)
    assert refused_for(vault, "patients", "again", "again", source)
    assert refused_for(vault, "patients", "visits", "others", source)

    copy = tmp_path / "copy.csv"
    copy.write_bytes(source.read_bytes())
    assert refused_for(vault, "patients", "copy", "copy", copy)

    (tmp_path / "linked.csv").symlink_to(source)
    source.write_bytes(b"age\n42\n")  # new content, the same place
    assert refused_for(vault, "patients", "moved", "moved", source)
    assert refused_for(vault, "patients", "link", "link", tmp_path / "linked.csv")
    dotted = tmp_path / "vault" / ".." / "visits.csv"
    assert refused_for(vault, "patients", "dots", "dots", dotted)


def test_the_same_frame_opens_no_second_budget(vault):
    register(vault, "visits", "patients", content=b"frame")
    assert refused_for(vault, "patients", "frame", "frame", content=b"frame")
    register(vault, "other", "other", content=b"another frame")


def test_content_seen_once_stays_bound_after_a_refresh(vault, source):
    register(vault, "visits", "patients", source)
    vault.catalogue.refresh("visits", fingerprint=vault.catalogue.fingerprint([b"newer"]))
    assert refused_for(vault, "patients", "old", "old", content=source.read_bytes())
    assert refused_for(vault, "patients", "new", "new", content=b"newer")


def test_a_refresh_cannot_take_the_data_of_other_people(vault):
    register(vault, "visits", "patients", content=b"one")
    register(vault, "staff", "employees", content=b"two")
    with pytest.raises(SchemaError, match="belongs to the population 'employees'"):
        vault.catalogue.refresh("visits", fingerprint=vault.catalogue.fingerprint([b"two"]))
    assert vault.catalogue.table("visits").data_version == 1


def test_tables_of_the_same_people_share_a_budget(vault, source):
    register(vault, "visits", "patients", source)
    register(vault, "again", "patients", source, budget=None)
    register(vault, "stays", "patients", content=b"stays")
    assert [account.name for account in vault.ledger.accounts()] == ["patients"]
    with pytest.raises(InvalidValue, match="has a budget of epsilon=1"):
        register(vault, "more", "patients", content=b"more", budget=Budget(epsilon=9))
    assert [table.name for table in vault.catalogue.tables()] == ["again", "stays", "visits"]


def test_a_population_needs_a_budget_once(vault):
    with pytest.raises(SchemaError, match=r"'patients' has no budget yet; add a \[budget\]"):
        register(vault, "visits", "patients", content=b"x", budget=None)
    assert vault.catalogue.tables() == ()
    register(vault, "visits", "others", content=b"x")  # the refusal bound nothing


def test_a_changed_schema_is_a_new_version_of_the_same_table(vault, source):
    register(vault, "visits", "patients", source)
    changed = register(vault, "visits", "patients", source, schema='{"a":1}')
    assert changed.data_version == 2
    assert vault.catalogue.table("visits").schema == '{"a":1}'
    assert len(vault.ledger.accounts()) == 1


def test_fingerprints_are_keyed_and_not_shown(vault, source, tmp_path):
    made = register(vault, "visits", "patients", source, stamp="7:123456")
    assert made.fingerprint == vault.catalogue.fingerprint([b"age\n", b"41\n"])
    with Vault.open(tmp_path / "second") as second:
        assert second.catalogue.fingerprint(source) != made.fingerprint
    assert made.fingerprint.hex() not in repr(made)
    assert "fingerprint" not in repr(made)
    assert "123456" not in repr(made)


def test_a_source_that_cannot_be_read(vault, tmp_path):
    with pytest.raises(Unavailable, match="cannot be read"):
        vault.catalogue.fingerprint(tmp_path / "nothing.csv")
