"""A vault that the first version made opens, verifies, gives its answers again for free and goes on
with its services. `tests/fixtures/build_vault.py` says how it was made.
"""

import importlib.util
import json
import tarfile
from datetime import date
from pathlib import Path

import pytest

from discreet.curator.curator import Curator
from discreet.release import synthesize
from discreet.streams import Counter, Holdout, Joint, Monitor, Synopsis

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def _builder():
    described = importlib.util.spec_from_file_location("build_vault", FIXTURES / "build_vault.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


BUILD = _builder()


@pytest.fixture
def earlier(tmp_path):
    """The curator of the earlier vault, and what it said then."""
    with tarfile.open(FIXTURES / "vault-0.1.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    for path in (tmp_path / "vault", *(tmp_path / "vault").rglob("*"), tmp_path / "vault.seal"):
        path.chmod(0o700 if path.is_dir() else 0o600)  # the filter makes folders open to all
    with Curator.open(tmp_path / "vault", price_floor=0) as curator:
        yield curator, json.loads((tmp_path / "said.json").read_text())


def _standing(curator):
    spent = [[str(each.holder), each.name, str(each.spent)] for each in curator.ledger.accounts()]
    return len(curator.ledger.entries()), spent


def test_it_verifies_and_gives_every_answer_again_for_free(earlier):
    curator, said = earlier
    assert curator.ledger.verify().sound
    assert _standing(curator) == (said["entries"], said["spent"])
    session = curator.session("ana")
    for (sql, price), before in zip(BUILD.QUESTIONS, said["answers"], strict=True):
        answer = session.sql(sql, **price)
        assert answer.free, sql
        assert BUILD.said(answer) == before
    sql, price = BUILD.QUESTIONS[0]
    assert BUILD.said(curator.session("pure").sql(sql, **price)) == said["pure"]
    assert _standing(curator) == (said["entries"], said["spent"])


def test_services_are_known_again_by_their_settings_and_cost_nothing_more(earlier):
    curator, said = earlier
    session, pure = curator.session("ana"), curator.session("pure")
    for name in ("named", None):
        monitor = Monitor.open(
            session, BUILD.COUNT, threshold=100_000, alarms=2, epsilon=2, numbers=0.25, name=name
        )
        assert monitor.name == said[f"monitor {name}"]
        assert monitor.check().above is False
    monitor = Monitor.open(pure, BUILD.COUNT, threshold=-100_000, epsilon=2)
    assert [monitor.name, len(monitor.alarms)] == said["pure monitor"]
    for name in ("counted", None):
        counter = Counter.open(session, BUILD.MONTHS, epsilon=2, versions=2, name=name)
        points = [[each.start.isoformat(), each.value] for each in counter.points]
        assert [counter.name, points] == said[f"counter {name}"]
        assert len(counter.advance(upto=date(2024, 9, 1))) > 0
    synopsis = Synopsis.open(
        session, ("region", "smoker"), table="visits", name="syn", alpha=0.3, epsilon=5
    )
    value = float(synopsis.query(f"{BUILD.COUNT} WHERE region = 'north'").value)
    assert [value, str(synopsis.spent)] == said["synopsis"]
    holdout = Holdout.open(session, table="visits", threshold=0.2, overfits=2, epsilon=3)
    assert [holdout.name, holdout.left] == said["holdout"]
    joint = Joint.open(session, table="visits", epsilon=2, sensitivity=4)
    assert joint.name == said["joint"][0]
    made = synthesize(session, "visits", epsilon=2, columns=["region", "smoker"])
    assert [made.receipt, float(made.model.total)] == said["synthesis"]
    assert _standing(curator) == (said["entries"], said["spent"])
