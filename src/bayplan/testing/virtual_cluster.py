"""A whole cluster in virtual time, for plain tests: API server, simulated nodes, controllers and the scheduler.

    with VirtualCluster(nodes=3, plugins=[MyPlugin]) as cluster:
        assert cluster.schedule(make_pod("p")).node_name == "node-1"

Between two calls it stands still, and waiting takes no time: an hour of it is over in a moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bayplan.apiserver.cluster import Cluster
from bayplan.apiserver.virtual_time import LoopClock, VirtualTimeLoop
from bayplan.framework import Plugin
from bayplan.model import KubeObject, Node, Pod
from bayplan.model.kube_object import condition_of
from bayplan.release import DEFAULT, Release
from bayplan.testing.harness import prepared

if TYPE_CHECKING:
    from bayplan.observe.record import Record

T = TypeVar("T")


class VirtualCluster:
    """See the module's text.

    *plugins*, *only*, *configuration* and *release* are those of `Harness`, *options* go to `Cluster`. A plugin
    given as `file.py:Class` is loaded anew when the file changes.
    """

    def __init__(
        self,
        nodes: int | Sequence[Node | dict[str, Any]] = 3,
        *,
        plugins: Iterable[type[Plugin] | str] = (),
        only: bool = False,
        configuration: str | None = None,
        release: str | Release = DEFAULT,
        seed: int = 0,
        **options: Any,
    ) -> None:
        registry, read = prepared(plugins, configuration, only=only, release=release)
        options |= {"configuration": read(registry), "registry": registry, "reload": read}
        self._runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        given = nodes if isinstance(nodes, int) else [_as_created(node) for node in nodes]
        self.cluster: Cluster = self.run(_make(given, clock=LoopClock(), seed=seed, **options))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let the cluster go on until *work* is done: `cluster.run(cluster.client.request(…))`."""
        return self._runner.run(work)

    def __enter__(self) -> Self:
        try:
            self.run(self.cluster.__aenter__())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.run(self.cluster.__aexit__(kind, error, trace))
        finally:
            self._runner.close()

    # --- doing --------------------------------------------------------------------------------------------

    def apply(self, *objects: str | KubeObject | dict[str, Any]) -> None:
        """Manifests as text, objects as dictionaries, or what `make_pod` gives."""
        for each in objects:
            manifests = each if isinstance(each, str) else [_as_applied(each)]
            self.run(self.cluster.apply(manifests))

    def wait(self, seconds: float) -> None:
        """Let *seconds* go by."""
        self.run(asyncio.sleep(seconds))

    def until(self, condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
        """Go on until *condition* holds; TimeoutError after *seconds* of the cluster's time."""
        self.run(self.cluster.until(condition, seconds=seconds))

    def schedule(self, pod: Pod) -> Pod:
        """Create *pod*; the pod as it is when the scheduler has told where it goes, or why nowhere."""
        self.apply(pod)
        self.run(self._until_decided(f"{pod.namespace or 'default'}/{pod.name}"))
        return self.pod(pod.name, pod.namespace or "default")

    async def _until_decided(self, key: str) -> None:
        namespace, name = key.split("/")
        async with asyncio.timeout(60):
            while condition_of((await self._pod(name, namespace)).status.conditions, "PodScheduled") is None:
                await asyncio.sleep(0.01)

    # --- looking ------------------------------------------------------------------------------------------

    def get(self, path: str) -> dict[str, Any]:
        return self.run(self.cluster.get(path))

    def pod(self, name: str, namespace: str = "default") -> Pod:
        return self.run(self._pod(name, namespace))

    async def _pod(self, name: str, namespace: str) -> Pod:
        return Pod.from_dict(await self.cluster.get(f"/api/v1/namespaces/{namespace}/pods/{name}"))

    def record(self, name: str, namespace: str = "default") -> Record | None:
        """What the scheduler decided about the pod the last time, and who said what."""
        service = self.cluster.scheduler
        return service.records.latest(f"{namespace}/{name}") if service is not None else None

    def events(self, name: str, namespace: str = "default") -> list[str]:
        """`reason: note` of the events about an object, in their order."""
        found = self.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]
        about = [event for event in found if event["regarding"]["name"] == name]
        about.sort(key=lambda event: int(event["metadata"]["resourceVersion"]))
        return [f"{event['reason']}: {event['note']}" for event in about]


async def _make(nodes: int | Sequence[dict[str, Any]], **options: Any) -> Cluster:
    """A cluster belongs to the loop that it is made in."""
    return Cluster(nodes, **options)


def _as_created(node: Node | dict[str, Any]) -> dict[str, Any]:
    if not isinstance(node, Node):
        return node
    mapping = node.to_dict()
    mapping["metadata"].pop("uid", None)
    return mapping


def _as_applied(each: KubeObject | dict[str, Any]) -> dict[str, Any]:
    """What a user would write: the rest is for the server to say."""
    if not isinstance(each, KubeObject):
        return each
    mapping = each.to_dict()
    mapping["metadata"].pop("uid", None)
    mapping.pop("status", None)
    return mapping
