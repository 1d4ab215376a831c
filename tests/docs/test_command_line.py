"""Every command explains itself."""

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli import app

COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_has_help(name):
    command = COMMANDS[name]
    assert command.help
    assert len(command.help) > 20
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert name in result.stdout


def test_a_traceback_never_shows_local_values():
    assert app.pretty_exceptions_enable is False
    assert app.pretty_exceptions_show_locals is False
