"""docs/releases.md: its specification is released, its kinds and options are all there are."""

import re
import tomllib
from html import escape

import pytest

from discreet.curator.curator import Curator
from discreet.demo.clinic import SCHEMA, write_clinic
from discreet.release.kinds import KINDS
from discreet.release.specification import read_release
from discreet.release.verification import check_folder, read_manifest
from support.surface import ROOT

PAGE = (ROOT / "docs" / "releases.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder / "visits.parquet", patients=300)
    (folder / "visits.toml").write_text(SCHEMA)
    (folder / "spec.toml").write_text(next(text for kind, text in BLOCKS if kind == "toml"))
    with Curator.open(folder / "vault", price_floor=0) as curator:
        curator.add(folder / "visits.toml")
        curator.grant("ana", epsilon=3)
        plan = read_release(folder / "spec.toml").plan(curator.session("ana"))
        return plan.run().write(folder / "out")


@pytest.mark.slow("examples")
def test_the_specification_of_the_page_gives_a_whole_folder(published):
    assert check_folder(published) == []
    manifest = read_manifest(published)
    assert manifest["guarantee"]["charged_epsilon"] == "2"
    names = {table["name"] for table in manifest["tables"]}
    assert names >= {"by_region", "by_region_condition", "ages", "age_quartiles", "bill_on_age"}
    page = (published / "index.html").read_text()
    assert page.count("<svg") == len(manifest["tables"])
    assert any("rows of one patient_id are used" in note for note in manifest["notes"])
    assert all(escape(note) in page for note in manifest["notes"])


def test_every_kind_and_option_is_on_the_page():
    for kind, known in KINDS.items():
        (line,) = re.findall(rf"^\| `{kind}` \|.*$", PAGE, flags=re.MULTILINE)
        for option in known.options - {"columns"}:
            assert f"`{option}`" in line


def test_the_specification_declares_most_kinds():
    document = tomllib.loads(next(text for kind, text in BLOCKS if kind == "toml"))
    assert len({table["kind"] for table in document["tables"]}) >= len(KINDS) - 1
