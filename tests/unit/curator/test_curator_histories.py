"""Stored answers against histories of the data: whether an answer is given again depends on
how often the table was refreshed, never on whether its rows changed or came back.
"""

import pytest

from support.pace import thinned
from support.vaults import curator_of, people, write_source

QUESTION = "SELECT COUNT(*) AS n, SUM(age) AS s FROM visits"


HISTORIES = [(0, 0, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1)]


@pytest.mark.parametrize("history", thinned(HISTORIES, 2, "attacks on curators"))
def test_what_is_replayed_and_charged_is_the_same_for_every_history(tmp_path, history):
    states = [people(40), people(40)[:-2]]  # with one person, and without
    seen = []
    with curator_of(tmp_path, states[history[0]]) as curator:
        curator.grant("ana", epsilon=10)
        session = curator.session("ana")
        for number, state in enumerate(history):
            if number:
                write_source(tmp_path, states[state])
                curator.refresh("visits")
            for _ in range(2):
                answer = session.sql(QUESTION, epsilon=1)
                seen.append((answer.free, session.remaining.epsilon, answer.receipt.data_version))
    assert seen == [
        (False, 9, "1"),
        (True, 9, "1"),
        (False, 8, "2"),
        (True, 8, "2"),
        (False, 7, "3"),
        (True, 7, "3"),
    ]
