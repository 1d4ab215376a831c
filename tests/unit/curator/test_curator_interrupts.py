"""Ctrl-C at every moment of a question: before the charge it stops and nothing is spent; after it
the answer is finished and stored, and the next ask is free. The signals are real ones.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

import pytest

from discreet.cli.commands import analyst, bounds, synth
from discreet.curator import interrupts
from discreet.curator import session as session_module
from discreet.curator.curator import Curator
from discreet.curator.interrupts import Interrupted, charging, finishing
from discreet.engines.duckdb import engine as duckdb
from discreet.errors import BudgetExceeded
from discreet.estimates.blocks import sample_and_aggregate
from discreet.estimates.median import median, proposed_median
from discreet.estimates.robust import clustered, location, mode, spread
from discreet.ledger import ledger as sqlite
from discreet.ledger import releases, requests
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.release import Declared, Release
from discreet.robust.blocks.summaries import BlockMean
from discreet.streams import Counter, Holdout, Joint, Monitor
from support.command_line import copied_clinic, run, write_clinic

QUESTION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@pytest.fixture(autouse=True)
def interruptible():
    """As in a program that nobody has told to handle Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def prepared_clinic(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("prepared"))
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ann", "--epsilon", "20").status == 0
    return made


@pytest.fixture
def clinic(prepared_clinic, tmp_path: Path):
    return copied_clinic(prepared_clinic, tmp_path)


def press(times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)


def pressing(monkeypatch, place: type, name: str, *, after: bool, times: int = 1) -> None:
    """Press Ctrl-C as a method begins, or when it has done its work."""
    work = getattr(place, name)

    def pressed(*arguments, **options):
        if not after:
            press(times)
        found = work(*arguments, **options)
        if after:
            press(times)
        return found

    monkeypatch.setattr(place, name, pressed)


LATER = [
    (sqlite.Ledger, "charge", False),
    (sqlite.Ledger, "charge", True),
    (duckdb.DuckDB, "rows", False),
    (duckdb.DuckDB, "rows", True),
    (requests.Requests, "settle", False),
    (requests.Requests, "settle", True),
]


@pytest.mark.parametrize(("place", "name", "after"), LATER)
def test_from_the_charge_on_the_answer_is_finished(clinic, monkeypatch, place, name, after, capfd):
    with Curator.open(clinic.vault) as curator:
        session = curator.session("ann")
        with monkeypatch.context() as patch:
            pressing(patch, place, name, after=after)
            with pytest.raises(Interrupted, match="finished and stored"):
                session.sql(QUESTION, epsilon=1)
        assert "finished and kept first" in capfd.readouterr().err
        assert session.remaining.epsilon == 19
        assert session.sql(QUESTION, epsilon=1).free
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_before_the_charge_it_stops(clinic, monkeypatch):
    with Curator.open(clinic.vault) as curator:
        session = curator.session("ann")
        with monkeypatch.context() as patch:
            pressing(patch, releases.Releases, "find", after=True)
            with pytest.raises(KeyboardInterrupt) as stopped:
                session.sql(QUESTION, epsilon=1)
        assert not isinstance(stopped.value, Interrupted)
        assert session.remaining.epsilon == 20
        assert not session.sql(QUESTION, epsilon=1).free


def test_a_second_time_stops_it_and_the_charge_stays(clinic, monkeypatch):
    with Curator.open(clinic.vault) as curator:
        session = curator.session("ann")
        with monkeypatch.context() as patch:
            pressing(patch, duckdb.DuckDB, "rows", after=False, times=2)
            with pytest.raises(KeyboardInterrupt) as stopped:
                session.sql(QUESTION, epsilon=1)
        assert not isinstance(stopped.value, Interrupted)
        assert session.remaining.epsilon == 19


def test_a_refused_charge_is_said_as_always(clinic, monkeypatch):
    with Curator.open(clinic.vault) as curator:
        session = curator.session("ann")
        pressing(monkeypatch, sqlite.Ledger, "charge", after=False)
        with pytest.raises(BudgetExceeded):
            session.sql(QUESTION, epsilon=25)


def test_the_command_says_so(clinic, monkeypatch):
    words = ("query", QUESTION, "--as", "ann", "--epsilon", "1")
    with monkeypatch.context() as patch:
        pressing(patch, duckdb.DuckDB, "rows", after=True)
        stopped = clinic.run(*words)
    assert stopped.status == 130
    assert "finished and stored. The same question again is free." in stopped.err
    again = clinic.run(*words, "--json")
    assert (again.status, again.json["free"]) == (0, True)


