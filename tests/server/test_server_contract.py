"""The OpenAPI document is kept: whatever is sent, no failure of ours, and answers as described."""

from itertools import count

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from discreet.server.accounts import Role
from support.served_vault import listening, serve_vault

pytestmark = pytest.mark.slow("servers")

_NUMBERS = count()
_FEW = settings(max_examples=12, deadline=None, suppress_health_check=[*HealthCheck])


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    yield from serve_vault(
        tmp_path_factory.mktemp("contract") / "h", logins_per_minute=1000, most_per_account=1000
    )


@pytest.fixture(scope="module")
def operations(open_server):
    with listening(open_server.client.app) as url:
        schema = schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json")
        yield [each.ok() for each in schema.get_all_operations()]


def token_of(served, role):
    """Of an account of its own, so that what one case revokes the next one still has."""
    name = f"{role}-{next(_NUMBERS)}"
    if role is Role.ANALYST:
        served.curator.grant(name, epsilon=1)
    return served.accounts.issue(name, role, days=1).text


@pytest.mark.parametrize("role", list(Role))
def test_everyone_is_answered_as_described(operations, open_server, role):
    served = open_server
    assert len(operations) > 20
    for operation in operations:

        @_FEW
        @given(case=operation.as_strategy())
        def check(case):
            headers = {"Authorization": f"Bearer {token_of(served, role)}"}
            # Which texts are SQL or TOML the document cannot say.
            case.call_and_validate(
                headers=headers, timeout=240, excluded_checks=[positive_data_acceptance]
            )
            served.accounts.go_on()

        check()
    assert served.curator.ledger.verify().sound


def test_a_stranger_is_let_in_nowhere(operations):
    for operation in operations:

        @settings(_FEW, max_examples=2)
        @given(case=operation.as_strategy())
        def check(case):
            assert case.call(headers={}, timeout=240).status_code == 401

        check()
