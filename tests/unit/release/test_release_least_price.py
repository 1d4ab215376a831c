"""Previews refuse what the run would refuse, whatever is left of a budget: a price below the least
and constants that a column cannot have. The same words, nothing charged, on every surface.
"""

import re

import pytest

from discreet.curator.curator import Curator
from discreet.errors import DiscreetError
from discreet.ledger.floor import PriceFloor
from discreet.release import Declared, Release
from discreet.streams import Counter, Monitor
from support.command_line import SURROUNDINGS, copied_clinic, write_clinic

COUNT = "SELECT COUNT(*) AS n FROM visits"
MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits{} GROUP BY m"


def release(session, price, where=""):
    by_region = Declared("marginals", "by_region", {"columns": ["region"], "orders": [1]})
    return Release(title="t", table="visits", epsilon=price, tables=(by_region,), where=where).plan(
        session
    )


# Each has a preview, and a run that begins with a price and a condition.
DOORS = {
    "question": (
        lambda s, price, where: s.explain(COUNT + _where(where), epsilon=price),
        lambda s, price, where: s.sql(COUNT + _where(where), epsilon=price),
    ),
    "release": (release, lambda s, price, where: release(s, price, where).run()),
    "monitor": (
        lambda s, price, where: Monitor.explain(
            s, COUNT + _where(where), threshold=9, epsilon=price
        ),
        lambda s, price, where: Monitor.open(
            s, COUNT + _where(where), threshold=9, epsilon=price, name="m"
        ),
    ),
    "counter": (
        lambda s, price, where: Counter.explain(
            s, MONTHS.format(_where(where)), epsilon=price, versions=1
        ),
        lambda s, price, where: Counter.open(
            s, MONTHS.format(_where(where)), epsilon=price, versions=1, name="c"
        ),
    ),
}


def _where(condition):
    return f" WHERE {condition}" if condition else ""


@pytest.fixture(scope="module", params=["", "delta = 1e-6\n"], ids=["pure", "delta"])
def prepared(tmp_path_factory, request):
    made = write_clinic(tmp_path_factory.mktemp("prepared"))
    made.schema.write_text(made.schema.read_text() + request.param)
    assert made.run("add", made.schema).status == 0
    delta = ("--delta", "1e-6") if request.param else ()
    assert made.run("grant", "ann", "--epsilon", "20", *delta).status == 0
    return made


@pytest.fixture
def clinic(prepared, tmp_path):
    return copied_clinic(prepared, tmp_path)


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize(
    ("price", "where", "says"),
    [(1e-4, "", "is below the least price"), (5, "region = 'nroth'", "the nearest is 'north'")],
)
def test_a_preview_refuses_what_the_run_would(clinic, name, price, where, says):
    pure = clinic.run("ledger", "--json").json["accounts"][0]["currency"] == "epsilon"
    if name == "counter" and pure:
        return  # Gaussian noise, refused before its price is looked at
    explain, begin = DOORS[name]
    with Curator.open(clinic.vault, price_floor=PriceFloor(share=0.001).share) as curator:
        session = curator.session("ann")
        told = []
        for work in (explain, begin):
            with pytest.raises(DiscreetError, match=says) as caught:
                work(session, price, where)
            told.append(str(caught.value))
        assert _said(told[0]) == _said(told[1])
        assert session.history() == ()
        assert explain(session, 5, "") is not None
        assert begin(session, 5, "") is not None


def _said(message):
    """The refusal without what it is called."""
    return re.sub(r"^.*? is below", "is below", message)


SPECIFICATION = """
[release]
table = "visits"
title = "Visits by region"
epsilon = {}
[[tables]]
kind = "marginals"
name = "by"
columns = ["region"]
orders = [1]
"""


def test_the_command_line_previews_as_it_runs(clinic, tmp_path, monkeypatch):
    monkeypatch.setitem(SURROUNDINGS, "DISCREET_PRICE_FLOOR", "0.0001")
    file = tmp_path / "release.toml"
    file.write_text(SPECIFICATION.format("0.00001"))
    words = ("release", file, "--as", "ann")
    preview = clinic.run(*words)
    assert preview.status == 2
    assert "is below the least price" in preview.err
    assert clinic.run(*words, "--output", tmp_path / "out").err == preview.err
    assert clinic.run("transcript", "--as", "ann", "--json").json["charges"] == []
    file.write_text(SPECIFICATION.format("2"))
    assert clinic.run(*words).status == 0