def test_a_command_that_was_stopped_before_the_charge_says_so(clinic, monkeypatch):
    pressing(monkeypatch, releases.Releases, "find", after=False)
    stopped = clinic.run("query", QUESTION, "--as", "ann", "--epsilon", "1")
    assert (stopped.status, stopped.err) == (130, "discreet: interrupted.\n")


PAYING = {
    "query": (("query", QUESTION, "--epsilon", "1"), analyst, "_print_answer"),
    "query in JSON": (("query", QUESTION, "--epsilon", "1", "--json"), analyst, "print_json"),
    "a chart": (("query", QUESTION, "--epsilon", "1", "--plot", "a.svg"), analyst, "_draw"),
    "bounds": (("bounds", "visits", "age", "--epsilon", "1"), bounds, "_print"),
    "synth": (
        ("synth", "visits", "--epsilon", "1", "--rows", "5", "--output", "made.csv",
         "--column", "region", "--method", "mwem"), synth, "_values",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAYING)
def test_while_an_answer_is_shown_it_stops_and_says_that_it_is_kept(clinic, monkeypatch, name):
    """As it is printed or drawn; the same command again, as the message says, costs nothing."""
    monkeypatch.chdir(clinic.folder)
    words, place, work = PAYING[name]
    with monkeypatch.context() as patch:
        pressing(patch, place, work, after=False)
        stopped = clinic.run(*words, "--as", "ann")
    assert stopped.status == 130
    assert "finished and stored. The same" in stopped.err
    assert stopped.err.endswith("again is free.\n")
    with Curator.open(clinic.vault) as curator:
        left = curator.session("ann").remaining.epsilon
    assert left == 19
    assert clinic.run(*words, "--as", "ann").status == 0
    with Curator.open(clinic.vault) as curator:
        assert curator.session("ann").remaining.epsilon == left


@pytest.mark.parametrize("before", [(), ("--epsilon", "25")])
def test_where_nothing_was_charged_it_says_nothing_of_a_charge(clinic, monkeypatch, before):
    """A free answer, and one command after another in a process."""
    words = ("query", QUESTION, "--as", "ann")
    assert clinic.run(*words, "--epsilon", "1").status == 0
    if before:
        assert clinic.run(*words, *before).status == 1
    pressing(monkeypatch, analyst, "_print_answer", after=False)
    stopped = clinic.run(*words, "--epsilon", "1")
    assert (stopped.status, stopped.err) == (130, "discreet: interrupted.\n")


def test_after_a_bought_count_the_question_is_not_said_to_be_free(clinic, monkeypatch):
    """An average for an error buys a count first: that is kept, the average is not paid for."""
    words = ("query", "SELECT AVG(age) AS a FROM visits", "--error", "20", "--as", "ann")
    with monkeypatch.context() as patch:
        pressing(patch, session_module, "assume_count", after=False)
        stopped = clinic.run(*words)
    assert stopped.status == 130
    assert stopped.err == f"discreet: {interrupts.STORED}\n"
    assert clinic.run(*words, "--json").json["free"] is False


def test_other_threads_and_other_handlers_are_left_alone():
    taken = []
    signal.signal(signal.SIGINT, lambda *_: taken.append(1))
    with finishing():
        charging()
        press()
    assert taken == [1]
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def elsewhere() -> None:
        with finishing():
            charging()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    with pytest.raises(KeyboardInterrupt) as stopped, finishing():
        press()
    assert not isinstance(stopped.value, Interrupted)


def test_a_public_table_is_added_with_a_word(tmp_path):
    (tmp_path / "codes.csv").write_text("code,zone\na,1\nb,2\n")
    schema = tmp_path / "codes.toml"
    schema.write_text(
        '[table]\nname = "codes"\nsource = "codes.csv"\nkind = "public"\nkey = "code"\n'
        '[columns]\ncode = { type = "category", keys = ["a", "b"] }\n'
    )
    added = run("add", schema, "--vault", tmp_path / "vault")
    assert (added.status, added.err) == (0, "")
    assert "Public: it protects nobody, costs nothing" in added.out


def test_a_deleted_vault_can_be_started_anew(clinic):
    import shutil

    shutil.rmtree(clinic.vault)
    for words in (("verify",), ("ledger", "adopt", "--why", "begun anew"), ("ledger",)):
        missing = clinic.run(*words)
        assert missing.status == 2
        assert f"but {clinic.vault}.seal holds the seal of one" in missing.err
        here = f" --vault {clinic.vault}`"
        assert f"`discreet add SCHEMA{here} makes an empty vault and is refused" in missing.err
        assert f"`discreet ledger adopt --why TEXT{here} then starts anew" in missing.err
        assert not clinic.vault.exists()
    refused = clinic.run("add", clinic.schema)
    assert refused.status == 1
    assert "the folder 'vault.seal' holds the seal of one with 2 entries" in refused.err
    assert "discreet ledger adopt --why TEXT" in refused.err
    assert clinic.run("ledger", "adopt", "--why", "begun anew").status == 0
    assert clinic.run("add", clinic.schema).status == 0
    assert clinic.run("grant", "ann", "--epsilon", "20").status == 0
    asked = clinic.run("query", QUESTION, "--as", "ann", "--epsilon", "1", "--json")
    assert (asked.status, asked.json["free"]) == (0, False)
    assert clinic.run("verify").status == 0


RELEASE = """
[release]
table = "visits"
title = "Visits by region"
epsilon = 1
[[tables]]
kind = "marginals"
name = "by"
columns = ["region"]
orders = [1]
"""


def test_a_release_is_written_although_it_was_interrupted(clinic, monkeypatch, tmp_path):
    (tmp_path / "release.toml").write_text(RELEASE)
    words = ("release", tmp_path / "release.toml", "--as", "ann", "--output", tmp_path / "out")
    pressing(monkeypatch, duckdb.DuckDB, "rows", after=True)
    stopped = clinic.run(*words)
    assert stopped.status == 130, stopped.err
    assert "what it paid for is finished and stored.\n" in stopped.err
    assert "is free" not in stopped.err
    assert run("verify-release", tmp_path / "out").status == 0


def test_ctrl_c_as_it_begins_leaves_nothing_behind(monkeypatch):
    real = signal.signal

    def pressed(number, handler):
        found = real(number, handler)
        if handler is not signal.default_int_handler:
            raise KeyboardInterrupt
        return found

    with monkeypatch.context() as patch:
        patch.setattr(signal, "signal", pressed)
        with pytest.raises(KeyboardInterrupt), finishing():
            raise AssertionError("it did not begin")
    assert interrupts._turns == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_notice_never_fails(monkeypatch):
    def gone(*_):
        raise BrokenPipeError

    def work():
        with finishing():
            charging()
            press()

    monkeypatch.setattr(os, "write", gone)
    with pytest.raises(Interrupted):
        work()


AGE = {"table": "visits", "column": "age"}
COUNT = "SELECT COUNT(*) AS n FROM visits"


def rows_of_a_block(rows):
    return len(rows)


def _blocks(curator):
    return sample_and_aggregate(
        curator, "ann", "visits", ["age"], rows_of_a_block, blocks=4,
        lattice=Lattice(lower=0, upper=100, step=1), summary=BlockMean(price=Pure(epsilon=1)),
    )  # fmt: skip


def _holdout(session):
    made = Holdout.open(session, table="visits", name="h", threshold=1, overfits=2, epsilon=1)
    return lambda: made.mean(COUNT, training=1)


def _release(session):
    by_region = Declared("marginals", "by_region", {"columns": ["region"], "orders": [1]})
    release = Release(title="t", table="visits", epsilon=1, tables=(by_region,))
    return lambda: release.plan(session).run()


# What is stored nowhere goes with the interruption.
HANDED = {
    "spread": lambda s, _: lambda: spread(s, **AGE, epsilon=1),
    "location": lambda s, _: lambda: location(s, **AGE, epsilon=1),
    "clustered": lambda s, _: lambda: clustered(s, **AGE, clusters=1, width=9, epsilon=1),
    "mode": lambda s, _: lambda: mode(s, "visits", "region", epsilon=1),
    "proposed median": lambda s, _: lambda: proposed_median(s, **AGE, within=5, epsilon=1),
    "sample and aggregate": lambda _, c: lambda: _blocks(c),
    "holdout": lambda s, _: _holdout(s),
    "release": lambda s, _: _release(s),
}


def _monitor(session):
    made = Monitor.open(session, COUNT, name="m", threshold=10**9, epsilon=1)
    return made.check, lambda: made.values()["checks"] == 1


def _counter(session):
    sql = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
    made = Counter.open(session, sql, name="c", epsilon=1, versions=1)
    return lambda: made.advance(upto=date(2024, 4, 1)), lambda: len(made.points) > 0


def _joint(session):
    made = Joint.open(session, table="visits", name="j", epsilon=1, sensitivity=100)
    again = []

    def ask():
        again.append(made.ask(COUNT))
        return again[-1]

    return ask, lambda: ask() == ask()


# What is stored is there afterwards, and free.
KEPT = {
    "monitor": _monitor, "counter": _counter, "joint": _joint,
    "median": lambda s: (lambda: median(s, **AGE, epsilon=1), lambda: True),
}  # fmt: skip


@pytest.fixture(scope="module")
def prepared_vault(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("prepared"))
    made.schema.write_text(made.schema.read_text() + "delta = 1e-6\n")
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ann", "--epsilon", "20", "--delta", "1e-6").status == 0
    return made


@pytest.fixture
def curator(prepared_vault, tmp_path):
    with Curator.open(copied_clinic(prepared_vault, tmp_path).vault) as curator:
        yield curator


# Blocks start several processes: one of their two moments is slow.
PRESSED = [
    pytest.param(name, after, marks=pytest.mark.slow("kills and processes"))
    if (name, after) == ("sample and aggregate", False)
    else (name, after)
    for name in HANDED
    for after in (False, True)
]


@pytest.mark.parametrize(("name", "after"), PRESSED)
def test_what_is_stored_nowhere_is_handed_over(curator, monkeypatch, name, after, capfd):
    """Pressed as the engine begins and when it has ended: the answer is in the exception."""
    session = curator.session("ann")
    work = HANDED[name](session, curator)
    kind = type(work())
    paid = len(session.history())
    with monkeypatch.context() as patch:
        pressing(patch, duckdb.DuckDB, "rows", after=after)
        with pytest.raises(Interrupted, match=r"take it from this exception: its `answer`") as stop:
            work()
    assert "finished and kept first" in capfd.readouterr().err
    assert type(stop.value.answer) is kind
    assert len(session.history()) == paid + (name != "holdout")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_what_services_were_paid_for_is_kept(curator, monkeypatch, name, after):
    session = curator.session("ann")
    work, kept = KEPT[name](session)
    pressed = []
    with monkeypatch.context() as patch:
        pressing(patch, duckdb.DuckDB, "rows", after=after)
        try:
            work()
        except Interrupted as stop:
            pressed.append(str(stop))
    assert len(pressed) == 1
    assert "finished and stored" in pressed[0]
    paid = len(session.history())
    assert kept()
    if name in ("median", "joint"):
        work()
    assert len(session.history()) == paid


SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {folder!r})
from blocks import slow
from discreet.curator.interrupts import Interrupted
from discreet.estimates.blocks import sample_and_aggregate
from discreet.curator.curator import Curator
from discreet.loss import Pure
from discreet.mechanisms.additive.lattice import Lattice
from discreet.robust.blocks.summaries import BlockMean

