"""A test whose server is not installed skips, and names it."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tools.boots.servers import Missing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    """A fixture may start the server."""
    try:
        return (yield)
    except Missing as missing:
        pytest.skip(f"{missing.message} ({missing.next})")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Or the test itself."""
    try:
        return (yield)
    except Missing as missing:
        pytest.skip(f"{missing.message} ({missing.next})")
