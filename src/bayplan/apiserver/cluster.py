"""A cluster in one process: API server, simulated nodes, controllers and a scheduler.

    async with Cluster(nodes=20) as cluster:
        await cluster.apply(manifest)
        pod = await cluster.client.request("GET", "/api/v1/namespaces/default/pods/web-0")

Everything inside talks to the API server without sockets; with `listen` others can, over HTTPS with a token.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.simulation.device_publisher import DevicePublisher, check_devices
from bayplan.apiserver.simulation.kubelets import Kubelets, Pace
from bayplan.apiserver.simulation.manifest_applier import ManifestApplier, read_manifests
from bayplan.apiserver.simulation.simulated_devices import SimulatedDevices, parse_devices
from bayplan.apiserver.simulation.simulated_nodes import make_nodes
from bayplan.apiserver.simulation.snapshot_loader import SnapshotLoader
from bayplan.apiserver.simulation.standing_objects import make_cluster_objects
from bayplan.apiserver.transport.local_transport import LocalTransport
from bayplan.client import EventBroadcaster, KubeClient
from bayplan.clock import SystemClock
from bayplan.config import default
from bayplan.controllers.controller import Controller
from bayplan.controllers.crds import install
from bayplan.controllers.manager import CLUSTER_CONTROLLERS, SCHEDULER_PLUGINS_CONTROLLERS, ControllerManager
from bayplan.model.kube_object import condition_of
from bayplan.process.reloading import Reloader
from bayplan.release import DEFAULT, release_named
from bayplan.scheduler import default_registry
from bayplan.shell.service import SchedulerService

if TYPE_CHECKING:
    from bayplan.apiserver.transport.http_server import HttpServer
    from bayplan.config import Loaded
    from bayplan.framework import Clock, Registry

logger = logging.getLogger("bayplan.cluster")

#: How long a start may take before something is wrong.
START_SECONDS: Final = 60.0


class Cluster:
    """See the module docstring.

    *nodes* is how many, or the Node objects; *devices* is what every node has, as in `"gpu=8"`. *configuration*
    is a loaded KubeSchedulerConfiguration, with the registry it was loaded with; without one the default profile
    runs. *reload* reads it again with other plugins; with it, a plugin's file that is saved is at work before the
    next cycle. *manifests* are there before the scheduler is; *snapshot* before the controllers are: objects of
    another cluster, with pods on the nodes that they were on. *data* is a folder that outlives the process.
    *kubernetes* is the release that the cluster speaks, such as "1.36"; with a registry it is the registry's.
    *annotates_results* writes the results of attempts to the pods, as kube-scheduler-simulator does.
    """

    def __init__(
        self,
        nodes: int | Sequence[dict[str, Any]] = 0,
        *,
        zones: int = 1,
        devices: Sequence[SimulatedDevices | str] = (),
        configuration: Loaded | None = None,
        registry: Registry | None = None,
        reload: Callable[[Registry], Loaded] | None = None,
        manifests: str | Sequence[dict[str, Any]] = (),
        snapshot: Sequence[dict[str, Any]] = (),
        scheduler: bool = True,
        controllers: Sequence[type[Controller]] = (*CLUSTER_CONTROLLERS, *SCHEDULER_PLUGINS_CONTROLLERS),
        kubernetes: str = DEFAULT.minor,
        data: Path | None = None,
        listen: tuple[str, int] | None = None,
        clock: Clock | None = None,
        pace: Pace | None = None,
        seed: int | None = None,
        annotates_results: bool = False,
    ) -> None:
        self.clock = clock if clock is not None else SystemClock()
        self._nodes = make_nodes(nodes, zones=zones) if isinstance(nodes, int) else nodes
        self._n_nodes = len(self._nodes)
        self._devices = [parse_devices(each) if isinstance(each, str) else each for each in devices]
        self._registry = registry if registry is not None else default_registry(release=release_named(kubernetes))
        self._configuration = configuration if configuration is not None else default(self._registry)
        self._reload = reload
        self._manifests = manifests
        self._snapshot = snapshot
        #: What of the snapshot the cluster does not have, and why.
        self.left_out: list[str] = []
        self._with_scheduler = scheduler
        self._controllers = controllers
        self._listen = listen
        self._pace = pace
        self._seed = seed
        self._annotates_results = annotates_results
        self.api_server = ApiServer(self.clock, data=data, release=self._registry.release)
        self.client = self._new_client()
        #: None before the start, and without a scheduler.
        self.scheduler: SchedulerService | None = None
        self.http: HttpServer | None = None
        self._stop = asyncio.Event()
        self._stack = AsyncExitStack()

    def _new_client(self) -> KubeClient:
        return KubeClient(LocalTransport(self.api_server), self.clock)

    # --- from start to end --------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        self._stack.callback(self.api_server.close)
        if self._listen is not None:
            await self._start_listening(*self._listen)
        if set(self._controllers) & set(SCHEDULER_PLUGINS_CONTROLLERS):
            await install(self.client)
        await make_cluster_objects(self.client, self.http.url if self.http is not None else None)
        await check_devices(self.client, self._devices)
        classes = {each.name: each.device_class() for each in self._devices}
        await ManifestApplier(self.client).create([*self._nodes, *classes.values()])
        if self._snapshot:
            loader = SnapshotLoader(self.client)
            self.left_out = await loader.load(self._snapshot)
            self._n_nodes += loader.n_nodes
        await self._start_manager()
        await self.apply(self._manifests)
        if self._with_scheduler:
            await self._start_scheduler()

    async def _start_listening(self, host: str, port: int) -> None:
        from bayplan.apiserver.transport.http_server import HttpServer

        self.http = HttpServer(self.api_server, host=host, port=port)
        await self.http.start()
        self._stack.push_async_callback(self.http.stop)

    async def _start_manager(self) -> None:
        pace, release = self._pace, self._registry.release
        manager = ControllerManager(self._new_client(), self.clock, self._controllers)
        self.kubelets = manager.add(
            lambda client, informers, clock: Kubelets(client, informers, clock, pace, release)
        )
        devices = self._devices
        publisher = manager.add(
            lambda client, informers, clock: DevicePublisher(client, informers, clock, devices)
        )
        self._run(manager.run(), "controllers")
        await self.until(lambda: self._nodes_are_ready() and len(publisher.published) >= self._n_nodes)

    def _nodes_are_ready(self) -> bool:
        nodes = self.kubelets.known_nodes()
        # The last nodes become ready last, so that this looks at few of thousands while they start.
        return len(nodes) >= self._n_nodes and all(
            condition_of(node.status.conditions, "Ready") is not None for node in reversed(nodes)
        )

    async def _start_scheduler(self) -> None:
        scheduling = await self.synced_scheduler(self._new_client(), self._stop)
        if self.scheduler is not None:
            self._stack.push_async_callback(self.scheduler.close)
        self._run(scheduling, "scheduler")

    async def synced_scheduler(self, client: KubeClient, stop: asyncio.Event) -> Coroutine[Any, Any, None]:
        """The scheduler, which has read the cluster with *client*: what remains is to run it, until *stop*.

        `bayplan up` runs it in another thread than the rest of the cluster.
        """
        service = self.scheduler = SchedulerService(
            self._configuration,
            self._registry,
            client,
            EventBroadcaster(client, self.clock),
            clock=self.clock,
            seed=self._seed,
            annotates_results=self._annotates_results,
        )
        await service.sync()
        if self._reload is None:
            return service.schedule(stop)
        return _reloading(service, Reloader(service, self._registry, self._reload), stop)

    def _run(self, work: Any, name: str) -> None:
        task = asyncio.create_task(work, name=name)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._stack.push_async_callback(end)

    # --- using it -----------------------------------------------------------------------------------------

    async def apply(self, manifests: str | Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Apply YAML text or objects; returns the objects as stored."""
        objects = read_manifests(manifests, "manifest") if isinstance(manifests, str) else manifests
        return await ManifestApplier(self.client).apply(objects)

    async def until(self, condition: Callable[[], bool], *, seconds: float = START_SECONDS) -> None:
        """Let the cluster go on until *condition* holds; TimeoutError after *seconds*."""
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)

    async def get(self, path: str) -> dict[str, Any]:
        return await self.client.request("GET", path)

    @property
    def address(self) -> HttpServer:
        """Where others reach the cluster; only with `listen`."""
        if self.http is None:
            raise RuntimeError("the cluster does not listen: Cluster(listen=(host, port))")
        return self.http


async def _reloading(service: SchedulerService, reloader: Reloader, stop: asyncio.Event) -> None:
    """Schedule, with the plugins as their files are now."""
    watching = asyncio.create_task(reloader.run(), name="reloader")
    try:
        await service.schedule(stop, between_attempts=reloader.look)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
