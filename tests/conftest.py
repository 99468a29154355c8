"""Fixtures for all tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("bayplan", deadline=None)
settings.load_profile("bayplan")


@pytest.fixture(scope="session", autouse=True)
def _spare_event_loop() -> Iterator[None]:
    """pytest-asyncio asks for the current event loop around each test, and asyncio would make one that nobody
    closes; a leaked loop is a warning, and warnings are errors here."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
