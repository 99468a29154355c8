"""Fixtures for pytest. In a conftest.py, or in the test's file::

pytest_plugins = ["bayplan.testing.fixtures"]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from bayplan.testing.virtual_cluster import VirtualCluster


@pytest.fixture
def cluster() -> Iterator[Callable[..., VirtualCluster]]:
    """Starts clusters in virtual time, which are closed at the end of the test: `cluster(nodes=3,
    plugins=[MyPlugin])`."""
    with ExitStack() as stack:

        def start(*args: Any, **options: Any) -> VirtualCluster:
            return stack.enter_context(VirtualCluster(*args, **options))

        yield start
