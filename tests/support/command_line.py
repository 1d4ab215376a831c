"""A small clinic in a vault and a way to run commands on it in this process."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from discreet.cli import app
from support import canary

SCHEMA = """
[table]
name = "visits"
source = "visits.csv"
population = "patients"
unit = "patient"
rows_per_unit = 2
[columns]
age    = { type = "integer", lower = 0, upper = 50 }
region = { type = "category", keys = ["north", "south"] }
day    = { type = "date", lower = 2024-01-01, upper = 2024-12-31 }
[budget]
epsilon = 30
"""

SURROUNDINGS = {"COLUMNS": "100", "DISCREET_PRICE_FLOOR": "0"}


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_stranger)


def _stranger(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@dataclass(frozen=True)
class Clinic:
    """A folder with data and a schema, and the vault of its custodian."""

    folder: Path

    @property
    def vault(self) -> Path:
        return self.folder / "vault"

    @property
    def schema(self) -> Path:
        return self.folder / "visits.toml"

    @property
    def source(self) -> Path:
        return self.folder / "visits.csv"

    def run(self, *words: object) -> Outcome:
        return run(*words, "--vault", self.vault)


def run(*words: object) -> Outcome:
    """Run the command line in this process; an unexpected error is raised, not reported."""
    result = CliRunner(env=SURROUNDINGS).invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    canary.check(result.stdout, result.stderr)
    return Outcome(result.exit_code, result.stdout, result.stderr)


def write_clinic(folder: Path, *, patients: int = 40) -> Clinic:
    """Data and schema of a clinic with three visits of every patient; two of them count."""
    lines = ["patient,age,region,day,note"]
    for patient in range(patients):
        for visit in range(3):
            region = "north" if patient % 4 else "south"
            known = f"{canary.PERSON + patient},{patient + 20},{region},2024-0{visit + 1}-15"
            lines.append(f"{known},{canary.TEXT}")
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    (folder / "visits.toml").write_text(SCHEMA)
    return Clinic(folder)


def copied_clinic(prepared: Clinic, folder: Path) -> Clinic:
    """A clinic of a test's own, with what was done at another one; sources stay where they were."""
    shutil.copytree(prepared.folder, folder, dirs_exist_ok=True)
    return Clinic(folder)
