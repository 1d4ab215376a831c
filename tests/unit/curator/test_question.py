"""One description of a question's terms: sessions, clients, forms and the command line agree."""

import inspect

import pytest

from discreet.cli.commands import analyst
from discreet.client.conversation import Client
from discreet.curator.question import TERMS
from discreet.curator.session import Session
from discreet.server.api.forms import QueryForm, QuestionForm


@pytest.mark.parametrize("name", ["explain", "sql"])
def test_a_client_takes_what_a_session_takes(name):
    remote = inspect.signature(getattr(Client, name)).parameters
    local = inspect.signature(getattr(Session, name)).parameters
    assert list(remote.values()) == list(local.values())


def test_every_surface_names_the_terms_of_a_question():
    beside = {"self", "sql", "key"}
    assert set(inspect.signature(Session.sql).parameters) == {*TERMS, *beside}
    assert set(QuestionForm.model_fields) == {*TERMS, "sql"}
    assert set(QueryForm.model_fields) == {*TERMS, "sql", "key", "wait"}
    for command in (analyst._explain, analyst._query):
        flags = {
            each.default
            for parameter in inspect.signature(command).parameters.values()
            for each in getattr(parameter.annotation, "__metadata__", ())
        }
        assert {f"--{term.replace('_', '-')}" for term in TERMS} <= flags
