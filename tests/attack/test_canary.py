"""A canary in the data: its value, its exact sum, its text and its bytes are in no output, repr,
log, traceback, file outside the prepared rows, or crash of a run over every surface.
"""

import json
import logging
import os
import signal
import struct
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from discreet.curator import access
from discreet.curator.curator import Curator
from discreet.errors import DiscreetError, Unavailable
from discreet.ledger.history import Outcome
from support.command_line import run

pytestmark = pytest.mark.usefixtures("children_from_nothing")

VALUE = 7_318_507_264_913_551
PEOPLE = 7
SUM = PEOPLE * VALUE
TEXT = "c4n4ry-9f1c-77aa"
SCHEMA = """
[table]
name = "visits"
source = "{source}"
population = "patients"
unit = "patient"
rows_per_unit = 2
[columns]
age    = {{ type = "integer", lower = 0, upper = 110 }}
big    = {{ type = "integer", lower = 0, upper = 9007199254740992 }}
region = {{ type = "category", keys = ["north", "south"] }}
city   = {{ type = "category", keys = "private" }}
[budget]
epsilon = 60
delta = 1e-9
"""
SQL = [
    "SELECT SUM(big) AS s, AVG(big) AS a, COUNT(*) AS n FROM visits",
    "SELECT region, MAX(big) AS m, MEDIAN(big) AS q, VAR_POP(age) AS v FROM visits GROUP BY region",
    "SELECT city, COUNT(*) AS n, SUM(big) AS s FROM visits GROUP BY city",
    f"SELECT COUNT(*) AS n FROM visits WHERE big > {VALUE // 2} ORDER BY n",
    "WITH p AS (SELECT patient, MAX(big) AS m FROM visits GROUP BY patient) "
    "SELECT AVG(m) AS a, COUNT(*) AS n FROM p",
]
BAD = [
    "SELECT big FROM visits", "SELECT * FROM visits", "SELECT CAST(region AS INT) FROM visits",
    "SELECT SUM(big / age) FROM visits", "SELECT MODE(city) FROM visits", "DROP TABLE visits",
]  # fmt: skip


def secrets() -> list[bytes]:
    """How the canary could look: digits, with commas, as a float, as bytes of integers."""
    found = [TEXT.encode()]
    for number in (VALUE, SUM, VALUE * VALUE):
        found += [str(number).encode(), f"{number:,}".encode()]
        if number < 2**63:
            found += [number.to_bytes(8, "little"), struct.pack("<d", float(number))]
            found.append(f"{number:.13e}"[:14].encode())  # noise hits so many digits never
    return found


def leaks(seen: str | bytes) -> list[bytes]:
    """The forms of the canary that are in an output."""
    content = seen if isinstance(seen, bytes) else seen.encode()
    return [secret for secret in secrets() if secret in content]


def write(folder: Path) -> Path:
    """A source in which a few people hold the canary, one of them with its text everywhere."""
    lines = ["patient,age,big,region,city"]
    lines += [f"{n},{20 + n},{VALUE},north,a" for n in range(PEOPLE - 1)]
    lines += [f"{TEXT},50,{VALUE},{TEXT},{TEXT}"]
    source = folder / "visits.csv"
    source.write_text("\n".join(lines) + "\n")
    schema = folder / "visits.toml"
    schema.write_text(SCHEMA.format(source=source))
    return schema


def texts_of(error: BaseException) -> str:
    """All that an exception shows, its causes, contexts and the values in its frames included."""
    shown, current = [], error
    while current is not None:
        shown += [str(current), repr(current), repr(getattr(current, "__dict__", {}))]
        report = traceback.TracebackException.from_exception(current, capture_locals=True)
        shown += list(report.format())
        current = current.__cause__ or current.__context__
    return "\n".join(shown)


