"""Every command with a reader who has gone: no traceback, its own status, its work done."""

import json
import os
import subprocess
import sys

import pytest
import typer

from discreet.cli import app
from discreet.curator.curator import Curator
from support.command_line import SCHEMA

pytestmark = pytest.mark.slow("kills and processes")

SQL = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
ANA = ("--as", "ana")

RUNS = [  # in order, in one folder; the status each has with a reader
    (("--version",), 0),
    (("init", "visits.csv", "--unit", "patient"), 0),
    (("add", "schema.toml"), 0),
    (("grant", "ana", "--epsilon", "9"), 0),
    (("explain", SQL, *ANA, "--epsilon", "0.5"), 0),
    (("query", SQL, *ANA, "--epsilon", "0.5"), 0),
    (("query", SQL, *ANA, "--epsilon", "0.25", "--json"), 0),
    (("query", "SELECT age FROM visits", *ANA, "--epsilon", "0.5"), 1),
    (("query", SQL, *ANA, "--epsilon", "99"), 1),
    (("query", SQL, *ANA, "--epsilon", "nan"), 2),
    (("bounds", "visits", "age", *ANA, "--epsilon", "0.5"), 0),
    (("inspect", "visits"), 0),
    (("refresh", "visits"), 0),
    (("monitor", "new", "m", "SELECT COUNT(*) AS n FROM visits", *ANA, "--threshold", "9999",
      "--epsilon", "1"), 0),
    (("monitor", "check", "m", *ANA), 0),
    (("monitor", "run", "m", *ANA, "--every", "0"), 0),  # it would never end
    (("monitor", "renew", "m", *ANA), 2),
    (("monitor", "list"), 0),
    (("synopsis", "open", "s", "visits", "age", *ANA, "--epsilon", "1", "--alpha", "0.1"), 1),
    (("synopsis", "query", "s", SQL, *ANA), 2),
    (("synopsis", "download", "s", "s.npz", *ANA), 2),
    (("release", "absent.toml"), 2),
    (("verify-release", "absent"), 2),
    (("synth", "absent", "--epsilon", "1", "--rows", "9", "--output", "x.csv"), 2),
    (("import", "absent.yml"), 2),
    (("survey", "new", "survey.toml"), 0),
    (("survey", "simulate", "survey.toml"), 0),
    (("survey", "invite", "--people", "3", "--output", "codes.txt"), 0),
    (("survey", "collect", "absent.toml"), 2),
    (("survey", "report", "absent.toml"), 2),
    (("account", "add", "ana"), 0),
    (("account", "list"), 0),
    (("account", "revoke", "ana"), 0),
    (("attack", "absent"), 2),
    (("audit", "absent"), 2),
    (("serve", "--port", "-1"), 2),
    (("demo", "--output", "visits.csv"), 2),
    (("verify",), 0),
    (("tables",), 0),
    (("describe", "visits"), 0),
    (("transcript", *ANA), 0),
    (("ledger", "amend", "analyst", "absent", "--epsilon", "1", "--why", "a test"), 2),
    (("ledger",), 0),
    (("ledger", "--json"), 0),
    (("ledger", "adopt", "--why", "a test"), 2),  # it is sound
    (("ledger", "amend", "analyst", "ana", "--epsilon", "9", "--why", "a test"), 0),
    (("tables",), 0),
    (("describe", "visits"), 0),
    (("transcript", *ANA), 0),
    (("no-such-command",), 2),
]  # fmt: skip

# One process that has loaded everything and runs each command in a copy of itself, whose output
# goes to a pipe that nobody reads, or its error output too.
SCRIPT = """
import json, os, sys
import discreet.cli, discreet.curator.curator, discreet.streams.monitor.monitor
import discreet.server.accounts
import discreet.demo, discreet.streams.synopsis.synopsis

def run(words, both):
    said = os.open("said.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    if (child := os.fork()) == 0:
        reader, writer = os.pipe()
        os.close(reader)
        os.dup2(writer, 1)
        os.dup2(writer if both else said, 2)
        return None
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open("said.txt", encoding="utf-8") as file:
        return [status, file.read()]

outcomes = []
for words, both in json.loads(sys.argv[1]):
    if (outcome := run(words, both)) is None:
        sys.argv = ["discreet", *words]
        try:
            discreet.cli.main()
        except SystemExit as done:
            if both:
                raise  # through the end of the interpreter, which flushes and is slow
            sys.stdout.flush()
            os._exit(done.code or 0)
    outcomes.append(outcome)
print(json.dumps(outcomes))
"""


def leaves(command, words=()):
    """Every command of the application, with the words that call it."""
    inside = getattr(command, "commands", {})
    if not inside or getattr(command, "invoke_without_command", False):
        yield words
    for name, each in inside.items():
        yield from leaves(each, (*words, name))


def broken(folder, runs):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(runs)],
        cwd=folder,
        env={**os.environ, "DISCREET_PRICE_FLOOR": "0"},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def quiet(said):
    return not any(word in said for word in ("Traceback", "BrokenPipe", "Broken pipe", "Errno 32"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pipes")
    rows = [f"{n // 2},{n % 50},{'north' if n % 3 else 'south'},2024-01-01" for n in range(60)]
    (made / "visits.csv").write_text("\n".join(["patient,age,region,day", *rows]))
    (made / "schema.toml").write_text(SCHEMA)
    return made


def test_every_command_ends_as_with_a_reader(folder):
    called = {words for words, _ in RUNS}
    for leaf in leaves(typer.main.get_command(app)):
        assert any(words[: len(leaf)] == leaf for words in called), leaf
    outcomes = broken(folder, [(words, False) for words, _ in RUNS])
    found = [
        (words, status, said)
        for (words, wanted), (status, said) in zip(RUNS, outcomes, strict=True)
        if status != wanted or not quiet(said)
    ]
    assert found == []
    with Curator.open(folder / "vault", price_floor=0) as curator:  # and its work is done
        assert len(curator.session("ana").transcript) == 4  # a monitor is one
        assert float(curator.ledger.account("analyst", "ana").spent) == 2.25
    assert (folder / "survey.toml").exists()


def test_help_ends_well_whoever_stops_reading(folder):
    groups = ["ledger", "monitor", "survey", "synopsis", "account", "query"]
    runs = [(("--help",), True), *(((name, "--help"), True) for name in groups)]
    runs.append((("query", SQL, *ANA, "--epsilon", "nan"), True))
    outcomes = broken(folder, runs)
    assert [status for status, _ in outcomes] == [0] * (len(runs) - 1) + [2]
    assert all(quiet(said) for _, said in outcomes)
