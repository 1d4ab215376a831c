"""A browser for the tests of each file.

Playwright keeps an event loop running in this thread until it is closed; tests of other folders
that run after these in the same process start loops of their own, so it is closed with its file.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from support.browser import PATIENCE, find_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = find_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Containers have no user namespaces for the browser's own sandbox.
        made = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield made
        made.close()