if __name__ == "__main__":
    with Curator.open({vault!r}) as curator:
        try:
            sample_and_aggregate(
                curator, "ann", "visits", ["age"], slow, blocks=4,
                lattice=Lattice(lower=0, upper=100, step=1),
                summary=BlockMean(price=Pure(epsilon=1)),
            )
        except Interrupted as stop:
            print("handed over", stop.answer.cost)
"""
SLOW = """
import time
from datetime import date
from pathlib import Path

def slow(rows):
    Path({mark!r}).touch()
    while not Path({go!r}).exists():
        time.sleep(0.01)
    return len(rows)
"""


@pytest.mark.slow("kills and processes")
def test_blocks_go_on_when_a_terminal_interrupts_all_processes(curator, tmp_path):
    """Ctrl-C of a terminal reaches the whole group: the blocks that are paid for are finished."""
    curator.close()
    mark, go = tmp_path / "begun", tmp_path / "go"
    (tmp_path / "blocks.py").write_text(SLOW.format(mark=str(mark), go=str(go)))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(tmp_path), vault=str(tmp_path / "vault")))
    with subprocess.Popen(
        [sys.executable, str(script)], start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        while not mark.exists() and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        go.touch()
        out, err = process.communicate()
    assert (process.returncode, err.count("Traceback")) == (0, 0), err
    assert out.startswith("handed over Pure")
    assert "finished and kept first" in err
