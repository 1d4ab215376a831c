"""Names of services, of a release's tables and of its statistics: letters of every script, and
every name that was good before is good still and means the same.
"""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.curator.curator import Curator
from discreet.errors import InvalidValue
from discreet.ledger.states import Change
from discreet.release import Declared, Release
from discreet.schema.column import identifier
from discreet.streams import Counter, Holdout, Joint, Monitor, Synopsis
from discreet.streams.service import name_settings
from support.command_line import write_clinic

# As earlier versions read them.
SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
SCRIPTS = ["fever", "Fieber-März", "αριθμός", "число.2", "年齢", "مدينة", "지역_3", "नाम", "0.9-x"]


@given(st.from_regex(SERVICE, fullmatch=True))
@example("a" * 64)
@example("0")
def test_names_of_services_of_old_are_good(name):
    assert Change(analyst="ana", name=name, kind="monitor", version=1, body=b"").name == name


@given(st.from_regex(WORD, fullmatch=True))
@example("_")
@example("a" * 63)
def test_words_of_old_are_good(name):
    assert identifier(name, "a name") == name


def test_names_made_from_settings_are_the_same_as_before():
    """Golden: a service that was begun without a name is found again under it."""
    assert name_settings("counter", "SELECT 1", 1, None) == "counter-280d679bc7460c33"


NO_NAMES = ["", "_a", ".a", "-a", "a b", "a/b", "../a", "a\n", "a" * 65, "a\x00", "a\u202eb", "😀",
            unicodedata.normalize("NFD", "März"), "²x", "ﬁle", "Ａ", "\u3164", "a\u115f", "a\ufe0f",
            "a\u034f", "a\u200d", "a\u203fb", 3, None]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES)
def test_names_that_are_none(name):
    with pytest.raises(InvalidValue, match="Nothing was run or charged"):
        Change(analyst="ana", name=name, kind="monitor", version=1, body=b"")


COUNT = "SELECT COUNT(*) AS n FROM visits"
MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
OPENED = {
    "monitor": lambda s, name: Monitor.open(s, COUNT, threshold=9, epsilon=0.5, name=name),
    "counter": lambda s, name: Counter.open(s, MONTHS, epsilon=0.5, versions=1, name=name),
    "joint": lambda s, name: Joint.open(
        s, table="visits", epsilon=0.5, sensitivity=9, name=name
    ),
    "holdout": lambda s, name: Holdout.open(
        s, table="visits", threshold=1, overfits=1, epsilon=0.5, name=name
    ),
    "synopsis": lambda s, name: Synopsis.open(
        s, ["region"], table="visits", alpha=0.5, epsilon=0.5, order=1, name=name
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    made = write_clinic(tmp_path_factory.mktemp("names"))
    made.schema.write_text(made.schema.read_text() + "delta = 1e-6\n")
    assert made.run("add", made.schema).status == 0
    assert made.run("grant", "ann", "--epsilon", "30", "--delta", "1e-6").status == 0
    return made


@pytest.mark.parametrize("kind", OPENED)
def test_services_are_found_again_by_names_of_every_script(vault, kind):
    with Curator.open(vault.vault, price_floor=0) as curator:
        session = curator.session("ann")
        for name in SCRIPTS:
            OPENED[kind](session, f"{name}.{kind}")
        paid = len(session.history())
        for name in SCRIPTS:
            assert OPENED[kind](session, f"{name}.{kind}").name == f"{name}.{kind}"
        assert len(session.history()) == paid
        assert curator.ledger.verify().sound


WORDS = ["by_region", "größe", "年齢_2", "مدينة", "नाम", "_x"]


def test_tables_and_statistics_of_a_release(vault, tmp_path):
    """Files, links, the manifest and its check, with letters of every script."""
    tables = [Declared("marginals", name, {"columns": ["region"], "orders": [1]}) for name in WORDS]
    tables.append(
        Declared("statistics", "mittel", {"by": ["region"],
                                          "select": dict.fromkeys(WORDS, "AVG(age)")})
    )  # fmt: skip
    release = Release(title="größe", table="visits", epsilon=5, tables=tuple(tables))
    with Curator.open(vault.vault, price_floor=0) as curator:
        release.plan(curator.session("ann")).run().write(tmp_path / "out")
    assert vault.run("verify-release", tmp_path / "out").status == 0
    files = {each.name for each in (tmp_path / "out" / "tables").iterdir()}
    for name in WORDS:
        assert any(each.startswith(name) for each in files)


def test_a_monitor_on_the_command_line(vault):
    name = "Fieber-März-年"
    words = ("--as", "ann", "--threshold", "9", "--epsilon", "0.5")
    assert vault.run("monitor", "new", name, COUNT, *words).status == 0
    assert vault.run("monitor", "check", name, "--as", "ann").status == 0
    listed = vault.run("monitor", "list", "--json").json
    assert name in [each["name"] for each in listed]
