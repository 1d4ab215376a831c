"""A pytest plugin: `pytest -p discreet.audit.plugin`, or `pytest_plugins` in a conftest. Gives
tests the fixture `assert_private` and prints the verdicts at the end of the run.
"""

from collections.abc import Callable
from typing import Any

import pytest

from discreet.audit.testing import assert_private as check
from discreet.audit.verdict import Verdict

__all__ = ["assert_private", "pytest_terminal_summary"]

_VERDICTS = pytest.StashKey[list[tuple[str, Verdict]]]()


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> Callable[..., Verdict]:
    """`discreet.audit.assert_private`, with the verdict kept for the summary.

    Passing is no proof.
    """

    def check_and_keep(mechanism: Callable[..., Any], **named: Any) -> Verdict:
        verdict = check(mechanism, **named)
        verdicts = request.config.stash.setdefault(_VERDICTS, [])
        verdicts.append((request.node.nodeid, verdict))
        return verdict

    return check_and_keep


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """One line for each audit that found nothing: what it proved and what was claimed.

    >>> pytest_terminal_summary.__module__
    'discreet.audit.plugin'
    """
    verdicts = config.stash.get(_VERDICTS, [])
    if verdicts:
        terminalreporter.section("privacy audits")
    for name, verdict in verdicts:
        terminalreporter.write_line(
            f"{name}: epsilon at least {verdict.epsilon:.3g}, "
            f"{float(verdict.strongest.statement.epsilon):.3g} claimed"
        )
