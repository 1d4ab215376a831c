"""The command line: reads arguments, prints, sets the exit status. Holds no privacy logic.
The commands are loaded when they are first named: `main` runs before them.
"""

from typing import Any

from discreet.cli.entry import main

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """Load the application when it is first named."""
    if name == "app":
        from discreet.cli.application import app

        return app
    raise AttributeError(f"module 'discreet.cli' has no attribute {name!r}")
