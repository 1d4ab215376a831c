"""The command line: reads arguments, prints, sets the exit status. Holds no privacy logic."""

from discreet.cli.application import app, main

__all__ = ["app", "main"]
