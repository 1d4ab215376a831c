"""The commands of docs/streams.md run on a small clinic, and its tables are those of the code."""

import re
import shlex

import pytest

from discreet.loss import Relation, Sensitivity
from discreet.streams import Sparse, sparse_accuracy
from support.command_line import write_clinic
from support.surface import ROOT

PAGE = (ROOT / "docs" / "streams.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))


@pytest.fixture
def clinic(tmp_path):
    made = write_clinic(tmp_path)
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ana", "--epsilon", "20").status == 0
    return made


def test_the_commands_of_the_page_run(clinic):
    lines = re.findall(r"^    discreet (monitor .*)$", SECTIONS["Monitors"], flags=re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        words = shlex.split(line.replace("--every 3600", "--every 0 --checks 2"))
        outcome = clinic.run(*words)
        assert outcome.status == 0, outcome.err


def test_the_table_of_errors_is_the_one_of_the_code():
    one = Sensitivity.single(1)
    for alarms in (1, 10):
        words = {"epsilon": 1, "alarms": alarms, "sensitivity": one}
        rows = (
            sparse_accuracy(queries=1000, failure=0.05, **words),
            Sparse.textbook(**words).error(0.95, queries=1000),
            Sparse.of(**words).error(0.95, queries=1000),
            Sparse.monotone(**words, relation=Relation.ADD_REMOVE).error(0.95, queries=1000),
        )
        assert f"| {alarms} | {' | '.join(f'{each:g}' for each in rows)} |" in PAGE
