"""One monitor and two curators whose ledger is on a server: alarms are counted once, for both."""

import shutil
import threading

import duckdb
import pytest

from discreet.curator.curator import Curator
from discreet.errors import BudgetExceeded
from discreet.streams import Monitor

SCHEMA = """
[table]
name = "visits"
source = "{source}"
population = "people"
[columns]
age = {{ type = "integer", lower = 0, upper = 50 }}
[budget]
epsilon = 5
"""
COUNT = "SELECT COUNT(*) FROM visits"


@pytest.fixture
def sessions(tmp_path, ledger_url):
    source, schema = tmp_path / "visits.parquet", tmp_path / "visits.toml"
    duckdb.sql(f"COPY (SELECT i % 40 AS age FROM range(500) t(i)) TO '{source}'")
    schema.write_text(SCHEMA.format(source=source))
    with Curator.open(ledger_url, folder=tmp_path / "one", price_floor=0) as one:
        one.grant("ana", epsilon=5)
        shutil.copytree(tmp_path / "one.seal", tmp_path / "two.seal")
        with Curator.open(ledger_url, folder=tmp_path / "two", price_floor=0) as two:
            one.add_in_place(schema)
            yield one.session("ana"), two.session("ana")


def test_two_curators_share_a_monitor_and_its_alarms(sessions):
    one, two = sessions
    words = {"threshold": -(10**6), "alarms": 4, "epsilon": 1, "name": "busy"}
    first = Monitor.open(one, COUNT, **words)
    second = Monitor.open(two, COUNT, **words)  # goes on with it
    assert one.remaining.epsilon == two.remaining.epsilon == 4
    assert first._read()[1].standing.noise == second._read()[1].standing.noise
    assert first.check().alarms_left == 3
    assert second.check().alarms_left == 2
    said, refused = [], []

    def work(monitor):
        try:
            said.append(monitor.check())
        except BudgetExceeded:
            refused.append(1)

    threads = [threading.Thread(target=work, args=(each,)) for each in (first, second) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.alarms_left for each in said) == [0, 1]
    assert len(refused) == 2
    assert len(first.alarms) == len(second.alarms) == 4
