"""A pytest plugin that writes down which tests run which lines of some files, and how long each
test takes: `pytest -p mutation.lines` with MUTATION_LINES (a folder) and MUTATION_FILES (paths
separated by colons) in the environment. Every process of a parallel run writes a file of its own.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

_IMPORT = ""  # the context of lines that run before any test does


class Lines:
    """What one process has seen so far."""

    def __init__(self, folder: Path, files: list[str]) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = {}
        self._coverage = coverage.Coverage(
            data_file=None, include=files, config_file=False, messages=False
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Lines that run until the test is over belong to it."""
        self._coverage.switch_context(item.nodeid)
        outcome = yield
        self._coverage.switch_context(_IMPORT)
        return outcome

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds up the seconds of a test's three phases."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Writes the file of this process."""
        self._coverage.stop()
        data = self._coverage.get_data()
        lines = {name: data.contexts_by_lineno(name) for name in data.measured_files()}
        text = json.dumps({"lines": lines, "seconds": self._seconds})
        (self._folder / f"{os.getpid()}.json").write_text(text)


def pytest_configure(config: pytest.Config) -> None:
    """Begins to watch, in every process that runs tests."""
    folder = os.environ["MUTATION_LINES"]
    if not config.getoption("collectonly", default=False) and (
        hasattr(config, "workerinput") or not config.getoption("numprocesses", default=None)
    ):
        lines = Lines(Path(folder), os.environ["MUTATION_FILES"].split(":"))
        config.pluginmanager.register(lines, "mutation lines")
