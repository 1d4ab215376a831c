"""Counts the statistical checks of a run, over all worker processes, against the false-alarm
budget of the whole suite. Examples of property tests have no time limit.
"""

from typing import Any

import pytest
from hypothesis import settings

from support import fit

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

_KEY = "statistical_checks"
_from_workers: list[int] = []


def _count() -> int:
    return len(fit.performed) + sum(_from_workers)


def pytest_sessionfinish(session: pytest.Session) -> None:
    workeroutput = getattr(session.config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput[_KEY] = len(fit.performed)
    elif _count() * fit.FALSE_ALARM > fit.SUITE_FALSE_ALARM:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _from_workers.append(getattr(node, "workeroutput", {}).get(_KEY, 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    count, limit = _count(), round(fit.SUITE_FALSE_ALARM / fit.FALSE_ALARM)
    verdict = "within" if count <= limit else "OVER"
    terminalreporter.write_line(
        f"{count} statistical checks: false alarm with probability at most "
        f"{count * fit.FALSE_ALARM:.1e}, {verdict} the suite's {fit.SUITE_FALSE_ALARM:.0e}"
    )
