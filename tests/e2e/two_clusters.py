"""Two clusters with the same nodes: a real control plane, and `bayplan up`.

The real one has stock API server, controllers and scheduler; its kubelets are the simulated ones of the embedded
cluster, which are clients like any other.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml
from tests.e2e.api import Object
from tests.e2e.bayplan import PROGRAM
from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import ProcessGroup

from bayplan.apiserver.simulation.kubelets import Kubelets
from bayplan.client import HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock
from bayplan.controllers.manager import ControllerManager

#: What `bayplan up` has no counterpart of: annotations on nodes that only a kubelet reads.
CONTROLLERS = "*,-ttl-controller"
START_SECONDS = 90


class SimulatedKubelets:
    """The simulated kubelets on any cluster, in a thread of their own."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="kubelets")
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._task: asyncio.Task[None]

    def __enter__(self) -> SimulatedKubelets:
        self._thread.start()
        assert self._started.wait(START_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        clock = SystemClock()
        client = KubeClient(HttpTransport(load_access(str(self._kubeconfig)), clock), clock)
        manager = ControllerManager(client, clock, ())
        manager.add(Kubelets)
        self._task = asyncio.create_task(manager.run())
        self._started.set()
        try:
            await self._task
        except asyncio.CancelledError:
            pass
        finally:
            await client.close()


def start_real(folder: Path, nodes: list[Object], stack: Any, programs: dict[str, Path]) -> ControlPlane:
    """A real cluster with these nodes, ended by *stack*."""
    plane: ControlPlane = stack.enter_context(
        ControlPlane(folder, programs=programs, admission_off=("ServiceAccount",))
    )
    plane.start_controller_manager(controllers=CONTROLLERS)
    plane.start_scheduler()
    plane.api.create_many(nodes)
    stack.enter_context(SimulatedKubelets(plane.kubeconfig))
    return plane


def start_embedded(folder: Path, nodes: list[Object], stack: Any) -> Path:
    """The same with `bayplan up`; returns its kubeconfig."""
    file, kubeconfig = folder / "nodes.yaml", folder / "kubeconfig"
    file.write_text(yaml.safe_dump_all(nodes))
    group = ProcessGroup(folder)
    stack.callback(group.end)
    process = group.start(
        "bayplan-up", [PROGRAM, "up", f"--nodes={file}", f"--write-kubeconfig={kubeconfig}", "--plain"]
    )
    process.wait_until(lambda: "The cluster is up" in process.log.read_text(), timeout=START_SECONDS)
    return kubeconfig
