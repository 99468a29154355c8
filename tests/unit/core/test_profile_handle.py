"""The handle of a profile's plugins."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.core.driver import only

from bayplan.core.messages import RecordEvent
from bayplan.framework import CycleState, NodeInfo, Plugin, PluginError
from bayplan.model import Pod, Service
from bayplan.testing import Harness, make_node, make_pod


class Holding(Plugin):
    """Keeps its handle."""

    name = "Holding"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None


@pytest.fixture
def harness() -> Harness:
    return Harness(nodes=[make_node("a")], plugins=[Holding])


@pytest.fixture
def handle(harness: Harness) -> Any:
    return harness.profile().plugins.plugins["Holding"].handle


def test_handle_shows_the_core(harness: Harness, handle: Any) -> None:
    """Profile, clock, snapshot, objects, nominations, waiting pods and evaluation are the core's own."""
    core = harness.core
    assert handle.profile_name == "default-scheduler"
    assert handle.clock is harness.clock
    assert handle.snapshot.nodes.names.tolist() == ["a"]
    assert handle.informers.lister(Service) is core.objects.lister(Service)
    assert handle.extenders is core.extenders
    assert handle.nominator is core.nominator
    assert handle.waiting_pods is core.waiting_pods
    assert handle.evaluation is harness.profile().evaluation


def test_a_missing_client_says_so(handle: Any) -> None:
    """Without a cluster there is no client: an error that says it, not None."""
    with pytest.raises(RuntimeError, match="this handle has no client: there is no cluster behind it"):
        handle.client.bind  # noqa: B018


def test_events_of_plugins_are_instructions(harness: Harness, handle: Any) -> None:
    handle.recorder.event(make_pod("p"), kind="Normal", reason="R", action="A", note="n", related=None)

    event = only(RecordEvent, list(harness.core.take_instructions()))
    assert (event.profile_name, event.regarding.name, event.reason) == ("default-scheduler", "p", "R")


def test_activate_moves_a_pod_of_the_queue(harness: Harness, handle: Any) -> None:
    pod = make_pod("p", cpu="100")
    harness.add(pod)
    assert harness.core.schedule_one() is not None
    assert harness.core.schedule_one() is None
    handle.activate([pod])
    assert harness.core.schedule_one() is not None


def test_nothing_is_evaluated_in_a_constructor() -> None:
    """The profile does not exist before its plugins do."""

    class Hasty(Holding):
        name = "Hasty"

        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            handle.evaluation  # noqa: B018

    with pytest.raises(PluginError, match="not available in a plugin's constructor"):
        Harness(plugins=[Hasty])
