"""Rows on disk: nobody but the owner can read a vault, and prepared files can be sealed with a key
that is stored nowhere. What an engine spills: tests/engines/test_duckdb_engine.py.
"""

import os
import stat
import subprocess
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.curator import Curator
from discreet.engines.duckdb import encryption
from discreet.engines.duckdb.encryption import DataKey
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.preparation import prepare
from discreet.errors import DiscreetError, InvalidValue, SchemaError, Unavailable
from support.join_vaults import data, make_vault
from support.vaults import NAMES, curator_of, people, write_schema, write_source

pytestmark = pytest.mark.usefixtures("children_from_nothing")

KEY = "5c0ffee5" * 8
TEXT = b"c4n4ry-at-rest"
COUNT = "SELECT COUNT(*) AS n FROM visits"


def modes(folder: Path) -> dict[str, str]:
    """The modes of all that others could reach."""
    found = {path: stat.S_IMODE(path.lstat().st_mode) for path in (folder, *folder.rglob("*"))}
    return {path.name: f"{mode:o}" for path, mode in found.items() if mode & 0o077}


@pytest.fixture
def loose_umask():
    """New files would be for everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("loose_umask")
def test_a_vault_is_for_its_owner_only(tmp_path):
    with curator_of(tmp_path / "made", people()) as curator:
        curator.grant("ana", epsilon=1)
        curator.session("ana").sql(COUNT, epsilon=0.5)
        vault = tmp_path / "made" / "vault"
        assert len(list(vault.rglob("*"))) >= 3
        assert modes(vault) == {}
    assert modes(vault) == {}


@pytest.mark.parametrize("name", [".", "vault.db", "prepared", "prepared/*.duckdb"])
def test_a_vault_that_others_can_read_is_refused(tmp_path, name):
    curator_of(tmp_path / "made", people()).close()
    vault = tmp_path / "made" / "vault"
    (path,) = vault.glob(name) if name != "." else [vault]
    path.chmod(path.stat().st_mode | 0o004)
    with pytest.raises(Unavailable, match=r"others can reach .* Run chmod -R go-rwx") as caught:
        Curator.open(vault, price_floor=0)
    assert str(vault) in str(caught.value)
    subprocess.run(["chmod", "-R", "go-rwx", vault], check=True)  # the way out
    Curator.open(vault, price_floor=0).close()


@pytest.fixture
def unsafe_crypto(monkeypatch):
    """Random numbers that are good enough to try everything else; never outside of tests."""
    monkeypatch.setattr(encryption, "CRYPTO", ("SET force_mbedtls_unsafe = true",))


def httpfs_installed() -> bool:
    with duckdb.connect() as connection:
        try:
            connection.execute("LOAD httpfs")
        except duckdb.Error:
            return False
    return True


def test_nothing_is_sealed_with_bad_random_numbers():
    assert encryption.CRYPTO == ("LOAD httpfs",)


@pytest.mark.skipif(httpfs_installed(), reason="DuckDB's httpfs is installed")
def test_a_key_without_the_means_to_seal_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA_KEY", KEY)
    with pytest.raises(SchemaError, match="INSTALL httpfs") as caught:
        curator_of(tmp_path / "made", people())
    assert KEY not in str(caught.value)
    assert list((tmp_path / "made" / "vault" / "prepared").iterdir()) == []


@pytest.mark.skipif(not httpfs_installed(), reason="DuckDB's httpfs is not installed")
def test_a_key_seals(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA_KEY", KEY)
    with curator_of(tmp_path / "made", people()) as curator:
        _asked(curator)
    (file,) = (tmp_path / "made" / "vault" / "prepared").glob("*.duckdb")
    assert "-sealed" in file.name


def _asked(curator):
    curator.grant("ana", epsilon=5)
    answer = curator.session("ana").sql(
        "SELECT region, SUM(age) AS s FROM visits GROUP BY region", epsilon=1
    )
    assert len(answer) == 4


def _sealed_vault(folder, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA_KEY", KEY)
    rows = [*people(), (TEXT.decode(), 1, 1.0, TEXT.decode(), "2024-01-01", 1)]
    folder.mkdir()
    rows = [(str(row[0]), *row[1:]) for row in rows]
    columns = map(list, zip(*rows, strict=True))
    pq.write_table(pa.table(dict(zip(NAMES, columns, strict=True))), folder / "visits.parquet")
    curator = Curator.open(folder / "vault", price_floor=0)
    curator.add(write_schema(folder))
    return curator


@pytest.mark.usefixtures("unsafe_crypto")
def test_sealed_rows_are_read_with_the_key_and_not_on_disk(tmp_path, monkeypatch):
    with _sealed_vault(tmp_path / "made", monkeypatch) as curator:
        _asked(curator)
    files = [path for path in (tmp_path / "made" / "vault").rglob("*") if path.is_file()]
    assert any("-sealed" in path.name for path in files)
    for path in files:
        content = path.read_bytes()
        assert TEXT not in content, path.name
        assert KEY.encode() not in content, path.name
        assert DataKey.read(tmp_path).key.encode() not in content, path.name
    sealed = next(path for path in files if "-sealed" in path.name)
    with pytest.raises(duckdb.Error, match="without a key"):
        duckdb.connect(sealed, read_only=True)


def test_the_same_rows_without_a_key_are_on_disk(tmp_path, monkeypatch):
    """What the test above would find."""
    monkeypatch.setattr(DataKey, "read", classmethod(lambda *_: None))
    with _sealed_vault(tmp_path / "made", monkeypatch) as curator:
        _asked(curator)
    files = [path for path in (tmp_path / "made" / "vault").rglob("*") if path.is_file()]
    assert any(TEXT in path.read_bytes() for path in files)


@pytest.mark.usefixtures("unsafe_crypto")
def test_without_the_key_or_with_another_nothing_is_charged(tmp_path, monkeypatch):
    _sealed_vault(tmp_path / "made", monkeypatch).close()
    for key, message in (("", "no key is set"), ("0" * 64, "may be another one")):
        monkeypatch.setenv("DISCREET_DATA_KEY", key)
        with Curator.open(tmp_path / "made" / "vault", price_floor=0) as curator:
            curator.grant(f"ana{len(key)}", epsilon=1)
            session = curator.session(f"ana{len(key)}")
            with pytest.raises(Unavailable, match=message) as caught:
                session.sql(COUNT, epsilon=0.5)
            assert "Nothing was run or charged" in str(caught.value)
            assert session.remaining.epsilon == 1


@pytest.mark.usefixtures("unsafe_crypto")
def test_sealed_tables_are_joined(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_DATA_KEY", KEY)
    with make_vault(tmp_path / "made", data(), "prepared") as curator:
        text = "SELECT COUNT(*) AS n FROM visits JOIN bills ON patient = payer"
        assert len(curator.session("ana").sql(text, epsilon=1)) == 1
        with pytest.raises(SchemaError, match="not encrypted"):
            curator.add(next(iter(curator.tables.values())), data=_frame())


def _frame():
    return pa.table({"patient": [1], "age": [1], "ward": ["a"]})


@pytest.mark.usefixtures("unsafe_crypto")
def test_the_key_is_in_no_command_line_environment_error_or_repr(tmp_path, monkeypatch):
    with _sealed_vault(tmp_path / "made", monkeypatch) as curator:
        _asked(curator)
        engine = curator._warehouse.engine(("visits",))
        number = engine._own_holding().child.number
        data_key = DataKey.read(tmp_path)
        shown = [repr(data_key), str(data_key), repr(engine._order), repr(curator), repr(engine)]
        for name in ("cmdline", "environ"):
            shown.append(Path(f"/proc/{number}/{name}").read_bytes().decode(errors="replace"))
        engine.rows("SELECT 1")
        with pytest.raises(Unavailable):
            engine.rows("SELECT nonsense FROM duckdb_databases()")
        shown.append(engine.last_failure)
    broken = tmp_path / "broken-sealed.duckdb"
    broken.write_bytes(b"not a database at all" * 999)
    failing = DuckDB(broken, time_limit_seconds=30, key=data_key)
    with pytest.raises(Unavailable):
        failing.check()
    shown.append(failing.last_failure)
    assert not [text for text in shown if KEY in text or data_key.key in text]


@pytest.mark.usefixtures("unsafe_crypto")
def test_an_attach_that_quotes_its_statement_does_not_quote_the_key(tmp_path):
    data_key = DataKey.read(tmp_path, {"DISCREET_DATA_KEY": KEY})
    file = tmp_path / "x-sealed.duckdb"
    seen = []
    with pytest.raises(SchemaError):
        prepare(
            source=str(write_source(tmp_path, people())),
            select_sql="SELECT nonsense FROM source",
            target=file,
            on_failure=seen.append,
            key=DataKey(key=f"{data_key.key}' nonsense '"),
        )
    assert "(the key)" in seen[0]  # the engine did quote it
    assert data_key.key not in seen[0]
    assert not file.exists()


@pytest.mark.parametrize("key", ["short", "x" * 31, " " * 99])
def test_a_weak_key_is_refused_and_not_repeated(tmp_path, key):
    with pytest.raises(InvalidValue, match="the least is 32") as caught:
        DataKey.read(tmp_path, {"DISCREET_DATA_KEY": key})
    assert key.strip() == "" or key not in str(caught.value)


def test_a_key_file_is_private_and_not_in_the_vault(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    environment = {"DISCREET_DATA_KEY_FILE": str(file)}
    file.chmod(0o640)
    with pytest.raises(InvalidValue, match="chmod 600"):
        DataKey.read(vault, environment)
    file.chmod(0o600)
    assert DataKey.read(vault, environment) == DataKey.read(vault, {"DISCREET_DATA_KEY": KEY})
    with pytest.raises(InvalidValue, match="both set"):
        DataKey.read(vault, {**environment, "DISCREET_DATA_KEY": KEY})
    inside = vault / "key"
    inside.write_text(KEY)
    inside.chmod(0o600)
    with pytest.raises(InvalidValue, match="Keep it elsewhere"):
        DataKey.read(vault, {"DISCREET_DATA_KEY_FILE": str(inside)})
    with pytest.raises(DiscreetError, match="not a text that can be read"):
        DataKey.read(vault, {"DISCREET_DATA_KEY_FILE": str(tmp_path / "absent")})
