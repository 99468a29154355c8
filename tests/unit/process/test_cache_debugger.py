"""SIGUSR2: what is written, and that the process goes on."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

import pytest
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.core import SchedulerCore
from bayplan.core.messages import ObjectChanged
from bayplan.model import KubeObject
from bayplan.observe.klog import TextFormatter
from bayplan.process.cache_debugger import CacheDebugger
from bayplan.testing import VirtualClock, make_node, make_pod


class Watched:
    """Informers that show these objects."""

    def __init__(self, *objects: KubeObject) -> None:
        self._objects = objects

    def lister(self, kind: type) -> Watched:
        return Watched(*(each for each in self._objects if isinstance(each, kind)))

    def list(self) -> tuple[KubeObject, ...]:
        return self._objects


def core_of(*objects: KubeObject) -> SchedulerCore:
    core = SchedulerCore(LOADED, REGISTRY, clock=VirtualClock())
    for each in objects:
        core.handle(ObjectChanged(None, each))
    return core


def texts(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [TextFormatter().format(record).partition("] ")[2] for record in caplog.records]


def test_a_cache_that_is_right(caplog: pytest.LogCaptureFixture) -> None:
    """Nodes with their pods and what these request, and the queue with its summary."""
    caplog.set_level(logging.INFO, "bayplan.process")
    node = make_node("n", cpu="4", memory="8Gi", resources={"example.com/gpu": "2"})
    bound = make_pod("web", cpu="100m", memory="1Mi", node_name="n", metadata={"uid": "u1"})
    gated = make_pod("gated", metadata={"uid": "u2"}, spec={"schedulingGates": [{"name": "wait"}]})
    waiting = make_pod("next", metadata={"uid": "u3"})
    objects = (node, bound, gated, waiting)

    CacheDebugger(core_of(*objects), Watched(*objects)).run()  # type: ignore[arg-type]

    assert texts(caplog) == [
        '"Dump of cached NodeInfo" nodes=<\n'
        "\tNode name: n\n"
        "\tDeleted: false\n"
        "\tRequested Resources: &{MilliCPU:100 Memory:1048576 EphemeralStorage:0 AllowedPodNumber:0 "
        "ScalarResources:map[]}\n"
        "\tAllocatable Resources:&{MilliCPU:4000 Memory:8589934592 EphemeralStorage:0 AllowedPodNumber:110 "
        "ScalarResources:map[example.com/gpu:2]}\n"
        "\tScheduled Pods(number: 1):\n"
        "\tname: web, namespace: default, uid: u1, phase: Pending, nominated node: \n"
        " >",
        '"Dump of scheduling queue" summary="activeQ:1; backoffQ:0; unschedulablePods:1" pods=<\n'
        "\tname: next, namespace: default, uid: u3, phase: Pending, nominated node: \n"
        "\tname: gated, namespace: default, uid: u2, phase: Pending, nominated node: \n"
        " >",
    ]


def test_a_cache_that_is_wrong(caplog: pytest.LogCaptureFixture) -> None:
    """What it has missed, and what it has too much; a node that is gone with pods left on it."""
    caplog.set_level(logging.INFO - 3, "bayplan.process")
    core = core_of(make_node("old"), make_pod("left", node_name="gone", metadata={"uid": "u1"}))
    watched = Watched(make_node("new"), make_pod("missed", node_name="new", metadata={"uid": "u2"}))

    CacheDebugger(core, watched).run()  # type: ignore[arg-type]

    found = texts(caplog)
    assert found[:4] == [
        '"Cache comparer started"',
        '"Cache mismatch" missedNodes=["new"] redundantNodes=["gone","old"]',
        '"Cache mismatch" missedPods=["u2"] redundantPods=["u1"]',
        '"Cache comparer finished"',
    ]
    assert "\tNode name: gone\n\tDeleted: true\n" in found[4]


@pytest.mark.asyncio
async def test_the_signal_does_not_end_the_process(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bayplan.process")
    with CacheDebugger(core_of(), Watched()):  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGUSR2)
        async with asyncio.timeout(60):
            while len(caplog.records) < 2:
                await asyncio.sleep(0.01)

    assert texts(caplog)[-1].startswith('"Dump of scheduling queue"')
    assert signal.getsignal(signal.SIGUSR2) is signal.SIG_DFL
