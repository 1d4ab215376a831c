"""docs/server.md names every route, problem, setting and page; what it and docs/deploy.md tell a
custodian to do works.
"""

import dataclasses
import re
import sqlite3
from contextlib import closing

import pytest

from discreet.curator.curator import Curator
from discreet.errors import Unavailable
from discreet.server.application import application
from discreet.server.problems import KINDS
from discreet.server.settings import Settings
from support.command_line import run
from support.surface import ROOT
from support.vaults import copied_curator, people

PAGE = (ROOT / "docs" / "server.md").read_text()
DEPLOY = (ROOT / "docs" / "deploy.md").read_text()
SQL = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def app(tmp_path):
    with copied_curator(tmp_path / "c", people()) as curator:
        yield application(curator)


def test_every_route_is_named_and_every_named_route_exists(app):
    there = {
        f"{method.upper()} {path.removeprefix('/api/v1')}"
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }
    named = set(re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`]+)`", PAGE))
    outside = {"GET /health", "GET /metrics", "DELETE /api/v1/custodian/accounts/ana/tokens"}
    assert named - outside == there
    assert len(there) > 40


def test_every_problem_with_its_status_and_every_setting_is_named():
    for kind, (status, _) in KINDS.items():
        row = next(
            line for line in PAGE.splitlines() if line.startswith("|") and f"`{kind}`" in line
        )
        assert f"| {status} |" in row, kind
    for field in dataclasses.fields(Settings):
        assert f"`{field.name}`" in PAGE, field.name
        if isinstance(field.default, int) and not isinstance(field.default, bool):
            row = next(
                line for line in PAGE.splitlines() if f"`{field.name}`" in line and "|" in line
            )
            assert f"{field.default:,}" in row or str(field.default) in row, field.name


def test_the_first_commands_of_the_page_run(tmp_path, monkeypatch):
    """In their order, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_VAULT", raising=False)
    lines = re.findall(r"^    discreet (.*?)(?: +#.*)?$", PAGE, flags=re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["grant", "account", "account", "serve"]
    for line in lines[:3]:
        outcome = run(*line.split())
        assert outcome.status == 0, outcome.err
    made = re.findall(r"^    mkdir (\w+)", PAGE, flags=re.MULTILINE)
    assert re.findall(r"--root (\S+)", lines[3]) == made


def test_the_proxy_refuses_what_the_server_would():
    assert f"client_max_body_size {Settings().body_bytes // 1024}k" in DEPLOY
    assert f"127.0.0.1:{Settings().port}" in DEPLOY


def test_a_backup_that_is_current_goes_on_and_an_older_one_is_refused(tmp_path):
    """As docs/deploy.md says: a copy made while it runs, put back, with the anchor as it is."""
    folder = tmp_path / "c"
    backups = []
    with copied_curator(folder, people()) as curator:
        curator.grant("ana", epsilon=5)
        session = curator.session("ana")
        for epsilon in (0.5, 0.25):
            session.sql(SQL, epsilon=epsilon)
            backups.append(tmp_path / f"backup-{epsilon}.db")
            source = sqlite3.connect(folder / "vault" / "vault.db")
            with closing(source), closing(sqlite3.connect(backups[-1])) as copy:
                source.backup(copy)
    for backup, sound in ((backups[1], True), (backups[0], False)):
        for old in (folder / "vault").glob("vault.db*"):
            old.unlink()
        place = folder / "vault" / "vault.db"
        place.write_bytes(backup.read_bytes())
        place.chmod(0o600)
        with Curator.open(folder / "vault", price_floor=0) as curator:
            assert curator.ledger.verify().sound is sound
            if not sound:
                with pytest.raises(Unavailable):
                    curator.session("ana").sql(SQL, epsilon=0.5)
                curator.ledger.adopt({"why": "restored"})
                assert curator.ledger.verify().sound
