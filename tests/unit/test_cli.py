"""The command line: exit status, messages, and that it stays a thin surface."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import discreet
from discreet import cli
from discreet.errors import BudgetExceeded, InvalidValue, Unavailable, UnprovableRequest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from discreet.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"discreet {discreet.__version__}\n")


@pytest.mark.parametrize("arguments", [["nothing"], ["demo", "--nothing"], ["demo", "extra"]])
def test_bad_input_is_status_2_and_says_so(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "nothing" in result.stderr or "extra" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_arguments_print_the_commands():
    result = CliRunner().invoke(cli.app, [])
    assert "demo" in result.output


@pytest.mark.parametrize(
    ("error", "status"),
    [(InvalidValue, 2), (BudgetExceeded, 1), (UnprovableRequest, 1), (Unavailable, 1)],
)
def test_refusals_become_one_line_and_a_status(error, status, monkeypatch, capsys):
    def refuse() -> None:
        raise error("epsilon is -1; it must not be negative.")

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == status
    assert capsys.readouterr().err == "discreet: epsilon is -1; it must not be negative.\n"


def test_an_unexpected_error_shows_no_local_values():
    script = (
        "from discreet import cli, demo\n"
        "def broken(output):\n"
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
