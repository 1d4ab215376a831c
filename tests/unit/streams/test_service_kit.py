"""The kit of durable services: states follow each other one by one, under one name and one kind."""

from dataclasses import dataclass

import pytest

from discreet.errors import InvalidValue, Stale, Unavailable
from discreet.schema.table import Table
from discreet.streams.service import Service, retry
from support.vaults import curator_of, people


@dataclass(frozen=True)
class Count:
    """A state for tests: a number."""

    number: int

    def to_bytes(self):
        return f"{self.number:d}".encode()


COUNTS = Service("count", lambda body: Count(int(body)))
OTHERS = Service("other", lambda body: Count(int(body)))


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with curator_of(tmp_path_factory.mktemp("kit") / "c", people()) as curator:
        curator.grant("ana", epsilon=1)
        yield curator.session("ana")


def test_a_state_follows_what_was_read_or_written_and_nothing_newer(session):
    assert COUNTS.find(session, "steps") is None
    first = COUNTS.first(session, "steps", Count(1))
    session.states.put(first)
    state, count = COUNTS.newest(session, "steps")
    assert (state.version, count) == (1, Count(1))
    written = COUNTS.put(session, state, Count(2))
    for older in (first, state):
        with pytest.raises(Stale):
            COUNTS.put(session, older, Count(9))
    COUNTS.put(session, written, Count(3))
    assert COUNTS.newest(session, "steps")[1] == Count(3)
    assert (COUNTS.names(session), OTHERS.names(session)) == (("steps",), ())


def test_names_that_are_missing_or_another_kind_s_are_refused(session):
    session.states.put(COUNTS.first(session, "taken", Count(1)))
    with pytest.raises(InvalidValue, match="ana has no count 'nothing'"):
        COUNTS.newest(session, "nothing")
    with pytest.raises(InvalidValue, match="'taken' is a count, not an other; choose another name"):
        OTHERS.find(session, "taken")


def test_a_table_with_another_schema_is_refused():
    table = Table("visits")
    COUNTS.check_schema("steps", table, table.version)
    with pytest.raises(Unavailable, match="another schema than when the count 'steps' began"):
        COUNTS.check_schema("steps", table, "another")


def test_who_was_overtaken_acts_again_so_many_times():
    acts = []

    def act():
        acts.append(len(acts))
        if len(acts) < 3:
            raise Stale("overtaken")
        return acts[-1]

    assert retry(act, attempts=3) == 2
    acts.clear()
    with pytest.raises(Stale):
        retry(act, attempts=2)
    assert acts == [0, 1]
