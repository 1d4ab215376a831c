"""One browser for all tests of this folder."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.browser import find_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = find_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Containers have no user namespaces for the browser's own sandbox.
        made = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield made
        made.close()
