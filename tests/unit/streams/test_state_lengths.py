"""The length of what a service keeps tells nothing of its secrets: it is counted as what an account
fills, and the limit shows. Every service's real states, with secrets of every number of digits.
"""

import json
import zlib
from dataclasses import replace
from datetime import date

import pytest

from discreet.errors import InvalidValue
from discreet.ledger.quota import MARK, Quota
from discreet.ledger.states import Change
from discreet.streams import Monitor, Synopsis
from discreet.streams.counter.counter import Counter
from discreet.streams.counter.state import COUNTERS
from discreet.streams.holdout.holdout import Holdout
from discreet.streams.holdout.state import HOLDOUTS
from discreet.streams.monitor.state import MONITORS
from discreet.streams.service import pad_secret
from discreet.streams.svt.run import SvtState
from discreet.streams.synopsis.state import SYNOPSES
from support.vaults import copied_curator, people

COUNT = "SELECT COUNT(*) AS n FROM visits"
MONTHS = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
SECRETS = [0, 7, -7, 10**6, -(10**6), 10**30, -(10**60)]


def _with_standing(state, secret):
    return replace(state, standing=SvtState(noise=secret, used=0))


def _with_noise(state, secret):
    stretches = [
        replace(each, track=replace(each.track, noise=(secret,) * len(each.track.noise)))
        for each in state.stretches
    ]
    return replace(state, stretches=tuple(stretches))


# How each service's state is read, and how its secret is exchanged.
SERVICES = {
    "monitor": (MONITORS.read, _with_standing),
    "holdout": (HOLDOUTS.read, _with_standing),
    "counter": (COUNTERS.read, _with_noise),
    "synopsis": (SYNOPSES.read, lambda state, secret: replace(state, standing=secret)),
}


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """The newest state of each service of one session."""
    folder = tmp_path_factory.mktemp("lengths")
    with copied_curator(folder / "c", people(), budget="epsilon = 100000\ndelta = 1e-3") as curator:
        curator.grant("ana", epsilon=90_000, delta=1e-3)
        session = curator.session("ana")
        Monitor.open(session, COUNT, name="monitor", threshold=10**6, epsilon=5).check()
        Holdout.open(session, table="visits", name="holdout", threshold=0.1, overfits=2, epsilon=50)
        Counter.open(session, MONTHS, name="counter", epsilon=5, versions=1).advance(
            upto=date(2024, 6, 1)
        )
        synopsis = Synopsis.open(
            session, table="visits", columns=["region"], name="synopsis", alpha=0.2, epsilon=50
        )
        synopsis.query("SELECT COUNT(*) FROM visits WHERE region = 'north'")
        found = {each: curator.vault.states.newest(each, analyst="ana") for each in SERVICES}
        yield found, curator.vault


@pytest.mark.parametrize("name", SERVICES)
def test_a_length_is_the_same_whatever_the_secret_is(states, name):
    read, exchanged = SERVICES[name]
    state = states[0][name]
    now = read(state)
    assert now.to_bytes() == state.body
    for secret in SECRETS:
        other = exchanged(now, secret)
        body = other.to_bytes()
        assert len(body) == len(state.body)
        assert body.endswith(MARK)
        assert read(replace(state, body=body)) == other
    assert any(exchanged(now, secret).to_bytes() != state.body for secret in SECRETS)


@pytest.mark.parametrize("name", SERVICES)
def test_it_is_counted_as_long_as_it_is(states, name):
    state, reading = states[0][name], states[1]._store.reading
    before = Quota(most=1).count_bytes("eve", reading)
    states[1].states.put(Change(analyst="eve", name=name, kind=name, version=1, body=state.body))
    assert Quota(most=1).count_bytes("eve", reading) - before == len(state.body)


@pytest.mark.parametrize("name", SERVICES)
def test_states_of_earlier_versions_are_read(states, name):
    """They kept secrets as short as they are, a synopsis among the facts."""
    read, _ = SERVICES[name]
    state = states[0][name]
    if name == "synopsis":
        packed = zlib.decompressobj()
        facts = json.loads(packed.decompress(state.body))
        facts["standing"] = json.loads(packed.unused_data)
        old = zlib.compress(json.dumps(facts).encode())
    else:
        facts = json.loads(state.body)
        if name == "counter":
            for each in facts["stretches"]:
                each["noise"] = [value.strip() for value in each["noise"]]
        else:
            facts["noise"] = facts["noise"].strip()
        old = json.dumps(facts).encode()
    assert len(old) < len(state.body)
    assert not old.endswith(MARK)
    assert read(replace(state, body=old)) == read(state)


def test_a_secret_that_is_too_long_is_refused():
    with pytest.raises(InvalidValue, match="81 digits"):
        pad_secret(10**80)
