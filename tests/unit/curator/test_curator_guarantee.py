"""One budget is one guarantee: neither the unit nor the neighbours of its rows can change."""

import re

import pytest

from discreet.errors import SchemaError
from support.vaults import copied_curator, people, write_schema


@pytest.fixture
def curator(tmp_path):
    with copied_curator(tmp_path / "home", people()) as made:
        yield made


def altered(tmp_path, *changes):
    path = write_schema(tmp_path / "home")
    text = path.read_text()
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        assert count, pattern
    path.write_text(text)
    return path


def test_the_unit_of_a_table_cannot_be_dropped(curator, tmp_path):
    changes = ((r"^unit = .*\n", ""), (r"^rows_per_unit = .*\n", ""))
    with pytest.raises(SchemaError, match="Keep the unit"):
        curator.add(altered(tmp_path, *changes))
    assert curator.tables["visits"].unit is not None


def test_nor_can_the_same_source_be_added_without_it_under_another_name(curator, tmp_path):
    changes = (
        (r"^unit = .*\n", ""),
        (r"^rows_per_unit = .*\n", ""),
        (r'^name = "visits"', 'name = "again"'),
    )
    with pytest.raises(SchemaError, match="Keep the unit"):
        curator.add(altered(tmp_path, *changes))
    assert list(curator.tables) == ["visits"]


def test_the_neighbours_of_a_population_cannot_change(curator, tmp_path):
    with pytest.raises(SchemaError, match="one budget needs one relation"):
        curator.add(write_schema(tmp_path / "home", neighbours="replace"))


def test_the_same_schema_again_is_fine(curator, tmp_path):
    before = curator.tables["visits"].version
    curator.add(write_schema(tmp_path / "home"))
    assert curator.tables["visits"].version == before
