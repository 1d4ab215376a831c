"""`discreet import` writes schema files beside each other and says what is left to do."""

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.commands import metadata

YAML = """
clinic:
  dbo:
    visits: { rows: 10, id: { type: int, private_id: true }, income: { type: float } }
    people: { row_privacy: true, child: { type: boolean } }
"""


def run(*words: object):
    """The outcome of `discreet import` with these words."""
    app = typer.Typer()
    app.callback()(lambda: None)
    metadata.register(app)
    return CliRunner().invoke(app, ["import", *map(str, words)])


@pytest.fixture
def yaml(tmp_path):
    path = tmp_path / "clinic.yaml"
    path.write_text(YAML)
    return path


def test_it_writes_one_file_for_each_table(yaml, tmp_path):
    folder = tmp_path / "new" / "schemas"
    outcome = run(yaml, "--output", folder)
    assert outcome.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["people.toml", "visits.toml"]
    assert outcome.stdout.splitlines() == [
        f"Wrote {folder / 'visits.toml'}.",
        "  visits: rows is not used: no answer needs the number of rows in advance.",
        f"Wrote {folder / 'people.toml'}.",
        "Write a value in place of each FILL-IN (6 of them).",
        "Choose from what is publicly known, not from the data.",
        f"Then: discreet add {folder / 'visits.toml'}",
    ]


def test_the_files_go_to_the_current_folder(yaml, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(yaml).exit_code == 0
    assert (tmp_path / "visits.toml").is_file()


def test_it_overwrites_nothing(yaml, tmp_path):
    (tmp_path / "people.toml").write_text("mine")
    outcome = run(yaml, "--output", tmp_path)
    assert outcome.exit_code == 2
    assert "people.toml is there already; name another folder" in outcome.stderr
    assert (tmp_path / "people.toml").read_text() == "mine"
    assert not (tmp_path / "visits.toml").exists()


def test_bad_input_is_named(tmp_path):
    outcome = run(tmp_path / "absent.yaml")
    assert outcome.exit_code == 2
    assert "the metadata cannot be read" in " ".join(outcome.stderr.split())