def stored(folder: Path) -> dict[str, list[bytes]]:
    """Files of a vault, prepared rows apart, in which the canary is."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name != "prepared":
            found[file.name] = leaks(file.read_bytes())
    return {name: secrets for name, secrets in found.items() if secrets}


def _everything_of(answer) -> list[str]:
    seen = [repr(answer), str(answer), answer._repr_html_(), repr(answer.to_dicts())]
    seen += [repr(answer.intervals()), repr(answer.receipt), repr(answer.plan), answer.plan.sql]
    seen += [answer.to_pandas().to_string(), str(answer.to_arrow()), str(answer.to_polars())]
    if len(answer):
        seen.append(json.dumps(answer.chart()))
    return seen


def test_python_shows_no_canary(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    schema, seen = write(tmp_path), []
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(schema)
        curator.grant("ana", epsilon=50, delta=1e-9)
        session = curator.session("ana")
        for text in SQL:
            seen += _everything_of(session.sql(text, epsilon=1))
        for text in BAD:
            with pytest.raises(DiscreetError) as caught:
                session.sql(text, epsilon=1)
            seen.append(texts_of(caught.value))
        seen += [repr(session.bounds("visits", "big", epsilon=1)), repr(session.transcript)]
        engine = curator._warehouse.engine(("visits",))
        parts = (curator, session, engine, curator._warehouse, curator._vault, curator.ledger)
        seen += [repr(part) for part in (*parts, curator.tables, session.remaining)]
        seen += [repr(curator.ledger.verify()), repr(curator._vault.catalogue.tables())]
    seen += [caplog.text, *capfd.readouterr()]
    assert len(seen) > 50
    assert [text for text in seen if leaks(text)] == []
    assert stored(tmp_path / "vault") == {}
    assert leaks((tmp_path / "visits.csv").read_bytes())  # it would be found


def test_the_command_line_shows_no_canary(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    schema, vault = write(tmp_path), tmp_path / "vault"
    outcomes = [
        run("init", tmp_path / "visits.csv", "--unit", "patient", "--output", tmp_path / "x")
    ]
    outcomes.append(run("add", schema, "--vault", vault))
    outcomes.append(run("grant", "ana", "--epsilon", 50, "--delta", "1e-9", "--vault", vault))
    price = ("--as", "ana", "--epsilon", 1, "--vault", vault)
    for text in SQL:
        for command in ("explain", "query"):
            outcomes += [run(command, text, *price), run(command, text, "--json", *price)]
    for text in BAD:
        outcomes += [run("query", text, *price), run("query", text, "--json", *price)]
    for command in (("ledger",), ("verify",), ("inspect", "visits")):
        outcomes += [run(*command, "--vault", vault), run(*command, "--json", "--vault", vault)]
    outcomes.append(run("refresh", "visits", "--vault", vault))
    assert sum(each.status == 0 for each in outcomes) >= 25
    assert [each for each in outcomes if leaks(each.out) or leaks(each.err)] == []
    assert not leaks(caplog.text)
    assert stored(vault) == {}


def _failing(curator, monkeypatch, how):
    """Make the next statement fail in a way that quotes rows."""
    if how == "engine":
        engine = curator._warehouse.engine(("visits",))
        real = type(engine).rows
        quoting = 'SELECT CAST("city" AS INTEGER) FROM "prepared" WHERE length("city") > 3'
        monkeypatch.setattr(type(engine), "rows", lambda self, _sql: real(self, quoting))
    else:

        def add_noise(_plan, rows, _bits):
            total = sum(row[0] for row in rows)
            raise ValueError(f"{TEXT}: {rows} make {total}")

        monkeypatch.setattr(access, "add_noise", add_noise)


@pytest.mark.parametrize("how", ["engine", "noise"])
def test_failures_that_quote_rows_show_no_canary(tmp_path, monkeypatch, caplog, how):
    caplog.set_level(logging.DEBUG)
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        curator.add(write(tmp_path))
        curator.grant("ana", epsilon=5, delta=1e-9)
        session = curator.session("ana")
        _failing(curator, monkeypatch, how)
        with pytest.raises(Unavailable) as caught:
            session.sql(SQL[0], epsilon=1)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert not leaks(texts_of(caught.value))
        (charged,) = session.transcript
        assert charged.outcome is Outcome.FAILURE
        assert not leaks(repr(charged))
        if how == "engine":  # the custodian's alone, and in no repr
            engine = curator._warehouse.engine(("visits",))
            assert TEXT in engine.last_failure
            assert not leaks(repr(engine))
    assert not leaks(caplog.text)
    assert stored(tmp_path / "vault") == {}


def test_a_source_that_cannot_be_prepared_shows_no_canary(tmp_path):
    """A custodian's errors go to logs, too; they name files and columns only."""
    schema = write(tmp_path)
    schema.write_text(schema.read_text().replace("upper = 110 }", 'upper = 110, null = "error" }'))
    source = tmp_path / "visits.csv"
    source.write_text(source.read_text() + f"{TEXT},{TEXT},{VALUE},{TEXT},{TEXT}\n")
    with (
        Curator.open(tmp_path / "vault", price_floor=0) as curator,
        pytest.raises(DiscreetError) as caught,
    ):
        curator.add(schema)
    assert not leaks(texts_of(caught.value))
    assert stored(tmp_path / "vault") == {}


CRASH = """
import os, signal, sys
from discreet.curator.curator import Curator
curator = Curator.open(sys.argv[1], price_floor=0)
session = curator.session("ana")
session.sql("SELECT SUM(big) AS s FROM visits", epsilon=1)
print(curator._warehouse.engine(("visits",))._own_holding().child.number, flush=True)
session.sql("SELECT SUM(big) AS s FROM visits WHERE age > 1", epsilon=1)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_crash_of_the_worker_leaves_no_file(tmp_path):
    """Crashed with core dumps allowed for its parent: the worker has switched off its own."""
    schema, vault = write(tmp_path), tmp_path / "vault"
    with Curator.open(vault, price_floor=0) as curator:
        curator.add(schema)
        curator.grant("ana", epsilon=50, delta=1e-9)
    here = tmp_path / "here"
    here.mkdir()
    allowing = 'ulimit -c unlimited 2>/dev/null; exec "$0" "$@"'
    process = subprocess.Popen(
        ["sh", "-c", allowing, sys.executable, "-c", CRASH, vault],
        cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    worker = int(process.stdout.readline())
    limits = Path(f"/proc/{worker}/limits").read_text()
    assert "Max core file size        0                    0" in limits
    # A process that is not dumpable belongs to root in /proc, and nobody may attach to it.
    assert Path(f"/proc/{worker}/mem").stat().st_uid == 0
    os.kill(worker, signal.SIGSEGV)
    deadline = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        state = Path(f"/proc/{worker}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.01)
    _, err = process.communicate(timeout=60)
    assert list(here.iterdir()) == []
    assert not leaks(err)
    assert stored(vault) == {}


def test_the_search_finds_a_planted_leak(tmp_path):
    assert leaks(f"the sum is {SUM:,}")
    assert leaks(f"{float(SUM)!r} and {SUM / 1e16:.15f}e16")
    assert leaks(b"..." + VALUE.to_bytes(8, "little"))
    assert not leaks("nothing to see: 7318507264913552")
    (tmp_path / "core").write_bytes(b"\0" + TEXT.encode())
    assert list(stored(tmp_path)) == ["core"]
    with pytest.raises(ValueError, match="a plain message") as caught:
        _frame_with([(SUM,)])
    assert leaks(texts_of(caught.value))  # values in frames are looked at


def _frame_with(rows):
    raise ValueError(f"a plain message about {len(rows)} rows")
