"""Calls of extenders for the core."""

from __future__ import annotations

import pytest
from tests.unit.core.extenders import FakeExtender

from bayplan.core.messages import AskExtenders, ExtenderCall
from bayplan.framework.extenders import ExtenderError, FilterResponse
from bayplan.shell.extender_driver import call_extenders
from bayplan.testing import Harness, make_node, make_pod


@pytest.mark.asyncio
async def test_results_come_in_the_order_of_the_calls() -> None:
    """An exception stands for a call that failed."""
    nodes = Harness(nodes=[make_node("a")]).core.cache.snapshot().nodes
    good = FakeExtender(on_filter=lambda names: FilterResponse(tuple(names)))
    bad = FakeExtender(on_filter=lambda names: ExtenderError("refused"))
    calls = [ExtenderCall(each, "filter", make_pod("p"), nodes) for each in (bad, good)]

    failed, filtered = await call_extenders(AskExtenders(calls))

    assert isinstance(failed, ExtenderError)
    assert filtered == FilterResponse(("a",))
