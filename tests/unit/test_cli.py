"""The command line: exit status, messages, and that it stays a thin surface."""

import contextlib
import os
import pty
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import discreet
from discreet import cli, errors
from discreet.cli import application, shared
from support.command_line import run


def started(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from discreet.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_version():
    result = started("--version")
    assert (result.returncode, result.stdout) == (0, f"discreet {discreet.__version__}\n")


def test_asking_for_the_version_loads_nothing_heavy():
    script = "import sys, discreet.cli; print(*sys.modules)"
    listing = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not set(listing.stdout.split()) & {"duckdb", "numpy", "sqlglot", "vl_convert"}


@pytest.mark.parametrize("arguments", [["nothing"], ["demo", "--nothing"], ["demo", "extra"]])
def test_bad_input_is_status_2_and_says_so(arguments):
    result = started(*arguments)
    assert result.returncode == 2
    assert "nothing" in result.stderr or "extra" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_arguments_print_every_command():
    printed = CliRunner().invoke(cli.app, []).output
    names = typer.main.get_command(cli.app).commands
    custodian = {"add", "bounds", "grant", "import", "init", "inspect", "refresh"}
    proofs = {"attack", "audit"}
    services = {"monitor", "release", "survey", "synopsis", "synth", "verify-release"}
    server = {"account", "serve"}
    asked = {"demo", "describe", "explain", "ledger", "query", "tables", "transcript", "verify"}
    assert set(names) == custodian | proofs | services | server | asked
    assert [name for name in names if name not in printed] == []


def test_completion_can_be_installed():
    assert "--install-completion" in CliRunner().invoke(cli.app, ["--help"]).output


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.InvalidValue, 2),
        (errors.SchemaError, 2),
        (errors.BudgetExceeded, 1),
        (errors.UnprovableRequest, 1),
        (errors.UnsafeQuery, 1),
        (errors.Unavailable, 1),
        (errors.DiscreetError, 1),
    ],
)
def test_refusals_become_one_line_and_a_status(error, status, capsys):
    @shared.print_refusals
    def command() -> None:
        raise error("epsilon is -1; it must not be negative.")

    with pytest.raises(typer.Exit) as stop:
        command()
    assert stop.value.exit_code == status
    said = "discreet: epsilon is -1; it must not be negative."
    if error is errors.UnsafeQuery:
        said += " Nothing was run or charged."
    assert capsys.readouterr().err == f"{said}\n"


def test_a_file_that_cannot_be_written_is_bad_input(capsys):
    @shared.print_refusals
    def command() -> None:
        open("no/such/folder/file", "w").close()

    with pytest.raises(typer.Exit) as stop:
        command()
    assert stop.value.exit_code == 2
    assert capsys.readouterr().err == (
        "discreet: no/such/folder/file: No such file or directory.\n"
    )


def test_an_unexpected_error_shows_no_local_values():
    script = (
        "from discreet import cli, demo\n"
        "def broken(output, **options):\n"
        "    exact = 4711 + 1\n"
        "    raise RuntimeError('broken')\n"
        "demo.tour = broken\n"
        "cli.main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, "demo"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "RuntimeError: broken" in result.stderr
    assert "4712" not in result.stderr + result.stdout


@pytest.mark.parametrize(
    ("called", "found", "shown"),
    [
        (".venv/bin/discreet", None, ".venv/bin/discreet"),
        ("bin/discreet", "bin/discreet", "discreet"),
        ("pytest", None, "discreet"),
    ],
)
def test_printed_commands_are_called_as_this_one_was(called, found, shown, monkeypatch):
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(application.shutil, "which", lambda _: found)
    assert application._program() == shown


@pytest.mark.parametrize(
    "words",
    [
        ["ledger"],
        ["verify"],
        ["inspect", "visits"],
        ["refresh", "visits"],
        ["bounds", "visits", "age", "--as", "ana", "--epsilon", "1"],
        ["query", "SELECT COUNT(*) FROM visits", "--as", "ana", "--epsilon", "1"],
        ["explain", "SELECT COUNT(*) FROM visits", "--as", "ana", "--epsilon", "1"],
    ],
)
def test_a_mistyped_vault_is_refused_and_not_made(words, tmp_path):
    outcome = run(*words, "--vault", tmp_path / "nowhere")
    assert outcome.status == 2
    assert "there is no vault in" in outcome.err
    assert not (tmp_path / "nowhere").exists()


def test_the_variable_names_the_vault(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_VAULT", str(tmp_path / "elsewhere"))
    assert run("grant", "ana", "--epsilon", "1").status == 0
    assert (tmp_path / "elsewhere" / "vault.db").is_file()


def test_the_vault_is_in_this_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCREET_VAULT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run("grant", "ana", "--epsilon", "1").status == 0
    assert (tmp_path / "vault" / "vault.db").is_file()


PRESS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
sys.argv = ["discreet", "ledger"]
from discreet.cli import main
main()
"""


@pytest.mark.parametrize(
    "name",
    ["typer", "discreet.cli.application", "discreet.cli.commands.synth", "discreet.cli.pipes"],
)
def test_ctrl_c_while_it_is_loaded_ends_it_without_a_traceback(name):
    """A real signal, as each of several modules is looked for."""
    found = subprocess.run(
        [sys.executable, "-c", PRESS.format(name=name)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (130, "")
    assert found.stderr == "discreet: interrupted.\n"


WAITED = """
import time
from discreet.cli.shared import waiting
with waiting("fitting the answers"):
    time.sleep(0.3)
"""


def test_long_work_is_shown_to_a_terminal_and_to_nobody_else():
    """On standard error, and gone when it is done; a file or a pipe gets nothing."""
    command = [sys.executable, "-c", WAITED]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (piped.stdout, piped.stderr) == ("", "")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        surroundings = {**os.environ, "TERM": "xterm"}
        shown = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=theirs, check=True, env=surroundings
        )
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # the end of what a terminal was told
            while part := terminal.read(4096):
                said += part
    assert shown.stdout == b""
    assert b"fitting the answers" in said
