"""Fixtures for all tests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("bayplan", deadline=None)
settings.load_profile("bayplan")


def pytest_report_header() -> str:
    """Which build is tested: the source as it is, or the compiled one."""
    from bayplan.version import IS_COMPILED, __file__

    return f"bayplan: {'compiled' if IS_COMPILED else 'interpreted'}, {__file__}"


@pytest.fixture(scope="session", autouse=True)
def _spare_event_loop() -> Iterator[None]:
    """pytest-asyncio asks for the current event loop around each test, and asyncio would make one that nobody
    closes; a leaked loop is a warning, and warnings are errors here."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def _logging_as_found() -> Iterator[None]:
    """Commands set logging up for their whole process; here the process goes on with the next test."""
    root = logging.getLogger()
    before = {logger: (logger.level, logger.propagate) for logger in (root, *_own_loggers())}
    handlers, disabled = root.handlers[:], logging.root.manager.disable
    yield
    for logger in (root, *_own_loggers()):
        level, logger.propagate = before.get(logger, (logging.NOTSET, True))
        if logger.level != level:
            logger.setLevel(level)
    root.handlers[:] = handlers
    logging.disable(disabled)


def _own_loggers() -> list[logging.Logger]:
    loggers = [each for each in logging.root.manager.loggerDict.values() if isinstance(each, logging.Logger)]
    return [logger for logger in loggers if logger.name.partition(".")[0] == "bayplan"]
