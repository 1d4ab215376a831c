"""Where the command line begins. Loads nothing itself, so that Ctrl-C while the rest is loaded ends
it like Ctrl-C in a command.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and set its exit status; a reader who stops reading
    does not change it.

    >>> import sys, unittest.mock
    >>> with unittest.mock.patch.object(sys, "argv", ["discreet", "--version"]):
    ...     try:
    ...         main()
    ...     except SystemExit as done:
    ...         print(done.code)
    discreet 0.1.0
    0
    """
    try:
        from discreet.cli.application import app
        from discreet.cli.pipes import patient_output

        patient_output()
    except KeyboardInterrupt:
        sys.stderr.write("discreet: interrupted.\n")
        sys.exit(130)
    app()
